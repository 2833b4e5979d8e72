"""The relay: the process that a client starts in place of its server. It moves bytes, and acts only when the books say so.

Three processes belong to a tap. This one stands where the server stood: its standard streams are the client's, its exit
status and its signals the server's. The guard (:mod:`mcp_tui.transport.guard`, forked from here) owns the server, so that it
never outlives this process. The books (:mod:`mcp_tui.tap.books`) get a copy of every byte: they parse, keep the journal,
and decide what has run out. Whatever becomes of them, the bytes go on.

A chunk is put into the queue for the books before it is handed on, or an answer could overtake its request there. The queue
never blocks: when the books are far behind, it tells them how many bytes they missed.

To act, the books ask for a *hold*: the direction from the server stops at the end of a line, they read what came until then,
and only then decide. So a request that was answered is never answered again. While answers are kept back, and only then,
the lines of the server are looked at here.

Records to the books, each with a kind, a time, and a length: ``b`` the beginning as JSON, ``o`` bytes from the client, ``i``
from the server, ``e`` of its stderr, ``O`` and ``I`` messages of the tap's own, ``g`` bytes that were dropped, ``c`` the end
of such a stream, ``h`` the hold is there, ``x`` the exit code. Orders from the books are JSON lines.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections import deque
from struct import Struct
from threading import Condition, Thread
from time import monotonic, sleep

from mcp_tui.tap.kept_back import KeptBack
from mcp_tui.transport import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

RECORD = Struct("!cdI")
"""The head of a record: its kind, the time in monotonic seconds, and the number of bytes that follow."""

STDERR = 2
PIECE_BYTES = 1 << 18
"""Bytes read at a time."""
QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes that may wait for the books."""
BUNDLE = 1 << 18
"""Bytes that are handed to the books at a time."""
LATER = 0.01
"""Seconds that the books are told later, so that nothing runs beside an answer that comes at once."""
AWAKE = 20
"""Times that the queue is looked at in vain before its thread sleeps: to wake it costs the bytes some of their time."""
HOLD = 2.0
"""Seconds that the books have to decide while the answers wait."""
SIFTED_BYTES = 128 * 1024 * 1024
"""Bytes of a line up to which it is looked at while answers are kept back; a longer one passes."""
REST = 0.3
"""Seconds after the server's exit in which its last bytes must come."""
LAST_RECORDS_SECONDS = 0.1
"""Seconds for the last records to the books."""
LAST_BUNDLE_SECONDS = 0.3
"""Seconds for the thread that hands them on to stop."""
LOOK = 0.05
"""Seconds between two looks whether it shall."""
BOOKS_SECONDS = 60.0
"""Seconds after which books that take nothing any more are given up."""
END_SECONDS = 2.0
"""Seconds that a server has to end once its client is gone, before SIGTERM, and then again before SIGKILL."""
CLIENT_LOOK_SECONDS = 0.5
"""Seconds between two looks whether the client is still there, once it has closed its end."""

PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
"""Signals that are the server's when they come here."""


def tell(text: str) -> None:
    """Says something on stderr in one line; nobody may be reading it."""
    try:
        os.write(2, f"mcp-tui tap: {text}\n".encode(errors="backslashreplace"))
    except OSError:
        return


def write(sink: int, data: bytes | memoryview) -> None:
    """Writes all bytes, waiting for a reader that takes its time.

    Raises:
        OSError: nobody reads any more.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(sink, view) :]
        except BlockingIOError:  # another process that shares it made it non-blocking
            select.select([], [sink], [])


def read(source: int) -> bytes:
    """Reads what is there, or waits for it; nothing at the end."""
    while True:
        try:
            return os.read(source, PIECE_BYTES)
        except BlockingIOError:
            select.select([source], [], [])
        except OSError:
            return b""


def end(number: int) -> None:
    """Closes a descriptor in a way that keeps its number taken: nothing else must get it."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, number)
        os.close(nothing)
    except OSError:
        return


