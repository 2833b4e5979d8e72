"""The scenarios of the conformance suite: those that are run, with what a run has to show, and those that are not."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_AUTHORIZED = "2025-03-26"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"

NEVER = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario that is run, once at each revision of `says`: the methods that the client has to have sent there.

    `may_skip` finds, in a check that the suite calls skipped, what no client can do at these revisions. `wire_checked`
    says that the suite itself holds what the client sends against the official schema. `forced` runs an extension, which
    belongs to no revision.
    """

    name: str
    says: dict[str, tuple[str, ...]]
    may_skip: str = NEVER
    wire_checked: bool = False
    forced: bool = False


_OPENS_LEGACY = ("initialize", "notifications/initialized")
_OPENS_MODERN = ("server/discover",)


def _legacy(*methods: str) -> dict[str, tuple[str, ...]]:
    return {LEGACY: (*_OPENS_LEGACY, *methods)}


def _modern(*methods: str) -> dict[str, tuple[str, ...]]:
    return {MODERN: (*_OPENS_MODERN, *methods)}


def _both(*methods: str) -> dict[str, tuple[str, ...]]:
    return _legacy(*methods) | _modern(*methods)


_USES_A_TOOL = ("tools/list", "tools/call")

_SIGNS_IN = (
    *(
        "basic-cimd",
        "metadata-default",
        "metadata-var1",
        "metadata-var2",
        "metadata-var3",
        "pre-registration",
    ),
    *("scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined"),
    *("scope-step-up", "token-endpoint-auth-basic", "token-endpoint-auth-none", "token-endpoint-auth-post"),
)
_SIGNS_IN_MODERN = (
    *("authorization-server-migration", "iss-not-advertised", "iss-supported"),
    *("offline-access-not-supported", "offline-access-scope"),
)
_REFUSES = (
    *("iss-normalized", "iss-supported-missing", "iss-unexpected", "iss-wrong-issuer"),
    *("metadata-issuer-mismatch", "resource-mismatch"),
)
_EXTENSIONS = (
    *("client-credentials-basic", "client-credentials-jwt", "dpop", "dpop-nonce"),
    *("enterprise-managed-authorization", "wif-jwt-bearer"),
)
_BACK_COMPATIBLE = ("2025-03-26-oauth-endpoint-fallback", "2025-03-26-oauth-metadata-backcompat")

AUTHORIZATION = (
    *(Scenario(name=f"auth/{name}", says=_both(*_USES_A_TOOL)) for name in _SIGNS_IN),
    *(Scenario(name=f"auth/{name}", says=_modern(*_USES_A_TOOL)) for name in _SIGNS_IN_MODERN),
    *(Scenario(name=f"auth/{name}", says=_modern()) for name in _REFUSES),
    *(Scenario(name=f"auth/{name}", says=_both(*_USES_A_TOOL), forced=True) for name in _EXTENSIONS),
    *(
        Scenario(name=f"auth/{name}", says={FIRST_AUTHORIZED: (*_OPENS_LEGACY, *_USES_A_TOOL)})
        for name in _BACK_COMPATIBLE
    ),
    Scenario(name="auth/scope-retry-limit", says=_legacy("tools/list") | _modern()),
)
"""Who gets a token, and from whom not; `client.py` has one person for all of them."""

RUN = (
    *AUTHORIZATION,
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

_SKILLS = "the skills extension, which mcp-tui does not speak"

LEFT_OUT = {
    r"sep-2640-client-.+": _SKILLS,
}
"""Patterns of whole names, and why those scenarios are not run. README.md says the same to people."""
