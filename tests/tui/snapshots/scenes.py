"""The screens and states that there are snapshots of, each brought about by a recorded session that is always the same."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from textual.pilot import Pilot

from mcp_tui.client.settings import Target
from mcp_tui.config import consent
from mcp_tui.config.definitions import Definition
from mcp_tui.journal.recording import Recording
from mcp_tui.probe.report import Finding, Report, Verdict
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.tui.app import ReplayApp, WorkbenchApp
from mcp_tui.tui.screens.probe import ProbeScreen
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.session import SessionScreen
from mcp_tui.tui.screens.timeout import TimeoutScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.server import Link
from tests.tui.playing import LINK, SAMPLING, TARGET, Play, ending, standing, story
from tests.tui.snapshots.text import Rows, drawn, snapshot, texts
from tests.tui.snapshots.text import without_colours as monochrome
from tests.waiting import until

DARK: Final = "mcp-tui-dark"
LIGHT: Final = "mcp-tui-light"
STILL: Final = 0.12
"""Seconds after which a screen that looks ten times a second has seen everything."""


@dataclass
class Stage:
    """An app on a played session, and the pictures that were taken of it."""

    app: WorkbenchApp
    pilot: Pilot[int]
    play: Play
    rows: dict[str, Request]
    taken: dict[str, str]

    @property
    def session(self) -> Session:
        assert self.app.session is not None
        return self.app.session

    @property
    def bench(self) -> Workbench:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, Workbench))

    async def until(self, true: Callable[[], object]) -> None:
        await until(true, lambda: snapshot(self.app))
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if each == " " else each for each in text))

    async def back(self) -> None:
        """To the workbench, with nothing said at its bottom."""
        while self.app.screen is not self.bench:
            await self.press("escape")
            for screen in self.app.screen_stack:
                if isinstance(screen, TimeoutScreen):
                    screen.tick()
        self.bench.keys.hush()

    async def choose(self, name: str) -> None:
        """Put the cursor on one of the story's rows."""
        assert self.bench.table.select(self.rows[name].id)
        self.bench.table.focus()
        await self.pilot.pause()

    async def shoot(self, name: str) -> None:
        """Take a picture as soon as the screen stands still, in both themes."""
        here, there = (DARK, LIGHT) if self.app.theme == DARK else (LIGHT, DARK)
        made = {here: await self.still()}
        self.app.theme = there
        made[there] = await self.still()
        assert texts(made[here]) == texts(made[there])
        self.taken[name] = snapshot(self.app, made[DARK], made[LIGHT])

    async def still(self) -> Rows:
        """What is drawn when it is the same twice."""
        same, now = 0, Rows()
        for screen in self.app.screen_stack:
            if isinstance(screen, SessionScreen):
                screen.forget()  # times of finished rows are drawn once a second
        while same < 2:
            for screen in self.app.screen_stack:
                if isinstance(screen, SessionScreen | ProbeScreen):
                    screen.look()
            await self.pilot.pause(STILL)
            last, now = now, drawn(self.app)
            same = same + 1 if now == last else 0
        return now

    async def tell(self) -> None:
        """Play the story to its end."""
        self.bench.rest()
        self.rows = await story(self.play, self.session.connect)
        self.bench.table.refresh_rows()
        await self.pilot.pause(STILL)  # what the prompt will lie on is laid out before it does
        self.bench.wake()
        await self.until(lambda: isinstance(self.app.screen, TimeoutScreen))
        ending(self.play, self.rows)


@asynccontextmanager
async def staged(
    size: tuple[int, int],
    theme: str = DARK,
    *,
    target: Target | None = TARGET,
    silent: bool = False,
    told: bool = True,
    ascii_only: bool = False,
    path: Path | None = None,
) -> AsyncGenerator[Stage]:
    """The app of a size and a theme; ``told``: at the end of the story."""
    play = Play(path, silent=silent)
    with standing(play):
        app = WorkbenchApp(target, play.make, ascii_only=ascii_only)
        async with app.run_test(size=size) as pilot:
            stage = Stage(app, pilot, play, {}, {})
            app.load_themes()
            app.theme = theme
            await stage.until(lambda: target is None or (app.session is not None and stage.bench.table.size))
            if target is not None and not silent:
                await stage.until(lambda: "prompts" in stage.session.catalogue.entries)
            if told and target is not None and not silent:
                await stage.tell()
            try:
                yield stage
            finally:
                if app.session is not None:
                    await app.session.client.close()


Scene = Callable[[], Awaitable[dict[str, str]]]
SCENES: Final[dict[str, Scene]] = {}


