"""The screens and states that there are snapshots of, each brought about by a recorded session that is always the same."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, chdir, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from unittest.mock import patch

from mcp_tui.client.auth.sign_in import AuthorizationRequest
from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.client.connection import ServerInfo
from mcp_tui.config import consent
from mcp_tui.config.definitions import AskedInput, Definition
from mcp_tui.config.settings import SamplingSettings, Settings
from mcp_tui.journal.recording import Recording
from mcp_tui.probe.report import CalledTool, Finding, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.cancel_dialogs import TimeoutScreen
from mcp_tui.tui.screens.dialog import Dialog, InputsScreen
from mcp_tui.tui.screens.open_servers import ServersScreen
from mcp_tui.tui.screens.probe_screen import ProbeScreen
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.screens.sign_in_dialog import SignInScreen
from mcp_tui.tui.sources.sign_in_steps import SignIn
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import words
from tests.cli import keeping
from tests.tui.driving import Driven
from tests.tui.playing import LINK, SAMPLING, TARGET, Play, ending, standing, story
from tests.tui.snapshots.text import Rows, drawn, snapshot, texts
from tests.tui.snapshots.text import without_colours as monochrome

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization

DARK: Final = "mcp-tui-dark"
LIGHT: Final = "mcp-tui-light"
HOMES: Final = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
"""Variables that name a folder of a person's own."""


@dataclass
class Stage(Driven):
    """An app on a played session, and the pictures that were taken of it."""

    play: Play
    rows: dict[str, Request]
    taken: dict[str, str]

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
        both = zip(texts(made[here]), texts(made[there]), strict=True)
        differing = [pair for pair in both if pair[0] != pair[1]]
        assert not differing, differing
        width, height = self.app.size
        self.taken[f"{name}-{width}x{height}"] = snapshot(self.app, made[DARK], made[LIGHT])

    async def still(self) -> Rows:
        """What is drawn when it is the same twice."""
        last, now = None, Rows()
        for screen in self.app.screen_stack:
            if isinstance(screen, SessionScreen):
                screen.forget()  # times of finished rows are drawn once a second
        while now != last:
            for screen in self.app.screen_stack:
                if isinstance(screen, SessionScreen | ProbeScreen):
                    screen.look()
                elif isinstance(screen, Dialog) and screen.on_top:
                    screen.tick()  # its own clock may not have come to it yet
            await self.pilot.pause()
            last, now = now, drawn(self.app)
        return now

    async def show_message(self) -> None:
        """Play the story to its end."""
        with patch.object(self.bench, "look"):
            self.rows = await story(self.play, self.session.connect)
            self.bench.table.refresh_rows()
            await self.pilot.pause()  # what the prompt will lie on is laid out before it does
        self.bench.look()
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
        app = WorkbenchApp(target, play.make, Preferences(settings=Settings(ascii=ascii_only)))
        # each key comes after a pause, as of a person who reads
        app.guard.now = itertools.count(1.0).__next__
        async with app.run_test(size=size) as pilot:
            stage = Stage(app, pilot, play, {}, {})
            app.load_themes()
            app.theme = theme
            await stage.until(lambda: target is None or (app.session is not None and stage.bench.table.size))
            if target is not None and not silent:
                await stage.until(lambda: "prompts" in stage.session.catalogue.entries)
            if told and target is not None and not silent:
                await stage.show_message()
            try:
                yield stage
            finally:
                for each in app.servers.all:
                    await each.client.close()


Size = tuple[int, int]
Shots = Awaitable[dict[str, str]]
SMALLEST: Final[Size] = (80, 24)


@dataclass(frozen=True)
class Scene:
    """Brings screens about at a size, and takes their pictures."""

    play: Callable[[Size], Shots]
    sizes: tuple[Size, ...]
    """The first is the one of a quick test."""


SCENES: Final[dict[str, Scene]] = {}


def scene(
    *sizes: Size,
    kept: bool = False,
    within: Callable[[], AbstractContextManager[None]] = nullcontext,
    **staging: Any,
) -> Callable[[Callable[[Stage], Awaitable[None]]], None]:
    """A scene at these sizes. Only screens whose layout changes with the width need more than one.

    ``staging`` is for :func:`staged`, ``within`` is around that; ``kept`` writes a recording at home.
    """

    def named(play: Callable[[Stage], Awaitable[None]]) -> None:
        async def played(size: Size) -> dict[str, str]:
            with within():
                path = Path.home() / "shop.jsonl" if kept else None
                async with staged(size, path=path, **staging) as stage:
                    await play(stage)
                    return stage.taken

        SCENES[play.__name__] = Scene(played, sizes)

    return named


@scene((80, 24), (120, 36))
async def panes(stage: Stage) -> None:
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


