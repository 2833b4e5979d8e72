"""What a server asks of a person, over a real pipe and in both eras; and tasks, from their handle to their end."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client import Answer, Client, ClientSettings, Inquiry, Offers, Refusal, StdioTarget, catalogue
from mcp_tui.client.task_store import TaskStore
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.revisions import REVISIONS
from tests.client.connected import Told, connected, received, row, serving
from tests.servers.http_scripted import Call, served
from tests.waiting import until

SERVER = Path(__file__).parents[1] / "servers" / "asking_server.py"
ALL = Offers(elicitation=frozenset({"form", "url"}), sampling=True, roots=True)
YES: dict[str, Any] = {"action": "accept", "content": {"sure": True}}

eras = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


@asynccontextmanager
async def asking(
    revision: str,
    heard: Path,
    respond: Callable[[Inquiry], Awaitable[Answer]] | None = None,
    offers: Offers = ALL,
) -> AsyncGenerator[tuple[Client, Told]]:
    target = StdioTarget(command=(sys.executable, "-S", str(SERVER), revision), env={"HEARD": str(heard)})
    async with connected(target, ClientSettings(offers=offers, grace=0.3), respond) as (made, told):
        await catalogue.every(made, "tools")
        yield made, told


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
            assert [each.outcome for each in made.requests.server_requests] == ["accept"]


@eras
async def test_a_secret_in_a_form_is_sent_and_never_journalled(revision: str, tmp_path: Path) -> None:
    content = {"user": "bob", "answer": "hunter2", "digits": 42}

    async def respond(inquiry: Inquiry) -> Answer:
        return {"action": "accept", "content": content}

    store = Store(Writer(tmp_path / "journal"))
    target = StdioTarget(
        command=(sys.executable, "-S", str(SERVER), revision), env={"HEARD": str(tmp_path / "heard")}
    )
    made = Client(target, ClientSettings(offers=ALL, grace=0.3), respond=respond, store=store)
    await made.connect()
    try:
        given = said(await made.wait(made.call_tool("login", {})))["given"]
        assert (given if revision == "2025-11-25" else given["who"])["content"] == content
    finally:
        await made.close()
    written = (tmp_path / "journal").read_text()
    sent = [json.loads(json.loads(line)["raw"]) for line in written.splitlines() if '"dir":"out"' in line]
    assert "hunter2" not in written
    assert "'digits': 42" not in str(sent)
    assert "bob" in str(sent)


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


@pytest.mark.parametrize("method", [[], {}, None, 7])
async def test_a_question_whose_method_is_no_text_fails_the_call(method: Any) -> None:
    async def work(call: Call) -> None:
        await call.answer({"resultType": "input_required", "inputRequests": {"a": {"method": method}}})

    async with serving(served("2026-07-28", work)) as (_, client, _):
        id_ = client.call_tool("ask", {})
        await client.wait(id_)
        assert (row(client, id_).rule, row(client, id_).state) == ("unsupported", State.FAILED)


# -- tasks -----------------------------------------------------------------------------------------------------


@eras
async def test_a_task_completes_in_its_row(revision: str, tmp_path: Path) -> None:
    async with asking(revision, tmp_path / "heard") as (made, told):
        id_ = made.call_tool("task", {})
        frame = await made.wait(id_)
        assert said(frame) == "done"
        assert said(await made.wait(id_)) == "done"
        assert told.of(ev.TaskCreated)[0].core is (revision == "2025-11-25")
        polls = [each for each in made.requests.order if each.parent == id_]
        assert polls
        assert all(each.internal for each in polls)


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


def test_of_a_long_file_of_tasks_the_newest_are_read(tmp_path: Path) -> None:
    kept = TaskStore("asking", tmp_path / "tasks.jsonl")
    over = {"server": "asking", "task": "old", "until": 0.0, "name": "x" * 1000}
    new = {"server": "asking", "task": "new", "until": 9e12, "name": "long"}
    kept.path.write_text("".join(f"{json.dumps(each)}\n" for each in [*[over] * 1200, new]))
    assert kept.read() == {"new": "long"}


async def test_a_task_that_cannot_be_kept_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with asking("2025-11-25", tmp_path / "heard") as (made, _):
        TaskStore("asking", tmp_path / "file" / "tasks.jsonl").keep(made)
        assert said(await made.wait(made.call_tool("task", {}))) == "done"


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
