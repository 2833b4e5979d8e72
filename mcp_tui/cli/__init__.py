"""The command line: headless commands, and the way into the workbench.

Each command is a module of its own and loads what it needs itself: Textual for the workbench alone, httpx for URLs alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import sys
from typing import TYPE_CHECKING, Final

from mcp_tui.cli.status import Exit, Failure

if TYPE_CHECKING:
    from mcp_tui.cli.grammar import Words

FILES: Final = 8192
"""Open files that are asked for: each HTTP request in flight has a connection, and many systems begin at 256."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status (see ``cli/status.py``). A defect of ours is one, too."""
    if not _streams():
        return Exit.STDOUT_CLOSED
    allow_files()
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except OSError as error:
        return Exit.STDOUT_CLOSED if _unwritable(error) else _defect(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and a traceback helps nobody
        return _defect(error)
    return status


def allow_files() -> None:
    """Raises the limit of open files of this process up to :data:`FILES`, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _defect(error: Exception) -> int:
    from mcp_tui.cli.defect import tell

    tell(error)
    return Exit.DEFECT


def _run(arguments: list[str]) -> int:
    from importlib import import_module

    from mcp_tui.cli.grammar import HelpAsked, read
    from mcp_tui.cli.options import COMMANDS

    try:
        given = read(arguments)
        if given.name is None:
            return _workbench(given)
        return import_module(f"mcp_tui.cli.{COMMANDS[given.name].module}").run(given.name, given)
    except HelpAsked as text:
        print(text)
        return Exit.COMPLETED
    except Failure as failure:
        return _tell(failure, failure.status)
    except Exception as error:
        from mcp_tui.config.files import ConfigError
        from mcp_tui.journal.records import RecordingError

        if not isinstance(error, (ConfigError, RecordingError)):
            raise
        return _tell(error, Exit.USAGE)


def _tell(error: Exception, status: Exit) -> int:
    from mcp_tui.tui.view.text import clean

    print(f"mcp-tui: {clean(str(error))}", file=sys.stderr)  # a server's words may stand in it
    return status


def _workbench(given: Words) -> int:
    import gc

    # Nothing of what is loaded now is ever garbage, and to look for some is an eighth of the time to the first frame.
    gc.disable()
    try:
        from mcp_tui.cli.workbench import open_workbench

        return open_workbench(given)
    finally:
        gc.enable()


def _streams() -> bool:
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


def _unwritable(error: OSError) -> bool:
    """Whether nothing can be written to stdout any more: whoever read us is gone, or the disk is full."""
    gone = isinstance(error, BrokenPipeError)
    try:
        sys.stdout.flush()
    except OSError:
        gone = True
    if gone:  # Python must not try to flush into nothing when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return gone
