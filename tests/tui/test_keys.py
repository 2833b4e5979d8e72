"""Every key of the workbench, of its panes and of a recording, pressed. A key without a check here is a failure."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.widgets.timeline_pane import Timeline
from mcp_tui.view.keys import (
    DETAIL,
    EVERYWHERE,
    LINES,
    RECORDED,
    RECORDING,
    REQUESTS,
    TIMELINE,
    WORKBENCH,
    Scope,
)
from tests.slow import slow
from tests.tui.playing import TARGET
from tests.tui.pressing import Check, press_all, press_and_see
from tests.tui.replaying import replaying
from tests.tui.snapshots.scenes import Stage, at_noon, staged
from tests.tui.snapshots.text import snapshot

pytestmark = pytest.mark.sends_anything  # the far end is a script


def opens(name: str, **more: str) -> Check[Stage]:
    """It opens a screen, by the name of its class."""
    return Check(sees=lambda stage: type(stage.app.screen).__name__ == name, **more)  # type: ignore[arg-type]


def shows(pane: str, first: tuple[str, ...] = ()) -> Check[Stage]:
    return Check(sees=lambda stage: stage.bench.focused is stage.bench.panes[pane], first=first)


def selects(row: str, from_: str) -> Check[Stage]:
    return Check(sees=lambda stage: stage.bench.table.selected is stage.rows[row], row=from_)


def width(stage: Stage) -> int:
    return stage.bench.detail.outer_size.width


def height(stage: Stage) -> int:
    return stage.bench.detail.outer_size.height


def span(stage: Stage) -> float:
    return stage.app.screen.query_one(Timeline).span


CHECKS: dict[str, Check[Any]] = {
    "request.cancel": opens("ReasonScreen"),
    "request.cancel-now": Check(
        sees=lambda stage: stage.rows["in flight"].state is State.CANCEL_REQUESTED, spoils=True
    ),
    "request.cancel-all": opens("MarkedScreen"),
    "request.new": opens("CallScreen"),
    "request.again": Check(
        sees=lambda stage: any(
            row.open and row.name == "count_rows" for row in stage.session.client.requests.order
        ),
        row="completed",
        spoils=True,
    ),
    "request.repeat": opens("InputsScreen"),
    "request.edit": opens("CallScreen"),
    "app.leave": opens("ConfirmScreen"),
    "request.extend": Check(
        sees=lambda stage: any(isinstance(each, ev.Extended) for each in stage.rows["in flight"].history)
    ),
    "request.mark": Check(sees=lambda stage: stage.bench.table.marks),
    "request.mark-all": Check(sees=lambda stage: len(stage.bench.table.marks) > 1),
    "request.saved": opens("MenuScreen"),
    "request.compare": opens("ReadingScreen"),
    "request.export": opens("MenuScreen"),
    "request.copy": opens("MenuScreen"),
    "request.copy-again": Check(
        sees=lambda stage: stage.app.clipboard and "jsonrpc" not in stage.app.clipboard, row="completed"
    ),
    "request.save": Check(sees=lambda _: list(Path().glob("mcp-tui-*.json"))),
    "watch.pin": Check(sees=lambda stage: "Not watching" in stage.text(), row="completed"),
    "view.pager": Check(sees=lambda stage: " program" in str([*stage.app._notifications])),
    "question.answer": opens("FormScreen"),
    "view.filter": Check(sees=lambda stage: stage.bench.filtering.input.has_focus),
    "view.follow": Check(changes=lambda stage: stage.bench.table.follow),
    "view.newest": selects("queued", "lost"),
    "view.oldest": selects("lost", "queued"),
    "view.internal": Check(changes=lambda stage: stage.bench.table.outline.show_internal),
    "view.sort": Check(changes=lambda stage: stage.bench.table.outline.sort, spoils=True),
    "view.unfold": Check(sees=lambda stage: "tasks/get" in stage.text(), row="task"),
    "view.open": Check(sees=lambda stage: "tasks/get" in stage.text(), row="task"),
    "view.close": Check(sees=lambda stage: "tasks/get" not in stage.text(), row="task", first=("right",)),
    "view.zoom": Check(sees=lambda stage: stage.bench.maximized),
    "view.pane-0": Check(sees=lambda stage: stage.bench.focused is stage.bench.table, first=("4",)),
    "view.pane-1": shows("detail"),
    "view.pane-2": shows("catalogue"),
    "view.pane-3": shows("cancellations"),
    "view.pane-4": shows("log"),
    "view.pane-5": shows("wire"),
    "view.pane-6": shows("timeline"),
    "view.sides-wider": Check(changes=width),
    "view.sides-narrower": Check(changes=width, first=("right_parenthesis", "right_parenthesis")),
    "view.lower-higher": Check(changes=height),
    "view.lower-lower": Check(changes=height, first=("equals_sign", "equals_sign")),
    "wire.request": Check(sees=lambda stage: stage.bench.focused is stage.bench.wire),
    "timeline.in": Check(changes=span, first=("6",)),
    "timeline.out": Check(changes=span, first=("6",)),
    "server.menu": opens("MenuScreen"),
    "server.list": opens("ServersScreen"),
    "server.next": Check(changes=lambda stage: stage.app.screen),
    "server.probe": opens("ProbeScreen"),
    "server.sign-in": Check(sees=lambda stage: "No sign-in here" in snapshot(stage.app)),
    "app.palette": opens("PaletteScreen"),
    "app.help": opens("HelpScreen"),
    "app.interrupt": opens("ReasonScreen"),
    "app.back": Check(sees=lambda stage: not stage.bench.maximized, first=("z",)),
    "app.quit": opens("ConfirmScreen"),
    "app.keys": opens("HelpScreen"),
    "app.suspend": Check(sees=lambda stage: "cannot suspend" in str([*stage.app._notifications])),
}


async def ready(stage: Stage, check: Check[Stage]) -> Pilot[Any]:
    """The workbench with a row under the cursor, nothing open and nothing said."""
    await stage.back()
    await stage.press("escape", "escape")
    await stage.choose(check.row)
    stage.bench.keys.hush()
    return stage.pilot


@pytest.mark.parametrize("acts", [True, *slow(False)])
async def test_every_key_of_the_workbench_does_what_it_says(
    acts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    keys = {key.id: key for key in (*EVERYWHERE.keys, *WORKBENCH.keys) if key.acts == acts}
    keys.pop("server.next", None)
    keys.pop("app.redraw", None)  # without a terminal there is nothing that others wrote on: test_pty.py
    with at_noon():
        await press_all(keys.values(), lambda id_, _: CHECKS[id_], lambda: staged((140, 40)), ready)


async def test_the_key_to_the_next_server_goes_there():
    with at_noon():
        async with staged((140, 40), told=False) as stage:
            first = stage.app.screen
            stage.app.open(TARGET)
            await stage.until(lambda: stage.app.screen is not first)
            (name,) = (name for key in WORKBENCH.keys if key.id == "server.next" for name in key.names)
            await press_and_see(stage.pilot, name, CHECKS["server.next"], stage)


class Shown(Stage):
    """A stage whose app is on a recording."""

    @property
    def bench(self) -> Any:
        """The screen that has the panes."""
        return self.replay

    @property
    def replay(self) -> ReplayScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, ReplayScreen))


@asynccontextmanager
async def replayed(folder: Path) -> AsyncGenerator[Shown]:
    folder.mkdir(exist_ok=True)
    path = folder / "shop.jsonl"
    async with staged((80, 24), path=path) as stage:
        stage.session.client.store.flush()
        async with replaying(path, size=(140, 40)) as driven:
            yield Shown(driven.app, driven.pilot, stage.play, stage.rows, {})


def position(shown: Shown) -> int:
    return shown.replay.recorded.position


OF_RECORDINGS: dict[str, Check[Shown]] = {
    "replay.play": Check(sees=lambda shown: shown.replay.playback.playing, spoils=True),
    "replay.next": Check(changes=position, first=("left_curly_bracket",)),
    "replay.previous": Check(changes=position),
    "replay.next-cancellation": Check(changes=position, first=("left_curly_bracket",)),
    "replay.previous-cancellation": Check(changes=position),
    "replay.start": Check(sees=lambda shown: position(shown) == 0),
    "replay.end": Check(
        sees=lambda shown: position(shown) == shown.replay.recorded.events, first=("left_curly_bracket",)
    ),
    "replay.faster": Check(changes=lambda shown: shown.replay.playback.speed),
    "replay.slower": Check(changes=lambda shown: shown.replay.playback.speed),
    "replay.find": Check(sees=lambda shown: shown.replay.find_input.has_focus),
    "replay.find-next": Check(changes=position, first=("f", *"slow", "enter")),
    "replay.find-previous": Check(changes=position, first=("f", *"slow", "enter")),
}


async def at_its_end(shown: Shown, check: Check[Any]) -> Pilot[Any]:
    """The recording at its end, with a row under the cursor."""
    await shown.press("escape", "escape", "right_curly_bracket")
    await shown.choose(check.row)
    return shown.pilot


@pytest.mark.slow
async def test_every_key_of_a_recording_does_what_it_says(tmp_path: Path):
    with at_noon():
        folders = map(str, itertools.count())
        await press_all(
            RECORDED,
            lambda id_, _: OF_RECORDINGS[id_],
            lambda: replayed(tmp_path / next(folders)),
            at_its_end,
        )


ON_RECORDINGS: dict[str, Check[Any]] = {
    "app.interrupt": Check(sees=lambda stage: stage.app._exit, spoils=True),  # pyright: ignore[reportPrivateUsage]
    "app.leave": Check(sees=lambda stage: stage.app._exit, spoils=True),  # pyright: ignore[reportPrivateUsage]
    "view.newest": Check(changes=lambda stage: stage.bench.table.selected),
    "view.oldest": Check(changes=lambda stage: stage.bench.table.selected),
}
"""What is another thing on a recording."""


@pytest.mark.slow
async def test_every_key_that_only_looks_works_on_a_recording_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    folders = map(str, itertools.count())
    with at_noon():
        await press_all(
            [key for key in RECORDING.keys if not key.acts and key not in RECORDED],
            lambda id_, _: ON_RECORDINGS.get(id_) or CHECKS[id_],
            lambda: replayed(tmp_path / next(folders)),
            at_its_end,
        )


async def test_a_key_that_would_act_says_on_a_recording_that_it_does_not(tmp_path: Path):
    with at_noon():
        async with replayed(tmp_path) as shown:
            for key in RECORDING.keys:
                if not key.acts:
                    continue
                shown.replay.keys.hush()
                await shown.press(key.names[0])
                assert "read-only" in shown.text(), key.id


async def test_ctrl_c_quits_where_nothing_else_takes_it():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            await stage.app.push_screen(Screen[object]())
            await stage.press("ctrl+c")
            await stage.until(lambda: stage.app._exit)  # pyright: ignore[reportPrivateUsage]


# -- panes ---------------------------------------------------------------------------------------------------


def cursor(stage: Stage) -> object:
    return stage.bench.table.selected


def line(stage: Stage) -> object:
    return stage.bench.wire._cursor  # pyright: ignore[reportPrivateUsage]


def shift(stage: Stage) -> object:
    return stage.bench.log_list._shift  # pyright: ignore[reportPrivateUsage]


def top(stage: Stage) -> object:
    return stage.bench.detail.scroll_y, stage.bench.detail.cursor


def at(stage: Stage) -> object:
    return stage.bench.timeline._cursor  # pyright: ignore[reportPrivateUsage]


def window(stage: Stage) -> object:
    return stage.bench.timeline.window.first


def changes(seen: Callable[[Stage], object], *first: str) -> Check[Stage]:
    return Check(changes=seen, first=first, row="completed")


def finding(stage: Stage) -> object:
    return stage.bench.detail.finder.match


FOUND = ("1", "/", "e", "enter")
MOVES = {"up": "end", "down": "home", "page-up": "end", "page-down": "home", "top": "end", "bottom": "home"}
"""Keys that move, and the key before each from whose place it can."""
OF_PANES: dict[str, Check[Stage]] = {
    **{f"requests.{way}": changes(cursor) for way in [*MOVES, "newest", "oldest"]},
    **{f"lines.{way}": changes(line, "5", start) for way, start in MOVES.items()},
    **{f"detail.{way}": changes(top, "1", start) for way, start in MOVES.items()},
    **{f"timeline.{way}": changes(at, "6", start) for way, start in MOVES.items()},
    "requests.activate": Check(sees=lambda stage: stage.bench.detail.has_focus),
    "lines.left": changes(shift, "4", "l"),
    "lines.right": changes(shift, "4"),
    "lines.activate": Check(sees=lambda stage: stage.bench.pane == "detail", first=("5", "end")),
    "detail.open": Check(
        sees=lambda stage: type(stage.app.screen).__name__ == "ResultScreen", first=("1",), row="completed"
    ),
    "detail.find": Check(sees=lambda stage: "/▏" in stage.text(), first=("1",)),
    "detail.next": changes(finding, *FOUND),
    "detail.previous": changes(finding, *FOUND),
    "timeline.earlier": changes(window, "6", "home", "i", "i"),
    "timeline.later": changes(window, "6", "home", "i", "i", "h", "h", "h"),
    "timeline.now": Check(sees=lambda stage: stage.bench.timeline.follow, first=("6", "i", "i", "h")),
    "timeline.start": changes(window, "6", "home", *"iiii"),
    "timeline.activate": Check(sees=lambda stage: stage.bench.table.has_focus, first=("6",)),
}


@pytest.mark.parametrize(
    "scope",
    [REQUESTS, *slow(LINES, DETAIL, TIMELINE)],
    ids=lambda scope: scope.name,
)
async def test_every_key_of_a_pane_does_what_it_says(scope: Scope):
    with at_noon():
        await press_all(scope.keys, lambda id_, _: OF_PANES[id_], lambda: staged((80, 24)), ready)
