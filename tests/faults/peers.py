"""The faults of servers on stdio, given to other clients, too. ``python -m tests.faults.peers`` writes ``docs/faults.md``.

Each client connects, calls the faulty tool, and then a good one; the Inspector's CLI makes one call a process, so its second
call is no news. Whoever has not answered after :data:`SECONDS` waits. Needs what ``make bench`` installs.
"""

from __future__ import annotations

import asyncio
import json
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcp_tui import __version__
from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.states import Limits
from mcp_tui.transport.base import TransportError
from tests.faults.session import call
from tests.faults.stdio_faults import STDIO, Fault

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REAL = (ROOT / ".real").resolve()
PAGE = ROOT / "docs/faults.md"
SDK = REAL / "mcp2/bin/python"
INSPECTOR = REAL / "peers/node_modules/@modelcontextprotocol/inspector"
SECONDS = 4.0
LONGEST = 3 * SECONDS
"""Seconds after which a process that does not end is killed."""


HEAD = """# Server faults, and how clients handle them

Written by `python -m tests.faults.peers` on {day}: {system}, Python {python}; mcp-tui {ours}, the Python SDK
`mcp` {sdk}, the Inspector's CLI {inspector}.

Each client connects to a stdio server with one fault, calls the faulty tool, and then a good one. *Waits* means that
the client was still waiting after {seconds:.0f} s; mcp-tui had a timeout of the same length. The Inspector's CLI
makes one call per process. Reasons are the client's own words, shortened. Faults that need a size limit for messages
are left out, because only mcp-tui has one. `tests/faults` has what mcp-tui must report for each fault, also over HTTP
and in files.

| the server | mcp-tui | `mcp` | Inspector |
|---|---|---|---|
"""


def server(fault: Fault) -> list[str]:
    """The command of the faulty server."""
    return [sys.executable, "-I", "-S", str(HERE / "server.py"), fault.when, fault.does]


async def ours(fault: Fault) -> dict[str, str]:
    """What mcp-tui makes of a fault."""
    target = StdioTarget(command=tuple(server(fault)))
    client = Client(target, ClientSettings(limits=Limits(timeout=SECONDS, max_timeout=None), grace=0.05))
    found: dict[str, str] = {}
    try:
        await client.connect()
        for name in ("odd", "ok"):
            if not client.connected:
                await client.connect()
            row = await call(client, name)
            words = {State.COMPLETED: "answered", State.CANCEL_REQUESTED: "timed out, cancel sent"}
            found[name] = words.get(row.state) or row.error or row.state.value
    except TransportError as error:
        found["connect"] = str(error)
    finally:
        await client.close()
    return found


def in_mcp_tui(fault: Fault) -> dict[str, str]:
    return asyncio.run(ours(fault))


def ran(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """A command that has ended; ``None`` where it did not."""
    try:
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None


def sdk(fault: Fault) -> dict[str, str]:
    """What the Python SDK makes of it."""
    done = ran([str(SDK), str(HERE / "sdk_client.py"), str(SECONDS), *server(fault)])
    if done is None:
        return {"connect": f"has not ended after {LONGEST:.0f} s"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"connect": f"exit status {done.returncode}"}


def inspector(fault: Fault) -> dict[str, str]:
    """What the Inspector's CLI makes of it."""
    program = str(INSPECTOR / "clients/cli/build/index.js")
    done = ran(["node", program, "--method", "tools/call", "--tool-name", "odd", *server(fault)])
    if done is None:
        return {"odd": f"has not ended after {LONGEST:.0f} s"}
    if done.returncode == 0 and done.stdout:
        return {"odd": "answered"}
    said = done.stderr or done.stdout
    try:
        return {"odd": json.loads(said)["error"]["message"]}
    except (ValueError, LookupError, TypeError):
        return {"odd": said.strip().partition("\n")[0] or f"exit status {done.returncode}"}


def cell(found: dict[str, str]) -> str:
    """One cell of the table: what became of the call, and of the one after it where that is not fine."""
    first = found.get("odd") or found.get("connect") or "?"
    shown = "".join(each if each.isprintable() and each not in "|<>`*_[]\\" else " " for each in first)
    words = " ".join(shown.split())
    words = words if len(words) <= 60 else words[:59] + "…"
    then = found.get("ok", "") if "odd" in found else ""
    lost = "odd" in found and "connect" in found
    after = (
        "; then no connection"
        if lost
        else ""
        if then in ("", "answered")
        else "; the next call: not answered"
    )
    return words + after


def version(package: Path) -> str:
    return json.loads((package / "package.json").read_text())["version"]


def main() -> None:
    """Run every client on every fault, and write the page."""
    faults = [fault for fault in STDIO if "max_message" not in fault.settings]  # the others have no cap
    with ThreadPoolExecutor(2) as pool:
        rows = list(
            zip(
                faults,
                pool.map(in_mcp_tui, faults),
                pool.map(sdk, faults),
                pool.map(inspector, faults),
                strict=True,
            )
        )
    sdk_version = ran([str(SDK), "-c", "from importlib.metadata import version; print(version('mcp'))"])
    assert sdk_version is not None
    head = HEAD.format(
        day=time.strftime("%Y-%m-%d"),
        system=platform.system(),
        python=platform.python_version(),
        ours=__version__,
        sdk=sdk_version.stdout.strip(),
        inspector=version(INSPECTOR),
        seconds=SECONDS,
    )
    lines = [f"| {fault.name} | {cell(a)} | {cell(b)} | {cell(c)} |" for fault, a, b, c in rows]
    PAGE.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
