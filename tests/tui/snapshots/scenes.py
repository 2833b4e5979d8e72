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
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from unittest.mock import patch

from textual.pilot import Pilot

from mcp_tui.client.auth.sign_in import AuthorizationRequest
from mcp_tui.client.settings import Target
from mcp_tui.config import consent
from mcp_tui.config.definitions import Definition, Input
from mcp_tui.journal.recording import Recording
from mcp_tui.probe.report import Finding, Report, Verdict
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.tui.app import ReplayApp, WorkbenchApp
from mcp_tui.tui.preferences import Consents
from mcp_tui.tui.screens.inputs import InputsScreen
from mcp_tui.tui.screens.probe import ProbeScreen
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.session import SessionScreen
from mcp_tui.tui.screens.sign_in import SignInScreen
from mcp_tui.tui.screens.timeout import TimeoutScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.session import Session
from mcp_tui.tui.sign_in import SignIn
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.view.text import words
from tests.tui.playing import LINK, SAMPLING, TARGET, Play, ending, standing, story
from tests.tui.snapshots.text import Rows, drawn, snapshot, texts
from tests.tui.snapshots.text import without_colours as monochrome
from tests.waiting import until

if TYPE_CHECKING:
    from mcp_tui.client.ports import Tokens

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
        width, height = self.app.size
        self.taken[f"{name}-{width}x{height}"] = snapshot(self.app, made[DARK], made[LIGHT])

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


Size = tuple[int, int]
Shots = Awaitable[dict[str, str]]
SIZES: Final[tuple[Size, ...]] = ((80, 24), (120, 36), (140, 40), (200, 60))


@dataclass(frozen=True)
class Scene:
    """Brings screens about at a size, and takes their pictures."""

    play: Callable[[Size], Shots]
    sizes: tuple[Size, ...]
    """The first is the one of a quick test."""


SCENES: Final[dict[str, Scene]] = {}


def scene(*first: int, alone: bool = False) -> Callable[[Callable[[Size], Shots]], Callable[[Size], Shots]]:
    """A scene of all sizes, this one first; ``alone``: of no other."""
    width, height = first
    others = () if alone else tuple(size for size in SIZES if size != first)

    def named(play: Callable[[Size], Shots]) -> Callable[[Size], Shots]:
        SCENES[play.__name__] = Scene(play, ((width, height), *others))
        return play

    return named


@scene(80, 24)
async def panes(size: Size) -> dict[str, str]:
    async with staged(size) as stage:
        await stage.back()
        await stage.choose("in flight")
        await stage.shoot("workbench-in-flight")
        for key, pane in (("2", "catalogue"), ("3", "cancellations"), ("4", "log"), ("5", "wire")):
            await stage.press(key)
            await stage.shoot(pane)
        await stage.choose("late")
        await stage.press("1")
        await stage.shoot("workbench-late")
        await stage.press("6")
        await stage.shoot("timeline")
        await stage.choose("completed")
        await stage.press("1", "enter")
        await stage.shoot("result")
        return stage.taken


@scene(140, 40, alone=True)
async def others(size: Size) -> dict[str, str]:
    """At one size: one pane differs from the screens of ``panes``."""
    async with staged(size) as stage:
        await stage.back()
        for row in ("task", "timed out"):
            await stage.choose(row)
            await stage.shoot(f"workbench-{row.replace(' ', '-')}")
        await stage.press("6", "z")
        await stage.shoot("timeline-zoomed")
        return stage.taken


@scene(80, 24)
async def dialogs(size: Size) -> dict[str, str]:
    async with staged(size) as stage:
        await stage.shoot("timeout")
        await stage.back()
        await stage.choose("in flight")
        await stage.press("c")
        await stage.type("wrong shop")
        await stage.shoot("reason")
        for key, dialog in (("X", "confirm"), ("S", "server"), ("a", "elicitation"), ("n", "calls")):
            await stage.back()
            await stage.press(key)
            await stage.shoot(dialog)
        await stage.press("enter")
        await stage.type("select 1")
        await stage.shoot("form")
        await stage.back()
        await stage.press("question_mark")
        await stage.shoot("help")
        return stage.taken


@scene(120, 36)
async def probe(size: Size) -> dict[str, str]:
    async with staged(size, told=False) as stage:
        await stage.press("P")
        screen = stage.app.screen
        assert isinstance(screen, ProbeScreen)
        for finding in REPORT.findings.values():
            screen.rules.put(finding)
        screen.report = REPORT
        screen._conclude(REPORT)  # pyright: ignore[reportPrivateUsage]
        await stage.shoot("probe")
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


@scene(120, 36, alone=True)
async def without_glyphs(size: Size) -> dict[str, str]:
    """At one size: each glyph has one cell in either set, so the layout is the same."""
    async with staged(size, ascii_only=True) as stage:
        await stage.back()
        await stage.choose("cancelled")
        await stage.shoot("workbench-ascii")
        return stage.taken


