"""For the tests of servers and clients: sessions without coroutines, and the question whether a tool stops when cancelled.

Where pytest runs, :mod:`mcp_tui.testing.plugin` offers all of it as fixtures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_tui.testing.sessions import McpCall, McpSession
    from mcp_tui.testing.stopping import assert_stops_when_cancelled

__all__ = ["McpCall", "McpSession", "assert_stops_when_cancelled"]

FIRST_ENVIRONMENT: Final = dict(os.environ)
"""The environment before any test: a server also gets what is set later, by ``monkeypatch.setenv`` for example."""


def __getattr__(name: str) -> object:
    # loaded on first use: a test run that uses none of it pays nothing
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A plugin that every run of pytest loads must load next to nothing.
    from mcp_tui.testing import sessions, stopping

    return getattr(stopping if name == "assert_stops_when_cancelled" else sessions, name)
