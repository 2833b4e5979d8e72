"""Numbers, and lines of a server's log, as every view of a session writes them. Durations are seconds, sizes are bytes."""

from __future__ import annotations

import math
import re
from typing import Final

OUT_OF_RANGE: Final = "a number out of range"
"""What is shown of a number that is read as infinity: nobody sent that."""

_PAINT: Final = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""What colours a line of a terminal, or clears the rest of it (ECMA-48, SGR and EL)."""


def elapsed(seconds: float) -> str:
    """A running or finished duration: ``12.4s``, ``2:05``, ``1:02:03``. It never runs ahead of the clock."""
    if not math.isfinite(seconds):
        return f"{seconds}s"
    if seconds < 60:
        return f"{int(max(0.0, seconds) * 10) / 10:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def limit(seconds: float | None) -> str:
    """A limit as it was set: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``; ``none`` where there is none."""
    if seconds is None:
        return "none"
    if not math.isfinite(seconds):
        return f"{seconds}s"
    if seconds >= 3600 and seconds % 3600 == 0:
        return f"{seconds / 3600:.0f}h"
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:.0f}m"
    return f"{seconds:.10g}s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.2g}s"


def span(seconds: float) -> str:
    """A time that passed: ``2 ms``, ``1.5 s``, ``12 min``."""
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def size(count: int) -> str:
    """``98 B``, ``1.8 kB``, ``20.0 MB``, in powers of 1,000."""
    if count < 1000:
        return f"{count} B"
    amount, units = count / 1000, iter(("kB", "MB", "GB"))
    unit = next(units)
    while amount >= 999.95 and unit != "GB":
        amount, unit = amount / 1000, next(units)
    return f"{amount:.1f} {unit}"


def number(value: float) -> str:
    """A number as a server counts: ``17``, ``0.5``, ``1.2e+30``."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"


def unpainted(text: str) -> str:
    """A line that was written for a terminal, without the codes that only colour it; whatever else it has stays in sight."""
    return _PAINT.sub("", text) if "\x1b" in text else text
