"""A defect of ours: one sentence with its kind, its place and the journal, and nothing of what was worked on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.cli import defect
from mcp_tui.cli.defect import report
from mcp_tui.cli.output import Exit
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import HttpTarget, StdioTarget
from mcp_tui.tui.app import WorkbenchApp
from tests.cli.running import SERVERS, Ran, run
from tests.tui.conftest import terminals as terminals  # noqa: PLC0414 - a fixture
from tests.tui.terminal import Terminal

SECRETS = ("c0ffee-in-the-environment", "c0ffee-in-an-argument", "c0ffee-on-the-command-line")

BREAKER = """
import importlib.abc, sys
class Breaker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            everything = {secrets!r}
            raise ZeroDivisionError("while working on", everything, sys.argv)
sys.meta_path.insert(0, Breaker())
"""


def planted(folder: Path, module: str) -> dict[str, Any]:
    """A module on the path that makes another fail where it is loaded: nothing in the program fails on purpose."""
    (folder / "sitecustomize.py").write_text(BREAKER.format(module=module, secrets=SECRETS))
    return {"PYTHONPATH": str(folder)}


def words(*more: str) -> tuple[str, ...]:
    env, argument, option = SECRETS
    server = (sys.executable, str(SERVERS / "echo_server.py"), "stdio", f"--token={option}")
    return (*more, f"text={argument}", "-e", f"API_TOKEN={env}", "--", *server)


def assert_short(said: str) -> None:
    """The whole report is a sentence about the code."""
    assert "ZeroDivisionError at " in said
    assert "Traceback" not in said
    assert "while working on" not in said
    for secret in SECRETS:
        assert secret not in said


def test_a_command_that_fails_by_itself_says_where_and_exits_with_1(tmp_path: Path):
    ran = run(*words("call", "echo"), **planted(tmp_path, "jsonschema_rs"))
    last = ran.err.splitlines()[-1]
    Ran(ran.status, "", f"{last}\n").sentence(Exit.DEFECT, "Internal error in mcp-tui: ", "mcp_tui/client/")
    assert_short(ran.err)
    journal = Path(last.rpartition(" Journal: ")[2])
    assert b'"record":"session"' in journal.read_bytes()


def test_what_really_failed_is_told_of_groups_and_workers(monkeypatch: pytest.MonkeyPatch):
    class Worker(Exception):
        error = KeyError(SECRETS[0])

    class Journal:
        path = Path("/j.jsonl")

    monkeypatch.setattr(defect, "_kept", [])
    assert report(Worker()) == "Internal error in mcp-tui: KeyError."
    grouped = ExceptionGroup("many", [ExceptionGroup("some", [KeyError(SECRETS[0])]), ValueError()])
    monkeypatch.setattr(defect, "_kept", [Journal])
    assert report(grouped) == "Internal error in mcp-tui: KeyError. Journal: /j.jsonl"


async def test_without_a_terminal_the_app_prints_nothing_and_hands_the_error_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def broken(_app: WorkbenchApp, _problems: object) -> None:
        secret = SECRETS[0]
        raise ZeroDivisionError(secret)

    monkeypatch.setattr(WorkbenchApp, "load_themes", broken)
    target = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), env={"API_TOKEN": SECRETS[0]})
    app = WorkbenchApp(target, Client)
    await app.run_async(headless=True, size=(80, 24))
    if app.session is not None:  # on a busy machine the themes are loaded before there is one
        await app.session.client.close()
    assert isinstance(app.defect, ZeroDivisionError)
    assert app.return_code == Exit.DEFECT
    out, err = capfd.readouterr()
    assert SECRETS[0] not in out + err
    assert "Traceback" not in out + err


@pytest.mark.pty
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
@pytest.mark.parametrize("columns", [80, 140])
def test_in_a_terminal_the_screen_is_put_back_and_the_report_stands_below(
    terminals: Callable[..., Terminal],
    tmp_path: Path,
    columns: int,
):
    env, _, option = SECRETS
    server = (sys.executable, "-m", "mcp_tui", "demo", "--log", str(tmp_path / f"--token={option}"))
    terminal = terminals(
        "-e", f"API_TOKEN={env}", "--", *server,
        columns=columns, env=planted(tmp_path, "mcp_tui.tui.screens.help"),
    )  # fmt: skip
    terminal.see("stubborn")
    terminal.press("?")
    assert terminal.ended() == Exit.DEFECT
    terminal.assert_restored()
    said = terminal.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "mcp-tui: Internal error in mcp-tui: ZeroDivisionError at " in said
    assert " Journal: " in said
    assert_short(said)


def test_a_url_with_a_password_is_in_no_title():
    from mcp_tui.tui.sources.live_session import title

    said = title(HttpTarget(url=f"https://me:{SECRETS[0]}@example.com/mcp?token={SECRETS[1]}"))
    assert "example.com/mcp" in said
    assert not any(secret in said for secret in SECRETS)
