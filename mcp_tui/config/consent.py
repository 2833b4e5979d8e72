"""Consent to start servers that a project's file defines, and whether a server can be used.

Somebody who can change a project's file could otherwise start any program. A consent applies to one server in one file as
defined at that time. It is a file in the data folder, named by a hash of the path of the file, the name of the server, and
its definition. It stores two more hashes. One is of the ``envFile``. The other is of the launch: the program found, its
arguments, its folder, and the variables that decide what a program does. If any hash differs, the consent is void. Without
a consent, the ``envFile`` is only read to show what would run. The values of all other environment variables are the user's
choice, so no hash includes them.
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
    """Returns whether the user must agree before the server is started, or its URL is contacted."""
    return definition.project and not is_given(definition)


def is_given(definition: Definition) -> bool:
    """Returns whether the user agreed to this server with its present definition."""
    stored = _stored(_file(definition))
    now = bool(stored) and (_env_digest(definition), _run_digest(definition))
    return now == (stored.get("env file"), stored.get("runs"))


def give(definition: Definition) -> None:
    """Stores the consent of the user.

    Raises:
        ConfigError: the file cannot be written.
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
    """Deletes every consent to a server of this name in this file; returns whether there was any."""
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


# Patterns for kinds of variables (wrappers, options, proxies, modules) instead of single names, because a variable that
# is missing here could run a program without consent.
DECIDING: Final = re.compile(
    r"HOME|SHELL|IFS|ENV|BASH_ENV|BASH_FUNC_.*|(BASH|SHELL)OPTS|PS4|EDITOR|VISUAL|BROWSER|PHPRC|ZDOTDIR"
    r"|(LD|DYLD|GIT|PYTHON|PYENV|PERL5?|RUBY|BUNDLE|NODE|NPM|YARN|PNPM|BUN|DENO|UV|PIP|PIPX|CONDA|DOCKER|DOTNET|COMPLUS"
    r"|CORECLR|GCONV|GLIBC|OPENSSL|LUA|PHP|CARGO|RUST|JULIA|ERL|XDG|ELECTRON|SSL|CURL)_?.*"
    r"|(R|COR|_?JAVA|JDK)_.*|GO(PROXY|FLAGS|ROOT|ENV)|(VIM|EX)INIT|LESS(OPEN|CLOSE)|(APP|LOCALAPP)DATA|USERPROFILE|COMSPEC|PATHEXT|SYSTEMROOT|VIRTUAL_ENV"
    r"|.*(PATH|PAGER|ASKPASS|_HOME|_PROXY|_OPTS|_OPTIONS|_FLAGS|_PRELOAD|_HOOKS|_COMMAND|_WRAPPER|_PROFILE|_TOOLCHAIN"
    r"|_CONFIG|_CONFIG_FILE|_CA_BUNDLE|_MODULES|_INIT)",
    re.IGNORECASE,
)
"""Variables that decide which program or code runs, where a program finds its settings, or to which host it connects."""

# Their names look like those of secrets (KEY, any function name). As secrets they would be neither shown nor hashed.
_TOOL_SETTINGS: Final = re.compile(r"GIT_CONFIG_KEY_\d+|BASH_FUNC_.*", re.DOTALL)
"""Names of variables that decide what runs and are not secrets, although they may contain words for secrets."""


def consent_details(definition: Definition) -> list[tuple[str, str]]:
    """Returns the facts that the user agrees to, as labels and uncut texts; the program that would run comes first.

    Variables that decide what runs are shown with their values, unless their names look like secrets. Of all other
    variables, only the names are shown. Inputs are shown with their default values, because these may be a part of the
    command.
    """
    launch = definition.launch
    defined = ("defined in", f"{definition.place} ({definition.source.title})")
    if launch is None:
        return [defined]
    details: list[tuple[str, str]] = []
    if launch.transport == "stdio":
        words = (definition.shown(each) for each in (launch.command, *launch.args))
        folder = definition.folder or definition.around.cwd
        cwd = folder / (definition.shown(launch.cwd) if launch.cwd else "")
        deciding = _deciding(definition)
        details.append(("program", _program(definition, folder)))
        details += [
            ("variable", f"{name}={mask_url(value) if '://' in value else value}")
            for name, value in deciding.items()
        ]
        details.append(("command", " ".join(_quoted(each) for each in words)))
        details += [("folder", str(cwd)), defined]
        # An envFile may have many variables, so only those that decide what runs are shown.
        decide = (name for name in _given(definition) if DECIDING.fullmatch(name))
        details += [("sets", name) for name in dict.fromkeys((*launch.env, *decide)) if name not in deciding]
        if launch.env_file:
            details.append(("env file", definition.shown(launch.env_file)))
    else:
        details += [("URL", definition.shown(launch.url)), defined]
        details += [("header", name) for name in launch.headers]
        certificate = (launch.client_cert, launch.client_key)
        details += [("certificate", definition.shown(path)) for path in certificate if path]
    details += [("reads", name) for name in launch.names(VariableKind.ENV)]
    details += [("input", f"{each.id}{_default(each)}") for each in launch.inputs]
    return details


