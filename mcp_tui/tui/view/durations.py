"""Durations, moments and sizes in words. Durations are seconds, sizes are bytes."""

from __future__ import annotations

from functools import lru_cache

from mcp_tui import clock
from mcp_tui.protocol import units
from mcp_tui.tui.view.text import NOTHING, SafeText, clean, safe, words


def elapsed(seconds: float) -> SafeText:
    """A running or finished duration: ``12.4s``, ``2:05``, ``1:02:03``. It never runs ahead of the clock."""
    return clean(units.elapsed(seconds))


@lru_cache(512)
def limit(seconds: float | None) -> SafeText:
    """A limit as it was set: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``; ``none`` where there is none."""
    return clean(units.limit(seconds))


def quiet(seconds: float) -> SafeText:
    """How long nothing was heard, to the second: ``8s``, ``2:05``."""
    return safe("{}s", int(max(0.0, seconds))) if seconds < 60 else elapsed(seconds)


def lag(seconds: float) -> SafeText:
    """How much later something came: ``+412 ms``, ``+4.1 s``, ``+12 min``."""
    return safe("+{}", units.span(seconds))


def offset(seconds: float) -> SafeText:
    """A moment of a request's history, counted from its start: ``+0.000``, ``+12.345``."""
    return safe("{:+.3f}", seconds)


def moment(at: float, origin: float) -> SafeText:
    """The local time of day of a monotonic moment: ``12:04:31.880``.

    Args:
        at: monotonic seconds.
        origin: seconds since the epoch when the monotonic clock read 0; a recording brings its own.
    """
    try:
        return clean(clock.local_time(origin + at))
    except ValueError:
        return words("--:--:--.---")


def stamp(epoch: float) -> SafeText:
    """The local date and time of a moment: ``2026-11-21 12:04:31``; empty where no calendar has it."""
    try:
        return clean(clock.local_stamp(epoch))
    except ValueError:
        return NOTHING


def up(seconds: float) -> SafeText:
    """How long a connection has stood: ``00:14:09``."""
    whole = int(max(0.0, seconds))
    return safe("{:02}:{:02}:{:02}", whole // 3600, whole // 60 % 60, whole % 60)


def size(count: int) -> SafeText:
    """``98 B``, ``1.8 kB``, ``20.0 MB``, in powers of 1,000."""
    return clean(units.size(count))
