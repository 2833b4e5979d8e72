"""The command line: the headless commands, and the start of the workbench.

Each command is a module that loads only what it needs: only the workbench loads Textual, and only URLs load httpx.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
from typing import Final

from mcp_tui.cli.output import Exit, Failure, HelpAsked, in_workflow, out, prepare, warn

FILES: Final = 8192
"""The wanted limit of open files: each HTTP request in flight has a connection, and many systems allow only 256."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status (see ``cli/output.py``), also after an internal error."""
    if not prepare():
        return Exit.STDOUT_CLOSED
    allow_files()
    try:
        # The modules loaded now never become garbage, and scanning them takes a tenth of the start.
        gc.disable()
        status = _run(sys.argv[1:] if argv is None else argv)
        out("", end="", flush=True)
        return status
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Failure as failure:
        if str(failure):
            warn(str(failure), failure.lines)
        return failure.status
    except Exception as error:  # noqa: BLE001 - an internal error, told in one sentence
        # Imported late: most commands do not fail.
        from mcp_tui.cli.defect import explain, is_known

        warn(explain(error))
        return Exit.USAGE if is_known(error) else Exit.DEFECT
    finally:
        gc.enable()
        with contextlib.suppress(Failure):  # the error of the command matters more
            out("", end="", flush=True)


def allow_files() -> None:
    """Raises the limit of open files of this process, at most to :data:`FILES`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _run(arguments: list[str]) -> int:
    # Imported here, while garbage collection is off, and where errors are handled.
    from importlib import import_module

    from mcp_tui.cli.grammar import read
    from mcp_tui.cli.options import COMMANDS, SCREENS, STARTING

    try:
        given = read(arguments)
    except HelpAsked as text:
        out(str(text))
        return Exit.COMPLETED
    except Failure as failure:
        if in_workflow() or any(
            each.startswith(("--junit", "--sarif", "--markdown", "--badge")) for each in arguments
        ):
            from mcp_tui.cli.reports import refused

            refused(arguments, str(failure))
        raise
    if given.name is None:
        # This loads Textual.
        from mcp_tui.cli.open_workbench import open_workbench

        return open_workbench(given)
    if given.name in STARTING:
        # This loads the reader of settings.
        from mcp_tui.cli.target import start_server

        start_server(given)
        # While the server starts.
        from mcp_tui.stand_ins import load_json

        load_json()
    run = import_module(f"mcp_tui.cli.{COMMANDS[given.name].module}").run
    if given.name not in SCREENS:
        gc.freeze()
        gc.enable()
    return run(given.name, given)
