"""The workbench in a browser: what textual-serve starts, and how it talks to it."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.waiting import HANG

pytestmark = pytest.mark.pty


async def test_textual_serve_shows_the_workbench_and_its_keys_work() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mcp_tui", "--demo",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "COLUMNS": "100", "ROWS": "30"},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    shown = b""
    try:
        for keys, then in ((b"", b"No requests yet"), (b"n", b"Call a tool"), (b"\x11", b'{"type": "exit"}')):
            if keys:
                process.stdin.write(b"D" + len(keys).to_bytes(4, "big") + keys)
            while then not in shown:
                data = await asyncio.wait_for(process.stdout.read(65536), HANG)
                assert data, shown[-2000:]
                shown += data
        assert shown.startswith(b"__GANGLION__\n")
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
