"""Server-sent events on their way through a tap."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mcp_tui.tap.withheld_answers import WithheldAnswers
from mcp_tui.transport.http_bodies import LINE_END, fields_of

EVENT_BYTES: Final = 128 * 1024 * 1024
"""The maximum size of an event that is read, in bytes. A longer one passes unread."""

FIRST_BYTES: Final = 64 * 1024
"""The maximum size of a first event that is withheld until it is complete, in bytes."""

_BLANK: Final = (b"\n\n", b"\r\r", b"\n\r\n", b"\n\r")
"""The end of an event: the end of a line and a blank line, of which a line feed may still come."""
_BLANK_LINES: Final = re.compile(b"|".join(_BLANK))

CUT_EVENT: Final = b"event: cut-short\n\n"
"""Bytes that end an event of which a part has passed."""


def as_event(message: bytes) -> bytes:
    """Returns a message as one server-sent event."""
    lines = b" ".join(message.splitlines())
    return b"event: message\ndata: %b\n\n" % lines.strip()


def with_data(event: bytes, data: bytes) -> bytes:
    """Returns an event with other data; one without any is left out but for its id, from which a client may resume."""
    kept = (b"id", b"retry") if not data else (b"id", b"retry", b"event")
    lines = [line for line in LINE_END.split(event) if line.partition(b":")[0] in kept]
    lines += [b"data: " + line for line in data.split(b"\n") if data]
    return b"\n".join(lines) + b"\n\n" if lines else b""


class EventPipe:
    """Hands the bytes of a stream on as they come. Only while there is something to look for, it waits for whole events.

    ``first`` may change the first event with data; what is ``withheld`` does not pass.
    """

    def __init__(
        self, withheld: Callable[[], WithheldAnswers | None], first: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._withheld = withheld
        self._first = first
        self._event = bytearray()
        """The received part of an event; only its end, if it is too long."""
        self._passed = 0
        """The number of its bytes that have passed. While it is 0, the event waits until it is complete."""
        self._too_long = False

    @property
    def looks(self) -> bool:
        """Whether the tap has to read the events."""
        return bool(self._withheld() or self._first or (self._event and not self._passed))

    def feed(self, data: bytes) -> bytes:
        """Takes bytes from the server; returns the bytes for the client."""
        if not self.looks:
            return self.passes(data)
        withheld = self._withheld()
        passed: list[bytes] = []
        # The line feed of the blank line before: a client may wait for it.
        if not self._event and data.startswith(b"\n"):
            passed.append(b"\n")
            data = data[1:]
        start = max(0, len(self._event) - 2)  # The blank line may have begun in the bytes before.
        self._event += data
        while found := _BLANK_LINES.search(self._event, start):
            event = bytes(self._event[: found.end()])
            passed.append(event[self._passed :] if self._passed else self._looked_at(event, withheld))
            self._over(found.end())
            start = 0
        if self._passed or len(self._event) > (FIRST_BYTES if self._first else EVENT_BYTES):
            self._first = None
            passed.append(bytes(self._event[self._passed :]))
            self._has_passed()
        return b"".join(passed)

    def passes(self, data: bytes) -> bytes:
        """Notes bytes that pass unread."""
        start = max(0, len(self._event) - 2)
        self._event += data
        # Searched backwards, because most pieces end with an event.
        if self._event.endswith(_BLANK) or bytes(self._event[:3]) in (b"\n", b"\r\n"):
            self._over(len(self._event))
        else:
            found = ((self._event.rfind(each, start), len(each)) for each in _BLANK)
            self._over(max((at + size for at, size in found if at >= 0), default=0))
        self._has_passed()
        return data

    def _over(self, end: int) -> None:
        """Forgets an event that ends here."""
        if end:
            del self._event[:end]
            self._passed, self._too_long = 0, False

    def _has_passed(self) -> None:
        """Notes that the received part of an event has passed."""
        if len(self._event) > EVENT_BYTES:
            del self._event[:-2]
            self._too_long = True
        self._passed = len(self._event)

    def _looked_at(self, event: bytes, withheld: WithheldAnswers | None) -> bytes:
        data = fields_of(event)[1] if self._first or withheld else b""
        if self._first is not None and data:
            event, self._first = self._first(event), None
        if withheld and data:
            left = withheld.sift(data)
            if left != data:
                return with_data(event, left.strip())
        return event

    def say(self, message: bytes, *, last: bool) -> bytes | None:
        """Inserts a message for the client; returns the bytes for the client, ``None`` if that is impossible here.

        An event that has passed in part is ended as one of a kind that no client knows. It passes whole once the rest
        comes, unless this is the ``last`` that passes.
        """
        if self._too_long and not last:
            return None
        lead = b"\n" if self._passed and not self._event.endswith((b"\n", b"\r")) else b""
        cut = lead + CUT_EVENT if self._passed else b""
        self._passed = 0
        if last:
            self._event.clear()
        return cut + as_event(message)

    def close(self) -> bytes:
        """Returns the bytes that were withheld when the stream ended."""
        return b"" if self._passed else bytes(self._event)