def scene(made: Scene) -> Scene:
    SCENES[made.__name__] = made
    return made


@scene
async def small() -> dict[str, str]:
    async with staged((80, 24)) as stage:
        await stage.shoot("timeout-80x24")
        await stage.back()
        await stage.choose("in flight")
        await stage.shoot("workbench-80x24")
        await stage.press("2")
        await stage.shoot("catalogue-80x24")
        await stage.press("3")
        await stage.shoot("cancellations-80x24")
        await stage.press("5")
        await stage.shoot("wire-80x24")
        await stage.choose("in flight")
        await stage.press("c")
        await stage.type("wrong shop")
        await stage.shoot("reason-80x24")
        await stage.back()
        await stage.press("X")
        await stage.shoot("confirm-80x24")
        await stage.back()
        await stage.press("n")
        await stage.shoot("calls-80x24")
        await stage.back()
        await stage.press("S")
        await stage.shoot("server-80x24")
        return stage.taken


@scene
async def middle() -> dict[str, str]:
    async with staged((120, 36)) as stage:
        await stage.back()
        await stage.choose("task")
        await stage.shoot("workbench-120x36")
        await stage.press("4", "z")
        await stage.shoot("log-120x36")
        await stage.press("z")
        await stage.choose("completed")
        await stage.press("1", "enter")
        await stage.shoot("result-120x36")
        await stage.back()
        await stage.press("question_mark")
        await stage.shoot("help-120x36")
        return stage.taken


@scene
async def large() -> dict[str, str]:
    async with staged((140, 40)) as stage:
        await stage.back()
        await stage.choose("late")
        await stage.shoot("workbench-140x40")
        await stage.press("6", "z")
        await stage.shoot("timeline-140x40")
        await stage.press("z", "a")
        await stage.shoot("elicitation-140x40")
        await stage.back()
        await stage.press("n", "enter")
        await stage.type("select 1")
        await stage.shoot("form-140x40")
        return stage.taken


@scene
async def largest() -> dict[str, str]:
    async with staged((200, 60)) as stage:
        await stage.back()
        await stage.choose("timed out")
        await stage.shoot("workbench-200x60")
        return stage.taken


@scene
async def probe() -> dict[str, str]:
    async with staged((120, 36), told=False) as stage:
        await stage.press("P")
        screen = stage.app.screen
        assert isinstance(screen, ProbeScreen)
        for finding in REPORT.findings.values():
            screen.rules.put(finding)
        screen.report = REPORT
        screen._conclude(REPORT)  # pyright: ignore[reportPrivateUsage]
        await stage.shoot("probe-120x36")
        return stage.taken


REPORT: Final = Report(
    server="atlas-mcp 2.4.0",
    transport="stdio",
    revision=REVISIONS["2026-07-28"],
    tool="slow_sql",
    arguments={"statement": "select pg_sleep(3)"},
    duration=3.02,
    seconds=41.5,
    findings={
        found.rule: found
        for found in (
            Finding("P-01", Verdict.WARNING, "a result came 1.9 s after the cancel"),
            Finding("P-02", Verdict.PASS, "no progress came after the cancel"),
            Finding("P-03", Verdict.NOT_OBSERVABLE, "the tool sends no progress"),
            Finding("P-04", Verdict.PASS, "the next call was answered after 12 ms"),
            Finding("P-10", Verdict.FAIL, "the server ended: server exited with code 1"),
        )
    },
)
"""What a probe found, with a verdict of each kind."""


@scene
async def without_glyphs() -> dict[str, str]:
    async with staged((120, 36), ascii_only=True) as stage:
        await stage.back()
        await stage.choose("cancelled")
        await stage.shoot("workbench-120x36-ascii")
        return stage.taken


@scene
async def without_colours() -> dict[str, str]:
    """What stands in the snapshots for ``NO_COLOR`` is what the program draws then."""
    made: list[object] = []
    for environment in ({"NO_COLOR": "1"}, {}):
        with patch.dict(os.environ, environment):
            async with staged((80, 24)) as stage:
                await stage.back()
                await stage.choose("late")
                made.append(monochrome(await stage.still()))
                if len(made) == 2:
                    assert made[0] == made[1]
                    await stage.press("6")
                    await stage.shoot("timeline-80x24")
    return stage.taken


