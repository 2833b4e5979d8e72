"""The filters of the catalogue, log, wire and cancellations, as :mod:`mcp_tui.tui.view.filters` has that of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import aftermath_words, delivery_words, end_of_watching, outcomes
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view.cancellations import CAUSES, outcome_words
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.filters import Terms, Test, part, read, start
from mcp_tui.tui.view.wire import parsed, told

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the least first (RFC 5424)."""


def catalogue_filter(text: str) -> Terms[Entry]:
    """``kind:prompts`` are the entries of one list; words are of a name, a title, a description or a URI."""
    return read(text, {"kind": start(lambda entry: entry.kind)}, said=_said_of_entry)


def _said_of_entry(entry: Entry) -> Iterable[str]:
    said = (entry.raw.get(member) for member in ("name", "title", "description", "uri", "uriTemplate"))
    return (each for each in said if isinstance(each, str))


# -- the log -----------------------------------------------------------------------------------------------------


def log_filter(text: str) -> Terms[ev.Event]:
    """``level:warning`` is what the server logs at that level or louder; ``logger:`` and ``source:`` are a part."""
    return read(
        text,
        {
            "level": _level,
            "logger": part(lambda event: event.logger if isinstance(event, ev.Log) else ""),
            "source": start(lambda event: told(event)[0]),
        },
        said=lambda event: told(event)[:2],
    )


def _level(value: str) -> Test[ev.Event]:
    least = next((at for at, level in enumerate(LEVELS) if level.startswith(value)), None)

    def test(event: ev.Event) -> bool:
        if not isinstance(event, ev.Log):
            return False
        if least is None or event.level not in LEVELS:
            return event.level.casefold().startswith(value)
        return LEVELS.index(event.level) >= least

    return test


# -- the wire ----------------------------------------------------------------------------------------------------


def wire_filter(text: str) -> Terms[FrameHead | None]:
    """``dir:in`` and ``dir:out``, the whole ``id:``, a part of a ``method:``; of a frame's bytes nothing is looked at."""
    return read(
        text,
        {
            "dir": start(lambda head: "" if head is None else head.direction),
            "id": lambda value: lambda head: head is not None and str(head.id).casefold() == value,
            "method": part(lambda head: "" if head is None else head.method),
        },
        said=_said_of_frame,
    )


def _said_of_frame(head: FrameHead | None) -> Iterable[str]:
    if head is None:
        return ()
    return head.method or "response", "" if head.id is None else str(head.id)


_READ: Final = 64 * 1024
"""Bytes of an answer of ours that is read for its id."""


class Belonging:
    """Whether a frame belongs to a request: its rounds, progress, its cancel, its errands, and what the server asked for it.

    ``family`` gives the errands and the server's requests as they are by then, ``read_frame`` the bytes of a frame: an
    answer of ours is known by what it says.
    """

    def __init__(
        self,
        row: Request,
        family: Callable[[], tuple[Iterable[Request], Iterable[ServerRequest]]],
        read_frame: Callable[[int], bytes | None],
    ) -> None:
        self._row = row
        self._family = family
        self._read_frame = read_frame
        self._version = -1
        self._ids: set[tuple[type, object]] = set()
        self._theirs: set[tuple[type, object]] = set()
        self._seqs: set[int] = set()

    def __call__(self, head: FrameHead | None) -> bool:
        if head is None:
            return False
        self._gather()
        if head.seq in self._seqs or (type(head.stream), head.stream) in self._ids:
            return True
        id_: object = head.id
        ours = bool(head.method) is (head.direction == "out")
        if not ours and not head.method and id_ is None and self._theirs and head.size <= _READ:
            id_ = as_object(parsed(self._read_frame(head.seq))).get("id")
        return (type(id_), id_) in (self._ids if ours else self._theirs)

    def _gather(self) -> None:
        """Gather the ids and frames of the request and of what belongs to it, again when something came."""
        if self._version == self._row.version:
            return
        self._version = self._row.version
        errands, server_requests = self._family()
        rows = (self._row, *errands)
        self._ids = {(type(each), each) for row in rows for each in (row.id, *row.round_ids)}
        self._theirs = {(type(each.request_id), each.request_id) for each in server_requests}
        for row in rows:
            self._seqs |= {row.request_seq, *(each.seq for each in row.late)}
            self._seqs |= {event.seq for event in row.history}
        self._seqs.discard(0)


# -- the cancellations -------------------------------------------------------------------------------------------


def cancellations_filter(text: str, now: Callable[[], float] | None = None) -> Terms[Request]:
    """``outcome:late`` is the start of a word of the outcome; ``cause:``, ``name:`` and ``reason:`` are a part."""
    return read(
        text,
        {
            "outcome": lambda value: (
                lambda row: f" {value.replace('_', ' ').replace('-', ' ')}" in f" {_outcomes(row, now)}"
            ),
            "cause": part(lambda row: "" if row.cause is None else f"{CAUSES[row.cause]} {row.cause.value}"),
            "name": part(lambda row: row.name),
            "method": part(lambda row: row.method),
            "reason": part(lambda row: row.reason),
            "id": lambda value: lambda row: str(row.id).casefold() == value,
        },
        said=_said_of_cancel,
    )


def _said_of_cancel(row: Request) -> Iterable[str]:
    cause = "" if row.cause is None else CAUSES[row.cause]
    until = end_of_watching(row)
    came = delivery_words(row, until), aftermath_words(row, until), _outcomes(row)
    return (row.label, str(row.id), row.reason, cause, *came)


def _outcomes(row: Request, now: Callable[[], float] | None = None) -> str:
    """All that came of a cancel, in words."""
    until = end_of_watching(row, None if now is None else now())
    return " ".join(map(outcome_words, outcomes(row, until)))
