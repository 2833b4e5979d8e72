"""Calls that a client repeats although it does not know the outcome of the first."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol.descriptions import repeat_words
from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.messages import Json, read_json
from mcp_tui.protocol.repeats import EQUAL_CALLS, Repeats, identity
from tests.cases import cases
from tests.protocol.test_observing import Watched

Play = Callable[[Watched], object]


def called(tap: Watched, id: Json, at: float, **more: Json) -> None:
    params: dict[str, Json] = {"name": "send", "arguments": {"to": "a"}, **more}
    tap.client(at, id=id, method="tools/call", params=params)


def timed_out(tap: Watched, id: int | str, at: float) -> None:
    tap.ledger.cancel(id, Cause.MAX_TIMEOUT, "timed out", at=at)
    tap.ledger.perform()


def repeats(tap: Watched, id: int | str) -> str:
    event = tap.row(id).repeat
    return "" if event is None else repeat_words(event)


def late(tap: Watched) -> None:
    timed_out(tap, 1, 1.0)
    tap.ledger.signalled(1, Signal.NOTIFICATION, at=1.0)
    tap.answers(1, at=3.0)


FIRSTS: list[tuple[Play, str]] = [
    (late, "repeats 1, whose result came at +2.0 s and was never delivered"),
    # openai-agents 0.24.0 (PyPI) with max_retry_attempts, at its own limit
    (lambda tap: timed_out(tap, 1, 1.0), "repeats 1, of which nothing more was seen"),
    (lambda tap: tap.cancels(1, at=1.0), "repeats 1, of which nothing more was seen"),
    (lambda tap: None, "repeats 1, which was still running"),  # no cancel: crewai 1.15.30 at its limit
    (  # @mastra/mcp 2.0.0 (npm) sends a call again after a lost connection
        lambda tap: tap.ledger.stream_ended(1, "reset", at=1.0),
        "repeats 1, of which nothing more was seen",
    ),
    (
        lambda tap: tap.ledger.refused(1, "the server answered HTTP 502", at=1.0, status=502),
        "repeats 1, of which nothing more was seen",
    ),
    # Claude Code 2.1.332, Codex 0.171.0, and opencode 1.18.33 (npm), once: the server did not take the first
    (lambda tap: tap.ledger.refused(1, "the session is gone (HTTP 404)", at=1.0, status=404), ""),
    (lambda tap: tap.ledger.refused(1, "connection refused", at=1.0), ""),
    (lambda tap: tap.answers(1, at=1.0), ""),
    (lambda tap: tap.answers(1, {"content": [], "isError": True}, at=1.0), ""),
    (lambda tap: tap.server(at=1.0, id=1, error={"code": -32000, "message": "no"}), ""),
]


@cases(("first", "said"), FIRSTS)
def test_a_call_repeats_one_whose_outcome_its_client_does_not_know(first: Play, said: str) -> None:
    tap = Watched()
    called(tap, 1, 0.0)
    first(tap)
    called(tap, 2, 5.0)
    assert repeats(tap, 2) == said


@cases(
    ("more", "at"),
    [
        ({"arguments": {"to": "b"}}, 5.0),
        ({"arguments": {"to": "a", "cc": None}}, 5.0),
        ({"name": "other"}, 5.0),
        ({}, 700.0),  # behind the window
        ({"requestState": "x"}, 5.0),  # the same call, which continues
    ],
)
def test_another_call_repeats_nothing(more: dict[str, Json], at: float) -> None:
    tap = Watched()
    called(tap, 1, 0.0)
    timed_out(tap, 1, 1.0)
    called(tap, 2, at, **more)
    assert repeats(tap, 2) == ""


def test_the_spelling_of_arguments_and_their_meta_do_not_count() -> None:
    def of(arguments: str) -> bytes | None:
        return identity(
            "tools/call", {"name": "x", "_meta": {"t": arguments}, "arguments": read_json(arguments.encode())}
        )

    assert of('{"a": 1, "b": [1e2, {"c": -0.0}]}') == of('{"b": [100, {"c": 0}], "a": 1.0}')
    alone = [
        "null",
        "{}",
        '{"a": null}',
        '{"a": 1}',
        '{"a": true}',
        '{"a": "1"}',
        "[1, 2]",
        "[2, 1]",
        '{"a": 1.5}',
    ]
    assert len({of(each) for each in alone}) == len(alone)
    assert identity("tools/call", {"name": "x"}) not in (of("null"), of("{}"), None)
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    assert identity("tools/call", {"arguments": deep}) is None


def test_equal_calls_at_once_are_parallel_and_a_later_one_is_a_repeat() -> None:
    tap = Watched()
    called(tap, 1, 0.0)
    called(tap, 2, 0.4)
    called(tap, 3, 0.6)
    assert [repeats(tap, each) for each in (1, 2, 3)] == ["", "", "repeats 1, which was still running"]


def test_a_call_given_up_among_parallel_ones_is_repeated_by_the_next() -> None:
    tap = Watched()
    for id_ in (1, 2, 3):
        called(tap, id_, 0.0)
    tap.cancels(2, at=0.1)
    called(tap, 4, 0.2)
    tap.answers(1, at=0.3)
    called(tap, 5, 0.4)
    assert [repeats(tap, each).partition(",")[0] for each in (3, 4, 5)] == ["", "repeats 2", "repeats 2"]


def test_of_a_storm_of_equal_calls_few_are_remembered_and_each_repeats_the_first() -> None:
    tap = Watched()
    for id_ in range(1, EQUAL_CALLS + 50):
        called(tap, id_, float(id_))
    assert repeats(tap, EQUAL_CALLS + 49) == "repeats 1, which was still running"
    for id_ in range(1, EQUAL_CALLS + 1):
        tap.answers(id_, at=400.0)
    called(tap, "after the answers", 401.0)
    assert repeats(tap, "after the answers") == ""


def test_the_answer_to_a_repeat_is_that_to_all() -> None:
    tap = Watched()
    for id in (1, 2, 3):
        called(tap, id, 2.0 * id)
        timed_out(tap, id, 2.0 * id + 1)
    called(tap, 4, 10.0)
    assert [repeats(tap, each).partition(",")[0] for each in (2, 3, 4)] == ["repeats 1"] * 3
    tap.answers(4, at=11.0)
    called(tap, 5, 12.0)
    assert repeats(tap, 5) == ""


@cases("hint", ["readOnlyHint", "idempotentHint"])
def test_a_tool_that_is_safe_to_repeat_is_no_concern_and_the_last_list_counts(hint: str) -> None:
    tap = Watched()
    for id, safe in ((1, True), (10, False)):
        tap.asks(id, "tools/list")
        tap.answers(id, {"tools": [{"name": "send", "annotations": {hint: safe}}, 7, {"name": 7}]})
        called(tap, id + 1, 20.0 * id)
        timed_out(tap, id + 1, 20.0 * id + 1)
        called(tap, id + 2, 20.0 * id + 2)
        assert bool(repeats(tap, id + 2)) is not safe


def test_a_repeat_in_another_session_of_the_same_client_is_named() -> None:
    shared, taps = Repeats(), [Watched(), Watched()]
    for name, tap in zip(("first", "second"), taps, strict=True):
        tap.ledger.repeats, tap.ledger.session = shared, name
    called(taps[0], 1, 0.0)
    taps[0].ledger.closed("the server exited", at=1.0)
    called(taps[1], 1, 2.0)  # under the same id, as some clients do
    assert repeats(taps[1], 1) == "repeats 1 of first, of which nothing more was seen"
    taps[1].ledger.client = "another client"
    called(taps[1], 2, 3.0)
    assert repeats(taps[1], 2) == ""


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["answer", "cancel", "lose", ""])), max_size=12
    )
)
def test_no_repeat_is_missed_and_none_is_invented(steps: list[tuple[str, str]]) -> None:
    """Against the definition, in plain words."""
    tap, unknown = Watched(), dict[str, list[int]]()
    for id, (to, end) in enumerate(steps, 1):
        called(tap, id, 10.0 * id, arguments={"to": to})
        before = unknown.setdefault(to, [])
        assert repeats(tap, id).partition(",")[0] == (f"repeats {before[0]}" if before else "")
        before.append(id)
        match end:
            case "answer":
                tap.answers(id, at=10.0 * id + 1)
                before.clear()
            case "cancel":
                tap.cancels(id, at=10.0 * id + 1)
            case "lose":
                tap.ledger.stream_ended(id, "reset", at=10.0 * id + 1)
            case _:
                pass
