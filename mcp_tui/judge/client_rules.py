"""The rules for clients, with their levels and their clauses, and the violations that break some of them."""

from __future__ import annotations

from functools import partial
from typing import Final

from mcp_tui.probe.rules import Clause, Rule, Strength

_must: Final = partial(Clause, Strength.MUST)
_should: Final = partial(Clause, Strength.SHOULD)

_RIGHT_CANCEL: Final = _must("Cancellation, Behavior Requirements")
_FLOW: Final = _should("Cancellation, Cancellation Flow", inferred=True)
_NO_HARM: Final = _should("Cancellation, Behavior Requirements")
_RACES: Final = _must("Cancellation, Timing Considerations")
_TOLERATED: Final = _should("Cancellation, Error Handling")
_IDS_AND_TOKENS: Final = _must("Base protocol, Requests; Progress, Progress Flow")
_MAXIMUM: Final = _should("Lifecycle, Timeouts")
_LEFT: Final = _should("Lifecycle, Shutdown", inferred=True)
# No clause says whether a client may send a call again. The hints of a tool are its server's, and no promise.
_UNSAFE: Final = Clause(Strength.MAY, "Schema, ToolAnnotations", inferred=True)
_PERSON_IS_INFORMED: Final = Clause(Strength.MAY, "Cancellation, Cancellation Flow", inferred=True)

_CLIENT_RULE_TABLE: Final = (
    Rule("K-01", "limit", "a call that reached the client's limit is cancelled", _should("Lifecycle, Timeouts"),
         _should("Cancellation, Timeouts")),
    Rule("K-02", "stop", "a call that the user or the API stopped is cancelled", _FLOW, _FLOW),
    Rule("K-03", "", "a cancel is the right one for protocol version and transport, and not of a server's request",
         _RIGHT_CANCEL, _must("stdio, Cancellation"), _must("Streamable HTTP, Cancellation")),
    Rule("K-04", "", "a cancel names a request of this client that is in progress, by the same id and type, once",
         _RIGHT_CANCEL, _RIGHT_CANCEL),
    Rule("K-05", "initialize", "initialize is never cancelled", _RIGHT_CANCEL),
    Rule("K-06", "task", "a task is cancelled by tasks/cancel", _must("Tasks, Task Cancellation"),
         _should("Tasks extension, Task Cancellation")),
    Rule("K-07", "limit", "a late result or error harms nothing: no error surfaces, and the next call works", _NO_HARM,
         _NO_HARM),
    Rule("K-08", "late-progress", "late progress harms nothing", _NO_HARM, _NO_HARM),
    Rule("K-09", "crossing", "an answer and a cancel that cross do no harm, in both orders", _RACES, _RACES),
    Rule("K-10", "question", "a question that the server takes back is not answered", _NO_HARM),
    Rule("K-11", "unknown-cancel", "a cancel of an unknown id from the server is ignored", _TOLERATED, _TOLERATED),
    Rule("K-12", "ids", "ids and progress tokens are never used twice while open", _IDS_AND_TOKENS, _IDS_AND_TOKENS),
    Rule("K-13", "progress", "a maximum limit ends a call that progress keeps alive", _MAXIMUM, _MAXIMUM),
    Rule("K-14", "exit", "a normal exit ends the server: its stdin is closed first, or its HTTP session deleted",
         _should("Lifecycle, Shutdown"), _should("stdio, Shutdown")),
    Rule("K-15", "signals", "a client that is ended by a signal leaves no server behind", _LEFT, _LEFT),
    Rule("K-16", "signals", "calls in flight are cancelled when the client is interrupted", _FLOW, _FLOW),
    Rule("K-17", "limit", "the reason of a cancel is text for a person", _PERSON_IS_INFORMED, _PERSON_IS_INFORMED),
    Rule("K-18", "repeat", "a call whose outcome is unknown is not sent again by the client on its own", _UNSAFE, _UNSAFE),
)  # fmt: skip

CLIENT_RULES: Final[dict[str, Rule]] = {rule.id: rule for rule in _CLIENT_RULE_TABLE}
"""Every rule for clients by its id, in the order of a report. Ids are never used again for other rules."""

BREAKS: Final = {
    "cancel-direction": "K-03",
    "cancel-kind": "K-03",
    "cancel-of-a-stream": "K-03",
    "cancel-unknown": "K-04",
    "cancel-over": "K-04",
    "cancel-repeated": "K-04",
    "cancel-initialize": "K-05",
    "cancel-of-a-task": "K-06",
    "progress-token-reused": "K-12",
    "request-id-reused": "K-12",
}
"""The rule that is broken by each violation of a client that a tap sees."""
