"""The demo server over HTTP, with the two fixture tools that the cancellation scenarios ask for.

``python demo_server.py PORT``. Transport, sessions, tasks, and cancels are those of ``mcp-tui demo --http``: what the
scenarios judge is the demo server.
"""

# ruff: noqa: INP001 - a program, in no package

from __future__ import annotations

import sys
from collections import Counter
from typing import Final

from mcp_tui.demo.calls import Call
from mcp_tui.demo.demo_server import main
from mcp_tui.demo.demo_tools import TOOLS, DemoTool, Run

_BEATS_PER_SECOND: Final = 20

beats: Counter[str] = Counter()


async def work(call: Call, *, key: str, seconds: float) -> None:
    """Counts a beat and reports progress twenty times a second; stops silently when cancelled."""
    began = call.now()
    for step in range(1, round(seconds * _BEATS_PER_SECOND) + 1):
        if await call.until(began + step / _BEATS_PER_SECOND):
            return
        beats[key] += 1
        call.progress(step, None, "at work")
    call.answer("done")


async def heartbeat(call: Call, *, key: str) -> None:
    """Answers with the count."""
    call.answer(str(beats[key]))


def add(name: str, does: str, run: Run, **properties: str) -> None:
    """Offers one more tool. All its arguments are required; it can run as a task."""
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    TOOLS[name] = DemoTool(
        run,
        {
            "name": name,
            "description": does,
            "inputSchema": {**schema, "required": list(properties)},
            "execution": {"taskSupport": "optional"},
        },
    )


add("test_cancellation_work", "Counts beats while it works.", work, key="string", seconds="number")
add("test_cancellation_heartbeat", "Returns the beats counted for a key.", heartbeat, key="string")

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), None))
