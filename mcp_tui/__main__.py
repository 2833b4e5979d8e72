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
    _spare_modules()
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


def _spare_modules() -> None:
    """Spares the start what no command needs. Only here: a host program's modules are its own."""
    # pydantic_core loads its types of schemas, a tenth of the start, to offer four of them in its own name
    _spare("pydantic_core.core_schema", "pydantic_core", "__all__")
    # Textual's palette, which is not ours, loads trees, selects and placeholders for one name in its annotations
    _spare("textual.types", "textual.command", "CommandPalette")


def _spare(name: str, user: str, last: str) -> None:
    """Puts a stand-in for a module that ``user`` only names. Who asks once that has its ``last`` name loads the module."""
    from importlib import import_module
    from types import ModuleType
    from typing import Any, cast

    modules = cast("dict[str, object]", sys.modules)
    module = ModuleType(name)

    def loaded(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        if not hasattr(modules.get(user), last):
            return Any
        if modules.get(name) is module:
            del modules[name]
        return getattr(import_module(name), wanted)

    module.__dict__["__getattr__"] = loaded
    modules[name] = module


if __name__ == "__main__":
    run()
