"""What a tapped stdio server costs in memory: ``python -m benchmarks.memory``, beside an earlier build and MCPHawk.

Both are measured where ``python tests/real/install.py --before`` installed them. ``MINUTES`` says how long each runs (1).

Twenty taps beside one another make calls for a while, with each command in turn, this one last. Printed is the proportional
set size of what is there besides the servers, in MB: of all for each tap, and for each further one (from ten to twenty). The
last line is JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

TAPS: Final = 20
SECONDS: Final = 60 * float(os.environ.get("MINUTES", "1"))
"""Seconds of calls, one every 0.1 s at each tap."""

SERVER: Final = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    text = {"content": [{"type": "text", "text": "hello " * 20}]}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    result = about if call["method"] == "initialize" else text
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


def is_peer(command: str) -> bool:
    """Whether a command is MCPHawk's, which has no guard, and no limits."""
    return Path(command).name == "mcphawk"


def call(process: subprocess.Popen[bytes], id: int, method: str, params: dict[str, Any]) -> None:
    """Makes a call, and waits for its answer."""
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
    stdin.flush()
    stdout.readline()


def size(mark: str) -> float:
    """Returns the MB of the processes with this word in their environment, without the servers."""
    found = 0
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (each / "environ").read_bytes():
                words = (each / "cmdline").read_bytes().split(b"\0")
                rollup = (each / "smaps_rollup").read_text().split()
                found += 0 if words[1:2] == [b"-S"] else int(rollup[rollup.index("Pss:") + 1])
    return found / 1000


def measured(command: str, seconds: float) -> tuple[float, float]:
    """Returns the MB for each tap of a command, and for each further one."""
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    taps: list[subprocess.Popen[bytes]] = []
    sizes: list[float] = []
    with tempfile.TemporaryDirectory() as mark:
        names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
        env = {**os.environ, **dict.fromkeys(names, mark)}
        try:
            for _ in range(2):
                for number in range(TAPS // 2):
                    own = ("tap", "--timeout", "60", "--name", f"s{number}")
                    words = [command, *(("wrap",) if is_peer(command) else own)]
                    words += ["--", sys.executable, "-S", "-c", SERVER]
                    taps.append(
                        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
                    )
                for each in taps[-TAPS // 2 :]:
                    call(each, 0, "initialize", info)
                until, number = time.monotonic() + seconds / 2, 0
                while time.monotonic() < until:
                    number += 1
                    for each in taps:
                        call(each, number, "tools/call", {"name": "x", "arguments": {"number": number}})
                    time.sleep(0.1)
                time.sleep(2)
                sizes.append(size(mark))
        finally:
            for each in taps:
                each.communicate()
            time.sleep(2)  # what is still written
    return sizes[1] / TAPS, (sizes[1] - sizes[0]) / (TAPS / 2)


def main() -> None:
    """Measures all commands that are there."""
    real = Path(__file__).parents[1] / ".real"
    commands = {
        "before": real / "before/bin/mcp-tui",
        "mcphawk": real / "mcphawk/bin/mcphawk",
        "ours": Path(sys.executable).with_name("mcp-tui"),
    }
    found: dict[str, dict[str, float]] = {}
    for name, command in commands.items():
        if command.exists():
            each, further = measured(str(command), SECONDS)
            found[name] = {"each": each, "further": further}
            print(f"{each:5.1f} MB a tap, {further:5.1f} each further  {name}", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
