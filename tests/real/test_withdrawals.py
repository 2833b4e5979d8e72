"""Questions of real servers that nobody answers: taken back, let lie, or waited for, and what the client makes of each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from mcp_tui.client import Answer, Client, ClientSettings, HttpTarget, Inquiry, Offers, StdioTarget
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json
from tests.real.asking import PATIENCE, QUIET, Question, ServerRequest, call, observe
from tests.real.observed import QUESTIONS
from tests.real.registry import ENVIRONMENT, MODERN, SERVERS_BY_NAME

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

AT_ONCE = 2  # nearly all of an observation is waiting
WITHIN = 20.0  # seconds; only to tell a hang from a slow machine

ASKS = {asking: question for asking, question in QUESTIONS.items() if question.asked}
WITHDRAW = [asking for asking, question in ASKS.items() if question.withdrawn is not None]
GIVE_UP = [asking for asking, it in ASKS.items() if it.withdrawn is None and it.answer != "silent"]

Observations = dict[ServerRequest, Future[Question]]


def needs(asking: ServerRequest) -> None:
    if reason := SERVERS_BY_NAME[asking.server].missing():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def observations() -> Generator[Observations]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        present = [asking for asking in QUESTIONS if not SERVERS_BY_NAME[asking.server].missing()]
        yield {asking: pool.submit(observe, asking) for asking in present}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("asking", QUESTIONS, ids=str)
def test_a_server_does_with_its_question_what_it_was_seen_to_do(
    asking: ServerRequest, observations: Observations
):
    needs(asking)
    assert observations[asking].result() == QUESTIONS[asking]


def test_every_server_was_asked_over_every_transport_of_the_handshake_era():
    assert {(asking.server, asking.transport) for asking in QUESTIONS} == {
        (server.name, transport) for server in SERVERS_BY_NAME.values() for transport in ("stdio", "http")
    }
    assert all(asking.revision != MODERN for asking in QUESTIONS)


class Person:
    """Somebody who is asked and says nothing until it is over; `stands` is set once there is a question."""

    def __init__(self) -> None:
        self.inquiries: list[Inquiry] = []
        self.why = ""
        self.stands = asyncio.Event()

    async def respond(self, inquiry: Inquiry) -> Answer:
        self.inquiries.append(inquiry)
        self.stands.set()
        self.why = await inquiry.over
        return {"action": "accept", "content": {"name": "too late"}}


class Sitting:
    """A client connected to the server, the person in front of it, and what happened."""

    def __init__(self, client: Client, person: Person) -> None:
        self.client = client
        self.person = person
        self.events: list[ev.Event] = []
        client.listen(self.events.append)

    def sent(self) -> list[dict[str, Json]]:
        raw = [self.client.store.payload(it.seq) for it in self.client.store.frames if it.direction == "out"]
        return [json.loads(each) for each in raw if each is not None]

    def answers(self) -> list[dict[str, Json]]:
        """What was sent in answer to a request of the server's."""
        return [message for message in self.sent() if "method" not in message]

    def withdrawn(self) -> list[ev.ServerRequestWithdrawn]:
        return [event for event in self.events if isinstance(event, ev.ServerRequestWithdrawn)]

    async def lives(self, server: str) -> bool:
        text = {"message" if server == "everything" else "text": "still there?"}
        async with asyncio.timeout(WITHIN):
            frame = await self.client.request("tools/call", {"name": "echo", "arguments": text})
        return frame is not None and "still there?" in str(frame.result)


@contextlib.asynccontextmanager
async def sitting(asking: ServerRequest) -> AsyncGenerator[Sitting]:
    server = SERVERS_BY_NAME[asking.server]
    settings = ClientSettings(protocol=asking.revision, offers=Offers(elicitation=frozenset({"form"})))
    with contextlib.ExitStack() as stack:
        if asking.transport == "stdio":
            target = StdioTarget(command=server.stdio, env={"PATH": ENVIRONMENT["PATH"]})
        else:
            target = HttpTarget(url=stack.enter_context(server.serve()))
        person = Person()
        client = Client(target, settings, respond=person.respond)
        try:
            await client.connect()
            yield Sitting(client, person)
        finally:
            await client.close()


@pytest.mark.parametrize("asking", WITHDRAW, ids=str)
async def test_a_question_that_is_taken_back_is_never_answered(asking: ServerRequest):
    needs(asking)
    async with sitting(asking) as it:
        async with asyncio.timeout(WITHIN):
            frame = await it.client.request("tools/call", call(SERVERS_BY_NAME[asking.server]))
        await asyncio.sleep(QUIET)  # in which an answer would leave
        (withdrawn,), (inquiry,) = it.withdrawn(), it.person.inquiries
        assert withdrawn.reason == QUESTIONS[asking].withdrawn
        assert withdrawn.request_id == inquiry.request_id
        assert it.person.why == f"withdrawn by the server: {withdrawn.reason}"
        assert it.answers() == []
        assert it.client.interactions.open == []
        assert frame is not None
        assert "asks gave up" in str(frame.result)
        assert await it.lives(asking.server)


@pytest.mark.parametrize("asking", GIVE_UP, ids=str)
async def test_a_question_that_is_let_lie_stays_open_and_says_nothing_of_a_withdrawal(asking: ServerRequest):
    needs(asking)
    async with sitting(asking) as it:
        async with asyncio.timeout(WITHIN):
            frame = await it.client.request("tools/call", call(SERVERS_BY_NAME[asking.server]))
        assert frame is not None
        assert "asks gave up" in str(frame.result)
        await asyncio.sleep(QUIET)
        assert it.withdrawn() == []
        assert it.answers() == []
        assert await it.lives(asking.server)


IN_ORDER = ["initialize", "notifications/initialized", "tools/call", "notifications/cancelled", None]


@pytest.mark.parametrize("asking", ASKS, ids=str)
async def test_a_question_whose_call_is_cancelled_is_answered_once_with_cancel(asking: ServerRequest):
    needs(asking)
    async with sitting(asking) as it:
        id_ = it.client.call("tools/call", call(SERVERS_BY_NAME[asking.server], patience=WITHIN))
        row = it.client.book.get(id_)
        assert row is not None
        async with asyncio.timeout(WITHIN):
            await it.person.stands.wait()
        assert row.open
        it.client.cancel(id_, reason="enough")
        assert not row.open
        (inquiry,) = it.person.inquiries
        async with asyncio.timeout(WITHIN):
            assert await inquiry.over == "the request it belongs to was cancelled"
        await asyncio.sleep(PATIENCE)  # in which some take their question back, although it has its answer
        (answer,) = it.answers()
        assert (answer["id"], answer["result"]) == (inquiry.request_id, {"action": "cancel"})
        assert it.withdrawn() == []
        assert [event for event in it.events if isinstance(event, ev.Violation)] == []
        assert await it.lives(asking.server)


@pytest.mark.parametrize("asking", [asking for asking in ASKS if asking.transport == "stdio"], ids=str)
async def test_the_cancel_of_a_call_leaves_before_the_answer_to_its_question(asking: ServerRequest):
    needs(asking)
    async with sitting(asking) as it:
        id_ = it.client.call("tools/call", call(SERVERS_BY_NAME[asking.server], patience=WITHIN))
        async with asyncio.timeout(WITHIN):
            await it.person.stands.wait()
        it.client.cancel(id_, reason="enough")
        async with asyncio.timeout(WITHIN):
            while not it.answers() or len(it.sent()) < len(IN_ORDER):
                await asyncio.sleep(0.01)
        assert [message.get("method") for message in it.sent()] == IN_ORDER
