"""The relay: the process that a client starts in place of its server. It moves bytes, and acts on orders of the recorder.

Three processes belong to a tap. This one stands where the server stood: its standard streams are the client's, its exit
status and its signals the server's. The guard (:mod:`mcp_tui.transport.guard`, forked before) owns the server, so that it
never outlives this process. The recorder (:mod:`mcp_tui.tap.stdio_recorder`) gets a copy of every byte: it parses, keeps the
journal, and decides which limits have expired. If it fails, the bytes still pass.

A chunk is queued for the recorder before it is handed on; otherwise an answer could be recorded before its request. The
queue never blocks: when the recorder is far behind, the queue drops bytes and reports how many.

To act, the recorder asks for a *pause*: the direction from the server stops at the end of a line, the recorder reads
everything before that, and only then decides. So the tap never answers a request that the server has answered. If no line
ends soon, the server gets its message immediately, and the client later (:mod:`mcp_tui.tap.recorder_loop`). Only while
answers are withheld does the relay read lines: those of the server, and those of the client, which may use an id again.

The protocol between both is in :mod:`mcp_tui.tap.recorder_records`.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import select
import sys
from threading import Condition, RLock, Thread
from time import monotonic, sleep

from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.tap import recorder_records
from mcp_tui.tap.pipes import cannot_start, end, is_closed, is_running, read, ready, warn, widen, write
from mcp_tui.tap.recorder_link import Queue, RecorderLink
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.started_server import StartedServer
from mcp_tui.tap.withheld_answers import WithheldAnswers
from mcp_tui.transport.guard import end_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

    from mcp_tui.config.tap_words import TapOptions
    from mcp_tui.tap.once_stdio import StdioGuard
    from mcp_tui.tap.recorder_records import Order, StdioBegin
else:
    import _signal as signal  # The module in Python makes enums, for which it loads more than all of this needs.

_OF_ONE_RUN = ("at", "client", "pid", "path")
"""The members of the first record that differ each time a client starts the tap."""

STDERR = 2
SWITCH = 0.0001
"""Seconds after which the thread that sends records yields to those that move bytes; Python's default is 5 ms."""
PAUSE_SECONDS = 2.0
"""Seconds without an order of the recorder after which a pause of the answers ends."""
LINE_SECONDS = 0.2
"""Seconds that a pause waits for the end of a line. No limit is checked meanwhile."""
AT_END, WITHIN, UNREAD = range(3)
"""Where a pause is: at the end of a line, within one, or nowhere, because the client does not read."""
SIFTED_BYTES = 128 * 1024 * 1024
"""The maximum size of a line that is read while answers are withheld, in bytes. A longer one passes unread."""
LAST_BYTES_SECONDS = 0.3
"""Seconds after the server's exit in which its last bytes must arrive."""
UNREAD_SECONDS = 2.0
"""Seconds that a client that has told the server to end may take to read a piece of its last bytes."""
END_SECONDS = 2.0
"""Seconds that a server has to end after its client has left, before SIGTERM, and then again before SIGKILL."""
LAST_REPORT_SECONDS = 0.45
"""Seconds that the recorder may take to report which spans did not reach a collector."""
CLIENT_LOOK_SECONDS = 0.5
"""Seconds between two checks of whether the client still runs, after it has closed its end."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that ask a server to end."""
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
"""Signals that are passed on to the server."""


def lines(begun: list[bytes], data: bytes) -> Iterator[bytes]:
    """Yields the lines that these bytes complete. The pieces of an incomplete one stay in ``begun``."""
    start = 0
    while cut := data.find(b"\n", start) + 1:
        line = b"".join((*begun, data[start:cut]))
        begun.clear()
        start = cut
        yield line
    if start < len(data):
        begun.append(data[start:])


