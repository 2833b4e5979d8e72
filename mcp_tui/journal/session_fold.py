"""A session's lines, gone through for what the index keeps of it: facts of the session, and its cancellations.

Only what concerns a request that was cancelled is decoded and folded; of the others the lines are kept until they are
over. What is kept of a request is its :class:`Trail`: few lines, which the one fold turns into its row again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Final

from mcp_tui.journal.codec import EVENTS, UnknownEvent, decode_event
from mcp_tui.journal.records import VERSION, read_record
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import REPEATING, name_of
from mcp_tui.protocol.events import Kind, RequestEvent
from mcp_tui.protocol.messages import Json, as_text, number
from mcp_tui.protocol.requests import TRANSIT, Book, IllegalTransition, Request

_LONG: Final = 1 << 20
"""Bytes from which on a frame's line is not parsed: nothing in it is asked for."""

_LAST: Final = frozenset(map(name_of, (ev.TaskStatus, ev.Undelivered, ev.CancelDelayed)))
"""Events of which the last counts."""

_MEANWHILE: Final = frozenset(map(name_of, REPEATING)) - _LAST
"""Events of which a request may have any number, and which leave no mark on its cancellation."""

_OVER: Final = frozenset({"completed", "failed", "lost"})

_TELLING: Final = (
    frozenset(name for name, kind in EVENTS.items() if issubclass(kind, RequestEvent)) - _MEANWHILE
)
"""Events of a request's life that leave a mark."""


@dataclass(slots=True)
class Trail:
    """The lines that lead to a request's row as far as its cancellation goes. Of late progress one stands for all.

    ``server``, ``transport`` and ``revision`` are those of the connection on which it was cancelled.
    """

    lines: list[bytes] = field(default_factory=list[bytes])
    progress: int = 0
    after_transit: int = 0
    last_after: float = 0.0
    usual: float = 0.0
    signalled: float | None = None
    cancelled: bool = False
    server: str = ""
    transport: str = ""
    revision: str = ""

    def take(self, event: str, record: dict[str, Json], line: bytes) -> None:
        """Take in a line about the request."""
        if event in _MEANWHILE:
            return
        if event == "late" and record.get("kind") == "progress":
            self.progress += 1
            self.last_after = number(record.get("after")) or 0.0
            self.usual = number(record.get("usual")) or 0.0
            at = number(record.get("mono"))
            self.after_transit += (
                self.signalled is not None and at is not None and at - self.signalled > TRANSIT
            )
            if self.progress > 1:
                return
        elif event in _LAST:
            mark = b'"event":"%s"' % event.encode()
            self.lines = [each for each in self.lines if mark not in each]
        elif event == "cancel_requested":
            self.cancelled = True
        elif event == "cancel_signalled":
            self.signalled = number(record.get("mono"))
        self.lines.append(line)

    def row(self) -> Request | None:
        """The request's row; ``None`` where the lines lead to none."""
        book = Book()
        row: Request | None = None
        for line in self.lines:
            record = read_record(line)
            if record is None:
                continue
            try:
                row = book.apply(decode_event(record)) or row
            except (UnknownEvent, ValueError, IllegalTransition):
                continue
        if row is not None and self.progress:
            for evidence in row.late:
                if evidence.kind is Kind.PROGRESS:
                    evidence.count, evidence.last_after = self.progress, self.last_after
                    evidence.after_transit, evidence.usual = self.after_transit, self.usual
        return row

    def dump(self) -> bytes:
        """The trail as bytes."""
        head = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "lines"}
        return b"\n".join((json.dumps(head).encode(), *self.lines))

    @classmethod
    def load(cls, raw: bytes) -> Trail:
        """The trail of :meth:`dump`."""
        head, *lines = raw.split(b"\n")
        return cls(lines, **json.loads(head))


@dataclass(slots=True)
class Facts:
    """What is known of a session. ``wall`` and ``mono`` are one moment on both clocks, in seconds; sizes are counts.

    ``server``, ``transport`` and ``revision`` are those of its last connection. ``version`` is the format's, 0 where no
    header was read. ``broken`` counts lines that are no records, ``lost`` the records that could not be written.
    """

    id: str = ""
    version: int = 0
    wall: float = 0.0
    mono: float = 0.0
    app: str = ""
    target: str = ""
    server: str = ""
    transport: str = ""
    revision: str = ""
    last: float = 0.0
    frames: int = 0
    requests: int = 0
    broken: int = 0
    lost: int = 0
    purpose: str = ""


class SessionFold:
    """Goes through the lines of a session, from the start or from where another one stopped.

    ``open`` are the trails of requests that are neither over nor cancelled, by the JSON of their ids. ``touched`` are
    those of cancelled ones that got another line. ``find`` brings the trail of a request that was cancelled before.
    """

    def __init__(self, facts: Facts, find: Callable[[str], Trail | None]) -> None:
        self.facts = facts
        self.open: dict[str, Trail] = {}
        self.touched: dict[str, Trail] = {}
        self._find = find

    def take(self, line: bytes) -> None:
        """Take in a line, with its end. In a format of another version nothing is looked for."""
        if self.facts.version not in {0, VERSION}:
            return
        if len(line) > _LONG and line.startswith(b'{"record":"frame",') and line.endswith(b"}\n"):
            self.facts.frames += 1
            return
        record = read_record(line)
        kind = None if record is None else record.get("record")
        if record is None or not isinstance(kind, str):
            self.facts.broken += 1
            return
        at = record.get("mono")
        if isinstance(at, float) and kind != "session":
            self.facts.last = at
        match kind:
            case "frame":
                self.facts.frames += 1
            case "event":
                self._event(record, line.rstrip(b"\r\n"))
            case "session" if not self.facts.version:
                self._begin(record)
            case "gap":
                counts = (record.get("frames"), record.get("events"))
                self.facts.lost += sum(count for count in counts if isinstance(count, int))
            case _:
                pass

    def _begin(self, record: dict[str, Json]) -> None:
        facts, version = self.facts, record.get("v")
        facts.version = version if isinstance(version, int) else 0
        facts.wall, facts.mono = number(record.get("wall")) or 0.0, number(record.get("mono")) or 0.0
        for name in ("id", "app", "target", "purpose"):
            setattr(facts, name, as_text(record.get(name)))

    def _event(self, record: dict[str, Json], line: bytes) -> None:
        event = record.get("event")
        if event == "connected":
            for name in ("server", "transport", "revision"):
                setattr(self.facts, name, str(record.get(name, "")))
        elif isinstance(event, str) and event in _TELLING:
            self._request(event, json.dumps(record.get("id")), record, line)

    def _request(self, event: str, key: str, record: dict[str, Json], line: bytes) -> None:
        if event == "called":
            self.facts.requests += 1
            self.open[key] = Trail([line])
            return
        trail = self.touched.get(key) or self.open.get(key)
        if trail is None:
            trail = self._find(key)
            if trail is None:
                return
            self.touched[key] = trail
        trail.take(event, record, line)
        if event == "cancel_requested":
            trail.server, trail.transport = self.facts.server, self.facts.transport
            trail.revision = self.facts.revision
            self.touched[key] = trail
        if trail.cancelled or event in _OVER:
            self.open.pop(key, None)
