"""The command ``mcp-tui``, also as ``python -m mcp_tui``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and leave the process with its exit status."""
    try:
        from mcp_tui.cli import main

        status = main()
    except KeyboardInterrupt:  # before, or after, anything could be done about it
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
