"""The guard of ``tap --once`` between the two streams of a tap over stdio. Loaded only where there is one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event, RLock, Thread
from time import monotonic
from typing import Any, Final, Protocol

from mcp_tui import clock
from mcp_tui.protocol import messages
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.revisions import META_CLIENT_INFO, META_PROTOCOL_VERSION
from mcp_tui.tap import recorder_records
from mcp_tui.tap.once import Action, Call, Given, OnceGuard, Sent
from mcp_tui.tap.once_log import GuardLog
from mcp_tui.tap.pipes import is_closed
from mcp_tui.tap.recorder_link import Queue

_NAMES: Final = (b"tools", b"cancelled", b"initialize", b"\\u", b"\\/")
"""Bytes of which a line of the client has one if the guard is concerned; the last two may stand for some of the others."""

LARGE_BYTES: Final = 1 << 20
"""Bytes of an answer from which on only its id is read, if nobody waits for it."""

LOOK_SECONDS: Final = 0.5


def made(begin: recorder_records.TapOptions, configuration: object) -> tuple[OnceGuard, GuardLog]:
    """Returns the guard of a tap with these options, and its log."""
    log = GuardLog(configuration)
    tools = filter(None, begin.get("once", "").split(","))
    return OnceGuard(tools, log=log.write, wall=clock.wall() - monotonic(), secret=log.secret), log


def members(message: Any) -> list[Any]:
    """Returns the members of a batch, or a message alone."""
    return message if isinstance(message, list) else [message]  # pyright: ignore[reportUnknownVariableType]


class Stream(Protocol):
    """One direction of bytes: :class:`~mcp_tui.tap.relay.ByteStream`, which describes all of it."""

    ended: bool

    @property
    def queue(self) -> Queue: ...
    def say(self, line: bytes, kind: bytes = b"") -> None: ...


class StdioGuard:
    """Looks at whole lines in both directions. ``up`` leads to the server, ``down`` to the client.

    ``limited``: the tap has limits.
    """

    def __init__(self, guard: OnceGuard, log: GuardLog, up: Stream, down: Stream, *, limited: bool) -> None:
        self._limited = limited
        self._guard = guard
        self._log = log
        self._up = up
        self._down = down
        self._queue = up.queue
        self._lock = RLock()
        self._client = ""
        self._lists: list[Any] = []
        """The ids of requests for the list of tools."""
        self._wake = Event()
        self._gone = False
        Thread(target=self._watch, daemon=True).start()

    @property
    def looks(self) -> bool:
        """Whether there is something to look for in what the server says."""
        return bool(self._guard.open or self._lists)

    # -- from the client ---------------------------------------------------------------------------------------

    def asked(self, line: bytes) -> bytes:
        """Returns what of a line of the client is sent to the server: the line itself if that is all."""
        if not any(each in line for each in _NAMES):
            return line
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            return line
        with self._lock:
            every = members(message)
            kept = [each for each in every if self._passes(as_object(each))]
            if len(kept) == len(every):
                return line
        return messages.encode(kept) + b"\n" if kept else b""

    def _passes(self, message: dict[str, Any]) -> bool:
        """Whether a message is sent to the server."""
        params, at = as_object(message.get("params")), monotonic()
        meta = as_object(params.get("_meta"))
        match message.get("method"):
            case "initialize":
                self._client = party(params.get("clientInfo"))
            case "tools/list":
                self._lists.append(message.get("id"))
            case "notifications/cancelled":
                return self._cancels(params.get("requestId"), at)
            case "tools/call":
                client = party(meta.get(META_CLIENT_INFO)) or self._client
                modern = META_PROTOCOL_VERSION in meta
                call = self._guard.read(message, client, at, modern=modern)
                if call is not None:
                    return self._called(call, at)
            case _:
                pass
        return True

    def _called(self, call: Call, at: float) -> bool:
        for tap, lines, why in self._log.others():
            self._guard.remember(tap, lines, why, at)
        actions = self._guard.called(call, at)
        if any(isinstance(each, Sent) for each in actions):
            if self._limited:  # else nothing ends it but a cancel
                self._record(call, "sent", None)
            return True
        if call.first is not None:
            self._record(call, "waits", call.first)
            self._wake.set()
        # The other direction may be in the middle of a line, for long: this one must not wait for that.
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
        """Whether a message of the tap's own is sent to the server: not the cancel of a call that never was."""
        message: Any = json.loads(line)
        if message.get("method") != "notifications/cancelled":
            return True
        with self._lock:
            return self._cancels(as_object(message.get("params")).get("requestId"), monotonic())

    def ended_by_tap(self, id_: Any) -> None:
        """Notes that the tap has answered a call in the server's place."""
        with self._lock:
            call = self._guard.find(id_)
            if call is not None:
                self._guard.gave_up(call, monotonic())

    def allow(self, id_: Any) -> None:
        """Lets one refused repeat through."""
        with self._lock:
            self._guard.allow(id_)

    # -- from the server ---------------------------------------------------------------------------------------

    def answered(self, line: bytes, *, passes: bool, crossing: bool) -> list[tuple[bytes, bytes]]:
        """Takes a line of the server, just before it passes; returns records, and what the client is told behind it."""
        with self._lock:
            open_ = self._guard.open
            if not self._may_answer(line, open_):
                return []
            large = len(line) > LARGE_BYTES and not any(each.waiting for each in open_)
            try:
                read: Any = self._outline(line) if large else json.loads(line)
            except (ValueError, RecursionError):
                return []
            actions = [
                action
                for each in members(read)
                for action in self._answers(as_object(each), len(line), passes=passes, crossing=crossing)
            ]
        return [*self._messages_of(actions)]

    @staticmethod
    def _outline(line: bytes) -> dict[str, Any]:
        frame = messages.salvage(line[: 64 * 1024] + line[-4096:], "", whole=True)
        return {"id": getattr(frame, "id", None), "result": {}}

    def _may_answer(self, line: bytes, open_: list[Call]) -> bool:
        if b"notifications/progress" in line:
            return any(each.waiting or each.cancelled_at is not None for each in open_)
        if b'"result"' not in line and b'"error"' not in line:
            return False
        ids = [*self._lists, *(each.id for each in open_)]
        return any(str(each).encode() in line or not str(each).isalnum() for each in ids)

    def _answers(self, message: dict[str, Any], size: int, *, passes: bool, crossing: bool) -> list[Action]:
        at, params = monotonic(), as_object(message.get("params"))
        if message.get("method") == "notifications/progress":
            token = params.get("progressToken")
            found = [each for each in self._guard.open if each.token is not None and each.token == token]
            return self._guard.progressed(found[-1], params, at) if found else []
        if "method" in message or "id" not in message:
            return []
        id_ = message["id"]
        if id_ in self._lists:
            self._lists.remove(id_)
            self._guard.safe.listed(message.get("result"))
            return []
        call = self._guard.find(id_)
        if call is None or call.first is not None:
            return []
        return self._guard.answered(call, message, size, at, delivered=passes, crossing=crossing)

    def over(self, why: str) -> list[tuple[bytes, bytes]]:
        """Notes that the server has closed its output; returns what the client is told."""
        with self._lock:
            return [*self._messages_of(self._guard.ended(why, monotonic()))]

    def undelivered(self) -> None:
        """Notes that the client reads no more: what has just passed may not have reached it."""
        with self._lock:
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
        """Refuses those that wait for a call that is silent since its cancel, and notices a client that is gone."""
        while not self._gone:
            with self._lock:
                due = self._guard.due
            if due is None:
                self._wake.wait(LOOK_SECONDS if self._up.ended else None)
            else:
                self._wake.wait(max(0.0, due - monotonic()))
            self._wake.clear()
            with self._lock:
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
        with self._lock:
            self._log.close(empty=self._guard.is_empty)
