"""Stand-ins for modules that a process of ours imports and never uses.

Only for processes of our own: a host program's modules are its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, TypedDict, cast


def spare_modules() -> None:
    """Spares a process that has imported nothing yet what no command needs."""
    # pydantic_core loads its types of schemas, a tenth of the start, to offer four of them in its own name
    _spare("pydantic_core.core_schema", "pydantic_core", "__all__")
    # Textual's palette, which is not ours, loads trees, selects and placeholders for one name in its annotations
    _spare("textual.types", "textual.command", "CommandPalette")
    # Imported for what is rarely asked of them: the encoding of a subprocess, archives, source lines, hosts in brackets
    for name in ("bz2", "ipaddress", "locale", "lzma", "tempfile", "textwrap", "tokenize"):
        if name not in sys.modules:
            _spare(name)


def load_json() -> None:
    """Loads pydantic_core without the modules of types that no message has, which are a tenth of the start."""
    unused = type("Unused", (str,), {})
    members = {
        "decimal": {"Decimal": unused},
        "fractions": {"Fraction": unused},
        "typing_extensions": {"Sentinel": unused, "TypedDict": TypedDict},
        "uuid": {"UUID": unused},
    }
    spared = {name: _spare(name) for name in members if name not in sys.modules}
    for name, module in spared.items():
        module.__dict__.update(members[name])
    # It looks for these types when it writes for the first time.
    import_module("pydantic_core").to_json(None)
    for name, module in spared.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]


def _spare(name: str, user: str = "", last: str = "") -> ModuleType:
    """Puts a stand-in for a module, which is loaded once somebody asks for something in it.

    What ``user`` asks for before it has its ``last`` name, it only names.
    """
    modules = cast("dict[str, object]", sys.modules)
    module = ModuleType(name)

    def loaded(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        if user and not hasattr(modules.get(user), last):
            return Any
        if modules.get(name) is module:
            del modules[name]
        return getattr(import_module(name), wanted)

    module.__dict__["__getattr__"] = loaded
    modules[name] = module
    return module