class Queue:
    """The records on their way to the books."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.dead = False
        self._there = Condition()
        self._records: deque[tuple[bytes, float, bytes]] = deque()
        self._bytes = 0
        self._missed: dict[bytes, int] = {}
        self._closed = False
        self._asleep = False
        self._stopped = False
        self._unsent = b""

    def put(self, kind: bytes, data: bytes = b"") -> None:
        """Adds a record, without waiting for anything."""
        if self.dead:
            return
        with self._there:
            if self._bytes > QUEUE_BYTES and kind in b"oie":
                self._missed[kind] = self._missed.get(kind, 0) + len(data)
                return
            if self._missed:
                for each, size in self._missed.items():
                    self._records.append((b"g", monotonic(), each + size.to_bytes(8, "big")))
                self._missed.clear()
            self._records.append((kind, monotonic(), data))
            self._bytes += len(data)
            if self._asleep:
                self._there.notify()

    def close(self) -> None:
        """Ends the queue behind what is in it."""
        with self._there:
            self._closed = True
            self._there.notify()

    def run(self) -> None:
        """Hands the records to the books, until they are gone."""
        looks = 0
        try:
            while not self._stopped:
                with self._there:
                    if not (self._records or self._unsent):
                        if self._closed:
                            self.link.shutdown(socket.SHUT_WR)
                            return
                        looks += 1
                        if looks > AWAKE:
                            self._asleep = True
                            self._there.wait()
                            self._asleep = False
                    bundle: list[bytes] = [self._unsent]
                    size = 0
                    while self._records and size < BUNDLE:
                        kind, at, data = self._records.popleft()
                        bundle += (RECORD.pack(kind, at, len(data)), data)
                        size += len(data)
                    self._unsent = b"".join(bundle)
                if self._unsent:
                    looks = 0
                    self._send()
                    with self._there:
                        self._bytes -= size
                if size < BUNDLE and not self._closed:
                    sleep(LATER)
        except OSError:
            self.fail("the books ended")

    def _send(self) -> None:
        """Sends what is bundled, as the books take it; stops between two pieces when it shall."""
        view = memoryview(self._unsent)
        until = monotonic() + BOOKS_SECONDS
        while view and not self._stopped:
            if select.select([], [self.link], [], LOOK)[1]:
                view = view[self.link.send(view, socket.MSG_DONTWAIT) :]
                until = monotonic() + BOOKS_SECONDS
            elif self._closed and monotonic() > until:
                raise OSError
        self._unsent = bytes(view)

    def finish(self, feeding: Thread) -> None:
        """Ends the queue. What the books do not take at once is left to a process of its own: the client must not wait."""
        self.close()
        feeding.join(LAST_RECORDS_SECONDS)
        self._stopped = True
        feeding.join(LAST_BUNDLE_SECONDS)
        if self.dead or not (self._records or self._unsent) or feeding.is_alive():
            return
        with self._there:  # no other thread has it where there is none any more
            if os.fork():
                return
            for number in range(3):
                end(number)
            self._stopped = False
        self.run()
        os._exit(0)

    def fail(self, why: str) -> None:
        """Goes on without books, and says so once."""
        with self._there:
            said, self.dead = self.dead, True
            self._records.clear()
        if not said and not self._closed:
            tell(f"{why}: nothing is recorded any more. The traffic goes on.")


class ByteStream:
    """One direction of bytes. What the tap itself says goes between two lines."""

    def __init__(self, source: int, sink: int, kind: bytes, queue: Queue) -> None:
        self.source = source
        self.sink = sink
        self.kind = kind
        self.queue = queue
        self.ended = False
        self.broken = False
        """Nobody reads it any more."""
        self.reading = False
        self.turn = Condition()
        self._boundary = True
        self._waiting = 0
        self._pieces: list[bytes] = []
        """The beginning of a line, while lines are looked at."""
        self.kept_back = KeptBack()

    def run(self) -> None:
        """Moves bytes until either end is closed."""
        while not self.broken:
            self.reading = True
            data = read(self.source)
            self.reading = False
            if not data:
                break
            with self.turn:
                self.queue.put(self.kind, data)
                self._move(data)
        with self.turn:
            self._write(b"".join(self._pieces))
            self.ended = True
            self.queue.put(b"c", self.kind)
            self.turn.notify_all()
        if self.broken:
            end(self.source)
        if self.sink != STDERR:  # on which the tap itself may have something to say
            end(self.sink)

    def _move(self, data: bytes) -> None:
        if self._waiting:
            cut = data.rfind(b"\n") + 1
            if cut:
                self._hand_on(data[:cut])
                data = data[cut:]
            if self._boundary:
                self.turn.notify_all()
                self.turn.wait_for(lambda: not self._waiting)
        if data:
            self._hand_on(data)

    def _hand_on(self, data: bytes) -> None:
        if not (self.kept_back or self._pieces):
            self._write(data)
            return
        start = 0
        while cut := data.find(b"\n", start) + 1:
            line = b"".join((*self._pieces, data[start:cut]))
            self._pieces.clear()
            start = cut
            passed = line if len(line) > SIFTED_BYTES else self.kept_back.sift(line)
            if passed:
                self._write(passed)
        if start < len(data):
            self._pieces.append(data[start:])

    def _write(self, data: bytes) -> None:
        if self.broken or not data:
            return
        try:
            write(self.sink, data)
        except OSError:
            self.broken = True
        self._boundary = data.endswith(b"\n")

    # -- what the tap says and keeps back ---------------------------------------------------------------------

    def __enter__(self) -> None:
        """Waits for the end of a line, and holds the direction there."""
        self.turn.acquire()
        self._waiting += 1
        self.turn.wait_for(lambda: self._boundary or self.ended or self.broken)

    def __exit__(self, *_: object) -> None:
        self._waiting -= 1
        self.turn.notify_all()
        self.turn.release()

    def say(self, line: bytes) -> None:
        """Writes a message of the tap's own."""
        with self:
            if not (self.ended or self.broken):
                self.queue.put(self.kind.upper(), line)
                self._write(line)


