"""A result in words: its text as a person reads it, its other parts by type and size, and what it breaks of a promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from mcp_tui.client.results import Part, PartKind, parts
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, as_object, as_text, read_json
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.detail import ERROR, Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SHOWN, SafeText, brief, clean, compact, join, paragraphs, safe, words

DATA: Final = 120
"""Characters of base64 that are shown."""

_ROWS: Final = 100
"""Parts that are listed."""

_BINARY: Final = (PartKind.IMAGE, PartKind.AUDIO, PartKind.BLOB)


FOLDED: Final = 24
"""Lines of JSON that are shown beside other things."""

_SHOWN: Final = frozenset(
    {"_meta", "content", "contents", "isError", "messages", "resultType", "structuredContent"}
)
"""Members of a result that are shown in another way than as JSON, or that say nothing about what came back."""


def received(response: Json, *, error: bool = False, broken: Sequence[Problem] = ()) -> list[Section]:
    """The result, or the error object where ``error``: structured content, text, other parts, then what else it holds.

    ``broken`` is what it breaks of its output schema (:func:`mcp_tui.client.results.differences`).
    """
    if error:
        return [Section(ERROR, _error(response))]
    found = ordered(parts(response)[:-1])
    sections = [Section(words(""), told(found))] if found else []
    if broken:
        sections.append(Section(words("Does not match the output schema"), promises(broken)))
    rest: Json = response
    if isinstance(response, dict):
        known = _SHOWN if found else {"resultType"}
        members = as_object(response).items()
        rest = {name: value for name, value in members if name not in known or _odd(value)}
    if rest or not found:
        title = words("Also in the result") if found else words("Result")
        sections.append(Section(title, tuple(_folded(_without_data(rest)))))
    return sections


def ordered(found: Sequence[Part]) -> list[Part]:
    """Parts with structured content first, and without a text that only repeats it for clients that know no other."""
    structured = next((part for part in found if part.sort is PartKind.STRUCTURED), None)
    if structured is None:
        return list(found)
    others = (part for part in found if part is not structured and not _repeats(part, structured.value))
    return [structured, *others]


def _repeats(part: Part, structured: Json) -> bool:
    """Whether a text is nothing but the structured content as JSON."""
    if part.sort is not PartKind.TEXT or part.text.lstrip()[:1] not in ("{", "[") or len(part.text) > SHOWN:
        return False
    try:
        return read_json(part.text) == structured
    except ValueError:
        return False


def _error(response: Json) -> tuple[Line, ...]:
    """An error's code and message in full, and whatever else it holds."""
    error = as_object(response)
    said = as_text(error.get("message"))
    lines = [line((text, "error")) for text in paragraphs(said)] if said else []
    rest = {name: value for name, value in error.items() if name != "message" or not said}
    return (*lines, *(line(text) for text in compact(rest if error else response)))


def _folded(value: Json) -> list[Line]:
    """A JSON value as lines; of many, the first."""
    lines = [line(text) for text in compact(value)]
    if len(lines) <= FOLDED:
        return lines
    more = len(lines) - FOLDED + 1
    return [
        *lines[: FOLDED - 1],
        line((safe("… {:,} more lines · {}", more, hint("{detail.open} opens all")), "muted")),
    ]


def _odd(value: Json) -> bool:
    """Whether a list holds what is no object, and so no part."""
    return isinstance(value, list) and not all(isinstance(each, dict) for each in cast("list[Json]", value))


def held(response: Json) -> Section:
    """What a resource held when it was read: its text, and what is no text by type and size."""
    return Section(words("Last read"), told(parts(response)[:-1]))


def told(found: Sequence[Part]) -> tuple[Line, ...]:
    """Parts in their order: text and JSON as lines, others by type and size; in a prompt, with who says it."""
    lines: list[Line] = []
    left = SHOWN
    for part in found[:_ROWS]:
        if part.sort in (*_BINARY, PartKind.LINK):
            lines.append(line(words("  "), (label(part), ""), key=part))
            continue
        if part.role:
            lines.append(line((safe("{}:", brief(part.role, 20)), "accent")))
        if part.sort is not PartKind.TEXT:
            lines.extend(_folded(_shortened(part.value)))
        elif part.text and left > 0:
            lines.extend(line(text) for text in paragraphs(part.text, limit=left))
            left -= len(part.text)
    if len(found) > _ROWS:
        lines.append(line((safe("… {:,} more parts", len(found) - _ROWS), "muted")))
    if any(part.sort in (*_BINARY, PartKind.LINK) for part in found):
        lines.append(line((hint("  {detail.open} opens them"), "muted")))
    return tuple(lines)


def plain(message: Json) -> str:
    """The text of an answer, for whoever copies it: structured content as JSON, else its texts, else all of it as JSON."""
    members = as_object(message)
    if "result" not in members:
        return messages.text(members.get("error", message), indented=True)
    found = parts(members["result"])
    if structured := [part for part in found if part.sort is PartKind.STRUCTURED]:
        return messages.text(structured[0].value, indented=True)
    texts = [part.text for part in found if part.sort is PartKind.TEXT]
    return "\n".join(texts) if texts else messages.text(members["result"], indented=True)


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
