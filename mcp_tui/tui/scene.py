"""What the panes show: a session that goes on, or a recording at one of its moments.

A scene is everything that is looked at, and nothing that acts. Its times are monotonic seconds, a recording's or our own.
``problems`` are what a person should be told once, in sentences, and only ever added to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mcp_tui.tui.recorded import RecordedScene
    from mcp_tui.tui.session import Session

Scene: TypeAlias = "Session | RecordedScene"
"""What both have is what the panes ask for."""
