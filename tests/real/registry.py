"""The real servers: how each is started, what it speaks, and whether this machine has it.

`tests/real/install.py` installs what they need. Nothing here imports mcp-tui.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real.install import (
    CHUK,
    FASTMCP4,
    FASTMCP_TS,
    MCP1,
    MCP2,
    NPM,
    NPM_PART,
    OLDER,
    SERVERS,
    Part,
    python_of,
)

JUNE = "2025-06-18"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"

# As it was when the tests began: threads that start servers must not read it while a test changes it.
ENVIRONMENT = dict(os.environ)

STARTS_WITHIN = 30.0  # seconds, on a machine that is busy with other things
STOPS_WITHIN = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that can be started over stdio and over streamable HTTP.

    `command` starts it, with `on_stdio` or `on_http` behind it. Over HTTP it says where it listens in a line that
    `announces` finds, with the port as its group; `PORT` is in its environment where `wants_port` says that
    it cannot choose one itself. `revisions` are those it speaks over either transport, newest last.
    `tools` are its slow tools: those of `servers/tools.py`, or its own. `streamable`: over streamable HTTP; `sse`:
    the HTTP one serves HTTP+SSE with `--sse`. `modes` are its other flags over HTTP.
    """

    name: str
    package: str
    part: Part
    command: tuple[str, ...]
    revisions: tuple[str, ...]
    on_stdio: tuple[str, ...] = ()
    on_http: tuple[str, ...] = ("--http", "0")
    announces: str = r"^http://127\.0\.0\.1:(\d+)/mcp$"
    wants_port: bool = False
    path: str = "/mcp"
    streamable: bool = True
    sse: bool = False
    modes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("cooperative", "blocking", "swallows", "cleanup", "raises")

    @property
    def stdio(self) -> tuple[str, ...]:
        return *self.command, *self.on_stdio

    def missing(self) -> str | None:
        """Why this server cannot be started here, as one sentence, or None when it can."""
        reason = self.part.missing()
        return f"{self.name} ({self.package}) is left out: {reason}." if reason else None

    @contextlib.contextmanager
    def serve(self, *flags: str, env: Mapping[str, str] | None = None) -> Generator[str]:
        """Serve over HTTP on a free port of 127.0.0.1 and give the URL; the server is gone afterwards.

        `flags` are appended to the command line: `--stateless`, `--json`.

        Raises:
            RuntimeError: the server ended, or said no URL in time; the message holds what it printed.
        """
        environment = {**ENVIRONMENT, **(env or {})}
        if self.wants_port:
            environment["PORT"] = str(free_port())
        with subprocess.Popen(
            (*self.command, *self.on_http, *flags),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
            errors="replace",
        ) as process:
            output = Output(process, re.compile(self.announces))
            try:
                yield f"http://127.0.0.1:{output.port()}{'/sse' if '--sse' in flags else self.path}"
            finally:
                end(process)
                output.reader.join()


class Output:
    """Reads what a server prints to its end, so that it never blocks, and finds the port in it."""

    def __init__(self, process: subprocess.Popen[str], announces: re.Pattern[str]) -> None:
        self.process = process
        self.announces = announces
        self.lines: list[str] = []
        self.found = ""
        self.settled = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if not self.found and (match := self.announces.search(line.strip())):
                self.found = match[1]
                self.settled.set()
        self.settled.set()

    def port(self) -> str:
        self.settled.wait(STARTS_WITHIN)
        if not self.found:
            raise RuntimeError(f"the server said no URL: {''.join(self.lines[-20:])}")
        return self.found


