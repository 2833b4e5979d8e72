"""Whether a server that a file defines may be started; consent to those that a project's file defines.

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
from mcp_tui.config import files, filling
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError, read_bytes, read_text, write_private
from mcp_tui.config.filling import MAX_BYTES, env_path, questions, reads, shown
from mcp_tui.config.sources import Surroundings
from mcp_tui.config.templates import input_name
from mcp_tui.journal.masks import mask_command, mask_url
from mcp_tui.protocol.messages import as_object


def is_needed(definition: Definition) -> bool:
    """Whether the server may not be started, nor its URL be asked, until a person agrees."""
    return definition.project and not is_given(definition)


def is_given(definition: Definition) -> bool:
    """Whether a person agreed to this server as it is defined now."""
    wanted = _digest(definition)
    try:
        kept = json.loads(read_text(_file(wanted), 64 * 1024))
    except (ConfigError, ValueError):
        return False
    kept = as_object(kept)
    return kept.get("digest") == wanted and kept.get("env file") == _env_digest(definition)


def give(definition: Definition) -> None:
    """Remember that a person agreed.

    Raises:
        ConfigError: it cannot be written.
    """
    digest = _digest(definition)
    kept = {
        "digest": digest,
        "env file": _env_digest(definition),
        "file": str(_path(definition)),
        "name": definition.name,
        "given": clock.local_stamp(clock.wall()),
    }
    write_private(_file(digest), json.dumps(kept, indent=2) + "\n")


def withdraw(definition: Definition) -> bool:
    """Forget every consent to a server of this name in this file, however it was defined; whether there was one."""
    found = False
    for file in files.consents_folder().glob("*.json"):
        with suppress(ConfigError, ValueError, OSError):
            kept = json.loads(read_text(file, 64 * 1024))
            if (kept.get("file"), kept.get("name")) == (str(_path(definition)), definition.name):
                file.unlink()
                found = True
    return found


def account(definition: Definition, around: Surroundings | None = None) -> list[tuple[str, str]]:
    """What a person agrees to: words and what they say, nothing cut short, of variables the names alone."""
    around = around or Surroundings.now()
    launch = definition.launch
    said: list[tuple[str, str]] = [
        ("server", definition.name),
        ("from", f"{definition.place} ({definition.source.title})"),
    ]
    if launch is None:
        return said
    if launch.transport == "stdio":
        command = shown(definition, launch.command, around)
        words = (command, *(shown(definition, each, around) for each in launch.args))
        folder = definition.folder or around.cwd
        cwd = folder / (shown(definition, launch.cwd, around) if launch.cwd else "")
        said += [("command", " ".join(_quoted(each) for each in words)), ("folder", str(cwd))]
        program = _program(command, cwd, around)
        if program not in ("", command):
            said.append(("program", program))
        said += [("sets", name) for name in launch.env]
        if launch.env_file:
            said.append(("env file", shown(definition, launch.env_file, around)))
    else:
        said.append(("URL", shown(definition, launch.url, around)))
        said += [("header", name) for name in launch.headers]
    said += [("reads", name) for name in reads(definition)]
    said += [("input", each.id) for each in launch.inputs]
    return said


_BARE: Final = re.compile(r"[\w@%+=:,./${}\-]+")


def _quoted(word: str) -> str:
    """A word as a shell would take it; the variables of the file stay readable."""
    return word if _BARE.fullmatch(word) else shlex.quote(word)


def _program(command: str, cwd: Path, around: Surroundings) -> str:
    """The file that would run, where it can be known."""
    if os.sep in command:
        return os.path.normpath(cwd / command)
    return shutil.which(command, path=around.env.get("PATH")) or ""


def _digest(definition: Definition) -> str:
    whole = {
        "file": str(_path(definition)),
        "source": definition.source.id,
        "name": definition.name,
        "fields": definition.fields,
        "inputs": [] if definition.launch is None else [repr(each) for each in definition.launch.inputs],
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _env_digest(definition: Definition) -> str:
    """A hash of the ``envFile``; empty for none."""
    named = env_path(definition, Surroundings.now())
    if named is None:
        return ""
    try:
        return hashlib.sha256(read_bytes(named, MAX_BYTES)).hexdigest()
    except ConfigError:
        return "unreadable"


def _path(definition: Definition) -> Path:
    """The file itself, whatever links lead to it."""
    with suppress(OSError, RuntimeError):
        return definition.file.resolve()
    return definition.file


def _file(digest: str) -> Path:
    return files.consents_folder() / f"{digest}.json"


class Availability(Enum):
    """Whether a definition can be used; of several reasons against it the first that counts."""

    USABLE = "usable"
    ASKS = "asks"
    CONSENT = "needs consent"
    DISABLED = "disabled"
    SHADOWED = "shadowed"
    PROBLEM = "problem"


def availability(definition: Definition, around: Surroundings | None = None) -> tuple[Availability, str]:
    """Whether a definition can be used, and what there is to say of that, without a full stop."""
    around = around or Surroundings.now()
    wrong = problem(definition, around)
    if wrong:
        return Availability.PROBLEM, wrong
    if definition.shadowed:
        return Availability.SHADOWED, f"overridden by {definition.shadowed}"
    if definition.disabled:
        return Availability.DISABLED, f"disabled in {definition.source.title}"
    if is_needed(definition):
        return Availability.CONSENT, "from a project's file"
    asked = questions(definition, around)
    if asked:
        names = ", ".join(input_name(each.id) for each in asked)
        return Availability.ASKS, f"needs {', '.join(each.id for each in asked)} (or set {names})"
    return Availability.USABLE, ""


def problem(definition: Definition, around: Surroundings | None = None) -> str:
    """Why a definition cannot be used, as a sentence without a full stop; empty where it can, once its inputs are given.

    The file of variables that a project's server names is read only after consent: it may be anything on this machine.
    """
    return filling.problem(definition, around, reads_env_file=not is_needed(definition))


def command_words(definition: Definition, around: Surroundings | None = None) -> list[str]:
    """The command line of a server that is started, its variables by name and its secrets masked; empty for a URL."""
    launch = definition.launch
    if launch is None or launch.transport != "stdio":
        return []
    return mask_command(shown(definition, each, around) for each in (launch.command, *launch.args))


def url(definition: Definition, around: Surroundings | None = None) -> str:
    """The URL of a server that has one, likewise."""
    launch = definition.launch
    if launch is None or launch.transport == "stdio":
        return ""
    return mask_url(shown(definition, launch.url, around))


def what(definition: Definition, around: Surroundings | None = None) -> str:
    """A server's command line or URL, in one line."""
    return " ".join(command_words(definition, around)) or url(definition, around)
