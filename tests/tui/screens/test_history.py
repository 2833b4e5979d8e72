"""The cancellations of all sessions: listed from the index, filtered as ``log`` does, opened where they happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.journal.files import journal_folder
from mcp_tui.journal.index import Query
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.recordings import HistoryScreen, parse_filter
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.workbench import Workbench
from tests.cli.keeping import ONE, TWO, called, cancelled, connected, keep, late
from tests.tui.driving import Driven, driving


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions in a folder for journals of our own."""
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path))
    keep(
        ONE,
        connected(),
        called(1),
        cancelled(1),
        called(2),
        cancelled(2, reason="[red]no"),
        late(2, 0.4),
        called(3),
    )
    other = connected("weather 2.0")
    keep(TWO, other, called(7, name="sun"), cancelled(7, cause=Cause.TIMEOUT), wall=1_700_050_000.0)
    return journal_folder()


async def opened(driven: Driven) -> HistoryScreen:
    await driven.press("ctrl+p")
    await driven.type("Cancellations of all")
    await driven.until(lambda: "list cancellations and their" in driven.text())
    await driven.press("enter")
    await driven.until(lambda: isinstance(driven.top, HistoryScreen) and "1 late result" in driven.text())
    screen = driven.top
    assert isinstance(screen, HistoryScreen)
    return screen


def ids(screen: HistoryScreen) -> list[RequestId]:
    """The ids that are listed, the newest first."""
    lines = screen._lines  # pyright: ignore[reportPrivateUsage]
    return [entry.row.id for entry in screen._entries][::-1][: lines.shown]  # pyright: ignore[reportPrivateUsage]


async def test_what_is_typed_narrows_it_and_what_is_wrong_is_said() -> None:
    async with driving(size=(160, 40)) as driven:
        screen = await opened(driven)
        for text, wanted in (
            ("server:weather", [7]),
            ("outcome:late", [2]),
            ("cause:user tool:slow_sql", [2, 1]),
        ):
            await driven.type(text)
            await driven.until(lambda wanted=wanted: ids(screen) == wanted)
            await driven.press("escape")
            await driven.until(lambda: ids(screen) == [7, 2, 1])
        await driven.type("outcome:nice")
        await driven.until(lambda: "Unknown outcome 'nice'. Choose from: still_progressing," in driven.text())
        await driven.press("escape")
        await driven.type("server:nobody")
        await driven.until(lambda: "No matching cancellations." in driven.text())


async def test_enter_opens_the_recording_at_the_moment_of_the_cancellation() -> None:
    async with driving(size=(120, 40)) as driven:
        await opened(driven)
        await driven.press("down", "enter")
        await driven.until(lambda: isinstance(driven.top, ReplayScreen) and driven.top.recorded.position)
        replay = driven.top
        assert isinstance(replay, ReplayScreen)
        assert replay.replay.path.name == f"{ONE}.jsonl"
        await driven.until(lambda: replay.recorded.position < replay.recorded.events)
        row = replay.table.selected
        assert row is not None
        assert (row.id, row.state, row.late) == (2, State.CANCEL_REQUESTED, [])
        await driven.press("escape")
        await driven.until(lambda: isinstance(driven.top, Workbench))


async def test_without_sessions_it_says_where_they_would_be(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    async with driving(size=(120, 40)) as driven:
        driven.app.push_screen(HistoryScreen(folder))
        await driven.until(lambda: "No recorded sessions" in driven.text())
        await driven.press("enter")
        assert isinstance(driven.top, HistoryScreen)


def test_a_filter_is_read_as_the_options_of_log_are():
    assert parse_filter("") == Query()
    made = parse_filter(
        "server:'my server' tool:x outcome:no-reply,late-error cause:timeout since:2026-01-01T00:00+00:00"
    )
    assert (made.server, made.tool, made.causes, made.since) == (
        "my server",
        "x",
        {Cause.TIMEOUT},
        1767225600.0,
    )
    assert made.outcomes == {Outcome.NO_REPLY, Outcome.LATE_ERROR}
    for text in ("hello", "server", "nope:1", "since:never", "cause:x", "tool:'"):
        with pytest.raises(ValueError, match=r".+"):
            parse_filter(text)
