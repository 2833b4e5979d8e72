"""The guard of ``tap --once`` between the two streams of a tap over stdio. Loaded only where there is one.

Most lines are forwarded before they are read, while no call in them can be a repeat (:meth:`OnceGuard.outlook`) and no call
waits for an answer. Such lines are *unread* for up to a tenth of a second. They are read in order, with their times, before
anything is decided. Until then they are in the notes (:mod:`mcp_tui.tap.once_notes`), where the next tap finds them if this
one is killed.
"""

from __future__ import annotations

import gc
import json
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from threading import Event, RLock, Thread, get_ident
from time import monotonic
from typing import Any, Final, Protocol

from mcp_tui import clock
from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.protocol import messages
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.messages import MethodFrame
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import PARALLEL_SECONDS
from mcp_tui.protocol.revisions import META_PROTOCOL_VERSION
from mcp_tui.tap import recorder_records
from mcp_tui.tap.once import Action, Call, Given, OnceGuard, Sent, client_of, members, messages_in
from mcp_tui.tap.once_log import GuardLog
from mcp_tui.tap.pipes import is_closed
from mcp_tui.tap.recorder_link import Queue

_NAMES: Final = (b"tools", b"cancelled", b"initialize", b"\\u", b"\\/")
"""A client's line concerns the guard only if it has one of these. The last two are escapes that may hide the others."""

LARGE_BYTES: Final = 1 << 20
"""The size in bytes from which only the id of an answer is read, if no call waits for it."""

OUTLINED_BYTES: Final = 1 << 14
"""The size in bytes from which the id of a line is read first, because it may not answer a guarded call."""

_ANSWERING: Final = (b'"result"', b'"error"', b"notifications/progress")
"""A server's line concerns the guard only if it has one of these."""

HIDING: Final = tuple(b"\\u00%d" % each for each in range(2, 8))
"""Escapes of characters that need no escape. They may hide a name."""

NEWLINE: Final = 10

UNREAD: Final = 256
"""The maximum number of unread pieces."""
NOTED_BYTES: Final = 1 << 12
"""The size in bytes from which an answer is read immediately instead of noted."""

LOOK_SECONDS: Final = 0.5


def made(policy: OncePolicy, configuration: object, server: str) -> tuple[OnceGuard, GuardLog]:
    """Returns the guard of a tap, and its log. ``server`` is the configured name of the server, which may be empty."""
    log = GuardLog(configuration)
    guard = OnceGuard(policy, log=log.write, wall=clock.wall() - monotonic(), secret=log.secret)
    guard.server, guard.wants_server = server, policy.needs_server and not server
    log.reading = guard.read  # the server of another tap may have had another name
    gc.freeze()  # A collection of all that was imported would delay a call by milliseconds.
    return guard, log


class Stream(Protocol):
    """One direction of bytes, as the guard uses it. :class:`~mcp_tui.tap.relay.ByteStream` describes each member."""

    ended: bool

    @property
    def queue(self) -> Queue: ...
    def say(self, line: bytes, kind: bytes = b"") -> None: ...


