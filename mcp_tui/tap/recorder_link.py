"""The line to the recorder: records go there, orders come back. A recorder that ends is replaced, once.

What both say to each other is in :mod:`mcp_tui.tap.records`. The recorder reports from time to time which records another
one would need (``taken``): those of what is open, such as the handshake and each request in flight. They stay here, next to
the newer ones, and are given to the next recorder with their first times. So limits and cancels go on, for requests that
were in flight as well, and what was decided and done before is not done again.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from threading import Condition, Event, Lock, Thread
from time import monotonic, sleep

from mcp_tui.tap import records
from mcp_tui.tap.pipes import outlive_client, ready, warn, widen
from mcp_tui.tap.recorder_process import RecorderProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_tui.tap.records import Begin, Order, TapRecord

QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes that may wait for the recorder."""
SENT_BYTES = 8 * 1024 * 1024
"""Bytes that the recorder may have got since it last reported what another one would need."""
BUNDLE_BYTES = 1 << 18
"""Bytes that are handed to the recorder at a time."""
PIECES = 256
"""Pieces of them that are written at a time."""
TRAFFIC_SECONDS = 0.1
"""Seconds that records of the traffic wait: nothing runs next to an answer that comes at once, or a flood that soon ends."""
AWAKE = 20
"""Times that the queue is looked at in vain before its thread sleeps: to wake it costs the bytes some of their time."""
SHARED_FAILURES = 2
"""Shared recorders in a row that may end before they have taken anything."""
EARLY_SECONDS = 2.0
"""Seconds from the start in which a recorder may have had no time to say that it cannot write."""

FULL_BYTES = 32 * 1024
"""Free bytes of a disk that is full."""

LAST_RECORDS_SECONDS = 0.1
"""Seconds for the last records to the recorder."""
LAST_BUNDLE_SECONDS = 0.3
"""Seconds for the thread that hands them on to stop."""
PAUSE_LOOK_SECONDS = 0.05
"""Seconds between two looks whether it shall."""
RECORDER_SECONDS = 60.0
"""Seconds after which a recorder that takes nothing any more is given up."""

LOOK_SECONDS = 0.5
"""Seconds between two looks at a recorder that says nothing."""
STOPPED_LOOKS = 2
"""Looks at a stopped recorder before it is ended."""
SILENT_LOOKS = 4
"""Looks at a recorder that owes a word and does nothing before it is ended."""
BUSY_LOOKS = 120
"""The same for one that is at work, or waits for the processor or a disk."""

AWAY = "Until it has started again, nothing is recorded, and limits, cancel, and ps do not work. The traffic continues."
GONE = (
    "From now on nothing is recorded, and limits, cancel, and ps do not work for this tap. The traffic continues."
    " Restart the server to get them back."
)


