"""How much later a limit holds while another agent's tap is flooded: ``python -m benchmarks.tap_limits [BLOCKS]``.

All taps have one shared recorder. Calls with a limit of 0.2 s are made while nothing else happens, and while a tap that
starts with each block passes on notifications as fast as it can. Printed are how many milliseconds after its limit the
client of a call has its answer, median and worst of each kind, and the difference of the worst ones (``added``).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

LIMIT: Final = 0.2
CALLS: Final = 10
"""Calls in a block."""

SILENT: Final = "import sys; sys.stdin.read()"
FLOODS: Final = """
import os, sys
note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a line of a log"}}\\n'
sys.stdin.readline()
while True:
    os.write(1, note * 500)
"""


def tap(program: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Starts a tap in front of a server in Python."""
    words = [
        sys.executable,
        "-m",
        "mcp_tui",
        "tap",
        "--timeout",
        str(LIMIT),
        "--",
        sys.executable,
        "-S",
        "-c",
        program,
    ]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def call(process: subprocess.Popen[bytes], id: int) -> float:
    """Makes a call that reaches its limit; returns the milliseconds after the limit at which its answer came."""
    assert process.stdin is not None
    assert process.stdout is not None
    params: dict[str, Any] = {"name": "silent", "arguments": {}}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    began = time.monotonic()
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    while json.loads(process.stdout.readline()).get("id") != id:
        pass
    return (time.monotonic() - began - LIMIT) * 1000


def block(other: subprocess.Popen[bytes], first: int, env: dict[str, str], *, flood: bool) -> list[float]:
    """Makes the calls of a block, beside a flood or not."""
    if not flood:
        return [call(other, first + number) for number in range(CALLS)]
    flooded = tap(FLOODS, env)
    reader = subprocess.Popen(
        [sys.executable, "-c", "import os\nwhile os.read(0, 1 << 18): pass"], stdin=flooded.stdout
    )
    assert flooded.stdin is not None
    flooded.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    flooded.stdin.flush()
    try:
        return [call(other, first + number) for number in range(CALLS)]
    finally:
        flooded.kill()
        flooded.wait()
        reader.kill()
        reader.wait()


def measured(blocks: int = 10) -> dict[str, Any]:
    """Returns the figures, in milliseconds."""
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
    taken: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, **dict.fromkeys(names, folder)}
        other = tap(SILENT, env)
        call(other, 0)  # the recorder is loaded
        for number in range(2 * blocks):
            flood = bool(number % 2)
            taken[flood] += block(other, 1 + number * CALLS, env, flood=flood)
        other.communicate()
        time.sleep(1)  # what is still written
    idle, beside = taken[False], taken[True]
    return {
        "idle": statistics.median(idle), "idle_worst": max(idle), "flood": statistics.median(beside),
        "flood_worst": max(beside), "added": max(beside) - max(idle),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measured(int((sys.argv[1:] or ["10"])[0]))))
