"""Regular expressions that take linear time on any input."""

from __future__ import annotations

import re
import sys
from typing import AnyStr


def possessive(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compiles a pattern with possessive groups.

    Python before 3.11.5 matches some of these wrongly (CPython issue 106052). There they are greedy: our patterns match
    the same, and only hostile text costs more.
    """
    if sys.version_info < (3, 11, 5):
        if isinstance(pattern, bytes):
            pattern = re.sub(rb"\)([*+?])\+", rb")\1", pattern)
        else:
            pattern = re.sub(r"\)([*+?])\+", r")\1", pattern)
    return re.compile(pattern, flags)
