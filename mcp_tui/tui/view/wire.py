"""The wire in lines: every frame with its direction, method, id and size."""

from __future__ import annotations

from mcp_tui.journal.frames import FrameHead, Frames
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import brief, clean, fit, join, safe, width, words


class WireLines:
    """A store's frames as a :class:`~mcp_tui.tui.view.lines.LineSource`. The key of a line is the frame's number."""

    version = 0

    def __init__(self, frames: Frames, *, origin: float) -> None:
        self.origin = origin
        self._frames = frames

    @property
    def numbers(self) -> range:
        return range(self._frames.hidden, self._frames.hidden + len(self._frames))

    def item(self, number: int) -> FrameHead:
        """The frame of a line."""
        return self._frames[number - self._frames.hidden]

    def line(self, number: int, width: int) -> Line:
        return wire_line(self.item(number), width, origin=self.origin)


def wire_line(frame: FrameHead, room: int, *, origin: float) -> Line:
    """One frame in ``room`` cells: ``→ 12:04:31.887  notifications/cancelled 212    98 B``."""
    out = frame.direction == "out"
    name = brief(frame.method, 80) or words("response")
    if frame.id is not None:
        name = safe("{} {}", name, brief(str(frame.id), 40))
    cells = max(12, min(80, room - 2 - 14 - 10))
    return line(
        (words("→ ") if out else words("← "), "accent" if out else "success"),
        (safe("{}  ", durations.moment(frame.at, origin)), "muted"),
        fit(name, cells),
        (fit(durations.size(frame.size), 10, right=True), "muted"),
        key=frame.seq,
    )


def named(made: Line, head: FrameHead, row: Request | None) -> Line:
    """A line of the wire with what it is about: the tool of a call and of its response, the request of a notification."""
    if row is None:
        return made
    arrow, time, (name, tone), size = made.segments
    cells, said = width(name), clean(name.rstrip())
    id_ = brief(str(row.id), 40) if head.id is None else words("")
    name = "" if row.internal else row.name  # what our own requests are about, their methods say
    about = brief(name or ("" if head.method else row.method), 80)
    whole = join((said, id_, about), " ")
    if width(whole) > cells:
        whole = clean(whole.removeprefix("notifications/"))
    return Line((arrow, time, (fit(whole, cells), tone), size), made.key)
