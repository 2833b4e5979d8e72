"""The line to the recorder: records go there, orders come back. A recorder that ends is replaced, once.

What both say to each other is in :mod:`mcp_tui.tap.recorder_records`. The recorder reports from time to time which records
another one would need (``taken``): those of what is open, such as the handshake and each request in flight. They stay here,
next to the newer ones, and are given to the next recorder with their first times. So limits and cancels go on, for requests
that were in flight as well, and what was decided and done before is not done again.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import select
from collections import deque
from threading import Condition, Event, Lock, Thread
from time import monotonic, sleep

from mcp_tui.tap import recorder_records
from mcp_tui.tap.pipes import outlive_client, ready, warn, widen
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.transport.guard import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_tui.tap.recorder_records import Begin, Order, TapRecord

QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes that may wait for the recorder."""
SENT_BYTES = 8 * 1024 * 1024
"""Bytes that the recorder may have got since it last reported what another one would need."""
BUNDLE_BYTES = 1 << 18
"""The size of a bundle of records for the recorder, in bytes."""
PIECES = 256
"""The maximum number of pieces in one write."""
JOINED_BYTES = 64 * 1024
"""The size of a bundle up to which its pieces are joined."""
TRAFFIC_SECONDS = 0.1
"""Seconds that records of the traffic wait: nothing runs next to an answer that comes at once, or a flood that soon ends."""
AWAKE = 20
"""How often the thread finds an empty queue before it sleeps: to wake it delays the traffic."""
SHARED_FAILURES = 2
"""Shared recorders in a row that may end before they have taken anything."""
EARLY_SECONDS = 2.0
"""Seconds after the start in which a recorder may die before it can report a full disk."""

FULL_BYTES = 32 * 1024
"""The free space below which a disk counts as full, in bytes."""

LAST_RECORDS_SECONDS = 0.1
"""Seconds for the last records to the recorder."""
LAST_BUNDLE_SECONDS = 0.3
"""Seconds for the thread that sends records to stop."""
PAUSE_LOOK_SECONDS = 0.05
"""Seconds between two checks of whether that thread has to stop."""
RECORDER_SECONDS = 60.0
"""Seconds after which a recorder that reads no records is abandoned."""

LOOK_SECONDS = 0.5
"""Seconds between two checks of a silent recorder."""
STOPPED_LOOKS = 2
"""How many checks find a recorder stopped before it is killed."""
SILENT_LOOKS = 4
"""How many checks find a recorder idle that owes an order before it is killed."""
BUSY_LOOKS = 120
"""The same for a recorder that works, or waits for the processor or a disk."""

AWAY = "Until it has started again, nothing is recorded, and limits, cancel, and ps do not work. The traffic continues."
GONE = (
    "From now on nothing is recorded, and limits, cancel, and ps do not work for this tap. The traffic continues."
    " Restart the server to get them back."
)


class Queue:
    """The records on their way to the recorder, and those that it has and that another one would need."""

    def __init__(self) -> None:
        self.dead = False
        """Whether there is no recorder any more."""
        self.asleep = False
        """Whether the thread that sends records sleeps until it is woken."""
        self.closed = False
        self.bring: Callable[[], object] | None = None
        """Adds the records that wait elsewhere: they are older than any that comes now."""
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
        if self.bring is not None:
            self.bring()
        self.add(kind, monotonic(), data, number)
        if kind not in recorder_records.TRAFFIC:
            self.hurry()

    def add(self, kind: bytes, at: float, data: bytes, number: int = 0) -> None:
        """Adds a record of a time."""
        if self.dead:
            return
        with self._lock:
            # What a server floods the queue with takes no room from its client, whose messages are few.
            room = QUEUE_BYTES * (2 if kind == recorder_records.FROM_CLIENT else 1)
            if self._waiting_bytes > room and kind in recorder_records.MOVED:
                self._missed[kind, number] = self._missed.get((kind, number), 0) + len(data)
                return
            if self._missed:
                self._report_gap()  # At its place, before the first record that followed the dropped bytes.
            self._waiting.append((kind, at, number, data))
            self._waiting_bytes += len(data)
            # The recorder ends by it, and must not be replaced then.
            self.closed |= kind == recorder_records.EXIT

    def _report_gap(self) -> None:
        for (kind, number), size in self._missed.items():
            self._waiting.append(
                (recorder_records.GAP, monotonic(), number, recorder_records.gap(kind, size))
            )
        self._missed.clear()

    def wake(self) -> None:
        """Wakes the thread that sends records."""
        self._there.set()

    def hurry(self) -> None:
        """Wakes that thread, and makes it send immediately."""
        self._urgent = True
        self._there.set()

    def close(self) -> None:
        """Closes the queue for new records."""
        self.closed = True
        self.hurry()

    def take(self) -> tuple[list[bytes | memoryview], int]:
        """Takes the next records, as they are sent; returns the number of their bytes, too."""
        pieces: list[bytes | memoryview] = []
        size = 0
        if self.bring is not None:
            self.bring()
        with self._lock:
            self._urgent = False
            if not self._waiting:  # No record may follow it for a long time.
                self._report_gap()
            while self._waiting and size < BUNDLE_BYTES and (self.closed or self._sent_bytes < SENT_BYTES):
                kind, at, number, data = record = self._waiting.popleft()
                pieces += (recorder_records.head(kind, at, number, len(data)), data)
                size += len(data)
                if not self.closed:  # At the end no new recorder is started.
                    self._sent.append(record)
                    self._sent_bytes += len(data)
            self._waiting_bytes -= size
        if len(pieces) > PIECES // 16 and size < JOINED_BYTES:
            pieces = [b"".join(pieces)]  # Faster than to write many small ones.
        return pieces, size

    def settle(self, count: int) -> None:
        """Forgets this many records: the recorder has taken them, and another one would not need them."""
        with self._lock:
            for _ in range(min(count, len(self._sent))):
                self._sent_bytes -= len(self._sent.popleft()[3])
        if self._waiting:
            self.hurry()

    def rewind(self, why: str) -> None:
        """Makes all records that are kept unsent again, followed by a record of why the last recorder ended."""
        with self._lock:
            # The recorder before may have ended before it had read where the one before that had.
            kept = (each for each in (*self._sent, *self._waiting) if each[0] != recorder_records.REPLACED)
            self._waiting = deque(kept)
            self._waiting_bytes += self._sent_bytes
            self._sent.clear()
            self._sent_bytes = 0
        self.put(recorder_records.REPLACED, why.encode())

    @property
    def is_pending(self) -> bool:
        """Whether a record was not taken for the recorder."""
        return bool(self._waiting)

    @property
    def is_owed(self) -> bool:
        """Whether the recorder has not reported about some of its records."""
        return bool(self._sent)

    def rest(self, seconds: float | None = None) -> None:
        """Waits for an urgent record, or for ``seconds``; without ``seconds`` for any record."""
        # Cleared before the check, not after: a record queued between the check and the wait sets it again.
        self._there.clear()
        if seconds is None and self.bring is not None:
            self.bring()
        if not (self._urgent or (seconds is None and self._waiting)):
            self._there.wait(seconds)

    def abandon(self) -> None:
        """Drops all records from now on."""
        with self._lock:
            self.dead = True
            self._waiting.clear()
            self._sent.clear()


