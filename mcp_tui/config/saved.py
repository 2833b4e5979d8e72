"""Saved calls (the name, the tool, its arguments, and its server), and recent servers.

Each server has a file that only its owner may read (0600). Arguments are saved unchanged, because the call must work again;
if the journal would redact some of them, saving needs a confirmation. No secret of the server is saved. The file has the
names of its variables and headers, and a hash of those values that are not secrets. A command line or URL with a secret is
not saved; such a server must be given when the call is run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Final

from mcp_tui import clock
from mcp_tui.client.client_settings import HttpTarget, Target
from mcp_tui.config.files import ConfigError, read_own, read_text, recent_file, write_own
from mcp_tui.journal.masks import mask_command, mask_url
from mcp_tui.journal.redaction import Redactor, is_secret_name
from mcp_tui.protocol.messages import Json, as_object, as_text, objects_in, texts_in
from mcp_tui.protocol.values import fact

SAVED_FORMAT: Final = 1
SAVED_NAME_CHARACTERS: Final = 64
"""The most characters of a name."""

SAVED_FILE_BYTES: Final = 16 * 1024 * 1024


class SecretArguments(ConfigError):
    """The arguments in ``names`` contain text that the journal would redact."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"{', '.join(names)} looks like a secret. It is saved unencrypted.")
        self.names = names


