"""Finds the servers that config files define. Nothing is started here, and no file is written.

Precedence: a file that is named with ``--config`` is the only one looked at. Otherwise every known place is
(:func:`mcp_tui.config.sources.places`). Two definitions of one name in files of one tool: the first in that tool's own
order counts. In files of two tools, where they differ: nobody guesses, and the sentence lists both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Final

from mcp_tui.config import definitions, registry
from mcp_tui.config.definitions import AskedInput, Definition
from mcp_tui.config.documents import Document
from mcp_tui.config.files import ConfigError, at, guess
from mcp_tui.config.sources import (
    CLAUDE_CODE,
    CODEX,
    GEMINI,
    PLAIN_FILE,
    REGISTRY,
    ZED,
    Place,
    Source,
    Surroundings,
    place_of,
    places,
)
from mcp_tui.protocol.messages import Json, as_object, objects_in, texts_in
from mcp_tui.protocol.values import frozen

_SOURCE_BY_MEMBER: Final = {"context_servers": ZED, "mcp_servers": CODEX}
"""Keys that give away whose file it is."""


@frozen
class FoundServers:
    """The servers in the files, in the order of the tools, and a sentence for each file that cannot be read."""

    servers: list[Definition] = field(default_factory=list[Definition])
    problems: list[str] = field(default_factory=list[str])


def discover(around: Surroundings | None = None, config: Path | None = None) -> FoundServers:
    """Returns every server of ``config`` or, without one, of all known places."""
    around = around or Surroundings.now()
    found = FoundServers()
    first: dict[tuple[str, str], Definition] = {}
    read = cache(Document.read)  # one file may be several places
    for place in places(around) if config is None else [place_of(config, around)]:
        if config is None and not os.path.lexists(place.path):
            continue
        try:
            defined = list(read_place(place, around, read(place.path), surely=config is not None))
        except ConfigError as error:
            if str(error) not in found.problems:
                found.problems.append(str(error))
            continue
        for each in defined:
            before = first.setdefault((each.source.id, each.name), each)
            found.servers.append(each if before is each else replace(each, shadowed=before.place))
    return found


def find(name: str, config: Path | None = None, around: Surroundings | None = None) -> Definition:
    """Returns the server called ``name``.

    Raises:
        ConfigError: there is none, there are several, or the file that is named cannot be read.
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
    # of equal ones, one that needs no consent
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
    place: Place, around: Surroundings, document: Document, *, surely: bool = True
) -> Iterator[Definition]:
    """Yields the servers of one file. ``surely`` says that the file was named, so it must define some.

    Raises:
        ConfigError: what it holds is of no form that is known, or, ``surely``, holds no servers.
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
        source=REGISTRY,
        file=place.path,
        line=1,
        around=around,
        folder=place.folder,
        project=place.folder is not None,
    )
    if place.source in (REGISTRY, PLAIN_FILE):
        server = registry.unwrapped(fields)
        if server is not None:
            for name, way in registry.ways(server):
                yield registry.read(replace(made, name=name, fields=way))
            return
        if place.source is REGISTRY and not surely:
            return
    for source, path, folder in _tables(place, fields, around):
        inside: Json = fields
        for step in path:
            inside = as_object(inside).get(step)
        if not isinstance(inside, dict):
            line = document.lines(*path[:-1]).get(path[-1])
            kind = "a table" if document.is_toml else "an object"
            raise ConfigError(f"{at(place.path, line)}: {path[-1]} is not {kind}")
        made = replace(made, source=source, folder=place.folder or folder, table=path)
        yield from _defined(made, as_object(inside), document, path)
    if surely and not any(key in fields for key in (*PLAIN_FILE.keys, *place.source.keys)):
        there = ", ".join(f"{name[:40]!r}" for name in list(fields)[:5]) or "nothing"
        wanted = f"{', '.join(PLAIN_FILE.keys[:-1])}, or {PLAIN_FILE.keys[-1]}"
        raise ConfigError(f"{at(place.path, 1)}: no {wanted}, but {there}")


def _tables(
    place: Place, fields: dict[str, Json], around: Surroundings
) -> Iterator[tuple[Source, tuple[str, ...], Path | None]]:
    """Yields the tool of each table of servers, its path, and the project's folder if a person's own file names it."""
    if place.source is CLAUDE_CODE and "projects" in fields and place.part != "user":
        projects = as_object(fields["projects"])
        for folder in (around.cwd, *around.cwd.parents):
            if "mcpServers" in as_object(projects.get(str(folder))):
                yield CLAUDE_CODE, ("projects", str(folder), "mcpServers"), folder
    if place.part == "local":
        return
    keys = place.source.keys if place.path.suffix != ".toml" else (*place.source.keys, *PLAIN_FILE.keys)
    for key in keys:
        if fields.get(key) is not None:
            yield (
                _SOURCE_BY_MEMBER.get(key, place.source) if place.source is PLAIN_FILE else place.source,
                (key,),
                None,
            )
            return


def _defined(
    made: Definition, servers: dict[str, Json], document: Document, path: tuple[str, ...]
) -> Iterator[Definition]:
    whole, lines, earlier = as_object(document.whole), document.lines(*path), document.repeated(*path)
    inputs = tuple(
        AskedInput.read(said["id"], said)
        for said in objects_in(whole.get("inputs"))
        if isinstance(said.get("id"), str)
    )
    off = _switched_off(whole, made)
    for name, value in servers.items():
        fields = as_object(value)
        disabled = fields.get("disabled") is True or fields.get("enabled") is False or name in off
        each = replace(made, name=name, line=lines.get(name), fields=fields, disabled=disabled)
        each = replace(each, again=earlier.get(name))
        if isinstance(value, dict):
            yield definitions.read(each, inputs)
        else:
            yield replace(each, problem="definition is not an object")


def _switched_off(whole: dict[str, Json], made: Definition) -> set[str]:
    """Returns the servers that another part of the same file disables."""
    if made.source is GEMINI:
        listed = as_object(whole.get("mcp")).get("excluded")
    else:
        projects = as_object(whole.get("projects"))
        listed = as_object(projects.get(str(made.folder))).get("disabledMcpServers")
    return set(texts_in(listed))