@scene
async def questions() -> dict[str, str]:
    async with staged((120, 36), told=False) as stage:
        stage.play.at(1)
        server_request = stage.play.call("slow_sql", statement="select 1")
        stage.play.at(1.5)
        stage.play.ask(server_request, "elicitation/create", LINK)
        await stage.pilot.pause()
        stage.play.at(9)
        await stage.until(lambda: stage.app.screen is not stage.bench)
        await stage.shoot("url-120x36")
    async with staged((80, 24), told=False) as other:
        ledger = other.session.client.ledger
        prompts = ledger.negotiated.prompts | {"sampling/createMessage"}
        ledger.negotiated = replace(ledger.negotiated, prompts=prompts)
        other.play.at(1)
        other.session.consent(_sampling())
        server_request = other.play.call("slow_sql", statement="select 1")
        other.play.at(1.5)
        other.play.ask(server_request, "sampling/createMessage", SAMPLING)
        await other.pilot.pause()
        other.play.at(9)
        await other.until(lambda: other.app.screen is not other.bench)
        await other.shoot("sampling-80x24")
        return stage.taken | other.taken


def _sampling() -> Any:
    from mcp_tui.tui.preferences import Consents

    return Consents(sampling="ask")


@scene
async def connections() -> dict[str, str]:
    async with staged((140, 40), told=False) as stage:
        await stage.shoot("empty-140x40")
    async with staged((80, 24), silent=True) as connecting:
        await connecting.until(lambda: connecting.app.session and connecting.session.link is Link.CONNECTING)
        await connecting.shoot("connecting-80x24")
    async with staged((80, 24), told=False) as lost:
        lost.play.at(1)
        lost.play.call("crawl", url="https://shop.example/")
        lost.play.at(4.25)
        lost.play.stderr("MemoryError: cannot allocate 2147483648 bytes")
        lost.play.server.end("server exited with code 137", 137)
        await lost.shoot("lost-80x24")
    return stage.taken | connecting.taken | lost.taken


@scene
async def picker() -> dict[str, str]:
    """The servers of config files, and the question before one of a project is started."""
    with tempfile.TemporaryDirectory() as folder:
        home, project, programs = (Path(folder).resolve() / name for name in ("home", "shop", "bin"))
        own = {
            "atlas": {"command": "atlas-mcp", "args": ["--database", "shop"]},
            "docs": {"url": "https://docs.example/mcp"},
        }
        shared = {"indexer": {"command": "indexer", "args": ["--stdio"], "env": {"SHOP_TOKEN": "x"}}}
        for file, whole in (
            (home / ".cursor" / "mcp.json", {"mcpServers": own}),
            (project / ".vscode" / "mcp.json", {"servers": shared}),
            (programs / "atlas-mcp", ""),
            (programs / "indexer", ""),
        ):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(whole))
            file.chmod(0o700)
        homes = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}

        def account(definition: Definition) -> list[tuple[str, str]]:
            return [(name, said.replace(str(project.parent), "/home/ada")) for name, said in told(definition)]

        told = consent.account
        with (
            patch.dict(os.environ, {**homes, "PATH": str(programs)}),
            chdir(project),
            patch.object(consent, "account", account),
        ):
            async with staged((120, 36), target=None) as stage:
                await stage.until(lambda: "indexer" in snapshot(stage.app))
                await stage.shoot("picker-120x36")
                await stage.type("index")
                await stage.press("enter")
                await stage.until(lambda: "Start indexer" in snapshot(stage.app))
                await stage.shoot("consent-120x36")
                return stage.taken


@scene
async def replays() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.jsonl"
        async with staged((80, 24), path=path) as stage:
            stage.session.client.store.flush()
            app = ReplayApp(Recording(path))
            async with app.run_test(size=(140, 40)) as pilot:
                shown = Stage(app, pilot, stage.play, stage.rows, {})
                app.load_themes()
                await shown.until(
                    lambda: isinstance(app.screen, ReplayScreen) and app.screen.playback.read is None
                )
                await shown.press("left_curly_bracket", "right_square_bracket")
                await shown.shoot("replay-140x40")
        return shown.taken


async def taken(name: str) -> dict[str, str]:
    """The pictures of a scene."""
    with at_noon():
        return await SCENES[name]()


@contextmanager
def at_noon() -> Generator[None]:
    """The time zone, the home and the terminal of nobody in particular."""
    unwanted = {
        name
        for name in os.environ
        if name.startswith(("MCP_TUI_", "TEXTUAL")) or name in {"NO_COLOR", "COLORTERM"}
    }
    with tempfile.TemporaryDirectory() as home:
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"), home)
        with patch.dict(os.environ, {**homes, "TZ": "UTC"}):
            for name in unwanted:
                del os.environ[name]
            time.tzset()
            try:
                yield
            finally:
                del os.environ["TZ"]
    time.tzset()
