"""The books of a tap: what its relay moves becomes frames, events, and a journal, by the same ledger as everywhere.

They are a process of their own, which may lag behind the bytes. What must not be decided on old news (has this request run
out, or was it answered meanwhile?) is decided in a hold, for which the relay stops the answers for a moment.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from mcp_tui.client.opening import open_store
from mcp_tui.client.settings import StdioTarget, Target
from mcp_tui.config import settings
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.framing import LineFramer, Oversized
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import Request
from mcp_tui.tap import relay
from mcp_tui.tap.account import Account, limits_in, salvaged

SLICE: Final = 0.02
"""Seconds of parsing, after which the sockets are looked at."""

STALE: Final = relay.HOLD / 2
"""Seconds after which a hold is too old to decide in: the relay may have given it up."""

UNGUARDED: Final = 0.5
"""Seconds that the guard of a killed tap has to end the server."""

FOLDERS: Final = ("PWD", "OLDPWD")
"""Variables that a shell sets: folders, though a name like these is most often that of a password."""


class Books(Account):
    """The books of one tap, with the pipes from and to its relay."""

    def __init__(self, records: int, orders: int) -> None:
        super().__init__("stdio", Store(), "")
        self._records = records
        self._orders = orders
        self.over = False
        self._data = bytearray()
        self._more = False
        """Whole records wait to be read."""
        self._selector = selectors.DefaultSelector()
        self._turns: list[Callable[[], None]] = []
        self._framers = {kind: LineFramer(relay.SIFTED_BYTES) for kind in (b"o", b"i", b"e")}
        self._torn: set[bytes] = set()
        """Streams whose next bytes are within a line whose start was missed."""
        self._input_over = False
        self._held = False
        """A hold was asked for."""
        self._wanted: list[tuple[RequestId, str, socket.socket]] = []
        """Cancels that persons asked for."""
        self._said: list[dict[str, Any]] = []
        self._told: list[dict[str, Any]] = []
        self._server = 0
        """The process id of the server, and of its group."""

    # -- the loop --------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Keeps the books until the relay is gone and everything is written."""
        self._selector.register(self._records, selectors.EVENT_READ, self._read)
        while not self.over:
            for key, _ in self._selector.select(self._wait()):
                key.data()
            self._work()
            self._turn()
            if not self._more:
                self._look_at_clock()
        self.store.close()
        self._report()
        self.close_door()

    def _wait(self) -> float | None:
        if self._more or self._turns:
            return 0.0
        due = None if self._held else self.ledger.deadlines.next()
        return None if due is None else max(0.0, due - monotonic())

    def _read(self) -> None:
        if len(self._data) > relay.QUEUE_BYTES:
            return
        piece = os.read(self._records, relay.PIPE_BYTES)
        if piece:
            self._data += piece
        else:
            self._selector.unregister(self._records)
            self._work(until=float("inf"))
            if not self.over:
                self._end("the tap was killed", expected=False)
                self._end_server()

    def _work(self, until: float | None = None) -> None:
        """Reads records, for a while."""
        until = monotonic() + SLICE if until is None else until
        head, start, data = relay.RECORD, 0, self._data
        self._more = False
        while not self.over and len(data) - start >= head.size:
            kind, at, size = head.unpack_from(data, start)
            end = start + head.size + size
            if len(data) < end:
                break
            if monotonic() > until:
                self._more = True
                break
            piece = bytes(data[start + head.size : end])
            start = end
            self._record(kind, at, piece)
        del data[:start]

    def _turn(self) -> None:
        """Ends a turn of the loop: what is to be written is written."""
        turns = self._turns.copy()
        self._turns.clear()  # the store keeps its append
        for call in turns:
            call()
        self._report()

    def _report(self) -> None:
        """Says on stderr what became of the journal."""
        self.report(lambda text: self.order(warn=text))

    def order(self, **order: Any) -> None:
        """Gives an order to the relay, which may be gone."""
        data = messages.encode(order) + b"\n"
        with suppress(OSError):
            relay.write(self._orders, data)

    # -- records ---------------------------------------------------------------------------------------------

    def _record(self, kind: bytes, at: float, data: bytes) -> None:
        match kind:
            case b"o" | b"i" | b"e":
                self._bytes(kind, at, data)
            case b"O" | b"I":
                self._own(kind, at, data)
            case b"c":
                self._stream_over(data, at)
            case b"g":
                self._missed(data[:1], int.from_bytes(data[1:], "big"), at)
            case b"h":
                self._decide(at)
            case b"b":
                self._begin(as_object(messages.read_json(data)), at)
            case b"x":
                self._end(_ended(int(data)), expected=self._input_over, at=at)
            case _:
                pass
        self.ledger.perform()

    def _bytes(self, kind: bytes, at: float, data: bytes) -> None:
        if kind in self._torn:
            _, found, data = data.partition(b"\n")
            if not found:
                return
            self._torn.discard(kind)
        for line in self._framers[kind].feed(data):
            self._line(kind, at, line)

    def _line(self, kind: bytes, at: float, line: bytes | Oversized, *, whole: bool = True) -> None:
        if kind == b"e":
            raw = line.head[:4096] if isinstance(line, Oversized) else line
            self.event(ev.Stderr(at=at, line=messages.bytes_text(raw)))
            return
        if isinstance(line, Oversized):
            if kind == b"i":
                self.ledger.responses.too_large(line.head, line.size, at=at, tail=line.tail)
                return
            self.event(ev.Oversize(at=at, bytes=line.size))
            self.observer.sent(salvaged(line), at=at)
            return
        frame = messages.parse(line)
        seq = self.frame("out" if kind == b"o" else "in", line, frame, at=at)
        if not whole and isinstance(frame, messages.MalformedFrame):
            return  # the start of a message says nothing
        take = self.observer.sent if kind == b"o" else self.observer.received
        take(frame, at=at, seq=seq)
        self.ledger.perform()

    def _stream_over(self, kind: bytes, at: float) -> None:
        for line in self._framers[kind].close():
            self._line(kind, at, line, whole=False)
        if kind == b"o":
            self._input_over = True
            self.event(ev.Note(at=at, text="the client closed the server's stdin"))
        elif kind == b"i":
            self.ledger.unheard("server closed its stdout", at=at, expected=self._input_over)

    def _missed(self, kind: bytes, size: int, at: float) -> None:
        """Notes bytes that the relay could not keep. An answer may have been among them."""
        self._framers[kind] = LineFramer(relay.SIFTED_BYTES)
        self._torn.add(kind)
        who = {b"o": "from the client", b"i": "from the server", b"e": "of stderr"}[kind]
        self.event(ev.Note(at=at, text=f"{size:,} bytes {who} are not recorded: the tap was too far behind"))
        if kind == b"i":
            self.unseen(at)

    def _own(self, kind: bytes, at: float, data: bytes) -> None:
        """Notes a message of the tap's own that was written."""
        raw = data.rstrip(b"\n")
        frame = messages.parse(raw)
        out = kind == b"O"
        seq = self.frame("out" if out else "in", raw, frame, at=at, own=True)
        if out and isinstance(frame, messages.NotificationFrame):
            row = self.ledger.named(as_object(frame.params)["requestId"])
            if row is not None:
                self.ledger.signalled(row.wire_id, Signal.NOTIFICATION, at=at, seq=seq)
        elif out and isinstance(frame, messages.RequestFrame):
            self.ledger.written(frame.id, at=at, seq=seq)

    def _begin(self, begin: dict[str, Json], at: float) -> None:
        """Opens the journal. What fails is said, and the rest goes on."""
        chosen = settings.load().settings
        command = tuple(map(str, begin["command"]))
        named_so = {name: value for name, value in os.environ.items() if is_secret_name(name)}
        secret = {name: value for name, value in named_so.items() if name not in FOLDERS}
        target = StdioTarget(command=command, env=secret, name=str(begin.get("name") or ""))
        self.name = target.name or Path(command[0]).name
        self.observer.limits = limits_in(begin)
        self.store = opened_store(
            target, chosen, begin, self._turns.append, at, lambda text: self.order(warn=text)
        )
        self._server = int(begin["pid"])
        self.event(ev.Note(at=at, text=f"started {begin['path']} (pid {self._server}) for a client"))
        if chosen.reachable:
            self.open_door()

    def _end(self, detail: str, *, expected: bool, at: float | None = None) -> None:
        if self.over:
            return
        self.ledger.closed(detail, at=monotonic() if at is None else at, expected=expected)
        self.ledger.perform()
        self.over = True

    def _end_server(self) -> None:
        """Ends a server whose tap was killed, if its guard was killed too and could not."""
        sleep(UNGUARDED)
        if self._server:
            with suppress(OSError):
                os.killpg(self._server, signal.SIGKILL)

    # -- limits, and cancels of persons ------------------------------------------------------------------------

    def _look_at_clock(self) -> None:
        due, now = self.ledger.deadlines.next(), monotonic()
        ends = due is not None and due <= now and any(map(self._runs_out, self.ledger.live.values()))
        if (ends or self._wanted) and not self._held:
            self._held = True
            self.order(hold=1)
        elif due is not None and due <= now and not self._held:
            self.ledger.tick(now)
            self.ledger.perform()

    def _runs_out(self, each: Any) -> bool:
        return any(limit is not None and limit <= monotonic() for limit in each.row.deadlines())

    def _decide(self, at: float) -> None:
        """Decides what has run out, now that everything that came is booked."""
        self._held = False
        now = monotonic()
        if now - at < STALE:
            self.ledger.tick(now)
            wanted, self._wanted = self._wanted, []
            for id_, reason, visitor in wanted:
                self.cancel(id_, reason, visitor, now)
            self.ledger.perform()
        for order in (*self._said, *self._told):
            self.order(**order)
        self._said, self._told = [], []
        self.order(go=1)

    def asked_to_cancel(self, id: RequestId, reason: str, visitor: socket.socket) -> None:
        """Waits for a hold."""
        self._wanted.append((id, reason, visitor))

    def answer_client(self, row: Request, told: dict[str, Json]) -> None:
        """Has the relay do it."""
        token = self.observer.token_of(row)
        self._told.append({"keep": told["id"], "token": token, "tell": messages.encode(told).decode() + "\n"})

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Has the relay do it."""
        self._said.append({"say": messages.encode(message).decode() + "\n", "keep": id})

    def notify(self, id: RequestId, message: dict[str, Json]) -> None:
        """Has the relay do it."""
        self._said.append({"say": messages.encode(message).decode() + "\n"})

    def watch(self, link: socket.socket, call: Callable[[], None]) -> None:
        self._selector.register(link, selectors.EVENT_READ, call)

    def forget(self, link: socket.socket) -> None:
        self._selector.unregister(link)


def opened_store(
    target: Target,
    chosen: settings.Settings,
    begin: dict[str, Json],
    soon: Callable[[Callable[[], None]], object],
    began: float,
    warn: Callable[[str], object],
) -> Store:
    """Returns the store of a session of a tap. What fails is said, and the rest goes on."""

    def opened(record: str | None) -> Store:
        return open_store(
            target,
            journal=chosen.journal.keep,
            record=record,
            keep_secrets=begin.get("keep_secrets") is True,
            keep_days=chosen.journal.days or None,
            keep_bytes=chosen.journal.size * 1_000_000 or None,
            purpose="tap",
            soon=soon,
            began=began,
            otlp=messages.as_text(begin.get("otlp")) or None,
        )

    try:
        store = opened(messages.as_text(begin.get("record")) or None)
    except RecordingError as error:
        warn(f"{error} The traffic goes on.")
        store = opened(None)
    if chosen.journal.keep and not any(writer.path.parent.name == "journal" for writer in store.writers):
        why = next((each.text for each in store.log if isinstance(each, ev.Note)), "no journal")
        warn(f"{why} The traffic goes on.")
    return store


def _ended(code: int) -> str:
    from mcp_tui.transport.stdio import exit_text

    return exit_text(code)


def main() -> None:
    """Runs ``books.py RECORDS ORDERS``, the descriptors of two pipes."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    books = Books(int(sys.argv[1]), int(sys.argv[2]))
    try:
        books.run()
    except Exception as error:  # noqa: BLE001 - whatever it is, the traffic goes on
        what = f"{type(error).__name__} {error}".strip()[:200]
        with suppress(Exception):
            books.store.close()
        books.close_door()
        books.order(failed=f"the books failed ({what})")
        sys.exit(1)


if __name__ == "__main__":
    main()
