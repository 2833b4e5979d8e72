"""What a server says of one thing that it offers, for the detail pane while the catalogue has the focus.

Titles, descriptions, icons and annotations are the server's words: icons are told and never fetched, annotations are
claims that nothing verifies (tools, 2025-11-25, "Tool annotations").
"""

from __future__ import annotations

from typing import Final, LiteralString, cast

from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.tui.view.catalogue import TITLES, Entry
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import brief, paragraphs, pretty, safe, words
from mcp_tui.tui.view.tools import Tool

ICONS: Final = 10
"""Icons that are told of one entry."""

_FACTS: Final[tuple[tuple[LiteralString, str], ...]] = (
    ("title", "title"),
    ("uri", "uri"),
    ("uri", "uriTemplate"),
    ("type", "mimeType"),
    ("bytes", "size"),
)

_ONE: Final = {
    "tools": words("Tool"),
    "resources": words("Resource"),
    "templates": words("Template"),
    "prompts": words("Prompt"),
}


def sections(entry: Entry) -> list[Section]:
    """All of it, in the order in which one wants to know it."""
    raw = entry.raw
    facts = [_fact("name", raw["name"])] if isinstance(raw.get("name"), str) else []
    facts += [_fact(word, raw[member]) for word, member in _FACTS if isinstance(raw.get(member), str | int)]
    support = as_object(raw.get("execution")).get("taskSupport")
    if isinstance(support, str):
        facts.append(_fact("task", support))
    facts += [_fact("icon", said) for said in _icons(raw.get("icons"))]
    made = [Section(_ONE.get(entry.kind, TITLES["tools"]), tuple(facts))]
    description = raw.get("description")
    if isinstance(description, str) and description.strip():
        said = tuple(line(text) for text in paragraphs(description.strip()))
        made.append(Section(words("Description"), said))
    claims = _claims(entry)
    if claims:
        made.append(Section(words("Says of itself, unverified"), claims))
    arguments = raw.get("arguments")
    if isinstance(arguments, list) and arguments:
        made.append(Section(words("Arguments"), _json(cast("Json", arguments))))
    for title, member in ((words("Takes"), "inputSchema"), (words("Promises"), "outputSchema")):
        if isinstance(raw.get(member), dict):
            made.append(Section(title, _json(raw[member])))
    return made


def _fact(word: LiteralString, value: Json) -> Line:
    return line((safe("{:<6}", word), "muted"), brief(str(value), 2000))


def _icons(value: Json) -> list[str]:
    """Each icon as text: its type, its sizes and where it would be."""
    said: list[str] = []
    for icon in cast("list[Json]", value)[:ICONS] if isinstance(value, list) else []:
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
