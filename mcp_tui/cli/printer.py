"""The output of a command with a session: JSON lines for programs, short lines for people.

JSON is ASCII, so it has no control characters of a server. Text for people goes through the sanitiser. Results go to
stdout, progress and diagnostics to stderr. A thread writes both, so a slow reader (a pager, a full pipe, a slow
terminal) delays no cancel, timeout, signal, or measurement.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import threading
from collections.abc import Callable
from itertools import groupby
from typing import Any, Final

from mcp_tui.cli.output import Exit, colourful, discard_stdout, dump, without_commands
from mcp_tui.client.stderr_lines import reports_error
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.descriptions import WARNINGS, as_json, describe, repeat_words
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import State
from mcp_tui.view.text import clean, clip

PROGRESS_EVERY: Final = 0.2
"""The minimum number of seconds between two progress lines for people; programs get all."""

PRINTED_CHARACTERS: Final = 4000
"""The maximum number of characters of a line for people; programs get everything."""


def outcome_state(row: Request) -> str:
    """Returns ``completed``, ``failed``, ``cancelled``, ``timed_out``, or ``lost``."""
    return "lost" if row.open else evidence.ended(row)


def outcome(row: Request, now: float, result: Json = None, data: Json = None) -> dict[str, Any]:
    """Returns the outcome of a request as JSON. ``result`` is used if it completed, ``data`` if it failed."""
    state = outcome_state(row)
    error: dict[str, Any] | None = None
    if state in ("failed", "lost"):
        error = {"code": row.code, "message": row.error}
        if row.rule:
            error["rule"] = row.rule
        if data is not None:
            error["data"] = data
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


def uncalled(cause: ev.Cause, reason: str) -> dict[str, Any]:
    """Returns the outcome of a command that was interrupted before it sent a request."""
    row = Request(id=0, method="", name="", limits=ev.DEFAULT_LIMITS, internal=True, called_at=0.0)
    state = {"id": None, "state": "cancelled", "cause": cause.value, "reason": reason}
    return {**outcome(row, 0.0), **state, "error": None}


def summary(row: Request, now: float) -> str:
    """Returns the outcome and a repeated call in one line for people, unsanitised."""
    text = _summary(row, now)
    return text if row.repeat is None else f"{text}; {repeat_words(row.repeat)}"


def _summary(row: Request, now: float) -> str:
    state = outcome_state(row)
    after = f"after {row.elapsed(now):.3f} s"
    if state == "completed":
        return f"completed {after}, but the tool reports an error" if row.is_error else f"completed {after}"
    if state == "failed":
        return f"failed {after}: {evidence.failure(row)}"
    if state == "lost":
        return f"lost {after}: {row.error}"
    if row.sent_at is None:
        return "cancelled before it was sent"
    # Without a watch time the words describe only the cancel, so it is named.
    cancel = "cancel " if row.state is State.CANCEL_REQUESTED else ""
    return f"{state.replace('_', ' ')} {after}: {cancel}{evidence.summary_words(row, now)}"


class Printer:
    """Prints the events of a command. ``t`` counts from ``began``, in monotonic seconds.

    ``closed`` is called once if stdout cannot be written, with the exit status for that.
    """

    def __init__(self, *, as_json: bool, began: float, closed: Callable[[Exit], None]) -> None:
        self.json = as_json
        self._began = began
        self.streams = Streams(closed)
        self._over = self._status = False
        self.warned = False
        """Whether a side broke a rule, or the server reported an error on stderr."""
        self._skipped = 0
        self._progress_at = 0.0
        self._colour = colourful(sys.stderr)

    def event(self, event: ev.Event, row: Request | None) -> None:
        """Prints an event, unless its ``row`` is internal, it is our own closing, or it follows the outcome."""
        closing = isinstance(event, ev.Disconnected) and event.expected
        if self._over or closing or (row is not None and row.internal):
            return
        self.warned |= isinstance(event, WARNINGS) or (
            isinstance(event, ev.Stderr) and reports_error(event.line)
        )
        if self.streams.full:
            self._skipped += 1
        elif not self.json:
            self.report(event)
        elif (made := as_json(event)) is not None:
            if isinstance(event, ev.Sent) and row is not None:
                made["method"] = row.method
            self.line(made, event.at)

    def report(self, event: ev.Event) -> None:
        """Prints an event as a line for people to stderr, if it is one for people."""
        if isinstance(event, ev.Progress):
            if event.at - self._progress_at < PROGRESS_EVERY:
                return
            self._progress_at = event.at
        known = describe(event)
        if known.headless(event):
            text = f"{known.source}: {known.words(event)}" if known.source else known.words(event)
            self.say(text, dim=not isinstance(event, (ev.Violation, ev.Undelivered)))

    def line(self, made: dict[str, Any], at: float) -> None:
        """Prints an event as a JSON line with its time."""
        made = {"event": made["event"], "t": round(max(0.0, at - self._began), 6), **made}
        self.out(dump(made))

    def value(self, value: Any) -> None:
        """Prints a JSON value to stdout."""
        self.out(dump(value))

    def end(self) -> None:
        """Stops printing events: the outcome must be last, and a server may send much while it stops."""
        self._over = True
        if self._skipped:
            self.say(f"mcp-tui: {self._skipped:,} events were not printed, because the output was not read.")
            self._skipped = 0

    def say(self, text: str, *, dim: bool = False, red: bool = False) -> None:
        """Prints a line for people to stderr."""
        line = without_commands(
            clean(text if len(text) <= PRINTED_CHARACTERS else f"{text[: PRINTED_CHARACTERS - 1]}…")
        )
        style = "2" if dim else "31" if red else ""
        self.streams.put(f"\x1b[{style}m{line}\x1b[0m\n" if style and self._colour else f"{line}\n", err=True)

    def status(self, text: str) -> None:
        """Shows a line for people on the terminal of stderr, in place of the previous one; an empty line removes it."""
        if text or self._status:
            self._status = bool(text)
            self.streams.put(f"\r\x1b[K{clip(clean(text), shutil.get_terminal_size().columns - 1)}", err=True)

    def out(self, text: str) -> None:
        """Prints a line to stdout. Text from a server must be cleaned or encoded already."""
        self.streams.put(f"{without_commands(text)}\n")


# -- standard output and standard error -------------------------------------------------------------------------------

UNREAD_CHARACTERS: Final = 64 * 1024 * 1024
"""The maximum number of characters that wait for a reader. Above it events are dropped: timeouts and signals cannot wait."""

LAST_READ_SECONDS: Final = 1.0
"""Seconds for a reader to read the rest after a signal."""


class Streams:
    """Writes to stdout and stderr in order, in a thread. It must be created in a running loop.

    ``closed`` is called once, in the loop, if stdout cannot be written: its reader is gone, or the disk is full.
    Later output to stdout is dropped.
    """

    def __init__(self, closed: Callable[[Exit], None]) -> None:
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._hurry: asyncio.Future[None] = self._loop.create_future()
        self._news = threading.Condition()
        self._pieces: list[tuple[bool, str | bytes]] = []
        self._size = 0
        """The number of characters and bytes that are not written yet."""
        self._broken = False
        self._thread: threading.Thread | None = None

    def put(self, text: str | bytes, *, err: bool = False) -> None:
        """Queues text for stdout or stderr, or bytes for stdout. Errors of stderr are ignored."""
        with self._news:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="streams", daemon=True)
                self._thread.start()
            self._pieces.append((err, text))
            self._size += len(text)
            self._news.notify_all()

    @property
    def full(self) -> bool:
        """Whether more output waits for a reader than memory should hold."""
        return self._size >= UNREAD_CHARACTERS

    def hurry(self) -> None:
        """Notes a signal: from now on a reader has :data:`LAST_READ_SECONDS` seconds for the rest."""
        if not self._hurry.done():
            self._hurry.set_result(None)

    async def drained(self) -> bool:
        """Waits until all is written; returns false if nobody read the rest after :meth:`hurry`."""
        if not self._size:
            return True
        done = self._loop.run_in_executor(None, self.flush)
        await asyncio.wait([done, self._hurry], return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            await asyncio.wait([done], timeout=LAST_READ_SECONDS)
        return done.done()

    def flush(self, patience: float | None = None) -> None:
        """Blocks until all is written, at most for ``patience`` seconds."""
        with self._news:
            self._news.wait_for(lambda: not self._size, patience)

    # -- the thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._pieces)
                pieces, self._pieces = self._pieces, []
            # Without the lock: a suspended reader blocks this thread, but never a caller of put().
            for (is_err, is_text), some in groupby(
                pieces, key=lambda piece: (piece[0], isinstance(piece[1], str))
            ):
                data = [piece for _, piece in some]
                text = "".join(each for each in data if isinstance(each, str))
                if is_err:
                    _write_err(text)
                elif not self._broken:
                    self._write_out(
                        text if is_text else b"".join(each for each in data if isinstance(each, bytes))
                    )
            with self._news:
                # Only written text is subtracted: drained() ends the process by this number.
                self._size -= sum(len(text) for _, text in pieces)
                self._news.notify_all()

    def _write_out(self, data: str | bytes) -> None:
        try:
            if isinstance(data, str):
                sys.stdout.write(data)
            else:
                sys.stdout.buffer.write(data)
            sys.stdout.flush()
        except (OSError, ValueError) as error:
            self._broken = True
            discard_stdout()
            unread = isinstance(error, (BrokenPipeError, ValueError))
            if not unread:
                _write_err(f"mcp-tui: Cannot write to stdout: {error.strerror}.\n")
            with contextlib.suppress(RuntimeError):  # the loop is closed: the command was interrupted
                self._loop.call_soon_threadsafe(self._closed, Exit.STDOUT_CLOSED if unread else Exit.DEFECT)


def _write_err(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
