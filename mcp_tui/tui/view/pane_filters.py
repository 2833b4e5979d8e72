"""The filters of the catalogue, log, wire and cancellations, as :mod:`mcp_tui.tui.view.filters` is that of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import aftermath_words, delivery_words, end_of_watching, outcomes
from mcp_tui.protocol.messages import as_object, read_json
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view.cancellations import CAUSES, outcome_words
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.log import told
from mcp_tui.tui.view.terms import Terms, read

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the least first (RFC 5424)."""

LOG_HINT: Final = "level:warning  logger:db  source:stderr  /text/  words"
WIRE_HINT: Final = "dir:out  id:7  method:tools  /text/  words"
CATALOGUE_HINT: Final = "kind:prompts  /text/  words"
CANCELLATIONS_HINT: Final = "outcome:late  cause:user  name:slow  reason:wrong  id:7  words"


# -- the catalogue -----------------------------------------------------------------------------------------------


def catalogue_filter(text: str) -> Terms[Entry]:
    """``kind:prompts`` are the entries of one list; words are of a name, a title, a description or a URI."""
    return read(text, _CATALOGUE, said=_said_of_entry, searched=_said_of_entry)


_CATALOGUE: Final[dict[str, Callable[[str], Callable[[Entry], bool]]]] = {
    "kind": lambda value: lambda entry: entry.kind.startswith(value),
}


def _said_of_entry(entry: Entry) -> Iterable[str]:
    said = (entry.raw.get(member) for member in ("name", "title", "description", "uri", "uriTemplate"))
    return (each for each in said if isinstance(each, str))


# -- the log -----------------------------------------------------------------------------------------------------


def log_filter(text: str) -> Terms[ev.Event]:
    """``level:warning`` is what the server logs at that level or louder; ``logger:`` and ``source:`` are a part."""
    return read(text, _LOG, said=_said_of_event, searched=_said_of_event)


def _level(value: str) -> Callable[[ev.Event], bool]:
    least = next((at for at, level in enumerate(LEVELS) if level.startswith(value)), None)

    def test(event: ev.Event) -> bool:
        if not isinstance(event, ev.Log):
            return False
        if least is None or event.level not in LEVELS:
            return event.level.casefold().startswith(value)
        return LEVELS.index(event.level) >= least

    return test


_LOG: Final[dict[str, Callable[[str], Callable[[ev.Event], bool]]]] = {
    "level": _level,
    "logger": lambda value: lambda event: isinstance(event, ev.Log) and value in event.logger.casefold(),
    "source": lambda value: lambda event: told(event)[0].startswith(value),
}


def _said_of_event(event: ev.Event) -> Iterable[str]:
    source, said, _ = told(event)
    return said, source


# -- the wire ----------------------------------------------------------------------------------------------------


def wire_filter(text: str) -> Terms[FrameHead | None]:
    """``dir:in`` and ``dir:out``, the whole ``id:``, a part of a ``method:``; of a frame's bytes nothing is looked at."""
    return read(text, _WIRE, said=_said_of_frame, searched=_said_of_frame)


_WIRE: Final[dict[str, Callable[[str], Callable[[FrameHead | None], bool]]]] = {
    "dir": lambda value: lambda head: head is not None and head.direction.startswith(value),
    "id": lambda value: lambda head: head is not None and str(head.id).casefold() == value,
    "method": lambda value: lambda head: head is not None and value in head.method.casefold(),
}


def _said_of_frame(head: FrameHead | None) -> Iterable[str]:
    if head is None:
        return ()
    return head.method or "response", "" if head.id is None else str(head.id)


def belonging(
    row: Request,
    family: Callable[[], tuple[Iterable[Request], Iterable[ServerRequest]]],
    read_frame: Callable[[int], bytes | None],
) -> Callable[[FrameHead | None], bool]:
    """Whether a frame belongs to a request: its rounds, progress, its cancel, its errands, and what the server asked for it.

    ``family`` gives the errands and the server's requests as they are by then, ``read_frame`` the bytes of a frame: an
    answer of ours is known by what it says.
    """
    known = _Family(row, family)

    def test(head: FrameHead | None) -> bool:
        if head is None:
            return False
        known.look()
        if head.seq in known.seqs or (
            head.stream is not None and (type(head.stream), head.stream) in known.ids
        ):
            return True
        id_: object = head.id
        if not head.method and head.direction == "out":
            if id_ is None and known.theirs and head.size <= _READ:
                id_ = _id_of(read_frame(head.seq))
            return (type(id_), id_) in known.theirs
        if head.method and head.direction == "in":
            return (type(id_), id_) in known.theirs
        return (type(id_), id_) in known.ids

    return test


class _Family:
    """The ids and frames of a request and of what belongs to it, gathered again when something came."""

    def __init__(
        self, row: Request, family: Callable[[], tuple[Iterable[Request], Iterable[ServerRequest]]]
    ) -> None:
        self._row = row
        self._family = family
        self._version = -1
        self.ids: set[tuple[type, object]] = set()
        self.theirs: set[tuple[type, object]] = set()
        self.seqs: set[int] = set()

    def look(self) -> None:
        if self._version == self._row.version:
            return
        self._version = self._row.version
        errands, server_requests = self._family()
        rows = (self._row, *errands)
        self.ids = {(type(each), each) for row in rows for each in (row.id, *row.round_ids)}
        self.theirs = {(type(each.request_id), each.request_id) for each in server_requests}
        found = {getattr(event, "seq", 0) for row in rows for event in row.history}
        self.seqs |= (
            found | {row.request_seq for row in rows} | {each.seq for row in rows for each in row.late}
        )
        self.seqs.discard(0)


_READ: Final = 64 * 1024
"""Bytes of an answer of ours that is read for its id."""


def _id_of(raw: bytes | None) -> object:
    try:
        return as_object(read_json(raw or b"{}")).get("id")
    except ValueError:
        return None


# -- the cancellations -------------------------------------------------------------------------------------------


def cancellations_filter(text: str, now: Callable[[], float] | None = None) -> Terms[Request]:
    """``outcome:late`` is the start of a word of the outcome; ``cause:``, ``name:`` and ``reason:`` are a part."""
    return read(
        text,
        {
            "outcome": lambda value: (
                lambda row: f" {value.replace('_', ' ').replace('-', ' ')}" in f" {_outcomes(row, now)}"
            ),
            "cause": lambda value: (
                lambda row: row.cause is not None and value in f"{CAUSES[row.cause]} {row.cause.value}"
            ),
            "name": lambda value: lambda row: value in row.name.casefold(),
            "method": lambda value: lambda row: value in row.method.casefold(),
            "reason": lambda value: lambda row: value in row.reason.casefold(),
            "id": lambda value: lambda row: str(row.id).casefold() == value,
        },
        said=_said_of_cancel,
        searched=_said_of_cancel,
    )


def _said_of_cancel(row: Request) -> Iterable[str]:
    cause = "" if row.cause is None else CAUSES[row.cause]
    until = end_of_watching(row)
    return (
        row.label,
        str(row.id),
        row.reason,
        cause,
        delivery_words(row, until),
        aftermath_words(row, until),
        _outcomes(row),
    )


def _outcomes(row: Request, now: Callable[[], float] | None = None) -> str:
    """All that came of a cancel, in words."""
    until = end_of_watching(row, None if now is None else now())
    return " ".join(map(outcome_words, outcomes(row, until)))
