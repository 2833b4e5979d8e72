from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.recordings import RecordingsScreen
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.workbench import Workbench
from tests.tui.driving import Driven, driving


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions in a folder for journals of our own."""
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path))
    folder = journal_folder()
    folder.mkdir(mode=0o700)
    kept(folder / "2026-11-20T101112-weather-11.jsonl", server="weather 1.0", cancelled=0)
    kept(folder / "2026-11-21T101112-sql-12.jsonl", server="sql [red]2.0", cancelled=3)
    return folder


def kept(path: Path, *, server: str, cancelled: int) -> None:
    store = Store(Writer(path, header=Header(id=path.stem[-2:], wall=1.0, mono=1.0)))
    store.event(ev.Connected(at=1.0, transport="stdio", revision="2025-11-25", server=server))
    for id_ in range(1, cancelled + 2):
        store.event(ev.Called(at=float(id_), id=id_, method="tools/call", name="slow"))
        store.event(ev.Sent(at=float(id_), id=id_))
        if id_ <= cancelled:
            store.event(ev.CancelRequested(at=id_ + 0.5, id=id_, cause=Cause.USER, reason="why"))
    store.close()


async def opened(driven: Driven) -> RecordingsScreen:
    """The list, opened from the palette."""
    await driven.press("ctrl+p")
    await driven.type("Open a recording")
    await driven.until(lambda: "(read-only) next to this one" in driven.text())
    await driven.press("enter")
    await driven.until(lambda: isinstance(driven.top, RecordingsScreen))
    screen = driven.top
    assert isinstance(screen, RecordingsScreen)
    return screen


async def test_a_recording_opens_over_the_session_which_goes_on_and_esc_leads_back() -> None:
    async with driving() as driven:
        running = await driven.in_flight("count", seconds=3000, steps=30000)
        await opened(driven)
        await driven.press("down", "enter")
        await driven.until(lambda: isinstance(driven.top, ReplayScreen))
        replay = driven.top
        assert isinstance(replay, ReplayScreen)
        assert replay.replay.path.name.startswith("2026-11-20")
        told = running.progress_count
        await driven.until(lambda: running.progress_count > told)
        await driven.press("c")
        assert "read-only: a recording" in driven.text()
        assert running.state is State.IN_FLIGHT
        await driven.press("/", "x", "escape")
        assert driven.top is replay
        await driven.press("escape")
        await driven.until(lambda: isinstance(driven.top, Workbench))
        assert running.state is State.IN_FLIGHT
        await driven.press("C")
        await driven.until(lambda: not running.open)


async def test_what_is_no_recording_is_told_and_the_session_stays(folder: Path) -> None:
    (folder / "2026-11-22T101112-broken-12.jsonl").write_bytes(b"nothing")
    async with driving() as driven:
        await opened(driven)
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, Workbench))
        assert not any(isinstance(screen, ReplayScreen) for screen in driven.app.screen_stack)
