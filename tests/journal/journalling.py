"""A process that writes a journal as fast as it can, and says what is written. To be killed.

Usage: journalling.py FILE (at-once | batched)
"""

from __future__ import annotations

import asyncio
import os
import sys

from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev

RAW = (
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"'
    + b"x" * 300
    + b'"}}'
)


def append(store: Store, number: int) -> None:
    seq = store.frame("in", RAW, at=float(number), method="notifications/message")
    store.event(ev.Log(at=float(number), level="info", data="x" * 300, seq=seq))


def acknowledge(number: int) -> None:
    os.write(1, b"%d\n" % number)


async def batched(path: str) -> None:
    loop = asyncio.get_running_loop()
    store = Store(Writer(path), soon=loop.call_soon)
    number = 0
    while True:
        for _ in range(50):
            number += 1
            append(store, number)
        await asyncio.sleep(0)  # two turns: the journal is written at the end of the first
        await asyncio.sleep(0)
        acknowledge(number)


def at_once(path: str) -> None:
    store = Store(Writer(path))
    number = 0
    while True:
        number += 1
        append(store, number)
        acknowledge(number)


if sys.argv[2] == "batched":
    asyncio.run(batched(sys.argv[1]))
else:
    at_once(sys.argv[1])
