"""The verdicts on a client from what was seen of it, without a process: its messages, its output, its end."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from mcp_tui.client.connection import ServerInfo
from mcp_tui.judge.client_experiments import CLIENT_EXPERIMENTS, HANDSHAKE_SECONDS
from mcp_tui.judge.client_rules import BREAKS, CLIENT_RULES
from mcp_tui.judge.client_run import ClientReport
from mcp_tui.judge.client_trial import START_SECONDS
from mcp_tui.judge.observed_connection import ObservedConnection
from mcp_tui.judge.observed_run import (
    ObservedCall,
    ObservedHttpSession,
    ObservedQuestion,
    ObservedRun,
    ObservedServer,
    OutputLine,
    control_name,
)
from mcp_tui.judge.verdicts import judge
from mcp_tui.probe.report import Finding, Verdict
from mcp_tui.protocol.events import Origin, Signal, Violation
from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE
from tests.cases import cases

PASS, FAIL, WARNING = Verdict.PASS, Verdict.FAIL, Verdict.WARNING
UNSEEN, ABSENT = Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE
INITIALIZE: Final[dict[str, Any]] = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "other", "version": "3"},
    },
}
INITIALIZED: Final[dict[str, Any]] = {
    "id": 0,
    "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}},
}

pytestmark = pytest.mark.sends_anything


def call(at: float = 10.0, **more: Any) -> ObservedCall:
    return ObservedCall("stubborn", at, 0, 1, **more)


def cancelled(at: float = 12.0, reason: object = "too slow", **more: Any) -> ObservedCall:
    return call(cancelled_at=at, signal=Signal.NOTIFICATION, reason=reason, answered_at=13.0, **more)


def following(at: float = 12.5, answered_at: float = 13.1, **more: Any) -> ObservedCall:
    return ObservedCall("add", at, 0, 2, answered_at=answered_at, **more)


def run(
    name: str = "limit", *calls: ObservedCall, nexts: tuple[ObservedCall, ...] = (), **more: Any
) -> ObservedRun:
    """A run whose client ended its server and itself at 20 s."""
    given: dict[str, Any] = {
        "tool": "stubborn",
        "requests": 3,
        "servers": [ObservedServer(7, 9.0, 20.0, [], 20.1)],
        "exit": 0,
        "ended_at": 20.0,
        "acted_at": 13.0,
        **more,
    }
    return ObservedRun(experiment=name, calls=[*calls], nexts=[*nexts], **given)


def found(rule: str, *runs: ObservedRun, revision: Any = LATEST_HANDSHAKE) -> Finding:
    return judge({each.experiment: each for each in runs}, revision, "stdio")[rule]


GAVE_UP: Final = OutputLine(12.0, "stdout", "gave up")


@cases(
    ("observed", "verdict", "words"),
    [
        (run("limit", cancelled(), nexts=(following(),)), PASS, "cancelled 2.00 s after the call"),
        (run("limit", call(), nexts=(following(),)), WARNING, "it made its next call, add, and sent no cancel"),
        (run("limit", call(), gave_up=GAVE_UP), WARNING, 'it printed "gave up", and sent no cancel'),
        (run("limit", call()), UNSEEN, "it ends the server, 10.00 s after the call"),
        (run("limit", call(), gave_up=OutputLine(19.9, "stdout", "gave up")), UNSEEN, "neither the one nor the other"),
        # two calls at once are no sign
        (run("limit", call(), nexts=(following(10.1),)), UNSEEN, "it ends the server"),
        (run("limit", call(), gave_up=OutputLine(9.0, "stdout", "gave up")), UNSEEN, "it ends the server"),
        (run("limit", call(answered_at=19.0)), UNSEEN, "no sign that the client gave up"),
        (run("limit", call(answered_at=20.1)), UNSEEN, "it ends the server, 10.00 s after the call"),
        (run("limit", call(answered_at=40.0), servers=[ObservedServer(7, 9.0)], stopped=True, exit=None),
         UNSEEN, "no sign that the client gave up"),
        (run("limit", servers=[], requests=0, exit=1), UNSEEN, "it did not start the server, and ended with status 1"),
        (run("limit", requests=0), UNSEEN, "it sent no request"),
        (run("limit", ObservedCall("count", 10.0)), UNSEEN, "it called count instead of stubborn"),
        (run("limit"), UNSEEN, "it did not call stubborn"),
    ],
)  # fmt: skip
def test_that_a_call_was_given_up_is_known_from_a_cancel_a_line_or_the_next_call(
    observed: ObservedRun, verdict: Verdict, words: str
):
    finding = found("K-01", observed)
    assert (finding.verdict, words in finding.sentence) == (verdict, True), finding


def test_a_cancel_behind_the_answer_is_none():
    late = call(cancelled_at=13.5, signal=Signal.NOTIFICATION, answered_at=13.0)
    finding = found("K-01", run("limit", late, gave_up=GAVE_UP))
    assert (finding.verdict, "sent its cancel after the answer" in finding.sentence) == (WARNING, True)


def test_a_cancel_with_an_id_of_nothing_was_to_name_what_is_in_progress():
    stray = talked(INITIALIZE, cancel("0"), name="initialize", handshake=False)
    stray.initialize_at = 10.0
    assert found("K-05", stray).verdict is FAIL
    task = ObservedCall("research", 10.0, is_task=True)
    other = run("task", task, tool="research", strays=["'x'"])
    assert found("K-06", other).sentence == "it cancelled 'x', which is not a task of the server"


def test_a_stop_that_comes_with_the_limit_was_seen_by_nobody():
    limit = run("limit", cancelled())
    assert found("K-02", limit, run("stop", cancelled(10.5))).verdict is PASS
    assert found("K-02", limit, run("stop", call(), nexts=(following(10.6),))).verdict is WARNING
    assert found("K-02", limit, run("stop", cancelled(11.9))).verdict is UNSEEN


def talked(*frames: dict[str, Any], name: str = "limit", handshake: bool = True) -> ObservedRun:
    """A run in which these messages passed, a second apart; those with a result or an error are the server's."""
    observed = ObservedConnection()
    opening: tuple[dict[str, Any], ...] = (INITIALIZE, INITIALIZED) if handshake else ()
    for at, frame in enumerate((*opening, *frames), 10):
        raw = json.dumps(
            {"jsonrpc": "2.0", **{key: each for key, each in frame.items() if key != "by"}}
        ).encode()
        theirs = frame.get("by") == "server" or "result" in frame or "error" in frame
        if theirs:
            observed.server_wrote(raw, at)
        else:
            observed.client_wrote(raw + b"\n", at)
    return run(name, call(), events=observed.events)


