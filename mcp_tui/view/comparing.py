"""The differences between two requests: JSON member by member, text line by line and word by word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain, islice, starmap, takewhile
from typing import Final, cast

from mcp_tui.client.results import Part, PartKind, parts
from mcp_tui.protocol import evidence
from mcp_tui.protocol.messages import Json, as_object, read_json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.values import frozen
from mcp_tui.view import durations
from mcp_tui.view.badges import badge
from mcp_tui.view.detail import SHOWN_MEMBERS, Section, distinct_parts, fact
from mcp_tui.view.lines import Line, line
from mcp_tui.view.rows import request
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

DIFFERENCE_LINES: Final = 500
"""The most lines of differences that are produced."""

ITEMS_MOST: Final = 2000
"""The most items of an array, or lines of a text, that are aligned. A longer array is compared item by item."""

COMPARED_CHARACTERS: Final = 400
"""The most characters of a line that is compared word by word: the time to align words grows with their square."""

EQUAL_CHARACTERS: Final = 60
"""The characters of a long line that are kept before its first and after its last difference."""

COMPARED_LEVELS: Final = 100
"""The levels of JSON that are compared member by member."""

Difference = tuple[str, Json, Json]
"""The path at which two JSON values differ, and the value on each side; :data:`ABSENT` for a missing one."""

ABSENT: Final = cast("Json", object())


@frozen
class Side:
    """One of the two requests: its row, and its messages as JSON, without secrets."""

    row: Request
    messages: dict[str, object]

    @property
    def arguments(self) -> Json:
        """The parameters of the request, without ``_meta``."""
        params = as_object(as_object(self.messages.get("request")).get("params"))
        return {name: value for name, value in params.items() if name != "_meta"}

    @property
    def answer(self) -> Json:
        """The answer, or else the last late answer; ``None`` without one.

        An answer of one part is the content of that part, parsed if it is JSON. Any other answer is an object.
        """
        late_messages = cast("list[Json]", self.messages.get("late, ignored") or [None])
        message = cast("Json", self.messages.get("response", late_messages[-1]))
        if message is None:
            return None
        members = as_object(message)
        if "result" not in members:
            return members.get("error", message)
        found = distinct_parts(parts(members["result"])[:-1])
        result = as_object(members["result"])
        rest = {name: value for name, value in result.items() if name not in SHOWN_MEMBERS}
        contents = [_content(part) for part in found if part.sort is not PartKind.STRUCTURED]
        structured = [part.value for part in found if part.sort is PartKind.STRUCTURED]
        if len(found) == 1 and not rest:
            return (contents or structured)[0]
        rest |= {"content": contents} if contents else {}
        return rest | ({"structuredContent": structured[0]} if structured else {})


def _content(part: Part) -> Json:
    """Returns a part as JSON: its value, its text (parsed if it is JSON), or its members."""
    if part.sort in (PartKind.STRUCTURED, PartKind.WHOLE):
        return part.value
    if part.sort is PartKind.TEXT and not part.role and not part.uri:
        try:
            return read_json(part.text)
        except ValueError:
            return part.text
    members = ("role", "text", "mime", "data", "uri", "name")
    return {name: value for name in members if (value := getattr(part, name))}


def comparison(before: Side, after: Side, now: float) -> list[Section]:
    """Returns the differences of two requests: their facts, then their arguments, then their answers."""
    return [
        Section(
            words("Requests"),
            [*_facts(before, "−", now), *_facts(after, "+", now), *_timing(before, after, now)],
        ),
        Section(words("Arguments"), [*_compared(before.arguments, after.arguments)]),
        Section(words("Answers"), [*_compared(before.answer, after.answer)]),
    ]


def _facts(side: Side, sign: str, now: float) -> Iterator[Line]:
    row, shown = side.row, badge(side.row, now)
    name, state = safe("{} {}", brief(str(row.id), 40), request(row)), safe("{} {}", shown.glyph, shown.word)
    size = durations.size(row.response_size) if row.response_size else NOTHING
    tone = "error" if sign == "−" else "success"
    facts = join((name, state, durations.elapsed(row.elapsed(now)), size), "  ")
    yield line((safe("{} ", sign), tone), (facts, ""))


def _timing(before: Side, after: Side, now: float) -> Iterator[Line]:
    first, second = before.row.answered_after, after.row.answered_after
    if first and second:
        faster, ratio = second < first, max(first, second) / min(first, second)
        yield fact("time", safe("{:.1f} × as {}", ratio, "fast" if faster else "slow"))
    for side, sign in ((before, "−"), (after, "+")):
        if side.row.answered_after is None:
            yield fact("time", safe("{} {}", sign, _unanswered(side.row, now)))


def _unanswered(row: Request, now: float) -> SafeText:
    """Returns the reason why a request has no response time."""
    if row.open:
        return words("still running")
    state = evidence.ended(row).replace("_", " ")
    text = safe("{} after {}", state, durations.elapsed(row.elapsed(now)))
    answer = evidence.late_answer(row)
    if answer is None or row.sent_at is None:
        return text
    return safe("{}; its answer came at {}", text, durations.elapsed(answer.last_at - row.sent_at))


def _compared(before: Json, after: Json) -> Iterator[Line]:
    if before is None or after is None:
        found = {(True, True): "neither", (True, False): "only the second"}
        which = found.get((before is None, after is None), "only the first")
        yield line((safe("{} has one", which), "muted"))
        return
    lines = chain.from_iterable(starmap(_difference, json_differences(before, after)))
    shown = [*islice(lines, DIFFERENCE_LINES)]
    yield from shown or [line((words("the same"), "success"))]
    if next(lines, None) is not None:
        yield line((safe("… more than {:,} lines differ", DIFFERENCE_LINES), "muted"))


def _difference(path: str, old: Json, new: Json) -> Iterator[Line]:
    where = safe("{}  ", brief(path or "all of it", 200))
    texts = isinstance(old, str) and isinstance(new, str)
    if old is ABSENT:
        yield line((words("+ "), "success"), (where, "json-name"), (_value(new), "success"))
    elif new is ABSENT:
        yield line((words("− "), "error"), (where, "json-name"), (_value(old), "error"))
    elif texts and (not path or "\n" in f"{old}{new}" or len(old) + len(new) > EQUAL_CHARACTERS):
        if path:
            yield line((words("  "), ""), (where, "json-name"))
        yield from text_differences(old, new)
    else:
        was, now = map(clean, _around(_json(old), _json(new)))
        both = (was, "error"), (words(" → "), "muted"), (now, "success")
        yield line((words("  "), ""), (where, "json-name"), *both)


def _value(value: Json) -> SafeText:
    return brief(_json(value), 300)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _around(before: str, after: str, most: int = 300) -> tuple[str, str]:
    """Returns the parts of two different lines from shortly before the first to shortly after the last difference.

    At most ``most`` characters between the first and the last difference are kept.
    """
    head, old, new, tail = changed_words(before, after, EQUAL_CHARACTERS)
    old, new = (f"{head}{each[:most]}{'…' if len(each) > most else tail}" for each in (old, new))
    return old, new


def changed_words(before: str, after: str, around: int) -> tuple[str, str, str, str]:
    """Returns the common start of two lines, the words of each that differ, and the common end.

    At most ``around`` characters of the common start and of the common end are kept.
    """
    same = _whole_words(before, _alike(before, after))
    back, back_after = before[same:][::-1], after[same:][::-1]
    alike = _whole_words(back, _alike(back, back_after))
    head, tail = before[:same], before[len(before) - alike :]
    old, new = (each[same : len(each) - alike] for each in (before, after))
    if same > around:
        head = f"…{head[-around:].partition(' ')[2] or head[-around:]}"
    if alike > around:
        tail = f"{tail[:around].rpartition(' ')[0] or tail[:around]}…"
    return head, old, new, tail


def _whole_words(text: str, end: int) -> int:
    """Returns the end of the last whole word before ``end``, if it is within :data:`_WORD_CHARACTERS`."""
    space = text.rfind(" ", max(0, end - _WORD_CHARACTERS), end) + 1
    return space or (end if end > _WORD_CHARACTERS else 0)


_WORD_CHARACTERS: Final = 20
"""The most characters of a word that is kept whole."""


def json_differences(before: Json, after: Json, path: str = "", depth: int = 0) -> Iterator[Difference]:
    """Yields the differences of two JSON values, in order, with paths such as ``rows[0].total``.

    Below :data:`COMPARED_LEVELS` levels, two different values are one difference.
    """
    if depth == COMPARED_LEVELS:
        if before != after:
            yield path, before, after
    elif isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Json]", before), cast("dict[str, Json]", after)
        for name in (*old, *(name for name in new if name not in old)):
            where = _member(path, name)
            if name in old and name in new:
                yield from json_differences(old[name], new[name], where, depth + 1)
            else:
                yield where, old.get(name, ABSENT), new.get(name, ABSENT)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _array_differences(cast("list[Json]", before), cast("list[Json]", after), path, depth)
    elif before != after or isinstance(before, bool) is not isinstance(after, bool):
        yield path, before, after


def _member(path: str, name: str) -> str:
    if not name.isidentifier():
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}" if path else name


def _array_differences(
    before: Sequence[Json], after: Sequence[Json], path: str, depth: int
) -> Iterator[Difference]:
    for old, new, old_stop, new_stop in _unequal(before, after):
        pairs = min(old_stop - old, new_stop - new)
        for at in range(pairs):
            yield from json_differences(before[old + at], after[new + at], f"{path}[{new + at}]", depth + 1)
        for at in range(old + pairs, old_stop):
            yield f"{path}[{at}]", before[at], ABSENT
        for at in range(new + pairs, new_stop):
            yield f"{path}[{at}]", ABSENT, after[at]


def _unequal(before: Sequence[Json], after: Sequence[Json]) -> Iterator[tuple[int, int, int, int]]:
    """Yields the runs of items that differ: the starts on both sides, then the ends."""
    if max(len(before), len(after)) > ITEMS_MOST:
        yield 0, 0, len(before), len(after)
        return
    keys = [[json.dumps(each, sort_keys=True) for each in side] for side in (before, after)]
    for tag, old, old_stop, new, new_stop in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag != "equal":
            yield old, new, old_stop, new_stop


def text_differences(before: str, after: str) -> Iterator[Line]:
    """Yields the lines that differ, with the different words highlighted; equal lines are only counted."""
    start, old, new, end = changed_lines(before, after)
    yield from _equal(start)
    if max(len(old), len(new)) > ITEMS_MOST:
        text = "they differ from line {:,} on; {:,} and {:,} lines are too many to align"
        yield line((safe(text, start + 1, len(old), len(new)), "muted"))
        old, new = old[:1], new[:1]
    for tag, first, stop, new_first, new_stop in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            yield from _equal(stop - first)
            continue
        pairs = min(stop - first, new_stop - new_first)
        for at in range(pairs):
            yield from _words(old[first + at], new[new_first + at])
        yield from map(_removed, old[first + pairs : stop])
        yield from map(_added, new[new_first + pairs : new_stop])
    yield from _equal(end)


def changed_lines(before: str, after: str) -> tuple[int, list[str], list[str], int]:
    """Returns the number of equal lines at the start, the other lines of both texts, and that of equal lines at the end."""
    if before.endswith("\n") and after.endswith("\n"):
        before, after = before[:-1], after[:-1]
    old, new = before.split("\n"), after.split("\n")
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    return start, old[start : len(old) - end], new[start : len(new) - end], end


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """Returns the length of the common start of two texts or lists of lines."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def _equal(count: int) -> Iterator[Line]:
    if count:
        yield line((safe("  … {:,} equal {}", count, "line" if count == 1 else "lines"), "muted"))


def _removed(text: str) -> Line:
    return line((words("− "), "error"), (brief(text, 2000), "error"))


def _added(text: str) -> Line:
    return line((words("+ "), "success"), (brief(text, 2000), "success"))


def _words(before: str, after: str) -> Iterator[Line]:
    """Yields a removed and an added line, with the words that differ in color."""
    if max(len(before), len(after)) > COMPARED_CHARACTERS:
        before, after = _around(before, after, most=2000)
    if max(len(before), len(after)) > COMPARED_CHARACTERS:
        yield from (_removed(before), _added(after))
        return
    old, new = (re.findall(r"\s+|\w+|[^\s\w]", each) for each in (before, after))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for sign, tone, side in (("− ", "error", 0), ("+ ", "success", 1)):
        pieces: list[tuple[SafeText, str]] = [(clean(sign), tone)]
        for tag, old_start, old_stop, new_start, new_stop in codes:
            tokens = new[new_start:new_stop] if side else old[old_start:old_stop]
            if tokens:
                pieces.append((clean("".join(tokens)), "" if tag == "equal" else tone))
        yield line(*pieces)
