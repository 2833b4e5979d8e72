"""The log of a session in lines: stderr, log messages, pollution, violations, and what the client noticed."""

from __future__ import annotations

from mcp_tui.journal.store import EventLog
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import about, describe
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, clean, fit, join, safe, words

SHOWN = 2000
"""Characters of one line that are shown."""


class LogLines:
    """A store's log as a :class:`~mcp_tui.tui.view.lines.LineSource`; lines are made when they are drawn."""

    version = 0

    def __init__(self, log: EventLog, *, origin: float) -> None:
        self.origin = origin
        self._log = log

    @property
    def numbers(self) -> range:
        return range(self._log.dropped, self._log.dropped + len(self._log))

    def item(self, number: int) -> ev.Event:
        """The event of a line."""
        return self._log[number - self._log.dropped]

    def line(self, number: int, width: int) -> Line:
        return log_line(self.item(number), origin=self.origin)


def log_line(event: ev.Event, *, origin: float) -> Line:
    """One event: when, who says it, and what."""
    source, said, tone = told(event)
    time = durations.moment(event.at, origin)
    return line(
        (time, "muted"),
        words("  "),
        (safe("{} ", fit(source, 9)), tone or "muted"),
        (said, tone),
        key=event,
    )


def told(event: ev.Event) -> tuple[SafeText, SafeText, str]:
    """The source of an event, its words, with the request that it is about, and its tone."""
    known = describe(event)
    id_ = about(event)
    request = words("") if id_ is None else safe("request {}:", brief(str(id_), 40))
    said = join((request, brief(known.words(event), SHOWN)), " ")
    return clean(known.source), said, known.tone(event)