def called(id: Any, token: Any = None, **params: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {
        "id": id,
        "method": "tools/call",
        "params": {"name": "stubborn", "arguments": {}, **meta, **params},
    }


def cancel(id: Any, method: str = "notifications/cancelled") -> dict[str, Any]:
    return {"method": method, "params": {"requestId": id}}


ANSWERED: Final[dict[str, Any]] = {"id": 1, "result": {"content": []}}
TASK: Final[dict[str, Any]] = {
    "id": 1,
    "result": {"task": {"taskId": "t", "status": "working", "createdAt": "", "ttl": None}},
}
QUESTION: Final[dict[str, Any]] = {"id": "q", "method": "elicitation/create", "params": {}, "by": "server"}


@cases(
    ("rule", "observed"),
    [
        ("K-03", talked(called(1), cancel(1, "notifications/canceled"))),
        ("K-03", talked(called(1), cancel(1, "$/cancelRequest"))),
        ("K-03", talked(called(1), QUESTION, cancel("q"))),
        ("K-04", talked(called(1), cancel("1"))),
        ("K-04", talked(called(1), cancel(None))),
        ("K-04", talked(called(1), cancel(1), cancel(1))),
        ("K-04", talked(called(1), ANSWERED, called(2), cancel(1))),
        ("K-05", talked(INITIALIZE, cancel(0), handshake=False)),
        ("K-06", talked(called(1, task={}), TASK, cancel(1))),
        ("K-12", talked(called(1), called(1))),
        ("K-12", talked(called(1, token="x"), called(2, token="x"))),
        # the token of another is its own id
        ("K-12", talked(called(5, token=6), called(6, token=6))),
    ],
)  # fmt: skip
def test_what_a_tap_sees_breaks_one_rule_and_no_other(rule: str, observed: ObservedRun):
    findings = judge({"limit": observed}, LATEST_HANDSHAKE, "stdio")
    assert {each.rule for each in findings.values() if each.verdict is FAIL} == {rule}
    assert findings[rule].evidence


def test_a_token_is_free_again_when_its_call_is_over():
    findings = judge(
        {"ids": talked(called(1, token="x"), ANSWERED, called(2, token="x"), name="ids")},
        LATEST_HANDSHAKE,
        "stdio",
    )
    assert findings["K-12"].verdict is UNSEEN  # too few


@cases(
    ("transport", "revision", "verdict"),
    [
        ("http", LATEST, UNSEEN),
        ("http", LATEST_HANDSHAKE, FAIL),  # a connection is one session there
        ("stdio", LATEST, FAIL),  # a connection is one client there
    ],
)
def test_another_client_of_a_program_may_use_an_id_again_where_there_are_no_sessions(
    transport: str, revision: Any, verdict: Verdict
):
    # A program on mcp 2.3.0 (PyPI) gives a call up, closes its Client, and opens another: both call a tool with the id 2.
    observed = talked(called(2), called(2), handshake=False)
    finding = judge({"limit": observed}, revision, transport)["K-12"]
    assert finding.verdict is verdict
    assert [each.what for each in finding.evidence] == [
        "limit: tools/call with the id 2, which is still open"
    ]


def judged(rule: str, observed: ObservedRun, control: ObservedRun | None = None) -> Finding:
    """The finding on a run, with its control run, which ends as a client does that nothing harms."""
    control = control or run(observed.experiment, *observed.calls, nexts=(following(),))
    runs = {observed.experiment: observed, control_name(observed.experiment): control}
    return judge(runs, LATEST_HANDSHAKE, "stdio")[rule]


def waiting(at: float = 12.5, **more: Any) -> ObservedCall:
    """A next call that was made, and never answered."""
    return ObservedCall("add", at, 0, 2, **more)


def said(stream: str, text: str, at: float = 13.05) -> list[OutputLine]:
    return [OutputLine(at, stream, text)]


@cases(
    ("more", "verdict", "words"),
    [
        ({"nexts": (following(),)}, PASS, "its next call was answered, and it ended with status 0"),
        ({"nexts": (following(),), "exit": None, "ended_at": None}, UNSEEN, "nothing shows what came of that"),
        ({"nexts": (following(14.5, 14.6),), "exit": None, "ended_at": None, "next_shown": True}, PASS, "as a person saw"),
        ({}, WARNING, "it made no next call"),
        ({"exit": 1, "ended_at": 13.01, "nexts": (waiting(),)}, WARNING, "it ended with status 1 before its next call"),
        ({"exit": 0, "ended_at": 13.01, "nexts": (waiting(),)}, WARNING, "it ended with status 0 before its next call"),
        ({"exit": 1, "nexts": (following(),)}, WARNING, "it ended with status 1"),
        ({"exit": -11, "nexts": (following(),)}, WARNING, "it was ended by SIGSEGV"),
        ({"exit": None, "stopped": True, "stopped_at": 43.0, "nexts": (following(),)}, WARNING, "it hung"),
        ({"nexts": (following(), waiting(13.05))}, WARNING, "it called add before its next call was answered"),
        ({"nexts": (following(cancelled_at=18.1),)}, WARNING, "it cancelled its next call 5.0 s"),
        ({"nexts": (following(cancelled_at=13.0),)}, UNSEEN, "nothing shows"),
        (
            {"nexts": (following(),), "servers": [ObservedServer(7, 9.0), ObservedServer(8, 13.2)]},
            WARNING,
            "started its server",
        ),
        ({"nexts": (following(), following(15.0))}, WARNING, "it made 3 calls"),
        ({"nexts": (following(),), "lines": said("stderr", "Error: no request 1")}, WARNING, "an error surfaced: Error: no"),
        ({"nexts": (following(),), "lines": said("stdout", "Traceback")}, WARNING, "an error surfaced"),
        ({"nexts": (following(),), "lines": said("stderr", "12:00 DEBUG x: an error came late")}, PASS, "status 0"),
        ({"nexts": (following(),), "lines": said("stderr", "Uncaught Error: mine", 12.9)}, PASS, "status 0"),
        ({"acted_at": None}, UNSEEN, "no call was given up while its connection stayed"),
    ],
)  # fmt: skip
def test_a_late_result_does_harm_where_a_client_works_on_without_one_and_not_with_it(
    more: dict[str, Any], verdict: Verdict, words: str
):
    finding = judged("K-07", run("limit", cancelled(), **more))
    assert (finding.verdict, words in finding.sentence) == (verdict, True), finding


@cases(
    "more",
    [
        {"exit": 6, "nexts": (following(),)},
        {"exit": 6},
        {"exit": -11, "nexts": (following(),)},
        {"exit": None, "stopped": True, "nexts": (following(),)},
        {"nexts": (following(),), "lines": said("stderr", "Error: request 1 timed out after 2.004 s")},
        {"nexts": (following(), following(15.0))},
    ],
)
def test_what_a_client_does_in_any_case_is_no_harm(more: dict[str, Any]):
    finding = judged("K-07", run("limit", cancelled(), **more), run("limit", cancelled(), **more))
    assert finding.verdict in (PASS, UNSEEN), finding


def test_a_client_that_opens_a_connection_for_each_call_starts_no_server_again():
    ended = [ObservedServer(7, 9.0, 13.1, [], 13.2), ObservedServer(8, 14.0, 20.0, [], 20.1)]
    left = [ObservedServer(7, 9.0), ObservedServer(8, 14.0, 20.0, [], 20.1)]
    answer = "crossing, answer first"
    fine = run("crossing, cancel first", cancelled(), nexts=(following(),))
    for servers, verdict in ((ended, PASS), (left, FAIL)):
        again = run(answer, cancelled(13.01), nexts=(following(15.0),), servers=servers)
        assert found("K-09", fine, again).verdict is verdict


def test_without_a_control_run_only_what_cannot_be_doubted_is_harm():
    doubtful: list[dict[str, Any]] = [
        {},
        {"exit": 1, "nexts": (following(),)},
        {"exit": None, "stopped": True},
    ]
    for more in doubtful:
        assert found("K-07", run("limit", cancelled(), **more)).verdict is UNSEEN
    assert found("K-07", run("limit", cancelled(), exit=-11)).verdict is WARNING


def test_an_answer_and_a_cancel_that_cross_do_harm_in_either_order():
    told = said("stderr", "onerror: unknown message 1")
    shown = run("crossing, cancel first", cancelled(), nexts=(following(),), lines=told)
    assert judged("K-09", shown).verdict is PASS  # what surfaces is a fault by K-07
    assert judged("K-09", run("crossing, cancel first", cancelled(), lines=told, exit=1)).verdict is FAIL
    fine = run("crossing, cancel first", cancelled(), call(15.0), nexts=(following(),), exit=None)
    assert judged("K-09", fine).sentence.endswith("its next call was answered, and it made one more")
    answer = "crossing, answer first"
    assert found("K-09", fine, run(answer, call(), exit=-6)).verdict is FAIL
    control = run(control_name(answer), call(), nexts=(following(),))
    assert (
        found("K-09", fine, run(answer, call(answered_at=13.0)), control).verdict is PASS
    )  # its answer was in time
    assert found("K-09", fine, run(answer, cancelled(13.01)), control).verdict is FAIL
    silent = run("crossing, cancel first", call(answered_at=13.0), nexts=(following(),))
    assert found("K-09", silent).verdict is UNSEEN  # no cancel crossed the answer


def test_late_progress_is_judged_where_it_was_asked_for():
    assert judged("K-08", run("late-progress", cancelled(reports=True))).verdict is WARNING
    assert judged("K-08", run("late-progress", cancelled())).verdict is ABSENT


def test_a_cancel_of_a_call_whose_answer_was_lost_is_harm_and_breaks_no_other_rule():
    observed = run(
        "limit", cancelled(), nexts=(ObservedCall("add", 14.0, 0, 2, answered_at=15.0, cancelled_at=46.0),)
    )
    observed.events = [Violation(at=46.0, rule="cancel-over", detail="a cancel of 2", id=2, by=Origin.CLIENT)]
    findings = judge({"limit": observed}, LATEST_HANDSHAKE, "stdio")
    assert (findings["K-07"].verdict, findings["K-04"].verdict) == (WARNING, PASS)


def test_a_client_that_cancels_each_answered_call_breaks_k_04_however_soon():
    # as opencode 1.18.33 does, 0.1 to 4 s behind the answer
    answered = ObservedCall(
        "add", 10.0, 0, 2, answered_at=10.001, cancelled_at=10.002, signal=Signal.NOTIFICATION
    )
    assert found("K-04", run("ids", cancelled(), nexts=(answered,), acted_at=None)).verdict is FAIL


def asked(*others: ObservedQuestion, **more: Any) -> ObservedRun:
    """A run whose first question is answered after 1.5 s, and whose others are taken back."""
    given: dict[str, Any] = {
        "tool": "ask", "asks": "form", "acted_at": 11.6, "watched": 6.0, "nexts": (following(),), **more,
    }  # fmt: skip
    first = ObservedQuestion("q1", 10.0, None, 11.5)
    return run("question", ObservedCall("ask", 10.0, answered_at=13.0), questions=[first, *others], **given)


def taken_back(answered_at: float | None = None, *, is_error: bool = False) -> ObservedQuestion:
    return ObservedQuestion("q2", 11.6, 11.6, answered_at, is_error)


@cases(
    ("observed", "verdict", "words"),
    [
        (asked(taken_back()), PASS, "no question was answered that was taken back (watched 6.0 s)"),
        (asked(taken_back(), watched=0.5), UNSEEN, "before it had the time"),
        (asked(taken_back(13.1)), WARNING, "it answered 1.50 s after the second"),
        (asked(taken_back(), taken_back(13.1)), WARNING, "after the third"),
        # it takes 1.5 s for an answer otherwise
        (asked(taken_back(11.62)), WARNING, "it answered 0.02 s after"),
        (asked(taken_back(12.1, is_error=True)), WARNING, "with an error"),
        (asked(taken_back(12.1)), UNSEEN, "its answer crossed the cancel"),
        (asked(taken_back(), nexts=(), exit=None, stopped=True), WARNING, "it hung"),
        (asked(taken_back(), exit=1, ended_at=11.7, nexts=()), WARNING, "it ended with status 1"),
        (asked(), UNSEEN, "it did not answer"),
        (asked(asks=""), ABSENT, "it declares nothing"),
    ],
)  # fmt: skip
def test_a_question_counts_where_the_client_answers_one_that_was_not_taken_back(
    observed: ObservedRun, verdict: Verdict, words: str
):
    finding = judged("K-10", observed, asked())
    assert (finding.verdict, words in finding.sentence) == (verdict, True), finding
    assert found("K-10", observed, revision=LATEST).verdict is ABSENT


@cases(
    ("more", "words"),
    [
        ({"answered_at": 13.1}, "it made no next call"),
        ({"answered_at": 14.0, "cancelled_at": 13.1}, "it cancelled its call before its call was answered"),
    ],
)
def test_a_cancel_of_nothing_is_ignored(more: dict[str, Any], words: str):
    finding = judged("K-11", run("unknown-cancel", call(**more)))
    assert (finding.verdict, words in finding.sentence) == (WARNING, True), finding
    early = run("unknown-cancel", call(answered_at=14.0), nexts=(waiting(13.2, answered_at=15.0),))
    assert judged("K-11", early).sentence == "it called add before its call was answered"


@cases(
    ("observed", "maximum", "verdict"),
    [
        (call(reports=True, cancelled_at=18.0), 8.0, PASS),
        (call(reports=True, cancelled_at=12.1), 8.0, ABSENT),
        (call(reports=True), 8.0, WARNING),
        (call(reports=True), 0.0, UNSEEN),
        (call(), 8.0, ABSENT),
    ],
)
def test_a_maximum_is_missed_only_where_the_client_says_that_it_has_one(
    observed: ObservedCall, maximum: float, verdict: Verdict
):
    observed.tool = "count"
    kept = run("progress", observed, tool="count", maximum=maximum, watched=9.0, stopped=True)
    assert found("K-13", run("limit", cancelled()), kept).verdict is verdict
    assert found("K-13", kept).verdict in (UNSEEN, ABSENT)  # its limit is not known


def test_a_limit_that_looked_shorter_because_its_call_came_late_is_no_reset():
    late = run("limit", cancelled(11.2), timeout=2.0)
    usual = ObservedCall("count", 10.0, reports=True, cancelled_at=12.0)
    kept = run("progress", usual, tool="count", timeout=2.0, maximum=8.0, watched=9.0)
    assert found("K-13", late, kept).verdict is ABSENT


@cases(
    ("server", "verdict", "words"),
    [
        (ObservedServer(7, 9.0, 19.0, [(20.0, 15)], 21.0), PASS, "stdin closed, then SIGTERM, then killed"),
        (ObservedServer(7, 9.0, 19.0, [], 21.0), PASS, "stdin closed, then killed"),
        (ObservedServer(7, 9.0, 19.5, [(19.0, 15)], 21.0), WARNING, "before its stdin was closed"),
        (ObservedServer(7, 9.0, None, [], 21.0), WARNING, "before its stdin was closed"),
        (ObservedServer(7, 9.0, 19.0, [], None, left=True), WARNING, "left its server behind"),
    ],
)
def test_a_normal_exit_closes_stdin_first_and_leaves_nothing(
    server: ObservedServer, verdict: Verdict, words: str
):
    finding = found("K-14", run("exit", servers=[server], tool="add"))
    assert (finding.verdict, words in finding.sentence) == (verdict, True), finding
    assert found("K-14", run("exit", servers=[server], stopped=True)).verdict is UNSEEN


def test_a_client_that_looks_first_gives_the_handshake_up_with_its_last_server():
    # @modelcontextprotocol/client 2.4.0 starts a server for server/discover, and ends it if that is refused
    servers = [ObservedServer(7, 1.0, 1.1, [], 1.2), ObservedServer(8, 1.5, 4.0, [], 4.1)]
    observed = run("initialize", servers=servers, initialize_at=1.6, began=0.5, acted_at=None)
    assert [each.at for each in found("K-05", observed).evidence] == pytest.approx([1.0, 1.1, 3.5])


def test_a_rule_of_one_era_names_the_version_that_its_clause_stands_in():
    told = {rule.id: rule.of(LATEST).name for rule in CLIENT_RULES.values()}
    assert {rule for rule, name in told.items() if name != LATEST.name} == {"K-05", "K-10"}
    assert all(rule.of(LATEST_HANDSHAKE) is LATEST_HANDSHAKE for rule in CLIENT_RULES.values())


def test_how_servers_ended_is_told_in_order():
    killed = run("exit", servers=[ObservedServer(7, 9.0, 15.0, [(17.0, 15)], 19.0)])
    told = [(each.at, each.what) for each in found("K-14", killed).evidence]
    assert told == sorted(told, key=lambda each: each[0] or 0.0)
    assert len(told) == 4


def test_a_cancel_that_was_read_late_is_told_as_a_range():
    read_late = call(
        at=10.4, since=10.0, cancelled_at=12.0, cancelled_since=11.98, signal=Signal.NOTIFICATION
    )
    finding = found("K-01", run("limit", read_late))
    assert finding.sentence == "cancelled between 1.6 and 2.0 s after the call by notifications/cancelled"


def test_what_happened_before_a_signal_is_not_told_as_its_effect():
    first, second = ObservedServer(7, 9.0, None, [(11.9, 15)], 12.9), ObservedServer(8, 13.0, 20.0, [], 20.1)
    told = found("K-15", run("sigterm", call(), servers=[first, second])).evidence
    assert [(each.at, each.what) for each in told[:3]] == [
        (pytest.approx(-1.1), "before SIGTERM: process 7 got SIGTERM"),
        (pytest.approx(-0.1), "before SIGTERM: process 7 was killed"),
        (pytest.approx(7.0), "SIGTERM: stdin of process 8 was closed"),
    ]


def test_what_is_left_behind_is_told_by_the_signal():
    left: dict[str, Any] = {"servers": [ObservedServer(7, 9.0, 14.0, [], None, left=True)]}
    ended: dict[str, Any] = {"servers": [ObservedServer(7, 9.0, 14.0, [], 15.0)]}
    finding = found(
        "K-15", run("sigint", call(), **left), run("sigterm", call(), **ended), run("sigkill", call(), **left)
    )
    assert (finding.verdict, "SIGINT, SIGKILL:" in finding.sentence) == (WARNING, True)
    assert found("K-15", run("sigint", call(), **ended)).verdict is PASS
    assert found("K-15", run("sigint", call(), **left, stopped=True)).verdict is UNSEEN
    assert found("K-15", run("sigint", **left)).verdict is UNSEEN


def test_an_interrupted_client_may_cancel_or_end_the_server_but_not_forget_the_call():
    assert found("K-16", run("sigint", cancelled(10.1))).verdict is PASS
    assert found("K-16", run("sigint", call()), run("sigterm", call())).verdict is UNSEEN
    forgot = run("sigterm", call(), nexts=(following(),), acted_at=10.1)
    assert found("K-16", run("sigint", call()), forgot).verdict is WARNING
    # a cancel at one signal hides nothing of the other, unless that one ended the client by itself
    finding = found("K-16", run("sigint", call(), exit=130), run("sigterm", cancelled(), exit=143))
    told = "it ended the server and sent no cancel, which it sends at SIGTERM"
    assert (finding.verdict, finding.sentence.partition("; ")[0]) == (WARNING, f"SIGINT: {told}")
    assert found("K-16", run("sigint", call(), exit=-2), run("sigterm", cancelled())).verdict is UNSEEN
    assert found("K-16", run("sigint", cancelled()), run("sigterm", call(), exit=-15)).verdict is PASS
    assert {item.what.partition(":")[0] for item in finding.evidence} == {"SIGINT", "SIGTERM"}


def closed(at: float) -> ObservedCall:
    return call(cancelled_at=at, signal=Signal.STREAM_CLOSED)


@cases(
    ("rule", "observed", "verdict", "words"),
    [
        ("K-01", run("limit", closed(19.9)), UNSEEN, "it may have ended"),
        ("K-01", run("limit", closed(19.9), gave_up=GAVE_UP), UNSEEN, "it may have ended"),
        ("K-01", run("limit", closed(12.1), gave_up=GAVE_UP), PASS, "by closing its stream"),
        ("K-01", run("limit", closed(19.9), nexts=(following(19.95),)), PASS, "by closing its stream"),
        ("K-01", run("limit", call()), UNSEEN, "no sign that the client gave up"),
        ("K-01", run("limit", call(), sessions=[ObservedHttpSession(0, 9.0, 12.1)]), UNSEEN, "it ends the session"),
        ("K-01", run("limit", call(), nexts=(ObservedCall("add", 12.5, 1),)), UNSEEN, "no sign that the client gave up"),
        ("K-03", run("sigkill", closed(19.9)), UNSEEN, "it sent no cancel"),
        ("K-04", run("limit", closed(12.0)), ABSENT, "which names no request"),
        ("K-05", run("initialize", initialize_at=10.0, abandoned_at=12.0), UNSEEN, "lost with that"),
        ("K-05", run("initialize", initialize_at=10.0, abandoned_at=15.0, gave_up=GAVE_UP), PASS, "12.0 s"),
        ("K-05", run("initialize", initialize_at=10.0, gave_up=GAVE_UP, stopped=True), PASS, "12.0 s"),
        ("K-05", run("initialize", initialize_at=10.0, stopped=True), UNSEEN, "to the end"),
        ("K-05", run("initialize", initialize_at=10.0, exit=-6), UNSEEN, "ended by SIGABRT"),
        ("K-05", run("initialize", initialize_at=10.0, timeout=30.0, exit=1), UNSEEN, "to reach its limit"),
        ("K-07", run("limit", closed(12.0), nexts=(following(),), acted_at=None), UNSEEN, "could not come"),
        ("K-14", run("exit", sessions=[ObservedHttpSession(0, 9.0, 19.0)]), PASS, "it deleted its session"),
        ("K-14", run("exit", sessions=[ObservedHttpSession(0, 9.0, 9.5), ObservedHttpSession(1, 9.6)]), WARNING, "(1 of 2)"),
        ("K-14", run("exit"), UNSEEN, "it opened no session"),
        ("K-14", run("exit", revision="2026-07-28"), ABSENT, "has no sessions"),
        ("K-14", run("exit", sessions=[ObservedHttpSession(0, 9.0)], exit=-6), UNSEEN, "ended by SIGABRT"),
        ("K-15", run("sigint", call()), ABSENT, "it starts no server"),
        ("K-16", run("sigint", closed(19.9)), PASS, "by closing its stream"),
        ("K-16", run("sigint", call()), WARNING, "it ended, and sent no cancel"),
    ],
)  # fmt: skip
def test_over_http_nothing_is_judged_that_the_end_of_a_connection_may_hide(
    rule: str, observed: ObservedRun, verdict: Verdict, words: str
):
    observed.transport, observed.servers = "http", []
    finding = judge({observed.experiment: observed}, LATEST_HANDSHAKE, "http")[rule]
    assert (finding.verdict, words in finding.sentence) == (verdict, True), finding
    assert finding.evidence or verdict in (UNSEEN, ABSENT)


@cases(
    ("reason", "verdict"),
    [
        ("the user pressed Stop", PASS),
        ("timed out after 2.0s", PASS),
        # Codex 0.171.0 says so at its own limit, mcp 2.3.0 at any cancel of its caller: nobody's words, and readable
        ("MCP request cancelled by caller", PASS),
        ("caller cancelled", PASS),
        (None, UNSEEN),
        ("", UNSEEN),
        (7, WARNING),
        ({"why": "late"}, WARNING),
        ("McpError: MCP error -32001: Request timed out", WARNING),
        ("AbortError: This operation was aborted", WARNING),  # opencode 1.18.33
        ("SdkError: Request timed out", WARNING),  # Claude Code 2.1.332, Inspector 2.12.0
        ("AbortError: user-cancel", WARNING),  # Claude Code 2.1.332, for a person
    ],
)
def test_a_reason_is_text_for_a_person(reason: object, verdict: Verdict):
    assert found("K-17", run("limit", cancelled(reason=reason))).verdict is verdict


def test_what_the_server_takes_back_is_nothing_in_2026_and_other_runs_judge_nothing():
    assert found("K-05", run("initialize", initialize_at=0.6)).verdict is PASS
    assert found("K-05", run("initialize")).verdict is ABSENT
    waits = run(
        "initialize", initialize_at=0.6, stopped=True, servers=[ObservedServer(7, 9.0)], ended_at=None
    )
    assert found("K-05", waits).verdict is UNSEEN
    killed = run("initialize", initialize_at=10.0, stopped=True, stopped_at=20.0)
    assert found("K-05", killed).verdict is UNSEEN
    assert found("K-06", run("task", ObservedCall("research", 10.0), tool="research")).verdict is ABSENT
    task = ObservedCall("research", 10.0, is_task=True, cancelled_at=11.0, signal=Signal.TASKS_CANCEL)
    assert found("K-06", run("task", task, tool="research")).verdict is PASS
    assert found("K-11", run("unknown-cancel", call(answered_at=13.0), nexts=(following(),))).verdict is PASS
    assert found("K-11", run("unknown-cancel", call(answered_at=13.0), exit=1)).verdict is UNSEEN
    assert judge({}, LATEST_HANDSHAKE, "stdio") == {}


def test_the_judge_waits_for_a_handshake_longer_than_real_clients_do():
    # Claude Code 2.1.332 cancels initialize after 27 s; Inspector 2.12.0 and mcporter 0.12.3 give up after 30 s
    assert HANDSHAKE_SECONDS > 30
    # @modelcontextprotocol/client 2.4.0 waits 60 s for the answer to server/discover before it starts another server
    assert START_SECONDS > 60


def test_every_rule_is_judged_by_an_experiment_that_is_made():
    assert list(CLIENT_RULES) == [f"K-{number:02}" for number in range(1, len(CLIENT_RULES) + 1)]
    assert judge({}, LATEST_HANDSHAKE, "stdio") == {}
    names = {each.name for each in CLIENT_EXPERIMENTS} | {"signals", ""}
    assert {rule.experiment for rule in CLIENT_RULES.values()} <= names
    assert set(BREAKS.values()) <= set(CLIENT_RULES)
    assert len({each.run_name for each in CLIENT_EXPERIMENTS}) == len(CLIENT_EXPERIMENTS)


def test_a_report_says_whether_the_client_cancels_and_a_may_breaks_nothing():
    report = ClientReport(info=ServerInfo(transport="stdio", revision=LATEST_HANDSHAKE, name="other 3"))
    report.findings = judge({"limit": run("limit", cancelled(reason=7))}, LATEST_HANDSHAKE, "stdio")
    assert report.stops()[0] == "yes"
    assert (report.counts()[WARNING], report.broken(strict=True)) == (1, False)
    assert report.badge() == {
        "schemaVersion": 1, "label": "MCP client cancellation", "message": "cancels", "color": "brightgreen",
    }  # fmt: skip
    report.findings = judge({"limit": run("limit", call(), gave_up=GAVE_UP)}, LATEST_HANDSHAKE, "stdio")
    assert (report.stops()[0], report.broken(), report.broken(strict=True)) == ("no", False, True)
    assert "client" in report.fields()
