"""Reports long calls to a person who looks elsewhere, by the title of the window, and a bell or a notification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from mcp_tui.config.settings import Notify
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Cause
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view import durations
from mcp_tui.view.badges import IN_FLIGHT, badge
from mcp_tui.view.rows import request
from mcp_tui.view.text import NOTHING, SafeText, brief, clip, in_ascii, join, safe

LONG_SECONDS: Final = 5.0
"""Seconds after which a call is long enough to leave it alone."""

NAME_CELLS: Final = 60
"""The maximum width of a request's name in cells."""

OSC9: Final = ("ghostty", "iTerm.app", "WezTerm", "kitty")
OSC777: Final = ("foot", "rxvt", "contour")
"""The terminals that show this notification, by ``TERM_PROGRAM`` or the start of ``TERM``."""


class Window(Protocol):
    """The functions of a terminal that reports use: :class:`mcp_tui.tui.terminal.driver.TerminalDriver`."""

    def write(self, data: str, /) -> None: ...

    def retitle(self, title: str, /) -> None: ...


def kind(notify: Notify, env: Mapping[str, str]) -> Notify:
    """Returns the way to notify; ``auto`` chooses one that the terminal is known to support, else the bell."""
    if notify != "auto":
        return notify
    names = env.get("TERM_PROGRAM", ""), env.get("TERM", "").removeprefix("xterm-")
    if "TMUX" in env or "STY" in env:  # they do not pass such a notification on
        return "bell"
    if names[0] in OSC9 or names[1].startswith(OSC9):
        return "osc9"
    return "osc777" if names[1].startswith(OSC777) else "bell"


def notification(notify: Notify, text: SafeText) -> str:
    """Returns the sequence that makes a terminal show ``text``, which has no control characters."""
    match notify:
        case "osc9":
            return f"\x1b]9;mcp-tui: {text}\x07"
        case "osc777":
            return f"\x1b]777;notify;mcp-tui;{text.replace(';', ',')}\x07"
        case "off":
            return ""
        case _:
            return "\x07"


class Attention:
    """Watches the calls of all sessions.

    Args:
        sessions: returns the open sessions.
        seen: returns whether a person can see a request now.
        notify: the way to report that a long call has ended.
        title: whether the title of the window shows the state of calls.
        ascii_only: whether to use letters instead of glyphs.
    """

    def __init__(
        self,
        sessions: Callable[[], Iterable[Session]],
        seen: Callable[[Session, Request], bool],
        *,
        notify: Notify,
        title: bool,
        ascii_only: bool,
    ) -> None:
        self._sessions = sessions
        self._seen = seen
        self._notify: Notify = notify
        self._titled = title
        self._ascii = ascii_only
        self._running: list[tuple[Session, RequestId]] = []
        self._title = NOTHING

    def look(self, window: Window) -> None:
        """Reports the changes since the last call."""
        was, self._running = self._running, []
        title = NOTHING
        for session in self._sessions():
            calls, now = session.calls, session.now()
            self._running += [(session, row.id) for row in calls]
            if calls:
                more = safe("+{}", len(calls) - 1) if len(calls) > 1 else NOTHING
                title = join((IN_FLIGHT.glyph, _name(calls[-1]), _time(calls[-1].elapsed(now)), more), " ")
        for session, id_ in was:
            row = session.client.requests.get(id_)
            if row is None or row.open:
                continue
            end = badge(row, session.now())
            if not any(each is session for each, _ in self._running):
                title = title or join((end.glyph, _name(row)), " ")
            took = row.elapsed(session.now())
            if took >= LONG_SECONDS and row.cause is not Cause.USER and not self._seen(session, row):
                text = safe("{} {} {} after {}", end.glyph, _name(row), end.word, _time(took))
                window.write(notification(self._notify, self._shown(text)))
        if title and title != self._title and self._titled:
            self._title = title
            window.retitle(self._shown(title))

    def _shown(self, text: SafeText) -> SafeText:
        return in_ascii(text) if self._ascii else text


def _name(row: Request) -> SafeText:
    return clip(brief(row.name) or request(row), NAME_CELLS)


def _time(seconds: float) -> SafeText:
    return safe("{} s", int(seconds)) if seconds < 60 else durations.elapsed(seconds)
