"""Durations in seconds, moments, and sizes in bytes as text."""

from __future__ import annotations

from functools import lru_cache

from mcp_tui import clock
from mcp_tui.protocol import units
from mcp_tui.tui.view.text import NOTHING, SafeText, clean, safe, words


def elapsed(seconds: float) -> SafeText:
    """Returns a duration, rounded down: ``12.4s``, ``2:05``, ``1:02:03``."""
    return clean(units.elapsed(seconds))


@lru_cache(512)
def limit(seconds: float | None) -> SafeText:
    """Returns a limit: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``, ``none``."""
    return clean(units.limit(seconds))


def quiet(seconds: float) -> SafeText:
    """Returns a silence in seconds: ``8s``, ``2:05``."""
    return safe("{}s", int(max(0.0, seconds))) if seconds < 60 else elapsed(seconds)


def lag(seconds: float) -> SafeText:
    """Returns a delay: ``+412 ms``, ``+4.1 s``, ``+12 min``."""
    return safe("+{}", units.span(seconds))


def offset(seconds: float) -> SafeText:
    """Returns the time since the start of a request: ``+0.000``, ``+12.345``."""
    return safe("{:+.3f}", seconds)


def moment(at: float, origin: float) -> SafeText:
    """Returns the local time of day of a monotonic moment: ``12:04:31.880``.

    Args:
        at: monotonic seconds.
        origin: seconds since the epoch when the monotonic clock read 0; a recording brings its own.
    """
    try:
        return clean(clock.local_time(origin + at))
    except ValueError:
        return words("--:--:--.---")


def stamp(epoch: float) -> SafeText:
    """Returns the local date and time of a moment: ``2026-11-21 12:04:31``; empty if it is out of range."""
    try:
        return clean(clock.local_stamp(epoch))
    except ValueError:
        return NOTHING


def up(seconds: float) -> SafeText:
    """Returns the age of a connection: ``00:14:09``."""
    whole = int(max(0.0, seconds))
    return safe("{:02}:{:02}:{:02}", whole // 3600, whole // 60 % 60, whole % 60)


def size(count: int) -> SafeText:
    """Returns a size in powers of 1,000: ``98 B``, ``1.8 kB``, ``20.0 MB``."""
    return clean(units.size(count))
