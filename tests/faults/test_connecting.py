"""How a session comes about, on servers that take the first messages in every way there is."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client import ClientSettings, HttpTarget, connecting
from mcp_tui.protocol import events as ev
from mcp_tui.transport.base import TransportError, spawn
from tests.client.connected import DEMO, HANG, client, connected, methods, received, scripted
from tests.servers.http_scripted import RPC_ERROR, Call, HttpScript, polite
from tests.waiting import until

NEW, OLD = "2026-07-28", "2025-11-25"
SHAKEN = ["server/discover", "initialize", "notifications/initialized"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is taken for silence after a fraction of a second."""
    monkeypatch.setattr(connecting, "PROBE_SECONDS", 0.3)
    monkeypatch.setattr(connecting, "LATE_WAIT", 0.3)


async def opened(mode: str, heard: Path) -> tuple[str, str]:
    """The revision that a server of ``cli_server.py`` and a client agree on, and the notes; a call works."""
    async with connected(scripted(mode, heard)) as (made, told):
        assert made.revision is not None
        assert made.info is not None
        assert made.info.name == "cli-server"
        frame = await made.wait(made.call_tool("ok", {}))
        assert frame is not None
        assert frame.result["content"][0]["text"] == "ok"
        (event,) = told.of(ev.Connected)
        assert event.revision == made.revision.name
    return made.revision.name, told.notes()


async def refused(mode: str, settings: ClientSettings | None = None) -> str:
    """The sentence with which connecting fails; nothing is left open."""
    made, _ = client(scripted(mode), settings)
    async with asyncio.timeout(HANG):
        with pytest.raises(TransportError) as failed:
            await made.connect()
    assert made.transport is None
    assert not made.connected
    return str(failed.value)


# -- stdio: the probe ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("mode", "shaken", "processes", "said"),
    [
        ("never", SHAKEN, 1, ""),
        ("dies-on-probe", SHAKEN, 2, "code 4"),
        ("silent-to-probe", SHAKEN, 1, ""),  # nothing was said about the probe (C-23)
        ("broken-by-probe", ["server/discover", "initialize", *SHAKEN[1:]], 2, "code 1"),
    ],
)
async def test_a_server_that_does_not_take_the_probe_is_shaken_hands_with_and_started_again_if_it_broke(
    mode: str, shaken: list[str], processes: int, said: str, tmp_path: Path
):
    heard = tmp_path / "heard"
    revision, notes = await opened(mode, heard)
    assert revision == OLD
    assert said in notes
    assert methods(heard) == [*shaken, "tools/call"]
    pids = [each["pid"] for each in received(heard)]
    assert len(set(pids)) == processes
    assert processes == 1 or pids[0] != pids[-1]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("mode", "revision", "probes"),
    [("late-accept", OLD, 1), ("late-refuse", NEW, 1), ("late-silent", NEW, 1), ("late-reprobe", NEW, 2)],
)
async def test_a_probe_that_is_answered_after_the_fallback_began(
    mode: str, revision: str, probes: int, tmp_path: Path
):
    heard = tmp_path / "heard"
    assert (await opened(mode, heard))[0] == revision
    assert methods(heard).count("server/discover") == probes
    assert methods(heard).count("initialize") == 1
    assert "notifications/cancelled" not in methods(heard)


@pytest.mark.parametrize("mode", ["foreign-to-probe", "nameless-to-probe"])
async def test_an_error_to_nobody_is_the_answer_to_the_probe_and_no_fault(
    mode: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connecting, "PROBE_SECONDS", 10 * HANG)  # nothing is waited out
    async with connected(scripted(mode)) as (made, told):
        assert made.revision is not None
        assert made.revision.name == OLD
        assert list(made.stderr) == ["ready"]
        assert not told.of(ev.Violation)
        assert not told.of(ev.Unknown)


async def test_a_slow_start_with_a_forced_modern_revision_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connecting, "PROBE_SECONDS", 0.0)
    release = tmp_path / "release"
    target = replace(scripted("slow-start"), env={"RELEASE": str(release)})
    made, told = client(target, ClientSettings(protocol=NEW, connect_timeout=HANG))

    async def connect() -> None:
        assert (await made.connect()).revision.name == NEW

    connects = spawn(connect(), name="connects")
    await until(lambda: bool(told.of(ev.Sent)))
    since = made.now()
    await until(lambda: made.now() > since + 0.1)
    assert not connects.done()
    release.touch()
    await connects
    assert [row.method for row in made.requests.order] == ["server/discover"]
    await made.close()


# -- stdio: no session -----------------------------------------------------------------------------------------