class RecorderLink:
    """The recorder of a tap, as the process sees it that moves the bytes.

    One thread hands the records on (:meth:`feed`), and one reads the orders (:meth:`next`).
    """

    def __init__(self, process: RecorderProcess, queue: Queue | None = None) -> None:
        self.queue = Queue() if queue is None else queue
        self._process = process
        self._begin: Begin = {"at": 0.0}
        self._checkpoint = b""
        """The last checkpoint."""
        self._due = 0.0
        """When the recorder has to act without a record, in monotonic seconds; 0 for never."""
        self._unsent: list[bytes | memoryview] = []
        self._stopped = False
        self._replaced = False
        self._failures = 0
        """Shared recorders in a row that ended before they had taken anything: what they get here may be why."""
        self._changed = Condition()
        self._lost = False
        """Whether the recorder has ended and is not replaced yet."""
        self._why = ""
        self._status: int | None = None
        self._received = b""
        """The received bytes of orders that are not read yet."""
        self._looks = 0
        """Those in a row at a recorder that owes a word."""
        self._is_stopped = False
        self._ticks = -1
        self._began = monotonic()
        self._warned = False
        widen(process.records)

    # -- records, in a thread of their own ---------------------------------------------------------------------

    def feed(self, begin: Begin) -> None:
        """Sends records, ``begin`` first, until there is no recorder."""
        self._begin = begin
        self._unsent = [self._first()]
        self._feed()

    def _first(self) -> bytes:
        return recorder_records.begin(self._begin)

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
            elif queue.closed and not queue.is_pending:  # The last record may have come since.
                os.close(self._process.records)
                queue.abandon()  # Later records cannot be sent.
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
                # Otherwise the thread that reads orders notices it, after it has read the last one.
                sleep(PAUSE_LOOK_SECONDS)

    def finish(self, feeding: Thread) -> None:
        """Closes the line. A child process sends the rest of the records, so that the client need not wait."""
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
            os.close(self._process.orders)  # The recorder has ended.
            self._stopped = False
            self._feed()
        finally:
            os._exit(0)

    # -- a new recorder --------------------------------------------------------------------------------------

    def _replace(self) -> bool:
        """Starts a new recorder in place of one that has ended; returns whether there is one.

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
            checkpoint = (recorder_records.CHECKPOINT, monotonic(), 0, self._checkpoint)
            self._unsent = [self._first(), recorder_records.packed([checkpoint])]
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
                # Queued before the decision is carried out, so that a new recorder knows that it may have been.
                self.queue.put(recorder_records.DECISION, order["decided"].encode())
            else:
                return order

    def _await_replacement(self) -> Order | None:
        """Waits until a new recorder is there; returns ``None`` if there will be none."""
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
        """Returns the bytes that follow a line; ``None`` if the recorder ended before."""
        while len(self._received) < size:
            if not self._receive(None):
                return None
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _receive(self, until: float | None) -> bool:
        """Waits for more bytes of orders, for a limited time; returns false if the recorder has ended."""
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
        """Checks a silent recorder, and kills it if it was stopped, or is idle although it owes an order."""
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
            os.kill(self._process.pid, SIGKILL)
        except OSError:  # The process has ended.
            return


def _ticks(pid: int) -> int:
    """Returns a number that changes while a process works, or waits for the processor or a disk."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # Only Linux has this file.
        return int(monotonic() * 1000)
    return int(monotonic() * 1000) if fields[0] in (b"R", b"D") else int(fields[11]) + int(fields[12])


def warn_of_full_disk() -> None:
    """Reports on stderr that the disk of the journals is full, for a recorder that a tap does not wait for."""
    # Only in a session that ends at once.
    from mcp_tui.journal.state_folder import state_folder

    try:
        folder = state_folder()
        there = next(each for each in (folder, *folder.parents) if each.exists())
        disk = os.statvfs(there)
    except (OSError, StopIteration):
        return  # The recorder reports other errors itself.
    if disk.f_bavail * disk.f_frsize < FULL_BYTES:
        warn(f"No journal: the disk of {folder} is full. The traffic continues.")
