"""Servers whose bytes are unusual: the client understands the whole of a message, and the next call works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mcp_tui.client import ClientSettings, StdioTarget
from mcp_tui.protocol import events as ev
from tests.client.connected import connected
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
