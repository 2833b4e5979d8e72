"""What a server asks of a person, over a real pipe and in both eras; and tasks, from their handle to their end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client import Answer, Client, ClientSettings, Inquiry, Offers, Refusal, StdioTarget, catalogue
from mcp_tui.client.task_store import TaskStore
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.revisions import REVISIONS
from tests.client.connected import HANG, Told, received, row
from tests.waiting import until

SERVER = Path(__file__).parents[1] / "servers" / "asking_server.py"
ALL = Offers(elicitation=frozenset({"form", "url"}), sampling=True, roots=True)
YES: dict[str, Any] = {"action": "accept", "content": {"sure": True}}

eras = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


async def _yes(inquiry: Inquiry) -> Answer:
    if inquiry.method == "roots/list":
        return {"roots": [{"uri": "file:///a"}]}
    if inquiry.method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "short"}, "model": "m"}
    return YES


@asynccontextmanager
async def asking(
    revision: str,
    heard: Path,
    respond: Callable[[Inquiry], Awaitable[Answer]] | None = _yes,
    offers: Offers = ALL,
) -> AsyncGenerator[tuple[Client, Told]]:
    target = StdioTarget(command=(sys.executable, "-S", str(SERVER), revision), env={"HEARD": str(heard)})
    made, told = Client(target, ClientSettings(offers=offers, grace=0.3), respond=respond), Told()
    made.listen(told.append)
    async with asyncio.timeout(HANG):
        try:
            await made.connect()
            await catalogue.every(made, "tools")
            yield made, told
        finally:
            await made.close()


def said(frame: Any) -> Any:
    return json.loads(frame.result["content"][0]["text"])


# -- what is declared ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "declared"),
    [
        ("2024-11-05", {"roots": {"listChanged": True}, "sampling": {}}),
        ("2025-06-18", {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}),
        (
            "2025-11-25",
            {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
        ),
        (
            "2026-07-28",
            {
                "roots": {},
                "sampling": {},
                "elicitation": {"form": {}, "url": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        ),
    ],
)
def test_what_is_declared_is_what_the_revision_has(revision: str, declared: Any) -> None:
    assert ALL.capabilities(REVISIONS[revision]) == declared
    assert Offers(tasks=False).capabilities(REVISIONS[revision]) == {}


# -- answers ---------------------------------------------------------------------------------------------------


@eras
async def test_a_form_is_answered_and_the_call_goes_on(revision: str, tmp_path: Path) -> None:
    seen: list[Inquiry] = []

    async def respond(inquiry: Inquiry) -> Answer:
        seen.append(inquiry)
        return YES

    async with asking(revision, tmp_path / "heard", respond) as (made, told):
        id_ = made.call_tool("ask", {})
        given = said(await made.wait(id_))
        assert given["given"] == (YES if revision == "2025-11-25" else {"sure": YES})
        assert [(each.method, each.server, each.parent) for each in seen] == [
            ("elicitation/create", "asking", id_)
        ]
        assert not made.interactions.open
        if revision == "2026-07-28":
            assert given["state"] == "state of ask"
            calls = [each for each in received(tmp_path / "heard") if each["method"] == "tools/call"]
            assert [each["id"] for each in calls] == [id_, row(made, id_).round_ids[0]]
            assert told.of(ev.Round)[0].number == 2
        else:
            assert [each.outcome for each in made.book.server_requests] == ["accept"]


async def _no(inquiry: Inquiry) -> Answer:
    return Refusal("not today")


async def test_a_refusal_is_an_error_up_to_2025_11_25(tmp_path: Path) -> None:
    async with asking("2025-11-25", tmp_path / "heard", _no) as (made, _):
        given = said(await made.wait(made.call_tool("folders", {})))["given"]
        assert given == {"code": -1, "message": "not today"}


async def test_a_refusal_ends_the_call_in_2026_07_28_and_nothing_is_sent(tmp_path: Path) -> None:
    async with asking("2026-07-28", tmp_path / "heard", _no) as (made, _):
        id_ = made.call_tool("folders", {})
        await made.wait(id_)
        found = row(made, id_)
        assert (found.state, found.reason) == (State.CANCELLED, "declined roots/list")
        await made.request("tools/list")
        heard = received(tmp_path / "heard")
        assert [each["method"] for each in heard].count("tools/call") == 1
        assert "notifications/cancelled" not in [each["method"] for each in heard]


@eras
async def test_what_was_not_offered_is_refused(revision: str, tmp_path: Path) -> None:
    async with asking(revision, tmp_path / "heard", offers=Offers()) as (made, _):
        id_ = made.call_tool("ask", {})
        frame = await made.wait(id_)
        if revision == "2025-11-25":
            assert said(frame)["given"]["code"] == -32601
        else:
            assert (row(made, id_).rule, row(made, id_).state) == ("unsupported", State.FAILED)


# -- cancels ---------------------------------------------------------------------------------------------------


async def _never(inquiry: Inquiry) -> Answer:
    await inquiry.over
    return YES


async def test_c50_what_the_server_takes_back_is_never_answered(tmp_path: Path) -> None:
    seen: list[Inquiry] = []

    async def respond(inquiry: Inquiry) -> Answer:
        seen.append(inquiry)
        made.call("ping")
        return await _never(inquiry)

    async with asking("2025-11-25", tmp_path / "heard", respond) as (made, told):
        assert said(await made.wait(made.call_tool("withdraw", {}))) == "withdrawn"
        assert seen[0].over.result() == "withdrawn by the server: changed my mind"
        assert told.of(ev.ServerRequestWithdrawn)
        heard = received(tmp_path / "heard")
        assert not [each for each in heard if "method" not in each]


async def test_c62_a_cancel_of_the_call_answers_its_prompt(tmp_path: Path) -> None:
    async with asking("2025-11-25", tmp_path / "heard", _never) as (made, _):
        id_ = made.call_tool("ask", {})
        await until(lambda: made.interactions.open)
        assert made.cancel(id_) is CancelOutcome.REQUESTED
        await until(lambda: not made.interactions.open)
        await until(lambda: row(made, id_).late or row(made, id_).state is State.CANCELLED)
        answers = [each for each in received(tmp_path / "heard") if "method" not in each]
        assert [each["result"] for each in answers] == [{"action": "cancel"}]


async def test_c65_a_call_given_up_during_its_prompt_sends_nothing(tmp_path: Path) -> None:
    async with asking("2026-07-28", tmp_path / "heard", _never) as (made, _):
        id_ = made.call_tool("ask", {})
        await until(lambda: made.interactions.open)
        before = len(received(tmp_path / "heard"))
        assert made.cancel(id_) is CancelOutcome.ABANDONED
        await until(lambda: not made.interactions.open)
        assert await made.wait(id_) is None
        await made.request("tools/list")
        after = received(tmp_path / "heard")[before:]
        assert [each["method"] for each in after] == ["tools/list"]


# -- tasks -----------------------------------------------------------------------------------------------------


@eras
async def test_a_task_completes_in_its_row(revision: str, tmp_path: Path) -> None:
    async with asking(revision, tmp_path / "heard") as (made, told):
        id_ = made.call_tool("task", {})
        frame = await made.wait(id_)
        assert said(frame) == "done"
        assert said(await made.wait(id_)) == "done"
        assert told.of(ev.TaskCreated)[0].core is (revision == "2025-11-25")
        polls = [each for each in made.book.order if each.parent == id_]
        assert polls
        assert all(each.internal for each in polls)


@eras
async def test_c68_the_clocks_of_a_task_stand_while_a_person_thinks(revision: str, tmp_path: Path) -> None:
    decided = asyncio.Event()

    async def respond(inquiry: Inquiry) -> Answer:
        await decided.wait()
        return YES

    async with asking(revision, tmp_path / "heard", respond) as (made, told):
        id_ = made.call_tool("nosy", {})
        await until(lambda: made.interactions.open)
        assert row(made, id_).state is State.TASK
        assert row(made, id_).deadlines() == (None, None)
        decided.set()
        assert said(await made.wait(id_))
        assert [each.id for each in told.of(ev.Paused)] == [id_]
        assert [each.id for each in told.of(ev.Resumed)] == [id_]


@eras
async def test_a_cancelled_task_says_so(revision: str, tmp_path: Path) -> None:
    async with asking(revision, tmp_path / "heard") as (made, _):
        id_ = made.call_tool("endless", {})
        await until(lambda: row(made, id_).state is State.TASK)
        assert made.cancel(id_, reason="no") is CancelOutcome.REQUESTED
        await until(lambda: row(made, id_).state is State.CANCELLED)
        found = row(made, id_)
        assert (found.signal, found.reason_delivered) == (ev.Signal.TASKS_CANCEL, False)
        heard = [each["method"] for each in received(tmp_path / "heard")]
        assert heard.count("tasks/cancel") == 1
        assert "notifications/cancelled" not in heard


@eras
async def test_c90_a_task_that_outlives_its_client_is_kept_and_taken_up_again(
    revision: str, tmp_path: Path
) -> None:
    kept = TaskStore("asking", tmp_path / "tasks.jsonl")
    async with asking(revision, tmp_path / "heard") as (made, _):
        kept.keep(made)
        id_ = made.call_tool("endless", {})
        await until(lambda: row(made, id_).state is State.TASK)
        assert kept.read() == {"task-1": "endless"}
        assert TaskStore("another", kept.path).read() == {}
        assert made.stop_waiting(id_)
        again = made.resume_task("task-1")
        await until(lambda: row(made, again).state is State.TASK)
        made.cancel(again)
        await until(lambda: row(made, again).state is State.CANCELLED)
    assert kept.read() == {}
    assert (kept.path.stat().st_mode & 0o777) == 0o600


# -- being told of changes -------------------------------------------------------------------------------------


@eras
async def test_a_resource_is_subscribed_to_and_its_updates_come(revision: str, tmp_path: Path) -> None:
    async with asking(revision, tmp_path / "heard") as (made, told):
        made.subscriptions.subscribe("test://a")
        await until(lambda: any(each.method.endswith("resources/updated") for each in told.of(ev.Notified)))
        if revision == "2026-07-28":
            stream = made.subscriptions.stream
            assert stream is not None
            assert (row(made, stream).acknowledged, row(made, stream).delivered) == (True, 1)
            made.subscriptions.subscribe("test://b")
            await until(lambda: row(made, stream).state is not State.IN_FLIGHT)
            assert made.subscriptions.stream not in (None, stream)
            assert made.subscriptions.filter() == {"resourceSubscriptions": ["test://a", "test://b"]}
        assert made.subscriptions.subscribe("test://a") is None
        assert made.subscriptions.unsubscribe("test://a") is not None or revision == "2025-11-25"