@fact
class SavedServer:
    """A server by its name in config files (or ``demo``), its command, or its URL.

    ``env`` and ``headers`` have names without values. ``values`` is a hash of the values that are not secrets; empty if
    there are none. So another API host makes another server, but another token does not. The paths of a client
    certificate are saved, not its content.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    transport: str = "auto"
    env: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    values: str = ""
    client_cert: str = ""
    client_key: str = ""

    @property
    def found(self) -> bool:
        """Whether the server can be found again."""
        return bool(self.name or self.command or self.url)

    @property
    def title(self) -> str:
        """The name of the server for the user."""
        return self.name or self.url or " ".join(self.command) or "a server that was not saved"


@fact
class SavedCall:
    """A call of a tool, saved under a name."""

    name: str
    tool: str
    arguments: dict[str, Json] = field(default_factory=dict[str, Json])
    server: SavedServer = SavedServer()


def server_of(target: Target) -> SavedServer:
    """Returns the saved form of a server. A server from a config file is saved by name, so that later changes apply."""
    if target.name:
        return SavedServer(name=target.name)
    if isinstance(target, HttpTarget):
        url = target.url if mask_url(target.url) == target.url else ""
        return SavedServer(
            url=url,
            transport=target.transport,
            headers=tuple(target.headers),
            values=_hash_of((*target.headers.items(), *target.repeated)),
            client_cert=_absolute(target.client_cert),
            client_key=_absolute(target.client_key),
        )
    clean = tuple(mask_command(target.command)) == target.command
    return SavedServer(
        command=target.command if clean else (),
        cwd=_absolute(target.cwd),
        env=tuple(target.env),
        values=_hash_of(target.env.items()),
    )


def _absolute(path: Path | str | None) -> str:
    return str(Path(path).absolute()) if path else ""


def _hash_of(values: Iterable[tuple[str, str]]) -> str:
    open_values = sorted((name, mask_url(value)) for name, value in values if not is_secret_name(name))
    return _digest(open_values)[:16] if open_values else ""


def _digest(value: object) -> str:
    import hashlib  # loads OpenSSL; late, because a workbench loads this module before it shows the server's tools

    return hashlib.sha256(json.dumps(value).encode("utf-8", "surrogatepass")).hexdigest()


def save(folder: Path, call: SavedCall, *, secrets: bool = False) -> Path:
    """Saves a call, and replaces one with the same name and server; returns the file.

    Args:
        folder: the folder of saved calls.
        call: the call.
        secrets: whether the user confirmed that secrets are saved.

    Raises:
        SecretArguments: there are secrets that the user did not confirm.
        ConfigError: the name is not valid, or the file cannot be read or written.
    """
    if not call.name.strip() or len(call.name) > SAVED_NAME_CHARACTERS or not call.name.isprintable():
        raise ConfigError(f"The name must have 1 to {SAVED_NAME_CHARACTERS} printable characters.")
    redactor = Redactor(tagged=False)
    texts = {name: json.dumps({name: value}).encode() for name, value in call.arguments.items()}
    found = [name for name, text in texts.items() if redactor.redact(text) != text]
    if found and not secrets:
        raise SecretArguments(found)
    file = folder / f"{_word(call.server)}.json"
    others = [each for each in _read(file) if each.name != call.name] if file.exists() else []
    whole = {
        "version": SAVED_FORMAT,
        "saved": clock.local_stamp(clock.wall()),
        "server": asdict(call.server),
        "calls": {each.name: {"tool": each.tool, "arguments": each.arguments} for each in [*others, call]},
    }
    write_own(file, whole)
    return file


def load(folder: Path) -> tuple[list[SavedCall], list[str]]:
    """Returns all saved calls, sorted by name, and an error for each file that cannot be read."""
    calls: list[SavedCall] = []
    problems: list[str] = []
    for file in sorted(folder.glob("*.json")):
        try:
            calls += _read(file)
        except ConfigError as error:
            problems.append(str(error))
    return sorted(calls, key=lambda each: each.name), problems


def find(folder: Path, name: str, server: SavedServer | None = None) -> SavedCall:
    """Returns the saved call with a name; if several servers have such a call, that of ``server``.

    Raises:
        ConfigError: there is no such call, or there are several.
    """
    calls, problems = load(folder)
    named = [each for each in calls if each.name == name]
    if len(named) > 1 and server is not None:
        named = [each for each in named if _word(each.server) == _word(server)] or named
    if len(named) > 1:
        titles = ", ".join(each.server.title for each in named)
        raise ConfigError(f"Call {name!r} is saved for several servers: {titles}. Give the server, too.")
    if not named:
        known = ", ".join(dict.fromkeys(each.name for each in calls))
        choices = f" Choose from: {known}." if known else ""
        broken = f" Skipped {problems[0]}." if problems else ""
        raise ConfigError(f"No saved call {name!r} in {folder}.{choices}{broken}")
    return named[0]


# -- the files ---------------------------------------------------------------------------------------------------


def _word(server: SavedServer) -> str:
    """Returns a file name for a server, without suffix: a readable part and a hash."""
    start = server.command[-1] if server.command else server.url.partition("://")[2]
    title = server.name or start or "other"
    whole = [server.name, server.command, server.cwd, server.url, *filter(None, [server.values])]
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", title.rpartition("/")[2] or title).strip("-.")[:40] or "server"
    return f"{word}-{_digest(whole)[:8]}"


def _read(file: Path) -> list[SavedCall]:
    text = read_text(file, SAVED_FILE_BYTES)
    try:
        whole = as_object(json.loads(text))
    except (ValueError, RecursionError):
        raise ConfigError(f"{file}: not a file of saved calls") from None
    if whole.get("version") != SAVED_FORMAT:
        raise ConfigError(f"{file}: written by another version of mcp-tui")
    members = as_object(whole.get("server"))
    fields: dict[str, Any] = {}
    for name, usual in asdict(SavedServer()).items():
        value = members.get(name)
        fields[name] = tuple(texts_in(value)) if isinstance(usual, tuple) else as_text(value) or usual
    server = SavedServer(**fields)
    calls: list[SavedCall] = []
    for name, value in as_object(whole.get("calls")).items():
        kept = as_object(value)
        tool, arguments = as_text(kept.get("tool")), as_object(kept.get("arguments"))
        if not tool:
            raise ConfigError(f"{file}: call {name!r} has no tool")
        calls.append(SavedCall(name=name, tool=tool, arguments=arguments, server=server))
    return calls


# -- recent servers -----------------------------------------------------------------------------
#
# A server is remembered by its name in config files, or by the line that was typed. A server with a secret in its line, or
# with variables, headers, or a client certificate, is not remembered, because it could not be opened again.

RECENT_SERVERS: Final = 12
"""The most servers that are remembered."""

SAVED_LINE_CHARACTERS: Final = 4_000
"""The most characters of a line that is remembered."""


@fact
class Recent:
    """A recent server: the name of the ``server``, or the ``line`` that was typed and the working ``folder``."""

    server: str = ""
    line: str = ""
    folder: str = ""


def load_recent() -> list[Recent]:
    """Returns the remembered servers, the latest first; none if the file cannot be read."""
    entries = objects_in(read_own(recent_file(), 256 * 1024))
    found = [Recent(**{name: as_text(each.get(name)) for name in asdict(Recent())}) for each in entries]
    usable = [each for each in found if 0 < len(each.server or each.line) <= SAVED_LINE_CHARACTERS]
    return usable[:RECENT_SERVERS]


def remember(target: Target) -> None:
    """Puts a target first among the remembered servers. Ignores a file that cannot be written."""
    server = server_of(target)
    if server.env or server.headers or server.client_cert or not server.found:
        return
    if server.name:
        made = Recent(server=server.name)
    elif server.url:
        made = Recent(line=server.url)
    else:
        made = Recent(line=shlex.join(server.command), folder=str(Path(server.cwd or "").absolute()))
    entries = [made, *(each for each in load_recent() if each != made)][:RECENT_SERVERS]
    saved_entries = [{name: value for name, value in asdict(each).items() if value} for each in entries]
    with suppress(ConfigError):
        write_own(recent_file(), saved_entries)
