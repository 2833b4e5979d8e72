"""The command ``mcp-tui``, also as ``python -m mcp_tui``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and leave the process with its exit status."""
    from mcp_tui.cli import main

    sys.exit(main())


if __name__ == "__main__":
    run()