@scene(120, 36)
async def entries(size: Size) -> dict[str, str]:
    """What is asked before a server can be used: a sign-in, and the inputs of its config file."""
    async with staged(size, told=False) as stage:
        tokens = SimpleNamespace(issued=0, told=str, browser=None)
        sign_in = SignIn(cast("Tokens", tokens), now=stage.play.now)
        sign_in.agree()
        assert await sign_in.agrees("the server requires sign-in")
        for place in (
            "shop.example/.well-known/oauth-protected-resource/mcp",
            "login.shop.example/.well-known/oauth-authorization-server",
        ):
            tokens.told(f"https://{place}: 200")
        sign_in.request = AuthorizationRequest(
            url="https://login.shop.example/authorize?response_type=code&client_id=atlas&state=5be1f20c",
            redirect_uri="http://127.0.0.1:51234/callback",
            state="5be1f20c",
            verifier="",
        )
        await stage.app.push_screen(SignInScreen(sign_in, words("atlas-mcp")))
        await stage.shoot("sign-in")
        await stage.back()
        asked = (
            Input(id="token", description="API token", secret=True),
            Input(id="region", description="Region", default="eu"),
        )
        await stage.app.push_screen(InputsScreen("indexer", asked))
        await stage.shoot("inputs")
        return stage.taken


@scene(120, 36)
async def url(size: Size) -> dict[str, str]:
    async with staged(size, told=False) as stage:
        stage.play.at(1)
        await _asked(stage, "elicitation/create", LINK)
        await stage.shoot("url")
        return stage.taken


@scene(80, 24)
async def sampling(size: Size) -> dict[str, str]:
    async with staged(size, told=False) as stage:
        ledger = stage.session.client.ledger
        prompts = ledger.negotiated.prompts | {"sampling/createMessage"}
        ledger.negotiated = replace(ledger.negotiated, prompts=prompts)
        stage.play.at(1)
        stage.session.consent(Consents(sampling="ask"))
        await _asked(stage, "sampling/createMessage", SAMPLING)
        await stage.shoot("sampling")
        return stage.taken


async def _asked(stage: Stage, method: str, params: dict[str, Any]) -> None:
    """The server asks a question during a call."""
    row = stage.play.call("slow_sql", statement="select 1")
    stage.play.at(1.5)
    stage.play.ask(row, method, params)
    await stage.pilot.pause()
    stage.play.at(9)
    await stage.until(lambda: stage.app.screen is not stage.bench)


@scene(200, 60)
async def empty(size: Size) -> dict[str, str]:
    async with staged(size, told=False) as stage:
        await stage.shoot("empty")
        return stage.taken


@scene(80, 24)
async def connecting(size: Size) -> dict[str, str]:
    async with staged(size, silent=True) as stage:
        await stage.until(lambda: stage.app.session and stage.session.link is Link.CONNECTING)
        await stage.shoot("connecting")
        return stage.taken


@scene(80, 24)
async def lost(size: Size) -> dict[str, str]:
    async with staged(size, told=False) as stage:
        stage.play.at(1)
        stage.play.call("crawl", url="https://shop.example/")
        stage.play.at(4.25)
        stage.play.stderr("MemoryError: cannot allocate 2147483648 bytes")
        stage.play.server.end("server exited with code 137", 137)
        await stage.shoot("lost")
        return stage.taken


@scene(120, 36)
async def picker(size: Size) -> dict[str, str]:
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
            async with staged(size, target=None) as stage:
                await stage.until(lambda: "indexer" in snapshot(stage.app))
                await stage.shoot("picker")
                await stage.type("index")
                await stage.press("enter")
                await stage.until(lambda: "Start indexer" in snapshot(stage.app))
                await stage.shoot("consent")
                return stage.taken


@scene(140, 40)
async def replays(size: Size) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.jsonl"
        async with staged(size, path=path) as stage:
            stage.session.client.store.flush()
            app = ReplayApp(Recording(path))
            async with app.run_test(size=size) as pilot:
                shown = Stage(app, pilot, stage.play, stage.rows, {})
                app.load_themes()
                await shown.until(
                    lambda: isinstance(app.screen, ReplayScreen) and app.screen.playback.read is None
                )
                await shown.press("left_curly_bracket", "right_square_bracket")
                await shown.shoot("replay")
        return shown.taken


async def without_colours(size: Size, environment: dict[str, str]) -> list[list[tuple[str, int]]]:
    """What is drawn in an environment, as it is without colours."""
    with at_noon(), patch.dict(os.environ, environment):
        async with staged(size) as stage:
            await stage.back()
            await stage.choose("late")
            return monochrome(await stage.still())


async def taken(name: str, size: Size) -> dict[str, str]:
    """The pictures of a scene at a size."""
    with at_noon():
        return await SCENES[name].play(size)


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