class Queue:
    """The records on their way to the recorder, and those that it has and that another one would need."""

    def __init__(self) -> None:
        self.dead = False
        """There is no recorder any more."""
        self.asleep = False
        """The thread that hands the records on waits until it is woken."""
        self.closed = False
        self._lock = Lock()
        self._there = Event()
        self._waiting: deque[TapRecord] = deque()
        self._waiting_bytes = 0
        self._sent: deque[TapRecord] = deque()
        self._sent_bytes = 0
        self._missed: dict[tuple[bytes, int], int] = {}
        self._urgent = False

    def put(self, kind: bytes, data: bytes = b"", number: int = 0) -> None:
        """Adds a record, without waiting for anything. The recorder soon has it, or at once if it is not of the traffic."""
        if self.dead:
            return
        with self._lock:
            if self._waiting_bytes > QUEUE_BYTES and kind in records.MOVED:
                self._missed[kind, number] = self._missed.get((kind, number), 0) + len(data)
                return
            self._report_gap()  # where it was: in front of the first record behind it
            self._waiting.append((kind, monotonic(), number, data))
            self._waiting_bytes += len(data)
        if kind not in records.TRAFFIC:
            self.hurry()

    def _report_gap(self) -> None:
        for (kind, number), size in self._missed.items():
            self._waiting.append((records.GAP, monotonic(), number, records.gap(kind, size)))
        self._missed.clear()

    def wake(self) -> None:
        """Wakes the thread that hands the records on."""
        self._there.set()

    def hurry(self) -> None:
        """Wakes it, and has it look at once."""
        self._urgent = True
        self._there.set()

    def close(self) -> None:
        """Ends the queue behind what is in it."""
        self.closed = True
        self.hurry()

    def take(self) -> tuple[list[bytes | memoryview], int]:
        """Takes the next records, as they are sent; returns the number of their bytes, too."""
        pieces: list[bytes | memoryview] = []
        size = 0
        with self._lock:
            self._urgent = False
            if not self._waiting:  # nothing may come behind it for long
                self._report_gap()
            while self._waiting and size < BUNDLE_BYTES and (self.closed or self._sent_bytes < SENT_BYTES):
                kind, at, number, data = record = self._waiting.popleft()
                pieces += (records.head(kind, at, number, len(data)), data)
                size += len(data)
                if not self.closed:  # at the end no other recorder follows
                    self._sent.append(record)
                    self._sent_bytes += len(data)
            self._waiting_bytes -= size
        return pieces, size

    def settle(self, count: int) -> None:
        """Forgets this many records: the recorder has taken them, and another one would not need them."""
        with self._lock:
            for _ in range(min(count, len(self._sent))):
                self._sent_bytes -= len(self._sent.popleft()[3])
        if self._waiting:
            self.hurry()

    def rewind(self, why: str) -> None:
        """Has all records that are kept sent again, and behind them why."""
        with self._lock:
            # The recorder before may have ended before it had read where the one before that had.
            kept = (each for each in (*self._sent, *self._waiting) if each[0] != records.REPLACED)
            self._waiting = deque(kept)
            self._waiting_bytes += self._sent_bytes
            self._sent.clear()
            self._sent_bytes = 0
        self.put(records.REPLACED, why.encode())

    @property
    def is_pending(self) -> bool:
        """Whether a record was not taken for the recorder."""
        return bool(self._waiting)

    @property
    def is_owed(self) -> bool:
        """Whether the recorder has records about which it said nothing."""
        return bool(self._sent)

    def rest(self, seconds: float | None = None) -> None:
        """Waits until there is something urgent, or for so long; else until there is anything."""
        # Cleared before the looks, not after: what is put between a look and the wait has set it again.
        self._there.clear()
        if not (self._urgent or (seconds is None and self._waiting)):
            self._there.wait(seconds)

    def abandon(self) -> None:
        """Keeps nothing from now on."""
        with self._lock:
            self.dead = True
            self._waiting.clear()
            self._sent.clear()


