"""Servers that people use, and bridges, for docs/findings.md: one line each, with a call that takes long.

The words of a line may hold: BEATS, a file that the call writes to while it works; WORK, a command that works for two
seconds and writes there; URL, a page that takes two seconds and writes there; HERE, a folder for the run; PORT, where a
bridge is to listen; CHROMIUM; STDIO and HTTP, the server behind a bridge, as a command or its URL.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from tests.real.install import SERVER_NPM, SERVER_PACKAGES, SERVERS, SERVERS_BY_PIN, Part
from tests.real.registry import LEGACY, MODERN, SERVERS_BY_NAME, STARTS_WITHIN, Server, free_port

BEHIND: Final = {LEGACY: SERVERS_BY_NAME["sdk1"], MODERN: SERVERS_BY_NAME["server2"]}
"""The server behind the bridges, for each protocol version: it is silent and stops, over stdio and HTTP."""


@dataclass(frozen=True, slots=True)
class Used:
    """A server or a bridge: the package, its command, the options of the probe that name a call, and how that takes long.

    ``how`` is empty where no call does. ``prepare`` is a line for the shell, run first. ``path`` is where a bridge serves
    HTTP; empty for stdio. ``kind`` tells two lines of a package from each other. ``revision`` is the protocol version to be
    spoken; empty for what the server offers.
    """

    package: str
    how: str
    command: str
    options: str
    prepare: str = ""
    path: str = ""
    kind: str = ""
    revision: str = ""

    @property
    def pin(self) -> str:
        """The package with its version."""
        pins = (*SERVERS_BY_PIN, *SERVER_PACKAGES)
        registry = self.package.partition(" ")[0]
        return next(
            pin
            for pin in pins
            if pin.startswith(self._name) and (pin in SERVERS_BY_PIN) == (registry == "PyPI")
        )

    @property
    def _name(self) -> str:
        registry, name = self.package.split()
        return f"{name}{'==' if registry == 'PyPI' else '@'}"

    @property
    def part(self) -> Part:
        """Where it is installed."""
        return SERVERS_BY_PIN.get(self.pin, SERVER_NPM)

    @property
    def title(self) -> str:
        """``mcp-server-fetch 2026.10.24 (PyPI)``."""
        registry, name = self.package.split()
        version, _, more = self.pin.removeprefix(self._name).partition(" ")
        told = (registry, f"with {more}" if more else "", self.kind)
        return f"{name} {version} ({', '.join(filter(None, told))})"

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.package} {self.kind}".strip()

    @property
    def transport(self) -> str:
        """How the probe reaches it."""
        return "http" if self.path else "stdio"

    def missing(self) -> str | None:
        """The reason why it cannot be started here."""
        if "CHROMIUM" in self.command and chromium() is None:
            return "no chromium is on the PATH"
        return self.part.missing()

    def words(self) -> list[str]:
        """The words of the probe's command line that name the protocol version and the call."""
        return [*(("--protocol", self.revision) if self.revision else ()), *shlex.split(self.options)]

    @contextmanager
    def run(self, behind: Server | None = None) -> Generator[tuple[list[str], list[str], Path]]:
        """Give the words of the probe for a run: those that name the call, those that name the server, and its folder.

        ``behind`` is another server behind a bridge than that of its protocol version.

        Raises:
            RuntimeError: a bridge does not listen.
        """
        with ExitStack() as stack:
            here = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            known = {"HERE": str(here), "BEATS": str(here / "heartbeat"), "CHROMIUM": chromium() or ""}
            known["SCRIPT"] = str(SERVERS / "work.sh")
            known["WORK"] = f"sh {known['SCRIPT']} {known['BEATS']}"
            words = f"{self.options} {self.command}"
            behind = behind or BEHIND[self.revision or LEGACY]
            if "URL" in words:
                known["URL"] = stack.enter_context(slow_page(Path(known["BEATS"])))
            if "HTTP" in words:
                known["HTTP"] = stack.enter_context(behind.serve())
            known["STDIO"] = shlex.join(behind.stdio)
            known["PORT"] = str(free_port())

            def filled(text: str) -> str:
                return re.sub(rf"\b({'|'.join(known)})\b", lambda found: known[found[0]], text)

            first, *rest = shlex.split(self.command)
            command = [str(self._program(first)), *map(filled, rest)]
            environment = {**os.environ, "HOME": str(here)}
            subprocess.run(filled(self.prepare), shell=True, check=True, cwd=here, env=environment)
            if self.path:
                stack.enter_context(listening(command, int(known["PORT"]), environment))
                server = [f"http://127.0.0.1:{known['PORT']}{self.path}"]
            else:
                server = ["--cwd", str(here), "-e", f"HOME={here}", "--", *command]
            yield [filled(word) for word in self.words()], server, here

    def _program(self, name: str) -> Path:
        if self.part is not SERVER_NPM:
            return self.part.folder / "bin" / name
        package = self.part.folder / "node_modules" / self.package.split()[1]
        programs = json.loads((package / "package.json").read_text())["bin"]
        return package / (programs if isinstance(programs, str) else programs[name])


