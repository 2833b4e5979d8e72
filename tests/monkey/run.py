"""One run of the monkey: an app, a server of its own, and a judge of what was sent and written."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import webbrowser
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, cast
from unittest.mock import patch

from textual import events
from textual.pilot import OutOfBounds, Pilot

from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.client.auth.credential_store import CredentialStore
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, HttpTarget, StdioTarget, Target
from mcp_tui.config.settings import SamplingSettings, Settings
from mcp_tui.journal.journal_files import new_journal_path
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.states import Limits
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.view.server_bar import Link
from tests.auth.lying_server import lying
from tests.monkey.steps import Step
from tests.tui.painted import screen_text
from tests.waiting import HANG

SERVER: Final = Path(__file__).parent / "server.py"
DELIBERATE: Final = {
    "tools/call",
    "resources/read",
    "prompts/get",
    "resources/subscribe",
    "resources/unsubscribe",
}
DECIDES: Final = {"enter", "ctrl+s", "y", "Y", "space"}
"""Keys that take what a list, a form, a button or a question offers."""

CANCELS: Final = DECIDES | {"c", "C", "ctrl+c", "ctrl+q", "ctrl+x"}
ENDS: Final = DECIDES | {"ctrl+c", "ctrl+q", "escape"}
WRITES: Final = DECIDES | {"w"}
OWN: Final = {"recent.json"}
"""Files that the app keeps for itself, beside its state and its cache."""

CONNECTING: Final = 100
"""Looks at a connection that is waited for, at most: counted, since a machine that halts takes time and none of these."""

BETWEEN: Final = 0.05
"""Seconds between two keys, by the clock of the guard, which passes with the steps: so a seed says what is swallowed."""

LIMITED: Final = ClientSettings(limits=Limits(timeout=2.0, max_timeout=20.0, ask=3.0))
"""Limits that a run reaches, so that requests become overdue."""

EVERY: Final = 20
"""Steps after which it is seen whether a key is still answered."""


class Failure(AssertionError):
    """What the monkey found."""


@dataclass
class Before:
    """What a person saw before a step."""

    top: str
    typing: bool
    text: str
    again: frozenset[str]


@dataclass
class Judge:
    """What was sent and written, and which step explains it."""

    folder: Path
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    opened: list[str] = field(default_factory=list[str])
    calls: int = 0
    tops: Counter[str] = field(default_factory=Counter[str])
    """Screens that a step was done on."""

    _rows: set[Any] = field(default_factory=set[Any])
    _cancelled: set[Any] = field(default_factory=set[Any])
    _files: dict[Path, int] = field(default_factory=dict[Path, int])
    _answers: int = 0

    def judge(self, app: WorkbenchApp, step: Step, before: Before) -> None:
        """Raise :class:`Failure` for what this step does not explain."""
        pressed = set(step.keys)
        clicked = step.kind == "click"
        if step.kind == "type" and before.typing:
            pressed = set[str]()  # letters of a text: they decide nothing, whatever happens meanwhile
        elif step.kind == "type" and before.top == "Workbench":
            pressed -= DECIDES  # nor does a letter answer what another one of its burst has opened
        for server in app.servers.all:
            for row in server.client.requests.order:
                key = (id(server), row.id)
                if row.internal:
                    continue
                if key not in self._rows:
                    self._rows.add(key)
                    self.calls += 1
                    named = f"{row.method} {row.name}"
                    again = before.top == "Workbench" and "r" in pressed and row.name in before.again
                    taken = bool(pressed & DECIDES) or clicked
                    if not again and not (taken and _shown(row.name, before.text)):
                        raise Failure(f"{step} called {named} on {before}")
                if row.cause is Cause.USER and key not in self._cancelled:
                    self._cancelled.add(key)
                    if not pressed & CANCELS and not clicked:
                        raise Failure(f"{step} cancelled {row.id} on {before}")
        opens = DECIDES | {"o"} if before.top == "LinkScreen" else DECIDES
        answers = sum(map(_is_answer, self.sent))
        if answers > self._answers and not pressed & opens and not clicked:
            raise Failure(f"{step} answered a question on {before}")
        self._answers = answers
        if self.opened and not pressed & opens and not clicked:
            raise Failure(f"{step} opened {self.opened}")
        self.opened.clear()
        self.judge_files(step, pressed & WRITES or clicked)

    def judge_files(self, step: Step | str, explained: object) -> None:
        files = {path: path.stat().st_mtime_ns for path in _files(self.folder)}
        changed = [str(path) for path, stamp in files.items() if self._files.get(path) != stamp]
        self._files = files
        if changed and not explained:
            raise Failure(f"{step} wrote {changed}")

    def heard(self) -> None:
        """What servers heard is what was sent to them."""
        sent = Counter(map(_named, self.sent))
        heard: Counter[str] = Counter()
        for path in self.folder.glob("heard-*.jsonl"):
            lines = path.read_text(encoding="utf-8").splitlines()
            heard.update(map(_named, map(json.loads, lines)))
        more = {name: count for name, count in (heard - sent).items() if name}
        if more:
            raise Failure(f"servers heard what nobody sent: {more}")


def _shown(name: str, text: str) -> bool:
    """Whether the name of what is called could be read on the screen; long ones are cut there."""
    return name[:8] in text


def _named(message: dict[str, Any]) -> str:
    method = message.get("method", "")
    params: dict[str, Any] = message.get("params") or {}
    return f"{method} {params.get('name', params.get('uri', ''))}" if method in DELIBERATE else ""


def _is_answer(message: dict[str, Any]) -> bool:
    """Whether a message accepts what a server asked for."""
    params: dict[str, Any] = message.get("params") or {}
    rounds: dict[str, Any] = params.get("inputResponses") or {}
    given: list[Any] = [message.get("result"), *rounds.values()]
    objects = [cast("dict[str, Any]", each) for each in given if isinstance(each, dict)]
    return any("role" in each or each.get("action") == "accept" for each in objects)


def _files(folder: Path) -> Iterator[Path]:
    """The files that a person asked for: all but what the app keeps for itself."""
    for name in ("cwd", "home"):
        for path in (folder / name).rglob("*"):
            if path.is_file() and not {"state", "cache"} & set(path.parts) and path.name not in OWN:
                yield path


def _seen(app: WorkbenchApp) -> Before:
    top = app.screen
    focused = top.focused
    server = app.servers.current
    rows = () if server is None else server.client.requests.order
    return Before(
        type(top).__name__,
        focused is not None and focused.check_consume_key("a", "a"),
        screen_text(app),
        frozenset(row.name for row in rows if not row.internal),
    )


async def _do(pilot: Pilot[Any], step: Step, before: Before) -> None:
    """Do one step, and let the app take it."""
    match step.kind:
        case "press":
            await pilot.press(*(key for key in step.keys if not (key in {"slash", "/"} and before.typing)))
        case "type" | "packet":
            driver = pilot.app._driver  # pyright: ignore[reportPrivateUsage]
            assert driver is not None
            for character in step.keys:  # all at once, as a pasting or an impatient person does
                event = _key(character)
                event.set_sender(pilot.app)
                driver.send_message(event)
            await asyncio.sleep(0.05)
        case "paste":
            pilot.app.post_message(events.Paste("".join(step.keys)))
        case "click":
            with contextlib.suppress(OutOfBounds):
                await pilot.click(offset=step.at)
        case "resize":
            await pilot.resize_terminal(*step.at)
        case "connect":
            looks = 0
            while _connects(pilot.app) and looks < CONNECTING:
                await asyncio.sleep(0.05)
                looks += 1
        case _:
            await asyncio.sleep(step.seconds)
    await pilot.pause()


def _key(name: str) -> events.Key:
    """A key by its name or its character."""
    if len(name) == 1:
        return events.Key("space" if name == " " else name, name)
    return events.Key(name, {"slash": "/", "question_mark": "?", "enter": "\r"}.get(name))


def _connects(app: object) -> bool:
    if not isinstance(app, WorkbenchApp):
        return False
    server = app.servers.current
    if server is None:
        return not any(isinstance(screen, ReplayScreen) for screen in app.screen_stack)
    return server.link is Link.CONNECTING


@contextlib.contextmanager
def _apart(folder: Path) -> Generator[None]:
    """A home and a working directory in a folder, and no command that a typed line could start."""
    names = ("cwd", "home", "empty")
    for name in names:
        (folder / name).mkdir(exist_ok=True)
    home = folder / "home"
    kinds = {f"XDG_{kind.upper()}_HOME": str(home / kind) for kind in ("config", "data", "state", "cache")}
    given = {"HOME": str(home), "PATH": str(folder / "empty"), **kinds}
    with patch.dict(os.environ, given), contextlib.chdir(folder / "cwd"):
        yield


class _Browser:
    """A browser that opens nothing and says what it was to open."""

    name = "none"

    def __init__(self, opened: list[str], _using: str | None = None) -> None:
        self._opened = opened

    def open(self, url: str) -> bool:
        self._opened.append(url)
        return True


@contextlib.contextmanager
def _watched(judge: Judge) -> Generator[None]:
    keep = Store.frame

    def frame(self: Store, direction: Any, raw: bytes, **more: Any) -> int:
        if direction == "out":
            judge.sent.append(json.loads(raw))
        return keep(self, direction, raw, **more)

    with (
        patch.object(Store, "frame", frame),
        patch.object(webbrowser, "get", partial(_Browser, judge.opened)),
    ):
        yield


@contextlib.asynccontextmanager
async def _unraised(found: list[str]) -> AsyncGenerator[None]:
    """Gather what went wrong in tasks that nobody waits for."""
    loop = asyncio.get_running_loop()

    def told(_: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, asyncio.CancelledError):
            found.append(f"{context.get('message')}: {error!r}")

    loop.set_exception_handler(told)
    try:
        yield
    finally:
        loop.set_exception_handler(None)


async def live(
    folder: Path, seed: int, size: tuple[int, int], steps: Iterable[Step], done: list[Step]
) -> Judge:
    """The workbench on a server that behaves as a seed says; what was done is added to ``done``."""
    command = _command(folder, seed)
    target = StdioTarget(command=command, name="monkey")
    dice = random.Random(seed)
    settings = Settings(ascii=dice.random() < 0.1, sampling=SamplingSettings(mode="ask"))
    first = target if dice.random() < 0.9 else None
    judge = Judge(folder)
    with _apart(folder), _watched(judge):
        store = Store(Writer(folder / "session.jsonl"))
        stores = iter((store, Store(Writer(new_journal_path("monkey")))))

        def client(chosen: Target) -> Client:
            tokens = None
            if isinstance(chosen, HttpTarget):
                kept = CredentialStore(folder / "home" / "state", storage="file")
                tokens = Authorization(chosen.url, store=kept)
            return Client(chosen, LIMITED, store=next(stores, None) or Store(None), tokens=tokens)

        async with lying() as locked:
            _write_definitions(folder, seed, locked.url)
            app = WorkbenchApp(first, client, Preferences(settings=settings))
            await _run(app, judge, size, steps, done)
        store.close()
        judge.heard()
    return judge


def _command(folder: Path, seed: int) -> tuple[str, ...]:
    return (sys.executable, "-S", str(SERVER), str(seed), str(folder))


def _write_definitions(folder: Path, seed: int, url: str) -> None:
    """Writes what the picker offers: a server that needs consent, one that asks for inputs, and one for a sign-in."""
    program, *arguments = _command(folder, seed + 1)
    shared = {"command": program, "args": arguments, "env": {"PYTHONPATH": "/nowhere"}}
    project = {"shared": shared, "locked": {"type": "http", "url": url}}
    (folder / "cwd" / ".mcp.json").write_text(json.dumps({"mcpServers": project}), encoding="utf-8")
    inputs = [
        {"id": "key", "type": "promptString", "description": "A key", "password": True},
        {"id": "where", "type": "pickString", "description": "Where", "options": ["here", "there"]},
    ]
    env = {"KEY": "${input:key}", "WHERE": "${input:where}"}
    asking = {"type": "stdio", "command": program, "args": arguments, "env": env}
    (folder / "cwd" / ".vscode").mkdir()
    document = {"inputs": inputs, "servers": {"asking": asking}}
    (folder / "cwd" / ".vscode" / "mcp.json").write_text(json.dumps(document), encoding="utf-8")


async def recorded(folder: Path, size: tuple[int, int], steps: Iterable[Step], done: list[Step]) -> Judge:
    """The recording of a live run in the replay: it sends nothing at all."""
    judge = Judge(folder)
    with _apart(folder), _watched(judge):
        opening = partial(ReplayScreen, Recording(folder / "session.jsonl"))
        await _run(WorkbenchApp(None, opening=opening), judge, size, steps, done)
    if judge.sent:
        raise Failure(f"a replay sent {judge.sent[:3]}")
    return judge


async def _run(
    app: WorkbenchApp, judge: Judge, size: tuple[int, int], steps: Iterable[Step], done: list[Step]
) -> None:
    wrong: list[str] = []
    passed = 0.0
    app.guard.now = lambda: passed
    async with _unraised(wrong):
        try:
            async with app.run_test(size=size) as pilot:
                judge.judge_files("the start", True)
                for count, step in enumerate(steps):
                    done.append(step)
                    passed += BETWEEN + step.thought + step.seconds
                    before = _seen(app)
                    judge.tops[before.top] += 1
                    leaving = app._leaving  # pyright: ignore[reportPrivateUsage] - an earlier key ended the app
                    try:
                        async with asyncio.timeout(HANG):
                            await _do(pilot, step, before)
                            if count % EVERY == EVERY - 1 and not app._exit:  # pyright: ignore[reportPrivateUsage]
                                await _answers(pilot)
                    except TimeoutError:
                        raise Failure(f"{step} was not answered on {before}") from None
                    if app.defect is not None or wrong:
                        break
                    if app._exit:  # pyright: ignore[reportPrivateUsage]
                        # a text that is typed where letters are keys may have the one that quits
                        ends = ENDS if before.typing else ENDS | {"q"}
                        if not leaving and step.kind != "click" and not set(step.keys) & ends:
                            raise Failure(f"{step} ended the app on {before}")
                        break
                    judge.judge(app, step, before)
        finally:
            for server in app.servers.all:
                await server.client.close()
    if wrong:
        raise Failure("; ".join(wrong))


async def _answers(pilot: Pilot[Any]) -> None:
    """A key is answered: the help opens, and closes again."""
    for _ in range(2):
        top = pilot.app.screen
        await pilot.press("f1")
        while pilot.app.screen is top and not pilot.app._exit:  # pyright: ignore[reportPrivateUsage]
            await pilot.pause(0.02)


async def both(seed: int, size: tuple[int, int], steps: Iterable[Step], done: list[Step]) -> Judge:
    """A live run, and its recording with the first of the same steps; ``done`` holds those of the part that failed."""
    with tempfile.TemporaryDirectory() as folder:
        judge = await live(Path(folder), seed, size, steps, done)
        again = done[: len(done) // 3]
        done.clear()
        judge.tops += (await recorded(Path(folder), size, again, done)).tops
        return judge
