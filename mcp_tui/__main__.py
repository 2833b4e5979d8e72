"""The command ``mcp-tui``, also as ``python -m mcp_tui``."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command line and leave the process with its exit status."""
    if sys.argv[1:2] == ["tap"]:  # a client waits for its server: what reads any command line comes later
        from mcp_tui.tap.start import quick, serve

        if (tapped := quick(sys.argv[1:])) is not None:
            serve(*tapped)
    from mcp_tui.stand_ins import spare_modules

    spare_modules()
    try:
        from mcp_tui.cli import main

        status = main()
    except KeyboardInterrupt:  # before, or after, anything could be done about it
        status = 130
    if sys.gettrace() is None and sys.getprofile() is None and "textual" not in sys.modules:
        # Everything is closed and written. Python would take a sixth of the whole time to take down its modules.
        from contextlib import suppress

        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    run()
