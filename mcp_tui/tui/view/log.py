"""The log of a session in lines: stderr, log messages, pollution, violations, and what the client noticed."""

from __future__ import annotations

from mcp_tui.journal.store import Log
from mcp_tui.protocol import events as ev
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, clean, fit, join, safe, words

SHOWN = 2000
"""Characters of one line that are shown."""

_LOUD = {"emergency": "error", "alert": "error", "critical": "error", "error": "error", "warning": "warning"}


class LogLines:
    """A store's log as a :class:`~mcp_tui.tui.view.lines.LineSource`; lines are made when they are drawn."""

    version = 0

    def __init__(self, log: Log, *, origin: float) -> None:
        self.origin = origin
        self._log = log

    @property
    def start(self) -> int:
        return self._log.dropped

    @property
    def end(self) -> int:
        return self._log.dropped + len(self._log)

    def item(self, number: int) -> ev.Event:
        """The event of a line."""
        return self._log[number - self._log.dropped]

    def line(self, number: int, width: int) -> Line:
        return log_line(self._log[number - self._log.dropped], origin=self.origin)


def about(event: ev.Event) -> ev.RequestId | None:
    """The id of the request of ours that a line of the log names."""
    return event.id if isinstance(event, ev.RequestEvent | ev.Violation | ev.Oversize) else None


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


def told(event: ev.Event) -> tuple[SafeText, SafeText, str]:  # noqa: C901 - one case an event
    """Who says it, what, and in which tone."""
    match event:
        case ev.Stderr():
            return words("stderr"), brief(event.line, SHOWN), ""
        case ev.Log():
            said = join((brief(event.level, 20), brief(event.logger, 60), brief(event.data, SHOWN)), " ")
            return words("log"), said, _LOUD.get(event.level, "")
        case ev.Pollution():
            return words("pollution"), safe("not JSON on stdout: {}", brief(event.line, SHOWN)), "warning"
        case ev.Violation():
            times = safe("×{}", event.count) if event.count > 1 else words("")
            about = words("") if event.id is None else safe("request {}:", brief(str(event.id), 40))
            said = join((about, safe("{}:", brief(event.rule)), brief(event.detail, SHOWN), times), " ")
            return words("violation"), said, "warning"
        case ev.Unknown():
            name = words("without id") if event.response_id is None else brief(repr(event.response_id), 80)
            kind = clean(event.kind.value.replace("_", " "))
            return words("unknown"), safe("{} for no request of ours: {}", kind, name), "warning"
        case ev.Duplicate():
            oversize = event.kind is ev.Kind.OVERSIZE
            kind = words("oversize response") if oversize else clean(event.kind.value.replace("_", " "))
            said = safe("a second {} for {}, ignored", kind, brief(str(event.id), 40))
            return words("duplicate"), said, "warning"
        case ev.Oversize():
            about = words("") if event.id is None else safe(" for {}", brief(str(event.id), 40))
            said = safe("a message of {}{} was dropped: above the cap", durations.size(event.bytes), about)
            return words("oversize"), said, "error"
        case ev.Connected():
            said = join((brief(event.server), brief(event.transport, 20), brief(event.revision, 20)), ", ")
            return words("client"), safe("connected: {}", said), "success"
        case ev.Disconnected():
            return words("client"), safe("disconnected: {}", brief(event.detail, SHOWN)), "error"
        case ev.Note():
            return words("client"), brief(event.text, SHOWN), ""
        case ev.ServerRequestReceived():
            said = safe("asks {} ({})", brief(event.method, 80), brief(str(event.request_id), 40))
            return words("server"), said, ""
        case ev.ServerRequestAnswered():
            with_code = words("with a result") if event.code is None else safe("with error {}", event.code)
            return words("client"), safe("answered {} {}", brief(str(event.request_id), 40), with_code), ""
        case ev.ServerRequestWithdrawn():
            said = safe(
                "takes back {}: {}", brief(str(event.request_id), 40), brief(event.reason) or "no reason"
            )
            return words("server"), said, ""
        case ev.Notified():
            return words("server"), join((brief(event.method, 200), brief(event.about, SHOWN)), " "), ""
        case _:
            return words("client"), clean(type(event).__name__), ""
