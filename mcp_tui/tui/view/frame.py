"""One frame in the detail: what it is, what it breaks of the schema, its JSON, and its bytes as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mcp_tui.client.schemas import Problem
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol.messages import Json, read_json
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.detail import Section, fact
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, clean, join, paragraphs, pretty, safe, words

READ: Final = 1024 * 1024
"""Bytes of a frame above which it is not read as JSON here."""

RAW: Final = 16_384
"""Bytes of a frame that are shown as they came."""

_ROW: Final = 16


def frame_sections(
    head: FrameHead, raw: bytes | None, broken: Sequence[Problem], *, origin: float, revision: str = ""
) -> list[Section]:
    """Everything about a frame. ``broken`` is what it breaks of the schema of ``revision``; ``raw`` its bytes, if kept."""
    way = words("→ to the server") if head.direction == "out" else words("← from the server")
    kind = brief(head.method, 120) or words("response")
    facts = [
        fact("way", way, cells=7),
        fact("what", kind, cells=7),
        fact("when", durations.moment(head.at, origin), cells=7),
        fact("size", safe("{} · message {:,}", durations.size(head.size), head.seq), cells=7),
    ]
    if head.id is not None:
        facts.insert(2, fact("id", brief(repr(head.id), 120), cells=7))
    if head.stream is not None:
        facts.append(fact("stream", safe("of request {}", brief(str(head.stream), 80)), cells=7))
    sections = [Section(words(""), tuple(facts))]
    if broken:
        told = tuple(line((words("✗ "), "error"), (brief(str(each), 400), "error")) for each in broken)
        whose = line((safe("by the official schema of {}", brief(revision, 20)), "muted"))
        sections.append(Section(words("Schema violation"), (*told, whose)))
    if raw is None:
        sections.append(Section(words("Bytes"), (line((words("no longer available"), "muted")),)))
        return sections
    if len(raw) <= READ:
        try:
            value = read_json(raw)
        except ValueError as error:
            sections.append(
                Section(words("JSON"), (line((safe("not JSON: {}", brief(str(error))), "error")),))
            )
        else:
            sections.append(Section(words("JSON"), tuple(line(text) for text in pretty(value))))
    sections.append(Section(words("Bytes"), tuple(raw_lines(raw))))
    return sections


def raw_lines(raw: bytes) -> list[Line]:
    """Bytes as they came: as text where they are UTF-8, else sixteen to a line in hexadecimal."""
    shown = raw[:RAW]
    try:
        text = shown.decode() if len(raw) <= RAW else shown.decode(errors="ignore")
        if len(raw) > RAW:
            raw.decode()
    except UnicodeDecodeError:
        lines = [_hex(at, shown[at : at + _ROW]) for at in range(0, len(shown), _ROW)]
    else:
        lines = [line(each) for each in paragraphs(text)]
    if len(raw) > RAW:
        lines.append(line((safe("… and {} more", durations.size(len(raw) - RAW)), "muted")))
    return lines


def _hex(at: int, row: bytes) -> Line:
    codes = " ".join(f"{each:02x}" for each in row)
    text = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in row)
    return line((safe("{:06x}  ", at), "muted"), safe("{:<47}  ", codes), (clean(text), "muted"))


def parsed(raw: bytes) -> Json:
    """What a frame says; ``None`` where it is no JSON."""
    try:
        return read_json(raw)
    except ValueError:
        return None


def marked(made: Line, broken: Sequence[Problem] | None) -> Line:
    """A line of the wire with a mark after its arrow where the frame breaks the schema."""
    if not broken:
        return made
    (arrow, tone), *rest = made.segments
    return Line(((clean(arrow[:1]), tone), (words("✗"), "error"), *rest), made.key)


def reason(broken: Sequence[Problem]) -> SafeText:
    """What a frame breaks, in one line."""
    more = safe("and {:,} more", len(broken) - 1) if len(broken) > 1 else words("")
    return join((brief(str(broken[0]), 200), more), ", ")
