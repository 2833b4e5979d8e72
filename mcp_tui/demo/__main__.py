"""``python -m mcp_tui.demo [--http PORT] [--log FILE]``: the demo server, on stdio or at ``/mcp`` on 127.0.0.1."""

from __future__ import annotations

import sys


def _run() -> int:
    sys.modules["ssl"] = None  # pyright: ignore[reportArgumentType] - asyncio would load it, and nobody speaks TLS here
    # Behind the line above, or asyncio would load it.
    from mcp_tui.demo.demo_server import main

    if not sys.argv[1:]:  # as the workbench starts it: a person waits for its tools
        return main(None, None)
    # Only for who starts it with options.
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="mcp_tui.demo", description="Run the demo server of mcp-tui.")
    parser.add_argument("--http", metavar="PORT", type=int, help="serve HTTP on 127.0.0.1; 0 = any free port")
    parser.add_argument(
        "--log", metavar="FILE", type=Path, help="log received messages to FILE as JSON lines"
    )
    options = parser.parse_args()
    if options.http is not None and not 0 <= options.http <= 65535:
        parser.error(f"port {options.http} does not exist")
    return main(options.http, options.log)


if __name__ == "__main__":
    sys.exit(_run())
