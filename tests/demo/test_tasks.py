"""The tool ``research``, which runs as a task where the client knows them, in either flavour; and the tasks."""

from __future__ import annotations

import pytest

from tests.demo.conftest import Make
from tests.demo.official import MODERN, REVISIONS
from tests.demo.peers import Exchange, Frame, Peer
from tests.waiting import wait

CORE = "2025-11-25"
EXTENSION: Frame = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
DONE = "Of four sources on tides three agree, and one was cancelled."


@pytest.fixture(params=[("stdio", CORE), ("http", CORE), ("stdio", MODERN), ("http", MODERN)], ids="-".join)
def peer(request: pytest.FixtureRequest, connect: Make) -> Peer:
    transport, revision = request.param
    return connect(transport, revision, capabilities=EXTENSION if revision == MODERN else {})


def begun(peer: Peer) -> Frame:
    """The handle of a new task."""
    params: Frame = {"name": "research", "arguments": {}}
    if not peer.modern:
        params["task"] = {}
    result = peer.request("tools/call", params).result()
    return result if peer.modern else result["task"]


def about(peer: Peer, method: str, task: Frame) -> Exchange:
    return peer.request(method, {"taskId": task["taskId"]})


def ended(peer: Peer, task: Frame) -> Frame:
    """The task, once it is over."""
    peer.logged("task", task["taskId"])
    return about(peer, "tasks/get", task).result()


def ttl(task: Frame) -> int:
    return task["ttlMs"] if "ttlMs" in task else task["ttl"]


def test_it_says_what_it_is_at_and_ends_with_the_result(peer: Peer) -> None:
    task = begun(peer)
    assert task["status"] == "working"
    assert ttl(task) == 300_000
    peer.logged("waiting", task["taskId"])
    assert about(peer, "tasks/get", task).result()["statusMessage"] == "looking for sources on tides"
    peer.step("research", 4)
    last = ended(peer, task)
    assert last["status"] == "completed"
    assert last["createdAt"] == task["createdAt"] <= last["lastUpdatedAt"]
    if peer.modern:
        assert last["result"]["content"][0]["text"] == DONE
        assert about(peer, "tasks/result", task).error()["code"] == -32601
    else:
        result = about(peer, "tasks/result", task)
        assert result.text() == DONE
        related = {"io.modelcontextprotocol/related-task": {"taskId": task["taskId"]}}
        assert result.result()["_meta"] == related


def test_a_cancel_stops_it_for_good(peer: Peer) -> None:
    task = begun(peer)
    answer = about(peer, "tasks/cancel", task).result()
    assert peer.modern or answer["status"] == "cancelled"
    assert ended(peer, task)["status"] == "cancelled"
    lines = peer.log_lines()
    (cancelled,) = [line for line in lines if line["event"] == "cancelled"]
    assert (cancelled["id"], cancelled["tool"], cancelled["how"]) == (
        task["taskId"],
        "research",
        "tasks_cancel",
    )
    wait(lambda: peer.events("stopped", task["taskId"]))
    again = about(peer, "tasks/cancel", task)
    assert again.result() if peer.modern else again.error()["code"] == -32602
    assert about(peer, "tasks/get", task).result()["status"] == "cancelled"


def test_to_cancel_the_wait_is_no_cancel_of_the_task(connect: Make) -> None:
    peer = connect("stdio", CORE)
    task = begun(peer)
    wait = about(peer, "tasks/result", task)
    peer.logged("received", wait.id)
    wait.cancel()
    peer.logged("stopped", wait.id)
    assert wait.responses == []
    assert about(peer, "tasks/get", task).result()["status"] == "working"


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_without_a_task_it_is_a_call_with_progress_that_stops_when_cancelled(
    connect: Make, transport: str, revision: str
) -> None:
    peer = connect(transport, revision)
    peer.step("research", 3)
    call = peer.call("research")
    call.beats(4)
    assert call.progress == [0, 1, 2, 3]
    call.cancel()
    peer.logged("stopped", call.id)
    assert call.responses == []