def chromium() -> str | None:
    """A browser for the servers that drive one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def listening(command: list[str], port: int, environment: dict[str, str]) -> Generator[None]:
    """Start a bridge, wait until it listens, and end it with all that it started."""
    null = subprocess.DEVNULL
    with subprocess.Popen(
        command, env=environment, start_new_session=True, stdin=null, stdout=null, stderr=null
    ) as process:
        try:
            until = time.monotonic() + STARTS_WITHIN
            while not _connects(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("it does not listen")
                time.sleep(0.1)
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def slow_page(beats: Path) -> Generator[str]:
    """Serve a page that takes two seconds, and write to a file while its client reads it; give the URL."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            for step in range(20 if self.path == "/" else 0):
                try:
                    self.wfile.write(f"<p>Step {step} of a page that takes its time.</p>\n".encode())
                except OSError:
                    return
                with beats.open("a") as file:
                    file.write(f"{step}\n")
                time.sleep(0.1)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


_SLOW_PAGE: Final = "a page that takes 2 s"
_SHELL: Final = "a shell command that takes 2 s"
_JOIN: Final = "a SELECT over generate_series"
_RECURSIVE: Final = "a recursive SELECT"
_BEATS: Final = "--heartbeat BEATS --tool"
_ROWS: Final = "SELECT count(*) AS n FROM generate_series(1, 300000000) AS s(i) WHERE i % 7 = 3"
_N: Final = "SELECT count(*) AS n FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 8000000) SELECT i FROM n)"  # noqa: E501
_BEHIND: Final = "the tool *cooperative* of the server behind it"
_COOPERATIVE: Final = f"{_BEATS} cooperative seconds=2 heartbeat=BEATS"
_BLANK: Final = "url=about:blank"
_REPOSITORY: Final = (
    "git init -q . && echo 1 >file && git add file && git -c user.name=n -c user.email=e commit -qm 1"
    " && echo 2 >file && git config diff.external 'WORK #'"
)

