"""Durations in seconds, moments, and sizes in bytes as text."""

from __future__ import annotations

import math

from mcp_tui import clock
from mcp_tui.protocol import units
from mcp_tui.view.text import SafeText, clean, safe, words


def elapsed(seconds: float) -> SafeText:
    """Returns a running or finished duration, rounded down: ``12.4s``, ``2:05``, ``1:02:03``."""
    if not math.isfinite(seconds):
        return safe("{}s", seconds)
    if seconds < 60:
        return safe("{:.1f}s", int(max(0.0, seconds) * 10) / 10)
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return safe("{}:{:02}", minutes, rest)
    return safe("{}:{:02}:{:02}", minutes // 60, minutes % 60, rest)


def limit(seconds: float | None) -> SafeText:
    """Returns a limit: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``, ``none``."""
    return clean(units.limit(seconds))


def lag(seconds: float) -> SafeText:
    """Returns a delay: ``+412 ms``, ``+4.1 s``, ``+12 min``."""
    return safe("+{}", units.span(seconds))


def moment(at: float, origin: float) -> SafeText:
    """Returns the local time of day of a monotonic moment: ``12:04:31.880``.

    Args:
        at: monotonic seconds.
        origin: seconds since the epoch at which the monotonic clock read 0; each recording has its own.
    """
    return clean(clock.local_time(origin + at)) or words("--:--:--.---")


def up(seconds: float) -> SafeText:
    """Returns the age of a connection: ``00:14:09``."""
    whole = int(max(0.0, seconds))
    return safe("{:02}:{:02}:{:02}", whole // 3600, whole // 60 % 60, whole % 60)


def size(count: int) -> SafeText:
    """Returns a size in powers of 1,000: ``98 B``, ``1.8 kB``, ``20.0 MB``."""
    return clean(units.size(count))