class Relay:
    """A running tap."""

    def __init__(self, command: list[str], begin: dict[str, Any]) -> None:
        self.command = command
        self.begin = begin
        self.server = 0
        self.code: int | None = None
        self._parent = os.getppid()

    def run(self) -> int:
        """Runs the server between two copies of its streams; returns its exit code, negative for a signal."""
        path = find(self.command[0])
        pipes = [os.pipe() for _ in range(3)]
        control = self._start_guard(path, pipes)
        books = self._start_books()
        for number, (reader, writer) in enumerate(pipes):
            os.close(writer if number else reader)
        queue = Queue(books)
        up = ByteStream(0, pipes[0][1], b"o", queue)
        down = ByteStream(pipes[1][0], 1, b"i", queue)
        errors = ByteStream(pipes[2][0], 2, b"e", queue)
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for name in PASSED_ON:
            signal.signal(getattr(signal, name), self._pass_on)
        reports = b""
        while b"\n" not in reports:
            piece = control.recv(4096)
            if not piece:
                break
            reports += piece
        first, _, reports = reports.partition(b"\n")
        word, _, value = first.partition(b" ")
        if word != b"started":
            why = os.strerror(int(value)) if value else "its guard process ended"
            tell(f"cannot start {self.command[0]}: {why}.")
            return 127
        self.server = int(value)
        from json import dumps

        begin = {**self.begin, "command": self.command, "path": path, "pid": self.server}
        queue.put(b"b", dumps(begin).encode())
        self._spawn(up.run)
        self._spawn(down.run)
        self._spawn(errors.run)
        feeding = self._spawn(queue.run)
        self._spawn(lambda: obey(queue, up, down))
        self._watch(control, woken, reports, up)
        for each in (down, errors):
            wait_for_rest(each)
        queue.put(b"x", str(self.code).encode())
        queue.finish(feeding)
        return -signal.SIGKILL if self.code is None else self.code

    def _spawn(self, work: Callable[[], None]) -> Thread:
        thread = Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self.code is not None:
            leave(self.code)  # the client waits no longer for what it did not read
        if self.server:
            try:
                os.killpg(self.server, number)
            except OSError:
                return

    # -- processes -------------------------------------------------------------------------------------------

    def _start_guard(self, path: str, pipes: list[tuple[int, int]]) -> socket.socket:
        """Forks the guard; returns the socket to it. When that closes, it ends the server."""

        def watch(link: int) -> None:
            for number, (reader, writer) in enumerate(pipes):
                os.dup2(writer if number else reader, number)
                os.close(reader)
                os.close(writer)
            guard.run(link, path, self.command, os.environb)

        return fork(watch)

    def _start_books(self) -> socket.socket:
        """Forks the process with the books; returns the socket to it."""

        def keep(link: int) -> None:
            # the client waits for the ends of its streams, and the books may take longer
            for number in range(3):
                end(number)
            os.closerange(3, link)
            os.closerange(link + 1, 1 << 16)
            os.set_inheritable(link, True)
            arguments = [sys.executable, "-P", "-m", "mcp_tui.tap.books", str(link)]
            os.execv(sys.executable, arguments)

        return fork(keep)

    # -- the end ---------------------------------------------------------------------------------------------

    def _watch(self, control: socket.socket, woken: int, reports: bytes, up: ByteStream) -> None:
        """Waits for the end of the server, or ends it when the client is gone."""
        steps: list[tuple[float, bytes]] = []
        while True:
            for line in reports.splitlines():
                word, _, value = line.partition(b" ")
                if word == b"exited":
                    self.code = int(value)
                    return
            if not steps and self._is_alone(input_over=up.ended):
                now = monotonic()
                steps = [(now + END_SECONDS, b"T0"), (now + 2 * END_SECONDS, b"K0")]
            if steps and steps[0][0] <= monotonic():
                control.sendall(steps.pop(0)[1])
            ready = select.select([control, woken], [], [], CLIENT_LOOK_SECONDS)[0]
            if woken in ready:
                os.read(woken, 512)
            reports = b""
            if control in ready:
                reports = control.recv(4096)
                if not reports:  # somebody killed the guard, and the server with it
                    self._pass_on(signal.SIGKILL, None)
                    return

    def _is_alone(self, *, input_over: bool) -> bool:
        """Whether the client is gone: it cannot write any more, and either cannot read, or is no longer our parent."""
        poll = select.poll()
        for number in (0, 1):
            poll.register(number, 0)
        closed = [number for number, events in poll.poll(0) if events & (select.POLLERR | select.POLLHUP)]
        unread = 1 in closed
        input_over = input_over or 0 in closed  # while the server does not read, its end is not reached
        orphaned = os.getppid() != self._parent
        return (input_over and (unread or orphaned)) or (unread and orphaned)


