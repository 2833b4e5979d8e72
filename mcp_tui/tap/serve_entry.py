"""Adds ``mcp-tui serve`` as a server to a client's config file, and removes it.

A new entry repeats the blanks around it, so that its removal leaves every byte as it was, regardless of other changes in the
file. A table that is added with it ends with a blank that no other table has. Before anything is written, the new text
is read again: it must mean the old one with exactly that change.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp_tui.config import definitions
from mcp_tui.config.definitions import Definition
from mcp_tui.config.documents import LANGUAGES, Document, Language, is_script
from mcp_tui.config.files import ConfigError, read_bytes
from mcp_tui.config.servers import own_table
from mcp_tui.config.sources import GOOSE, VSCODE, Place, Source, Surroundings
from mcp_tui.config.yaml import Way
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.tap.installation import Edit, NotEditable, literal

SERVER_NAME: Final = "mcp-tui"
"""The name of the server in a client's config, unless another is given."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_MADE_END: Final = " "
"""What stands before the closing bracket of a table that was added with its entry, and not behind the opening one."""


def blank(place: Place, name: str, around: Surroundings) -> Definition:
    """Returns a server without a command, to report about a file that cannot be read."""
    return Definition(
        name=name,
        source=place.source,
        file=place.path,
        line=None,
        around=around,
        folder=place.folder,
        project=place.folder is not None,
    )


def future(place: Place, name: str, words: list[str], around: Surroundings) -> Definition:
    """Returns the server called ``name`` that the file of ``place`` will define, with the command line ``words``.

    Raises:
        ConfigError: the file cannot be read, or has another form.
    """
    document = Document.read(place.path) if place.path.exists() and not is_script(place.path) else None
    source, way, is_list = own_table(place, document)
    fields: dict[str, Json] = {"name": name} if is_list or source is GOOSE else {}
    command: list[Json] = [*words]
    form = source.form
    fields |= source.extra
    fields |= {form.command: command} if form.is_list else {form.command: words[0], form.args: command[1:]}
    usual = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}
    if env := {
        name: value
        for name in ("MCP_TUI_STATE", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
        if (value := around.env.get(name)) and value != usual.get(name) and "$" not in value
    }:  # Some clients start servers without these variables, which say where sessions and recordings are.
        fields[form.env] = {**env}
    made = replace(
        blank(place, name, around), source=source, fields=fields, way=(*way, 0 if is_list else name)
    )
    return definitions.read(made)


def own_places(source: Source, around: Surroundings) -> list[Place]:
    """Returns the user's files of a tool that can get the entry: those with servers, or else the first that exists."""
    exist = [each for each in around.own_files(source) if each.path.exists()]
    filled = [each for each in exist if _has_table(each)]
    return filled or [each for each in exist if source is not VSCODE or each.path.name == "mcp.json"][:1]


def _has_table(place: Place) -> bool:
    try:
        document = Document.read(place.path)
        return _at(document.whole, own_table(place, document)[1]) is not None
    except ConfigError:
        return False


def _at(whole: Any, way: Way) -> Any:
    """Returns the value at a path; ``None`` if there is none."""
    for step in way:
        try:
            whole = whole[step]
        except (LookupError, TypeError):
            return None
    return whole


class _File:
    """A config file, with the changes ``after`` that come first. ``line_end`` is the one that the file uses."""

    def __init__(self, path: Path, after: Edit | None) -> None:
        self.path = path
        self.raw = read_bytes(path) if after is None else after.old
        try:
            self.text = self.raw.decode("utf-8-sig") if after is None else after.new
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: not UTF-8") from None
        self.document = Document.parse(self.text, path)
        self.line_end = "\r\n" if "\r\n" in self.text else "\n"

    def edit(self, span: tuple[int, int, str]) -> Edit:
        """Returns the change of one span."""
        return Edit(self.path, self.raw, self.text, [span])

    def whole_lines(self, start: int, end: int) -> tuple[int, int, str]:
        """Returns the change that removes the lines of a span; without a line end after them, that before them."""
        text = self.text
        start = text.rfind("\n", 0, start) + 1
        if text[text.rfind("\n", 0, end) + 1 : end].strip():
            end = text.find("\n", end) + 1 or len(text)
        elif end > start:
            end = text.rfind("\n", 0, end) + 1
        if not text[:end].endswith("\n") and start:
            start -= len(self.line_end) if text[:start].endswith(self.line_end) else 1
        return start, end, ""


# -- adding ------------------------------------------------------------------------------------------------------


def add(server: Definition, after: Edit | None = None) -> Edit:
    """Returns the change that adds a server of :func:`future` to its file, after the change ``after``.

    Raises:
        NotEditable: that cannot be done safely.
        ConfigError: the file cannot be read.
    """
    file = _File(server.file, after)
    *table, step = server.way
    before = _at(file.document.whole, tuple(table))
    wanted: Any = deepcopy(file.document.whole) or {}
    is_list = isinstance(step, int)
    inside: Any = _at(wanted, tuple(table[:-1]))
    inside[table[-1]] = (
        [server.fields, *(before or [])] if is_list else {step: server.fields, **(before or {})}
    )
    if span := _addition(file, server, before):
        edit = file.edit(span)
        try:
            if Document.parse(edit.new, server.file).whole == wanted:
                return edit
        except ConfigError:
            pass
    raise NotEditable(f"Cannot edit {server.file} safely. Write this into it:", entry_lines(server))


def _addition(file: _File, server: Definition, before: Any) -> tuple[int, int, str] | None:
    *table, step = server.way
    text, language, line_end = file.text, file.document.language, file.line_end
    end = len(text)
    unfinished = line_end * (bool(text) and not text.endswith("\n"))
    if language is Language.TOML:
        apart = line_end * (bool(text) and not unfinished)
        block = line_end.join(entry_lines(server))
        return end, end, f"{unfinished or apart}{block}{'' if unfinished else line_end}"
    pair = json.dumps(server.fields, ensure_ascii=False)
    pair = pair if isinstance(step, int) else f"{literal(step)}: {pair}"
    where = file.document.member(*table)
    if where is not None and text[where.value : where.value + 1] in ("{", "["):
        return _first(text, where.value + 1, pair, bool(before))
    if where is None and language is Language.JSON:
        root = file.document.text.find("{") + 1
        made = f"{literal(table[-1])}: {{{pair}{_MADE_END}}}"
        return _first(text, root, made, bool(file.document.whole)) if root and len(table) == 1 else None
    if language is Language.JSON:
        return None
    if where is None:  # YAML
        opening, closing = "[]" if isinstance(step, int) else "{}"
        line = f"{table[-1]}: {opening}{pair}{_MADE_END}{closing}"
        return end, end, f"{unfinished}{line}{'' if unfinished else line_end}"
    line = f"- {pair}" if isinstance(step, int) else pair
    if before:
        (first, *_) = (each for way, each in file.document.places.items() if way[:-1] == tuple(table))
        start = text.rfind("\n", 0, first.key) + 1
        indent = text[start : len(text) - len(text[start:].lstrip(" "))]
        return start, start, f"{indent}{line}{line_end}"
    start = text.find("\n", where.key) + 1
    return (start, start, f"  {line}{line_end}") if start else (end, end, f"{line_end}  {line}")


def _first(text: str, at: int, pair: str, more: bool) -> tuple[int, int, str]:
    """Returns the change that adds the first member behind the bracket before ``at``, with the blanks that follow it."""
    blanks = text[at : len(text) - len(text[at:].lstrip())]
    return at, at, f"{blanks}{pair}{',' * more}"


def entry_lines(server: Definition) -> list[str]:
    """Returns the lines for a person to add a server of :func:`future` by hand."""
    *table, step = server.way
    path = server.file
    if is_script(path):
        return [shlex.join(server.command_words)]
    name, fields = str(step), dict(server.fields)
    match LANGUAGES.get(path.suffix):
        case Language.TOML:
            keys = (each if _BARE_KEY.fullmatch(each) else literal(each) for each in map(str, (*table, name)))
            head = f"[{'.'.join(keys)}]"
            return [head, *(f"{key} = {_toml(value)}" for key, value in fields.items())]
        case Language.YAML:
            value = [fields] if isinstance(step, int) else {name: fields}
            return [f"{table[-1]}: {json.dumps(value, ensure_ascii=False)}"]
        case _:
            value: Json = {name: fields}
            for each in reversed(table[1:]):
                value = {str(each): value}
            return [f"{literal(table[0])}: {json.dumps(value, ensure_ascii=False)}"]


def _toml(value: Json) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in as_object(value).items())} }}"
    return json.dumps(value)


