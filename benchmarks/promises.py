"""What ``docs/explanation/promises.md`` promises beside speed: ``python -m benchmarks.promises [NAME …]``, all by default.

``oversize``: an answer of 1 GB, above the cap; ``notifications``: a million of them in the workbench, its journal on, while
keys are pressed; ``consent``: sockets and processes that commands open of themselves. Each is a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from benchmarks.driver import SERVER, Ours, resident
from mcp_tui.protocol.requests import State


async def oversize(folder: Path) -> None:
    """It is refused, and the next call works."""
    peer = Ours(journal=True)
    await peer.open([sys.executable, "-S", SERVER, f"{folder}/cancels"], folder)
    began = time.perf_counter()
    id_ = peer.client.call_tool("large", {"kind": "1 GB"})
    await peer.client.wait(id_)
    taken = time.perf_counter() - began
    row = peer.client.requests.get(id_)
    assert row is not None
    assert row.state is State.FAILED, row.state
    await peer.call("echo", {})
    assert peer.client.requests.order[-1].state is State.COMPLETED
    print(f"1 GB above the cap: {resident('VmHWM') / 1e6:.0f} MB at most, {taken:.1f} s, the next call works")
    await peer.close()


def marks(taken: list[float]) -> str:
    """Median, p99 and the longest, of seconds, in milliseconds."""
    taken = sorted(each * 1000 for each in taken)
    return f"median {taken[len(taken) // 2]:.1f}, p99 {taken[int(len(taken) * 0.99)]:.1f}, longest {taken[-1]:.1f} ms"


async def notifications(folder: Path) -> None:
    """None is lost in the journal."""
    count = 1_000_000
    from benchmarks.workbench import workbench

    async with workbench(folder) as bench:
        await bench.call("flood", count=30_000)
        before = resident()
        calling = asyncio.ensure_future(bench.call("flood", count=count))
        taken: list[float] = []
        while not calling.done():
            began, painted = time.perf_counter(), asyncio.Event()
            bench.app.simulate_key("down")
            bench.app.call_after_refresh(painted.set)
            await painted.wait()
            taken.append(time.perf_counter() - began)
            await asyncio.sleep(0.1)
        after = resident()
        bench.client.store.flush()
    lost = (
        count
        + 30_000
        - sum(
            b'"record":"frame"' in line and b'"method":"notifications/message"' in line
            for each in sorted(folder.glob("journal*"))
            for line in each.open("rb")
        )
    )
    print(f"10⁶ notifications: {lost} lost in the journal, memory grew by {(after - before) / 1e6:.0f} MB")
    print(f"  from a key to the frame behind it: {marks(taken)} ({len(taken)} keys)")


AUDIT = """
import os, sys
HEARD = "socket.connect socket.bind subprocess.Popen os.posix_spawn os.exec os.fork os.forkpty os.system".split()
def hook(event, given):
    if event in HEARD:
        with open(os.environ["AUDIT"], "a") as file:
            file.write(f"{event} {given[0] if event == 'subprocess.Popen' else ''}\\n")
sys.addaudithook(hook)
from mcp_tui.cli import main
sys.exit(main(sys.argv[1:]))
"""


async def consent(folder: Path) -> None:
    """Commands that nobody consented to anything for, in a project whose files define servers."""
    (folder / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"evil": {"command": "touch", "args": ["pwned"]}}})
    )
    commands = (
        ["servers"], ["servers", "--json"], ["config"], ["log"], ["--version"], ["--help"], ["info", "--server", "evil"],
        ["call", "--server", "evil", "x"], ["probe", "--server", "evil"], ["list-tools", "--server", "evil"],
    )  # fmt: skip
    environment = {
        **os.environ,
        "HOME": str(folder),
        "MCP_TUI_STATE": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    opened: list[str] = []
    for words in (*commands, ["info", "--demo"]):
        said = folder / "audit"
        said.write_text("")
        subprocess.run(  # noqa: ASYNC221 - nothing else goes on
            [sys.executable, "-c", AUDIT, *words], cwd=folder, env={**environment, "AUDIT": str(said)},
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        heard = said.read_text().splitlines()
        opened += [
            f"{' '.join(words)}: {line}" for line in heard if line != "subprocess.Popen git"
        ]  # of --version
    asked = [line for line in opened if line.startswith("info --demo")]
    assert asked, "the audit hears nothing"
    print(f"sockets and processes of {len(commands)} commands without consent: {len(opened) - len(asked)}")
    print(*(line for line in opened if line not in asked), sep="\n")
    assert not (folder / "pwned").exists()


CHECKS: dict[str, Callable[[Path], Awaitable[None]]] = {
    "oversize": oversize,
    "notifications": notifications,
    "consent": consent,
}


def main() -> int:
    """Run each, the first failure ends it."""
    for name in sys.argv[1:] or CHECKS:
        if len(sys.argv) != 2:
            done = subprocess.run([sys.executable, "-m", "benchmarks.promises", name], check=False)
            if done.returncode:
                return done.returncode
            continue
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(cast("asyncio.Future[None]", CHECKS[name](Path(folder))))  # pyright: ignore[reportArgumentType]
    return 0


if __name__ == "__main__":
    sys.exit(main())