def environment(home: Path) -> dict[str, str]:
    """The environment of a program whose files all stay below `home`."""
    ours = {
        name: value
        for name, value in ENVIRONMENT.items()
        if not name.startswith(("MCP_TUI_", "XDG_")) and not name.lower().endswith("_proxy")
    }
    return {**ours, "HOME": str(home), "NO_PROXY": "127.0.0.1,localhost"}


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes], *, patience: float = STOPS_WITHIN) -> None:
    """Terminate a process, and kill it when it has not ended `patience` seconds later."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _python(part: Part, script: str) -> tuple[str, ...]:
    return str(python_of(part.folder)), str(SERVERS / script)


def _node(script: str, part: Part = NPM_PART) -> tuple[str, ...]:
    # Without the flag Node would look for packages beside the file that the link points to, where there are none.
    return "node", "--preserve-symlinks-main", str(part.folder / "servers" / script)


_EVERYTHING = NPM / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"

# server-everything as most people start it: npm, a shell and Node stand between the client and the server.
EVERYTHING_THROUGH_NPX = ("npx", "--offline", "--no", "--prefix", str(NPM), "mcp-server-everything", "stdio")

SERVERS_BY_NAME: dict[str, Server] = {
    server.name: server
    for server in (
        Server(
            name="everything",
            package="npm @modelcontextprotocol/server-everything",
            part=NPM_PART,
            command=("node", str(_EVERYTHING)),
            on_stdio=("stdio",),
            on_http=("streamableHttp",),
            revisions=(LEGACY,),
            announces=r"listening on port (\d+)",
            wants_port=True,
            tools=("trigger-long-running-operation",),
        ),
        Server(
            name="mcp1",
            package="PyPI mcp 1.x",
            part=MCP1,
            command=_python(MCP1, "mcp1.py"),
            revisions=(LEGACY,),
            sse=True,
            modes=("json", "stateless"),
        ),
        Server(
            name="mcp2",
            package="PyPI mcp 2.x",
            part=MCP2,
            command=_python(MCP2, "mcp2.py"),
            revisions=(LEGACY, MODERN),
            sse=True,
            modes=("json", "stateless"),
        ),
        Server(
            name="sdk1",
            package="npm @modelcontextprotocol/sdk 1.x",
            part=NPM_PART,
            command=_node("sdk1.mjs"),
            revisions=(LEGACY,),
            sse=True,
            modes=("json", "stateless"),
        ),
        Server(
            name="server2",
            package="npm @modelcontextprotocol/server 2.x",
            part=NPM_PART,
            command=_node("server2.mjs"),
            revisions=(LEGACY, MODERN),
        ),
        Server(
            name="fastmcp4",
            package="PyPI fastmcp 4.x",
            part=FASTMCP4,
            command=_python(FASTMCP4, "fastmcp4.py"),
            revisions=(LEGACY, MODERN),
            tools=("cooperative", "blocking"),  # the others are to it what they are to mcp 2.x
        ),
        Server(
            name="tmcp",
            package="npm tmcp",
            part=NPM_PART,
            command=_node("tmcp.mjs"),
            revisions=(JUNE, MODERN),
            tools=("cooperative", "blocking", "swallows"),  # it lets none notice a cancel by notification
        ),
    )
}

_WORSE = ("cooperative", "blocking", "swallows", "cleanup")
_AUTO = ("auto",)


def _line(part: Part) -> str:
    return part.holds.partition("what servers on ")[2].removesuffix(" need").replace("'s", "")


def _older(part: Part) -> Server:
    oldest = part.name == "mcp1_2"
    script = "fastmcp4.py" if part.name.startswith("fastmcp") else "mcp1.py"
    return Server(
        name=part.name,
        package=_line(part),
        part=part,
        command=_python(part, script),
        # the oldest exits at anything but its own handshake
        revisions=("2024-11-05",) if oldest else _AUTO,
        path="/mcp/" if part.name == "mcp1_9" else "/mcp",
        streamable=not oldest,
        sse=oldest,
        tools=_WORSE,
    )


def _low_level(part: Part, revisions: tuple[str, ...], *, http: bool = False) -> Server:
    return Server(
        name=f"low-level {part.name}",
        package=f"{_line(part)}, low-level server",
        part=part,
        command=_python(part, "lowlevel.py"),
        revisions=revisions,
        path="/mcp/" if part is MCP1 else "/mcp",
        streamable=http,
        tools=_WORSE,
    )


FINDINGS_ONLY: dict[str, Server] = {
    server.name: server
    for server in (
        *(_older(part) for part in OLDER),
        _low_level(MCP1, _AUTO, http=True),
        _low_level(MCP2, (LEGACY, MODERN), http=True),
        Server(
            name="chuk",
            package="PyPI chuk-mcp-server",
            part=CHUK,
            command=_python(CHUK, "chuk.py"),
            revisions=_AUTO,
            tools=_WORSE,
        ),
        Server(
            name="fastmcp-ts",
            package="npm fastmcp",
            part=FASTMCP_TS,
            command=_node("fastmcp.mjs", FASTMCP_TS),
            revisions=_AUTO,
            wants_port=True,
            modes=("stateless",),
            tools=_WORSE,
        ),
    )
}
"""Lines that only docs/findings.md tells of."""

EVERY_LINE = {**SERVERS_BY_NAME, **FINDINGS_ONLY}


@dataclass(frozen=True, slots=True)
class Case:
    """How a server is reached, which revision is spoken, and which of its tools is called.

    `mode` is `json` or `stateless` over HTTP, else empty.
    """

    server: str
    transport: str
    revision: str
    tool: str = "cooperative"
    mode: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.server, self.transport, self.mode, self.revision, self.tool)))

    @property
    def entry(self) -> Server:
        return EVERY_LINE[self.server]

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of its server over HTTP."""
        flag = "sse" if self.transport == "sse" else self.mode
        return (f"--{flag}",) if flag else ()

    @property
    def closes(self) -> bool:
        """Whether a cancel is the closing of the stream."""
        return (self.transport, self.revision) == ("http", MODERN)