class ByteStream:
    """One direction of bytes. The tap inserts its messages between two lines."""

    def __init__(
        self,
        source: int,
        sink: int,
        kind: bytes,
        queue: Queue,
        answers: WithheldAnswers | None = None,
        server: int = 0,
    ) -> None:
        self.source = source
        self.sink = sink
        self.kind = kind
        self.queue = queue
        self.ended = False
        self.broken = False
        """Whether nobody reads the sink any more."""
        self.reading = False
        self.moved = 0
        """The number of pieces that were written."""
        self._lock = RLock()
        self._turn = Condition(self._lock)
        self._boundary = True
        self._waiting = 0
        self._pieces: list[bytes] = []
        """The pieces of an incomplete line, while lines are read."""
        self.withheld = WithheldAnswers()
        self.answers = answers
        """The withheld answers to the requests of this direction."""
        self.guard: StdioGuard | None = None
        self.other: ByteStream | None = None
        """The other direction."""
        self._lines: list[bytes] = []
        """The beginning of a line that the guard has not seen yet."""
        self._asked: list[bytes] = []
        self._server = server
        """The server's process id."""

    def run(self) -> None:
        """Moves bytes until either end is closed."""
        while not self.broken:
            self.reading = True
            data = read(self.source)
            self.reading = False
            if not data:
                break
            with self._lock:
                if self.guard is None or not self._has_passed(self.guard, data):
                    # The copy is queued first: once the bytes have left, their answer may arrive, and the thread of the
                    # other direction records it.
                    self.queue.put(self.kind, data)
                    if self.answers is not None:
                        self._look_at_requests(data)
                        data = self._guarded(data)
                    self._move(data)
            self.moved += 1
            # After the write: to wake a thread takes 70 µs on a busy machine, and the bytes need not wait for that.
            if self.queue.asleep:
                self.queue.wake()
        with self._lock:
            self._write(b"".join((*self._pieces, *self._lines)))
            self._over()
            self.ended = True
            by_client = not self.broken and is_running(self._server)
            if self.kind == recorder_records.FROM_SERVER:
                by_client = self.broken
            self.queue.put(recorder_records.STREAM_END, self.kind, number=by_client)
            self._turn.notify_all()
        if self.broken:
            # As without a tap: the writer has to notice that nobody reads.
            end(self.source)
        if self.sink != STDERR:  # The tap may have messages of its own for this end.
            end(self.sink)

    def _has_passed(self, guard: StdioGuard, data: bytes) -> bool:
        """Lets bytes pass that the guard reads later; returns false if it has to read them first."""
        if self._waiting or self._lines or self._pieces:
            return False
        if self.answers is not None:
            if self.answers or not guard.sends(data):
                return False
            self._asked.clear()
            self._write(data)
            return True
        if self.withheld or not guard.answers(data, self._crosses):
            return False
        self._write(data)
        if self.broken:
            guard.undelivered()
        else:
            guard.has_answered(data)
        return True

    def _guarded(self, data: bytes) -> bytes:
        """Returns what is sent of the lines that these bytes complete. An incomplete line waits: it cannot be read yet."""
        guard = self.guard
        if guard is None:
            return data
        passed = [
            line if len(line) > SIFTED_BYTES else guard.asked(line) for line in lines(self._lines, data)
        ]
        return b"".join(passed)

    def _over(self) -> None:
        """Has the guard answer the calls that the server cannot answer any more, before the client's stream is closed."""
        if self.guard is None:
            return
        if self.answers is not None:
            self.guard.input_over()
            return
        for kind, line in self.guard.over("the server ended, or closed its output, in the call"):
            self.queue.put(kind, line)
            self._write(line)

    def _move(self, data: bytes) -> None:
        if self._waiting:
            # Another thread waits for the end of a line. The bytes up to it pass; the rest waits until that thread is done.
            cut = data.rfind(b"\n") + 1
            if cut:
                self._hand_on(data[:cut])
                data = data[cut:]
            if self._boundary:
                self._turn.notify_all()
                self._turn.wait_for(lambda: not self._waiting)
        if data:
            self._hand_on(data)

    def _hand_on(self, data: bytes) -> None:
        guard = None if self.answers is not None else self.guard
        if not (self.withheld or self._pieces or (guard is not None and guard.looks)):
            self._write(data)
            return
        for line in lines(self._pieces, data):
            passed = line if len(line) > SIFTED_BYTES else self.withheld.sift(line)
            told = (
                () if guard is None else guard.answered(line, passes=bool(passed), crossing=self._crosses())
            )
            if passed:
                self._write(passed)
            for kind, own in told:
                self.queue.put(kind, own)
                self._write(own)
            if self.broken and guard is not None:
                guard.undelivered()

    def _crosses(self) -> bool:
        """Whether the client has sent bytes that the tap has not handled yet."""
        up = self.other
        return up is not None and (not up.reading or bool(ready(select.POLLIN, up.source, seconds=0)))

    def _look_at_requests(self, data: bytes) -> None:
        if not self.answers:
            self._asked.clear()
            return
        for line in lines(self._asked, data):
            if len(line) <= SIFTED_BYTES:
                self.answers.renew(line)

    def _write(self, data: bytes) -> None:
        if self.broken or not data:
            return
        try:
            write(self.sink, data)
        except OSError:
            self.broken = True
        self._boundary = data.endswith(b"\n")

    # -- what the tap says and withholds ------------------------------------------------------------------------

    def __enter__(self) -> None:
        """Waits for the end of a line, and pauses the direction there."""
        self.pause(None)

    def __exit__(self, *_: object) -> None:
        self.resume()

    def pause(self, seconds: float | None) -> int:
        """Waits for the end of a line, for ``seconds`` at most, and pauses the direction; returns where.

        ``UNREAD`` means that it is not paused: a client that does not read keeps it busy. Otherwise call :meth:`resume`.
        """
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return UNREAD
        self._waiting += 1
        there = self._turn.wait_for(lambda: self._boundary or self.ended or self.broken, seconds)
        return AT_END if there else WITHIN

    def resume(self) -> None:
        """Ends a pause."""
        self._waiting -= 1
        self._turn.notify_all()
        self._lock.release()

    def say(self, line: bytes, kind: bytes = b"") -> None:
        """Writes a message that the tap made, and records whether it could be written."""
        with self:
            self.broken |= is_closed(self.sink)
            if not (self.ended or self.broken):
                self.queue.put(kind or self.kind.upper(), line)
                self._write(line)
            if self.ended or self.broken:
                self.queue.put(recorder_records.UNWRITTEN, self.kind + line)

    def end_line(self, passed: bytes) -> None:
        """Ends an incomplete line, of which ``passed`` has passed. The whole line passes again once the rest arrives."""
        self._write(b"\n")
        if passed:
            self._pieces[:] = [passed]


