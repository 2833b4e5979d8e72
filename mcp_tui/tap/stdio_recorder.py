"""The recorder of a tap over stdio: copies of what its relay moves become frames, events, and a journal."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, LineFramer, Oversized
from mcp_tui.protocol.messages import Batch, Frame, Json, as_object
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Kind
from mcp_tui.tap import recorder_records, relay
from mcp_tui.tap.earlier_taps import EarlierTaps
from mcp_tui.tap.observed_session import ObservedSession, salvaged
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.tap.server_end import ServerEnd
from mcp_tui.transport.guard import end_group
from mcp_tui.transport.unreachable import exit_text

UNGUARDED_SECONDS: Final = 1.0
"""Seconds that the guard of a killed tap has to end the server."""

EXIT_SECONDS: Final = 1.0
"""Seconds that a server has to exit after it closed its stdout; until then its exit says more."""

FOLDERS: Final = ("PWD", "OLDPWD")
"""Variables with folders, which a shell sets, although their names look like those of passwords."""

BEGUN_BYTES: Final = 256 * 1024
"""The maximum size of an incomplete line that is handed to a new recorder, in bytes."""

BEGUN: Final = 1
"""The number of a record that has such a line."""

ANSWERING_KINDS: Final = frozenset({Kind.RESULT, Kind.ERROR, Kind.INPUT_REQUIRED, Kind.TASK, Kind.OVERSIZE})
"""The kinds of frames that answer a request."""


OF_STREAM: Final[dict[bytes, str]] = {
    recorder_records.FROM_CLIENT: "from the client",
    recorder_records.FROM_SERVER: "from the server",
    recorder_records.FROM_STDERR: "of stderr",
}


class StdioRecorder(ObservedSession):
    """The recorder of the one session of a tap over stdio. ``begin`` are its options, and its server."""

    def __init__(self, loop: RecorderLoop, begin: recorder_records.StdioBegin, at: float) -> None:
        chosen = loop.settings()
        command = tuple(begin["command"])
        named_so = {name: value for name, value in loop.environment.items() if is_secret_name(name)}
        secret = {name: value for name, value in named_so.items() if name not in FOLDERS}
        target = StdioTarget(command=command, env=secret, name=begin.get("name", ""))
        store = loop.open_store(target, chosen, begin, at)
        super().__init__(loop, "stdio", store, target.name or Path(command[0]).name, begin, chosen.tap)
        self.over = False
        self.open_sessions = (self,)
        self._earlier_taps: EarlierTaps | None = None
        # With --once the guard knows the calls of earlier taps, and decides about them.
        if store.writers and "once" not in begin:
            self._earlier_taps = EarlierTaps(command, begin.get("name", ""), begin.get("folder", ""))
            self.ledger.repeats.earlier = self._earlier_taps.repeated
        self._framers = {kind: LineFramer(relay.SIFTED_BYTES) for kind in recorder_records.MOVED}
        self._torn: set[bytes] = set()
        """Streams whose next bytes belong to a line whose start was dropped."""
        self._ends_within = False
        """Whether the last bytes of the server were an incomplete message."""
        self._server_end = ServerEnd()
        self._behind = 0.0
        """Seconds between the last record and its reading."""
        self._leaving: list[RequestId] = []
        """The requests whose cancels are not written yet: two requests of one id have the same cancel on the wire."""
        self._server = begin["pid"]
        """The process id of the server, and of its group."""
        self.event(ev.Note(at=at, text=f"started {begin['path']} (pid {self._server}) for a client"))
        self._opens_socket = chosen.reachable
        if not loop.restoring:
            self._open_socket()

    # -- records ---------------------------------------------------------------------------------------------

    def record(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Takes a record from the relay."""
        self._behind = monotonic() - at
        match kind:
            case recorder_records.FROM_CLIENT | recorder_records.FROM_SERVER | recorder_records.FROM_STDERR:
                self._bytes(kind, at, data)
            case recorder_records.OWN_TO_SERVER | recorder_records.OWN_TO_CLIENT:
                self._own(kind, at, data)
            case recorder_records.GUARD | recorder_records.GUARD_ANSWER:
                self.by_guard(kind, at, data)
            case recorder_records.DECISION:
                self.decided(at, data)
            case recorder_records.UNWRITTEN if data[:1] == recorder_records.FROM_CLIENT:
                self._unwritten(data[1:], at)
            case recorder_records.STREAM_END:
                self.checkpoint.add_always(kind, at, data, number)
                self._stream_over(data, at, by_client=number > 0)
            case recorder_records.CLIENT_SIGNAL:
                self.checkpoint.add_always(kind, at, data, number)
                name = self._server_end.signalled(number, at)
                self.event(ev.Note(at=at, text=f"the client sent {name}"))
            case recorder_records.TAP_SIGNAL:
                self.checkpoint.add_always(kind, at, data, number)
                self._server_end.tap_signalled(number)
            case recorder_records.GAP:
                self._missed(*recorder_records.read_gap(data), at)
            case recorder_records.EXIT:
                self._exited(int(data or -signal.SIGKILL), number, at)
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
        if kind == recorder_records.FROM_STDERR:
            raw = line.head[:4096] if isinstance(line, Oversized) else line
            self.event(ev.Stderr(at=at, line=messages.bytes_text(raw)))
            return
        if isinstance(line, Oversized):
            if kind == recorder_records.FROM_SERVER:
                self.ledger.responses.too_large(line, at=at)
                return
            self.event(ev.Oversize(at=at, bytes=line.size))
            self._message(kind, at, b"", salvaged(line), 0)
            return
        frame = messages.parse(line)
        seq = self.frame("out" if kind == recorder_records.FROM_CLIENT else "in", line, frame, at=at)
        if not whole and isinstance(frame, messages.MalformedFrame):  # It cannot be read.
            if kind == recorder_records.FROM_SERVER:
                self._ends_within = True
                self.ledger.responses.unfinished(line, len(line), at=at)
            return
        self._message(kind, at, line, frame, seq)

    def _message(self, kind: bytes, at: float, raw: bytes, frame: Frame | Batch, seq: int) -> None:
        self.checkpoint.begin()
        take = self.observer.sent if kind in recorder_records.OF_CLIENT else self.observer.received
        take(frame, at=at, seq=seq)
        if kind == recorder_records.FROM_CLIENT and isinstance(frame, messages.RequestFrame):
            self._server_end.requested(at)
        self.ledger.perform()
        self.checkpoint.taken(kind, at, raw, frame)

    def _stream_over(self, kind: bytes, at: float, *, by_client: bool) -> None:
        for line in self._framers[kind].close():
            self._line(kind, at, line, whole=False)
        if kind == recorder_records.FROM_CLIENT and by_client:
            self._server_end.input_closed(at)
            self.event(ev.Note(at=at, text="the client closed the server's stdin"))
        elif kind == recorder_records.FROM_SERVER and by_client:
            self._server_end.output_closed(at)
            self.event(ev.Note(at=at, text="the client closed the server's stdout"))
            self.ledger.receiving_ended("", at=at, expected=True)
        elif kind == recorder_records.FROM_SERVER:
            self.ledger.receiving_ended(
                "server closed its stdout", at=at, expected=self._server_end.is_wanted(at)
            )
            self.loop.call_later(EXIT_SECONDS, self._stays)

    def _stays(self) -> None:
        """Ends the calls of a server that closed its stdout and did not exit."""
        if not self.over:
            at = monotonic()
            detail = "server closed its stdout but is still running"
            self._closed(detail, expected=self._server_end.is_wanted(at), at=at)

    def _missed(self, kind: bytes, size: int, at: float) -> None:
        """Notes bytes that the relay dropped. An answer may have been among them."""
        self._framers[kind] = LineFramer(relay.SIFTED_BYTES)
        self._torn.add(kind)
        self.event(
            ev.Note(
                at=at, text=f"{size:,} bytes {OF_STREAM[kind]} are not recorded: the tap was too far behind"
            )
        )
        self.observer.missed |= kind == recorder_records.FROM_CLIENT
        if kind == recorder_records.FROM_SERVER:
            self.unseen(at)

    def _own(self, kind: bytes, at: float, data: bytes) -> None:
        """Notes a message that the tap made and wrote."""
        raw = data.rstrip(b"\n")
        frame = messages.parse(raw)
        out = kind == recorder_records.OWN_TO_SERVER
        self.checkpoint.begin()
        if self.loop.restoring and out:
            self._done(frame)
        seq = self.frame("out" if out else "in", raw, frame, at=at, own=True)
        if out and isinstance(frame, messages.NotificationFrame):
            wanted = as_object(frame.params)["requestId"]
            for id_ in [each for each in self._leaving if self.observer.on_wire(each) == wanted][:1]:
                self._leaving.remove(id_)
                self.ledger.signalled(id_, Signal.NOTIFICATION, at=at, seq=seq)
        elif out and isinstance(frame, messages.RequestFrame):
            self.ledger.written(self.ledger.other_ids.get(frame.id, frame.id), at=at, seq=seq)
        self.ledger.perform()
        self.checkpoint.taken(kind, at, data, frame)
        if not out:
            self.answered_by_tap(frame, at, data)

    def _done(self, frame: Frame | Batch) -> None:
        """Notes that the last recorder has ordered a message, which is not sent again."""
        if (said := self.loop.said(0, frame)) is not None:
            self.has_said(said[1], frame)

    def _unwritten(self, data: bytes, at: float) -> None:
        """Notes a message that the server cannot get, because its stdin was closed."""
        frame, why = messages.parse(data.rstrip(b"\n")), "the server's stdin is closed"
        if self.loop.restoring:
            self._done(frame)
        if isinstance(frame, messages.RequestFrame):
            self.ledger.refused(frame.id, why, at=at)
        elif isinstance(frame, messages.NotificationFrame):
            wanted: Any = as_object(frame.params)["requestId"]
            row = self.ledger.named(wanted)
            left = [each for each in self._leaving if self.observer.on_wire(each) == wanted][:1]
            for id_ in left or ([] if row is None else [row.wire_id]):
                self.ledger.signal_failed(id_, why, at=at)
            self._leaving = [each for each in self._leaving if each not in left]

    # -- a new recorder --------------------------------------------------------------------------------------

    def needed(self) -> list[recorder_records.TapRecord]:
        """Returns the checkpoint: the session, what is open, and the incomplete lines."""
        found = [(recorder_records.MEMORY, 0.0, 0, messages.encode(self.memory())), *self.checkpoint.needed()]
        for kind, framer in self._framers.items():
            begun = framer.unfinished
            if framer.overflows or len(begun) > BEGUN_BYTES:
                found.append((recorder_records.BEGUN_LINE, 0.0, 0, kind + begun[:LINE_HEAD_BYTES]))
            elif begun:
                found.append((kind, 0.0, BEGUN, begun))
        return found

    def restore(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Restores one record of the last recorder's checkpoint."""
        match kind:
            case recorder_records.MEMORY:
                self.remember(as_object(messages.read_json(data)))
            case recorder_records.FROM_CLIENT | recorder_records.FROM_SERVER if number != BEGUN:
                self._line(kind, at, data)
            case recorder_records.SMALL_FROM_CLIENT | recorder_records.SMALL_FROM_SERVER:
                self._message(kind, at, data, messages.parse(data), 0)
            case recorder_records.BEGUN_LINE:
                self._begun_before(data[:1], data[1:])
            case _:
                self.record(kind, at, number, data)

    def _begun_before(self, kind: bytes, head: bytes) -> None:
        """Notes that a line has begun which is too large to be remembered: when it ends, it is left out."""
        self._torn.add(kind)
        frame = messages.salvage(head, "", whole=False)
        id_ = getattr(frame, "id", None)
        if kind == recorder_records.FROM_SERVER and getattr(frame, "method", None) is None:
            self.unseen(monotonic(), [id_] if messages.is_request_id(id_) else None)
        elif kind == recorder_records.FROM_CLIENT:
            self.observer.sent(salvaged(Oversized(head=head, size=len(head))), at=monotonic())
        self.ledger.perform()

    def restored(self, at: float, why: str) -> None:
        """Ends the restoring; notes ``why`` the last recorder ended."""
        self.event(ev.Note(at=at, text=self.continues(why)))
        self._open_socket()

    def _open_socket(self) -> None:
        if self._opens_socket:
            self.open_socket(self.loop.listening)

    def killed(self, at: float) -> None:
        """Ends a server whose tap was killed, if its guard was killed too and could not."""
        detail, expected = self._server_end.words(at - self._behind, None)
        self._end(detail, expected=expected, at=at)
        self.loop.last_work.append((UNGUARDED_SECONDS, partial(end_group, self._server)))

    def _exited(self, code: int, guard_signal: int, at: float) -> None:
        """Notes the exit of the server; ``guard_signal`` is the one that ended its guard before, 0 if none did."""
        if guard_signal and not self._server_end.is_wanted(at, code):
            self._end(exit_text(code, -guard_signal), expected=False, at=at)
            return
        detail, expected = self._server_end.words(at, code)
        if expected:
            self.event(ev.Note(at=at, text=exit_text(code)))
        self._end(detail, expected=expected, at=at)

    def _end(self, detail: str, *, expected: bool, at: float) -> None:
        self._closed(detail, expected=expected, at=at)
        self.over = True

    def _closed(self, detail: str, *, expected: bool, at: float) -> None:
        if self._ends_within and not expected:
            detail += " in the middle of a message"
        self.ledger.closed(detail, at=at, expected=expected)
        self.ledger.perform()

    def end(self) -> None:
        """Closes the journal and the control socket, and leaves calls with an unknown outcome to later taps."""
        if self._earlier_taps is not None:
            ledger = self.ledger
            self._earlier_taps.keep(ledger.repeats, ledger.requests, ledger.session, monotonic())
        super().end()

    # -- what the tap says -------------------------------------------------------------------------------------

    def answer_client(self, row: Request, message: dict[str, Json]) -> None:
        """Orders it from the relay."""
        token = self.observer.token_of(row)
        # One order for both: between two orders the late answer could pass.
        line, id_ = messages.encode(message).decode() + "\n", message["id"]
        self.loop.report({"about": [0, id_], "keep": id_, "token": token, "tell": line})

    def event(self, event: ev.Event) -> None:
        """Keeps an event. An answer that comes before the client was told of the cancel has passed, and stands for it."""
        super().event(event)
        if isinstance(event, ev.Late) and event.kind in ANSWERING_KINDS:
            id_ = self.observer.on_wire(self.ledger.row(event.id).wire_id)
            if self.loop.withdraw(0, id_):
                text = f"the client got this answer to {id_}, whose line had begun before the cancel, and no error"
                self.event(ev.Note(at=event.at, text=text))

    def line_ended(self, at: float) -> bytes:
        """Notes that the line is ended for the client. The recorder still reads the server's whole line."""
        text = "the server stopped within a line: it was ended for the client, which gets it whole if the rest comes"
        self.event(ev.Note(at=at, text=text))
        return self._framers[recorder_records.FROM_SERVER].unfinished

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Orders it from the relay."""
        self.loop.say({"say": messages.encode(message).decode() + "\n", "keep": id})

    def notify(self, id: RequestId, message: dict[str, Json]) -> None:
        """Orders it from the relay."""
        self._leaving.append(id)
        self.loop.say({"say": messages.encode(message).decode() + "\n"})
