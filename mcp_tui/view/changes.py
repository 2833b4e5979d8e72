"""One-line summaries of what changed when a server was started again: its lists, their schemas, and an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from mcp_tui.client.catalogue import difference
from mcp_tui.protocol.messages import Json
from mcp_tui.view.badges import badge
from mcp_tui.view.comparing import ABSENT, Side, changed_lines, changed_words, json_differences
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, compact, join, safe, words

ListedEntries = Mapping[str, list[dict[str, Json]]]

SCHEMAS: Final = "inputSchema", "outputSchema"

NAMED_PLACES: Final = 3
"""The most changed places that are named; the others are only counted."""

COUNTED_PLACES: Final = 1000
"""The most changed places that are counted."""

CHANGED_CHARACTERS: Final = 30
"""The most characters shown of the old and of the new text."""

AROUND_CHARACTERS: Final = 10
"""The most characters shown before and after the change."""


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
            differing = json_differences(old[name].get(member), each.get(member))
            places = [path or "all of it" for path, *_ in islice(differing, COUNTED_PLACES)]
            if places:
                yield safe("{} of {}: {}", member, brief(name, 60), _counted(places))


def answer_changes(before: Side, after: Side) -> SafeText:
    """Returns the difference between the answers of a request and of its repetition."""
    old, new = badge(before.row), badge(after.row)
    if old is not new:
        return safe("{} {} (before: {})", new.glyph, new.word, old.word)
    found = [*islice(json_differences(before.answer, after.answer), COUNTED_PLACES)]
    if not found:
        return words("same answer")
    path, *values = found[0]
    where = [brief(path, 60)]
    was, now = (NOTHING if each is ABSENT else clean(" ".join(compact(each))) for each in values)
    if isinstance(values[0], str) and isinstance(values[1], str):
        start, *both, end = changed_lines(*values)
        count = max(map(len, both))
        if start + count + end > 1:
            where.append(safe("line {:,}" if count == 1 else "lines {:,} to {:,}", start + 1, start + count))
        was, now = (clean(lines[0]) if lines else NOTHING for lines in both)
    head, *words_, tail = changed_words(was, now, AROUND_CHARACTERS)
    text = safe("{} → {}", *(brief(each or "nothing", CHANGED_CHARACTERS) for each in words_))
    if head or tail:
        text = safe("{}[{}]{}", head, text, tail)
    others = (
        safe("; also {}", _counted([path or "all of it" for path, *_ in found[1:]])) if found[1:] else NOTHING
    )
    return safe("answer: {}{}", join((*where, text), " "), others)


def _counted(places: list[str]) -> SafeText:
    named = join((brief(each, 60) for each in places[:NAMED_PLACES]), ", ")
    return (
        safe("{} and {:,} more", named, len(places) - NAMED_PLACES) if len(places) > NAMED_PLACES else named
    )