def _folder() -> str:
    """Returns the working directory; empty if it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib is a costly import
    except OSError:
        return ""


class Relay:
    """A running tap."""

    def __init__(self, server: StartedServer, options: TapOptions) -> None:
        self.server = server
        self._parent = os.getppid()
        self.begin: StdioBegin = {
            **options,
            "command": server.command,
            "path": server.path,
            "client": self._parent,
            "folder": _folder(),
            "at": monotonic(),
            "pid": 0,
        }
        self.pid = 0
        """The process id of the server."""
        self.code: int | None = None
        self._guard_code = 0
        """The number of the signal that ended the guard."""
        self._signals: list[int] = []
        """Received signals that are not passed on yet."""
        self._ending = False
        """Whether the client wants the server to end, and may not read any more."""
        self._hurried = False
        """Whether the client said so after the server's end, so that unread bytes are dropped."""

    def run(self) -> int:
        """Moves the bytes between client and server; returns the server's exit code, negative for a signal."""
        server = self.server
        sys.setswitchinterval(SWITCH)
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        passed_on = [getattr(signal, name) for name in PASSED_ON]
        for number in passed_on:
            signal.signal(number, self._take)
        # Masks are inherited: the client may have blocked signals that its server handles.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
        reports = b""
        while b"\n" not in reports:
            piece = os.read(server.reports, 4096)
            if not piece:
                break
            reports += piece
        first, _, reports = reports.partition(b"\n")
        word, _, value = first.partition(b" ")
        if word != b"started":
            why = os.strerror(int(value)) if value else "its guard process ended"
            warn(f"cannot start {server.command[0] or repr('')}: {why}.")
            return 127
        self.pid = self.begin["pid"] = int(value)
        for each in (server.stdin, server.stdout):
            widen(each)
        queue = Queue()
        down = ByteStream(server.stdout, 1, recorder_records.FROM_SERVER, queue)
        up = ByteStream(0, server.stdin, recorder_records.FROM_CLIENT, queue, down.withheld, self.pid)
        down.other = up
        given = self.begin.get("once")
        policy = OncePolicy.in_settings() if given is None else OncePolicy.given(given)
        guard = None if policy is None else self._guard(policy, up, down)
        errors = ByteStream(server.stderr, 2, recorder_records.FROM_STDERR, queue)
        for each in (down, up, errors):
            self._spawn(each.run)
        recorder = self._recorder(queue)
        feeding = self._spawn(lambda: recorder.feed(self.begin))
        obeying = self._spawn(lambda: obey(recorder, up, down))
        self._watch(woken, reports, up, down, queue)
        for each in (down, errors):
            wait_for_rest(each, wanted=not self._ending, hurried=lambda: self._hurried)
        queue.put(recorder_records.EXIT, b"" if self.code is None else b"%d" % self.code, self._guard_code)
        if guard is not None:
            guard.close()
        recorder.finish(feeding)
        if "otlp" in self.begin:
            obeying.join(LAST_REPORT_SECONDS)
        return -signal.SIGKILL if self.code is None else self.code

    def _guard(self, policy: OncePolicy, up: ByteStream, down: ByteStream) -> StdioGuard:
        """Starts the guard of ``--once``."""
        # Only with that option, or setting.
        from mcp_tui.stand_ins import load_json, spare_modules

        spare_modules()
        load_json()
        # What the guard needs of pydantic_core is loaded now.
        from mcp_tui.tap.once_stdio import StdioGuard, made

        options = sorted((name, value) for name, value in self.begin.items() if name not in _OF_ONE_RUN)
        guard = StdioGuard(*made(policy, options, self.begin.get("name", "")), up, down)
        up.guard = down.guard = guard
        return guard

    def _recorder(self, queue: Queue) -> RecorderLink:
        """Starts the recorder. The bytes move already: its start would take a processor from a server that starts."""
        # Spans are sent by threads of their own, and a file that a person names may be anywhere.
        shared = "record" not in self.begin and "otlp" not in self.begin
        try:
            return RecorderLink(RecorderProcess("stdio", shared=shared), queue)
        except OSError as error:
            cannot_start(error)

    def _spawn(self, work: Callable[[], None]) -> Thread:
        thread = Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _take(self, number: int, _frame: FrameType | None) -> None:
        """Notes a signal of the client. :meth:`_watch` passes it on, because this thread may hold a lock here."""
        if self.code is not None:
            self._hurried |= number in ENDING
            return
        self._ending |= number in ENDING
        self._signals.append(number)

    # -- the end ---------------------------------------------------------------------------------------------

    def _watch(self, woken: int, reports: bytes, up: ByteStream, down: ByteStream, queue: Queue) -> None:
        """Passes signals on, and waits for the end of the server, or ends it after its client has left."""
        control = self.server.reports
        steps: list[tuple[float, int]] = []
        while True:
            self._pass_on(queue)
            if self._is_over(reports):
                return
            now = monotonic()
            if not steps and is_let_go(
                # While the server does not read, the end of its input does not arrive.
                input_over=up.ended or is_closed(0),
                unread=down.broken or is_closed(1),
                orphaned=os.getppid() != self._parent,
                told=self._ending,
            ):
                steps = [(now + END_SECONDS, signal.SIGTERM), (now + 2 * END_SECONDS, signal.SIGKILL)]
            if steps and steps[0][0] <= now:
                number = steps.pop(0)[1]
                queue.put(recorder_records.TAP_SIGNAL, number=number)
                self._request(b"K0" if number == signal.SIGKILL else b"T0")
            there = ready(select.POLLIN, control, woken, seconds=CLIENT_LOOK_SECONDS)
            if woken in there:
                os.read(woken, 512)
            reports = b""
            if control in there:
                reports = os.read(control, 4096)
                if not reports:  # The guard and its backup were killed.
                    self._guard_code = self._guard_code or signal.SIGKILL
                    end_group(self.pid)
                    return

    def _pass_on(self, queue: Queue) -> None:
        """Passes received signals on. Each is recorded before, because the server may end immediately."""
        while self._signals:
            number = self._signals.pop(0)
            # A server that has exited before was not ended by the signal.
            if number in ENDING and is_running(self.pid):
                queue.put(recorder_records.CLIENT_SIGNAL, number=number)
            try:
                # To the process group, as a terminal does it: a launcher such as npx may not pass the signal on.
                os.killpg(self.pid, number)
            except OSError:
                continue

    def _request(self, what: bytes) -> None:
        """Asks the guard to end the server. The 0 in ``what`` means that the time when the server was ready is unknown."""
        try:
            os.write(self.server.requests, what)
            os.killpg(self.server.guard, signal.SIGCONT)  # The server may have stopped the guard.
        except OSError:  # The guard has ended.
            return

    def _is_over(self, reports: bytes) -> bool:
        """Reads the guard's reports; returns true if the server has exited."""
        for line in reports.splitlines():
            word, _, value = line.partition(b" ")
            if word == b"told":
                self._guard_code = int(value)
            elif word == b"exited":
                self.code = int(value)
                return True
        return False


