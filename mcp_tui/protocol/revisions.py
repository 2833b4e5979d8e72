"""The protocol revisions: one table of what each permits and how it cancels.

Two eras: *handshake* (2024-11-05 to 2025-11-25) opens with ``initialize``; *modern* (2026-07-28 on) has no handshake
and describes every request by its ``_meta``. Closing a request's stream is a cancel over modern HTTP and explicitly
none before (transports, 2025-11-25, "Sending Messages"; streamable HTTP, 2026-07-28, "Cancellation").
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final

from mcp_tui.protocol.states import Signal
from mcp_tui.protocol.values import fact, frozen

META_PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
"""Members of ``_meta`` that say what a handshake said before (basic, 2026-07-28)."""


@fact
class Revision:
    """One protocol revision.

    ``modern``: there is no handshake. ``batches``: the receiver must accept JSON-RPC arrays. ``version_header``:
    ``MCP-Protocol-Version`` goes on every HTTP request after the handshake. ``method_headers``: ``Mcp-Method`` and
    ``Mcp-Name`` do. ``resumes``: a broken stream may be resumed by ``Last-Event-ID``. ``server_requests``: the server may
    send requests. ``elicitation`` are the modes that it has, and ``elicitation_modes`` says whether they are declared one
    by one. ``core_tasks``: tasks belong to it. ``completions_declared``: a server that completes arguments says so;
    ``completion_context``: the other arguments are sent along.
    """

    name: str
    modern: bool = False
    batches: bool = False
    version_header: bool = False
    method_headers: bool = False
    resumes: bool = True
    server_requests: bool = True
    elicitation: frozenset[str] = frozenset()
    elicitation_modes: bool = False
    core_tasks: bool = False
    completions_declared: bool = True
    completion_context: bool = True


_FORM_ONLY: Final = frozenset({"form"})
_FORM_AND_URL: Final = frozenset({"form", "url"})

_REVISION_TABLE: Final = (
    Revision(
        name="2024-11-05",
        resumes=False,
        completions_declared=False,
        completion_context=False,
    ),
    Revision(name="2025-03-26", batches=True, completion_context=False),
    Revision(name="2025-06-18", version_header=True, elicitation=_FORM_ONLY),
    Revision(
        name="2025-11-25",
        version_header=True,
        elicitation=_FORM_AND_URL,
        elicitation_modes=True,
        core_tasks=True,
    ),
    Revision(
        name="2026-07-28",
        modern=True,
        version_header=True,
        method_headers=True,
        resumes=False,
        server_requests=False,
        elicitation=_FORM_AND_URL,
        elicitation_modes=True,
    ),
)

REVISIONS: Final[dict[str, Revision]] = {revision.name: revision for revision in _REVISION_TABLE}
"""Every revision that mcp-tui speaks, oldest first."""

LATEST: Final = _REVISION_TABLE[-1]
LATEST_HANDSHAKE: Final = [revision for revision in _REVISION_TABLE if not revision.modern][-1]

NAMING_PARAMETERS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
"""Methods that want ``Mcp-Name``, and the parameter that it mirrors (streamable HTTP, 2026-07-28; tasks extension)."""

UNCANCELLABLE: Final = frozenset({"initialize"})
"""Methods that no client may cancel (cancellation, 2024-11-05 to 2025-11-25)."""


@frozen
class Cancellation:
    """The signal of a cancel. ``why`` is one sentence for the person who is about to give a reason."""

    signal: Signal
    why: str

    @property
    def reason_delivered(self) -> bool:
        """Whether the signal carries a reason, which only a notification does."""
        return self.signal is Signal.NOTIFICATION


def cancellation(
    revision: Revision | None,
    transport: str,
    method: str,
    *,
    task: bool = False,
    possible: bool = True,
    between: bool = False,
) -> Cancellation:
    """Returns the signal that cancels ``method`` under ``revision`` over ``transport`` (``stdio``, ``http``, ``sse``).

    ``task``: it is a task, or will be one; ``possible``: the server cancels tasks. ``between``: the server waits for input,
    and so for nothing that a signal could name.

    ``revision`` is ``None`` while it is not negotiated yet: then a probe on stdio is dropped without a word (C-23),
    and over HTTP its POST is ended.
    """
    if method in UNCANCELLABLE:
        return Cancellation(Signal.NONE, "initialize cannot be cancelled: disconnect?")
    if between:
        return Cancellation(Signal.NONE, "logged locally only (the server is waiting for input)")
    if task and possible:
        return Cancellation(Signal.TASKS_CANCEL, "logged locally only (tasks/cancel carries no reason)")
    if task:
        return Cancellation(Signal.NONE, "this server cannot cancel tasks: stop waiting instead?")
    if revision is None and transport == "stdio":
        unknown = "logged locally only (nothing is sent before the protocol version is known)"
        return Cancellation(Signal.NONE, unknown)
    if revision is None or (revision.modern and transport == "http"):
        closes = "logged locally only (HTTP 2026-07-28 closes the stream instead)"
        return Cancellation(Signal.STREAM_CLOSED, closes)
    return Cancellation(Signal.NOTIFICATION, "sent to the server; logged")


@fact
class Negotiated:
    """The negotiated properties of a connection that a ledger needs.

    ``transport`` is ``stdio``, ``http`` or ``sse``; ``revision`` is ``None`` before it is settled. ``meta`` goes into
    ``_meta`` of every request (basic, 2026-07-28, "Per-request protocol fields"). ``cancels_tasks``: the server declared
    ``tasks.cancel``. ``prompts`` are the methods of the server's that a person answers, ``modes`` the modes of elicitation
    that were declared.
    """

    transport: str = "stdio"
    revision: Revision | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    cancels_tasks: bool = True
    prompts: frozenset[str] = frozenset()
    modes: frozenset[str] = _FORM_AND_URL

    @property
    def modern(self) -> bool:
        """Whether the revision is known to have no handshake."""
        return self.revision is not None and self.revision.modern
