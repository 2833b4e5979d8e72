"""Exit statuses, and the output of a command: JSON, CSV, and tables. All output to stdout goes through :func:`out`.

A command with a session has timeouts to meet, so it prints with :mod:`mcp_tui.cli.printer` instead. The sanitiser is
loaded only for text from others: help and completion do not need it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from mcp_tui.view.text import SafeText


class Exit(IntEnum):
    """The exit status of a command: a contract for scripts and CI.

    0, 3, 4, and 5 are those of the official Inspector. A signal is 128 plus its number, as in shells: 130 SIGINT, 143
    SIGTERM, 129 SIGHUP, 131 SIGQUIT, and 141 as after SIGPIPE.
    """

    COMPLETED = 0
    DEFECT = 1
    USAGE = 2
    UNAUTHORIZED = 3
    UNREACHABLE = 4
    SERVER_ERROR = 5
    TIMED_OUT = 6
    CANCELLED = 7
    LOST = 8
    BROKEN_RULE = 9
    INTERRUPTED = 130
    HUNG_UP = 129
    STDOUT_CLOSED = 141
    QUIT = 131
    TERMINATED = 143


class Failure(Exception):
    """Ends a command. The text is one sentence for stderr: what happened, and what to do.

    ``lines`` are unsanitised lines of a server, which are shown below it.
    """

    def __init__(self, text: str, status: Exit = Exit.USAGE, lines: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.lines = lines


def end_by_signal(number: int, _frame: object) -> None:
    """Ends a command with its cleanup and the exit status of a signal: set it as the handler of that signal."""
    # Not a Failure: whatever the signal interrupts may handle an Exception and go on, as socketserver does.
    raise SystemExit(Exit(128 + number))


class HelpAsked(Exception):
    """The command line asks for help or the version; the text of the exception is the answer."""


def prepare() -> bool:
    """Prepares the standard streams for any text in any locale; returns false if there is no stdout."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, when it was closed before we began
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process lives
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        return False
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        with contextlib.suppress(AttributeError, OSError, ValueError):
            # Another process that shares the stream may have made it non-blocking: Python would then drop output
            # silently.
            os.set_blocking(stream.fileno(), True)
        if stream is not sys.stdin:
            stream.reconfigure(errors="backslashreplace")
    unbuffered: object = getattr(sys.stdout, "buffer", None)
    if sys.stdout is sys.__stdout__ and isinstance(unbuffered, io.RawIOBase):
        # With PYTHONUNBUFFERED, output that a reader has not read yet would be dropped silently when it exits.
        made = io.BufferedWriter(unbuffered)
        sys.stdout = io.TextIOWrapper(made, encoding=sys.stdout.encoding, errors="backslashreplace")
    return True


def in_workflow() -> bool:
    """Whether this process is a step of a workflow of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS", "") not in ("", "false")


def without_commands(text: str) -> str:
    """Returns lines that a workflow does not take for its commands.

    It executes ``::error::…`` at the start of a line, and ``##[error]…`` anywhere, whoever wrote it. In JSON only the
    latter can occur, and there the escape stands for the same character.
    """
    if not in_workflow():
        return text
    return re.sub(r"(?m)^([^\S\n]*)::", r"\1\\::", text).replace("##[", "##\\u005b")


def out(text: str, *, end: str = "\n", flush: bool = False) -> None:
    """Writes a line to stdout; ``end`` replaces its line end. Text from a server must be cleaned or encoded already.

    Raises:
        Failure: it cannot be written; the text is empty if the reader is gone.
    """
    try:
        print(without_commands(text) if end == "\n" else text, end=end, flush=flush)
    except OSError as error:
        discard_stdout()
        if isinstance(error, BrokenPipeError):
            raise Failure("", Exit.STDOUT_CLOSED) from None
        raise Failure(f"Cannot write to stdout: {error.strerror}.", Exit.DEFECT) from None


def discard_stdout() -> None:
    """Redirects stdout to the null device, because Python writes the rest of its buffer again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str, lines: Sequence[str] = ()) -> None:
    """Prints a line for a person to stderr, with ``lines`` below it. Errors are ignored, because stderr may have no
    reader.
    """
    # This loads the sanitiser, which help and completion do not need.
    from mcp_tui.view.text import brief, clean

    with contextlib.suppress(OSError):
        shown = (clean(f"mcp-tui: {text}"), *(f"  {brief(line, 1000)}" for line in lines))
        print(without_commands("\n".join(shown)), file=sys.stderr, flush=True)


def confirm(question: str, purpose: str) -> bool:
    """Asks a person yes or no; the default is no. ``purpose`` says what ``--yes`` is for.

    Raises:
        Failure: there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise Failure(f"Cannot ask: stdin is not a terminal. Add --yes to {purpose}.")
    out(f"{question} [y/N] ", end="", flush=True)
    try:
        answer = sys.stdin.readline()
    except UnicodeDecodeError:
        return False
    return answer.strip().lower() in ("y", "yes")


def show(value: object, lines: Iterable[str], *, as_json: bool) -> Exit:
    """Prints a value as JSON, or as lines for a person; returns the exit status."""
    if as_json:
        out(dump(value, indent=2))
    else:
        for line in lines:
            out(line)
    return Exit.COMPLETED


def dump(value: Any, *, indent: int | None = None) -> str:
    """Returns a value as ASCII JSON; numbers that JSON or Python cannot write become text."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent)
    except ValueError:
        # Imported late: pydantic takes longer to load than the command line to parse.
        from mcp_tui.protocol.messages import writable

        return json.dumps(writable(value), indent=indent)


def colourful(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal, without ``NO_COLOR``."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def table(rows: Sequence[Sequence[SafeText]]) -> list[str]:
    """Returns rows with aligned columns; the last column is not padded."""
    # This loads the sanitiser.
    from mcp_tui.view.text import fit, width

    widths = [max(map(width, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    return [
        "  ".join((*(fit(cell, cells) for cell, cells in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""The characters that begin a formula in a spreadsheet, including full-width forms."""


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yields the records of a CSV, each as :func:`csv_line`."""
    return map(csv_line, chain((head,), rows))


def csv_line(cells: Sequence[object]) -> str:
    """Returns a record of a CSV with its line end. ``None`` becomes an empty cell; numbers are unchanged."""
    # Imported late: only for --csv.
    import csv

    line = io.StringIO()
    csv.writer(line).writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> object:
    # This loads the sanitiser.
    from mcp_tui.view.text import clean

    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    formula = value.lstrip(" ").startswith(_FORMULA)
    return clean(f"'{value}" if formula else value, newlines=True)
