"""The main loop of the recorder, a process of its own, with the pipes from and to its relay.

The recorder may lag behind the traffic, and an answer may have passed that it has not read. So it ends requests and sends
messages of the tap only in a pause: the relay stops the answers until the recorder has read everything before them.

A recorder that lags behind asks for the pause, too; otherwise a flood of messages would delay every limit and cancel until
the flood ends. The pause lasts until all earlier records are read.

A server may stop within a line, and the pause is then within that line. The recorder decides, and the server gets its
message. The client gets its answer when the line has ended, or when the tap ends the line because no more bytes arrive. If
the line was the server's answer, the client gets no other one.
"""

from __future__ import annotations

import os
import select
import selectors
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, Final, Protocol, cast

from mcp_tui.client.client_settings import Target
from mcp_tui.client.session_store import open_store
from mcp_tui.config import settings
from mcp_tui.config.settings import Settings
from mcp_tui.journal.client_process import ClientProcess, client_process
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.retention import TENDED_SECONDS
from mcp_tui.journal.store import Store
from mcp_tui.live import sockets
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Batch, Frame, Json, MethodFrame
from mcp_tui.tap import recorder_records, relay
from mcp_tui.tap.pipes import is_running, ready, write
from mcp_tui.transport.unreachable import readable

READ_BYTES: Final = 1 << 20
"""The maximum size of records that are read ahead, in bytes. A new recorder has to read all of them again."""

REPORT_SECONDS: Final = 0.5
REPORT_BYTES: Final = 1 << 20
"""The seconds, or the bytes of records, after which the relay gets a checkpoint."""

PART_BYTES: Final = 1024
"""The approximate size of a part of a long record, in bytes. A turn of the loop can end between two parts."""

SLICE_SECONDS: Final = 0.02
"""Seconds of parsing after which the sockets are served."""

STALE_PAUSE_SECONDS: Final = relay.PAUSE_SECONDS / 2
"""Seconds without an order after which the relay may have ended a pause, so that nothing can be decided in it."""

RESUMED_SECONDS: Final = 1.0
"""Seconds after a long pause in which no limit is checked, because delayed progress arrives first."""

UNENDED_LINE_SECONDS: Final = 2.0
"""Seconds without bytes from the server after which the tap ends its incomplete line for the client."""


class OpenSession(Protocol):
    """An open session: :class:`~mcp_tui.tap.observed_session.ObservedSession`, which documents the methods."""

    ledger: Ledger
    store: Store

    def end(self) -> None: ...
    def abandon(self) -> None: ...
    def report(self) -> None: ...
    def runs_out(self, read_until: float, now: float) -> bool: ...
    def tick(self, now: float) -> None: ...
    def line_ended(self, at: float) -> bytes: ...


