"""Tools in words: what they are called, what they take, what they say of themselves; and arguments as editable text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_tui.client.schemas import mistake, parse_json
from mcp_tui.client.templates import Expression, parse
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, clean, join, paragraphs, pretty, safe, words

DESCRIPTION: Final = 4_000
"""Characters of a description that are shown."""

EDITABLE: Final = 100_000
"""Characters of arguments that the editor takes."""

_CLAIMS: Final = (
    ("readOnlyHint", True, words("read-only")),
    ("readOnlyHint", False, words("not read-only")),
    ("destructiveHint", True, words("destructive")),
    ("destructiveHint", False, words("not destructive")),
    ("idempotentHint", True, words("idempotent")),
    ("openWorldHint", True, words("accesses external systems")),
)


@dataclass(frozen=True)
class Tool:
    """A tool as the server described it; all of ``raw`` is hostile."""

    raw: dict[str, Json]

    @property
    def name(self) -> str:
        """The name, as it is sent. Hostile text."""
        value = self.raw.get("name")
        return value if isinstance(value, str) else ""

    @property
    def schema(self) -> dict[str, Json]:
        """The schema of its arguments, or an empty one."""
        return as_object(self.raw.get("inputSchema"))

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the arguments that must be there."""
        return frozenset(name for name in as_list(self.schema.get("required")) if isinstance(name, str))

    @cached_property
    def arguments(self) -> SafeText:
        """The names of its arguments, those that may be left out in brackets: ``query [limit]``."""
        names = list(as_object(self.schema.get("properties")))[:20]
        return join([brief(name if name in self.required else f"[{name}]", 40) for name in names], " ")

    @cached_property
    def summary(self) -> SafeText:
        """The first line of its description."""
        return brief(_description(self.raw).lstrip()[:400].partition("\n")[0].rstrip())

    @cached_property
    def claims(self) -> SafeText:
        """What its annotations say; nothing vouches for them (tools, 2025-11-25, "Tool annotations")."""
        said = as_object(self.raw.get("annotations"))
        return join([text for name, value, text in _CLAIMS if said.get(name) is value], ", ")

    @cached_property
    def _haystack(self) -> str:
        return (
            f"{self.name[:200]} {self.raw.get('title', '')!s:.200} {self.arguments} {self.summary}".casefold()
        )

    def rank(self, wanted: str) -> int | None:
        """How well the words of ``wanted`` (casefolded) are met, 0 being best; ``None`` where one is not."""
        if any(word not in self._haystack for word in wanted.split()):
            return None
        name = self.name[:200].casefold()
        first = wanted.split(maxsplit=1)[0] if wanted.strip() else ""
        return 0 if name.startswith(first) else 1 if first in name else 2

    def described(self) -> list[Line]:
        """Its description and its claims, in lines that may be wrapped."""
        lines = [line(text) for text in paragraphs(_description(self.raw).strip(), limit=DESCRIPTION) if text]
        if self.claims:
            lines.append(line((safe("server claims: {} (unverified)", self.claims), "muted")))
        return lines

    @property
    def destructive(self) -> bool:
        """Whether it says of itself that it may destroy something (tools, 2025-03-26, "Tool annotations")."""
        said = as_object(self.raw.get("annotations"))
        return said.get("destructiveHint") is True and said.get("readOnlyHint") is not True

    @cached_property
    def definition(self) -> str:
        """A digest of all that the server says of it."""
        try:
            text = json.dumps(self.raw, sort_keys=True, default=str)
        except RecursionError:  # nested deeper than Python goes: what can be shown of it
            text = "\n".join(pretty(self.raw))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def tools(raw: list[dict[str, Json]]) -> list[Tool]:
    """The tools that have a name, in the server's order."""
    return [tool for tool in map(Tool, raw) if tool.name]


