"""What headless commands print: JSON lines for programs, short lines for people.

JSON is ASCII, so no byte of a server's reaches the terminal as anything but a letter; text for people goes through the one
sanitiser. Results go to stdout, the story of how they came about to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, TextIO, cast

from mcp_tui.cli.status import Exit, Failure
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.descriptions import as_json, describe
from mcp_tui.protocol.messages import Json, as_object, writable
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.text import clean

PROGRESS_EVERY: Final = 0.2
"""Seconds between two lines of progress for people; programs get each."""

LINE: Final = 4000
"""Characters of a line for people; programs get everything."""


def outcome_state(row: Request) -> str:
    """``completed``, ``failed``, ``cancelled``, ``timed_out`` or ``lost``."""
    return "lost" if row.open else evidence.ended(row)


def outcome(row: Request, now: float, result: Json = None, data: Json = None) -> dict[str, Any]:
    """The last line of a request: what came of it. ``result`` counts for a completed one, ``data`` for a failed one."""
    state = outcome_state(row)
    error: dict[str, Any] | None = None
    if state == "failed":
        error = {"code": row.code, "message": row.error}
        if row.rule:
            error["rule"] = row.rule
        if data is not None:
            error["data"] = data
    elif state == "lost":
        error = {"code": None, "message": row.error}
    return {
        "event": "outcome",
        "id": row.id,
        "state": state,
        "cause": row.cause.value if row.cause else None,
        "reason": row.reason if row.cause else None,
        **evidence.as_json(row, now),
        "elapsed": round(row.elapsed(now), 6),
        "result": result if state == "completed" else None,
        "error": error,
    }


def summary(row: Request, now: float) -> str:
    """One line for people: what came of a request, unsanitised."""
    state = outcome_state(row)
    after = f"after {row.elapsed(now):.3f} s"
    if state == "completed":
        return f"completed {after}, but the tool reports an error" if row.is_error else f"completed {after}"
    if state == "failed":
        told = row.code is None or str(row.code) in row.error  # several SDKs write it into the message
        code = "" if told else f" (error {row.code})"
        return f"failed {after}: {row.error or 'the server does not say why'}{code}"
    if state == "lost":
        return f"lost {after}: {row.error}"
    if row.sent_at is None:
        return "cancelled before it was sent"
    return f"{state.replace('_', ' ')} {after}: {evidence.summary_words(row, now)}"


class Printer:
    """Prints the events of a command. ``t`` counts from ``began``, monotonic seconds.

    ``closed`` is called, once, when stdout has no reader any more.
    """

    def __init__(self, *, as_json: bool, began: float, closed: Callable[[], None]) -> None:
        self.json = as_json
        self._began = began
        from mcp_tui.cli.streams import Streams  # and with it asyncio, which `log` has no use for

        self.streams = Streams(closed)
        self._over = False
        self._own: set[ev.RequestId] = set()
        self._methods: dict[ev.RequestId, str] = {}
        self._progress_at = 0.0
        self._colour = colourful(sys.stderr)

    def event(self, event: ev.Event) -> None:
        """Print one event, but none of the client's own requests, of its own closing, or after the outcome."""
        if self._over or (isinstance(event, ev.Disconnected) and event.expected):
            return
        if isinstance(event, ev.RequestEvent):
            if isinstance(event, ev.Called):
                self._methods[event.id] = event.method
                if event.internal:
                    self._own.add(event.id)
            if event.id in self._own:
                return
        if self.json:
            made = as_json(event)
            if made is not None:
                if isinstance(event, ev.Sent):
                    made["method"] = self._methods.get(event.id, "")
                self.line(made, event.at)
        else:
            self._tell(event)

    def _tell(self, event: ev.Event) -> None:
        if isinstance(event, ev.Progress):
            if event.at - self._progress_at < PROGRESS_EVERY:
                return
            self._progress_at = event.at
        known = describe(event)
        if known.headless(event):
            said = f"{known.source}: {known.words(event)}" if known.source else known.words(event)
            self.say(said, dim=not isinstance(event, (ev.Violation, ev.Undelivered)))

    def line(self, made: dict[str, Any], at: float) -> None:
        """One JSON line, with its time."""
        made = {"event": made["event"], "t": round(max(0.0, at - self._began), 6), **made}
        self.out(dump(made))

    def value(self, value: Any) -> None:
        """One JSON value on stdout."""
        self.out(dump(value))

    def end(self) -> None:
        """Print no event from here on: the outcome is told last, and a server may say much while it is ended."""
        self._over = True

    def say(self, text: str, *, dim: bool = False, red: bool = False) -> None:
        """One line for people, on stderr."""
        line = clean(text if len(text) <= LINE else f"{text[: LINE - 1]}…")
        style = "2" if dim else "31" if red else ""
        self.streams.err(f"\x1b[{style}m{line}\x1b[0m\n" if style and self._colour else f"{line}\n")

    def out(self, text: str) -> None:
        """One line on stdout, at once. Text of a server's must have been cleaned or encoded before."""
        self.streams.out(f"{text}\n")


def dump(value: Any, *, indent: int | None = None) -> str:
    """A value as ASCII JSON, whatever a server put into it: numbers that JSON or Python cannot write become text."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent)
    except ValueError:
        return json.dumps(writable(value), indent=indent)


def colourful(stream: TextIO) -> bool:
    """Whether colours are wanted there: a terminal, and no ``NO_COLOR``."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def text_of(result: Json) -> str:
    """A result for people: the texts of its content, a line for what is no text, and JSON for anything else."""
    fields = as_object(result)
    for member in ("content", "contents", "messages"):
        parts = fields.get(member)
        if isinstance(parts, list):
            return "\n".join(clean(_part(part), newlines=True) for part in cast("list[Json]", parts))
    return dump(result, indent=2)


def _part(part: Json) -> str:
    fields = as_object(part)
    content, text, data = fields.get("content"), fields.get("text"), fields.get("data") or fields.get("blob")
    if isinstance(content, dict):
        return f"{fields.get('role')}: {_part(content)}"
    if isinstance(text, str):
        return text
    if isinstance(data, str):
        kind = fields.get("mimeType") or fields.get("type") or "data"
        return f"[{kind}, {len(data) * 3 // 4:,} bytes; use --json for the data]"
    return dump(part, indent=2)


# -- much at once, where no session depends on it ----------------------------------------------------------------


def out(text: str) -> None:
    """Write ``text``, with its line ends.

    Raises:
        Failure: it cannot be written, for another reason than that nobody reads it any more.
        BrokenPipeError: nobody does.
    """
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        # Python must not try again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Failure(f"Cannot write to stdout: {error.strerror}.", Exit.STDOUT_CLOSED) from None


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet take a cell for a formula, full-width forms included."""


def csv_line(cells: Iterable[object]) -> str:
    """One record without its end. ``None`` is an empty cell; numbers stand as they are."""
    return ",".join(map(_cell, cells))


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case _:
            pass
    text = str(value)
    if text.lstrip(" ").startswith(_FORMULA):
        text = f"'{text}"
    text = clean(text, newlines=True)
    if any(each in text for each in ',"\n') or text != text.strip():
        return '"{}"'.format(text.replace('"', '""'))
    return text
