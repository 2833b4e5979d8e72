"""The wall clock. No other module reads it: durations are differences of `time.monotonic()`."""

from __future__ import annotations

import datetime as dt
import time


def wall() -> float:
    """Return the present moment, in seconds since the epoch. For stamps and labels, never for durations."""
    return time.time()


def origin() -> float:
    """Return the moment at which the monotonic clock read 0, in seconds since the epoch."""
    return wall() - time.monotonic()


def _local(epoch: float) -> dt.datetime:
    """`epoch` in the zone of this machine; `ValueError` where no calendar has that moment.

    Epochs also come from recordings, so any float can stand here.
    """
    try:
        return dt.datetime.fromtimestamp(epoch, dt.UTC).astimezone()
    except (OverflowError, OSError, ValueError) as error:
        message = f"{epoch!r} seconds since the epoch is out of range"
        raise ValueError(message) from error


def local_time(epoch: float) -> str:
    """Return the local time of day as ``12:04:31.880``. Raises `ValueError` for a moment out of range."""
    return _local(epoch).strftime("%H:%M:%S.%f")[:-3]


def local_stamp(epoch: float) -> str:
    """Return the local date and time as ``2026-11-21 12:04:31``. Raises `ValueError` likewise."""
    return _local(epoch).strftime("%Y-%m-%d %H:%M:%S")


def utc_stamp(epoch: float) -> str:
    """Return the moment as ISO 8601 in UTC, ``2026-11-21T11:04:31.880Z``: the same on every machine.

    Raises `ValueError` for a moment out of range.
    """
    return _local(epoch).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
