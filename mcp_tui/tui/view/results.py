"""A result in words: its text as a person reads it, its other parts by type and size, and what it breaks of a promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from mcp_tui.client.results import Part, PartKind, parts
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SHOWN, SafeText, brief, clean, join, paragraphs, pretty, safe, words

DATA: Final = 120
"""Characters of base64 that are shown."""

_ROWS: Final = 100
"""Parts that are listed."""

_BINARY: Final = (PartKind.IMAGE, PartKind.AUDIO, PartKind.BLOB)


def received(response: Json, *, error: bool = False, broken: Sequence[Problem] = ()) -> list[Section]:
    """The result, or the error object where ``error``: its text, its other parts, then all of it.

    ``broken`` is what it breaks of its output schema (:func:`mcp_tui.client.results.differences`).
    """
    if error:
        return [Section(words("Error"), tuple(line(text) for text in pretty(response)))]
    found = parts(response)[:-1]
    sections: list[Section] = []
    spoken = _spoken(found)
    if spoken:
        sections.append(Section(words("Result: text"), spoken))
    listed = _listed(found)
    if listed:
        listed.append(line((hint("  {detail.open} opens, saves and follows them"), "muted")))
        sections.append(Section(words("Result: parts"), tuple(listed)))
    if broken:
        sections.append(Section(words("Not what the output schema promised"), promises(broken)))
    shown = pretty(_without_data(response))
    sections.append(Section(words("Result"), tuple(line(text) for text in shown)))
    return sections


def held(response: Json) -> Section:
    """What a resource held when it was read: its text, and what is no text by type and size."""
    found = parts(response)[:-1]
    return Section(words("As it was read last"), (*_spoken(found), *_listed(found)))


def _listed(found: Sequence[Part]) -> list[Line]:
    """The parts that are no text, a line each."""
    others = [part for part in found if part.sort in (*_BINARY, PartKind.LINK)]
    listed = [line(words("  "), (label(part), ""), key=part) for part in others[:_ROWS]]
    if len(others) > _ROWS:
        listed.append(line((safe("  … {:,} more", len(others) - _ROWS), "muted")))
    return listed


def promises(broken: Sequence[Problem]) -> tuple[Line, ...]:
    """What a result breaks of its output schema, a line each."""
    return tuple(line((brief(str(each), 400), "error")) for each in broken[:20])


def label(part: Part) -> SafeText:
    """A part in a few words: ``image  image/png, 8.1 kB``, ``link  The b  file:///a/b.txt``."""
    sort = clean(part.sort.value)
    mime = brief(part.mime, 60)
    uri = brief(part.uri, 200)
    role = safe("{}:", brief(part.role, 20)) if part.role else words("")
    match part.sort:
        case PartKind.LINK:
            return join((role, sort, brief(part.name, 80), uri, mime, brief(part.text, 120)), "  ")
        case PartKind.TEXT:
            return join((role, sort, uri, durations.size(part.size)), "  ")
        case PartKind.STRUCTURED | PartKind.WHOLE:
            return join((role, sort), "  ")
        case _:
            return join((role, sort, join((mime, durations.size(part.size)), ", "), uri), "  ")


def _spoken(found: Sequence[Part]) -> tuple[Line, ...]:
    """The lines of what is text; in a prompt, with who says it."""
    lines: list[Line] = []
    left = SHOWN
    for part in found[:_ROWS]:
        if part.sort is not PartKind.TEXT or not part.text or left <= 0:
            continue
        if part.role:
            lines.append(line((safe("{}:", brief(part.role, 20)), "accent")))
        lines.extend(line(text) for text in paragraphs(part.text, limit=left))
        left -= len(part.text)
    return tuple(lines)


def _without_data(response: Json) -> Json:
    """The response with its base64 cut short, where the protocol puts base64."""
    if not isinstance(response, dict):
        return response
    shown = dict(cast("dict[str, Json]", response))
    for name in ("content", "contents", "messages"):
        blocks = shown.get(name)
        if isinstance(blocks, list):
            shown[name] = [_shortened(each) for each in cast("list[Json]", blocks)]
    return shown


def _shortened(block: Json, depth: int = 2) -> Json:
    if not isinstance(block, dict):
        return block
    made = dict(cast("dict[str, Json]", block))
    for name in ("data", "blob"):
        value = made.get(name)
        if isinstance(value, str) and len(value) > DATA:
            made[name] = f"{value[:DATA]}… {len(value) - DATA:,} more characters"
    for name in ("resource", "content"):
        if depth and name in made:
            made[name] = _shortened(made[name], depth - 1)
    return made
