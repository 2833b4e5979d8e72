"""What a server offers, in lines: tools with their arguments, resources, templates, prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.tui.view.lines import EMPTY, Line, line
from mcp_tui.tui.view.text import SafeText, brief, fit, join, safe, width, words

_NOTHING: Final = words("")

TITLES: Final = {
    "tools": words("Tools"),
    "resources": words("Resources"),
    "templates": words("Templates"),
    "prompts": words("Prompts"),
}

HINT: Final = 5
"""Cells for the arguments of an entry, without which they are left out: the name counts more."""


@dataclass(frozen=True, slots=True)
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
            schema = as_object(self.raw.get("inputSchema"))
            required = schema.get("required")
            needed = cast("list[Json]", required) if isinstance(required, list) else []
            names = list(as_object(schema.get("properties")))[:20]
            return join([brief(name if name in needed else f"[{name}]", 40) for name in names], " ")
        if self.kind == "prompts":
            given = self.raw.get("arguments")
            entries = cast("list[Json]", given) if isinstance(given, list) else []
            return join([brief(str(as_object(each).get("name", "")), 40) for each in entries[:20]], " ")
        said = self.raw.get("mimeType") or self.raw.get("uri") or self.raw.get("uriTemplate")
        return brief(said, 200) if isinstance(said, str) else words("")


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

    def narrow(self, passes: Callable[[Entry], bool] | None) -> None:
        """Show the entries alone that pass, without the titles of lists of which none does; all for ``None``."""
        self._passes = passes
        self._lay_out()

    @property
    def count(self) -> int:
        """Entries of all kinds."""
        return sum(len(entries) for entries in self.entries.values())

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

    def put(self, kind: str, raw: list[dict[str, Json]], problem: SafeText = _NOTHING) -> None:
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
            problem = self._problems.get(row) or words("")
            said = safe("  {}", problem) if problem else words("")
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
