from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import State
from mcp_tui.view.badges import BADGES, SERVER_BADGES
from mcp_tui.view.filters import parse
from tests.cases import cases
from tests.tui.making import called, cancelled, completed, late, requests, started

EVERY_PHRASE = {
    each.replace(",", "").replace("_", " ")
    for each in (
        "open",
        "done",
        "timed_out",
        *(state.value for state in State),
        *(b.word for b in BADGES),
        *SERVER_BADGES,
    )
}


def rows() -> Sequence[Request]:
    return requests(
        started(1, name="Slow_SQL"),
        started(2, name="crawl"),
        completed(id=2),
        started(3, name="slow_sql"),
        cancelled(id=3, reason="wrong table"),
        late(id=3),
        called(212, method="resources/read", name="file:///big log"),
        started(21),
        ev.Overdue(at=60.0, id=21, until=70.0),
    ).order


def found(text: str) -> list[object]:
    wanted = parse(text, server=lambda: "Demo")
    return [row.id for row in rows() if wanted.matches(row)]


@cases(
    ("text", "ids"),
    [
        ("", [1, 2, 3, 212, 21]),
        ("   ", [1, 2, 3, 212, 21]),
        ("state:late", [3]),
        ("state:LATE", [3]),
        ("state:in-flight", [1, 21]),
        ("state:flight", [1, 21]),
        ("state:overdue", [21]),
        ("state:queued", [212]),
        ("state:open", [1, 212, 21]),
        ("state:done", [2, 3]),
        ("state:light", []),
        ("name:slow", [1, 3, 21]),
        ("name:slow state:late", [3]),
        ("method:resources", [212]),
        ("id:21", [21]),
        ("id:2", [2]),
        ("reason:wrong", [3]),
        ('reason:"wrong table"', [3]),
        ("/big log/", [212]),
        ("/big log", [212]),
        ('"big log"', [212]),
        ("wrong", [3]),
        ("212", [212]),
        ("crawl slow", []),
        ("tools/call", [1, 2, 3, 21]),
        ("unknown://x", []),
        ("state:", [1, 2, 3, 212, 21]),
        ("-state:completed", [1, 3, 212, 21]),
        ("-name:slow", [2, 212]),
        ("-slow", [2, 212]),
        ("name:slow -state:flight", [3]),
        ("/^slow_s.l$/", [1, 3, 21]),
        ("-/^SLOW/", [2, 212]),
        ("/file:\\/\\/.*log/", [212]),
        ("/wrong/", []),
        ("/slow|crawl/ -state:open", [2, 3]),
        ("/a(b/", []),
        ("nope:x slow", []),
        ("outcome:late", [3]),
        ("outcome:late,no-reply", [3]),
        ("cause:you", [3]),
        ("-32601", []),
        ("server:dem", [1, 2, 3, 212, 21]),
        ("server:other", []),
        ("-server:other", [1, 2, 3, 212, 21]),
    ],
)
def test_what_a_filter_finds(text: str, ids: list[int]):
    assert found(text) == ids


@cases(
    ("events", "phrases"),
    [
        ([called()], "queued|open"),
        ([started()], "in flight|open"),
        ([started(), ev.Overdue(at=60.0, id=1, until=70.0)], "in flight|open|overdue"),
        ([started(), ev.InputRequired(at=1.0, id=1, round=1, asks="x")], "awaiting input|waiting|open"),
        ([started(), ev.TaskCreated(at=1.0, id=1, task_id="t", status="working")], "task|open"),
        ([started(), cancelled()], "cancel requested|cancelling|cancelled|done"),
        ([started(), cancelled(settled="")], "cancelled|done"),
        ([started(), cancelled(cause=Cause.TIMEOUT)], "cancel requested|cancelling|timed out|done"),
        ([started(), cancelled(cause=Cause.TIMEOUT, settled="")], "timed out|done"),
        ([started(), cancelled(), late()], "cancel requested|cancelling|cancelled|late|done"),
        (
            [started(), cancelled(cause=Cause.MAX_TIMEOUT), late()],
            "cancel requested|cancelling|timed out|late|done",
        ),
        ([started(), ev.Lost(at=1.0, id=1, detail="gone")], "lost|done"),
        ([started(), ev.Lost(at=1.0, id=1, detail="gone"), late()], "lost|late|done"),
        ([started(), completed()], "completed|done"),
        ([started(), completed(is_error=True)], "tool error|failed|done"),
        ([started(), ev.Failed(at=1.0, id=1, message="no", code=-1)], "failed|done"),
    ],
)
def test_a_state_is_found_in_every_spelling_and_no_other_is(events: list[Any], phrases: str):
    (made,) = [*requests(*events).order]
    shown = phrases.split("|")
    for phrase in EVERY_PHRASE:
        finds = any(f" {phrase}" in f" {each}" for each in shown)
        for spelling in (phrase.replace(" ", "_"), phrase.replace(" ", "-").upper(), f'"{phrase}"'):
            assert parse(f"state:{spelling}").matches(made) == finds, spelling
            assert parse(f"-state:{spelling}").matches(made) != finds, spelling


def test_an_unknown_field_is_refused_with_the_choices_and_shows_nothing():
    wanted = parse("late:x")
    assert wanted.problem == (
        "Unknown filter 'late'. Use key:value, with "
        "state, name, tool, method, id, reason, outcome, cause, server, took, size, text, result, or args; "
        "quote a text that has a colon."
    )
    assert found("late:x") == []


@cases(
    ("text", "said"),
    [
        ("state:light", "Unknown state 'light'. Choose from: open, done, queued,"),
        ("cause:me", "Unknown cause 'me'. Choose from: user, timeout,"),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(text: str, said: str):
    assert parse(text).problem.startswith(said)
    assert found(f"-{text}") == []


def test_a_bad_expression_says_why_and_shows_nothing():
    wanted = parse("/a(b/")
    assert wanted.problem == "Not a regular expression: /a(b/ (unclosed group)"
    assert found("/a(b/") == []


@cases("pattern", ["(a*)*b", "(x+x+)+y", "(a|a)*$", "(.*a){20}"])
def test_no_expression_takes_longer_than_the_text(pattern: str):
    wanted = parse(f"/{pattern}/")
    assert not wanted.problem
    row = requests(started(1, name="a" * 20_000 + "!")).order[0]
    assert not wanted.matches(row) or pattern in {"(a|a)*$", "(.*a){20}"}


def test_what_is_too_much_is_said():
    assert "too long" in parse(f"/{'a' * 600}/").problem
    assert parse("/(a{1000}){1000}/").problem


def test_a_second_leg_is_found_by_its_id():
    made = requests(
        started(1),
        ev.InputRequired(at=1.0, id=1, round=1, asks="x"),
        ev.Round(at=2.0, id=1, wire_id=7, number=2),
    )
    assert parse("id:7").matches(made.order[0])


def test_a_request_of_the_servers_is_found_by_what_it_says():
    made = requests(ev.ServerRequestReceived(at=1.0, request_id="s-1", method="sampling/createMessage"))
    (server_request,) = made.server_requests
    for text in ("state:asks", "state:open", "id:s-1", "method:sampling", "/create/", "sampling"):
        assert parse(text).matches(server_request), text
    for text in ("state:answered", "name:sampling", "id:s"):
        assert not parse(text).matches(server_request), text
    made.apply(ev.ServerRequestAnswered(at=2.0, request_id="s-1"))
    assert parse("state:answered").matches(server_request)
