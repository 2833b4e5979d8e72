"""Regular expressions that take linear time on any input, and are compiled at their first use."""

from __future__ import annotations

import re
import sys
from typing import Any, AnyStr, cast


def late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns a pattern that is compiled at its first use.

    Compiling all patterns takes a thirtieth of the start, and few of them are used there. Python before 3.11.5
    matches some possessive groups wrongly (CPython issue 106052). There the groups are greedy: our patterns match the
    same text, and only hostile text takes longer.
    """
    if sys.version_info < (3, 11, 5):
        if isinstance(pattern, bytes):
            pattern = re.sub(rb"\)([*+?])\+", rb")\1", pattern)
        else:
            pattern = re.sub(r"\)([*+?])\+", r")\1", pattern)
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


class _LatePattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._pattern: Any = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(re.compile(self._pattern, self._flags), name)
        return found
