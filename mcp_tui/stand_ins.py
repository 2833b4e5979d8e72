"""Stand-ins for modules that a process of ours imports and never uses.

Only for processes of our own: a host program's modules are its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, cast


def spare_modules() -> None:
    """Spares a process that has imported nothing yet what no command needs."""
    # pydantic_core loads its types of schemas, a tenth of the start, to offer four of them in its own name
    _spare("pydantic_core.core_schema", "pydantic_core", "__all__")
    # Textual's palette, which is not ours, loads trees, selects and placeholders for one name in its annotations
    _spare("textual.types", "textual.command", "CommandPalette")


def _spare(name: str, user: str, last: str) -> None:
    """Puts a stand-in for a module that ``user`` only names. Who asks once that has its ``last`` name loads the module."""
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
