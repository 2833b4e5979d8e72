"""The wall clock. No other module reads it: durations are differences of `time.monotonic()`."""

from __future__ import annotations

import datetime as dt
import time


def wall() -> float:
    """Return the present moment, in seconds since the epoch. For stamps and labels, never for durations."""
    return time.time()


def awake() -> float:
    """Return seconds that no setting of the wall clock changes, and that pass while the machine sleeps, too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def origin() -> float:
    """Return the moment at which the monotonic clock read 0, in seconds since the epoch."""
    return wall() - time.monotonic()


def _iso(epoch: float, zone: dt.tzinfo | None = None) -> str:
    """Return the moment in a zone, that of this machine by default; empty where no calendar has that moment.

    Epochs also come from recordings, so any float can stand here.
    """
    try:
        return dt.datetime.fromtimestamp(epoch, dt.UTC).astimezone(zone).isoformat(" ", "milliseconds")
    except (OverflowError, OSError, ValueError):
        return ""


def local_time(epoch: float) -> str:
    """Return the local time of day as ``12:04:31.880``; empty for a moment out of range, as of all of these."""
    return _iso(epoch)[11:23]


def local_stamp(epoch: float) -> str:
    """Return the local date and time as ``2026-11-21 12:04:31``."""
    return _iso(epoch)[:19]


def utc_stamp(epoch: float) -> str:
    """Return the moment as ISO 8601 in UTC, ``2026-11-21T11:04:31.880Z``: the same on every machine."""
    return _iso(epoch, dt.UTC).replace(" ", "T").replace("+00:00", "Z")