def is_let_go(*, input_over: bool, unread: bool, orphaned: bool, told: bool) -> bool:
    """Whether the client of a server is gone, or has told it to end by a signal and closed a stream.

    A client that is gone cannot write any more, and either cannot read, or is no longer our parent. A client that has only
    closed the server's stdin may wait for answers. A client that has only sent a signal may continue to use the server:
    ctrl+c in a terminal also reaches the servers of a client that stays.
    """
    return input_over + unread + orphaned > 1 or (told and (input_over or unread))


def wait_for_rest(direction: ByteStream, *, wanted: bool, hurried: Callable[[], bool] = bool) -> None:
    """Waits until the last bytes of an ended server are written, however slowly the client reads.

    The server may have left a process behind that keeps its stream open: later bytes are not waited for. A client that reads
    nothing is waited for only if the bytes are ``wanted``, which they are not if it has told the server to end. ``hurried``
    ends the waiting.
    """
    wrote = took = monotonic()
    moved = direction.moved
    while (
        not direction.ended
        and not hurried()
        and monotonic() - wrote < LAST_BYTES_SECONDS
        and monotonic() - took < UNREAD_SECONDS
    ):
        sleep(0.005)
        if not direction.reading:
            wrote = monotonic()
        if wanted or direction.moved != moved:
            took, moved = monotonic(), direction.moved


