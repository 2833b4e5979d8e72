"""Consent to start servers that a project's file defines, and whether a server can be used.

Whoever can change a project's file could start anything.

A consent is for one server in one file as it is defined now. It is kept as a file of its own in our data folder, named by a
hash over the path of the file, the name, and the definition. It has a hash of the ``envFile`` that it names, and one of what
would run: the program that is found, its arguments, its folder, and the variables that decide what a program does. Whatever
of these changes, there is no consent any more. Without a consent the ``envFile`` is read only to show what would run.
What another variable of the environment holds is the person's own, and not part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.definitions import MAX_ENV_BYTES, AskedInput, Definition, real_program
from mcp_tui.config.files import ConfigError, at, consents_folder, read_bytes, read_own, write_own
from mcp_tui.config.templates import VariableKind
from mcp_tui.journal.masks import mask_url
from mcp_tui.journal.redaction import MASK, is_secret_name
from mcp_tui.journal.state_folder import sync_folder
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.launching import find_program


def is_needed(definition: Definition) -> bool:
    """Returns whether a person has to agree before the server may be started, or its URL be asked."""
    return definition.project and not is_given(definition)


def is_given(definition: Definition) -> bool:
    """Returns whether a person agreed to this server as it is defined now."""
    stored = _stored(_file(definition))
    now = bool(stored) and (_env_digest(definition), _run_digest(definition))
    return now == (stored.get("env file"), stored.get("runs"))


def give(definition: Definition) -> None:
    """Stores the consent of a person.

    Raises:
        ConfigError: it cannot be written.
    """
    stored = {
        "env file": _env_digest(definition),
        "runs": _run_digest(definition),
        "file": str(_path(definition)),
        "name": definition.name,
        "given": clock.local_stamp(clock.wall()),
    }
    write_own(_file(definition), stored)


def withdraw(definition: Definition) -> bool:
    """Deletes every consent to a server of this name in this file; false if there was none."""
    found = False
    for file in consents_folder().glob("*.json"):
        stored = _stored(file)
        if (stored.get("file"), stored.get("name")) == (str(_path(definition)), definition.name):
            with suppress(OSError):
                file.unlink()
                found = True
    sync_folder(consents_folder())
    return found


def _stored(file: Path) -> dict[str, Json]:
    """Returns a stored consent; empty if it cannot be read."""
    return as_object(read_own(file, 64 * 1024))


# By kinds (wrappers, options, proxies, modules), not a list of single names: what is not found here would run unseen.
DECIDING: Final = re.compile(
    r"HOME|SHELL|IFS|ENV|BASH_ENV|BASH_FUNC_.*|(BASH|SHELL)OPTS|PS4|EDITOR|VISUAL|BROWSER|PHPRC|ZDOTDIR"
    r"|(LD|DYLD|GIT|PYTHON|PYENV|PERL5?|RUBY|BUNDLE|NODE|NPM|YARN|PNPM|BUN|DENO|UV|PIP|PIPX|CONDA|DOCKER|DOTNET|COMPLUS"
    r"|CORECLR|GCONV|GLIBC|OPENSSL|LUA|PHP|CARGO|RUST|JULIA|ERL|XDG|ELECTRON|SSL|CURL)_?.*"
    r"|(R|COR|_?JAVA|JDK)_.*|GO(PROXY|FLAGS|ROOT|ENV)|(VIM|EX)INIT|LESS(OPEN|CLOSE)|(APP|LOCALAPP)DATA|USERPROFILE|COMSPEC|PATHEXT|SYSTEMROOT|VIRTUAL_ENV"
    r"|.*(PATH|PAGER|ASKPASS|_HOME|_PROXY|_OPTS|_OPTIONS|_FLAGS|_PRELOAD|_HOOKS|_COMMAND|_WRAPPER|_PROFILE|_TOOLCHAIN"
    r"|_CONFIG|_CONFIG_FILE|_CA_BUNDLE|_MODULES|_INIT)",
    re.IGNORECASE,
)
"""Variables that decide which program or code runs, where a program finds its settings, or whom it talks to."""

# By their names (KEY, a function of any name) they were taken for secrets: neither shown, nor part of what is agreed to.
_TOOL_SETTINGS: Final = re.compile(r"GIT_CONFIG_KEY_\d+|BASH_FUNC_.*", re.DOTALL)
"""Names of such variables that are those of no secrets, whatever words are in them."""


def consent_details(definition: Definition) -> list[tuple[str, str]]:
    """Returns what a person agrees to, as labels and texts, nothing cut short: first what would run.

    Variables that decide what runs have their values, unless their names are those of secrets; of these and of the others
    only the names are given. A default that the file gives for an input has its value, which may be part of what runs.
    """
    launch = definition.launch
    defined = ("defined in", f"{definition.place} ({definition.source.title})")
    if launch is None:
        return [defined]
    said: list[tuple[str, str]] = []
    if launch.transport == "stdio":
        words = (definition.shown(each) for each in (launch.command, *launch.args))
        folder = definition.folder or definition.around.cwd
        cwd = folder / (definition.shown(launch.cwd) if launch.cwd else "")
        told = _deciding(definition)
        said.append(("program", _program(definition, folder)))
        said += [
            ("variable", f"{name}={mask_url(value) if '://' in value else value}")
            for name, value in told.items()
        ]
        said.append(("command", " ".join(_quoted(each) for each in words)))
        said += [("folder", str(cwd)), defined]
        # Of an envFile only those that decide: it may have many more.
        decide = (name for name in _given(definition) if DECIDING.fullmatch(name))
        said += [("sets", name) for name in dict.fromkeys((*launch.env, *decide)) if name not in told]
        if launch.env_file:
            said.append(("env file", definition.shown(launch.env_file)))
    else:
        said += [("URL", definition.shown(launch.url)), defined]
        said += [("header", name) for name in launch.headers]
        certificate = (launch.client_cert, launch.client_key)
        said += [("certificate", definition.shown(path)) for path in certificate if path]
    said += [("reads", name) for name in launch.names(VariableKind.ENV)]
    said += [("input", f"{each.id}{_default(each)}") for each in launch.inputs]
    return said


def _default(asked: AskedInput) -> str:
    return f" (default: {MASK if asked.secret else asked.default})" if asked.default else ""


def _launched(definition: Definition) -> StdioTarget | None:
    """Returns the process that would start; ``None`` for a URL, and for what cannot be used."""
    try:
        return definition.launched()
    except ConfigError:
        return None


def _program(definition: Definition, folder: Path) -> str:
    """Returns the program that would start, and the file that it is a link to."""
    target = _launched(definition)
    if target is None:
        return "unknown: the definition cannot be used yet"
    try:
        # The function by which the server is started, with the PATH of its definition: else the
        # account could name another program than the one that runs.
        path = find_program(target)
    except TransportError as error:
        return f"none. {error}"
    real = os.path.realpath(path)
    remark = " (in the project's folder)" if Path(real).is_relative_to(folder.resolve()) else ""
    # such a letter may look like another
    if odd := [f"U+{ord(each):04X}" for each in Path(path).name if not each.isascii()]:
        remark += f" (not ASCII in its name: {', '.join(odd[:8])})"
    return f"{real}{remark}" if real == os.path.normpath(path) else f"{path} → {real}{remark}"


def _given(definition: Definition) -> Mapping[str, str]:
    target = _launched(definition)
    return {} if target is None else target.env


def _deciding(definition: Definition) -> dict[str, str]:
    """Returns the variables that the server would get and that decide what runs, those of the ``envFile`` among them."""
    return {
        name: value
        for name, value in _given(definition).items()
        if DECIDING.fullmatch(name) and (not is_secret_name(name) or _TOOL_SETTINGS.fullmatch(name))
    }


def _run_digest(definition: Definition) -> str:
    """Returns a hash of what would run; empty for a URL."""
    target = _launched(definition)
    if target is None:
        return ""
    cwd = str((target.cwd or Path()).resolve())
    runs = [real_program(target), target.command[1:], cwd, sorted(_deciding(definition).items())]
    return hashlib.sha256(json.dumps(runs).encode("utf-8", "surrogatepass")).hexdigest()


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
    return Availability.USABLE, twice(definition)


def twice(definition: Definition) -> str:
    """Returns a remark without a full stop about a name that its file defines twice; empty for any other."""
    if definition.again is None:
        return ""
    first, second = at(definition.file, definition.again), definition.line
    return f"{first} defines {definition.name!r} too; line {second} counts"


def problem(definition: Definition) -> str:
    """Returns why a definition cannot be used, without a full stop; empty if it can be, once its inputs are given.

    The file of variables that a project's server names is read only after consent: it may be anything on this machine.
    """
    return definition.find_problem(reads_env_file=not is_needed(definition))