class StdioGuard:
    """Reads whole lines in both directions. ``up`` leads to the server, ``down`` to the client."""

    def __init__(self, guard: OnceGuard, log: GuardLog, up: Stream, down: Stream) -> None:
        self._guard = guard
        self._log = log
        self._up = up
        self._down = down
        self._queue = up.queue
        self._lock = RLock()
        self._client = ""
        self._lists: list[Any] = []
        """The ids of open ``tools/list`` requests."""
        self._wake = Event()
        self._gone = False
        self._unread: deque[tuple[bytes, float, bytes]] = deque()
        """The lines that were forwarded and not read yet, with their kinds and times."""
        self._reader = 0
        """The thread that reads the unread lines; 0 if none does."""
        self._notes = log.notes
        self._free_until = 0.0
        self._is_awaited = False
        self._tools: tuple[bytes, ...] = ()
        """The names of the tools whose calls may be repeats, as in JSON."""
        self.looks = guard.wants_server
        """Whether the guard needs the server's lines."""
        self._queue.bring = self._bring
        Thread(target=self._watch, daemon=True).start()

    # -- forwarded before it is read ---------------------------------------------------------------------------

    def sends(self, data: bytes) -> bool:
        """Whether bytes of the client may be sent before they are read; notes them, if so."""
        # Every call waits for this, so it is short.
        notes, unread, at = self._notes, self._unread, monotonic()
        if notes is None or data[-1] != NEWLINE or b"cancelled" in data or self._log.has_news:
            return False
        if unread and self._is_due(at):
            return False
        calls = b"tools" in data
        if calls and at >= self._free_until and any(each in data for each in self._tools):
            return False
        if b"\\u00" in data and any(each in data for each in HIDING):
            return False
        unread.append((recorder_records.FROM_CLIENT, at, data))
        if (calls or b"initialize" in data) and not notes.calls.add(at, data):
            self._read_unread()
        return True

    def answers(self, data: bytes, crosses: Callable[[], bool]) -> bool:
        """Whether bytes of the server may be forwarded before they are read; notes them, if so.

        ``crosses`` returns whether the client has sent something that the tap has not read.
        """
        unread, at = self._unread, monotonic()
        if self._is_awaited or not (unread or self.looks) or data[-1] != NEWLINE:
            return False
        if (unread and self._is_due(at)) or (at >= self._free_until and crosses()):
            return False
        unread.append((recorder_records.FROM_SERVER, at, data))
        return True

    def has_answered(self, data: bytes) -> None:
        """Notes that these bytes have reached the client, so the outcomes in them are known to it."""
        if b'"result"' in data or b'"error"' in data:
            notes = self._notes
            if notes is None or len(data) > NOTED_BYTES or not notes.answers.add(0.0, data):
                self._read_unread()

    def _is_due(self, at: float) -> bool:
        """Whether the unread lines have to be read first, because an equal call may be a repeat by now."""
        try:  # another thread may have read the lines
            return at - self._unread[0][1] >= PARALLEL_SECONDS or len(self._unread) >= UNREAD
        except IndexError:
            return False

    def _bring(self) -> None:
        if self._unread:
            self._read_unread()

    def _read_unread(self) -> None:
        """Reads the unread lines."""
        with self._deciding():
            pass

    @contextmanager
    def _deciding(self) -> Generator[None]:
        """Runs a block after all unread lines are read, and without another decision at the same time."""
        if self._reader == get_ident():
            yield
            return
        with self._lock:
            # Counted first: a line is unread before it is noted, so the unread lines include all these notes. What another
            # thread notes after that stays in the notes until the next decision.
            lists = () if self._notes is None else (self._notes.calls, self._notes.answers)
            added = [each.added for each in lists]
            self._reader, unread = get_ident(), [*self._unread]
            try:
                with self._log.together():
                    for kind, at, data in unread:
                        self._read(kind, at, data)
                    yield
            finally:
                self._look_out()
                for _ in unread:  # not earlier, because the outlook did not include them until now
                    self._unread.popleft()
                for each, number in zip(lists, added, strict=True):
                    each.read = number
                self._reader = 0

    def _read(self, kind: bytes, at: float, data: bytes) -> None:
        self._queue.add(kind, at, data)
        is_client = kind == recorder_records.FROM_CLIENT
        if any(each in data for each in (_NAMES if is_client else _ANSWERING)):
            for message in messages_in(data) if is_client else ():
                self._passes(message, at, has_passed=True)
            for line in () if is_client else data.split(b"\n"):
                if any(each in line for each in _ANSWERING):
                    self._take(line, at, passes=True, crossing=False)

    def _look_out(self) -> None:
        """Sets what may be forwarded before it is read, from now on."""
        outlook = self._guard.outlook()
        self._tools, self._notes = outlook.names, self._log.notes
        self._free_until, self._is_awaited = outlook.free_until, outlook.is_awaited
        self.looks = outlook.is_open or bool(self._lists) or self._guard.wants_server

    # -- from the client ---------------------------------------------------------------------------------------

    def asked(self, line: bytes) -> bytes:
        """Returns the part of a client's line that is sent to the server: the line itself, some messages, or nothing."""
        if not any(each in line for each in _NAMES):
            return line
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            return line
        with self._deciding():
            every = members(message)
            kept = [each for each in every if self._passes(as_object(each), monotonic())]
            if len(kept) == len(every):
                return line
        return messages.encode(kept) + b"\n" if kept else b""

    def _passes(self, message: dict[str, Any], at: float, *, has_passed: bool = False) -> bool:
        """Whether a message is sent to the server. ``has_passed``: it was sent already."""
        params = as_object(message.get("params"))
        match message.get("method"):
            case "initialize":
                self._client = party(params.get("clientInfo"))
                self._log.set_client(self._client)
            case "tools/list":
                self._lists.append(message.get("id"))
            case "notifications/cancelled":
                return self._cancels(params.get("requestId"), at)
            case "tools/call":
                for tap, lines, why in () if has_passed else self._log.others():
                    self._guard.remember(tap, lines, why, at)
                modern = META_PROTOCOL_VERSION in as_object(params.get("_meta"))
                client = client_of(message, self._client)
                call = self._guard.guarded(self._guard.read(message, client, at, modern=modern))
                if call is not None and has_passed:
                    self._guard.passed(call, at)
                    self._record(call, "sent", None)
                elif call is not None:
                    return self._called(call, at)
            case _:
                pass
        return True

    def _called(self, call: Call, at: float) -> bool:
        actions = self._guard.called(call, at)
        if any(isinstance(each, Sent) for each in actions):
            self._record(call, "sent", None)
            return True
        if call.first is not None:
            self._record(call, "waits", call.first)
            self._wake.set()
        # The other direction may be in the middle of a long line, and this one must not wait for its end.
        Thread(target=self._say, args=(actions,), daemon=True).start()
        return False

    def _cancels(self, id_: Any, at: float) -> bool:
        call = self._guard.find(id_)
        if call is None:
            self._guard.crossed(id_, at)
            return True
        self._wake.set()
        return self._guard.cancels(call, at)

    def said(self, line: bytes) -> bool:
        """Whether the tap sends a message of its own to the server: not the cancel of a call that the server never got."""
        message: Any = json.loads(line)
        if message.get("method") != "notifications/cancelled":
            return True
        with self._deciding():
            return self._cancels(as_object(message.get("params")).get("requestId"), monotonic())

    def ended_by_tap(self, id_: Any) -> None:
        """Notes that the tap has answered a call in the server's place."""
        with self._deciding():
            call = self._guard.find(id_)
            if call is not None:
                self._guard.gave_up(call, monotonic())

    def allow(self, id_: Any) -> None:
        """Lets the next call through that is equal to a refused repeat."""
        with self._deciding():
            self._guard.allow(id_)

    # -- from the server ---------------------------------------------------------------------------------------

    def answered(self, line: bytes, *, passes: bool, crossing: bool) -> list[tuple[bytes, bytes]]:
        """Takes a line of the server before it is forwarded; returns what the client gets after it, with the kinds."""
        if not any(each in line for each in _ANSWERING):
            return []
        with self._deciding():
            return [*self._messages_of(self._take(line, monotonic(), passes=passes, crossing=crossing))]

    def _take(self, line: bytes, at: float, *, passes: bool, crossing: bool) -> list[Action]:
        if len(line) > OUTLINED_BYTES:
            frame = messages.salvage(line[: 64 * 1024] + line[-4096:], "", whole=True)
            id_ = getattr(frame, "id", None)
            call = self._guard.find(id_)
            known = call is not None or id_ in self._lists or self._guard.wants_server
            if isinstance(frame, MethodFrame) or not known:
                return []
            if len(line) > LARGE_BYTES and not (call and call.waiting):
                outline: dict[str, Any] = {"id": id_, "result": {}}
                return self._answers(outline, len(line), at, passes=passes, crossing=crossing)
        try:
            read: Any = json.loads(line)
        except (ValueError, RecursionError):
            return []
        return [
            action
            for each in members(read)
            for action in self._answers(as_object(each), len(line), at, passes=passes, crossing=crossing)
        ]

    def _answers(
        self, message: dict[str, Any], size: int, at: float, *, passes: bool, crossing: bool
    ) -> list[Action]:
        params = as_object(message.get("params"))
        if message.get("method") == "notifications/progress":
            token = params.get("progressToken")
            found = [each for each in self._guard.open if each.token is not None and each.token == token]
            return self._guard.progressed(found[-1], params, at) if found else []
        if "method" in message or "id" not in message:
            return []
        id_ = message["id"]
        self._guard.initialized(message.get("result"))
        if id_ in self._lists:
            self._lists.remove(id_)
            self._guard.safe.listed(message.get("result"))
            return []
        call = self._guard.find(id_)
        if call is None or call.first is not None:
            return []
        return self._guard.answered(call, message, size, at, delivered=passes, crossing=crossing)

    def over(self, why: str) -> list[tuple[bytes, bytes]]:
        """Notes that the server has closed its output; returns the messages that the client gets, with their kinds."""
        with self._deciding():
            return [*self._messages_of(self._guard.ended(why, monotonic()))]

    def undelivered(self) -> None:
        """Notes that the client no longer reads, so the newest answers may not have reached it."""
        with self._deciding():
            at = monotonic()
            for each in self._guard.just_delivered(at):
                self._guard.crossed(each.id, at)
            for each in self._guard.open:
                self._guard.gave_up(each, at)

    # -- what the tap says -------------------------------------------------------------------------------------

    def _messages_of(self, actions: list[Action]) -> Iterator[tuple[bytes, bytes]]:
        for each in actions:
            if isinstance(each, Given):
                if each.last:
                    self._record(each.call, each.how, each.of)
                kind = recorder_records.GUARD_ANSWER if each.last else recorder_records.OWN_TO_CLIENT
                yield kind, messages.encode(each.message) + b"\n"

    def _say(self, actions: list[Action]) -> None:
        for kind, line in self._messages_of(actions):
            self._down.say(line, kind)

    def _record(self, call: Call, how: str, of: Call | None) -> None:
        about = {"id": call.id, "how": how, "of": None if of is None else of.id}
        self._queue.put(recorder_records.GUARD, json.dumps(about).encode())

    def _watch(self) -> None:
        """Refuses the calls that wait for a call that is silent since its cancel, and notices a client that is gone."""
        while not self._gone:
            with self._deciding():
                due = self._guard.due
            if due is None:
                self._wake.wait(LOOK_SECONDS if self._up.ended else None)
            else:
                self._wake.wait(max(0.0, due - monotonic()))
            self._wake.clear()
            with self._deciding():
                actions = self._guard.tick(monotonic())
                if self._up.ended and is_closed(1):
                    self.undelivered()
            self._say(actions)

    def input_over(self) -> None:
        """Notes that the client has closed its end."""
        self._wake.set()

    def close(self) -> None:
        """Ends the log."""
        self._gone = True
        self._wake.set()
        with self._deciding():
            pass
        with self._lock:
            self._log.close(empty=self._guard.is_empty)
