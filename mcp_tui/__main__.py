"""The command ``mcp-tui``, also as ``python -m mcp_tui``."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command line and leave the process with its exit status."""
    _restore_environment()
    if sys.argv[1:2] == ["tap"]:  # a client waits for its server: what reads any command line comes later
        _isolate()
        # A server behind a tap starts before anything else is loaded.
        from mcp_tui.tap.start import quick, serve

        if (tapped := quick(sys.argv[1:])) is not None:
            serve(*tapped)
    # Of what any other command needs, such a tap needs nothing.
    from mcp_tui.stand_ins import spare_modules

    spare_modules()
    try:
        # Within the try: ctrl+c may come while it loads.
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


def _restore_environment() -> None:
    """Undoes what the shell of ``launcher/mcp-tui`` changed in the environment, and the start of Python."""
    environment = os.environb
    started, encoded = (
        environment.pop(name, b"") for name in (b"MCP_TUI_STARTED_AS", b"MCP_TUI_ENVIRONMENT")
    )
    if started:
        sys.argv[0] = os.fsdecode(started)
    if encoded:
        # Only after a start by the shell.
        from binascii import a2b_base64

        found: dict[bytes, bytes] = {}
        for entry in a2b_base64(encoded).split(b"\0"):
            name, separator, value = entry.partition(b"=")
            if name and separator:
                found.setdefault(name, value)
        if found != dict(environment):
            environment.clear()
            environment.update(found)
    elif b"LC_CTYPE" in environment and sys.platform == "linux":
        with open("/proc/self/environ", "rb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            if b"\0LC_CTYPE=" not in b"\0" + file.readall():  # Python adds it where no locale is set
                del environment[b"LC_CTYPE"]


def _isolate() -> None:
    """Starts this process again without the variables that decide how a Python starts, unless it needs them."""
    if sys.flags.ignore_environment or not any(name.startswith("PYTHON") for name in os.environ):
        return
    # Most environments have no such variable.
    from mcp_tui.tap.recorder_process import import_path

    path, own = import_path()
    if own in path:
        os.execv(sys.executable, [sys.executable, "-EP", *sys.orig_argv[1:]])


if __name__ == "__main__":
    run()
