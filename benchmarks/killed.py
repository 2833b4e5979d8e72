"""What clients leave behind when they are killed: ``python -m benchmarks.killed`` prints a row for each client and server.

Each client connects to a server on stdio and is killed (SIGKILL) while it waits for the handshake, which these servers do
not answer. Counted is what runs three seconds later. A peer that is not installed (``make bench`` does it) is left out.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.__main__ import MODULES, REAL
from tests.servers.stdio_scripted import processes
from tests.servers.stdio_scripted import server as scripted

SDK = """
import asyncio, sys, mcp
async def main():
    async with mcp.stdio_client(mcp.StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as streams:
        async with mcp.ClientSession(*streams) as session:
            await session.initialize()
asyncio.run(main())
"""
TYPESCRIPT = """
const { Client } = await import(`file://${process.argv[1]}/client/index.js`);
const { StdioClientTransport } = await import(`file://${process.argv[1]}/client/stdio.js`);
const [command, ...args] = process.argv.slice(2);
await new Client({ name: "killed", version: "1" }).connect(new StdioClientTransport({ command, args }));
"""


def servers(mark: Path) -> dict[str, list[str]]:
    """Servers that end with their stdin, and that do not; ``mark`` is in the command line of each."""
    deaf = scripted("deaf", mark)
    return {
        "ends with its stdin": [sys.executable, "-c", "import sys; sys.stdin.read()", str(mark)],
        "ignores the end of its stdin, and SIGTERM": deaf,
        "the same behind a shell": ["/bin/sh", "-c", shlex.join(deaf) + " & wait"],
        "the same with a process that left its session": scripted("escape", mark),
    }


def clients(server: list[str]) -> dict[str, list[str]]:
    """The command of each client."""
    sdk = f"{MODULES}/@modelcontextprotocol/sdk/dist/esm"
    inspector = f"{MODULES}/@modelcontextprotocol/inspector/clients/cli/build/index.js"
    found = {
        "mcp-tui": [sys.executable, "-m", "mcp_tui", "info", "--no-journal", "--", *server],
        "mcp": [str(REAL / "mcp2/bin/python"), "-c", SDK, *server],
        "fastmcp": [str(REAL / "fastmcp4/bin/fastmcp"), "list", "--command", shlex.join(server)],
        "TypeScript 1": ["node", "--input-type=module", "-e", TYPESCRIPT, sdk, *server],
        "Inspector": ["node", inspector, "--method", "tools/list", *server],
    }
    needs = {"TypeScript 1": sdk, "Inspector": inspector}
    return {
        name: command
        for name, command in found.items()
        if shutil.which(command[0]) and Path(needs.get(name, "/")).exists()
    }


def left(command: list[str], mark: str) -> int:
    """Kill a client once its server runs, and count what is left; that is killed as well."""
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=null, stdout=null, stderr=null) as client:
        time.sleep(4)
        assert len(processes(mark)) > 1 and client.poll() is None, command  # noqa: PT018 - a server must run
        client.kill()
    time.sleep(3)
    still = processes(mark)
    for each in still:
        os.kill(each, signal.SIGKILL)
    return len(still)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        names = list(clients([]))
        print("| the server |", " | ".join(names), "|")
        print("|---|" + "---|" * len(names))
        for at, kind in enumerate(servers(Path(folder))):
            found: list[str] = []
            for name in names:
                mark = f"{folder}/{at}-{len(found)}"
                found.append(str(left(clients(servers(Path(mark))[kind])[name], mark)))
            print(f"| {kind} |", " | ".join(found), "|", flush=True)


if __name__ == "__main__":
    main()
