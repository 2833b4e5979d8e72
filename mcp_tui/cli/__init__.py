"""The command line: headless commands, and the way into the workbench.

Each command is a module of its own and loads what it needs itself: Textual for the workbench alone, httpx for URLs alone.
"""

from __future__ import annotations

import os
import sys

from mcp_tui.cli.status import Exit, Failure


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status (see ``cli/status.py``). Never raises but for a defect of ours."""
    from mcp_tui.cli.grammar import Usage, read

    arguments = sys.argv[1:] if argv is None else argv
    try:
        command = read(arguments)
        status = command.run()
        sys.stdout.flush()
    except Usage as usage:
        return usage.tell()
    except Failure as failure:
        print(f"mcp-tui: {failure}", file=sys.stderr)
        return failure.status
    except BrokenPipeError:
        # whoever read us is gone; Python must not try to flush into nothing when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.STDOUT_CLOSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return status
