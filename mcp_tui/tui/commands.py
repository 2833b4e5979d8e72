"""The command palette: a command for every key, and for what can be done now: cancel 212, call slow_sql, themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar, cast

from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Button, Input
from textual.widgets.option_list import Option

from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.host import Host, Offer
from mcp_tui.tui.keys import DIALOG, bindings, hint
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.screens.parts.filtering import LEVELS
from mcp_tui.tui.screens.session import SessionScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.view.catalogue import VERBS, Entry
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words

MOST: Final = 200
"""Requests, and entries of each list of the catalogue, that a query is matched against."""

T = TypeVar("T")


class Commands(Provider):
    """Provides the commands. Names that come from a server are never read as markup."""

    def _static(self) -> Iterator[Offer]:
        """Yields the commands that are listed before anything is typed."""
        screen, app = self.screen, cast("Host", self.app)
        for key in screen.offered() if isinstance(screen, SessionScreen) else ():
            if not key.hidden and key.id != "app.quit":
                action = partial(screen.run_action, key.action)
                yield clean(key.label), safe("{}  ({})", key.help, key.shown), action
        if isinstance(screen, Workbench):
            note = words("open a recorded session (read-only) beside this one")
            yield words("Open a recording…"), note, partial(app.run_action, "recordings")
            note = words("list cancellations and their outcomes")
            yield words("Cancellations of all sessions…"), note, partial(app.run_action, "history")
        note = hint("cancel running requests and quit ({app.quit})")
        yield words("Quit"), note, partial(app.run_action, "quit")
        if isinstance(screen, Workbench):
            yield from app.offers()
        for name in app.theme_names:
            yield safe("Theme: {}", name), words("colours"), partial(setattr, app, "theme", name)

    def _dynamic(self, query: str) -> Iterator[Offer]:
        """Yields the commands about requests and entries of the catalogue that ``query`` may mean."""
        screen = self.screen
        if not isinstance(screen, Workbench):
            return
        session = screen.session
        entries = {
            kind: narrowed(session.catalogue.entries.get(kind, ()), _entry_text, query) for kind in VERBS
        }
        for row in narrowed(session.running[::-1], row_text, query):
            named = safe("{} {}", row.id, request(row))
            note = session.named(words("with a reason"))
            yield safe("Cancel {}", named), note, partial(screen.cancelling.ask_reason, row)
            if row.state is State.TASK:
                note = words("the task keeps running on the server")
                yield (
                    safe("Stop waiting for {}", named),
                    note,
                    partial(screen.connection.stop_waiting, row.id),
                )
        yield from cast("Host", self.app).offers_elsewhere(query)
        for uri in (entry.raw.get("uri") for entry in entries["resources"]):
            if isinstance(uri, str):
                on = uri in session.client.subscriptions.uris
                verb = words("Unsubscribe from" if on else "Subscribe to")
                note = words("stop change notifications" if on else "get a notification when it changes")
                subscribe = partial(screen.connection.subscribe, uri, wanted=not on)
                yield safe("{} {}", verb, brief(uri, 80)), note, subscribe
        for level in LEVELS:
            note = words("set the log level of the server")
            yield safe("Log level: {}", level), note, partial(screen.connection.set_log_level, level)
        for name in narrowed(session.optional_tasks(), str, query):
            note = words("run it as a task on the server and poll for its result")
            call = partial(screen.calling.tools, name, task=True)
            yield safe("Call as a task {}", brief(name, 80)), note, call
        for task_id, name in session.left_behind().items():
            said = safe("Resume the task {} {}", brief(task_id, 40), brief(name, 40))
            resume = partial(screen.connection.call, "tasks/get", {"taskId": task_id})
            yield said, words("started in an earlier session"), resume
        yield from screen.calling.saved_offers()
        for kind, verb in VERBS.items():
            for entry in entries[kind]:
                said = entry.raw.get("description")
                note = brief(said, 120) if isinstance(said, str) else words("")
                yield safe("{} {}", verb, brief(entry.name, 80)), note, partial(screen.calling.entry, entry)

    async def discover(self) -> Hits:
        for text, note, command in self._static():
            yield DiscoveryHit(Content(text), command, text=text, help=_plain(note))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        wanted = set(query.casefold().split())
        for text, note, command in (*self._dynamic(query), *self._static()):
            score = matcher.match(text)
            if score > 0:
                score += wanted <= set(text.casefold().split())  # ``cancel 212`` means 212, not 2124
                yield Hit(score, Content(text), command, text=text, help=_plain(note))


class Palette(CommandPalette):
    """The palette, closed by the keys that close a dialog."""

    BINDINGS = bindings(DIALOG)

    def action_close(self) -> None:
        self._action_escape()

    def action_interrupt(self) -> None:
        """Copies the selected text, or else closes the palette."""
        if not copied(self):
            self.dismiss()

    def _action_command_list(self, action: str) -> None:
        if self.query(CommandList):  # keys may be typed ahead of it
            super()._action_command_list(action)

    def _select_or_command(self, event: Input.Submitted | Button.Pressed | None = None) -> None:
        if self.is_current:  # enter twice runs a command once
            super()._select_or_command(event)


def theme_of(option: Option) -> str:
    """Returns the theme that a command of the palette would choose; empty for any other command."""
    command = option.hit.command if isinstance(option, Command) else None
    return str(command.args[-1]) if isinstance(command, partial) and command.func is setattr else ""


def narrowed(among: Sequence[T], text_of: Callable[[T], str], query: str) -> Sequence[T]:
    """Returns :data:`MOST` items that a query may mean: those whose text has its last word, as a whole word first.

    The palette itself matches letters anywhere, which takes too long with ten thousand items.
    """
    last = query.casefold().split()[-1:]
    if len(among) <= MOST or not last:
        return among[:MOST]
    texts = [(each, text_of(each).casefold()) for each in among]
    found = [(last[0] not in text.split(), each) for each, text in texts if last[0] in text]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])[:MOST]]


def row_text(row: Request) -> str:
    """Returns the words by which a request is found."""
    return f"cancel stop waiting for {row.id} {row.method} {row.name}"


def _entry_text(entry: Entry) -> str:
    return f"call read get subscribe unsubscribe from to {entry.name} {entry.raw.get('uri', '')}"


def _plain(note: SafeText) -> str | None:
    """Returns a help text as content: the palette reads plain text as markup."""
    return cast("str", Content(note)) if note else None