# -- removing ----------------------------------------------------------------------------------------------------


def remove(server: Definition, after: Edit | None = None) -> Edit:
    """Returns the change that removes a server from its file, after the change ``after``.

    Raises:
        NotEditable: that cannot be done safely.
        ConfigError: the file cannot be read, or was changed meanwhile.
    """
    file = _File(server.file, after)
    way: Way = server.way
    *table, step = way
    wanted: Any = deepcopy(file.document.whole)
    inside = _at(wanted, tuple(table))
    try:
        del inside[step]
    except (LookupError, TypeError):
        raise ConfigError(f"{server.file}: changed meanwhile; nothing was written") from None
    edit = file.edit(_removal(file, way))
    try:
        found = Document.parse(edit.new, server.file).whole
        if (
            not inside and _at(found, tuple(table)) is None
        ):  # It was added with the entry, or is empty in YAML.
            for whole in (wanted, found):
                _at(whole or {}, tuple(table[:-1])).pop(table[-1], None)
        if (found or {}) == wanted:
            return edit
    except ConfigError:
        pass
    raise NotEditable(f"Cannot edit {server.place} safely. Remove {server.name!r} by hand.", [])


def _removal(file: _File, way: Way) -> tuple[int, int, str]:
    text, document = file.text, file.document
    where = document.member(*way)
    if where is None:
        raise ConfigError(f"{file.path}: changed meanwhile; nothing was written")
    if document.language is Language.TOML:
        below = [each for path, each in document.all_members().items() if path[: len(way)] == way]
        start, end, _ = file.whole_lines(where.key, max(each.end for each in below))
        apart = text[:start].endswith(f"\n{file.line_end}")
        return start - len(file.line_end) * apart, end, ""
    bare = document.text if document.language is Language.JSON else text
    before = bare[: where.key].rstrip()
    behind = bare[where.end :].lstrip()
    follows = len(bare) - len(behind)
    if before.endswith(","):
        return len(before) - 1, where.end, ""
    if not before.endswith(("{", "[")) or behind[:1] not in (",", "}", "]"):
        return file.whole_lines(where.key, where.end)  # YAML
    blanks = text[len(before) : where.key]
    if behind.startswith(","):
        rest = text[follows + 1 :]
        next_blanks = rest[: len(rest) - len(rest.lstrip())]
        same = blanks == next_blanks
        return (len(before), follows + 1, "") if same else (where.key, follows + 1 + len(next_blanks), "")
    if not blanks and text[where.end : follows] == _MADE_END:
        return _removal(file, way[:-1])
    # Other blanks behind the entry than before it: another program has laid out the file anew.
    return len(before), where.end if text.startswith(blanks, where.end) else follows, ""
