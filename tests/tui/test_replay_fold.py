"""A recording at its end shows what the screen showed: rows, details, cancellations, log, wire, catalogue, counts."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_tui.client.client_settings import ClientSettings, HttpTarget, StdioTarget, Target
from mcp_tui.client.session_store import shown as where
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header
from mcp_tui.protocol.events import Limits, RequestId
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.sources.recorded import RecordedScene
from mcp_tui.tui.widgets.detail_pane import wrapped_lines
from mcp_tui.view import detail
from mcp_tui.view.lines import LineSource
from tests.cli.running import demo_over_http
from tests.control import Control
from tests.journal.making import write
from tests.tui.driving import DEMO, Driven, driving
from tests.tui.making import cells, warns
from tests.tui.replaying import replaying

STANDING = ("requests", "cancellations", "detail", "catalogue")
"""The widgets that stand side by side on a wide screen."""


@asynccontextmanager
async def served(over: str, tmp_path: Path, control: Control) -> AsyncGenerator[Target]:
    """The demo server."""
    if over == "stdio":
        told = [f"{name}={value}" for name, value in control.env.items()]
        yield StdioTarget(command=("env", *told, *DEMO.command), name="demo")
        return
    async with demo_over_http(tmp_path / "log", **control.env) as url:
        yield HttpTarget(url=url, name="demo")


async def much_happens(driven: Driven, over: str, control: Control) -> None:
    """Every outcome that the demo server has, and one request still in flight."""
    client = driven.session.client
    driven.call("add", a=2, b=3)
    driven.call("add", a=2)
    driven.call("fails")
    silent = await driven.in_flight("silent")
    late = await driven.in_flight("stubborn")
    client.cancel(silent.id, reason="nobody answers\x1b[31m")
    client.cancel(late.id, reason="wrong table")
    chatty = await driven.in_flight("count", seconds=1.0, steps=5)
    control.step("count", 5)
    await driven.until(lambda: chatty.state is State.COMPLETED)
    twice = None if over == "stdio" else driven.call("twice")
    control.release("stubborn", "twice")
    driven.bench.connection.call("resources/list", None)
    driven.bench.connection.call("no/such/method", {"x": [1, 2, {"deep": "æøå"}]})
    running = await driven.in_flight("count", seconds=60, steps=400)
    control.step("count", 3)
    await driven.until(
        lambda: (
            silent.state is State.CANCELLED
            and late.state is State.CANCELLED
            and running.progress
            and (twice is None or not driven.row(twice).open)
            and all(not row.open for row in client.requests.order if row is not running)
        )
    )


def aside(text: str) -> str:
    """The text without the mark of the cursor: where a person stands is no part of what happened."""
    return text.replace("›", " ")


def looked_at(bench: SessionScreen, now: float) -> tuple[list[dict[str, str]], dict[RequestId, list[object]]]:
    """Every row in the cells of the table, and the whole detail of each."""
    rows = list(bench.scene.requests.order)
    found: dict[RequestId, list[object]] = {}
    for row in rows:
        payloads, command, _ = bench.payloads.of(row)
        sections = detail.sections(row, now, payloads, command=command)
        found[row.id] = [(each.title, *wrapped_lines(each, 60)) for each in sections]
    shown = [{**cells(row, now, wide=True), "warns": str(warns(row, now))} for row in rows]
    return shown, found


@pytest.mark.parametrize(
    ("over", "revision", "size"),
    [
        ("stdio", "2025-11-25", (180, 40)),
        pytest.param("http", "2026-07-28", (80, 24), marks=pytest.mark.slow),
    ],
)
async def test_a_recording_at_its_end_is_what_was_on_the_screen(
    control: Control,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    over: str,
    revision: str,
    size: tuple[int, int],
) -> None:
    live, copy = tmp_path / "live.jsonl", tmp_path / "copy.jsonl"
    settings = ClientSettings(limits=Limits(timeout=30.0), grace=0.2, protocol=revision)
    async with (
        served(over, tmp_path, control) as target,
        driving(target, size=size, settings=settings, record=live) as driven,
    ):
        await much_happens(driven, over, control)
        client, bench = driven.session.client, driven.bench
        now = client.now()
        bench.table.now = lambda: now
        # how long a cancelled request is watched is read from these clocks
        monkeypatch.setattr(client, "now", lambda: now)
        monkeypatch.setattr(driven.session.cancellations, "_now", lambda: now)
        bench.table.refilter(show_internal=True)
        # columns have the width of what stood in them meanwhile, until the next change of size
        await driven.pilot.resize_terminal(size[0] + 1, size[1])
        await driven.pilot.resize_terminal(*size)
        await driven.press("g")
        # what still comes in is not compared: screen and file are read in one turn of the loop
        bench.table.refresh_rows()
        paint_anew(bench)
        rows, details = looked_at(bench, now)
        shown = {name: aside(driven.inside(name)) for name in (STANDING if bench.wide else STANDING[:1])}
        counts = driven.session.facts(now).counts
        entries = driven.session.catalogue.entries
        lines = [
            source_lines(source) for source in (bench.scene.cancellations, bench.scene.log, bench.scene.wire)
        ]
        origin, named = driven.session.cancellations.origin, where(target)
        client.store.flush()
        shutil.copy(live, copy)
    replay = Recording(copy)
    wall = origin + replay.header.mono
    replay.header = dataclasses.replace(replay.header, wall=wall, target=named)
    # a line more, which has the position
    async with replaying(replay, size=(size[0], size[1] + 1)) as replayed:
        again = replayed.bench
        again.recorded.clock = now
        again.table.refilter(show_internal=True)
        await replayed.press("g")
        again.recorded.clock = now  # a recording ends with its last event, a screen goes on
        assert (replay.skipped, replay.unknown, replay.table.misfits, replay.torn) == (0, 0, 0, False)
        rows_again, details_again = looked_at(again, now)
        assert rows_again == rows
        for id_, sections in details.items():
            for section, other in zip(sections, details_again[id_], strict=True):
                assert other == section, id_
        scene = again.scene
        assert [source_lines(source) for source in (scene.cancellations, scene.log, scene.wire)] == lines
        assert scene.facts(now).counts == counts
        assert {kind: found for kind, found in again.recorded.catalogue.entries.items() if found} == {
            kind: found for kind, found in entries.items() if found
        }
        paint_anew(again)
        await replayed.pilot.pause()
        assert {name: aside(replayed.inside(name)) for name in shown} == shown


def paint_anew(bench: SessionScreen) -> None:
    """Paint what was painted before the clock was set."""
    for pane in bench.panes.values():
        pane.forget()
    bench.forget()


def source_lines(source: LineSource) -> list[str]:
    """All lines of a source."""
    return [source.line(number, 120).text for number in source.numbers]


def test_the_words_of_a_recorded_command_are_those_that_were_given(tmp_path: Path):
    target = StdioTarget(command=("python", "-c", "import server; server.run('a b')"))
    for line, words in ((where(target), target.command), ("say don't", ("say", "don't"))):
        path = write(tmp_path / "a.jsonl", header=Header(target=line))
        found = RecordedScene(Recording.read(path)).target
        assert isinstance(found, StdioTarget)
        assert found.command == words
        path.unlink()
