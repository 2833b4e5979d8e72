"""The catalogue of a server: tools, resources, resource templates, and prompts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Final

from mcp_tui.client.parameters import schema_of, usage, variants
from mcp_tui.client.schemas import Schema
from mcp_tui.client.uri_templates import TemplateError
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text
from mcp_tui.view import costs, durations
from mcp_tui.view.detail import Section, fact
from mcp_tui.view.keys import hint
from mcp_tui.view.lines import EMPTY, Line, line, texts
from mcp_tui.view.schema_tables import schema_lines, schema_rows
from mcp_tui.view.text import NOTHING, SafeText, brief, fit, join, paragraphs, pretty, safe, width, words

TITLES: Final = {
    "tools": words("Tools"),
    "resources": words("Resources"),
    "templates": words("Templates"),
    "prompts": words("Prompts"),
}

VERBS: Final = {"tools": "Call", "resources": "Read", "templates": "Read", "prompts": "Get"}
"""The verb for an entry of each list of the catalogue."""

COST_CELLS: Final = 7
"""Cells of the column with the tokens of a tool."""

HINTED_ROWS: Final = 100
"""The number of rows whose hints are measured: wording the arguments of thousands of tools takes too long."""

HINT_CELLS: Final = 5
"""The least room for the arguments of an entry; with less, only its name is shown."""


_CLAIMS: Final = (
    ("readOnlyHint", True, words("read-only")),
    ("readOnlyHint", False, words("not read-only")),
    ("destructiveHint", True, words("destructive")),
    ("destructiveHint", False, words("not destructive")),
    ("idempotentHint", True, words("idempotent")),
    ("openWorldHint", True, words("accesses external systems")),
)


_PLAIN_SCHEMA: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema"}
)
"""The members of a plain schema. The arguments of such a schema are just its properties."""


@dataclass(frozen=True)
class Entry:
    """An entry of the catalogue. ``kind`` is a key of :data:`TITLES`; ``raw`` is the definition, not sanitised."""

    kind: str
    raw: dict[str, Json]

    @property
    def name(self) -> str:
        """The name of the entry, or else its URI; not sanitised."""
        for member in ("name", "uri", "uriTemplate"):
            value = self.raw.get(member)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def label(self) -> SafeText:
        """The name of the entry, sanitised, in one line."""
        return brief(self.name, 200) or words("(no name)")

    @property
    def hint(self) -> SafeText:
        """The names of the arguments of a tool or prompt; the MIME type or URI of a resource."""
        if self.kind in ("tools", "prompts"):
            return self.arguments
        text = self.raw.get("mimeType") or self.raw.get("uri") or self.raw.get("uriTemplate")
        return brief(text, 200) if isinstance(text, str) else NOTHING

    # -- tools and forms ---------------------------------------------------------------------------------------

    @property
    def template(self) -> str:
        """The URI template of a resource template; empty for anything else."""
        return as_text(self.raw.get("uriTemplate")) if self.kind == "templates" else ""

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The schema of the arguments, or an empty one; for a prompt or a template it is built from the definition.

        Raises:
            TemplateError: the URI template is not valid.
        """
        return schema_of(self.kind, self.raw)

    @cached_property
    def needs_arguments(self) -> bool:
        """Whether the entry has required arguments."""
        return any(each.required for each in variants(Schema(self.schema)))

    @cached_property
    def arguments(self) -> SafeText:
        """The names of the arguments, optional ones in brackets: ``query [limit]``, ``kind address | kind phone``."""
        try:
            return brief(usage(self.schema), 400)
        except TemplateError:
            return NOTHING  # the error is shown when the entry is opened

    @cached_property
    def summary(self) -> SafeText:
        """The first line of the description."""
        return brief(_description(self.raw).lstrip()[:400].partition("\n")[0].rstrip())

    @property
    def annotations(self) -> dict[str, Json]:
        """The annotations of the entry, or an empty object."""
        return as_object(self.raw.get("annotations"))

    @cached_property
    def claims(self) -> SafeText:
        """The claims of the annotations, unverified (tools, 2025-11-25, "Tool annotations")."""
        hints = self.annotations if self.kind == "tools" else {}
        return join([text for name, value, text in _CLAIMS if hints.get(name) is value], ", ")

    @property
    def searched(self) -> Iterator[str]:
        """The texts that a word of a filter is searched in."""
        for member in ("name", "title", "description", "uri", "uriTemplate"):
            text = self.raw.get(member)
            if isinstance(text, str):
                yield text
        schema = as_object(self.raw.get("inputSchema"))
        named = {*schema} <= _PLAIN_SCHEMA if self.kind == "tools" else False
        # Wording the arguments takes most of the time of a search, so plain schemas yield the names alone.
        yield " ".join(as_object(schema.get("properties"))) if named else self.arguments

    @cached_property
    def folded(self) -> str:
        """The same texts, one per line, casefolded for a search that ignores case."""
        return "\n".join(self.searched).casefold()

    @cached_property
    def cost(self) -> int:
        """The bytes that a tool takes in the context of a model; 0 for any other entry."""
        return costs.cost(self.raw) if self.kind == "tools" else 0

    def described(self) -> list[Line]:
        """Returns the description and the claims as lines."""
        lines = texts(filter(None, paragraphs(_description(self.raw).strip(), limit=4_000)))
        if self.claims:
            lines.append(line((safe("server claims: {} (unverified)", self.claims), "muted")))
        return lines

    def described_lines(self, cells: int) -> int:
        """Returns the approximate number of lines of ``cells`` cells that describe it, with one for its arguments."""
        source_lines = _description(self.raw).strip()[:1000].split("\n")
        return 1 + bool(self.claims) + sum(-(-len(each) // cells) for each in source_lines)

    @property
    def destructive(self) -> bool:
        """Whether the server marks the tool as destructive (tools, 2025-03-26, "Tool annotations")."""
        hints = self.annotations if self.kind == "tools" else {}
        return hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True

    @cached_property
    def definition(self) -> str:
        """A digest of the whole definition."""
        try:
            text = json.dumps(self.raw, sort_keys=True, default=str)
        except RecursionError:  # nested too deep for json
            text = "\n".join(pretty(self.raw))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _description(raw: dict[str, Json]) -> str:
    for value in (raw.get("description"), raw.get("title")):
        if isinstance(value, str) and value.strip():
            return value
    return ""


class Catalogue:
    """The catalogue as a :class:`~mcp_tui.view.lines.LineSource`; the keys of its lines are entries.

    A title or an entry keeps its line number when lists change, so that the cursor stays on it.
    """

    def __init__(self) -> None:
        self.version = 0
        self.numbers: list[int] = []
        self.entries: dict[str, list[Entry]] = {}
        self._rows: dict[int, Entry | str] = {}
        self._known: dict[tuple[str, str, int], int] = {}
        self.problems: dict[str, SafeText] = {}
        """The reason why a list could not be read, by its kind; empty if the list was read."""
        self.longest = 0
        """The cells of the longest name, at most 28."""
        self.widest = 0
        """The cells of the longest name, the cost, and the longest hint among the first :data:`HINTED_ROWS` rows."""
        self._passes: Callable[[Entry], bool] | None = None
        self.by_cost = False
        """Whether the tools are sorted by cost, highest first, instead of in the server's order."""

    def sort(self) -> None:
        """Switches between the order by cost and the server's order."""
        self.by_cost = not self.by_cost
        self._lay_out()

    def filter(self, passes: Callable[[Entry], bool] | None) -> None:
        """Shows only the entries that pass, with the titles of their lists; ``None`` shows all entries."""
        self._passes = passes
        self._lay_out()

    @property
    def count(self) -> int:
        """The number of entries of all kinds."""
        return sum(len(entries) for entries in self.entries.values())

    @property
    def matching(self) -> int:
        """The number of entries that pass the filter."""
        return sum(isinstance(row, Entry) for row in self._rows.values())

    @property
    def tools(self) -> list[Entry]:
        """The tools that have a name, in the server's order."""
        entries = self.entries.get("tools", ())
        return [each for each in entries if each.raw.get("name") and isinstance(each.raw["name"], str)]

    def promised(self, name: str) -> Json:
        """Returns the output schema of a tool; ``None`` if the tool has no output schema or is not listed."""
        named = (entry for entry in self.entries.get("tools", ()) if entry.name == name)
        return next((entry.raw.get("outputSchema") for entry in named), None)

    def put(self, kind: str, raw: list[dict[str, Json]], problem: SafeText = NOTHING) -> None:
        """Replaces the entries of one kind; ``problem`` is the reason why the list could not be read."""
        self.entries[kind] = [Entry(kind, each) for each in raw]
        self.problems[kind] = problem
        self._lay_out()

    def clear(self) -> None:
        """Removes everything."""
        self.entries.clear()
        self.problems.clear()
        self._lay_out()

    def _lay_out(self) -> None:
        self._rows = {}
        for kind in TITLES:
            entries = self.entries.get(kind, [])
            if self._passes is not None:
                entries = list(filter(self._passes, entries))
            if self.by_cost:
                entries = sorted(entries, key=lambda entry: entry.cost, reverse=True)
            if entries or (self.problems.get(kind) and self._passes is None):
                self._rows[self._number(kind, "", -1)] = kind
            seen = Counter[str]()
            for entry in entries:
                self._rows[self._number(kind, entry.name, seen[entry.name])] = entry
                seen[entry.name] += 1
        self.numbers = list(self._rows)
        names = (width(row.label) for row in self._rows.values() if isinstance(row, Entry))
        self.longest = min(28, max(names, default=0))
        entries = (row for row in islice(self._rows.values(), HINTED_ROWS) if isinstance(row, Entry))
        self.widest = (
            self.longest + 2 + COST_CELLS + 2 + max((width(entry.hint) for entry in entries), default=0)
        )
        self.version += 1

    def _number(self, kind: str, name: str, again: int) -> int:
        """Returns the line number of an entry, or of a title if ``again`` is -1.

        ``again`` counts the entries of the same name before it, from 0.
        """
        return self._known.setdefault((kind, name, again), len(self._known))

    def line(self, number: int, space: int) -> Line:
        row = self._rows.get(number)
        if row is None:
            return EMPTY
        if isinstance(row, str):
            problem = self.problems.get(row) or NOTHING
            count = safe(" {:,}", len(self.entries.get(row, ())))
            if problem:
                return line((TITLES[row], "title"), (safe("  {}", problem), "error"))
            tools = sum(entry.cost for entry in self.entries.get(row, ())) if row == "tools" else 0
            cost = safe("  {}", costs.costs(tools)) if tools else NOTHING
            if width(TITLES[row]) + width(count) + width(cost) > space:
                cost = safe("  ≈ {:,}", costs.tokens(tools))
            return line((TITLES[row], "title"), (count, "muted"), (cost, "muted"))
        if space - 4 - self.longest < HINT_CELLS:
            return line(words("  "), fit(row.label, max(8, space - 2)), key=row)
        # A name that is longer than the column takes the room of its hint.
        name = fit(row.label, max(self.longest, min(width(row.label), space - 2)))
        spent = NOTHING
        if row.kind == "tools" and (self.by_cost or space - 4 - self.longest >= COST_CELLS + 2 * HINT_CELLS):
            spent = safe("{:>{}}  ", safe("≈ {:,}", costs.tokens(row.cost)), COST_CELLS)
        return line(words("  "), name, words("  "), (spent, "muted"), (row.hint, "muted"), key=row)


ICONS: Final = 10
"""The most icons of one entry that are shown."""

_FACTS: Final = (
    ("name", "name"),
    ("title", "title"),
    ("uri", "uri"),
    ("uri", "uriTemplate"),
    ("type", "mimeType"),
    ("bytes", "size"),
)

_SHOWN_SCHEMAS: Final = (
    (words("Arguments"), "arguments", list),
    (words("Input schema"), "inputSchema", dict),
    (words("Output schema"), "outputSchema", dict),
)


def entry_sections(entry: Entry, results: int = 0, *, raw_schemas: bool = False) -> list[Section]:
    """Returns the detail of an entry, its schemas as tables or ``raw_schemas``.

    ``results`` is the size of the largest known result of a tool, in bytes.
    """
    raw = entry.raw
    members = [(word, raw[member]) for word, member in _FACTS if isinstance(raw.get(member), str | int)]
    support = as_object(raw.get("execution")).get("taskSupport")
    if isinstance(support, str):
        members.append(("task", support))
    members += [("icon", messages.text(icon)[:300]) for icon in as_list(raw.get("icons"))[:ICONS]]
    facts = [fact(word, brief(str(content), 2000)) for word, content in members]
    if entry.cost:
        facts.append(fact("cost", safe("{} of a model's context", costs.costs(entry.cost))))
    if results:
        facts.append(fact("size", safe("results up to {} in this session", durations.size(results))))
    made = [Section(brief(TITLES[entry.kind].removesuffix("s")), facts)]
    description = raw.get("description")
    if isinstance(description, str) and description.strip():
        made.append(Section(words("Description"), texts(paragraphs(description.strip()))))
    if entry.annotations:
        claims = [entry.claims] if entry.claims else pretty(entry.annotations)
        made.append(Section(words("Server claims (unverified)"), texts(claims)))
    for title, member, sort in _SHOWN_SCHEMAS:
        content = raw.get(member)
        if isinstance(content, sort) and (content or sort is dict):
            made.append(_schema_section(title, entry, member, raw=raw_schemas))
    return made


def _schema_section(title: SafeText, entry: Entry, member: str, *, raw: bool) -> Section:
    schema = entry.raw[member]
    rows = schema_rows(entry.schema if member == "arguments" else schema)
    if raw or not rows:
        turn = [line((hint("{wire.request} shows a table"), "muted"))] if rows else []
        return Section(title, [*turn, *texts(pretty(schema))])
    turn = [line((hint("{wire.request} shows the raw schema"), "muted"))]
    return Section(title, turn, table=partial(schema_lines, rows))
