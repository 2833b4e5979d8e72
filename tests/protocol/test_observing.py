"""What the messages of a foreign client say: its requests, its cancels, its answers, and the rules that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.events import Cause, Limits, RequestId, Signal
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.observing import Observer
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import LATEST, Negotiated
from mcp_tui.protocol.tasks import UNLIMITED
from tests.cases import cases


class Watched:
    """A tap without pipes: what client and server say at a second, and what it says of them."""

    def __init__(self, limits: Limits = UNLIMITED, revision: str = "2025-11-25") -> None:
        self.told: list[ev.Event] = []
        self.done: list[tuple[str, tuple[Any, ...]]] = []
        self.ledger = Ledger(self, observes=True)  # pyright: ignore[reportArgumentType] - __getattr__ has the actions
        self.observer = Observer(self.ledger, limits)
        if revision < "2026":
            self.asks(
                0,
                "initialize",
                capabilities={"elicitation": {}},
                clientInfo={"name": "probe", "version": "2"},
            )
            self.answers(0, {"protocolVersion": revision, "capabilities": {"tasks": {"cancel": {}}}})

    def event(self, event: ev.Event) -> None:
        self.told.append(event)

    def __getattr__(self, name: str) -> Callable[..., None]:
        def did(*given: Any, **_: Any) -> None:
            self.done.append((name, given))

        return did

    def client(self, at: float = 0.0, **message: Json) -> None:
        self.observer.sent(messages.parse(messages.encode({"jsonrpc": "2.0", **message})), at=at)
        self.ledger.perform()

    def server(self, at: float = 0.0, **message: Json) -> None:
        self.observer.received(messages.parse(messages.encode({"jsonrpc": "2.0", **message})), at=at)
        self.ledger.perform()

    def asks(self, id: Json, method: str = "tools/call", at: float = 0.0, **params: Json) -> None:
        self.client(at, id=id, method=method, params=params)

    def answers(self, id: Json, result: Json = None, at: float = 0.0) -> None:
        self.server(at, id=id, result=result or {"content": []})

    def cancels(self, id: Json, at: float = 1.0, **more: Json) -> None:
        self.client(at, method="notifications/cancelled", params={"requestId": id, **more})

    def row(self, id: RequestId) -> Request:
        row = self.ledger.requests.get(id)
        assert row is not None
        return row

    def broken(self) -> list[str]:
        """The rules that the client broke."""
        said = [each for each in self.told if isinstance(each, ev.Violation)]
        assert all(each.by is ev.Origin.CLIENT for each in said), said
        return [each.rule for each in said]


def test_a_client_introduces_itself_and_its_ids_may_be_of_any_type():
    tap = Watched()
    for id in (1, "1", -7, "x", ""):
        tap.asks(id, name="slow")
    tap.answers("1")
    assert [each.client for each in tap.told if isinstance(each, ev.Connected)] == ["probe 2"]
    assert [tap.row(each).state for each in (0, 1, "1", -7)] == [
        State.COMPLETED,
        State.IN_FLIGHT,
        State.COMPLETED,
        State.IN_FLIGHT,
    ]
    assert tap.broken() == []
    assert tap.done == [] or {name for name, _ in tap.done} == {"resolve"}


def test_a_client_s_cancel_is_its_own_and_a_late_answer_is_evidence():
    tap = Watched()
    tap.asks("a", name="slow", _meta={"progressToken": 0})
    tap.server(0.5, method="notifications/progress", params={"progressToken": 0, "progress": 1})
    tap.cancels("a", at=1.0, reason="gave up")
    tap.answers("a", at=1.5)
    row = tap.row("a")
    assert (row.cause, row.reason, row.signal, row.progress) == (
        Cause.CLIENT,
        "gave up",
        Signal.NOTIFICATION,
        1,
    )
    assert [(each.kind, each.after) for each in row.late] == [(ev.Kind.RESULT, 0.5)]
    assert tap.broken() == []


def test_what_a_client_may_not_do_is_a_violation_of_the_client():
    tap = Watched()
    tap.cancels("nobody")
    tap.client(method="notifications/cancelled", params={})
    tap.asks(1)
    tap.cancels(1)
    tap.cancels(1, at=2.0)
    tap.asks(2)
    tap.answers(2, at=1.0)
    tap.cancels(2, at=1.5)  # they crossed
    tap.cancels(2, at=3.0)
    tap.client(id=9, result={})
    assert tap.broken() == [
        "cancel-unknown",
        "cancel-unknown",
        "cancel-repeated",
        "cancel-over",
        "answer-unknown",
    ]


def test_a_client_may_cancel_what_the_server_may_still_run_and_what_the_tap_did_not_see():
    tap = Watched()
    tap.asks(1)
    tap.ledger.stream_ended(1, "the client closed its stream", at=1.0)
    tap.cancels(1, at=9.0)
    tap.observer.missed = True  # the bytes of the request 2
    tap.cancels(2, at=9.0)
    assert tap.broken() == []


def test_a_cancel_of_what_the_server_asked_has_the_wrong_direction_whenever_it_comes():
    tap = Watched()
    tap.asks(1)
    for id in ("q", "r", "s"):
        tap.server(1.0, id=id, method="elicitation/create", params={"message": "?"})
    tap.client(2.0, id="r", result={"action": "accept"})
    tap.server(2.0, method="notifications/cancelled", params={"requestId": "s"})
    for id in ("q", "r", "s"):
        tap.cancels(id, at=3.0)
    assert tap.broken() == ["cancel-direction"] * 3


def test_a_request_that_cancels_is_of_a_kind_that_does_not_exist():
    tap = Watched()
    tap.asks(1)
    tap.asks(2, "tools/cancel", requestId=1)
    tap.asks(3, "tasks/cancel", taskId="1")
    tap.asks(4, "tasks/cancel", taskId="of an earlier session")
    tap.asks(5, "shop/cancel", order=1)
    assert tap.broken() == ["cancel-kind"] * 2


def test_an_id_of_2026_is_free_again_when_it_was_answered():
    tap = Watched(revision="2026-07-28")
    meta: Json = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    tap.asks(1, _meta=meta)
    tap.answers(1)
    tap.asks(1, _meta=meta)
    assert tap.broken() == []
    tap.cancels(1)
    tap.asks(1, at=9.0, _meta=meta)
    assert tap.broken() == ["request-id-reused"]


def test_initialize_that_a_client_cancels_breaks_a_rule_and_is_cancelled():
    tap = Watched(revision="2026")
    tap.asks("i", "initialize")
    tap.cancels("i")
    assert tap.broken() == ["cancel-initialize"]
    assert tap.row("i").cause is Cause.CLIENT


def _claude_code(tap: Watched) -> None:
    tap.asks("i", "initialize", protocolVersion="2025-11-25")
    tap.cancels("i", at=27.0, reason="SdkError: Request timed out")


def _codex(tap: Watched) -> None:
    tap.asks("i")
    tap.cancels("i", at=30.0, reason="MCP request cancelled by caller")


def _opencode_answered(tap: Watched) -> None:
    tap.asks("i")
    tap.answers("i", at=1.0)
    tap.cancels("i", at=1.1, reason="AbortError: The operation was aborted.")


def _opencode_late(tap: Watched) -> None:
    tap.asks("i")
    tap.answers("i", at=1.0)
    tap.cancels("i", at=5.0, reason="AbortError: The operation was aborted.")


def _opencode_limit(tap: Watched) -> None:
    tap.asks("i")
    tap.cancels("i", at=5.0, reason="McpError: MCP error -32001: Request timed out")
    tap.cancels("i", at=5.1, reason="AbortError: The operation was aborted.")


def _mcp_compressor(tap: Watched) -> None:
    tap.asks("i", "initialize", protocolVersion="2026-07-28")


def _mcp_remote(tap: Watched) -> None:
    tap.ledger.negotiated = Negotiated(transport="http", revision=LATEST)
    tap.asks("i", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    tap.cancels("i")


def _fastmcp(tap: Watched) -> None:
    meta: Json = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    tap.asks("i", _meta={**meta, "io.modelcontextprotocol/logLevel": "debug"})
    assert tap.ledger.negotiated.meta == meta  # a message of the tap asks for no logs


@cases(
    ("play", "rules", "reason"),
    [
        # Claude Code 2.1.332 (npm), at its default limit for a start
        (_claude_code, ["cancel-initialize"], "SdkError: Request timed out"),
        # Codex 0.171.0 (npm), at its own limit: nobody called that, so it is the client's word and no person's
        (_codex, [], "MCP request cancelled by caller"),
        # opencode 1.18.33 (npm): it cancels every call 0.1 to 4 s behind the answer, and twice at its limit
        (_opencode_answered, [], None),
        (_opencode_late, ["cancel-over"], None),
        (_opencode_limit, ["cancel-repeated"], "McpError: MCP error -32001: Request timed out"),
        (_mcp_compressor, ["initialize-revision"], None),  # mcp-compressor (PyPI), as a client
        (_mcp_remote, ["cancel-of-a-stream"], None),  # mcp-remote 0.15.1 (npm): its server goes on
        (_fastmcp, [], None),  # fastmcp 4.2.3 (PyPI): debug logs in each request
    ],
)
def test_what_real_clients_write_is_told_as_it_is(
    play: Callable[[Watched], None], rules: list[str], reason: str | None
):
    tap = Watched(revision="2026")
    play(tap)
    row = tap.row("i")
    assert (tap.broken(), row.reason or None) == (rules, reason)
    assert row.cause is (None if reason is None else Cause.CLIENT)


def _cancelled(tap: Watched) -> None:
    tap.asks("i", _meta={"progressToken": 1})
    tap.cancels("i", at=1.0)


def _mcp_cli(tap: Watched) -> None:
    _cancelled(tap)
    tap.ledger.tick(5.0)  # the end of the grace
    tap.server(6.0, id="i", error={"code": -32800, "message": "Request cancelled"})


def _mcp(tap: Watched) -> None:
    _cancelled(tap)
    tap.server(1.001, method="notifications/progress", params={"progressToken": 1, "progress": 1})


def _arcade(tap: Watched) -> None:
    _cancelled(tap)
    tap.answers("i", at=3.0)


def _fastmcp_server(tap: Watched) -> None:
    tap.asks("i")
    text: Json = {
        "type": "text",
        "text": "Error calling tool 'slow': Tool 'slow' execution timed out after 0.3s",
    }
    tap.answers("i", {"content": [text], "isError": True}, at=0.3)


@cases(
    ("play", "state", "outcomes", "words"),
    [
        # mcp[cli] 2.3.0 (PyPI) with rich: a tool that fails while it is cancelled delays each answer by a traceback
        (_mcp_cli, "cancelled", ["late_error"], "late error -32800 at +5.0 s, ignored"),
        # mcp 2.3.0 (PyPI): of a call and its cancel in one write one progress message comes, and no more
        (_mcp, "cancelled", ["no_reply"], "1 progress message, last at +1 ms, then quiet for 59.0 s"),
        # arcade-mcp-server 1.32.1 (PyPI), mcp-framework 0.2.22 (npm): every cancelled call is answered late
        (_arcade, "cancelled", ["late_result"], "late result at +2.0 s, ignored"),
        # fastmcp 4.2.3 (PyPI): a tool's own timeout is a result that failed, and neither our limit nor a cancel
        (_fastmcp_server, "completed", [], ""),
    ],
)
def test_what_real_servers_answer_is_told_as_it_is(
    play: Callable[[Watched], None], state: str, outcomes: list[str], words: str
):
    tap = Watched()
    play(tap)
    tap.ledger.tick(60.0)
    row = tap.row("i")
    told = [each.value for each in evidence.outcomes(row, 60.0)] if row.cause else []
    said = evidence.aftermath_words(row, 60.0) if row.cause else ""
    assert (row.state.value, told, said) == (state, outcomes, words)
    assert row.is_error is (play is _fastmcp_server)


def test_a_late_answer_to_a_call_that_was_given_up_in_silence_accuses_nobody():
    tap = Watched(revision="2026-07-28")
    tap.asks(1, name="slow", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    tap.ledger.cancel(1, Cause.MAX_TIMEOUT, "timed out", at=1.0)
    tap.ledger.give_up(tap.row(1), 1.0)
    tap.answers(1, at=5.0)
    assert [each.kind for each in tap.row(1).late] == [ev.Kind.RESULT]
    assert tap.broken() == []


def test_an_id_that_is_used_again_gets_a_row_of_its_own():
    tap = Watched()
    tap.asks(1, name="first", _meta={"progressToken": "t"})
    tap.answers(1)
    tap.asks(1, name="second", at=2.0, _meta={"progressToken": "t"})
    tap.server(2.5, method="notifications/progress", params={"progressToken": "t", "progress": 5})
    tap.answers(1, at=3.0)
    second = tap.row("1 (2)")
    assert (second.name, second.state, second.progress) == ("second", State.COMPLETED, 5)
    assert tap.observer.on_wire("1 (2)") == 1
    assert tap.row(1).duplicates == 0
    assert tap.broken() == ["request-id-reused"]


def test_what_the_server_asks_is_answered_or_taken_back():
    tap = Watched()
    tap.asks(1, name="slow")
    for id in ("q", 1, 2):
        tap.server(1.0, id=id, method="elicitation/create", params={"message": "?"})
    assert tap.row(1).paused_at == 1.0  # a person is asked, so no clock runs
    tap.client(2.0, id="q", result={"action": "accept"})
    tap.server(3.0, method="notifications/cancelled", params={"requestId": 1})
    tap.client(3.5, id=1, result={"action": "accept"})  # they crossed
    tap.client(5.0, id=1, result={"action": "accept"})
    tap.client(5.0, id="q", error={"code": -1, "message": "no"})
    asked = tap.ledger.requests.server_requests
    assert [each.outcome for each in asked] == ["accept", "withdrawn", ""]
    assert tap.broken() == ["answer-withdrawn", "answer-repeated"]


def test_rounds_of_a_client_are_one_row():
    tap = Watched(revision="2026-07-28")
    meta: Json = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    tap.asks("r1", name="ask", _meta=meta)
    tap.answers("r1", {"resultType": "input_required", "inputRequests": {}, "requestState": "S"})
    tap.asks("other", name="ask", _meta=meta)
    tap.asks("r2", name="ask", at=3.0, _meta=meta, requestState="S", inputResponses={})
    tap.answers("r2", at=4.0)
    row = tap.row("r1")
    assert (row.state, row.round_ids) == (State.COMPLETED, ("r2",))
    assert [each.id for each in tap.ledger.requests.order] == ["r1", "other"]


def test_a_task_is_cancelled_by_tasks_cancel_alone():
    tap = Watched()
    tap.asks(1, name="slow", task={})
    tap.answers(1, {"task": {"taskId": "T", "status": "working"}})
    tap.cancels(1)
    tap.cancels("T")
    assert tap.broken() == ["cancel-of-a-task"] * 2
    tap.asks(2, "tasks/get", taskId="T")
    tap.answers(2, {"taskId": "T", "status": "working"})
    tap.asks(3, "tasks/cancel", at=2.0, taskId="T")
    tap.answers(3, {"taskId": "T", "status": "cancelled"}, at=2.5)
    row = tap.row(1)
    assert (row.cause, row.signal, row.accepted_at) == (Cause.CLIENT, Signal.TASKS_CANCEL, 2.5)
    assert [each.parent for each in tap.ledger.requests.order] == [None, None, 1, 1]
    tap.ledger.tick(60.0)
    assert {name for name, _ in tap.done} <= {"resolve"}  # it polls nothing by itself


def test_a_limit_signals_the_server_by_the_id_on_the_wire():
    tap = Watched(Limits(timeout=5.0, max_timeout=None))
    tap.asks("a")
    tap.asks("a", at=1.0)
    tap.ledger.tick(6.5)
    tap.ledger.perform()
    sent = [given for name, given in tap.done if name == "signal"]
    assert [(tap.observer.on_wire(id), message["params"]["reason"]) for id, _, message in sent] == [
        ("a", "timed out after 5 s"),
        ("a", "timed out after 5 s"),
    ]
    tap.cancels("a", at=7.0)  # the client is told, and gives up as well: no rule is broken by that
    assert tap.broken() == ["request-id-reused"]


@cases(
    ("method", "records", "says"),
    [
        ("tools/call", True, ["may still be running the call", "is kept", "may do it twice"]),
        ("tools/call", False, ["may still be running the call", "is not kept", "may do it twice"]),
        ("resources/read", True, ["may still be running the request", "is kept"]),
    ],
)
def test_the_error_for_a_request_that_a_tap_ended_says_what_is_true(
    method: str, records: bool, says: list[str]
):
    it = Watched()
    it.asks(1, method)
    told = it.observer.answer_for(it.row(1), Cause.USER, "It hangs.", records=records)
    assert told is not None
    error: Any = told.get("error")
    if method == "tools/call":
        result: Any = told["result"]
        error = {"message": result["content"][0]["text"], "data": result["_meta"]["mcp-tui/ended"]}
        assert result["isError"]
    known = (
        "may still be running the call",
        "may still be running the request",
        "is kept",
        "is not kept",
        "may do it twice",
    )
    assert [each for each in known if each in error["message"]] == says
    assert error["message"].startswith("cancelled by a person: It hangs. The server")
    assert error["data"] == {"cause": "user", "mayStillBeRunning": True, "answerIsKept": records}
