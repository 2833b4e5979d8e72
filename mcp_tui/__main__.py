"""The command ``mcp-tui``, also as ``python -m mcp_tui``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and leave the process with its exit status."""
    if sys.argv[1:2] == ["tap"]:  # a client waits for its server: what reads any command line comes later
        from mcp_tui.tap.relay import quick, serve

        if (tapped := quick(sys.argv[1:])) is not None:
            serve(*tapped)
    from importlib.util import find_spec
    from typing import cast

    if find_spec("sniffio") is None:
        # httpcore imports it at every lock, and where it is missing Python searches its whole path each time: a
        # quarter of what a request costs. Only here: a host program's modules are its own.
        cast("dict[str, object]", sys.modules)["sniffio"] = None
    try:
        from mcp_tui.cli import main

        status = main()
    except KeyboardInterrupt:  # before, or after, anything could be done about it
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
