"""The cancellations of all sessions: listed from the index, filtered as ``log`` does, opened where they happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.journal import index
from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.recordings import HistoryScreen
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.view import list_filters
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
    rows = [entry for entry in screen.entries if not isinstance(entry, index.LoggedViolation)]
    return [entry.row.id for entry in rows][::-1][: lines.shown]


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
        assert (row.id, row.state, row.late) == (2, State.CANCEL_REQUESTED, ())
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


@pytest.mark.slow
async def test_words_and_expressions_are_searched_as_in_every_list() -> None:
    async with driving(size=(160, 40)) as driven:
        screen = await opened(driven)
        for text, wanted in (
            ("sun", [7]),
            ("-sun", [2, 1]),
            ("/^\\[red/", [2]),
            ("reason:no id:2", [2]),
            ("timeout", [7]),
        ):
            await driven.type(text)
            await driven.until(lambda wanted=wanted: ids(screen) == wanted)
            await driven.press("escape")
            await driven.until(lambda: ids(screen) == [7, 2, 1])


def test_values_of_the_options_of_log_mean_the_same_in_a_filter():
    kept = index.find(index.sessions(journal_folder()))
    for text, wanted in {
        'server:"weather 2" tool:sun': [7],
        "outcome:no-reply,late-error": [1, 7],
        "outcome:late": [2],
        "cause:user since:2023-11-14": [1, 2],
        "until:2023-11-15t00:00+00:00": [1, 2],
    }.items():
        assert [each.row.id for each in kept if list_filters.logged(text).matches(each)] == wanted, text


@pytest.mark.parametrize("text", ["nope:1", "since:never", "cause:x", "outcome:nice", "/a(b/"])
def test_what_is_not_understood_shows_nothing_and_says_why(text: str):
    wanted = list_filters.logged(f"sun {text}")
    assert wanted.problem
    assert not any(map(wanted.matches, index.find(index.sessions(journal_folder()))))