async def test_a_timeout_names_what_is_unanswered_and_since_when():
    text = await refused("mute", ClientSettings(connect_timeout=3.0))
    assert text == (
        "No connection after 3 s (waiting for the response to initialize). "
        "Check the command or raise --connect-timeout."
    )


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("mute", "npx may still be downloading. Try once more, or raise --connect-timeout."),
        (
            "mute-to-initialize",
            "Check the command or raise --connect-timeout.",
        ),  # it was downloaded, for it answered
    ],
)
async def test_a_timeout_names_a_launcher_until_a_message_has_come(mode: str, said: str, tmp_path: Path):
    npx = tmp_path / "npx"
    npx.symlink_to(sys.executable)
    server = scripted(mode)
    made, _ = client(
        replace(server, command=(str(npx), *server.command[1:])), ClientSettings(connect_timeout=1.0)
    )
    async with asyncio.timeout(HANG):
        with pytest.raises(TransportError, match="No connection after 1 s") as failed:
            await made.connect()
    assert str(failed.value).endswith(f"(waiting for the response to initialize). {said}")
    assert {row.limits.max_timeout for row in made.requests.order} == {1.0}


async def test_a_stdout_that_is_framed_otherwise_is_told_by_its_first_line():
    text = await refused("framed", ClientSettings(connect_timeout=3.0))
    assert "; unexpected stdout: Content-Length: 2. " in text


async def test_a_connect_that_is_given_up_leaves_nothing_open():
    made, _ = client(scripted("mute"))
    async with asyncio.timeout(HANG):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await made.connect()
    assert made.transport is None
    assert made.disconnected.is_set()


async def test_what_is_known_of_a_server():
    async with connected(DEMO) as (made, _):
        info = made.info
    assert info is not None
    assert (info.transport, info.revision.name) == ("stdio", NEW)
    assert info.name == "mcp-tui-demo"
    assert info.instructions
    assert "tools" in info.capabilities
    assert info.pid is not None


# -- HTTP ------------------------------------------------------------------------------------------------------


async def over_http(
    script: Any, protocol: str = "auto", within: float = 10, transport: str = "auto"
) -> tuple[str | TransportError, list[Call]]:
    """The revision, or what connecting failed with; and the requests that came."""
    async with HttpScript(script) as server:
        made, _ = client(
            HttpTarget(url=server.url, transport=transport),
            ClientSettings(protocol=protocol, connect_timeout=within),
        )
        async with asyncio.timeout(HANG):
            try:
                info = await made.connect()
                result: str | TransportError = f"{info.transport} {info.revision.name}"
            except TransportError as error:
                result = error
            await made.close()
        return result, list(server.calls)


async def test_what_was_asked_for_is_not_said_to_be_fallen_back_from():
    async def unknown(to: Call) -> None:
        await to.respond(404)

    result, _ = await over_http(handshaking(unknown), protocol=NEW)
    assert f"HTTP 404 to server/discover; {NEW} was requested" in str(result)


def rpc(calls: list[Call]) -> list[str]:
    return [call.rpc or call.method for call in calls]


def handshaking(probe: Any) -> Any:
    """A server that takes the probe by a script and shakes hands."""

    async def script(call: Call) -> None:
        if call.rpc == "server/discover":
            await probe(call)
        elif call.rpc == "initialize":
            await call.answer({"protocolVersion": OLD})
        else:
            await polite(call)

    return script


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, b""), (400, RPC_ERROR), (404, b""), (405, b""), (404, b"<html>"), (415, b"")],
)
async def test_a_probe_that_is_not_taken_is_followed_by_the_handshake(status: int, body: bytes):
    async def probe(call: Call) -> None:
        await call.respond(status, body, "application/json" if body.startswith(b"{") else "text/html")

    result, calls = await over_http(handshaking(probe))
    assert result == f"http {OLD}"
    assert rpc(calls)[:3] == SHAKEN
    assert "mcp-method" not in calls[1].headers


