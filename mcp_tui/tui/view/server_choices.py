"""The servers to choose from, as lines: those that were opened last, then those of each config file, then the demo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_tui.config import recent
from mcp_tui.config.availability import Availability, availability, what
from mcp_tui.config.definitions import Definition
from mcp_tui.config.servers import FoundServers, discover
from mcp_tui.config.sources import Surroundings
from mcp_tui.tui.view.text import SafeText, brief, clean, words


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChoice:
    """A server to choose: a ``definition``, or a ``line`` as it may be typed. ``said`` is what there is to say of it."""

    name: SafeText
    said: SafeText
    availability: Availability = Availability.USABLE
    definition: Definition | None = None
    line: str = ""

    @property
    def usable(self) -> bool:
        """Whether choosing it can lead to a server."""
        return self.availability is not Availability.PROBLEM


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Servers under one title."""

    title: SafeText
    choices: tuple[ServerChoice, ...]


@dataclass(frozen=True, slots=True)
class ServerChoices:
    """Everything to choose from, and a sentence for each file that cannot be read."""

    groups: tuple[ServerGroup, ...] = ()
    problems: tuple[SafeText, ...] = ()

    def matching(self, text: str) -> ServerChoices:
        """Those in whose name ``text`` is found, whatever its case; where there is none, those in whose words it is."""
        needle = text.strip().lower()
        named = self._with(lambda each: needle in each.name.lower())
        return named if named.groups else self._with(lambda each: needle in each.said.lower())

    def _with(self, passes: Callable[[ServerChoice], bool]) -> ServerChoices:
        groups = (ServerGroup(each.title, tuple(filter(passes, each.choices))) for each in self.groups)
        return ServerChoices(tuple(each for each in groups if each.choices), self.problems)


def gather(around: Surroundings | None = None) -> ServerChoices:
    """Read the config files and what is remembered. Starts nothing; takes as long as the files are long."""
    around = around or Surroundings.now()
    found = discover(around)
    made = {
        (each.file, each.name, each.line): _choice(each, around)
        for each in found.servers
        if not each.shadowed
    }
    latest: list[ServerChoice] = []
    for entry in recent.load():
        if entry.line:
            latest.append(_typed(entry.line))
            continue
        if entry.server == "demo":
            latest.append(DEMO)
        keys = [
            key for key, choice in made.items() if key[1] == entry.server and choice.definition is not None
        ]
        latest += [made.pop(key) for key in keys]
    groups = [ServerGroup(words("Recent"), tuple(latest))] if latest else []
    groups += _by_file(list(made.values()), around)
    if DEMO not in latest:
        groups.append(ServerGroup(words("mcp-tui"), (DEMO,)))
    return ServerChoices(tuple(groups), _problems(found))


DEMO = ServerChoice(name=words("demo"), said=words("the demo server that ships with mcp-tui"), line="demo")


def _choice(definition: Definition, around: Surroundings) -> ServerChoice:
    state, said = availability(definition, around)
    shown = said if state is Availability.PROBLEM else what(definition, around)
    return ServerChoice(
        name=brief(definition.name, 80), said=brief(shown, 400), availability=state, definition=definition
    )


def _typed(line: str) -> ServerChoice:
    return ServerChoice(name=brief(line, 400), said=words(""), line=line)


def _by_file(choices: Sequence[ServerChoice], around: Surroundings) -> list[ServerGroup]:
    files: dict[tuple[str, Path], list[ServerChoice]] = {}
    for each in choices:
        if each.definition is not None:
            files.setdefault((each.definition.source.title, each.definition.file), []).append(each)
    return [
        ServerGroup(clean(f"{title}  {_short(file, around)}"), tuple(found))
        for (title, file), found in files.items()
    ]


def _short(file: Path, around: Surroundings) -> str:
    for folder, instead in ((around.cwd, ""), (around.home, "~/")):
        if folder != Path(folder.anchor) and file.is_relative_to(folder):
            return f"{instead}{file.relative_to(folder)}"
    return str(file)


def _problems(found: FoundServers) -> tuple[SafeText, ...]:
    return tuple(brief(each, 400) for each in found.problems)
