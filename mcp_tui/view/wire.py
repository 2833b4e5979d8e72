"""The lines of the panes Wire and Log, and the detail of one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from mcp_tui.client.schemas import Problem
from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.store import EventLog, Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import about, describe
from mcp_tui.protocol.messages import Json, bytes_text, read_json
from mcp_tui.protocol.requests import Request
from mcp_tui.view import durations
from mcp_tui.view.detail import Section, fact_lines
from mcp_tui.view.keys import hint
from mcp_tui.view.lines import DAMAGED, Line, Lines, line, texts
from mcp_tui.view.text import (
    NOTHING,
    SafeText,
    brief,
    clean,
    clip,
    fit,
    join,
    paragraphs,
    pretty,
    safe,
    width,
    words,
)


def wire_lines(frames: Frames, *, origin: float) -> Lines[FrameHead]:
    """Returns the frames of a store as lines; the key of a line is the number of its frame."""
    return _stable_lines(frames, partial(wire_line, origin=origin))


def _stable_lines(kept: Frames | EventLog, line: Callable[[Any, int], Line]) -> Lines[Any]:
    """Returns the lines of a store. A line keeps its number when older lines are dropped."""
    return Lines(
        lambda: range(kept.hidden, kept.hidden + len(kept)),
        lambda number: kept[number - kept.hidden],
        lambda number, width: line(kept[number - kept.hidden], width),
    )


_SIZE_CELLS: Final = 8
"""The cells for the size of a message, enough for ``999.9 kB``."""

_FROM_TAP: Final = words(" (tap)")
"""The mark of a message that the tap wrote."""


def wire_line(
    frame: FrameHead | None,
    space: int,
    *,
    origin: float,
    row: Request | None = None,
    broken: Sequence[Problem] | None = None,
) -> Line:
    """Returns the line of a frame: ``→ 12:04:31.887  notifications/cancelled 212    98 B``.

    ``row`` is the request of the frame; it has the name of the tool, and the id for a notification. A frame with schema
    violations (``broken``) has a mark after its arrow. ``None`` is a frame that cannot be read.
    """
    if frame is None:
        return DAMAGED
    arrow, tone = (words("→"), "accent") if frame.direction == "out" else (words("←"), "success")
    cells = max(12, min(80, space - 2 - 14 - _SIZE_CELLS))
    own = _FROM_TAP if frame.own else NOTHING
    text = brief(frame.method, 80) or words("response")
    id_ = row.id if frame.id is None and row is not None else frame.id
    if id_ is not None:
        text = join((text, brief(str(id_), 40)), " ")
    if row is not None:
        name = "" if row.internal else row.name  # the method of an internal request is enough
        text = join((text, brief(name or ("" if frame.method else row.method), 80)), " ")
        if width(text) > cells - len(own):
            text = clean(text.removeprefix("notifications/"))
    text = safe("{}{}", clip(text, cells - len(own)), own)
    return line(
        *(((arrow, tone), (words("✗"), "error")) if broken else ((safe("{} ", arrow), tone),)),
        (safe("{}  ", durations.moment(frame.at, origin)), "muted"),
        fit(text, cells),
        (fit(durations.size(frame.size), _SIZE_CELLS, right=True), "muted"),
        key=frame.seq,
    )


# -- one frame in the detail ---------------------------------------------------------------------------------

JSON_FRAME_BYTES: Final = 1024 * 1024
"""The most bytes of a frame that is shown as JSON."""

RAW_BYTES: Final = 16_384
"""The most raw bytes that are shown."""

_BYTES_A_LINE: Final = 16


def frame_sections(
    head: FrameHead, raw: bytes | None, broken: Sequence[Problem], *, origin: float, revision: str = ""
) -> list[Section]:
    """Returns the detail of a frame. ``broken`` has its schema violations; ``raw`` is ``None`` if the bytes are missing."""
    way = words("→ to the server") if head.direction == "out" else words("← from the server")
    if head.own:
        way = (
            words("→ to the server, by the tap")
            if head.direction == "out"
            else words("← to the client, by the tap")
        )
    kind = brief(head.method, 120) or words("response")
    rows = (
        ("way", way),
        ("what", kind),
        ("id", words("") if head.id is None else brief(repr(head.id), 120)),
        ("when", durations.moment(head.at, origin)),
        ("size", safe("{} · message {:,}", durations.size(head.size), head.seq)),
        ("stream", words("") if head.stream is None else safe("of request {}", brief(str(head.stream), 80))),
    )
    sections = [Section(words(""), fact_lines(rows, 7))]
    if broken:
        lines = [line((words("✗ "), "error"), (brief(str(each), 400), "error")) for each in broken]
        source_label = line((safe("by the official schema of {}", brief(revision, 20)), "muted"))
        sections.append(Section(words("Schema violation"), [*lines, source_label]))
    if raw is not None and len(raw) <= JSON_FRAME_BYTES:
        try:
            json = texts(pretty(read_json(raw)))
        except ValueError as error:
            json = texts([safe("not JSON: {}", brief(str(error)))], "error")
        sections.append(Section(words("JSON"), json))
    missing = texts([words("no longer available")], "muted")
    return [*sections, Section(words("Bytes"), missing if raw is None else raw_lines(raw))]


def raw_lines(raw: bytes) -> list[Line]:
    """Returns raw bytes as text if they are UTF-8, otherwise in hexadecimal."""
    shown = raw[:RAW_BYTES]
    try:
        raw.decode()
    except UnicodeDecodeError:
        lines = [_hex(at, shown[at : at + _BYTES_A_LINE]) for at in range(0, len(shown), _BYTES_A_LINE)]
    else:
        lines = texts(paragraphs(shown.decode(errors="ignore")))  # a character may be cut
    if len(raw) > RAW_BYTES:
        lines.append(line((safe("… and {} more", durations.size(len(raw) - RAW_BYTES)), "muted")))
    return lines


def _hex(at: int, row: bytes) -> Line:
    codes = " ".join(f"{each:02x}" for each in row)
    text = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in row)
    return line((safe("{:06x}  ", at), "muted"), safe("{:<47}  ", codes), (clean(text), "muted"))


def parsed(raw: bytes | None) -> Json:
    """Returns the JSON of a frame, or its text if it is not JSON; ``None`` if the bytes are gone."""
    if raw is None:
        return None
    try:
        return read_json(raw)
    except ValueError:
        return bytes_text(raw)


def reason(broken: Sequence[Problem]) -> SafeText:
    """Returns the schema violations of a frame in one line."""
    more = safe("and {:,} more", len(broken) - 1) if len(broken) > 1 else words("")
    return join((brief(str(broken[0]), 200), more), ", ")


# -- the log -------------------------------------------------------------------------------------------------

WIRE_LINE_CHARACTERS: Final = 2000
"""The most characters shown of one line of the log."""


def log_lines(log: EventLog, *, origin: float) -> Lines[ev.Event]:
    """Returns the log of a store as lines."""
    return _stable_lines(log, lambda event, _: log_line(event, origin=origin))


def log_line(event: ev.Event, *, origin: float) -> Line:
    """Returns the line of an event: its time, its source, and its text."""
    source, text, tone = event_pieces(event)
    time, source_label = durations.moment(event.at, origin), safe("{} ", fit(source, 9))
    return line((time, "muted"), words("  "), (source_label, tone or "muted"), (text, tone), key=event)


def event_pieces(event: ev.Event) -> tuple[SafeText, SafeText, str]:
    """Returns the source of an event, its text with the id of its request, and its tone."""
    known = describe(event)
    id_ = about(event)
    request = words("") if id_ is None else safe("request {}:", brief(str(id_), 40))
    key = hint(": {server.menu}") if isinstance(event, ev.Degraded) else words("")
    text = safe("{}{}", join((request, brief(known.words(event), WIRE_LINE_CHARACTERS)), " "), key)
    return clean(known.source), text, known.tone(event)
