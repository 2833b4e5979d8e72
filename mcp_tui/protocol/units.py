"""Formats numbers, times, and log lines for all views. Durations are seconds, sizes are bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

OUT_OF_RANGE: Final = "a number out of range"
"""The words for a number that the parser read as infinity."""

_PAINT: Final = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""The terminal codes for colours and for clearing a line (ECMA-48, SGR and EL)."""


def limit(seconds: float | None) -> str:
    """Formats a limit in seconds: ``60s``, ``2.5s``, ``90s``, ``10m``, ``2h``; ``none`` for ``None``."""
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
    """Formats a time span: ``2 ms``, ``1.5 s``, ``12 min``."""
    # 999.5 ms would be shown as "1000 ms".
    if seconds < 0.9995:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def after_words(after: float, most: float | None) -> str:
    """Returns the words for a time after the cancel: ``at +31 ms``, or a range if only its bounds are known."""
    if most is None or span(most) == span(after):
        return f"at +{span(after)}"
    return f"between +{span(after)} and +{span(most)}"


def rejected_words(code: int | None, after: float) -> str:
    """Returns the words for an error without an id, ``after`` seconds after a cancel."""
    text = "the server rejected a message without naming it"
    return f"{text}{'' if code is None else f' ({code})'}, {span(after)} after the cancel"


def percentile(values: Iterable[float], share: float) -> float:
    """Returns a percentile by the nearest rank, so that the result is one of the values; ``share`` 0.5 is the median."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def size(count: int) -> str:
    """Formats a size in bytes: ``98 B``, ``1.8 kB``, ``20.0 MB``, in powers of 1,000."""
    if count < 1000:
        return f"{count} B"
    amount, units = count / 1000, iter(("kB", "MB", "GB"))
    unit = next(units)
    # 999.95 would be rounded to "1000.0".
    while amount >= 999.95 and unit != "GB":
        amount, unit = amount / 1000, next(units)
    return f"{amount:.1f} {unit}"


def number(value: float) -> str:
    """Formats a number that a server sent: ``17``, ``0.5``, ``1.2e+30``."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"


def unpainted(text: str) -> str:
    """Returns a line without the terminal codes for colours; other control characters stay."""
    return _PAINT.sub("", text) if "\x1b" in text else text
