"""What a new start of a server changed, in one line: its lists, their schemas, and an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from mcp_tui.client.catalogue import difference
from mcp_tui.protocol.messages import Json
from mcp_tui.view.badges import badge
from mcp_tui.view.comparing import ABSENT, Side, json_differences
from mcp_tui.view.text import NOTHING, SafeText, brief, compact, join, safe, words

ListedEntries = Mapping[str, list[dict[str, Json]]]

SCHEMAS: Final = "inputSchema", "outputSchema"

NAMED_PLACES: Final = 3
"""Places that are named, at most; the rest is counted."""


def list_changes(before: ListedEntries, after: ListedEntries) -> SafeText:
    """Returns what was added, removed, or changed in the lists, and where the schemas of tools changed."""
    kinds = sorted({*before, *after}, key=lambda kind: kind != "tools")
    changes = ((kind, difference(before.get(kind, []), after.get(kind, []))) for kind in kinds)
    found = [safe("{} {}", kind, brief(changed, 300)) for kind, changed in changes if changed]
    found += _schema_changes(before.get("tools", []), after.get("tools", []))
    return join(found, "; ") or words("same lists")


def _schema_changes(before: list[dict[str, Json]], after: list[dict[str, Json]]) -> Iterator[SafeText]:
    old = {str(each.get("name")): each for each in before}
    for each in after:
        name = str(each.get("name"))
        for member in SCHEMAS if name in old else ():
            places = [*_places(old[name].get(member), each.get(member))]
            if places:
                yield safe("{} of {}: {}", member, brief(name, 60), _counted(places))


def answer_changes(before: Side, after: Side) -> SafeText:
    """Returns how the answer of a repeated request differs from the one before."""
    old, new = badge(before.row), badge(after.row)
    if old is not new:
        return safe("{} {} (before: {})", new.glyph, new.word, old.word)
    places = [*_places(before.answer, after.answer)]
    if not places:
        return words("same answer")
    _, *values = next(json_differences(before.answer, after.answer))
    was, now = (words("nothing") if each is ABSENT else brief(" ".join(compact(each)), 60) for each in values)
    others = safe("; also {}", _counted(places[1:])) if len(places) > 1 else NOTHING
    return safe("answer: {} {} → {}{}", brief(places[0], 60), was, now, others)


def _places(before: Json, after: Json) -> Iterator[str]:
    """Yields the places where two values differ."""
    yield from (path or "all of it" for path, _, _ in islice(json_differences(before, after), 1000))


def _counted(places: list[str]) -> SafeText:
    named = join((brief(each, 60) for each in places[:NAMED_PLACES]), ", ")
    return (
        safe("{} and {:,} more", named, len(places) - NAMED_PLACES) if len(places) > NAMED_PLACES else named
    )
