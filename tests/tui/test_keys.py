"""Every key of the workbench and of a recording, pressed. A key without a check here is a failure."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_tui.journal.replay import Replay
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from mcp_tui.tui.bindings import KEYS, LOOKING, RECORDED
from mcp_tui.tui.replaying import ReplayApp
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.widgets.timeline import Timeline
from tests.tui.playing import TARGET
from tests.tui.pressing import Check, press_and_see
from tests.tui.snapshots.scenes import Stage, at_noon, staged

pytestmark = pytest.mark.sends_anything  # the far end is a script


def opens(name: str, **more: str) -> Check[Stage]:
    """It opens a screen, by the name of its class."""
    return Check(sees=lambda stage: type(stage.app.screen).__name__ == name, **more)  # type: ignore[arg-type]


def shows(pane: str, first: tuple[str, ...] = ()) -> Check[Stage]:
    return Check(sees=lambda stage: stage.bench.focused is stage.bench.panes[pane], first=first)


def selects(row: str, from_: str) -> Check[Stage]:
    return Check(sees=lambda stage: stage.bench.table.selected is stage.rows[row], row=from_)


def text(stage: Stage) -> str:
    strips = stage.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join(strip.text for strip in strips)


def width(stage: Stage) -> int:
    return stage.bench.catalogue.outer_size.width


def height(stage: Stage) -> int:
    return stage.bench.cancellations.outer_size.height


def span(stage: Stage) -> float:
    return stage.app.screen.query_one(Timeline).span


CHECKS: dict[str, Check[Stage]] = {
    "request.cancel": opens("ReasonScreen"),
    "request.cancel-now": Check(sees=lambda stage: stage.rows["in flight"].state is State.CANCEL_REQUESTED),
    "request.cancel-all": opens("ConfirmScreen"),
    "request.new": opens("CallScreen"),
    "request.again": Check(
        sees=lambda stage: any(
            row.open and row.name == "count_rows" for row in stage.session.client.book.order
        ),
        row="completed",
    ),
    "request.extend": Check(
        sees=lambda stage: any(isinstance(each, ev.Extended) for each in stage.rows["in flight"].history)
    ),
    "request.mark": Check(sees=lambda stage: stage.bench.table.marks),
    "request.export": opens("MenuScreen"),
    "request.copy": Check(sees=lambda stage: '"slow_sql"' in stage.app.clipboard),
    "request.save": Check(sees=lambda _: list(Path().glob("mcp-tui-*.json"))),
    "question.answer": opens("FormScreen"),
    "view.filter": Check(sees=lambda stage: stage.bench.filter_input.has_focus),
    "view.follow": Check(changes=lambda stage: stage.bench.table.follow),
    "view.newest": selects("queued", "lost"),
    "view.oldest": selects("lost", "queued"),
    "view.own": Check(sees=lambda stage: stage.bench.table.show_own),
    "view.sort": Check(changes=lambda stage: stage.bench.table.sort),
    "view.unfold": Check(sees=lambda stage: "tasks/get" in text(stage), row="task"),
    "view.open": Check(sees=lambda stage: "tasks/get" in text(stage), row="task"),
    "view.close": Check(sees=lambda stage: "tasks/get" not in text(stage), row="task", first=("right",)),
    "view.zoom": Check(sees=lambda stage: stage.bench.maximized),
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
    "server.next": Check(changes=lambda stage: stage.app.screen, scene="two servers"),
    "server.probe": opens("ProbeScreen"),
    "app.palette": opens("CommandPalette"),
    "app.help": opens("HelpScreen"),
    "app.interrupt": opens("ReasonScreen"),
    "app.back": Check(sees=lambda stage: not stage.bench.maximized, first=("z",)),
    "app.quit": opens("ConfirmScreen"),
}


def pressed(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",")]


@pytest.mark.parametrize("id_", [key.id for key in KEYS])
async def test_a_key_of_the_workbench_does_what_it_says(
    id_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert id_ in CHECKS, f"no test presses the key of {id_}: add one to CHECKS"
    monkeypatch.chdir(tmp_path)
    check = CHECKS[id_]
    (keys,) = [key.keys for key in KEYS if key.id == id_]
    for key in pressed(keys):
        with at_noon():
            async with staged((140, 40)) as stage:
                await stage.back()
                if check.scene == "two servers":
                    first = stage.app.screen
                    stage.app.open(TARGET)
                    await stage.until(lambda first=first: stage.app.screen is not first)
                else:
                    await stage.choose(check.row)
                await press_and_see(stage.pilot, key, check, stage)


class Shown(Stage):
    """A stage whose app is on a recording."""

    @property
    def replay(self) -> ReplayScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, ReplayScreen))


@asynccontextmanager
async def replayed(folder: Path) -> AsyncGenerator[Shown]:
    path = folder / "shop.jsonl"
    async with staged((80, 24), path=path) as stage:
        stage.session.client.store.flush()
        app = ReplayApp(Replay(path))
        async with app.run_test(size=(140, 40)) as pilot:
            shown = Shown(app, pilot, stage.play, stage.rows, {})
            await shown.until(lambda: getattr(app.screen, "read", 0.0) is None)
            yield shown


def position(shown: Shown) -> int:
    return shown.replay.recorded.position


OF_RECORDINGS: dict[str, Check[Shown]] = {
    "replay.play": Check(sees=lambda shown: shown.replay.playing),
    "replay.next": Check(changes=position, first=("left_curly_bracket",)),
    "replay.previous": Check(changes=position),
    "replay.next-cancellation": Check(changes=position, first=("left_curly_bracket",)),
    "replay.previous-cancellation": Check(changes=position),
    "replay.start": Check(sees=lambda shown: position(shown) == 0),
    "replay.end": Check(
        sees=lambda shown: position(shown) == shown.replay.recorded.events, first=("left_curly_bracket",)
    ),
    "replay.faster": Check(sees=lambda shown: shown.replay.speed > 1),
    "replay.slower": Check(sees=lambda shown: shown.replay.speed < 1),
    "replay.find": Check(sees=lambda shown: shown.replay.find_input.has_focus),
}


@pytest.mark.parametrize("id_", [key.id for key in RECORDED])
async def test_a_key_of_a_recording_does_what_it_says(id_: str, tmp_path: Path):
    assert id_ in OF_RECORDINGS, f"no test presses the key of {id_}: add one to OF_RECORDINGS"
    (keys,) = [key.keys for key in RECORDED if key.id == id_]
    with at_noon():
        for key in pressed(keys):
            (tmp_path / key).mkdir()
            async with replayed(tmp_path / key) as shown:
                await press_and_see(shown.pilot, key, OF_RECORDINGS[id_], shown)


async def test_a_key_that_would_act_says_on_a_recording_that_it_does_not(tmp_path: Path):
    with at_noon():
        async with replayed(tmp_path) as shown:
            recorded = {each for key in RECORDED for each in pressed(key.keys)}
            for key in KEYS:
                if key.id in LOOKING or key.id == "app.palette" or recorded & set(pressed(key.keys)):
                    continue
                shown.replay.keys.hush()
                await shown.press(pressed(key.keys)[0])
                assert "read-only" in text(shown), key.id
