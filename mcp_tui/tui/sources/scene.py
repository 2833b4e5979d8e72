"""The data of the panes: a live session, or a recording at one of its moments.

A scene is read-only. Its times are monotonic seconds, of a recording or of this process. ``problems`` are sentences
to show once; the list only grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mcp_tui.tui.sources.live_session import Session
    from mcp_tui.tui.sources.recorded import RecordedScene

Scene: TypeAlias = "Session | RecordedScene"
"""The panes use only members that both have."""
