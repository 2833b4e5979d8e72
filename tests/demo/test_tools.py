from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_tui.demo.tools import CRASH_STATUS
from tests.demo.conftest import Make
from tests.demo.official import REVISIONS
from tests.demo.peers import PATIENCE, Exchange, HttpExchange, Peer, StdioPeer, command


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

    def test_echo(self, plain: Peer) -> None:
        text = "grüße \U0001f600 \u2028 \x1b[31m \x00"
        assert plain.call("echo", text=text).text() == text

    def test_echo_of_a_lone_surrogate(self, plain: Peer) -> None:
        assert plain.call("echo", text="a\ud800b").text() == "a\ud800b"

    def test_add(self, plain: Peer) -> None:
        call = plain.call("add", a=2, b=3)
        assert call.text() == "5"
        assert call.result()["structuredContent"] == {"sum": 5}
        assert plain.call("add", a=0.5, b=-1).text() == "-0.5"

    def test_count(self, plain: Peer) -> None:
        plain.step("count", 3)
        call = plain.call("count", steps=3)
        assert call.text() == "counted to 3"
        assert call.progress == [1, 2, 3]
        (last,) = [f["params"] for f in call.frames if f.get("method") and f["params"]["progress"] == 3]
        assert last["total"] == 3
        assert last["message"] == "step 3 of 3"

    def test_nobody_who_gave_no_token_gets_progress(self, plain: Peer) -> None:
        plain.step("count", 3)
        call = plain.call("count", meta={"progressToken": None}, steps=3)
        assert call.text() == "counted to 3"
        assert call.progress == []

    def test_stubborn(self, plain: Peer) -> None:
        plain.step("stubborn", 4)
        call = plain.call("stubborn")
        assert call.text()
        assert call.progress == [1, 2, 3]

    def test_grumpy(self, plain: Peer) -> None:
        plain.step("grumpy")
        assert plain.call("grumpy").text() == "nobody cancelled"

    def test_chatty(self, plain: Peer) -> None:
        plain.step("chatty", 2)
        call = plain.call("chatty", seconds=0.5)
        assert call.text() == "talked 2 times"
        assert call.progress == [1, 2]

    def test_racer(self, plain: Peer) -> None:
        plain.step("racer")
        assert plain.call("racer", milliseconds=120).text() == "answered after 120 ms"

    def test_twice(self, plain: Peer) -> None:
        plain.step("twice")
        call = plain.call("twice")
        second = call.response(2)
        assert [r["result"]["content"][0]["text"] for r in call.responses] == [
            "the first answer",
            "the second answer",
        ]
        assert second["id"] == call.id
        alive(plain)

    def test_crash(self, own_peer: Peer) -> None:
        own_peer.step("crash")
        own_peer.call("crash")
        assert own_peer.process.wait(PATIENCE) == CRASH_STATUS
        last = own_peer.log_lines()[-1]
        assert (last["event"], last["cause"], last["status"]) == ("exit", "crash", CRASH_STATUS)
        assert (
            own_peer.close().splitlines()[-1] == "demo: the tool crash was called, so this process exits now"
        )

    def test_big(self, plain: Peer) -> None:
        for megabytes in (0, 0.000002, 1, 20):
            assert len(plain.call("big", megabytes=megabytes).text()) == round(megabytes * 1_000_000)

    def test_flood_without_a_log_level_in_the_modern_era(self, own_peer: Peer) -> None:
        call = own_peer.call("flood", count=500)
        assert call.text() == "flooded with 500"
        if own_peer.modern:
            assert call.messages == []
            assert call.progress == list(range(1, 501))
        else:
            assert [m["data"] for m in call.messages] == [f"message {n} of 500" for n in range(1, 501)]
            assert call.progress == []

    def test_silent_says_nothing(self, plain: Peer) -> None:
        call = plain.call("silent")
        plain.logged("received", call.id)
        alive(plain)
        assert call.frames == []
        assert plain.events("sent", call.id) == []


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

    def test_count_stops_silently(self, peer: Peer) -> None:
        peer.step("count", 2)
        call = peer.call("count")
        call.beats(2)
        call.cancel()
        ended_without_response(call)
        assert increasing(call.progress)
        alive(peer)

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

    def test_grumpy_answers_with_an_error(self, peer: Peer) -> None:
        call = peer.call("grumpy")
        peer.logged("received", call.id)
        call.cancel()
        if nowhere_to_send(peer):
            ran_on = peer.logged("ran_on", call.id)
            assert (ran_on["kind"], ran_on["code"]) == ("error", -32800)
        else:
            error = call.error()
            assert (error["code"], error["message"]) == (-32800, "Request cancelled")
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

    def test_silent_stays_silent_and_keeps_its_stream(self, peer: Peer) -> None:
        call = peer.call("silent")
        peer.logged("received", call.id)
        call.cancel()
        alive(peer)
        assert call.frames == []
        if isinstance(call, HttpExchange) and not peer.modern:
            assert not call.done.is_set()
            call.disconnect()
            peer.logged("disconnected", call.id)
        if peer.transport == "http":
            ended_without_response(call)

    def test_racer_answers_all_the_same(self, peer: Peer) -> None:
        call = peer.call("racer", milliseconds=400)
        peer.logged("waiting", call.id)
        call.cancel()
        peer.step("racer")
        if nowhere_to_send(peer):
            assert peer.logged("ran_on", call.id)["kind"] == "result"
        else:
            assert call.text() == "answered after 400 ms"

    def test_twice_answers_twice_all_the_same(self, peer: Peer) -> None:
        call = peer.call("twice")
        peer.logged("waiting", call.id)
        call.cancel()
        peer.step("twice")
        if nowhere_to_send(peer):
            peer.control.wait("ran_on", id=call.id)
            peer.control.wait("ran_on", id=call.id)
            assert [line["kind"] for line in peer.events("ran_on", call.id)] == ["result", "result"]
        else:
            call.response(2)

    def test_crash_crashes_all_the_same(self, own_peer: Peer) -> None:
        call = own_peer.call("crash")
        own_peer.logged("waiting", call.id)
        call.cancel()
        own_peer.step("crash")
        assert own_peer.process.wait(PATIENCE) == CRASH_STATUS

    def test_flood_stops_silently(self, own_peer: Peer) -> None:
        call = own_peer.call("flood", count=10_000_000)
        own_peer.wait(lambda: len(call.frames) > 200)
        call.cancel()
        ended_without_response(call)
        alive(own_peer)

    def test_a_cancel_after_the_answer_is_ignored(self, peer: Peer) -> None:
        call = peer.call("echo", text="quick")
        assert call.text() == "quick"
        if not nowhere_to_send(peer):
            call.signal("too late")
        alive(peer)
        assert peer.events("cancelled", call.id) == []


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


def test_64_megabytes(connect: Make) -> None:
    assert len(connect("stdio", "2025-11-25").call("big", megabytes=64).text()) == 64_000_000


def test_flood_sends_progress_where_the_wanted_level_is_higher(connect: Make) -> None:
    peer = connect("stdio", "2025-11-25")
    peer.request("logging/setLevel", {"level": "error"}).result()
    call = peer.call("flood", count=100)
    assert call.text()
    assert call.messages == []
    assert call.progress == list(range(1, 101))


def test_flood_waits_for_a_client_that_does_not_read(tmp_path: Path) -> None:
    """What the peer has not taken is bounded: a flood of gigabytes costs a process no memory."""
    log = tmp_path / "log"
    lines = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"flood","arguments":{"count":10000000}}}\n'
    )
    with subprocess.Popen(command("--log", log), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(lines)
        process.stdin.flush()
        size = -1
        until = time.monotonic() + PATIENCE
        while size != (size := log.stat().st_size if log.exists() else 0) or size < 1000:
            assert time.monotonic() < until, "the flood never pauses"
            time.sleep(0.3)
        assert log.read_bytes().count(b'"sent"') < 50_000
        process.kill()