# -- orders of the recorder ---------------------------------------------------------------------------------------


def obey(recorder: RecorderLink, up: ByteStream, down: ByteStream) -> None:
    """Carries out the orders of the recorder. Outside of a pause, it carries out ``allow`` and ignores the others."""
    while (order := recorder.next()) is not None:
        if "allow" in order:
            carry_out(order, up, down)
        if "hold" not in order:
            continue
        paused = down.pause(LINE_SECONDS)
        try:
            recorder.queue.put(recorder_records.PAUSED, number=paused)
            while (order := recorder.next(monotonic() + PAUSE_SECONDS)) is not None and "go" not in order:
                carry_out(order, up, down)
        finally:
            if paused != UNREAD:
                down.resume()


def carry_out(order: Order, up: ByteStream, down: ByteStream) -> None:
    """Carries out an order that was decided in a pause."""
    guard = up.guard
    if "allow" in order and guard is not None:
        guard.allow(order["allow"])
    if "say" in order and (guard is None or guard.said(order["say"].encode())):
        # A server that does not read must not delay the client's answer.
        Thread(target=up.say, args=(order["say"].encode(),), daemon=True).start()
    if "keep" in order:
        # Before the client is answered, although the direction is paused: the server's answer may be the next line.
        down.withheld.add(order["keep"], order.get("token"))
        if guard is not None:
            guard.ended_by_tap(order["keep"])
    if "end_line" in order:
        down.end_line(order["end_line"].encode("latin-1"))
    if "tell" in order:
        down.say(order["tell"].encode())


def leave(code: int) -> NoReturn:
    """Ends this process as the server ended: with its exit code, or by the signal of a negative one."""
    if code < 0:
        # Imported only for a server that ended by a signal.
        import resource

        # This process writes no core dump, because it could overwrite the server's.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code % 256)
