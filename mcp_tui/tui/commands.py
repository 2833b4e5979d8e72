"""The palette: every key's command, and those that depend on what is there: cancel 212, call slow_sql, themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, cast

from textual.command import Command, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets.option_list import Option

from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys import DIALOG, hint
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.screens.parts.filtering import LEVELS
from mcp_tui.tui.screens.parts.saved_calls import Found
from mcp_tui.tui.screens.session import SessionScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.rows import plural, request
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words

if TYPE_CHECKING:
    from mcp_tui.tui.app import WorkbenchApp

MOST: Final = 200
"""Requests, and entries of each list of the catalogue, that a query is matched with."""

VERBS: Final = {"tools": "Call", "resources": "Read", "templates": "Read", "prompts": "Get"}
"""What is done with an entry of each list of the catalogue."""


T = TypeVar("T")


class Commands(Provider):
    """What can be done now. Names that come from a server are never read as markup."""

    def _static(self) -> Iterator[Found]:
        screen = self.screen
        for key in screen.offered() if isinstance(screen, SessionScreen) else ():
            if not key.hidden and key.id != "app.quit":
                action = partial(screen.run_action, key.action)
                yield clean(key.label), safe("{}  ({})", key.help, key.shown), action
        if isinstance(screen, Workbench):
            note = words("open a recorded session (read-only) beside this one")
            yield words("Open a recording…"), note, partial(self.app.run_action, "recordings")
            note = words("list cancellations and their outcomes")
            yield words("Cancellations of all sessions…"), note, partial(self.app.run_action, "history")
        note = hint("cancel running requests and quit ({app.quit})")
        yield words("Quit"), note, partial(self.app.run_action, "quit")
        app = cast("WorkbenchApp", self.app)
        if isinstance(screen, Workbench):
            yield from _servers(app)
        for name in app.theme_names:
            yield safe("Theme: {}", name), words("colours"), partial(setattr, app, "theme", name)

    def _dynamic(self, query: str) -> Iterator[Found]:
        screen = self.screen
        if not isinstance(screen, Workbench):
            return
        session = screen.session
        for row in _narrowed(session.running[::-1], _row, query):
            yield (
                safe("Cancel {} {}", row.id, request(row)),
                session.named(words("with a reason")),
                partial(screen.cancelling.ask_reason, row),
            )
            if row.state is State.TASK:
                yield (
                    safe("Stop waiting for {} {}", row.id, request(row)),
                    words("the task keeps running on the server"),
                    partial(screen.connection.stop_waiting, row.id),
                )
        yield from _elsewhere(cast("WorkbenchApp", self.app), query)
        yield from self._told(screen, query)
        yield from screen.saved.offers()
        for kind, verb in VERBS.items():
            for entry in _narrowed(session.catalogue.entries.get(kind, ()), _entry, query):
                said = entry.raw.get("description")
                note = brief(said, 120) if isinstance(said, str) else words("")
                yield safe("{} {}", verb, brief(entry.name, 80)), note, partial(screen.calling.entry, entry)

    def _told(self, screen: Workbench, query: str) -> Iterator[Found]:
        """What the server can be asked to tell, and what it was left with."""
        session = screen.session
        wanted = session.client.subscriptions
        for entry in _narrowed(session.catalogue.entries.get("resources", ()), _entry, query):
            uri = entry.raw.get("uri")
            if not isinstance(uri, str):
                continue
            on = uri in wanted.uris
            yield (
                safe("Unsubscribe from {}" if on else "Subscribe to {}", brief(uri, 80)),
                words("stop change notifications" if on else "get a notification when it changes"),
                partial(screen.connection.subscribe, uri, wanted=not on),
            )
        for level in LEVELS:
            note = words("set the log level of the server")
            yield safe("Log level: {}", level), note, partial(screen.connection.set_log_level, level)
        for name in _narrowed(session.optional_tasks(), str, query):
            yield (
                safe("Call as a task {}", brief(name, 80)),
                words("run it as a task on the server and poll for its result"),
                partial(screen.calling.tools, name, task=True),
            )
        for task_id, name in session.left_behind().items():
            yield (
                safe("Resume the task {} {}", brief(task_id, 40), brief(name, 40)),
                words("started in an earlier session"),
                partial(screen.connection.call, "tasks/get", {"taskId": task_id}),
            )

    async def discover(self) -> Hits:
        for text, note, command in self._static():
            yield DiscoveryHit(Content(text), command, text=text, help=_plain(note))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        wanted = set(query.casefold().split())
        for text, note, command in (*self._dynamic(query), *self._static()):
            score = matcher.match(text)
            if score > 0:
                score += wanted <= set(text.casefold().split())  # ``cancel 212`` is 212, and not 2124
                yield Hit(score, Content(text), command, text=text, help=_plain(note))


class Palette(CommandPalette):
    """The palette, closed by what closes a dialog."""

    SCOPES = (DIALOG,)
    BINDINGS = bindings(*SCOPES)

    def action_close(self) -> None:
        self._action_escape()

    def action_interrupt(self) -> None:
        """ctrl+c: copy the selected text; else close it."""
        if not copied(self):
            self.dismiss()


def theme_of(option: Option) -> str:
    """The theme that a command of the palette would choose; empty for any other."""
    command = option.hit.command if isinstance(option, Command) else None
    return str(command.args[-1]) if isinstance(command, partial) and command.func is setattr else ""


def _narrowed(among: Sequence[T], said: Callable[[T], str], query: str) -> Sequence[T]:
    """Those that a query may mean: all of few; of many the first that have its last word, whole before in part.

    The palette itself looks for letters anywhere, which takes too long with ten thousand.
    """
    if len(among) <= MOST:
        return among
    last = query.casefold().split()[-1:]
    if not last:
        return among[:MOST]
    texts = [said(each).casefold() for each in among]
    found = [
        (each, last[0] in text.split()) for each, text in zip(among, texts, strict=True) if last[0] in text
    ]
    return [each for each, _ in sorted(found, key=lambda pair: not pair[1])[:MOST]]


def _row(row: Request) -> str:
    return f"cancel stop waiting for {row.id} {row.method} {row.name}"


def _entry(entry: Entry) -> str:
    return f"call read get subscribe unsubscribe from to {entry.name} {entry.raw.get('uri', '')}"


def _servers(app: WorkbenchApp) -> Iterator[Found]:
    """Every server, to go there or to close it, and one more."""
    servers = app.servers
    for server in servers.all if len(servers.all) > 1 else ():
        name = servers.name(server)
        running = safe("{}, {} in flight", server.link.value, plural(len(server.calls)))
        if not server.shown:
            yield safe("Server: {}", name), running, partial(app.show, server)
        yield safe("Close server {}", name), running, partial(app.close_server, server)
    yield words("Add a server…"), words("connect to one more server"), app.pick


def _elsewhere(app: WorkbenchApp, query: str) -> Iterator[Found]:
    """Requests in flight at servers out of sight: to be cancelled there."""
    for server in app.servers.all:
        if server.shown:
            continue
        name = app.servers.name(server)
        for row in _narrowed(server.calls[::-1], _row, query):
            said = safe("Cancel {} {} at {}", row.id, request(row), name)
            yield said, words("go there and ask for a reason"), partial(_cancel_at, app, server, row)


async def _cancel_at(app: WorkbenchApp, server: Session, row: Request) -> None:
    app.show(server)
    await app.benches[server].cancelling.ask_reason(row)


def _plain(note: SafeText) -> str | None:
    """The palette reads a help text as markup, unless it is content already."""
    return cast("str", Content(note)) if note else None
