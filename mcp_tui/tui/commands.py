"""The commands of the palette: one for every key, and others for the current state: cancel 212, call slow_sql, themes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from textual.screen import Screen

from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.states import LOG_LEVELS
from mcp_tui.tui.host import Host, Offer
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.themes import AUTO
from mcp_tui.view.catalogue_entries import VERBS, Entry
from mcp_tui.view.keys import key_of
from mcp_tui.view.rows import request
from mcp_tui.view.text import brief, safe, words

MATCHED_ENTRIES: Final = 200
"""The maximum number of requests, and of entries of each list of the catalogue, that a query is matched against."""

SYNONYMS: Final = tuple(
    frozenset(group.split())
    for group in (
        "cancel stop kill abort interrupt terminate",
        "quit exit leave",
        "history recording cancellations sessions replay past earlier",
        "call new run invoke execute send tool",
        "again repeat retry rerun resend",
        "copy clipboard yank json raw",
        "save write export download file json",
        "filter search find grep",
        "theme color colour dark light",
        "reconnect restart connect disconnect stop",
        "sign login authorize oauth credentials",
        "help keys shortcuts bindings",
        "follow tail autoscroll",
        "zoom maximize fullscreen",
        "sort order",
        "mark select",
        "expand collapse fold unfold",
        "wire messages frames traffic raw json",
        "server transport protocol version capabilities instructions detail",
        "log stderr output console",
        "subscribe watch",
        "answer reply question",
        "edit change modify arguments",
        "extend +30s longer timeout",
        "suspend background shell",
        "probe test check",
    )
)
"""The groups of words with the same meaning. One word of each group is in the names of commands."""

T = TypeVar("T")


class Commands:
    """The commands of one screen, and the search in them. Names from a server are never read as markup."""

    def __init__(self, app: Host, screen: Screen[Any]) -> None:
        self._app = app
        self._screen = screen

    def find(self, query: str) -> list[Offer]:
        """Returns the commands that ``query`` may mean, the best first; all lasting ones if it is empty."""
        dynamic = self._dynamic(query) if query.strip() else ()
        return best((*self._static(), *dynamic), query, self._app.preferences.look.recent)

    def lasting(self, offer: Offer) -> bool:
        """Whether a command always exists, so that it is worth remembering."""
        return any(each.name == offer.name for each in self._static())

    def _static(self) -> Iterator[Offer]:
        """Yields the commands that are listed before anything is typed."""
        screen, app = self._screen, self._app
        idle = screen.idle() if isinstance(screen, SessionScreen) else frozenset[str]()
        for key in screen.offered() if isinstance(screen, SessionScreen) else ():
            if not key.hidden and key.id != "app.quit":
                run = partial(screen.run_action, key.action)
                yield Offer(
                    words(key.title or key.label), words(key.help), run, key.shown, key.id not in idle
                )
        if isinstance(screen, Workbench):
            note = words("open a recorded session (read-only) next to this one")
            yield Offer(words("Open a recording…"), note, partial(app.run_action, "recordings"))
            note = words("list cancellations and their outcomes")
            yield Offer(words("Cancellations of all sessions…"), note, partial(app.run_action, "history"))
        note = words("cancel running requests and quit")
        yield Offer(words("Quit"), note, partial(app.run_action, "quit"), key_of("app.quit"))
        if isinstance(screen, Workbench):
            yield from app.offers()
        for name in (AUTO, *app.theme_names):
            note = words("suits the terminal") if name == AUTO else words("colors")
            run = partial(app.choose_theme, name)
            yield Offer(safe("Theme: {}", name), note, run, theme=app.suiting(name))

    def _dynamic(self, query: str) -> Iterator[Offer]:
        """Yields the commands about requests and entries of the catalogue that ``query`` may mean."""
        screen = self._screen
        if not isinstance(screen, Workbench):
            return
        session = screen.session
        entries = {
            kind: narrowed(session.catalogue.entries.get(kind, ()), _entry_text, query) for kind in VERBS
        }
        for row in narrowed(session.running[::-1], row_text, query):
            named = safe("{} {}", row.id, request(row))
            note = session.named(words("with a reason"))
            yield Offer(safe("Cancel {}", named), note, partial(screen.cancelling.ask_reason, row))
            if row.state is State.TASK:
                note = words("the task keeps running on the server")
                run = partial(screen.connection.stop_waiting, row.id)
                yield Offer(safe("Stop waiting for {}", named), note, run)
        yield from self._app.offers_elsewhere(query)
        for uri in (entry.raw.get("uri") for entry in entries["resources"]):
            if isinstance(uri, str):
                on = uri in session.client.subscriptions.uris
                verb = words("Unsubscribe from" if on else "Subscribe to")
                note = words("stop change notifications" if on else "get a notification when it changes")
                subscribe = partial(screen.connection.subscribe, uri, wanted=not on)
                yield Offer(safe("{} {}", verb, brief(uri, 80)), note, subscribe)
        for level in LOG_LEVELS:
            note = words("set the log level of the server")
            yield Offer(safe("Log level: {}", level), note, partial(screen.connection.set_log_level, level))
        for name in narrowed(session.optional_tasks(), str, query):
            note = words("run it as a task on the server and poll for its result")
            call = partial(screen.calling.tools, name, task=True)
            yield Offer(safe("Call as a task {}", brief(name, 80)), note, call)
        for task_id, name in session.left_behind().items():
            text = safe("Resume the task {} {}", brief(task_id, 40), brief(name, 40))
            resume = partial(screen.connection.call, "tasks/get", {"taskId": task_id})
            yield Offer(text, words("started in an earlier session"), resume)
        yield from screen.calling.saved_offers()
        for kind, verb in VERBS.items():
            for entry in entries[kind]:
                text = entry.raw.get("description")
                note = brief(text, 120) if isinstance(text, str) else words("")
                run = partial(screen.calling.entry, entry)
                yield Offer(safe("{} {}", verb, brief(entry.name, 80)), note, run)


def narrowed(among: Sequence[T], text_of: Callable[[T], str], query: str) -> Sequence[T]:
    """Returns :data:`MATCHED_ENTRIES` items that a query may mean: those with its last word, whole words first.

    Checking every word of ten thousand items takes too long between two keys.
    """
    last = query.casefold().split()[-1:]
    if len(among) <= MATCHED_ENTRIES or not last:
        return among[:MATCHED_ENTRIES]
    texts = [(each, text_of(each).casefold()) for each in among]
    found = [(last[0] not in text.split(), each) for each, text in texts if last[0] in text]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])[:MATCHED_ENTRIES]]


def row_text(row: Request) -> str:
    """Returns the text in which a request is searched for."""
    return f"cancel stop waiting for {row.id} {row.method} {row.name}"


def _entry_text(entry: Entry) -> str:
    return f"call read get subscribe unsubscribe from to {entry.name} {entry.raw.get('uri', '')}"


def best(offers: Iterable[Offer], query: str, recent: Sequence[str]) -> list[Offer]:
    """Returns the commands that ``query`` may mean, the best first.

    Of equal matches, those that would do something now come first, then the ``recent`` ones, then those with fewer
    other words.
    """
    places = {name: place for place, name in enumerate(recent)}
    meant = [(word, meanings(word)) for word in query.casefold().split()]
    found: list[tuple[tuple[int, bool, int, int], Offer]] = []
    for offer in offers:
        rank = ranked(offer, meant)
        if rank is not None:
            others = len(offer.name.split()) if meant else 0
            found.append(((rank, not offer.now, places.get(offer.name, len(places)), others), offer))
    return [offer for _, offer in sorted(found, key=lambda each: each[0])]


def meanings(word: str) -> frozenset[str]:
    """Returns the words that a typed word, or its start, may stand for."""
    if len(word) < 3:
        return frozenset()
    groups = (group for group in SYNONYMS if any(each.startswith(word) for each in group))
    return frozenset[str]().union(*groups)


def ranked(offer: Offer, meant: Sequence[tuple[str, frozenset[str]]]) -> int | None:
    """Returns the distance between a command and the typed words, 0 for an exact match; ``None`` if a word does not
    match.

    Each word is looked for as a word of the name, as the start of one, within one, by its meanings, and in the note.
    """
    name, note = offer.name.casefold(), offer.note.casefold()
    parts = frozenset(name.split()) | frozenset(_COMMAND_WORD.findall(name))
    total = 0
    for word, others in meant:
        ways = (
            word in parts,
            any(part.startswith(word) for part in parts),
            word in name,
            not parts.isdisjoint(others),
            word in note,
        )
        if not any(ways):
            return None
        total += ways.index(True)
    return total


_COMMAND_WORD: Final = re.compile(r"\w+")
