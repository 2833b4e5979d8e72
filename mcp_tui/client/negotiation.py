"""Negotiates the revision: the decisions after the first request, as pure functions.

The probe is ``server/discover`` with the newest revision. Its reply decides (versioning, 2026-07-28, "Negotiation";
stdio and streamable HTTP, 2026-07-28, on clients of both eras). A modern answer or a known modern error means modern.
Anything else, including silence, means ``initialize``, which then decides. Refused authorization, a redirect, and a
server that was not reached say nothing about the era.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from mcp_tui.protocol.error_codes import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from mcp_tui.protocol.messages import Json, as_object, texts_in
from mcp_tui.protocol.revisions import LATEST, REVISIONS, Revision
from mcp_tui.protocol.values import fact, frozen

MODERN_ERRORS: Final = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)

PROXY_AUTHENTICATION: Final = 407
"""The HTTP status of a refusal by a proxy instead of the server."""

LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"


@fact
class Reply:
    """The reply to a probe or a handshake request.

    At most one of ``result``, ``code`` (with ``data``), ``silent``, ``closed``, and ``sse`` is set. None is set if
    only an HTTP ``status`` arrived, or over HTTP nothing; ``detail`` says that in words. ``closed``: the process
    exited, or the HTTP server was not reached. ``sse``: the event stream of HTTP+SSE arrived instead.
    """

    result: Json = None
    code: int | None = None
    message: str = ""
    data: Json = None
    status: int = 0
    silent: bool = False
    closed: bool = False
    sse: bool = False
    detail: str = ""


class Step(Enum):
    """The next step of connecting."""

    SPEAK = "speak"
    RETRY = "retry"
    INITIALIZE = "initialize"
    RESPAWN = "respawn"
    LEGACY_SSE = "legacy_sse"
    FAIL = "fail"
    NO_COMMON = "no_common"


@frozen
class Decision:
    """The next step, with the ``revision`` to use or retry; ``why`` is for the log, or the reason of a failure.

    ``blind``: the reply does not say which revisions the server supports.
    """

    step: Step
    why: str
    revision: Revision = LATEST
    blind: bool = False


def after_probe(
    outcome: Reply, *, transport: str, retried: bool = False, may_fall_back: bool = False
) -> Decision:
    """Returns the next step after ``server/discover`` (protocol revision negotiation, 2026-07-28)."""
    if outcome.closed and transport == "stdio":
        # Some servers, such as those of rmcp, exit at any first message except initialize.
        why = f"{outcome.detail or 'the server exited'} after server/discover, restarting it"
        return Decision(Step.RESPAWN, why, blind=True)
    if outcome.closed:
        return Decision(Step.FAIL, outcome.detail)
    if outcome.sse:
        return _legacy_sse("server/discover") if may_fall_back else Decision(Step.FAIL, outcome.detail)
    if outcome.result is not None:
        return _discovered(outcome.result)
    if outcome.code == UNSUPPORTED_VERSION:
        return _offered(outcome.data, retried=retried)
    if outcome.code in MODERN_ERRORS:
        return Decision(Step.SPEAK, f"error {outcome.code} is a modern server's")
    if 300 <= outcome.status < 400 or outcome.status == PROXY_AUTHENTICATION:
        return Decision(Step.FAIL, outcome.detail)
    what = outcome.detail or "an unreadable response"
    if outcome.code is not None:
        what = f"error {outcome.code}"
    elif outcome.silent:
        what = "no response"
    elif outcome.status >= 400:
        what = f"HTTP {outcome.status}"
    blind = outcome.code is None and not 400 <= outcome.status < 500
    return Decision(Step.INITIALIZE, f"{what} to server/discover, trying initialize", blind=blind)


def _legacy_sse(method: str) -> Decision:
    why = f"an endpoint event in answer to {method}, trying the HTTP+SSE transport of 2024-11-05"
    return Decision(Step.LEGACY_SSE, why)


def _discovered(result: Json) -> Decision:
    offered = texts_in(as_object(result).get("supportedVersions"))
    modern = _newest(offered, modern=True)
    if modern is not None:
        return Decision(Step.SPEAK, f"server/discover offers {', '.join(offered)}", modern)
    if _newest(offered, modern=False) is not None:
        return Decision(Step.INITIALIZE, "server/discover lists only revisions with initialize")
    if not offered:
        return Decision(Step.INITIALIZE, "server/discover lists no revisions")
    return Decision(Step.NO_COMMON, no_common(offered))


def _offered(data: Json, *, retried: bool) -> Decision:
    offered = texts_in(as_object(data).get("supported"))
    modern = _newest(offered, modern=True)
    # Only once: a server that lists a revision and refuses it would be asked for ever.
    if modern is not None and not retried:
        return Decision(Step.RETRY, f"the server offers {modern.name}", modern)
    if _newest(offered, modern=False) is not None:
        return Decision(Step.INITIALIZE, "the server lists only revisions with initialize")
    if modern is not None:
        return Decision(Step.NO_COMMON, f"the server lists {modern.name} and refuses it")
    return Decision(Step.NO_COMMON, no_common(offered))


def after_initialize(outcome: Reply, *, wanted: str | None, may_fall_back: bool) -> Decision:
    """Returns the next step after ``initialize``. ``wanted`` is a revision that the user requires."""
    if outcome.closed:
        return Decision(Step.FAIL, outcome.detail)
    if outcome.result is not None:
        name = as_object(outcome.result).get("protocolVersion")
        if not isinstance(name, str):
            return Decision(Step.NO_COMMON, "the response to initialize has no protocolVersion")
        revision = REVISIONS.get(name)
        if revision is not None and revision.modern:
            why = f"the server answers initialize with {name}, which has no initialize"
            return Decision(Step.NO_COMMON, why)
        if revision is None or (wanted is not None and name != wanted):
            return Decision(Step.NO_COMMON, no_common([name[:40]], wanted))
        return Decision(Step.SPEAK, "", revision)
    if may_fall_back and outcome.sse:
        return _legacy_sse("initialize")
    # These three by 2025-11-25 ("Backwards Compatibility"); before, any 4xx status.
    if may_fall_back and outcome.status in (400, 404, 405):
        why = f"HTTP {outcome.status} to initialize, trying the HTTP+SSE transport of 2024-11-05"
        return Decision(Step.LEGACY_SSE, why)
    if outcome.code == UNSUPPORTED_VERSION:
        return Decision(Step.NO_COMMON, no_common(texts_in(as_object(outcome.data).get("supported")), wanted))
    if outcome.code is not None:
        return Decision(Step.FAIL, f"the server refused initialize: {outcome.message} (error {outcome.code})")
    return Decision(Step.FAIL, outcome.detail or "the server did not answer initialize")


def no_common(offered: list[str], wanted: str | None = None) -> str:
    """Returns the sentence about two lists of revisions without a common one."""
    ours = wanted or ", ".join(REVISIONS)
    theirs = ", ".join(offered) or "no known version"
    return f"the server speaks {theirs}; requested {ours}"


def _newest(offered: list[str], *, modern: bool) -> Revision | None:
    ours = reversed(REVISIONS.values())
    return next((each for each in ours if each.name in offered and each.modern is modern), None)
