"""The data behind the panes: a live session, or a recording at one of its moments.

A scene is only looked at. Its times are monotonic seconds, a recording's or our own. ``problems`` are sentences to tell
once, only ever added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mcp_tui.tui.sources.live_session import Session
    from mcp_tui.tui.sources.recorded import RecordedScene

Scene: TypeAlias = "Session | RecordedScene"
"""The panes use the members that both have."""
