"""What a server offers, in lines: tools with their arguments, resources, templates, prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, LiteralString, cast

from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.detail import Section, fact
from mcp_tui.tui.view.lines import EMPTY, Line, line
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, fit, join, paragraphs, pretty, safe, width, words
from mcp_tui.tui.view.tools import Tool

TITLES: Final = {
    "tools": words("Tools"),
    "resources": words("Resources"),
    "templates": words("Templates"),
    "prompts": words("Prompts"),
}

HINT: Final = 5
"""Cells for the arguments of an entry, without which they are left out: the name counts more."""


@frozen
class Entry:
    """One thing that a server offers. ``kind`` is a key of :data:`TITLES`, ``raw`` the entry as the server sent it."""

    kind: str
    raw: dict[str, Json]

    @property
    def name(self) -> str:
        """Its name, or the URI of what has none. Hostile text."""
        for member in ("name", "uri", "uriTemplate"):
            value = self.raw.get(member)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def hint(self) -> SafeText:
        """The names of a tool's or a prompt's arguments, a resource's type or URI."""
        if self.kind == "tools":
            return Tool(self.raw).arguments
        if self.kind == "prompts":
            given = map(as_object, as_list(self.raw.get("arguments"))[:20])
            return join([brief(str(each.get("name", "")), 40) for each in given], " ")
        said = self.raw.get("mimeType") or self.raw.get("uri") or self.raw.get("uriTemplate")
        return brief(said, 200) if isinstance(said, str) else NOTHING


class Catalogue:
    """Everything a server offers as a :class:`~mcp_tui.tui.view.lines.LineSource`; keys of lines are entries.

    A title or an entry keeps its number when lists change, so that the cursor stays on what it was on.
    """

    def __init__(self) -> None:
        self.version = 0
        self.numbers: list[int] = []
        self.entries: dict[str, list[Entry]] = {}
        self._rows: dict[int, Entry | str] = {}
        self._known: dict[tuple[str, str, int], int] = {}
        self._problems: dict[str, SafeText] = {}
        self._names = 0
        self._passes: Callable[[Entry], bool] | None = None

    def filter(self, passes: Callable[[Entry], bool] | None) -> None:
        """Show the entries alone that pass, without the titles of lists of which none does; all for ``None``."""
        self._passes = passes
        self._lay_out()

    @property
    def count(self) -> int:
        """Entries of all kinds."""
        return sum(len(entries) for entries in self.entries.values())

    @property
    def matching(self) -> int:
        """Entries that pass the filter."""
        passes = self._passes
        return sum(passes is None or passes(entry) for each in self.entries.values() for entry in each)

    @property
    def tools(self) -> list[dict[str, Json]]:
        """The tools as the server sent them."""
        return [entry.raw for entry in self.entries.get("tools", ())]

    def promised(self, name: str) -> Json:
        """The output schema of a tool; ``None`` where it has none, or is not listed."""
        found = (
            entry.raw.get("outputSchema") for entry in self.entries.get("tools", ()) if entry.name == name
        )
        return next(found, None)

    def put(self, kind: str, raw: list[dict[str, Json]], problem: SafeText = NOTHING) -> None:
        """Replace the entries of one kind; ``problem`` says why there are none."""
        self.entries[kind] = [Entry(kind, each) for each in raw]
        self._problems[kind] = problem
        self._lay_out()

    def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self._problems.clear()
        self._lay_out()

    def _lay_out(self) -> None:
        self._rows = {}
        for kind in TITLES:
            entries = self.entries.get(kind, [])
            if self._passes is not None:
                entries = list(filter(self._passes, entries))
            if entries or (self._problems.get(kind) and self._passes is None):
                self._rows[self._number(kind, "", -1)] = kind
            seen = Counter[str]()
            for entry in entries:
                self._rows[self._number(kind, entry.name, seen[entry.name])] = entry
                seen[entry.name] += 1
        self.numbers = list(self._rows)
        names = (width(brief(row.name, 60)) for row in self._rows.values() if isinstance(row, Entry))
        self._names = min(28, max(names, default=0))
        self.version += 1

    def _number(self, kind: str, name: str, again: int) -> int:
        """The number of the first, second … entry of a name, from 0; of a title for -1."""
        return self._known.setdefault((kind, name, again), len(self._known))

    def line(self, number: int, width: int) -> Line:
        row = self._rows.get(number)
        if row is None:
            return EMPTY
        if isinstance(row, str):
            count = safe(" {:,}", len(self.entries.get(row, ())))
            problem = self._problems.get(row) or NOTHING
            said = safe("  {}", problem) if problem else NOTHING
            return line((TITLES[row], "title"), (count, "muted"), (said, "error"))
        if width - 4 - self._names < HINT:
            return line(words("  "), fit(brief(row.name, 200), max(8, width - 2)), key=row)
        names = self._names
        return line(
            words("  "),
            fit(brief(row.name, 200), names),
            words("  "),
            (row.hint, "muted"),
            key=row,
        )


ICONS: Final = 10
"""Icons that are told of one entry."""

_FACTS: Final[tuple[tuple[LiteralString, str], ...]] = (
    ("title", "title"),
    ("uri", "uri"),
    ("uri", "uriTemplate"),
    ("type", "mimeType"),
    ("bytes", "size"),
)


def entry_sections(entry: Entry) -> list[Section]:
    """All of it, in the order in which one wants to know it."""
    raw = entry.raw
    facts = [fact("name", brief(str(raw["name"]), 2000))] if isinstance(raw.get("name"), str) else []
    facts += [
        fact(word, brief(str(raw[member]), 2000))
        for word, member in _FACTS
        if isinstance(raw.get(member), str | int)
    ]
    support = as_object(raw.get("execution")).get("taskSupport")
    if isinstance(support, str):
        facts.append(fact("task", brief(support, 2000)))
    facts += [fact("icon", brief(said, 2000)) for said in _icons(raw.get("icons"))]
    made = [Section(brief(TITLES[entry.kind].removesuffix("s")), tuple(facts))]
    description = raw.get("description")
    if isinstance(description, str) and description.strip():
        said = tuple(line(text) for text in paragraphs(description.strip()))
        made.append(Section(words("Description"), said))
    claims = _claims(entry)
    if claims:
        made.append(Section(words("Server claims (unverified)"), claims))
    arguments = raw.get("arguments")
    if isinstance(arguments, list) and arguments:
        made.append(Section(words("Arguments"), _json(cast("Json", arguments))))
    for title, member in ((words("Takes"), "inputSchema"), (words("Promises"), "outputSchema")):
        if isinstance(raw.get(member), dict):
            made.append(Section(title, _json(raw[member])))
    return made


def _icons(value: Json) -> list[str]:
    """Each icon as text: its type, its sizes and where it would be."""
    said: list[str] = []
    for icon in as_list(value)[:ICONS]:
        fields = as_object(icon)
        sizes = fields.get("sizes")
        shown = (
            " ".join(str(each) for each in cast("list[Json]", sizes)) if isinstance(sizes, list) else sizes
        )
        parts = (fields.get("mimeType"), shown, fields.get("theme"), fields.get("src"))
        said.append(" ".join(str(part)[:300] for part in parts if part))
    return said


def _claims(entry: Entry) -> tuple[Line, ...]:
    annotations = as_object(entry.raw.get("annotations"))
    if not annotations:
        return ()
    if entry.kind == "tools" and Tool(entry.raw).claims:
        return (line(Tool(entry.raw).claims),)
    return _json(annotations)


def _json(value: Json) -> tuple[Line, ...]:
    return tuple(line(text) for text in pretty(value))