JSON, EVENTS = "application/json", "text/event-stream"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "no response to server/discover"),
        ((200, b": still here\n\n", EVENTS), "no response to server/discover"),  # and the stream stays open
        ((200, b"", EVENTS), "to server/discover"),
        ((200, b"", JSON), "with an empty body"),
        ((200, b"null", JSON), "to server/discover"),
        ((200, b"<html>", "text/html"), "with text/html instead of JSON"),
        ((202, b"", ""), "without a response (HTTP 202)"),
        ((204, b"", ""), "HTTP 204"),
        ((500, b"Internal Server Error", "text/plain"), "HTTP 500"),
        ((500, RPC_ERROR, JSON), "error -32600"),
        ((503, b"", ""), "HTTP 503"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("shakes", [True, False])
async def test_whatever_a_probe_gets_the_handshake_decides_and_its_failure_tells_both(
    reply: tuple[int, bytes, str] | None, said: str, *, shakes: bool
):
    async def probe(call: Call) -> None:
        if reply is None:
            await call.disconnected()
        elif reply[1].startswith(b":"):
            await call.stream()
            await call.chunk(reply[1])
            await call.disconnected()
        else:
            await call.respond(*reply)

    async def script(call: Call) -> None:
        if call.rpc == "initialize" and not shakes:
            await call.respond(418, b"", "text/plain")
        else:
            await handshaking(probe)(call)

    result, _ = await over_http(script)
    if shakes:
        assert result == f"http {OLD}"
    else:
        text = str(result)
        assert text.startswith("The server answered HTTP 418")
        assert said in text.partition("Before that: ")[2]
        assert text.endswith("use --protocol VERSION or --transport sse.")


async def test_a_redirected_probe_says_nothing_about_the_era():
    async def away(call: Call) -> None:
        await call.respond(303, b"", "text/plain")

    result, calls = await over_http(away)
    assert "redirects" in str(result)
    assert rpc(calls) == ["server/discover"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("protocol", ["auto", NEW])
async def test_a_probe_without_a_fallback_is_not_given_up(protocol: str):
    async def mute(call: Call) -> None:
        await call.disconnected()

    result, calls = await over_http(mute, protocol=protocol, within=0.9)
    forced = protocol == NEW
    assert rpc(calls) == ["server/discover", *([] if forced else ["initialize"])]
    assert str(result) == (
        "No connection after 0.9 s (waiting for the response to server/discover). "
        "Check the URL or raise --connect-timeout, or try --protocol auto."
        if forced
        else "No connection after 0.9 s (waiting for the response to initialize); before that: no response to "
        "server/discover. If you know what the server speaks, use --protocol VERSION or --transport sse. "
        "Check the URL or raise --connect-timeout."
    )


@pytest.mark.usefixtures("impatient")
async def test_a_slow_modern_server_over_http_is_probed_again_when_it_refuses_initialize():
    silent = iter([True])

    async def script(call: Call) -> None:
        if call.rpc == "initialize":
            error = {"code": -32022, "message": "no", "data": {"supported": [NEW]}}
            await call.respond(
                400, json.dumps({"jsonrpc": "2.0", "id": call.id, "error": error}).encode(), JSON
            )
        elif next(silent, False):
            await call.disconnected()
        else:
            await call.answer({"supportedVersions": [NEW], "capabilities": {}})

    result, calls = await over_http(script)
    assert result == f"http {NEW}"
    assert rpc(calls)[:3] == ["server/discover", "initialize", "server/discover"]


@pytest.mark.parametrize("at", ["server/discover", "initialize"])
@pytest.mark.parametrize("transport", ["auto", "http"])
async def test_an_endpoint_event_in_answer_to_a_post_is_http_sse(at: str, transport: str):
    streams: list[Call] = []
    result = {"protocolVersion": "2024-11-05"}

    async def script(call: Call) -> None:
        if call.path == "/messages":
            await call.respond(202)
            if call.rpc == "initialize":
                await streams[-1].event({"jsonrpc": "2.0", "id": call.id, "result": result})
        elif call.method == "GET" or call.rpc == at:
            streams.append(call)
            await call.stream()
            await call.event(b"/messages", name="endpoint")
            await call.disconnected()
        else:
            await call.respond(400)

    said, _ = await over_http(script, transport=transport)
    if transport == "auto":
        assert said == "sse 2024-11-05"
    else:
        assert "event stream of HTTP+SSE. Use --transport sse." in str(said)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, b"", "The server answered HTTP 400 Bad Request."),
        (400, RPC_ERROR, "The server refused initialize: "),
        (404, b"", "The server answered HTTP 404 Not Found. Is this the MCP endpoint?"),
    ],
)
async def test_without_an_event_stream_the_response_to_initialize_says_what_failed(
    status: int, body: bytes, said: str
):
    async def script(call: Call) -> None:
        if call.method == "GET":
            await call.respond(405)
        else:
            await call.respond(status, body, "application/json")

    result, calls = await over_http(script)
    assert isinstance(result, TransportError)
    assert str(result).startswith(said)
    assert "GET" in rpc(calls)


async def test_an_event_stream_that_wants_messages_elsewhere_is_what_failed():
    async def script(call: Call) -> None:
        if call.method != "GET":
            await call.respond(405)
            return
        await call.stream()
        await call.event(b"http://evil.example/messages", name="endpoint")
        await call.disconnected()

    result, _ = await over_http(script)
    assert isinstance(result, TransportError)
    assert "evil.example" in str(result)


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_server_of_2024_is_found_by_its_event_stream(status: int):
    streams: list[Call] = []
    done = asyncio.Event()

    async def script(call: Call) -> None:
        if call.method == "GET":
            streams.append(call)
            await call.stream()
            await call.event(b"/messages", name="endpoint")
            await done.wait()
        elif call.path != "/messages":
            await call.respond(status)
        else:
            await call.respond(202)
            if call.rpc == "initialize":
                result: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {}}
                await streams[-1].event({"jsonrpc": "2.0", "id": call.id, "result": result}, name="message")

    result, calls = await over_http(script)
    done.set()
    assert result == "sse 2024-11-05"
    assert len(streams) == 1
    assert [call.path for call in calls if call.rpc == "notifications/initialized"] == ["/messages"]


async def test_what_was_refused_is_not_told_as_unanswered_and_the_wait_for_the_endpoint_is():
    async def script(call: Call) -> None:
        if call.method == "POST":
            await call.respond(405)
        else:
            await call.stream()
            await call.disconnected()

    result, _ = await over_http(script, within=0.6)
    assert str(result) == (
        "No connection after 0.6 s (waiting for the endpoint event). Check the URL or raise --connect-timeout."
    )