def _default(asked: AskedInput) -> str:
    return f" (default: {MASK if asked.secret else asked.default})" if asked.default else ""


def _launched(definition: Definition) -> StdioTarget | None:
    """Returns the process that would start; ``None`` for a URL, or for a definition that cannot be used."""
    try:
        return definition.launched()
    except ConfigError:
        return None


def _program(definition: Definition, folder: Path) -> str:
    """Returns the path of the program that would start, and the target of the link if it is one."""
    target = _launched(definition)
    if target is None:
        return "unknown: the definition cannot be used yet"
    try:
        # The transport uses the same function, with the PATH of the definition. Another search could show another
        # program than the one that runs.
        path = find_program(target)
    except TransportError as error:
        return f"none. {error}"
    real = os.path.realpath(path)
    remark = " (in the project's folder)" if Path(real).is_relative_to(folder.resolve()) else ""
    # A non-ASCII letter may look like an ASCII one.
    if odd := [f"U+{ord(each):04X}" for each in Path(path).name if not each.isascii()]:
        remark += f" (not ASCII in its name: {', '.join(odd[:8])})"
    return f"{real}{remark}" if real == os.path.normpath(path) else f"{path} → {real}{remark}"


def _given(definition: Definition) -> Mapping[str, str]:
    target = _launched(definition)
    return {} if target is None else target.env


def _deciding(definition: Definition) -> dict[str, str]:
    """Returns the variables of the server that decide what runs, including those of the ``envFile``."""
    return {
        name: value
        for name, value in _given(definition).items()
        if DECIDING.fullmatch(name) and (not is_secret_name(name) or _TOOL_SETTINGS.fullmatch(name))
    }


def _run_digest(definition: Definition) -> str:
    """Returns a hash of program, arguments, folder, and deciding variables; empty for a URL."""
    target = _launched(definition)
    if target is None:
        return ""
    cwd = str((target.cwd or Path()).resolve())
    runs = [real_program(target), target.command[1:], cwd, sorted(_deciding(definition).items())]
    return hashlib.sha256(json.dumps(runs).encode("utf-8", "surrogatepass")).hexdigest()


_BARE: Final = re.compile(r"[\w@%+=:,./${}\-]+")


def _quoted(word: str) -> str:
    """Quotes a word for a shell; variables such as ``${HOME}`` stay unquoted."""
    return word if _BARE.fullmatch(word) else shlex.quote(word)


def _file(definition: Definition) -> Path:
    """Returns the file of the consent to a server with its present definition."""
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
    """Returns a hash of the ``envFile``; empty if the definition names none."""
    if definition.env_path is None:
        return ""
    try:
        return hashlib.sha256(read_bytes(definition.env_path, MAX_ENV_BYTES)).hexdigest()
    except ConfigError:
        return "unreadable"


def _path(definition: Definition) -> Path:
    """Returns the path of the config file, without symbolic links."""
    with suppress(OSError, RuntimeError):
        return definition.file.resolve()
    return definition.file


class Availability(Enum):
    """Whether a definition can be used, or the most important reason why it cannot."""

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
    """Returns a remark, without a full stop, if the file defines the name twice; otherwise an empty text."""
    if definition.again is None:
        return ""
    first, second = at(definition.file, definition.again), definition.line
    return f"{first} defines {definition.name!r} too; line {second} counts"


def problem(definition: Definition) -> str:
    """Returns why a definition cannot be used, without a full stop; empty if it can be used once its inputs are given.

    The ``envFile`` of a project's server may be any file of the user, so it is read only after consent.
    """
    return definition.find_problem(reads_env_file=not is_needed(definition))
