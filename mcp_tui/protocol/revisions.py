"""The protocol revisions: one table of what each permits and how it cancels.

There are two eras. *Handshake* (2024-11-05 to 2025-11-25) opens with ``initialize``. *Modern* (from 2026-07-28) has
no handshake, and every request describes itself in its ``_meta``. Over modern HTTP, closing the stream of a request
cancels it. Before, it does not (transports, 2025-11-25, "Sending Messages"; streamable HTTP, 2026-07-28,
"Cancellation").
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
"""The member of ``_meta`` with the server's name; these four replace the handshake (basic, 2026-07-28)."""


@fact
class Revision:
    """One protocol revision.

    ``modern``: there is no handshake. ``batches``: the receiver must accept JSON-RPC arrays. ``version_header``:
    every HTTP request after the handshake carries ``MCP-Protocol-Version``. ``method_headers``: it carries
    ``Mcp-Method`` and ``Mcp-Name``. ``resumes``: a broken stream may be resumed by ``Last-Event-ID``.
    ``server_requests``: the server may send requests.

    ``elicitation`` has the modes of elicitation; with ``elicitation_modes`` they are declared one by one.
    ``core_tasks``: the revision has tasks without an extension. ``completions_declared``: a server declares that it
    completes arguments. ``completion_context``: the client sends the other arguments along.
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
"""The revisions that mcp-tui supports, oldest first."""

LATEST: Final = _REVISION_TABLE[-1]
LATEST_HANDSHAKE: Final = [revision for revision in _REVISION_TABLE if not revision.modern][-1]

NAMING_PARAMETERS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
"""The methods that need ``Mcp-Name``, and the parameter with its value (streamable HTTP, 2026-07-28; tasks extension)."""

UNCANCELLABLE: Final = frozenset({"initialize"})
"""The methods that a client must not cancel (cancellation, 2024-11-05 to 2025-11-25)."""


@frozen
class Cancellation:
    """The signal of a cancel. ``why`` tells a person what happens to the reason that they are about to give."""

    signal: Signal
    why: str

    @property
    def reason_delivered(self) -> bool:
        """Whether the signal carries a reason. Only a notification does."""
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

    ``task``: the request is a task or will become one. ``possible``: the server cancels tasks. ``between``: the
    server waits for input, so no request is in progress that a signal could name.

    ``revision`` is ``None`` before it is negotiated. C-23: then a probe on stdio is dropped without a signal. Over
    HTTP its POST is closed.
    """
    # Cancellation: "The initialize request MUST NOT be cancelled by clients".
    if method in UNCANCELLABLE:
        return Cancellation(Signal.NONE, "initialize cannot be cancelled: disconnect?")
    if between:
        return Cancellation(Signal.NONE, "logged locally only (the server is waiting for input)")
    # Tasks, "Task Cancellation": a task is cancelled by tasks/cancel, never by a notification.
    if task and possible:
        return Cancellation(Signal.TASKS_CANCEL, "logged locally only (tasks/cancel carries no reason)")
    if task:
        return Cancellation(Signal.NONE, "this server cannot cancel tasks: stop waiting instead?")
    # A server of an unknown revision might take the notification for an error.
    if revision is None and transport == "stdio":
        unknown = "logged locally only (nothing is sent before the protocol version is known)"
        return Cancellation(Signal.NONE, unknown)
    # Streamable HTTP, 2026-07-28, "Cancellation": closing the stream is the cancel, and the server expects no
    # notification.
    if revision is None or (revision.modern and transport == "http"):
        closes = "logged locally only (HTTP 2026-07-28 closes the stream instead)"
        return Cancellation(Signal.STREAM_CLOSED, closes)
    return Cancellation(Signal.NOTIFICATION, "sent to the server; logged")


@fact
class Negotiated:
    """The negotiated properties of a connection that a ledger needs.

    ``transport`` is ``stdio``, ``http``, or ``sse``. ``revision`` is ``None`` before it is negotiated. ``meta`` is
    merged into the ``_meta`` of every request (basic, 2026-07-28, "Per-request protocol fields"). ``cancels_tasks``:
    the server declared ``tasks.cancel``. ``prompts`` has the methods of server requests that a person answers,
    ``modes`` the declared modes of elicitation.
    """

    transport: str = "stdio"
    revision: Revision | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    cancels_tasks: bool = True
    prompts: frozenset[str] = frozenset()
    modes: frozenset[str] = _FORM_AND_URL

    @property
    def modern(self) -> bool:
        """Whether the negotiated revision has no handshake."""
        return self.revision is not None and self.revision.modern