# fmt: off
USED: Final = (
    Used("PyPI mcp-server-fetch", _SLOW_PAGE,
         "mcp-server-fetch --ignore-robots-txt --allow-private-ips", f"{_BEATS} fetch url=URL raw=true"),
    Used("npm mcp-fetch-server", _SLOW_PAGE, "mcp-fetch-server", f"{_BEATS} fetch_txt url=URL"),
    Used("npm @kazuph/mcp-fetch", _SLOW_PAGE, "mcp-fetch",
         f"-e MCP_FETCH_DISABLE_SSRF_GUARD=1 {_BEATS} imageFetch url=URL"),
    Used("PyPI duckduckgo-mcp-server", _SLOW_PAGE,
         "duckduckgo-mcp-server --allow-private-urls --cache-ttl 0 --fetch-rpm 600", f"{_BEATS} fetch_content url=URL"),
    Used("PyPI markitdown-mcp", _SLOW_PAGE, "markitdown-mcp", f"{_BEATS} convert_to_markdown uri=URL"),
    Used("npm @playwright/mcp", _SLOW_PAGE,
         "playwright-mcp --headless --isolated --no-sandbox --executable-path CHROMIUM",
         f"--before browser_navigate {_BLANK} {_BEATS} browser_navigate url=URL"),
    Used("npm chrome-devtools-mcp", _SLOW_PAGE,
         "chrome-devtools-mcp --headless --isolated --chromeArg=--no-sandbox --executablePath=CHROMIUM",
         f"--before list_pages {_BEATS} new_page url=URL"),
    Used("npm @modelcontextprotocol/server-puppeteer", _SLOW_PAGE, "mcp-server-puppeteer",
         f"-e PUPPETEER_EXECUTABLE_PATH=CHROMIUM -e DOCKER_CONTAINER=1 --before puppeteer_navigate {_BLANK}"
         f" {_BEATS} puppeteer_navigate url=URL"),
    Used("npm @wonderwhy-er/desktop-commander", _SHELL, "desktop-commander",
         f"{_BEATS} start_process 'command=WORK' timeout_ms=10000"),
    Used("PyPI mcp-shell-server", _SHELL, "mcp-shell-server",
         f"-e ALLOW_COMMANDS=./work,work {_BEATS} shell_execute 'command=[\"./work\", \"BEATS\"]' directory=HERE",
         prepare="(echo '#!/bin/sh'; cat SCRIPT) >work; chmod +x work"),
    Used("npm mcp-server-commands", _SHELL, "mcp-server-commands", f"{_BEATS} run_command 'command=WORK'"),
    Used("npm @agent-infra/mcp-server-commands", _SHELL, "mcp-server-commands", f"{_BEATS} run_command 'command=WORK'"),
    Used("PyPI cli-mcp-server", _SHELL, "cli-mcp-server",
         "-e ALLOWED_DIR=/ -e ALLOWED_COMMANDS=all -e ALLOWED_FLAGS=all"
         f" {_BEATS} run_command 'command=WORK'"),
    Used("PyPI terminal-controller", _SHELL, "terminal_controller", f"{_BEATS} execute_command 'command=WORK'"),
    Used("npm mcp-server-code-runner", _SHELL, "mcp-server-code-runner",
         f"{_BEATS} run-code 'code=WORK' languageId=shellscript"),
    Used("PyPI mcp-python-interpreter", "Python code that takes 2 s", "mcp-python-interpreter --dir HERE",
         f"-e MCP_ALLOW_SYSTEM_ACCESS=1 {_BEATS} run_python_code"
         " 'code=import os; os.system(\"WORK\")' execution_mode=subprocess"),
    Used("PyPI mcp-server-git", "a diff by a program that takes 2 s", "mcp-server-git",
         f"{_BEATS} git_diff_unstaged repo_path=HERE", prepare=_REPOSITORY),
    Used("PyPI mcp-server-motherduck", _JOIN, "mcp-server-motherduck --db-path :memory: --read-write",
         f"--tool execute_query 'sql={_ROWS}'"),
    Used("PyPI mcp-server-duckdb", _JOIN, "mcp-server-duckdb --db-path HERE/db", f"--tool query 'query={_ROWS}'"),
    Used("PyPI mcp-server-sqlite", _RECURSIVE, "mcp-server-sqlite --db-path HERE/db", f"--tool read_query 'query={_N}'"),
    Used("PyPI mcp-alchemy", _RECURSIVE, "mcp-alchemy", f"-e DB_URL=sqlite:///HERE/db --tool execute_query 'query={_N}'"),
    Used("npm @modelcontextprotocol/server-filesystem", "a search of 24,000 files", "mcp-server-filesystem HERE",
         "--tool search_files path=HERE pattern=absent", prepare="mkdir many && cd many && seq 24000 | xargs touch"),
    Used("npm @modelcontextprotocol/server-memory", "a search of 120,000 entities", "mcp-server-memory",
         "-e MEMORY_FILE_PATH=HERE/memory.jsonl --tool search_nodes query=absent",
         prepare="""seq 120000 |
             sed 's/.*/{"type":"entity","name":"&","entityType":"t","observations":["o"]}/' >memory.jsonl"""),
    Used("npm @modelcontextprotocol/server-sequential-thinking", "", "mcp-server-sequential-thinking",
         "--tool sequentialthinking thought=a nextThoughtNeeded=false thoughtNumber=1 totalThoughts=1"),
    Used("PyPI mcp-server-time", "", "mcp-server-time", "--tool get_current_time timezone=UTC"),
)
"""Servers that people use."""

_BRIDGES: Final = (
    Used("npm mcp-remote", _BEHIND, "mcp-remote HTTP --allow-http", _COOPERATIVE, kind="stdio to HTTP"),
    Used("npm supergateway", _BEHIND, "supergateway --streamableHttp HTTP", _COOPERATIVE, kind="stdio to HTTP"),
    Used("npm supergateway", _BEHIND,
         "supergateway --stdio 'STDIO' --outputTransport streamableHttp --stateful --port PORT",
         _COOPERATIVE, path="/mcp", kind="HTTP to stdio"),
    Used("npm mcp-proxy", _BEHIND, "mcp-proxy --port PORT --shell 'STDIO'", _COOPERATIVE,
         path="/mcp", kind="HTTP to stdio"),
    Used("PyPI mcp-proxy", _BEHIND, "mcp-proxy --transport streamablehttp HTTP", _COOPERATIVE, kind="stdio to HTTP"),
    Used("PyPI mcp-proxy", _BEHIND, "mcp-proxy --port PORT -- sh -c 'STDIO'", _COOPERATIVE,
         path="/mcp", kind="HTTP to stdio"),
)
# fmt: on
BRIDGES: Final = tuple(replace(each, revision=revision) for each in _BRIDGES for revision in (LEGACY, MODERN))
"""What stands between a client and a server, each in front of the same ones, in both eras of the protocol."""
