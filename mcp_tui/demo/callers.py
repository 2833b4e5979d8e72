"""Who asks: the revision of a request, and what its client can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcp_tui.demo.frames import (
    CORE_TASKS,
    HANDSHAKE,
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    MODERN,
    SUPPORTED,
    UNSUPPORTED_VERSION,
    DemoRefusal,
    Object,
    as_object,
    params_of,
)

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The severities of log messages, mildest first (logging, every revision)."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"


@dataclass(frozen=True, slots=True)
class DemoCaller:
    """Who asks: the revision, the mildest log messages wanted (``None``: none at all), and what the client declared."""

    revision: str
    log_level: str | None
    capabilities: Object = field(default_factory=dict[str, object])

    @property
    def modern(self) -> bool:
        """Whether the request described itself by its ``_meta`` (2026-07-28)."""
        return self.revision == MODERN

    @property
    def knows_tasks(self) -> bool:
        """Whether there are tasks in the revision: of its own, or by the extension."""
        return self.revision >= CORE_TASKS

    def declares(self, capability: str) -> bool:
        """Whether the client can do what ``elicitation`` (here: by a form), ``sampling`` or ``roots`` stand for."""
        declared = as_object(self.capabilities.get(capability))
        if capability != "elicitation" or declared is None:
            return declared is not None
        # one without modes has the form (elicitation, "Capabilities"; modes from 2025-11-25)
        return self.revision >= "2025-06-18" and (not declared or "form" in declared)

    def extends(self, extension: str) -> bool:
        """Whether the client speaks an extension (2026-07-28)."""
        extensions = as_object(self.capabilities.get("extensions")) or {}
        return self.modern and as_object(extensions.get(extension)) is not None


def missing(capabilities: Object) -> DemoRefusal:
    """The error for a request that needs what its client did not declare (basic, 2026-07-28, "_meta")."""
    return DemoRefusal(
        MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": capabilities}
    )


def unsupported(requested: str) -> DemoRefusal:
    """The error for a revision that cannot be declared in ``_meta`` (versioning, 2026-07-28, "Negotiation")."""
    message = "Unsupported protocol version"
    if requested in HANDSHAKE:
        message += f": {requested} begins with initialize"
    return DemoRefusal(UNSUPPORTED_VERSION, message, {"supported": list(SUPPORTED), "requested": requested})


def modern_caller(frame: Object) -> DemoCaller:
    """Who sends this 2026-07-28 request. Raises `DemoRefusal` where its ``_meta`` does not say so (basic, "_meta")."""
    meta = as_object(params_of(frame).get("_meta")) or {}
    version = meta.get(VERSION_KEY)
    if not isinstance(version, str):
        raise DemoRefusal(
            INVALID_PARAMS, f"Invalid params: _meta needs {VERSION_KEY}, or initialize must come first"
        )
    if version != MODERN:
        raise unsupported(version)
    capabilities = as_object(meta.get(CAPABILITIES_KEY))
    if capabilities is None:
        raise DemoRefusal(INVALID_PARAMS, f"Invalid params: _meta needs {CAPABILITIES_KEY}, an object")
    level = meta.get(_LOG_LEVEL_KEY)
    if level is not None and level not in LEVELS:
        raise DemoRefusal(INVALID_PARAMS, f"Invalid params: unknown {_LOG_LEVEL_KEY}")
    return DemoCaller(MODERN, level, capabilities)
