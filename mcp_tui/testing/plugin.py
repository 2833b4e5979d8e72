"""The fixtures for pytest. It is loaded by each test run where mcp-tui is installed, so it loads nothing that takes time.

PYTEST_DONT_REWRITE: it asserts nothing.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from mcp_tui.probe.report import Report
    from mcp_tui.testing.sessions import McpSession, Server


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the setting that names the server."""
    parser.addini("mcp_server", "the MCP server to test: its command, run in the root folder, or its URL")


@pytest.fixture
def mcp_server(pytestconfig: pytest.Config) -> Server:
    """The server to test: a command as a list, a URL, or a target. Define a fixture of this name, or set ``mcp_server``."""
    named = pytestconfig.getini("mcp_server")
    if not named:
        how = "Define a fixture mcp_server, or set mcp_server in pytest's settings."
        pytest.fail(f"No MCP server. {how}", pytrace=False)
    if named.startswith(("http://", "https://")):
        return named
    # Every run of pytest loads this module, and few use it.
    from mcp_tui.client import StdioTarget

    program, *arguments = shlex.split(named)
    # what is installed beside pytest may not be in PATH: its virtual environment need not be active
    own = sys.executable if program in _PYTHONS else shutil.which(program, path=sysconfig.get_path("scripts"))
    return StdioTarget(command=(own or program, *arguments), cwd=pytestconfig.rootpath)


_PYTHONS: Final = ("python", "python3")


@pytest.fixture
def mcp_session(mcp_server: Server) -> Generator[McpSession]:
    """A session with the server, which starts when it is first used."""
    # Every run of pytest loads this module, and few use it.
    from mcp_tui.testing.sessions import McpSession

    session = McpSession(mcp_server)
    yield session
    session.close()


@pytest.fixture
def assert_stops_when_cancelled(mcp_server: Server) -> Callable[..., Report]:
    """:func:`mcp_tui.testing.assert_stops_when_cancelled` for the server."""
    # Every run of pytest loads this module, and few use it.
    from mcp_tui.testing.stopping import assert_stops_when_cancelled as check

    def bound(tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Report:
        __tracebackhide__ = True
        return check(mcp_server, tool, arguments, **options)

    return bound


@pytest.fixture
def recorded_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Callable[..., list[str]]]:
    """Returns the command of a server that answers as recordings did: files beside the test, options of ``mcp-tui mock``.

    In the end the test fails if the server refused a request, whatever the code under test made of that, and with
    ``--strict`` if nobody asked for what is recorded; not with ``check=False``.
    """
    reports: list[tuple[Path, bool]] = []

    def command(*files: Path | str, options: tuple[str, ...] = (), check: bool = True) -> list[str]:
        paths = [request.path.parent / file for file in files]
        for path in paths:
            if not path.exists():
                pytest.fail(f"The recording {path} does not exist.", pytrace=False)
        report = tmp_path_factory.mktemp("mcp_mock") / "report.json"
        if check:
            reports.append((report, "--strict" in options))
        words = ("mock", *options, "--report", str(report), *map(str, paths))
        return [sys.executable, "-P", "-m", "mcp_tui", *words]

    yield command
    if wrong := [line for path, strict in reports for line in _wrong(path, strict=strict)]:
        pytest.fail("\n".join(wrong), pytrace=False)


def _wrong(path: Path, *, strict: bool) -> Iterator[str]:
    """Yields what the report of a mock has against a test."""
    if not path.exists():
        if strict:
            yield "The mock was never started."
        return
    report = json.loads(path.read_text(encoding="utf-8"))
    yield from (each["why"] for each in report["refused"])
    for each in report["unasked"] if strict else ():
        yield f"Recorded and never asked: {each['method']} {json.dumps(each['params'], ensure_ascii=False)}"
