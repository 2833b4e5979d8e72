from __future__ import annotations

import subprocess
import sys

import pytest

from tests.client.connected import scripted
from tests.waiting import HANG

UVLOOP = """
import asyncio, sys, uvloop
before = set(sys.modules)
from mcp_tui.client import Client, StdioTarget
assert "sniffio" not in sys.modules

async def main():
    client = Client(StdioTarget(command=tuple(sys.argv[1:])))
    await client.connect()
    frames = [await client.wait(client.call("tools/list", {})) for _ in range(3)]
    big = await client.wait(client.call_tool("ok", {"text": "x" * 3_000_000}))
    client.cancel(client.call_tool("odd", {}), reason="enough")
    await client.close()
    print(all(frame.error is None for frame in (*frames, big)))

uvloop.run(main())
"""


def test_the_client_works_under_uvloop_over_stdio():
    pytest.importorskip("uvloop")
    command = [sys.executable, "-c", UVLOOP, *scripted("never").command]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    assert (ran.stdout, ran.stderr) == ("True\n", "")
