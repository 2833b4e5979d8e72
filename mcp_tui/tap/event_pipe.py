"""Server-sent events on their way through a tap."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mcp_tui.tap.kept_back import KeptBack

EVENT_BYTES: Final = 128 * 1024 * 1024
"""Bytes of an event up to which it is looked at; a longer one passes."""

FIRST_BYTES: Final = 64 * 1024
"""Bytes of a first event that is waited for."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BLANK_LINES: Final = re.compile(rb"\n\n|\r\r|\n\r\n")
"""The end of an event: the end of a line and a blank line."""


def as_event(message: bytes) -> bytes:
    """Returns a message as an event of its own."""
    return b"event: message\ndata: %b\n\n" % message.strip()


def fields_of(event: bytes) -> tuple[bytes, bytes, bool]:
    """Returns the name and the data of an event, and whether it has an id."""
    name, data, has_id = b"message", list[bytes](), False
    for line in _LINE_END.split(event):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
        elif field == b"id":
            has_id = True
    return name, b"\n".join(data), has_id


def with_data(event: bytes, data: bytes) -> bytes:
    """Returns an event with other data; one without any is left out but for its id, from which a client may resume."""
    kept = (b"id", b"retry") if not data else (b"id", b"retry", b"event")
    lines = [line for line in _LINE_END.split(event) if line.partition(b":")[0] in kept]
    lines += [b"data: " + line for line in data.split(b"\n") if data]
    return b"\n".join(lines) + b"\n\n" if lines else b""


class EventPipe:
    """Hands the bytes of a stream on as they come. Only while there is something to look for, it waits for whole events.

    ``first`` may change the first event; what is ``kept`` back does not pass.
    """

    def __init__(
        self, kept: Callable[[], KeptBack | None], first: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._kept = kept
        self._first = first
        self._tail = b""
        """The last bytes that passed."""
        self._held = b""
        self._waiting: list[bytes] = []

    @property
    def looks(self) -> bool:
        """Whether there is something to look for in what comes."""
        return bool(self._kept() or self._first or self._held or self._waiting)

    @property
    def _open(self) -> bool:
        """Whether an event has passed in part."""
        return bool(self._tail) and not self._tail.endswith((b"\n\n", b"\r\r", b"\n\r\n"))

    def feed(self, data: bytes) -> bytes:
        """Takes what the server sent; returns what passes now."""
        if not self.looks:
            return self.passes(data)
        self._held += data
        kept = self._kept()
        passed: list[bytes] = []
        # The blank line that ends an event may have begun in bytes that passed already.
        while found := _BLANK_LINES.search((before := self._tail[-2:] if self._open else b"") + self._held):
            cut = found.end() - len(before)
            event, self._held = self._held[:cut], self._held[cut:]
            if not before:
                event = self._looked_at(event, kept)
            self._passing(passed, event)
            while self._waiting:
                self._passing(passed, self._waiting.pop(0))
        if self._open or len(self._held) > (FIRST_BYTES if self._first else EVENT_BYTES):
            self._first = None
            self._passing(passed, self._held)
            self._held = b""
        return b"".join(passed)

    def passes(self, data: bytes) -> bytes:
        """Takes what passes as it is."""
        self._tail = (self._tail + data)[-3:]
        return data

    def _passing(self, passed: list[bytes], data: bytes) -> None:
        passed.append(self.passes(data))

    def _looked_at(self, event: bytes, kept: KeptBack | None) -> bytes:
        if self._first is not None:
            event, self._first = self._first(event), None
        if kept:
            data = fields_of(event)[1]
            left = kept.sift(data) if data else data
            if left != data:
                return with_data(event, left.strip())
        return event

    def say(self, message: bytes) -> bytes:
        """Says something to the client between two events; returns what passes now."""
        event = as_event(message)
        if self._open:
            self._waiting.append(event)
            return b""
        self._tail = event[-3:]
        return event

    def close(self) -> bytes:
        """Returns what was held when the stream ended.

        An event that has passed in part is ended for what is still to be said: its rest will not come.
        """
        held, self._held = self._held, b""
        said, self._waiting = self._waiting, []
        # Whatever line end it has in part, this is a blank line.
        return b"".join((b"\n\n", *said)) if said else held
