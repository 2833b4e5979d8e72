"""Durations, moments and sizes in words. Durations are seconds, sizes are bytes."""

from __future__ import annotations

from mcp_tui import clock
from mcp_tui.tui.view.text import SafeText


def elapsed(seconds: float) -> SafeText:
    """A running or finished duration: ``12.4s``, ``2:05``, ``1:02:03``. It never runs ahead of the clock."""
    if seconds < 60:
        return SafeText(f"{int(max(0.0, seconds) * 10) / 10:.1f}s")
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return SafeText(f"{minutes}:{rest:02}")
    return SafeText(f"{minutes // 60}:{minutes % 60:02}:{rest:02}")


def limit(seconds: float | None) -> SafeText:
    """A limit as it was set: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``; ``none`` where there is none."""
    if seconds is None:
        return SafeText("none")
    if seconds >= 3600 and seconds % 3600 == 0:
        return SafeText(f"{seconds / 3600:.0f}h")
    if seconds >= 120 and seconds % 60 == 0:
        return SafeText(f"{seconds / 60:.0f}m")
    return SafeText(f"{seconds:.10g}s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.2g}s")


def quiet(seconds: float) -> SafeText:
    """How long nothing was heard, to the second: ``8s``, ``2:05``."""
    return SafeText(f"{int(max(0.0, seconds))}s") if seconds < 60 else elapsed(seconds)


def lag(seconds: float) -> SafeText:
    """How much later something came: ``+412ms``, ``+4.1s``, ``+2:05``."""
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return SafeText(f"+{seconds * 1000:.0f}ms")
    if seconds < 59.95:
        return SafeText(f"+{seconds:.1f}s")
    return SafeText(f"+{elapsed(seconds)}")


def offset(seconds: float) -> SafeText:
    """A moment of a request's history, counted from its start: ``+0.000``, ``+12.345``."""
    return SafeText(f"{seconds:+.3f}")


def moment(at: float, origin: float) -> SafeText:
    """The local time of day of a monotonic moment: ``12:04:31.880``.

    Args:
        at: monotonic seconds.
        origin: seconds since the epoch when the monotonic clock read 0; a recording brings its own.
    """
    try:
        return SafeText(clock.local_time(origin + at))
    except ValueError:
        return SafeText("--:--:--.---")


def up(seconds: float) -> SafeText:
    """How long a connection has stood: ``00:14:09``."""
    whole = int(max(0.0, seconds))
    return SafeText(f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}")


def size(count: int) -> SafeText:
    """``98 B``, ``1.8 kB``, ``20.0 MB``, in powers of 1,000."""
    if count < 1000:
        return SafeText(f"{count} B")
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95 or unit == "GB":
            return SafeText(f"{amount:.1f} {unit}")
    raise AssertionError  # the last unit takes all
