"""The start without a server, on real files, with a server that leaves a mark when it is started."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.saved import remember
from mcp_tui.tui.screens.dialog import ConfirmScreen, InputsScreen
from mcp_tui.tui.screens.picker import PickerScreen, gather
from mcp_tui.view.server_bar import Link
from tests.config.placing import marking
from tests.slow import slow
from tests.tui.driving import Driven, driving
from tests.tui.hostile import assert_harmless


class Files:
    """Config files of a home and a project, which is the working folder."""

    def __init__(self, project: Path) -> None:
        self.project, self.mark = project, project / "started"

    def server(self, **more: object) -> dict[str, Any]:
        return {**marking(self.mark), **more}

    def own(self, **servers: object) -> None:
        self._write(Path(os.environ["HOME"]) / ".cursor" / "mcp.json", {"mcpServers": servers})

    def shared(self, **servers: object) -> None:
        inputs = [{"id": "api-key", "description": "The key", "type": "promptString", "password": True}]
        self._write(self.project / ".vscode" / "mcp.json", {"servers": servers, "inputs": inputs})

    def _write(self, file: Path, whole: object) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(whole))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.chdir(tmp_path)
    return Files(tmp_path)


@asynccontextmanager
async def picking(size: tuple[int, int] = (80, 24), *, ascii_only: bool = False) -> AsyncGenerator[Driven]:
    async with driving(None, size=size, link=None, ascii_only=ascii_only) as driven:
        await driven.until(lambda: isinstance(driven.top, PickerScreen))
        await driven.until(lambda: driven.top.query_one("#servers", OptionList).option_count)
        yield driven


async def test_servers_stand_under_their_files_and_say_what_is_wrong_with_them(files: Files):
    files.own(mine=files.server(), key={"url": "https://h/mcp", "headers": {"A": "${env:NOT_SET}"}})
    files.shared(theirs=files.server())
    async with picking() as driven:
        assert "~/.cursor/mcp.json" in driven.line("Cursor")
        assert "problem  environment variable NOT_SET is not set" in driven.line(" key ")
        assert "needs consent" in driven.line(" theirs ")
        assert "› mine" in driven.text()
        await driven.type("key")
        await driven.press("enter")
        assert "key: environment variable NOT_SET is not set." in driven.text()
        assert isinstance(driven.top, PickerScreen)
    assert not files.mark.exists()


@pytest.mark.slow
async def test_the_title_above_the_first_server_comes_back_with_it(files: Files):
    files.own(**{f"s{number:02}": files.server() for number in range(30)})
    async with picking() as driven:
        assert ("~/.cursor/mcp.json" in driven.text(), "s29" in driven.text()) == (True, False)
        await driven.press(*["down"] * 29)
        await driven.until(lambda: "› s29" in driven.text())
        assert "~/.cursor/mcp.json" not in driven.text()
        await driven.press(*["up"] * 29)
        await driven.until(lambda: "› s00" in driven.text() and "~/.cursor/mcp.json" in driven.text())


async def test_enter_opens_the_one_that_is_chosen_and_next_time_it_comes_first(files: Files):
    files.own(alpha=files.server(), beta=files.server())
    async with picking() as driven:
        await driven.press("down")
        assert "› beta" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
        assert driven.session.client.target.name == "beta"
    async with picking() as driven:
        lines = driven.text().splitlines()
        at = next(index for index, line in enumerate(lines) if "Recent" in line)
        assert "› beta" in lines[at + 1]
        assert sum(" beta " in line for line in lines) == 1


async def test_a_recent_command_starts_in_the_folder_where_it_was_typed(files: Files):
    elsewhere = files.project / "elsewhere"
    elsewhere.mkdir()
    remember(StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), cwd=elsewhere))
    async with picking(size=(240, 36)) as driven:  # wide enough for the path of any Python
        assert "-m mcp_tui.demo  (in elsewhere)" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
        target = driven.session.client.target
        assert isinstance(target, StdioTarget)
        assert target.cwd == elsewhere


async def test_a_named_config_file_is_the_only_one_in_the_list(files: Files):
    files.own(mine=files.server())
    files.shared(theirs=files.server())
    config = Path(os.environ["HOME"]) / ".cursor" / "mcp.json"
    choices, problems = gather(config)
    assert ([each.name for each in choices], problems) == (["mine"], [])


async def test_a_project_s_server_starts_only_after_yes(files: Files):
    files.shared(theirs=files.server(env={"SECRET": "hunter2"}))
    async with picking() as driven:
        for answer in ("enter", "escape", "n"):  # enter is on No
            await driven.press("enter")
            await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
            assert "SECRET" in driven.text()
            assert "hunter2" not in driven.text()
            await driven.press(answer)
            await driven.until(lambda: isinstance(driven.top, PickerScreen))
        assert not files.mark.exists()
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
        await driven.press("y")
        await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
    assert files.mark.exists()
    async with picking() as driven:
        assert "needs consent" not in driven.text()


async def test_the_whole_command_can_be_read_before_it_is_agreed_to(files: Files):
    last = "--the-very-last-argument"
    files.shared(theirs={"command": "x", "args": [*(f"argument-{number}" for number in range(300)), last]})
    async with picking() as driven:
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
        await driven.until(lambda: "Scroll" in driven.text())
        seen = driven.text()
        assert re.search(r"\d+ of \d+ lines", seen)
        for _ in range(40):
            await driven.press("down")
            seen += driven.text()
        assert last in seen
        assert all(
            f"argument-{number} " in seen.replace("│", " ").replace("\n", " ") for number in range(0, 300, 37)
        )


@pytest.mark.parametrize("size", [(40, 8), *slow((80, 24))], ids=str)
async def test_yes_is_taken_only_after_the_end_was_on_the_screen(files: Files, size: tuple[int, int]):
    files.shared(theirs=files.server(env={f"VARIABLE_{number}": "x" for number in range(40)}))
    async with picking(size=size) as driven:
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen) and " lines" in driven.text())
        await driven.press("y")
        await driven.until(lambda: "Scroll to" in driven.text())
        assert isinstance(driven.top, ConfirmScreen)
        assert "program" in driven.text()
        while "VARIABLE_39" not in driven.text():
            await driven.press("down")
        await driven.press("y")
        await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
    assert files.mark.exists()


async def test_what_a_file_asks_for_is_asked_and_never_shown(files: Files):
    files.own()
    files.shared(theirs=files.server(env={"KEY": "${input:api-key}"}))
    async with picking() as driven:
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
        await driven.press("y")
        await driven.until(lambda: isinstance(driven.top, InputsScreen))
        assert "The key" in driven.text()
        await driven.press("enter")
        assert "api-key is empty." in driven.text()
        await driven.press("escape")
        await driven.until(lambda: isinstance(driven.top, PickerScreen))
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, InputsScreen))
        await driven.type("hunter2")
        assert "hunter2" not in driven.text()
        await driven.press("enter")
        await driven.until(lambda: driven.app.session is not None and driven.session.link is Link.CONNECTED)
        target = driven.session.client.target
        assert isinstance(target, StdioTarget)
        assert target.env == {"KEY": "hunter2"}


async def test_nothing_from_a_file_reaches_the_terminal_as_more_than_text(files: Files):
    nasty = "\x1b]0;owned\x07[b]bold[/b]\u202e[@click=app.quit]x[/]"
    files.shared(
        **{
            nasty: {"command": nasty, "args": [nasty], "env": {nasty.replace("=", ""): "x"}},
            "plain": {"command": nasty},
        }
    )
    async with picking() as driven:
        assert_harmless(driven.text().replace("\n", ""))
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
        assert_harmless(driven.text().replace("\n", ""))
        assert "[b]bold[/b]" in driven.text()