@scene((140, 40))
async def others(stage: Stage) -> None:
    """One pane differs from the screens of ``panes``."""
    await stage.back()
    for row in ("task", "timed out"):
        await stage.choose(row)
        await stage.shoot(f"workbench-{row.replace(' ', '-')}")
    await stage.press("6", "z")
    await stage.shoot("timeline-zoomed")


@scene((80, 24))
async def dialogs(stage: Stage) -> None:
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


@scene((120, 36), told=False)
async def probe(stage: Stage) -> None:
    await stage.press("P")
    screen = stage.app.screen
    assert isinstance(screen, ProbeScreen)
    screen.findings |= REPORT.findings
    screen.report = REPORT
    screen._conclude(REPORT)  # pyright: ignore[reportPrivateUsage]
    await stage.shoot("probe")


_SLEEP: Final[dict[str, Json]] = {"statement": "select pg_sleep(3)"}

_FOUND: Final = """
fail: a result arrived 1.81 s after the cancel
pass: no progress after the cancel; the uncancelled run sent 2 more
warning: the tool worked to its end: the result arrived 1.81 s after the cancel
pass: the next call was answered
fail: a result arrived 2.98 s after the cancel
pass: the next call was answered
pass: its answer and the cancel crossed; the next call was answered
pass: ignored; the next call was answered
pass: ignored; the next call was answered
pass: ignored; the next call was answered
pass: all 10 were ignored, and the calls in flight were answered
pass: no harm; the next call was answered
pass: ignored: the server sent the result
pass: the other call was answered after 3.03 s
not applicable: 2026-07-28 has no initialize
fail: a result arrived 1.82 s after the cancel
not applicable: only over streamable HTTP does a request have a stream of its own
not applicable: only over HTTP in 2026-07-28
not applicable: only over HTTP in 2026-07-28
not observable: the call did not become a task
pass: it exited after 0.04 s (code 0)
pass: none of 44 requests was
not observable: the cancel of another id has no visible effect either
not applicable: only over streamable HTTP does a request have a stream of its own
not applicable: over stdio nothing is POSTed
pass: one response to a call that was cancelled twice
fail: a result arrived 3.02 s after the cancel
not applicable: only over streamable HTTP does a request have a stream of its own
pass: it exited after 0.04 s
pass: the next call was answered
pass: it exited after 0.04 s
pass: every line on stdout was a message
"""

REPORT: Final = Report(
    info=ServerInfo(transport="stdio", revision=REVISIONS["2026-07-28"], name="atlas-mcp", version="2.4.0"),
    tool="slow_sql",
    arguments=_SLEEP,
    duration=3.02,
    seconds=23.8,
    calls=(CalledTool("slow_sql", _SLEEP, 21),),
    # a newer rule is not judged here
    findings={
        rule: Finding(rule, Verdict(verdict), sentence)
        for rule, line in zip(RULES, _FOUND.strip().splitlines(), strict=False)
        for verdict, _, sentence in [line.partition(": ")]
    },
)
"""What a probe of a server that ignores cancels finds, in the words of the demo's tool ``stubborn``."""


@scene((120, 36), ascii_only=True)
async def without_glyphs(stage: Stage) -> None:
    """Each glyph has one cell in either set, so the layout is the same."""
    await stage.back()
    await stage.choose("cancelled")
    await stage.shoot("workbench-ascii")


@scene((120, 36), told=False)
async def entries(stage: Stage) -> None:
    """What is asked before a server can be used: a sign-in, and the inputs of its config file."""
    tokens = SimpleNamespace(issued=0, listeners=[], browser=None, signing_in=False)
    sign_in = SignIn(cast("Authorization", tokens))
    sign_in.agree()
    tokens.signing_in = await sign_in.agrees("the server requires sign-in")
    for place in (
        "shop.example/.well-known/oauth-protected-resource/mcp",
        "login.shop.example/.well-known/oauth-authorization-server",
    ):
        tokens.listeners[0](f"https://{place}: 200")
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
        AskedInput(id="token", description="API token", secret=True),
        AskedInput(id="region", description="Region", default="eu"),
    )
    await stage.app.push_screen(InputsScreen("indexer", asked))
    await stage.shoot("inputs")


@scene((120, 36), told=False)
async def url(stage: Stage) -> None:
    stage.play.at(1)
    await _asked(stage, "elicitation/create", LINK)
    await stage.shoot("url")


@scene((80, 24), told=False)
async def sampling(stage: Stage) -> None:
    ledger = stage.session.client.ledger
    prompts = ledger.negotiated.prompts | {"sampling/createMessage"}
    ledger.negotiated = replace(ledger.negotiated, prompts=prompts)
    stage.play.at(1)
    stage.session.apply(Settings(sampling=SamplingSettings(mode="ask")))
    await _asked(stage, "sampling/createMessage", SAMPLING)
    await stage.shoot("sampling")