def wait_for_rest(direction: ByteStream) -> None:
    """Waits until the last bytes of a server that has ended were handed on, however slowly they are read.

    A process that it left behind may hold its stream open for longer: what comes then is not waited for.
    """
    since = monotonic()
    while not direction.ended:
        sleep(0.005)
        if not direction.reading:
            since = monotonic()
        elif monotonic() - since > REST:
            return


def fork(work: Callable[[int], None]) -> socket.socket:
    """Forks a process that does ``work`` with one end of a socket and then ends; returns the other end."""
    link, its_link = socket.socketpair()
    if os.fork():
        its_link.close()
        return link
    try:
        os.setsid()
        link.close()
        work(its_link.fileno())
    finally:
        os._exit(0)


def find(program: str) -> str:
    """Returns the path of a program, as ``execvp`` finds it; to import ``shutil`` for that takes too long."""
    if "/" in program:
        return program
    for folder in os.get_exec_path():
        path = os.path.join(folder, program)  # noqa: PTH118 - pathlib is a costly import
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return program


# -- orders of the books ---------------------------------------------------------------------------------------


def obey(queue: Queue, up: ByteStream, down: ByteStream) -> None:
    """Carries out the orders of the books: to hold, to end a request for the client, to say something to the server."""
    orders = Orders(queue.link)
    while (order := orders.next()) is not None:
        if "warn" in order:
            tell(order["warn"])
        elif "failed" in order:
            queue.fail(order["failed"])
        elif "hold" in order:
            with down:
                queue.put(b"h")
                until = monotonic() + HOLD
                while (order := orders.next(until)) is not None and "go" not in order:
                    carry_out(order, up, down)
    queue.fail("the books ended")


def carry_out(order: dict[str, Any], up: ByteStream, down: ByteStream) -> None:
    """Carries out an order that was decided in a hold."""
    if "warn" in order:
        tell(order["warn"])
    if "say" in order:
        # a server that does not read must not hold up what the client is told
        Thread(target=up.say, args=(order["say"].encode(),), daemon=True).start()
    if "keep" in order:
        down.kept_back.add(order["keep"], order.get("token"))
    if "tell" in order:
        down.say(order["tell"].encode())


class Orders:
    """The orders of the books, read as they come."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._data = b""

    def next(self, until: float | None = None) -> dict[str, Any] | None:
        """Returns the next one; ``None`` if the books are gone, or it did not come in time."""
        while b"\n" not in self._data:
            wait = None if until is None else max(0.0, until - monotonic())
            if not select.select([self._link], [], [], wait)[0]:
                return None
            try:
                piece = self._link.recv(65536)
            except OSError:
                return None
            if not piece:
                return None
            self._data += piece
        line, _, self._data = self._data.partition(b"\n")
        from json import loads

        return loads(line)


# -- the command line ------------------------------------------------------------------------------------------

NUMBERS = ("--timeout", "--max-timeout")
TEXTS = ("--record", "--name")


def options(words: list[str]) -> dict[str, Any] | None:
    """Returns the options before ``--``, if they are plainly written; else the whole command line must be read."""
    found: dict[str, Any] = {}
    rest = deque(words)
    while rest:
        name, equals, value = rest.popleft().partition("=")
        if name not in NUMBERS + TEXTS or not (equals or rest):
            return None
        value = value if equals else rest.popleft()
        key = name[2:].replace("-", "_")
        if name in TEXTS:
            found[key] = value
            continue
        try:
            found[key] = float(value)
        except ValueError:
            return None
        if not 0 <= found[key] < 1e9:
            return None
    return found


def quick(words: list[str]) -> tuple[dict[str, Any], list[str]] | None:
    """Returns options and command of ``tap OPTIONS -- COMMAND``, without what reads any command line (0.1 s)."""
    if words[:1] != ["tap"] or "--" not in words[1:-1]:
        return None
    cut = words.index("--")
    found = options(words[1:cut])
    return None if found is None else (found, words[cut + 1 :])


def serve(found: dict[str, Any], command: list[str]) -> NoReturn:
    """Runs a tap and leaves this process as the server left its own."""
    leave(Relay(command, found).run())


def leave(code: int) -> NoReturn:
    """Ends this process at once as the server ended: by an exit code, or a negative one by that signal."""
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code % 256)
