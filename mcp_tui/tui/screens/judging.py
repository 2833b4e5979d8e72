"""Whose a frame is, and whether it keeps to the schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.cache import LRUCache

from mcp_tui.client.problems import Problem
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol.asked import Asking
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.panes import Panes
from mcp_tui.tui.view.both import Told, about
from mcp_tui.tui.view.frame import marked
from mcp_tui.tui.view.index import RowIndex
from mcp_tui.tui.view.lines import Line
from mcp_tui.tui.view.pane_filters import belonging

CHECKED: Final = 64 * 1024
"""Bytes of a frame above which it is held to the schema only when it is opened."""

LEGS: Final = 1000
"""Requests that are looked through for the one that a later leg belongs to, the newest."""


class Judging(Panes):
    """The part of a screen that knows what frames are about."""

    def __init__(self, scene: Scene, *, index: RowIndex | None = None, ascii_only: bool = False) -> None:
        super().__init__(scene, index=index, ascii_only=ascii_only)
        self._verdicts: LRUCache[int, list[Problem]] = LRUCache(4096)

    # -- whose it is -----------------------------------------------------------------------------------------

    def family(self, row: Request) -> tuple[list[Request], list[Asking]]:
        """The errands of a request, and the server's requests that belong to it."""
        items = self.table.belonging(row)
        errands = [item.row for item in items if item.row is not None and item.leg is None]
        return errands, [item.asking for item in items if item.asking is not None]

    def belonging(self, row: Request) -> Callable[[FrameHead | None], bool]:
        """Whether a frame belongs to a request."""
        return belonging(row, lambda: self.family(row), self.scene.payload)

    def row_of(self, head: FrameHead) -> Request | None:
        """The request of ours that a frame is about, by its id or by its stream."""
        named = bool(head.method) and head.direction == "in"
        id_ = head.stream if named or head.id is None or isinstance(head.id, float) else head.id
        if id_ is None:
            return None
        row = self.scene.book.get(id_)
        if row is not None or type(id_) is not int:
            return row
        order = self.scene.book.order
        newest = (order[at] for at in range(len(order) - 1, max(-1, len(order) - 1 - LEGS), -1))
        return next((each for each in newest if id_ in each.leg_ids), None)

    def told_of(self, told: Told) -> Request | None:
        """The request of ours that a line of the log or of the wire tells of."""
        if isinstance(told, FrameHead):
            return self.row_of(told)
        id_ = None if told is None else about(told)
        return None if id_ is None else self.scene.book.get(id_)

    # -- the schema ------------------------------------------------------------------------------------------

    def judged(self, told: Told, made: Line) -> Line:
        """A line with a mark, where it is a frame's that breaks the schema."""
        return marked(made, self.broken(told)) if isinstance(told, FrameHead) else made

    def broken(self, head: FrameHead, *, most: int = CHECKED) -> list[Problem] | None:
        """What a frame breaks of the schema of its revision, found once; ``None`` where it is not held to it."""
        found = self._verdicts.get(head.seq)
        if found is not None:
            return found
        revision = self.scene.facts(self.scene.now()).revision
        raw = None if head.size > most or not revision else self.scene.payload(head.seq)
        if raw is None or len(raw) > most:
            return None
        from pydantic_core import from_json

        from mcp_tui.client.official import problems

        try:
            message = from_json(raw)
        except ValueError:
            found = [Problem((), "is no JSON")]
        else:
            broken = problems(message, revision, method=self._answers(head))
            found = [each for each in broken if not each.advisory]
        self._verdicts[head.seq] = found
        return found

    def _answers(self, head: FrameHead) -> str:
        """The method of the request that a response answers."""
        if head.method:
            return ""
        if head.direction == "in":
            row = self.row_of(head)
            return "" if row is None else row.method
        askings = reversed(self.index.askings)
        return next((each.method for each in askings if each.request_id == head.id), "")
