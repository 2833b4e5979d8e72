"""The HTTP headers that say what a message is (streamable HTTP, 2025-06-18 and 2026-07-28)."""

from __future__ import annotations

import base64
import secrets
from typing import Final

from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import Revision

_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TASKS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


def headers(revision: Revision | None, message: dict[str, Json]) -> dict[str, str]:
    """The protocol's own headers for one message.

    ``MCP-Protocol-Version`` and, in 2026-07-28, ``Mcp-Method`` and ``Mcp-Name``.

    ``revision`` is ``None`` before the handshake, which carries none of them.
    """
    if revision is None or not revision.version_header:
        return {}
    made = {"MCP-Protocol-Version": revision.name}
    if not revision.method_headers:
        return made
    method = message.get("method")
    if not isinstance(method, str):
        return made
    made["Mcp-Method"] = method
    key = "taskId" if method in _TASKS else _NAMED.get(method)
    name = as_object(message.get("params")).get(key) if key else None
    if isinstance(name, str):
        made["Mcp-Name"] = mirrored(name)
    return made


def mirrored(value: str) -> str:
    """A value as a header may carry it: as it is, or in the Base64 sentinel ``=?base64?…?=`` where it must not."""
    sentinel = value.startswith("=?base64?") and value.endswith("?=")
    if value.isascii() and value.isprintable() and value == value.strip() and not sentinel:
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def traced(params: Json) -> Json:
    """Params with a trace context of their own, unless they bring one along (``traceparent`` in ``_meta``, SEP-414)."""
    if params is not None and not isinstance(params, dict):
        return params
    given = as_object(params)
    meta = {
        "traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01",
        **as_object(given.get("_meta")),
    }
    return {**given, "_meta": meta}
