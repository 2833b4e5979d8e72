"""The scenarios of the conformance suite: those that are run, with what a run has to show, and those that are not."""

from __future__ import annotations

from dataclasses import dataclass

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

NEVER = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario that is run, once at each revision of `says`: the methods that the client has to have sent there.

    `may_skip` finds, in a check that the suite calls skipped, what no client can do at these revisions. `wire_checked`
    says that the suite itself holds what the client sends against the official schema.
    """

    name: str
    says: dict[str, tuple[str, ...]]
    may_skip: str = NEVER
    wire_checked: bool = False


_OPENS_LEGACY = ("initialize", "notifications/initialized")
_OPENS_MODERN = ("server/discover",)


def _legacy(*methods: str) -> dict[str, tuple[str, ...]]:
    return {LEGACY: (*_OPENS_LEGACY, *methods)}


def _modern(*methods: str) -> dict[str, tuple[str, ...]]:
    return {MODERN: (*_OPENS_MODERN, *methods)}


def _both(*methods: str) -> dict[str, tuple[str, ...]]:
    return _legacy(*methods) | _modern(*methods)


RUN = (
    Scenario(name="initialize", says=_legacy("tools/list")),
    Scenario(name="tools_call", says=_both("tools/list", "tools/call"), wire_checked=True),
    Scenario(name="elicitation-sep1034-client-defaults", says=_legacy("tools/list", "tools/call")),
    Scenario(name="sse-retry", says=_legacy("tools/list", "tools/call")),
    Scenario(name="request-metadata", says=_modern("tools/list", "tools/call")),
    Scenario(name="sep-2322-client-request-state", says=_modern("tools/list", "tools/call")),
    Scenario(
        name="http-standard-headers",
        says=_modern(
            *("tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get")
        ),
        may_skip=r"on (initialize|notifications/initialized) request",  # 2026-07-28 has no handshake
    ),
    Scenario(name="http-custom-headers", says=_modern("tools/list", "tools/call")),
    Scenario(name="http-invalid-tool-headers", says=_modern("tools/list", "tools/call")),
    Scenario(name="json-schema-ref-no-deref", says=_modern("tools/list")),
    Scenario(
        name="json-schema-2020-12-preservation", says=_both("tools/list", "tools/call"), wire_checked=True
    ),
)

_AUTHORIZATION = "authorization: mcp-tui sends the headers that it is given, and obtains no token by itself"
_SKILLS = "the skills extension, which mcp-tui does not speak"

LEFT_OUT = {r"auth/.+": _AUTHORIZATION, r"sep-2640-client-.+": _SKILLS}
"""Patterns of whole names, and why those scenarios are not run. README.md says the same to people."""