@scene((80, 24), told=False)
async def roots(stage: Stage) -> None:
    stage.play.at(1)
    stage.session.apply(Settings(roots=["/home/ada/shop"]))
    await _asked(stage, "roots/list", {})
    await stage.shoot("roots")


async def _asked(stage: Stage, method: str, params: dict[str, Any]) -> None:
    """The server asks a question during a call."""
    row = stage.play.call("slow_sql", statement="select 1")
    stage.play.at(1.5)
    stage.play.ask(row, method, params)
    await stage.pilot.pause()
    stage.play.at(9)
    await stage.until(lambda: stage.app.screen is not stage.bench)


@scene((200, 60), told=False)
async def empty(stage: Stage) -> None:
    await stage.shoot("empty")


@scene((80, 24), silent=True)
async def connecting(stage: Stage) -> None:
    await stage.until(lambda: stage.app.session and stage.session.link is Link.CONNECTING)
    await stage.shoot("connecting")


@scene((80, 24), told=False)
async def lost(stage: Stage) -> None:
    stage.play.at(1)
    stage.play.call("crawl", url="https://shop.example/")
    stage.play.at(4.25)
    stage.play.stderr("MemoryError: cannot allocate 2147483648 bytes")
    stage.play.server.end("server exited with code 137", 137)
    await stage.shoot("lost")


@contextmanager
def _config_files() -> Generator[None]:
    """Servers in the config files of a home and of a project."""
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

        def consent_details(definition: Definition) -> list[tuple[str, str]]:
            return [(name, said.replace(str(project.parent), "/home/ada")) for name, said in told(definition)]

        told = consent.consent_details
        with (
            patch.dict(os.environ, {**dict.fromkeys(HOMES, str(home)), "PATH": str(programs)}),
            chdir(project),
            patch.object(consent, "consent_details", consent_details),
        ):
            yield


@scene((120, 36), within=_config_files, target=None)
async def picker(stage: Stage) -> None:
    """The servers of config files, and the question before one of a project is started."""
    await stage.until(lambda: "indexer" in snapshot(stage.app))
    await stage.shoot("picker")
    await stage.type("index")
    await stage.press("enter")
    await stage.until(lambda: "Start indexer" in snapshot(stage.app))
    await stage.shoot("consent")


@scene((140, 40), kept=True)
async def replays(stage: Stage) -> None:
    stage.session.client.store.flush()
    assert stage.play.path
    app = WorkbenchApp(None, opening=partial(ReplayScreen, Recording(stage.play.path)))
    async with app.run_test(size=stage.app.size) as pilot:
        shown = Stage(app, pilot, stage.play, stage.rows, stage.taken)
        app.load_themes()
        await shown.until(lambda: isinstance(app.screen, ReplayScreen) and app.screen.playback.read is None)
        await shown.press("left_curly_bracket", "right_square_bracket")
        await shown.shoot("replay")


@scene((120, 36), told=False)
async def recordings(stage: Stage) -> None:
    """What earlier sessions left: their recordings, and the cancellations in them."""
    keeping.kept()
    await stage.app.action_recordings()
    await stage.until(lambda: "5 cancelled" in snapshot(stage.app))
    await stage.shoot("recordings")
    await stage.back()
    await stage.app.action_history()
    await stage.until(lambda: "late result" in snapshot(stage.app))
    await stage.shoot("history")


@scene((80, 24), told=False)
async def servers(stage: Stage) -> None:
    """Three servers: one is on the screen, one is busy, one is lost."""
    stage.play.at(840)
    for name in ("docs", "indexer"):
        stage.app.open(StdioTarget(command=(name,), name=name))
        await stage.until(lambda: "prompts" in stage.session.catalogue.entries)
        stage.play.call("crawl", url="https://docs.example/")
    stage.play.server.end("server exited with code 137", 137)
    await stage.until(lambda: stage.bench.pane == "detail")  # below the list nothing is drawn anew
    await stage.press("v")
    await stage.until(lambda: isinstance(stage.app.screen, ServersScreen))
    await stage.shoot("servers")


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
        if name.startswith(("MCP_TUI_", "TEXTUAL")) or name in {"NO_COLOR", "COLORFGBG"}
    }
    with (
        tempfile.TemporaryDirectory() as home,
        patch.dict(os.environ, {**dict.fromkeys(HOMES, home), "TZ": "UTC", "COLORTERM": "truecolor"}),
    ):
        for name in unwanted:
            del os.environ[name]
        time.tzset()
        try:
            yield
        finally:
            del os.environ["TZ"]
    time.tzset()
