"""What servers send in answer to the POST of a cancel, and what is said of each."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_tui.client import ClientSettings
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.requests import Request
from mcp_tui.transport.http_streams import HttpSession
from tests.client.connected import row, serving
from tests.servers.http_scripted import Call, Script, is_rpc, served, silent
from tests.waiting import until

OLD = ClientSettings(protocol="2025-11-25", grace=600.0)
Answer = Callable[[Call, Any], Awaitable[None]]


def result(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": []}}


def error(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32800, "message": "cancelled"}}


def json_of(make: Callable[[Any], Any], status: int = 200) -> Answer:
    async def answer(call: Call, id: Any) -> None:
        await call.respond(status, json.dumps(make(id)).encode(), "application/json")

    return answer


def events(*make: Callable[[Any], Any], ends: bool = True) -> Answer:
    async def answer(call: Call, id: Any) -> None:
        await call.stream()
        for each in make:
            await call.event(each(id))
        if ends:
            await call.end()
        else:
            await call.disconnected()

    return answer


async def text(call: Call, _id: Any) -> None:
    await call.respond(202, b"Accepted", "text/plain")


async def nothing(call: Call, _id: Any) -> None:
    await call.respond(202)


async def cut(call: Call, _id: Any) -> None:
    call.cut()


async def garbage(call: Call, _id: Any) -> None:
    await call.raw(b"what?\r\n\r\n")
    call.cut()


async def endless_header(call: Call, _id: Any) -> None:
    await call.raw(b"HTTP/1.1 202 OK\r\nX-Long: " + b"a" * 200_000)
    call.cut()


def answering(answer: Answer) -> Script:
    """A server that answers no call, and each cancel by ``answer`` with the id that it names."""
    work = served("2025-11-25", silent)

    async def script(call: Call) -> None:
        if call.rpc == "notifications/cancelled":
            await answer(call, call.message["params"]["requestId"])
        else:
            await work(call)

    return script


ACCEPTED = "sent, accepted by a server without sessions"
REFUSED = "sent, refused: error -32800 cancelled"
ANSWERS: dict[str, tuple[Answer, str, list[str], bool]] = {
    "202": (nothing, ACCEPTED, ["no_reply"], False),
    "words": (text, ACCEPTED, ["no_reply"], True),
    "null": (json_of(lambda id: None, 202), ACCEPTED, ["no_reply"], True),
    "an object": (json_of(lambda id: {}), ACCEPTED, ["no_reply"], True),
    "its result": (json_of(result), ACCEPTED, ["late_result"], True),
    "its result, as text": (json_of(lambda id: result(str(id))), ACCEPTED, ["late_result"], True),
    "its error": (json_of(error), ACCEPTED, ["late_error"], True),
    "its error in an array": (json_of(lambda id: [error(id)], 202), ACCEPTED, ["late_error"], True),
    "its error as an event": (events(error), ACCEPTED, ["late_error"], True),
    "its result on an open stream": (events(result, ends=False), ACCEPTED, ["late_result"], True),
    "a stream with nothing": (events(), ACCEPTED, ["no_reply"], True),
    "an error without an id": (json_of(lambda id: error(None)), REFUSED, ["refused"], True),
    "an error with another id": (json_of(lambda id: error("x")), REFUSED, ["refused"], True),
    "an error without an id as an event": (events(lambda id: error(None)), REFUSED, ["refused"], True),
    "its result and an error": (
        json_of(lambda id: [result(id), error(None)]), REFUSED, ["late_result", "refused"], True
    ),
}  # fmt: skip


def seen(cancelled: Request, words: str, outcomes: list[str]) -> bool:
    return evidence.delivery_words(cancelled, 1e9) == words and outcomes == [
        each.value for each in evidence.outcomes(cancelled, 1e9)
    ]


@pytest.mark.parametrize("name", ANSWERS)
async def test_the_answer_to_a_cancel_is_read_by_its_ids(name: str):
    answer, words, outcomes, violates = ANSWERS[name]
    async with serving(answering(answer), OLD) as (_, made, told):
        id = made.call_tool("slow", {})
        await until(lambda: row(made, id).sent_at is not None)
        made.cancel(id)
        cancelled = row(made, id)
        await until(lambda: bool(cancelled.accepted_at or cancelled.undelivered))
        if violates:
            await until(lambda: [each.rule for each in told.of(ev.Violation)][:1] == ["cancel-body"])
        if outcomes == ["no_reply"]:
            made.stop_watching(made.now())
        await until(lambda: seen(cancelled, words, outcomes))
        assert [each.rule for each in told.of(ev.Violation)].count("cancel-body") == violates


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (cut, "the connection was closed"),
        (garbage, "invalid HTTP from the server"),
        (endless_header, "the headers of the server's response are too long"),
    ],
    ids=["closed", "no HTTP", "long header"],
)
async def test_a_cancel_without_a_status_is_never_confirmed_later(answer: Answer, words: str):
    async with serving(answering(answer), OLD) as (_, made, told):
        id = made.call_tool("slow", {})
        await until(lambda: row(made, id).sent_at is not None)
        made.cancel(id)
        await until(lambda: bool(told.of(ev.CancelUnanswered)))
        said = evidence.as_json(row(made, id), made.now() + 600)
        assert (said["delivery"], said["unconfirmed"], said["signal"]) == ("written", None, "notification")
        assert evidence.delivery_words(row(made, id), 1e9).startswith(f"sent, no status: {words}")
        assert not told.of(ev.Undelivered)


async def test_a_cancel_that_was_refused_says_so_though_its_second_attempt_had_no_status(
    monkeypatch: pytest.MonkeyPatch,
):
    tried: list[Any] = []

    async def refuses(call: Call, id: Any) -> None:
        tried.append(id)
        await (call.respond(401) if len(tried) == 1 else cut(call, id))

    async def renewed(*_: object) -> bool:
        return True

    monkeypatch.setattr(HttpSession, "renewed", renewed)
    async with serving(answering(refuses), OLD) as (_, made, told):
        id = made.call_tool("slow", {})
        await until(lambda: row(made, id).sent_at is not None)
        made.cancel(id)
        await until(lambda: bool(told.of(ev.Undelivered) or told.of(ev.CancelUnanswered)))
        assert len(tried) == 2
        assert evidence.delivery_words(row(made, id), 1e9) == "sent, refused: HTTP 401"


async def test_a_cancel_while_the_stream_is_resumed_was_not_watched():
    async def dropped(call: Call) -> None:
        await call.stream()
        await call.event({"jsonrpc": "2.0", "method": "notifications/x"}, id="1", retry=600_000)
        await call.end()

    async with serving(served("2025-11-25", dropped), OLD) as (server, made, told):
        id = made.call_tool("slow", {})
        await until(lambda: "resuming in" in told.notes())
        made.cancel(id)
        await server.until(is_rpc("notifications/cancelled"))
        await until(lambda: row(made, id).accepted_at is not None)
        said = evidence.as_json(row(made, id), made.now())
        assert (said["outcome"], said["outcomes"], said["watched"]) == ("not_watched", ["not_watched"], 0.0)
