"""Selects the lines of a server's stderr that most likely explain a failure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from mcp_tui.protocol.patterns import late

FIRST_LINES: Final = 4
LAST_LINES: Final = 5

_ERROR_WORDS: Final = late(r"error|exception|fatal|panic", re.IGNORECASE)


_TROUBLE: Final = late(
    r"""
    ^\s*(?i:traceback\ \(most\ recent|error[:\ ]|fatal\b|panic:|unhandled|uncaught)
    | ^\s*(?i:segmentation\ fault|thread\ '.*'\ panicked)
    | ^\s*[\w.]*(Error|Exception)(:|\ \[|$)
    | \b(ERROR|CRITICAL|FATAL|PANIC)\b
    | "?level"?[:=]\s*"?(?i:error|fatal|critical)\b
    """,
    re.VERBOSE,
)
"""A line of stderr that reports an error, in the forms of languages and loggers."""


def reports_error(line: str) -> bool:
    """Whether a line of stderr reports an error."""
    return _TROUBLE.search(line) is not None


class StderrLines:
    """The first and the last lines of stderr, and the last error line between them.

    Go, npm, docker, and git give the reason first, Python last; Node gives it above a long stack trace. Blank lines
    do not count.
    """

    def __init__(self) -> None:
        self.clear()

    def __bool__(self) -> bool:
        return bool(self._first)

    def clear(self) -> None:
        """Forgets all lines, for another process."""
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._error = ""
        self._before = self._after = 0  # the lines left out before and after the error

    @property
    def newest(self) -> str | None:
        """The newest line; ``None`` if there is none."""
        return self._last[-1] if self._last else self._first[-1] if self._first else None

    def add(self, text: str) -> None:
        """Adds a line."""
        if not text.strip():
            return
        if len(self._first) < FIRST_LINES:
            self._first.append(text)
            return
        self._last.append(text)
        if len(self._last) <= LAST_LINES:
            return
        oldest = self._last.popleft()
        if _ERROR_WORDS.search(oldest) and not oldest[0].isspace():
            self._before += self._after + bool(self._error)
            self._error, self._after = oldest, 0
        else:
            self._after += 1

    def __iter__(self) -> Iterator[str]:
        """Yields the lines, oldest first, with the number of lines left out between them."""
        yield from self._first
        yield from _gap(self._before)
        if self._error:
            yield self._error
        yield from _gap(self._after)
        yield from self._last


def _gap(lines: int) -> Iterator[str]:
    if lines:
        yield f"… {lines:,} {'line' if lines == 1 else 'lines'} left out …"
