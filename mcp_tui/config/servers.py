"""Finds the servers that config files define. This module starts no server, and writes no file.

If ``--config`` names a file, only that file is read; otherwise all known places
(:func:`mcp_tui.config.sources.places`) are read. If files of one tool define a name twice, the first in the tool's own
order counts. If files of different tools define a name differently, using the name is an error that lists the places.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Final

from mcp_tui.config import definitions, registry, sources
from mcp_tui.config.definitions import AskedInput, Definition
from mcp_tui.config.documents import Document, Language
from mcp_tui.config.files import ConfigError, at, guess
from mcp_tui.config.sources import PLAIN_FILE, Place, Source, Surroundings, place_of, places
from mcp_tui.protocol.messages import Json, as_object, as_text, objects_in, texts_in
from mcp_tui.protocol.values import frozen

_SOURCE_BY_MEMBER: Final = {
    "context_servers": sources.ZED,
    "mcp_servers": sources.CODEX,
    "mcp.servers": sources.VSCODE,
    "mcp": sources.OPENCODE,
    "extensions": sources.GOOSE,
}
"""The tools that are recognised by a key in a file with an unknown name."""

_PARTS_OF_GOOSE: Final = ("builtin", "platform", "frontend", "inline_python")
"""The types of extensions of goose that are not servers."""


@frozen
class FoundServers:
    """The servers in the files, in the order of the tools, and an error for each file that cannot be read."""

    servers: list[Definition] = field(default_factory=list[Definition])
    problems: list[str] = field(default_factory=list[str])


def discover(
    around: Surroundings | None = None, config: Path | None = None, *, all_projects: bool = False
) -> FoundServers:
    """Returns every server of ``config`` or, without it, of all known places.

    ``all_projects`` includes servers that the user's own file of a tool defines for other projects.
    """
    around = around or Surroundings.now()
    found = FoundServers()
    first: dict[tuple[str, str], Definition] = {}
    read = cache(Document.read)  # several places may be parts of one file
    for place in places(around) if config is None else [place_of(config, around)]:
        if config is None and not os.path.lexists(place.path):
            continue
        try:
            document = read(place.path)
            off = _off_elsewhere(place, around, read)
            surely = config is not None
            defined = [
                *read_place(place, around, document, surely=surely, off=off, all_projects=all_projects)
            ]
        except ConfigError as error:
            if str(error) not in found.problems:
                found.problems.append(str(error))
            continue
        # Copilot reads a project's .github/mcp.json only if there is no .mcp.json.
        instead = place.folder and place.source is sources.COPILOT and place.folder / ".mcp.json"
        for each in defined:
            before = first.setdefault((each.source.id, each.name), each)
            shadowed = str(instead) if instead and instead.exists() else before.place * (before is not each)
            found.servers.append(replace(each, shadowed=shadowed))
    return found


def find(name: str, config: Path | None = None, around: Surroundings | None = None) -> Definition:
    """Returns the server called ``name``.

    Raises:
        ConfigError: there is no such server, there are several, or ``config`` cannot be read.
    """
    found = discover(around, config)
    if config is not None and found.problems:
        raise ConfigError(found.problems[0])
    named = [each for each in found.servers if each.name == name]
    counting = [each for each in named if not each.shadowed]
    chosen = [each for each in counting if not each.disabled] or counting
    if not chosen:
        raise ConfigError(_nobody(name, config, found))
    if any(other.launch != chosen[0].launch or other.problem for other in chosen[1:]):
        listed = ", ".join(f"{each.place} ({each.source.title})" for each in chosen)
        raise ConfigError(f"Server {name!r} differs between {listed}. Choose one with --config FILE.")
    # Of equal definitions, one that needs no consent.
    return min(chosen, key=lambda each: each.project)


def _nobody(name: str, config: Path | None, found: FoundServers) -> str:
    names = sorted({each.name for each in found.servers})
    where = str(config) if config is not None else "the config files"
    known = f" Choose from: {', '.join(names)}." if names else " Use --config FILE." * (config is None)
    known = guess(name, names) or known
    broken = f" Skipped {found.problems[0]}." if found.problems else ""
    return f"No server {name!r} in {where}.{known}{broken}"


# -- one file ----------------------------------------------------------------------------------------------------


def read_place(
    place: Place,
    around: Surroundings,
    document: Document,
    *,
    surely: bool = True,
    off: Set[str] = frozenset(),
    all_projects: bool = False,
) -> Iterator[Definition]:
    """Yields the servers of one file.

    Args:
        place: the place of the file.
        around: the machine on which the file was found.
        document: the content of the file.
        surely: whether the user named the file, so that a file without servers is an error.
        off: the names of the servers that another file disables.
        all_projects: whether to include servers for other projects.

    Raises:
        ConfigError: the file has an unknown form or, with ``surely``, no servers.
    """
    whole = document.whole
    if whole is None:
        if surely:
            raise ConfigError(f"{at(place.path, 1)}: the file is empty")
        return
    if not isinstance(whole, dict):
        raise ConfigError(f"{at(place.path, 1)}: not a JSON object")
    fields = as_object(whole)
    made = Definition(
        name="",
        source=sources.REGISTRY,
        file=place.path,
        line=1,
        around=around,
        folder=place.folder,
        project=place.folder is not None,
    )
    if place.source in (sources.REGISTRY, PLAIN_FILE):
        server = registry.unwrapped(fields)
        if server is not None:
            for name, way in registry.ways(server):
                yield registry.read(replace(made, name=name, fields=way))
            return
        if place.source is sources.REGISTRY and not surely:
            return
    folders = (around.cwd, *around.cwd.parents)
    projects = None if all_projects else {str(folder) for folder in folders}
    for source, path, folder in _tables(place, fields, projects):
        inside = _inside(fields, path)
        is_list = isinstance(inside, list) and document.language is Language.YAML
        if not isinstance(inside, dict) and not is_list:
            line = document.lines(*path[:-1]).get(path[-1])
            kinds = {Language.TOML: "a table", Language.YAML: "a list or an object"}
            kind = kinds.get(document.language, "an object")
            raise ConfigError(f"{at(place.path, line)}: {path[-1]} is not {kind}")
        folder = place.path.parent if source is sources.MCPORTER else place.folder or folder
        made = replace(made, source=source, folder=folder)
        entries: list[tuple[str | int, str, Json]] = (
            [(number, as_text(each.get("name")), each) for number, each in enumerate(objects_in(inside))]
            if is_list
            else [(name, name, value) for name, value in as_object(inside).items()]
        )
        yield from _defined(made, entries, document, path, off)
    if surely and not any(key.partition(".")[0] in fields for key in (*PLAIN_FILE.keys, *place.source.keys)):
        names = ", ".join(f"{name[:40]!r}" for name in list(fields)[:5]) or "nothing"
        wanted = f"{', '.join(PLAIN_FILE.keys[:-1])}, or {PLAIN_FILE.keys[-1]}"
        raise ConfigError(f"{at(place.path, 1)}: no {wanted}, but {names}")


def _inside(fields: dict[str, Json], path: tuple[str, ...]) -> Json:
    inside: Json = fields
    for step in path:
        inside = as_object(inside).get(step)
    return inside


def own_table(place: Place, document: Document | None) -> tuple[Source, tuple[str, ...], bool]:
    """Returns where a new server belongs in a file: the tool, the path of the table, and whether that is a list.

    Raises:
        ConfigError: there is something else.
    """
    whole = as_object(document.whole) if document else {}
    tables = (each for each in _tables(place, whole, frozenset()) if each[2] is None)
    source, path, _ = next(tables, (place.source, tuple(place.source.keys[0].split(".")), None))
    inside = _inside(whole, path)
    is_list = isinstance(inside, list) and document is not None and document.language is Language.YAML
    if not (inside is None or is_list or isinstance(inside, dict)):
        raise ConfigError(f"{path[-1]} is not an object")
    return source, path, is_list or (inside is None and source is sources.CONTINUE)


def _tables(
    place: Place, fields: dict[str, Json], projects: Set[str] | None
) -> Iterator[tuple[Source, tuple[str, ...], Path | None]]:
    """Yields each table of servers in a file: its tool, its path, and the project's folder if the user's file names one.

    ``projects`` has the folders of the projects to include; ``None`` includes all.
    """
    if place.source is sources.CLAUDE_CODE and place.part != "user":
        known = as_object(fields.get("projects"))
        nearest_first = sorted(known, key=len, reverse=True)
        for folder in (each for each in nearest_first if projects is None or each in projects):
            if "mcpServers" in as_object(known[folder]):
                yield sources.CLAUDE_CODE, ("projects", folder, "mcpServers"), Path(folder)
    if place.part == "local":
        return
    keys = place.source.keys if place.path.suffix != ".toml" else (*place.source.keys, *PLAIN_FILE.keys)
    for key in keys:
        path = tuple(key.split("."))
        if _inside(fields, path) is not None:
            named = _SOURCE_BY_MEMBER.get(key) if place.source is PLAIN_FILE else None
            yield named or place.source, path, None
            return


def _defined(
    made: Definition,
    entries: list[tuple[str | int, str, Json]],
    document: Document,
    path: tuple[str, ...],
    off: Set[str],
) -> Iterator[Definition]:
    whole, lines, earlier = as_object(document.whole), document.lines(*path), document.repeated(*path)
    inputs = tuple(
        AskedInput.read(members["id"], members)
        for members in objects_in(whole.get("inputs") or as_object(whole.get("mcp")).get("inputs"))
        if isinstance(members.get("id"), str)
    )
    mcp = as_object(whole.get("mcp")) if made.source in (sources.GEMINI, sources.QWEN) else {}
    allowed = texts_in(mcp["allowed"]) if "allowed" in mcp else None
    off = {*off, *texts_in(mcp.get("excluded"))}
    switches = made.source.switches
    for step, name, value in entries:
        fields = as_object(value)
        if made.source is sources.GOOSE and fields.get("type") in _PARTS_OF_GOOSE:
            continue
        disabled = name in off or (allowed is not None and name not in allowed)
        disabled |= "disabled" in switches and fields.get("disabled") is True
        disabled |= "enabled" in switches and fields.get("enabled") is False
        each = replace(made, name=name, line=lines.get(step), fields=fields, disabled=disabled)
        each = replace(each, again=earlier.get(step), way=(*path, step))
        if isinstance(value, dict):
            yield definitions.read(each, inputs)
        else:
            yield replace(each, problem="definition is not an object")


def _off_elsewhere(place: Place, around: Surroundings, read: Callable[[Path], Document]) -> set[str]:
    """Returns the names of servers that other files of Claude Code or Copilot disable."""
    found: set[str] = set()
    if place.source is sources.COPILOT:
        with suppress(ConfigError):
            state = as_object(read(around.expanded("{COPILOT_HOME:~/.copilot}/settings.json")).whole)
            found.update(texts_in(state.get("disabledMcpServers")))
    if place.source is not sources.CLAUDE_CODE:
        return found
    folders = (around.cwd, *around.cwd.parents)
    own_files = (
        each.path for each in places(around) if each.source is sources.CLAUDE_CODE and each.folder is None
    )
    names = ".claude/settings.json", ".claude/settings.local.json"
    settings = (folder / name for folder in folders for name in names)
    for path in dict.fromkeys((*own_files, *settings)):
        try:
            whole = as_object(read(path).whole) if path.exists() else {}
        except (ConfigError, OSError):
            continue
        projects = as_object(whole.get("projects"))
        project = as_object(next((projects[str(each)] for each in folders if str(each) in projects), None))
        found.update(texts_in(project.get("disabledMcpServers")))
        if place.folder is not None:
            for each in (project, whole):
                found.update(texts_in(each.get("disabledMcpjsonServers")))
    return found
