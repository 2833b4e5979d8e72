"""The filters of all lists but the requests: their fields, and the texts in which words are searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from mcp_tui import clock
from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.client_violations import Cancelled, ClientViolation
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.evidence import OUTCOME_WORDS, Outcome
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import LOG_LEVELS
from mcp_tui.view.badges import CAUSES
from mcp_tui.view.catalogue_entries import VERBS, Entry
from mcp_tui.view.filters import (
    MESSAGE_FIELDS,
    TERM,
    FieldTest,
    Shown,
    Terms,
    Test,
    cause,
    one_of,
    outcome,
    part,
    part_of_any,
    read,
    start,
)
from mcp_tui.view.wire import event_pieces

if TYPE_CHECKING:
    from mcp_tui.journal.index import Logged, LoggedCall, RecordedSession


def catalogue(text: str) -> Terms[Entry]:
    """Parses a filter: ``kind:prompts``, or words of a name, a title, an argument, a description, or a URI."""
    kinds = {each: (each,) for each in VERBS}
    return read(
        text,
        {"kind": one_of("kind", kinds, lambda entry: (entry.kind,))},
        texts=lambda entry: (entry.folded,),
        searched=lambda entry: entry.searched,
    )


class Search:
    """An incremental search of entries by a filter.

    A search of 100,000 entries takes longer than a keystroke may block, so it runs in steps. ``before`` is an earlier search
    of the same entries. If the new filter only adds characters, the search skips the entries that ``before`` did not find.
    """

    def __init__(self, among: Sequence[Entry], text: str, before: Search | None = None) -> None:
        self.wanted = catalogue(text)
        self.among = among
        self._first = self.wanted.text.casefold().partition(" ")[0]
        grew = before is not None and before.done and before.among is among and before.narrows_to(text)
        self._left = iter(before.passed if before is not None and grew else among)
        self.passed: list[Entry] = []
        """The entries that pass the filter, in the order of the catalogue."""
        self._ranks: tuple[list[Entry], list[Entry], list[Entry]] = [], [], []
        self.done = False
        if not self.wanted:
            self.passed, self._ranks, self.done = [*among], ([*among], [], []), True

    def narrows_to(self, text: str) -> bool:
        """Whether ``text`` finds a subset of this search: it is plain words, and adds characters to this filter."""
        return text.startswith(self.wanted.text) and all(each.isalnum() or each in "_ " for each in text)

    @property
    def found(self) -> list[Entry]:
        """The entries found so far: names that begin with the first word, names that contain it, then all others."""
        return [entry for rank in self._ranks for entry in rank]

    def step(self, seconds: float, *, until_sure: bool = False) -> bool:
        """Searches for ``seconds``, or with ``until_sure`` until the first entry is final; returns whether it is done."""
        end = perf_counter() + seconds
        while not self.done and not (until_sure and self._ranks[0]):
            some = [*islice(self._left, 200)]
            self.done = len(some) < 200
            for entry in filter(self.wanted.matches, some):
                name = entry.name[:200].casefold()
                at = 0 if name.startswith(self._first) else 1 if self._first in name else 2
                self._ranks[at].append(entry)
                self.passed.append(entry)
            if perf_counter() > end:
                break
        return self.done


def log(
    text: str,
    request: Callable[[ev.Event], Request | None] = lambda _: None,
    fields: Mapping[str, FieldTest[Shown]] = MappingProxyType({}),
    *,
    server: Callable[[], str] = str,
    typing: bool = True,
) -> Terms[ev.Event]:
    """Parses a filter of the log.

    ``level:warning`` is that level or a more severe one. ``logger:`` takes a part, ``source:`` the start. ``violation:``
    takes a part of the name of a broken rule, or the side that broke it. ``fields`` are fields of requests, applied to the
    request that an event names; ``request`` returns that request.
    """

    def of_request(field: FieldTest[Shown]) -> FieldTest[ev.Event]:
        def named(value: str) -> Test[ev.Event]:
            test = field(value)
            return lambda event: (row := request(event)) is not None and test(row)

        return named

    own: dict[str, FieldTest[ev.Event]] = {
        "level": _level,
        "logger": part(lambda event: event.logger if isinstance(event, ev.Log) else ""),
        "source": start(lambda event: event_pieces(event)[0]),
        "violation": part_of_any(broken_rules),
        "id": lambda value: lambda event: str(getattr(event, "id", None)).casefold() == value,
        "server": part(lambda _: server()),
    }
    others = {name: of_request(field) for name, field in fields.items()}
    return read(text, others | own, texts=_message_texts, typing=typing)


_ORDINARY: Final = (ev.Connected, ev.Note, ev.Suspended, ev.ServerRequestReceived, ev.ServerRequestAnswered)


def is_beside(event: ev.Event) -> bool:
    """Whether ``check`` examines an event of the log: it has no row, and not every healthy session has such events."""
    ended = isinstance(event, ev.Disconnected) and event.expected
    return type(event) in LOGGED and not isinstance(event, _ORDINARY) and not ended


def names_messages(text: str) -> tuple[bool, bool]:
    """Returns whether a filter has a field of :data:`MESSAGE_FIELDS`, and whether any of its terms may match a message."""
    found = [(term["field"] or "").lower() for term in TERM.finditer(text) if not term["no"]]
    own = any(each in MESSAGE_FIELDS for each in found)
    return own, own or "" in found


_RULES: Final[dict[type[ev.Event], str]] = {
    ev.Duplicate: "duplicate-response",
    ev.Unknown: "unknown-response",
    ev.Pollution: "pollution",
    ev.Oversize: "oversize",
}
"""The rules that a server breaks by events that are not a :class:`~mcp_tui.protocol.events.Violation`."""


def broken_rules(event: ev.Event) -> Iterable[str]:
    """Returns the rule that an event breaks, and the side that broke it."""
    if isinstance(event, ev.Violation):
        return event.rule, event.by.value
    rule = _RULES.get(type(event))
    return (rule, ev.Origin.SERVER.value) if rule else ()


def _message_texts(event: ev.Event) -> Iterable[str]:
    if type(event) in _RULES:
        yield "violation"
    whole = (event.line,) if isinstance(event, (ev.Stderr, ev.Pollution)) else ()
    yield from (*event_pieces(event)[:2], *((event.data,) if isinstance(event, ev.Log) else whole))


def _level(value: str) -> Test[ev.Event]:
    least = next((at for at, level in enumerate(LOG_LEVELS) if level.startswith(value)), None)
    if least is None:
        raise ValueError(f"Unknown level {value!r}. Choose from: {', '.join(LOG_LEVELS)}.")
    return lambda event: isinstance(event, ev.Log) and event.level in LOG_LEVELS[least:]


def wire(text: str) -> Terms[FrameHead | None]:
    """Parses a filter of the wire: ``dir:in`` or ``dir:out``, a whole ``id:``, a part of a ``method:``."""
    return read(
        text,
        {
            "dir": one_of(
                "dir", {"in": ("in",), "out": ("out",)}, lambda head: (head.direction,) if head else ()
            ),
            "id": lambda value: lambda head: head is not None and str(head.id).casefold() == value,
            "method": part(lambda head: "" if head is None else head.method),
        },
        texts=_frame_texts,
    )


def _frame_texts(head: FrameHead | None) -> Iterable[str]:
    if head is None:
        return ()
    return head.method or "response", "" if head.id is None else str(head.id)


# -- cancellations ---------------------------------------------------------------------------------------------


_Cancelled: TypeAlias = "Cancelled | Logged | LoggedCall"
_Cancel = TypeVar("_Cancel", bound="_Cancelled")


def _fields(outcomes: Callable[[_Cancel], Iterable[Outcome]]) -> dict[str, FieldTest[_Cancel]]:
    return {
        "outcome": outcome(outcomes),
        "cause": cause(lambda each: each.cause),
        "name": part(_tool),
        "tool": part(_tool),
        "method": part(lambda each: each.method),
        "reason": part(lambda each: each.reason),
        "id": lambda value: lambda each: str(each.id).casefold() == value,
    }


def _tool(each: _Cancelled) -> str:
    return each.name or each.method


def _cancellation_texts(each: _Cancelled, outcomes: Iterable[Outcome]) -> Iterable[str]:
    caused = "" if each.cause is None else CAUSES[each.cause]
    words = (OUTCOME_WORDS[outcome] for outcome in outcomes)
    return each.name, each.method, str(each.id), each.reason, caused, *words


def cancellations(text: str, now: Callable[[], float] = lambda: evidence.FOREVER) -> Terms[Cancelled]:
    """Parses a filter of cancellations: ``outcome:`` and ``cause:`` take words, the other fields a part."""

    def outcomes(row: Cancelled) -> Iterable[Outcome]:
        return () if isinstance(row, ClientViolation) else evidence.outcomes(row, now())

    def texts(row: Cancelled) -> Iterable[str]:
        if isinstance(row, ClientViolation):
            return *_cancellation_texts(row, ()), row.words
        until = now()
        watched = evidence.delivery_words(row, until), evidence.aftermath_words(row, until)
        return *_cancellation_texts(row, evidence.outcomes(row, until)), *watched

    return read(text, _fields(outcomes), texts=texts)


def logged_fields(mark: str = "") -> dict[str, FieldTest[Logged | LoggedCall]]:
    """Returns the fields of cancellations of all sessions, which are also options of ``log``.

    ``mark`` precedes the names of options in errors.
    """
    return {
        "server": part(lambda each: f"{each.server}\n{each.session.target}\n{each.session.name}"),
        **_fields(lambda each: each.outcomes),
        **_times(mark, lambda each: each.wall),
    }


def logged(text: str) -> Terms[Logged]:
    """Parses a filter of the cancellations of all sessions, which also has fields for the server and the time."""

    def texts(each: Logged) -> Iterable[str]:
        words = (each.words,) if isinstance(each, ClientViolation) else ()
        return each.server, *_cancellation_texts(each, each.outcomes), *words

    return read(text, logged_fields(), texts=texts)


# -- recordings ------------------------------------------------------------------------------------------------


def recordings(text: str) -> Terms[RecordedSession]:
    """Parses a filter of recorded sessions: ``server:`` takes a part of a name or target; times as in :func:`parse_time`."""
    return read(
        text,
        {
            "server": part(lambda each: "\n".join(_server(each))),
            **_times("", lambda each: each.wall),
        },
        texts=_server,
    )


def _server(each: RecordedSession) -> Iterable[str]:
    return each.name, each.server, each.target


# -- times -----------------------------------------------------------------------------------------------------

_Timed = TypeVar("_Timed")

_AGO: Final = late(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)")
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def _times(mark: str, at: Callable[[_Timed], float]) -> dict[str, FieldTest[_Timed]]:
    """Returns the fields ``since`` and ``until`` for a time in seconds since the epoch; both bounds are inclusive."""

    def since(value: str) -> Test[_Timed]:
        first = parse_time(f"{mark}since", value)
        return lambda each: at(each) >= first

    def until(value: str) -> Test[_Timed]:
        last = parse_time(f"{mark}until", value, end=True)
        return lambda each: at(each) <= last

    return {"since": since, "until": until}


def parse_time(name: str, text: str, *, end: bool = False) -> float:
    """Parses an age, a date, or a date and time; returns seconds since the epoch.

    A date alone means the start of the day, or with ``end`` its end. A time without a time zone is local.

    Raises:
        ValueError: ``text`` is not a time.
    """
    ago = _AGO.fullmatch(text.strip().lower())
    if ago is not None:
        return clock.wall() - float(ago[1]) * _SECONDS[ago[2]]
    try:
        made = datetime.fromisoformat(text.strip().upper())
        if end and re.fullmatch(r"[\d-]+", text.strip()):
            made += timedelta(days=1, microseconds=-1)
        return made.timestamp()
    except (ValueError, OverflowError, OSError):
        sentence = f"Invalid {name} {text!r}. Use 90s, 15m, 2h, 3d, 1w, or a date such as 2026-11-21T10:30."
        raise ValueError(sentence) from None