class Recorder(Protocol):
    """The recorder of a tap, over stdio (:mod:`mcp_tui.tap.stdio_recorder`) or HTTP (:mod:`mcp_tui.tap.http_recorder`)."""

    over: bool

    def needed(self) -> Iterable[recorder_records.TapRecord]:
        """Returns the checkpoint."""
        ...

    def restore(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Restores one record of the last recorder's checkpoint."""

    def restored(self, at: float, why: str) -> None:
        """Ends the restoring; notes ``why`` the last recorder ended."""

    @property
    def open_sessions(self) -> Collection[OpenSession]:
        """The open sessions."""
        ...

    def record(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Takes a record from the relay."""

    def killed(self, at: float) -> None:
        """Notes that the relay has died."""


class RecorderLoop:
    """Runs the recorder that ``begun`` returns for the options of a tap."""

    def __init__(
        self,
        records: int,
        orders: int,
        begun: Callable[[RecorderLoop, Any, float], Recorder],
        *,
        listening: sockets.ListeningSocket | None = None,
        caught_up: Callable[[], object] | None = None,
        environment: Mapping[str, str] = os.environ,
        relay: int = 0,
    ) -> None:
        self._records = records
        self._orders = orders
        self.environment = environment
        """The environment variables of the relay."""
        self._relay = relay
        """The process id of the relay in a shared recorder, which the relay may have replaced; otherwise 0."""
        self._unwritten = bytearray()
        """Orders that the relay has not read."""
        self.last_work: list[tuple[float, Callable[[], object]]] = []
        """Work for after the end, each with the seconds to wait before it."""
        self._begun = begun
        self.listening = listening
        """The control socket of a tap over stdio, open since the start of this process."""
        self._caught_up = caught_up
        """Called when all records were read for the first time."""
        self._recorder: Recorder | None = None
        self._over = False
        self._data = bytearray()
        self._more = False
        """Whether complete records wait to be read."""
        self._begun_record: tuple[recorder_records.TapRecord, int] | None = None
        """A record that is handled in parts, and the number of bytes handled so far."""
        self._selector = selectors.DefaultSelector()
        self._turns: list[Callable[[], None]] = []
        self._pausing = False
        """Whether a pause was ordered."""
        self._kept = True
        """Whether the pause is certain to last, because its orders followed each other soon."""
        self._asked = 0.0
        """When the last order of the pause was given."""
        self._read_until = 0.0
        """The time of the last record that was read."""
        self._resumed = 0.0
        """The time before which no limit is checked."""
        self._wanted: list[Callable[[], object]] = []
        """Cancels requested at a control socket."""
        self._timers: list[tuple[float, Callable[[], object]]] = []
        self._said: list[recorder_records.Order] = []
        self._reports: list[recorder_records.Order] = []
        self._server_active_at = 0.0
        """When a server over stdio last sent or got bytes."""
        self.restoring = False
        """Whether this loop reads records that the last recorder may have handled, whose effects are not repeated."""
        self._taken = 0
        """The number of records since the last checkpoint."""
        self._taken_bytes = 0
        self._begun_lines: dict[bytes, int] = {}
        self._changed = False
        self._report_at = 0.0
        self.client = ClientProcess()
        """The process that started the tap, over stdio."""

    def run(self, *, started: bool = False) -> bool:
        """Works until the relay has ended and everything is written; returns whether that succeeded."""
        try:
            if not started:
                self.start()
            while not self.is_over:
                self.step(self.patience())
            self.end()
        except Exception as error:  # noqa: BLE001 - the traffic continues after any error
            self.fail(error)
            return False
        for seconds, work in self.last_work:
            sleep(seconds)
            work()
        return True

    def start(self) -> None:
        """Starts to read records."""
        self._selector.register(self._records, selectors.EVENT_READ, self._read)
        self.call_later(TENDED_SECONDS, self._tend)

    @property
    def is_over(self) -> bool:
        """Whether the relay is gone, and all records are read."""
        return self._over

    def step(self, seconds: float | None, slice_seconds: float = SLICE_SECONDS) -> None:
        """Waits for input for at most ``seconds``, and then handles it for about ``slice_seconds``."""
        found = self._selector.select(seconds)
        for key, _ in found:
            key.data()
        if self._caught_up and self._recorder is not None and not (found or self._more):
            self._caught_up()
            self._caught_up = None
        self._work(monotonic() + slice_seconds)
        self._turn()
        self._look_at_clock()
        self._report()

    def end(self) -> None:
        """Ends all sessions, which writes their journals, and closes the pipes."""
        for each in self._open_sessions:
            each.end()
        self._close()

    def fail(self, error: Exception) -> None:
        """Does the same after an error, as far as possible, and reports the error."""
        what = readable(f"{type(error).__name__} {error}".strip())
        for each in self._open_sessions:
            with suppress(Exception):
                each.end()
        self.order({"failed": f"the recorder failed ({what})"})
        self._close()

    def abandon(self) -> None:
        """Closes the files and pipes without writing, because another process has them, too."""
        for each in self._open_sessions:
            each.abandon()
        if self._recorder is None and self.listening is not None:
            self.listening.socket.close()
        self._unwritten.clear()
        self._close()

    def fileno(self) -> int:
        """Returns the descriptor of the selector, which is readable when there is input."""
        return cast("selectors.EpollSelector", self._selector).fileno()

    @property
    def waiting_bytes(self) -> int:
        """The number of received bytes that are not handled yet."""
        begun = self._begun_record
        return len(self._data) + (0 if begun is None else len(begun[0][3]) - begun[1])

    @property
    def begun_bytes(self) -> int:
        """The size of the longest incomplete line, in bytes."""
        return max(self._begun_lines.values(), default=0)

    def _close(self) -> None:
        if self._unwritten and not self._relay:  # of many taps, none waits for another one
            with suppress(OSError):
                write(self._orders, bytes(self._unwritten))
        self._selector.close()
        os.close(self._records)
        os.close(self._orders)

    @property
    def _open_sessions(self) -> Collection[OpenSession]:
        return () if self._recorder is None else self._recorder.open_sessions

    def patience(self) -> float | None:
        """Returns the seconds until there is work without new input; ``None`` if there will be none."""
        if self._more or self._turns or (self._caught_up and self._recorder is not None):
            return 0.0
        # While a pause is ordered, nothing else wakes the loop: limits are checked once the pause has begun.
        dues = (
            ()
            if self._pausing or self.restoring
            else (each.ledger.deadlines.next() for each in self._open_sessions)
        )
        due = min((max(each, self._resumed) for each in dues if each is not None), default=float("inf"))
        due = min((due, *(each for each, _ in self._timers)))
        if self._changed:
            due = min(due, self._report_at)
        return None if due == float("inf") else max(0.0, due - monotonic())

    def _read(self) -> None:
        if self._more and len(self._data) > READ_BYTES:
            return
        piece = os.read(self._records, READ_BYTES)
        if piece:
            self._data += piece
            return
        self._selector.unregister(self._records)
        self._work(float("inf"))
        if self._recorder is not None and not self._over and not (self._relay and is_running(self._relay)):
            self._recorder.killed(monotonic())  # else the relay has a new recorder
        self._over = True

    def _work(self, until: float) -> None:
        """Handles records until a time, in monotonic seconds, but at least one part."""
        start = 0
        self._more = is_late = False
        while not self._over:
            begun, end = self._begun_record, start
            if begun is None:
                if (found := recorder_records.unpacked(self._data, start)) is None:
                    break
                begun, end = (found[0], 0), found[1]
            if is_late:
                self._more = True
                break
            start = end
            self._read_until = begun[0][1]
            self._take(*self._part_of(*begun))
            is_late = monotonic() > until
        del self._data[:start]

    def _part_of(self, record: recorder_records.TapRecord, taken: int) -> recorder_records.TapRecord:
        """Returns the rest of a record, or its next lines if the rest is long."""
        kind, at, number, data = record
        cut = data.find(b"\n", taken + PART_BYTES) + 1 if kind in recorder_records.MOVED else 0
        if not 0 < cut < len(data):
            self._begun_record, cut = None, len(data)
        else:
            self._begun_record = record, cut
        return kind, at, number, data[taken:cut]

    def _take(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Handles a record, or a part of one."""
        if self._recorder is None:
            self._begin(recorder_records.read_begin(data), at)
            return
        if kind == recorder_records.CHECKPOINT:
            start = 0
            while (found := recorder_records.unpacked(data, start)) is not None:
                record, start = found
                self._recorder.restore(*record)
            return
        self._taken += self._begun_record is None
        self._taken_bytes += len(data)
        if kind in recorder_records.MOVED:
            line = data.rfind(b"\n") + 1
            self._begun_lines[kind] = len(data) - line + (0 if line else self._begun_lines.get(kind, 0))
        self.changed()
        if kind == recorder_records.PAUSED:
            if not self.restoring:  # Otherwise the last recorder has ordered it.
                self._decide(at, number)
        elif kind == recorder_records.REPLACED:
            self.restoring = False
            self._recorder.restored(at, data.decode())
        else:
            if kind == recorder_records.FROM_SERVER:
                self._server_active_at = at
            self._recorder.record(kind, at, number, data)
            self._over = self._recorder.over

    def _begin(self, begin: recorder_records.Begin | None, at: float) -> None:
        if begin is None:
            self._over = True
            self.order({"failed": "the recorder is of another version of mcp-tui"})
            return
        self.restoring = "again" in begin
        if "client" in begin:
            self.client = client_process(begin["client"])
        self._recorder = self._begun(self, begin, at)

    def changed(self) -> None:
        """Notes that the checkpoint is out of date."""
        if not self._changed:
            self._changed = True
            self._report_at = max(monotonic(), self._report_at)

    def _report(self) -> None:
        """Sends a checkpoint to the relay, which may then drop all records before it."""
        if self._recorder is None or not self._changed or self._begun_record is not None:
            return
        if monotonic() < self._report_at and self._taken_bytes < REPORT_BYTES:
            return
        data = recorder_records.packed(self._recorder.needed())
        dues = [
            each
            for each in (each.ledger.deadlines.next() for each in self._open_sessions)
            if each is not None
        ]
        order: recorder_records.Order = {
            "taken": self._taken,
            "size": len(data),
            "due": min(dues, default=0.0),
        }
        self._write(_line(order) + data)
        self._taken = self._taken_bytes = 0
        self._changed = False
        self._report_at = monotonic() + REPORT_SECONDS

    def _turn(self) -> None:
        """Ends a turn of the loop: writes the journals, and calls the timers that are due."""
        turns = self._turns.copy()
        self._turns.clear()  # The store appends to the list that it was given.
        now = monotonic()
        due, self._timers = (
            [call for at, call in self._timers if at <= now],
            [each for each in self._timers if each[0] > now],
        )
        for call in (*turns, *due):
            call()
        for each in self._open_sessions:
            each.report()

    def _tend(self) -> None:
        """Lets old journals be deleted even if all sessions are idle."""
        for each in self._open_sessions:
            each.store.tend()
        self.call_later(TENDED_SECONDS, self._tend)

    # -- for the sessions --------------------------------------------------------------------------------------

    def order(self, order: recorder_records.Order) -> None:
        """Gives an order to the relay immediately; does nothing if the relay has ended.

        Outside of a pause, a relay over stdio ignores most orders (:func:`mcp_tui.tap.relay.obey`).
        """
        self._write(_line(order))

    def _write(self, data: bytes) -> None:
        """Writes to the relay without waiting for it, because it may be suspended."""
        waited = bool(self._unwritten)
        self._unwritten += data
        if not waited:
            self._write_rest()
            if self._unwritten:
                self._selector.register(self._orders, selectors.EVENT_WRITE, self._write_rest)

    def _write_rest(self) -> None:
        try:
            while self._unwritten and ready(select.POLLOUT, self._orders, seconds=0):
                write(self._orders, bytes(self._unwritten[: select.PIPE_BUF]))  # so much fits then
                del self._unwritten[: select.PIPE_BUF]
        except OSError:
            self._unwritten.clear()
        if not self._unwritten and self._orders in self._selector.get_map():
            self._selector.unregister(self._orders)

    def warn(self, text: str) -> None:
        """Has the relay write one line to stderr."""
        self.order({"warn": readable(" ".join(text.split()), 400)})

    def say(self, order: recorder_records.Order) -> None:
        """Gives an order about the server in the next pause."""
        self._said.append(order)

    def report(self, order: recorder_records.Order) -> None:
        """Gives an order about the client in the next pause, after the orders about the server."""
        self._reports.append(order)

    def withdraw(self, session: int, id: object) -> bool:
        """Drops the order about a request by its id; returns whether there was one."""
        kept = [each for each in self._reports if each.get("about") != [session, id]]
        withdrawn = len(kept) < len(self._reports)
        self._reports = kept
        return withdrawn

    def said(self, session: int, frame: Frame | Batch) -> tuple[recorder_records.Order, Frame | Batch] | None:
        """Drops an order about the server that the last recorder has given already; returns it with its message."""
        for order in self._said:
            mine = messages.parse((order.get("say") or order.get("body", "")).encode())
            if order.get("about", 0) != session or not isinstance(mine, MethodFrame):
                continue
            if isinstance(frame, MethodFrame) and (mine.method, mine.params) == (frame.method, frame.params):
                self._said.remove(order)
                return order, mine
        return None

    def certain(self, cancel: Callable[[], object]) -> None:
        """Makes a requested cancel wait until all earlier traffic is recorded."""
        self._wanted.append(cancel)

    def add_reader(self, fd: socket.socket, callback: Callable[[], object], /) -> None:
        """Calls ``callback`` whenever the socket can be read."""
        self._selector.register(fd, selectors.EVENT_READ, callback)

    def remove_reader(self, fd: socket.socket, /) -> None:
        """Stops these calls."""
        self._selector.unregister(fd)

    def call_later(self, delay: float, callback: Callable[[], object], /) -> None:
        """Calls ``callback`` once, after ``delay`` seconds."""
        self._timers.append((monotonic() + delay, callback))

    def settings(self) -> Settings:
        """Returns the settings; reports invalid ones."""
        loaded = settings.load()
        for problem in loaded.wrong if not self.restoring else ():
            self.warn(f"{problem}. It is not used.")
        return loaded.settings

    def open_store(
        self, target: Target, chosen: Settings, begin: recorder_records.Begin, began: float
    ) -> Store:
        """Returns the store of a session. Reports what fails; the traffic continues."""

        def opened(record: str | None) -> Store:
            return open_store(
                target,
                journal=chosen.journal.keep,
                record=record,
                keep_secrets=begin.get("keep_secrets", False),
                keep_days=chosen.journal.days or None,
                keep_bytes=chosen.journal.size * 1_000_000 or None,
                purpose="tap",
                client=self.client,
                soon=self._turns.append,
                began=began,
                otlp=begin.get("otlp"),
                unseen=True,
            )

        try:
            store = opened(begin.get("record"))
        except RecordingError as error:
            self.warn(f"{error} The traffic continues.")
            store = opened(None)
        for each in store.log:
            if isinstance(each, ev.Note):
                continues = " The traffic continues." if each.text.startswith("no journal") else ""
                self.warn(f"{each.text.rstrip('.')}.{continues}")
        return store

    # -- limits, and cancels of persons ------------------------------------------------------------------------

    def _look_at_clock(self) -> None:
        now = monotonic()
        if self.restoring:
            return
        if self._pausing:
            if self._more:
                self._kept &= now - self._asked < STALE_PAUSE_SECONDS
                self._asked = now
                self.order({"wait": 1})
            return
        # Unread progress may reset a timeout; nothing resets a max timeout.
        read_until = self._read_until if self._more else now
        soon = now if now >= self._resumed else 0.0
        late = [each for each in self._open_sessions if (each.ledger.deadlines.next() or now + 1) <= soon]
        if (
            self._wanted
            or self._said
            or self._reports
            or any(each.runs_out(read_until, now) for each in late)
        ):
            self._pausing, self._kept, self._asked = True, True, now
            self.order({"hold": 1})
            return
        # The rest is checked after all records are read, because an answer may be among them.
        for each in () if self._more else late:
            # No limit has expired of which the client would get an answer, so none can cross the server's.
            each.tick(now)

    def _decide(self, at: float, where: int) -> None:
        """Decides which limits had expired at the pause, now that everything before it is recorded."""
        self._pausing = False
        now = monotonic()
        if now - at > STALE_PAUSE_SECONDS:
            self._resumed = now + RESUMED_SECONDS
        # Otherwise the relay may have ended the pause, and an answer may be on its way: a new pause is ordered.
        if self._kept and now - max(at, self._asked) < STALE_PAUSE_SECONDS:
            for each in self._open_sessions:
                each.tick(at)
            wanted, self._wanted = self._wanted, []
            for cancel in wanted:
                cancel()
            said, self._said = self._said, []
            for order in said:
                self.order(order)
                self._server_active_at = now  # A server that gets a message may still end its line.
            if (
                where == relay.WITHIN
                and self._reports
                and now - self._server_active_at >= UNENDED_LINE_SECONDS
            ):
                for each in self._open_sessions:
                    self.order({"end_line": each.line_ended(now).decode("latin-1")})
                where = relay.AT_END
            if where == relay.AT_END:
                reports, self._reports = self._reports, []
                for order in reports:
                    self.order(order)
        self.order({"go": 1})


def _line(order: recorder_records.Order) -> bytes:
    return messages.encode(cast("Json", order)) + b"\n"
