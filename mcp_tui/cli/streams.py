"""Standard output and standard error of a command: everything on stdout goes through :func:`out`.

A command with a session, which has a clock to keep, prints with :mod:`mcp_tui.cli.printer` instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Generator

from mcp_tui.cli.status import Exit, Failure


def prepare() -> bool:
    """Make the standard streams fit to be written to, whatever the locale is; false where there is no stdout at all."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, when it was closed before we began
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process lives
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        return False
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        with contextlib.suppress(AttributeError, OSError, ValueError):
            # whoever shares it may have made it non-blocking: Python would drop what does not fit, and say nothing
            os.set_blocking(stream.fileno(), True)
        if stream is not sys.stdin:
            stream.reconfigure(errors="backslashreplace")
    return True


def out(text: str, *, end: str = "\n", flush: bool = False) -> None:
    """Write to stdout. Text of a server's must have been cleaned or encoded before.

    Raises:
        Failure: it cannot be written. Without words, where nobody reads it any more.
    """
    with _written():
        print(text, end=end, flush=flush)


def flush_out() -> None:
    """Write what still waits to be.

    Raises:
        Failure: as :func:`out`.
    """
    with _written():
        sys.stdout.flush()


@contextlib.contextmanager
def _written() -> Generator[None]:
    try:
        yield
    except OSError as error:
        give_up()
        gone = isinstance(error, BrokenPipeError)
        said = "" if gone else f"Cannot write to stdout: {error.strerror}."
        raise Failure(said, Exit.STDOUT_CLOSED) from None


def give_up() -> None:
    """Write nothing more to stdout: Python would try again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    """One line for people on stderr. That nobody reads it is no reason to stop."""
    from mcp_tui.tui.view.text import clean  # help and completion have no use for it

    with contextlib.suppress(OSError):
        print(clean(f"mcp-tui: {text}"), file=sys.stderr, flush=True)
