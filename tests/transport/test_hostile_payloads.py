"""Servers whose bytes are unusual: the client understands the whole of a message, and the next call works."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mcp_tui.client import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from tests.client.connected import connected
from tests.servers.http_scripted import Call, HttpScript
from tests.waiting import HANG

HALF_EMOJI = r"""
import json, sys
def send(text):
    print('{"jsonrpc":"2.0",' + text + '}', flush=True)
for line in sys.stdin:
    message = json.loads(line)
    id_, method = message.get("id"), message["method"]
    if method == "initialize":
        info = '{"name":"half \\ud83d","version":"1"}'
        send('"id":%d,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":%s}' % (id_, info))
    elif method == "tools/list":
        tool = '{"name":"cut","description":"\\ude00 cut","inputSchema":{"type":"object","maximum":' + "9" * 5000 + '}}'
        send('"id":%d,"result":{"tools":[%s]}' % (id_, tool))
    elif method == "tools/call":
        token = json.dumps(message["params"]["_meta"]["progressToken"])
        send('"method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"\\ud83d"}' % token)
        text = '{"type":"text","text":"a\\ud83d"}'
        send('"id":%d,"result":{"content":[%s],"structuredContent":{"n":%s}}' % (id_, text, "7" * 5000))
"""


async def test_half_an_emoji_and_long_numbers_are_read_everywhere():
    target = StdioTarget(command=(sys.executable, "-S", "-c", HALF_EMOJI))
    async with connected(target, ClientSettings(protocol="2025-11-25")) as (client, told):
        assert client.info is not None
        assert client.info.name == "half \ufffd"
        (tool,) = await client.every("tools")
        assert tool["description"] == "\ufffd cut"
        for _ in range(2):
            frame = await client.wait(client.call_tool("cut", {}))
            assert frame is not None
            assert frame.result["content"][0]["text"] == "a\ufffd"
        assert [event.message for event in told.of(ev.Progress)] == ["\ufffd", "\ufffd"]
        assert not told.of(ev.Violation)
        (first, _) = [row for row in client.book.order if row.method == "tools/call"]
        assert rb"a\ud83d" in (client.store.payload(first.response_seq) or b"")


async def modern(call: Call, *, before_the_answer: bytes) -> None:
    """A server of 2026-07-28 that sends something odd on the stream of each tool call."""
    if call.rpc == "server/discover":
        await call.answer({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    elif call.rpc == "tools/call":
        await call.stream()
        await call.chunk(before_the_answer)
        await call.result()
        await call.end()


@pytest.mark.parametrize(
    ("odd", "violations"),
    [
        (b"data: {}\n\n", 1),
        (b"data: ping\n\n", 1),
        (b'data: {"jsonrpc":"2.0"}\n\n', 1),
        (b"retry: " + b"9" * 400 + b"\ndata: ping\n\n", 1),
        (b"retry: " + b"9" * 400 + b"\n\n", 0),
    ],
)
async def test_odd_events_on_the_stream_of_a_call_do_not_end_it(odd: bytes, violations: int):
    async def script(call: Call) -> None:
        await modern(call, before_the_answer=odd)

    async with (
        HttpScript(script) as server,
        connected(HttpTarget(url=server.url), ClientSettings(protocol="2026-07-28")) as (client, told),
    ):
        for _ in range(2):
            frame = await client.wait(client.call_tool("any", {}))
            assert frame is not None
            assert frame.result == {}
        assert len(told.of(ev.Violation)) == 2 * violations


async def test_a_body_that_is_no_message_fails_its_call():
    async def script(call: Call) -> None:
        if call.rpc == "tools/call":
            await call.respond(200, json.dumps({}).encode(), "application/json")
        else:
            await modern(call, before_the_answer=b"")

    async with (
        HttpScript(script) as server,
        connected(HttpTarget(url=server.url), ClientSettings(protocol="2026-07-28")) as (client, _),
    ):
        id_ = client.call_tool("any", {})
        assert await client.wait(id_) is None
        row = client.book.get(id_)
        assert row is not None
        assert (row.state, row.rule) == (State.FAILED, "malformed")


UVLOOP = """
import asyncio, sys, uvloop
before = set(sys.modules)
from mcp_tui.client import Client, StdioTarget
assert "sniffio" not in sys.modules

async def main():
    client = Client(StdioTarget(command=tuple(sys.argv[1:])))
    await client.connect()
    frames = [await client.wait(client.call("tools/list", {})) for _ in range(3)]
    big = await client.wait(client.call_tool("any", {"text": "x" * 3_000_000}))
    client.cancel(client.call_tool("any", {}), reason="enough")
    await client.close()
    print(all(frame.error is None for frame in (*frames, big)))

uvloop.run(main())
"""


def test_the_client_works_under_uvloop_over_stdio():
    pytest.importorskip("uvloop")
    server = (sys.executable, "-S", "-c", HALF_EMOJI)
    command = [sys.executable, "-c", UVLOOP, *server]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    assert (ran.stdout, ran.stderr) == ("True\n", "")
