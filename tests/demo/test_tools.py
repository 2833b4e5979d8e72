from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from mcp_tui.demo.tools import CRASH_STATUS
from tests.demo.conftest import Make
from tests.demo.official import REVISIONS
from tests.demo.peers import PATIENCE, Exchange, HttpExchange, Peer, StdioPeer


def nowhere_to_send(peer: Peer) -> bool:
    """Whether a cancel on this wire leaves the server no way back."""
    return peer.modern and peer.transport == "http"


def alive(peer: Peer) -> None:
    """The next call works."""
    assert peer.call("echo", text="still there?").text() == "still there?"


def ended_without_response(exchange: Exchange) -> None:
    """The server has stopped it, and the stream has ended where it has one of its own."""
    exchange.peer.logged("stopped", exchange.id)
    if isinstance(exchange, HttpExchange):
        exchange.peer.wait(exchange.done.is_set)
    assert exchange.responses == []


def increasing(numbers: list[float]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """One on one wire: what a tool does undisturbed is the same on all."""
    with StdioPeer("2025-11-25", tmp_path_factory.mktemp("plain") / "log") as peer:
        yield peer.open()


class TestUndisturbed:
    """What each tool does when nobody cancels."""

    def test_crash(self, own_peer: Peer) -> None:
        own_peer.step("crash")
        own_peer.call("crash")
        assert own_peer.process.wait(PATIENCE) == CRASH_STATUS
        last = own_peer.log_lines()[-1]
        assert (last["event"], last["cause"], last["status"]) == ("exit", "crash", CRASH_STATUS)
        assert own_peer.close().splitlines()[-1] == "demo: tool crash called, exiting"

    def test_big(self, plain: Peer) -> None:
        for megabytes in (0, 0.000002, 1, 20):
            assert len(plain.call("big", megabytes=megabytes).text()) == round(megabytes * 1_000_000)


class TestCancelled:
    """What each tool does when it is cancelled as its revision and transport prescribe."""

    def test_the_log_proves_how_the_cancel_came(self, own_peer: Peer) -> None:
        own_peer.step("count")
        call = own_peer.call("count")
        call.beats(1)
        call.cancel("wrong table")
        entry = own_peer.logged("cancelled", call.id)
        assert entry["tool"] == "count"
        if nowhere_to_send(own_peer):
            assert (entry["how"], entry["reason"]) == ("stream_closed", None)
            assert not any(line.get("method") == "notifications/cancelled" for line in own_peer.log_lines())
        else:
            assert (entry["how"], entry["reason"]) == ("notification", "wrong table")
            assert own_peer.events("disconnected", call.id) == []
        assert entry["transport"] == own_peer.transport
        assert entry["t"] >= own_peer.logged("received", call.id)["t"]

    def test_stubborn_sends_its_result(self, peer: Peer) -> None:
        peer.step("stubborn")
        call = peer.call("stubborn")
        call.beats(1)
        call.cancel()
        peer.step("stubborn", 3)
        if nowhere_to_send(peer):
            assert peer.logged("ran_on", call.id)["kind"] == "result"
            assert call.responses == []
        else:
            assert call.text()
            assert call.progress == [1]
        alive(peer)

    def test_chatty_goes_on_and_never_answers(self, peer: Peer) -> None:
        peer.step("chatty")
        call = peer.call("chatty", seconds=0.5)
        call.beats(1)
        call.cancel()
        peer.step("chatty", 8)
        cancelled = peer.logged("cancelled", call.id)["t"]
        peer.logged("stopped", call.id)
        event = "ran_on" if nowhere_to_send(peer) else "sent"
        later = [line for line in peer.events(event, call.id) if line["t"] > cancelled]
        assert [line["kind"] for line in later] == ["progress"] * 8
        ended_without_response(call)
        assert increasing(call.progress)
        alive(peer)

    def test_flood_stops_silently(self, own_peer: Peer) -> None:
        call = own_peer.call("flood", count=10_000_000)
        own_peer.wait(lambda: len(call.frames) > 200)
        call.cancel()
        ended_without_response(call)
        alive(own_peer)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_tool_in_every_revision_keeps_to_the_schema(
    connect: Make, transport: str, revision: str
) -> None:
    peer = connect(transport, revision)
    peer.control.release("count", "stubborn", "grumpy", "chatty", "racer", "twice", "research")
    calls = [
        peer.call("echo", text="x"),
        peer.call("add", a=1, b=2),
        peer.call("count", steps=2),
        peer.call("stubborn"),
        peer.call("grumpy"),
        peer.call("chatty"),
        peer.call("racer", milliseconds=1),
        peer.call("twice"),
        peer.call("big", megabytes=0.1),
        peer.call("research"),
    ]
    for call in calls:
        assert call.text()
    count = calls[2]
    assert count.progress == [1, 2]
    messages = [frame["params"].get("message") for frame in count.frames if "method" in frame]
    assert messages == ([None, None] if revision == "2024-11-05" else ["step 1 of 2", "step 2 of 2"])
    flood = peer.call("flood", meta={"io.modelcontextprotocol/logLevel": "info"}, count=10)
    assert flood.text() == "flooded with 10"
    assert len(flood.messages) == 10
    assert {m["level"] for m in flood.messages} == {"info"}