def found(among: list[Tool], wanted: str) -> list[Tool]:
    """The tools in which every word of ``wanted`` occurs, those first whose name begins with it."""
    wanted = wanted.casefold()
    ranked = [(rank, tool) for tool in among if (rank := tool.rank(wanted)) is not None]
    return [tool for _, tool in sorted(ranked, key=lambda each: each[0])]


def prompt_form(raw: dict[str, Json]) -> dict[str, Json]:
    """A prompt in the shape of a tool, so that one form serves both: its arguments are texts (prompts, 2024-11-05)."""
    properties: dict[str, Json] = {}
    needed: list[Json] = []
    for argument in map(as_object, as_list(raw.get("arguments"))):
        name = argument.get("name")
        if isinstance(name, str):
            said = {member: argument[member] for member in ("title", "description") if member in argument}
            properties[name] = {**said, "type": "string"}
            if argument.get("required") is True:
                needed.append(name)
    return _shaped(raw, raw.get("name"), properties, needed)


def template_form(raw: dict[str, Json]) -> dict[str, Json]:
    """A resource template in the shape of a tool: its variables are texts, or lists of them where they explode.

    Variables outside of a query are asked for; RFC 6570 would let every one of them be left out.

    Raises:
        TemplateError: the URI template is none.
    """
    template = raw.get("uriTemplate")
    text = template if isinstance(template, str) else ""
    properties: dict[str, Json] = {}
    needed: list[Json] = []
    for part in parse(text):
        for each in part.variables if isinstance(part, Expression) else ():
            listed = {"type": "array", "items": {"type": "string"}}
            properties.setdefault(each.name, listed if each.explode else {"type": "string"})
            if isinstance(part, Expression) and part.operator not in ("?", "&") and each.name not in needed:
                needed.append(each.name)
    return _shaped(raw, raw.get("name") or text, properties, needed)


def _shaped(
    raw: dict[str, Json], name: Json, properties: dict[str, Json], needed: list[Json]
) -> dict[str, Json]:
    said = {member: raw[member] for member in ("title", "description") if member in raw}
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": needed}
    return {**said, "name": name, "inputSchema": schema}


def _description(raw: dict[str, Json]) -> str:
    for value in (raw.get("description"), raw.get("title")):
        if isinstance(value, str) and value.strip():
            return value
    return ""


# -- arguments as text -----------------------------------------------------------------------------------------


class NotArguments(ValueError):
    """A text that is not a JSON object. The message is one sentence; ``line`` and ``column`` count from 1, 0 for nowhere."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def editable(arguments: dict[str, Json]) -> str:
    """``arguments`` as indented JSON in which every character can be seen: what cannot is escaped, so the value is the same.

    Raises:
        NotArguments: more than :data:`EDITABLE` characters, or no JSON.
    """
    try:
        text = json.dumps(arguments, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        raise NotArguments("The defaults are not JSON that can be edited") from None
    if len(text) > EDITABLE:
        raise NotArguments(f"The defaults are too long to edit ({len(text):,} characters)")
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(each if each == "\n" or clean(each) == each else json.dumps(each)[1:-1] for each in text)


def parsed(text: str) -> dict[str, Json]:
    """The arguments that a text stands for; an empty one stands for none.

    Raises:
        NotArguments: it is not a JSON object, or has a name twice.
    """
    if not text.strip():
        return {}
    try:
        value = parse_json(text, once=True)
    except ValueError as error:
        place = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (0, 0)
        raise NotArguments(mistake(error), *place) from None
    if not isinstance(value, dict):
        raise NotArguments("Arguments must be a JSON object: { … }", 1, 1)
    return as_object(value)


def first_value(text: str) -> tuple[int, int]:
    """Where the first value of an object begins: row and column, within the quotes of an empty string."""
    lines = text.split("\n")
    if len(lines) < 2 or '": ' not in lines[1]:
        return 0, len(lines[0])
    column = lines[1].index('": ') + 3
    return 1, column + (1 if lines[1].startswith('""', column) else 0)
