"""Consent to start servers that a project's file defines, and whether a server can be used.

Whoever can change a project's file could start anything.

A consent is for one server in one file as it is defined now. It is kept as a file of its own in our data folder, named by a
hash over the path of the file, the name and the definition, and has a hash of the ``envFile`` that it names: whatever of
these changes, there is no consent any more. Without a consent the ``envFile`` is not read.
What a variable of the environment holds is the person's own, and not part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.config.definitions import MAX_ENV_BYTES, Definition
from mcp_tui.config.files import ConfigError, consents_folder, read_bytes, read_own, write_own
from mcp_tui.config.templates import VariableKind
from mcp_tui.protocol.messages import Json, as_object


def is_needed(definition: Definition) -> bool:
    """Returns whether a person has to agree before the server may be started, or its URL be asked."""
    return definition.project and not is_given(definition)


def is_given(definition: Definition) -> bool:
    """Returns whether a person agreed to this server as it is defined now."""
    kept = _kept(_file(definition))
    return bool(kept) and kept.get("env file") == _env_digest(definition)


def give(definition: Definition) -> None:
    """Stores the consent of a person.

    Raises:
        ConfigError: it cannot be written.
    """
    kept = {
        "env file": _env_digest(definition),
        "file": str(_path(definition)),
        "name": definition.name,
        "given": clock.local_stamp(clock.wall()),
    }
    write_own(_file(definition), kept)


def withdraw(definition: Definition) -> bool:
    """Deletes every consent to a server of this name in this file; false if there was none."""
    found = False
    for file in consents_folder().glob("*.json"):
        kept = _kept(file)
        if (kept.get("file"), kept.get("name")) == (str(_path(definition)), definition.name):
            with suppress(OSError):
                file.unlink()
                found = True
    return found


def _kept(file: Path) -> dict[str, Json]:
    """Returns a stored consent; empty if it cannot be read."""
    return as_object(read_own(file, 64 * 1024))


def account(definition: Definition) -> list[tuple[str, str]]:
    """Returns what a person agrees to, as labels and texts: nothing cut short, but only the names of variables."""
    launch = definition.launch
    said: list[tuple[str, str]] = [
        ("server", definition.name),
        ("from", f"{definition.place} ({definition.source.title})"),
    ]
    if launch is None:
        return said
    if launch.transport == "stdio":
        command = definition.shown(launch.command)
        words = (command, *(definition.shown(each) for each in launch.args))
        folder = definition.folder or definition.around.cwd
        cwd = folder / (definition.shown(launch.cwd) if launch.cwd else "")
        said += [("command", " ".join(_quoted(each) for each in words)), ("folder", str(cwd))]
        program = shutil.which(command, path=definition.around.env.get("PATH"))
        if os.sep in command:
            program = os.path.normpath(cwd / command)
        if program not in (None, command):
            said.append(("program", program))
        said += [("sets", name) for name in launch.env]
        if launch.env_file:
            said.append(("env file", definition.shown(launch.env_file)))
    else:
        said.append(("URL", definition.shown(launch.url)))
        said += [("header", name) for name in launch.headers]
    said += [("reads", name) for name in launch.names(VariableKind.ENV)]
    said += [("input", each.id) for each in launch.inputs]
    return said


_BARE: Final = re.compile(r"[\w@%+=:,./${}\-]+")


def _quoted(word: str) -> str:
    """Quotes a word for a shell; the variables of the file stay readable."""
    return word if _BARE.fullmatch(word) else shlex.quote(word)


def _file(definition: Definition) -> Path:
    """Returns the file of the consent to a server as it is defined now."""
    whole = {
        "file": str(_path(definition)),
        "source": definition.source.id,
        "name": definition.name,
        "fields": definition.fields,
        "inputs": [repr(each) for each in definition.inputs],
    }
    text = json.dumps(whole, sort_keys=True).encode("utf-8", "surrogatepass")
    return consents_folder() / f"{hashlib.sha256(text).hexdigest()}.json"


def _env_digest(definition: Definition) -> str:
    """Returns a hash of the ``envFile``; empty without one."""
    if definition.env_path is None:
        return ""
    try:
        return hashlib.sha256(read_bytes(definition.env_path, MAX_ENV_BYTES)).hexdigest()
    except ConfigError:
        return "unreadable"


def _path(definition: Definition) -> Path:
    """Returns the file itself, without symbolic links."""
    with suppress(OSError, RuntimeError):
        return definition.file.resolve()
    return definition.file


class Availability(Enum):
    """Whether a definition can be used; of several reasons against it the first that counts."""

    USABLE = "usable"
    ASKS = "asks"
    CONSENT = "needs consent"
    DISABLED = "disabled"
    SHADOWED = "shadowed"
    PROBLEM = "problem"


def availability(definition: Definition) -> tuple[Availability, str]:
    """Returns whether a definition can be used, and a remark without a full stop."""
    if wrong := problem(definition):
        return Availability.PROBLEM, wrong
    if definition.shadowed:
        return Availability.SHADOWED, f"overridden by {definition.shadowed}"
    if definition.disabled:
        return Availability.DISABLED, f"disabled in {definition.source.title}"
    if is_needed(definition):
        return Availability.CONSENT, "from a project's file"
    if asked := definition.questions:
        names = ", ".join(each.variable for each in asked)
        return Availability.ASKS, f"needs {', '.join(each.id for each in asked)} (or set {names})"
    return Availability.USABLE, ""


def problem(definition: Definition) -> str:
    """Returns why a definition cannot be used, without a full stop; empty if it can be, once its inputs are given.

    The file of variables that a project's server names is read only after consent: it may be anything on this machine.
    """
    return definition.find_problem(reads_env_file=not is_needed(definition))
