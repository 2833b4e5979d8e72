"""Regular expressions that look at each byte once, whatever a server makes up."""

from __future__ import annotations

import re
import sys
from typing import AnyStr


def possessive(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compile a pattern with possessive groups.

    Python before 3.11.5 matches some of these wrongly (CPython issue 106052). There they are greedy: what our patterns find
    is the same, and only hostile text costs more.
    """
    if sys.version_info < (3, 11, 5):
        if isinstance(pattern, bytes):
            pattern = re.sub(rb"\)([*+?])\+", rb")\1", pattern)
        else:
            pattern = re.sub(r"\)([*+?])\+", r")\1", pattern)
    return re.compile(pattern, flags)
