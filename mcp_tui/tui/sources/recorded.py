"""A recording as a scene: the data of all panes at one position of the recording."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache

from mcp_tui.client.catalogue import LISTS
from mcp_tui.client.client_settings import Target
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.redaction import Redactor
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import is_disconnected
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.transitions import KINDS
from mcp_tui.view.badges import GOING_ON, badge
from mcp_tui.view.cancellations import Cancellations
from mcp_tui.view.catalogue_entries import Catalogue
from mcp_tui.view.detail import Section, fact_lines
from mcp_tui.view.keys import hint
from mcp_tui.view.lines import DAMAGED, Line, Lines, line
from mcp_tui.view.server_bar import Counts, Link, ServerFacts
from mcp_tui.view.shell_command import recorded_target, redactor
from mcp_tui.view.text import SafeText, brief, safe, words
from mcp_tui.view.timeline import RecordedSpans
from mcp_tui.view.wire import log_line, parsed, wire_line

COUNTED_ENDS = 500
"""The number of newest cancellations, and of newest lost requests, whose outcomes are counted."""

_LOST_KIND = KINDS.index(ev.Lost)

_FITTED_LINES = 50
"""The number of newest cancellations that determine the column widths of their log."""

_SEARCHED_REQUESTS = 200
"""The number of newest internal requests that are searched for the catalogue."""

_KIND_OF_LIST = {method: kind for kind, (method, _, _) in LISTS.items()}


class RecordedScene:
    """The scene of a recording at the position of :attr:`requests` and the time :attr:`clock`."""

    def __init__(self, replay: Recording) -> None:
        self.replay = replay
        self.requests = RecordedRequests(replay)
        self.clock = replay.header.mono
        self.problems: list[str] = []
        self.catalogue = Catalogue()
        self.origin = origin = replay.header.wall - replay.header.mono
        self.cancellations = Cancellations(
            self.requests, origin=origin, now=self.now, fitted=_FITTED_LINES, broken=self.requests
        )
        self.log = Lines(self._logged, self._log_event, self._log_line, lambda: len(self.problems))
        self.wire = Lines(
            lambda: range(replay.frames_until(self.position)),
            replay.head,
            lambda number, width: wire_line(replay.head(number), width, origin=origin),
        )
        self.spans = RecordedSpans(self.requests, origin=origin)
        self.payload = replay.payload
        self._counts = lru_cache(1)(self._count)
        self._listed = 0
        self._connection = self._read_connection()

    def seek(self, position: int, clock: float | None = None) -> None:
        """Moves to a position, and sets the clock to ``clock``, or to the time of the last event before the position."""
        moved = self.requests.seek(position)
        if clock is not None:
            self.clock = clock
        elif moved:
            self.clock = self.replay.at(self.requests.position)
        if moved:
            self._connection = self._read_connection()
            self._list()

    @property
    def position(self) -> int:
        """The number of events that have happened."""
        return self.requests.position

    @property
    def events(self) -> int:
        """The number of events read so far."""
        return len(self.replay.table)

    # -- the scene -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.clock

    def stamp(self) -> object:
        return (
            self.requests.version,
            self.events,
            self.replay.frame_count,
            len(self.problems),
            self.catalogue.version,
        )

    @property
    def target(self) -> Target | None:
        return recorded_target(self.replay.header.target)

    def redactor(self) -> Redactor:
        return redactor(self.target)

    def facts(self, now: float) -> ServerFacts:
        since = self._connection.up
        up = None if since is None else float(int(max(0.0, now - since)))
        return replace(self._connection, up=up, counts=self._counts(self.requests.version, self.clock))

    def _count(self, _version: int, clock: float) -> Counts:
        table, until = self.replay.table, self.position
        places = [*self.requests.cancelled[-COUNTED_ENDS:]]
        while len(places) < 2 * COUNTED_ENDS and (until := table.kinds.rfind(_LOST_KIND, 0, until)) >= 0:
            places.append(table.rows[until])
        rows = [row for row in map(self.requests.row, {*places} - {NONE}) if not row.internal]
        progressing = sum(badge(row, clock) is GOING_ON for row in rows)
        lost = sum(row.state is State.LOST or is_disconnected(row) for row in rows)
        return Counts(*self.requests.counts(), progressing=progressing, lost=lost)

    def server(self) -> str:
        """Returns the server's command line or URL, and its own name."""
        return f"{self.replay.header.target} {self._connection.name}"

    def _read_connection(self) -> ServerFacts:
        """Returns the state of the connection; ``up`` is the time at which it was made."""
        numbers = self.replay.table.connection
        # The end of a recording may begin after the connection was made.
        link = Link.CONNECTED if self.replay.is_tail else Link.CONNECTING
        facts = ServerFacts(link=link, name=brief(self.replay.header.target, 80))
        for number in reversed(numbers[: bisect_left(numbers, self.requests.position)]):
            event = self.replay.event(number)
            if isinstance(event, ev.Disconnected) and facts.link is link:
                facts = replace(facts, link=Link.LOST, detail=brief(event.detail, 400))
            elif isinstance(event, ev.Connected):
                lost = facts.link is Link.LOST
                server = brief(event.server, 120) or facts.name
                return replace(
                    facts,
                    link=Link.LOST if lost else Link.CONNECTED,
                    name=safe("{} → {}", brief(event.client, 60), server) if event.client else server,
                    transport=brief(event.transport, 20),
                    pid=event.pid,
                    revision=brief(event.revision, 20),
                    detail=facts.detail or (words("the connection closed") if lost else words("")),
                    up=None if lost else event.at,
                )
        return facts

    def empty_text(self) -> SafeText:
        if not self.events:
            return words("This recording has no events.")
        if self.position < self.events:
            return hint("No requests yet. Press {replay.next} for the next event, {replay.play} to play.")
        if self.requests.order:
            return hint("This recording has only internal requests. Press {view.internal} to show them.")
        return words("This recording has no requests.")

    def overview(self) -> list[Section]:
        header = self.replay.header
        rows = (
            ("file", brief(str(self.replay.path), 1000)),
            ("server", brief(header.target, 1000)),
            ("session", brief(header.id, 40)),
            ("by", safe("mcp-tui {}", brief(header.app, 40))),
        )
        return [Section(words("Recording"), fact_lines(rows, 8))]

    def has_calls(self) -> bool:
        called = len(self.requests.order)
        return called > bisect_left(self.requests.internal, called)

    def frame(self, seq: int) -> FrameHead | None:
        number = self.replay.find(seq)
        return None if number is None else self.replay.head(number)

    # -- the log ---------------------------------------------------------------------------------------------

    def _logged(self) -> range:
        return range(len(self.problems) + bisect_left(self.replay.table.log, self.position))

    def _log_event(self, number: int) -> ev.Event:
        """Returns the event of a line; for a problem of the file or a damaged record, a note."""
        if number < len(self.problems):
            return ev.Note(at=self.replay.header.mono, text=self.problems[number])
        return self._event(number) or ev.Note(at=0.0, text=DAMAGED.text)

    def _log_line(self, number: int, _: int) -> Line:
        if number < len(self.problems):
            return line((words("recording     "), "warning"), (brief(self.problems[number], 400), "warning"))
        event = self._event(number)
        return DAMAGED if event is None else log_line(event, origin=self.origin)

    def _event(self, number: int) -> ev.Event | None:
        return self.replay.event(self.replay.table.log[number - len(self.problems)])

    # -- the catalogue ---------------------------------------------------------------------------------------

    def _list(self) -> None:
        """Fills the catalogue from the lists that the server has sent by now."""
        called = len(self.requests.order)
        asked_for = self.requests.internal[: bisect_left(self.requests.internal, called)]
        if self.replay.header.purpose == "tap":  # the client requests the lists itself, usually at once
            asked_for = range(min(called, _SEARCHED_REQUESTS))
        done = [number for number in asked_for if self.requests.is_over(number)]
        if len(done) == self._listed:
            return
        self._listed = len(done)
        found: dict[tuple[str, str], list[dict[str, Json]]] = {}
        for number in done[-_SEARCHED_REQUESTS:]:
            row = self.requests.row(number)
            kind = _KIND_OF_LIST.get(row.method)
            if kind is None or row.state is not State.COMPLETED:
                continue
            asked = as_object(parsed(self.payload(row.request_seq)))
            answered = as_object(parsed(self.payload(row.response_seq)))
            items = as_list(as_object(answered.get("result")).get(LISTS[kind][1]))
            page = [entry for each in items if (entry := as_object(each))]
            first = "cursor" not in as_object(asked.get("params"))
            of = kind, self.replay.server_of(row.id)
            found[of] = [*([] if first else found.get(of, [])), *page]
        self.catalogue.clear()
        for kind in dict.fromkeys(kind for kind, _ in found):
            self.catalogue.put(kind, [each for of, page in found.items() if of[0] == kind for each in page])


def problems(replay: Recording) -> list[str]:
    """Returns the problems of a recording that was read to its end, in sentences."""
    found = [
        f"{count:,} {one if count == 1 else many}"
        for count, one, many in (
            (replay.skipped, "damaged line skipped", "damaged lines skipped"),
            (replay.table.misfits, "inconsistent event skipped", "inconsistent events skipped"),
            (replay.unknown, "record of a newer version skipped", "records of a newer version skipped"),
            (replay.lost, "record could not be written", "records could not be written"),
        )
        if count
    ]
    if replay.removed:
        found.append(replay.removed)
    if replay.torn:
        found.append("the last line of this recording is incomplete")
    return found