class RecorderLink:
    """The recorder of a tap, as the process sees it that moves the bytes.

    One thread hands the records on (:meth:`feed`), and one reads the orders (:meth:`next`).
    """

    def __init__(self, process: RecorderProcess) -> None:
        self.queue = Queue()
        self._process = process
        self._begin: Begin = {"at": 0.0}
        self._checkpoint = b""
        """The records from which another recorder could go on."""
        self._due = 0.0
        """When the recorder has something to do although no record comes, 0 for never."""
        self._unsent: list[bytes | memoryview] = []
        self._stopped = False
        self._replaced = False
        self._failures = 0
        """Shared recorders in a row that ended before they had taken anything: what they get here may be why."""
        self._changed = Condition()
        self._lost = False
        """The recorder has ended, and there is no other yet."""
        self._why = ""
        self._status: int | None = None
        self._received = b""
        """What came of orders, up to the end of the last line."""
        self._looks = 0
        """Those in a row at a recorder that owes a word."""
        self._is_stopped = False
        self._ticks = -1
        self._began = monotonic()
        self._warned = False
        widen(process.records)

    # -- records, in a thread of their own ---------------------------------------------------------------------

    def feed(self, begin: Begin) -> None:
        """Hands the records to the recorder, until there is none. The first one is the beginning."""
        self._begin = begin
        self._unsent = [self._first()]
        self._feed()

    def _first(self) -> bytes:
        return records.begin(self._begin)

    def _feed(self) -> None:
        queue, looks = self.queue, 0
        while not self._stopped:
            if self._lost and not self._replace():
                return
            size = 0
            if not self._unsent:
                self._unsent, size = queue.take()
            if self._unsent:
                looks = 0
                self._send()
            elif queue.closed:
                os.close(self._process.records)
                queue.abandon()  # what comes now comes too late
                return
            if size < BUNDLE_BYTES and not queue.closed:
                looks += 1
                if looks > AWAKE:
                    queue.asleep = True
                    queue.rest()
                    queue.asleep = False
                queue.rest(TRAFFIC_SECONDS)

    def _send(self) -> None:
        """Sends what is taken, as the recorder reads it; stops between two pieces when it shall."""
        pieces = self._unsent
        until = monotonic() + RECORDER_SECONDS
        while pieces and not (self._stopped or self._lost):
            try:
                if ready(select.POLLOUT, self._process.records, seconds=PAUSE_LOOK_SECONDS):
                    size, whole = os.writev(self._process.records, pieces[:PIECES]), 0
                    while pieces[whole:] and size >= len(pieces[whole]):
                        size -= len(pieces[whole])
                        whole += 1
                    del pieces[:whole]
                    if size:
                        pieces[0] = memoryview(pieces[0])[size:]
                    until = monotonic() + RECORDER_SECONDS
                elif self.queue.closed and monotonic() > until:
                    raise OSError
            except OSError:
                if self.queue.closed:
                    self._lost = True
                # Else whoever reads the orders notices it, once all are read that it gave.
                sleep(PAUSE_LOOK_SECONDS)

    def finish(self, feeding: Thread) -> None:
        """Ends the line. What the recorder does not read at once is left to a process: the client must not wait."""
        self.queue.close()
        if monotonic() - self._began < EARLY_SECONDS and not self._warned:
            warn_of_full_disk()
        feeding.join(LAST_RECORDS_SECONDS)
        self._stopped = True
        feeding.join(LAST_BUNDLE_SECONDS)
        if self.queue.dead or not (self.queue.is_pending or self._unsent) or feeding.is_alive():
            return
        if os.fork():
            return
        try:
            outlive_client()
            os.close(self._process.orders)  # nobody reads them any more
            self._stopped = False
            self._feed()
        finally:
            os._exit(0)

    # -- another recorder --------------------------------------------------------------------------------------

    def _replace(self) -> bool:
        """Starts another recorder in place of one that has ended; returns whether there is one.

        One of our own is replaced once. It comes in place of a shared one that fails here, or cannot be kept running.
        """
        queue, old = self.queue, self._process
        os.close(old.records)
        if queue.closed:
            queue.abandon()
            return False
        why = self._ended(old.pid)
        self._failures += 1
        if self._replaced:
            warn(f"{why} again. {GONE}")
            queue.abandon()
        else:
            warn(f"{why}. {AWAY}")
            shared = old.shared and not self._why and self._failures <= SHARED_FAILURES
            self._process = RecorderProcess(old.kind, old.session, shared=shared)
            widen(self._process.records)
            queue.rewind(why)
            self._begin = {**self._begin, "again": 1}
            checkpoint = (records.CHECKPOINT, monotonic(), 0, self._checkpoint)
            self._unsent = [self._first(), records.packed([checkpoint])]
        with self._changed:
            self._replaced, self._lost = not self._process.shared, False
            self._looks, self._is_stopped, self._ticks, self._due = 0, False, -1, 0.0
            self._why, self._status, self._received = "", None, b""
            self._changed.notify_all()
        return not queue.dead

    def _ended(self, pid: int) -> str:
        """Returns how a recorder ended."""
        until = monotonic() + 1
        while pid and self._status is None and monotonic() < until:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                break
            if done:
                self._status = status
            else:
                sleep(0.005)
        if self._why or self._status is None:
            return self._why or "the recorder ended"
        code = os.waitstatus_to_exitcode(self._status)
        how = f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"
        return f"the recorder {how}"

    # -- orders ------------------------------------------------------------------------------------------------

    def next(self, until: float | None = None) -> Order | None:
        """Returns the next order; ``None`` if it did not come in time, or if no recorder will ever give one.

        A recorder that ends, ends what it has begun: without ``until``, the order that follows is ``go``.
        """
        while True:
            line = self._line(until)
            if line == b"":
                return None
            if line is None:
                return None if until is not None else self._await_replacement()
            # Behind the first order of the recorder: the relay starts without.
            from json import loads

            order: Order = loads(line)
            if "taken" in order:
                data = self._bytes(order.get("size", 0))
                if data is not None:
                    self._failures = 0
                    self._checkpoint, self._due = data, order.get("due", 0.0)
                    self.queue.settle(order["taken"])
            elif "warn" in order:
                self._warned = True
                warn(order["warn"])
            elif "recorder" in order:
                self._process.pid = order["recorder"]
            elif "failed" in order:
                self._why = order["failed"]
            elif "decided" in order:
                # Before anything of it is done: another recorder has to know that it may have been.
                self.queue.put(records.DECISION, order["decided"].encode())
            else:
                return order

    def _await_replacement(self) -> Order | None:
        """Waits until another recorder is there; returns ``None`` if there will be none."""
        queue, old = self.queue, self._process
        with self._changed:
            self._lost = True
            queue.hurry()
            while self._lost and not queue.closed:
                self._changed.wait(LOOK_SECONDS)
        os.close(old.orders)
        return None if queue.dead or queue.closed else {"go": 1}

    def _line(self, until: float | None) -> bytes | None:
        """Returns the next line of orders; nothing if it did not come in time, ``None`` if the recorder has ended."""
        while b"\n" not in self._received:
            if not self._receive(until):
                return None
            if b"\n" not in self._received and until is not None and monotonic() >= until:
                return b""
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _bytes(self, size: int) -> bytes | None:
        """Returns what follows a line; ``None`` if the recorder ended before all of it came."""
        while len(self._received) < size:
            if not self._receive(None):
                return None
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _receive(self, until: float | None) -> bool:
        """Waits for more of the orders, for a while; returns false if the recorder has ended."""
        seconds = LOOK_SECONDS if until is None else min(LOOK_SECONDS, max(0.0, until - monotonic()))
        if not ready(select.POLLIN, self._process.orders, seconds=seconds):
            if seconds == LOOK_SECONDS:
                self._look()
            return bool(self._process.pid) or self._looks < BUSY_LOOKS
        piece = os.read(self._process.orders, 1 << 18)
        self._received += piece
        self._looks = 0
        return bool(piece)

    def _look(self) -> None:
        """Looks at a recorder that says nothing, and ends it if it was stopped, or does not work although it should."""
        pid, changed, status = self._process.pid, 0, 0
        try:
            if pid:
                changed, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:
            if not self._process.shared:
                return
        if changed and (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
            self._status = status
            return
        if changed:
            self._is_stopped, self._looks = os.WIFSTOPPED(status), 0
        owes = self.queue.is_owed or 0 < self._due < monotonic() - LOOK_SECONDS
        self._looks = self._looks + 1 if owes or self._is_stopped else 0
        if self._is_stopped:
            if self._looks >= STOPPED_LOOKS:
                self._end("the recorder was stopped, and is ended")
        elif pid and self._looks >= SILENT_LOOKS:
            ticks, self._ticks = self._ticks, _ticks(pid)
            if self._ticks == ticks or self._looks >= BUSY_LOOKS:
                self._end(f"the recorder did not answer for {self._looks * LOOK_SECONDS:g} s, and is ended")

    def _end(self, why: str) -> None:
        self._why = why
        try:
            os.kill(self._process.pid, signal.SIGKILL)
        except OSError:  # it is gone
            return


def _ticks(pid: int) -> int:
    """Returns a number that changes while a process works, or waits for the processor or a disk."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # only Linux tells
        return int(monotonic() * 1000)
    return int(monotonic() * 1000) if fields[0] in (b"R", b"D") else int(fields[11]) + int(fields[12])


def warn_of_full_disk() -> None:
    """Says that the disk of the journals is full, for a recorder that a tap does not wait for."""
    # Only in a session that ends at once.
    from mcp_tui.journal.state_folder import state_folder

    try:
        folder = state_folder()
        there = next(each for each in (folder, *folder.parents) if each.exists())
        disk = os.statvfs(there)
    except (OSError, StopIteration):
        return  # what cannot be seen is left to the recorder
    if disk.f_bavail * disk.f_frsize < FULL_BYTES:
        warn(f"No journal: the disk of {folder} is full. The traffic continues.")
