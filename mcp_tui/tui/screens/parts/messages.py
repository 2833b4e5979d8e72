"""Whose a message of the wire is, and whether it keeps to the schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.cache import LRUCache

from mcp_tui.client.schemas import Problem
from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.view.index import RowIndex
from mcp_tui.tui.view.lines import Line
from mcp_tui.tui.view.pane_filters import Belonging
from mcp_tui.tui.view.wire import marked as mark_broken
from mcp_tui.tui.view.wire import named, parsed
from mcp_tui.tui.widgets.request_table import RequestTable

CHECKED: Final = 64 * 1024
"""Bytes of a frame above which it is held to the schema only when it is opened."""

ROUNDS: Final = 1000
"""Requests that are looked through for the one that a later round belongs to, the newest."""


NOTED: Final = 4096
"""Bytes of a notification that is read for the request that it names."""

_NOTED: Final = {
    ("notifications/cancelled", "out"): "requestId",
    ("notifications/progress", "in"): "progressToken",
}


class Messages:
    """The messages of one scene, and what they are about."""

    def __init__(self, scene: Scene, table: RequestTable, index: RowIndex) -> None:
        self._scene = scene
        self._table = table
        self._index = index
        self._verdicts: LRUCache[int, list[Problem]] = LRUCache(4096)

    # -- whose it is -----------------------------------------------------------------------------------------

    def family(self, row: Request) -> tuple[list[Request], list[ServerRequest]]:
        """The errands of a request, and the server's requests that belong to it."""
        items = self._table.belonging(row)
        errands = [item.row for item in items if item.row is not None and item.round_ is None]
        return errands, [item.server_request for item in items if item.server_request is not None]

    def belonging(self, row: Request) -> Callable[[FrameHead | None], bool]:
        """Whether a frame belongs to a request."""
        return Belonging(row, lambda: self.family(row), self._scene.payload)

    def row_of(self, head: FrameHead) -> Request | None:
        """The request of ours that a frame is about, by its id or by its stream."""
        theirs = bool(head.method) is (head.direction == "in")
        id_ = head.stream if theirs or head.id is None or isinstance(head.id, float) else head.id
        return None if id_ is None else self._row(id_)

    def _row(self, id_: RequestId) -> Request | None:
        """The request that went out under an id, or one of whose later rounds did."""
        row = self._scene.book.get(id_)
        if row is not None or type(id_) is not int:
            return row
        order = self._scene.book.order
        newest = (order[at] for at in range(len(order) - 1, max(-1, len(order) - 1 - ROUNDS), -1))
        return next((each for each in newest if id_ in each.round_ids), None)

    # -- the schema ------------------------------------------------------------------------------------------

    def marked(self, head: FrameHead | None, made: Line) -> Line:
        """A line of a frame with what it is about, and a mark where it breaks the schema."""
        if head is None:
            return made
        return mark_broken(named(made, head, self._named(head)), self.broken(head))

    def _named(self, head: FrameHead) -> Request | None:
        """The request of ours that a line of the wire names."""
        if head.id is None and head.size <= NOTED and (head.method, head.direction) in _NOTED:
            raw = self._scene.payload(head.seq)
            params = as_object(as_object(None if raw is None else parsed(raw)).get("params"))
            id_ = params.get(_NOTED[head.method, head.direction])
            return self._row(id_) if messages.is_request_id(id_) else None
        asked = head.direction == "in" and head.method
        return None if asked or head.id is None else self.row_of(head)

    def broken(self, head: FrameHead, *, most: int = CHECKED) -> list[Problem] | None:
        """What a frame breaks of the schema of its revision, found once; ``None`` where it is not held to it."""
        found = self._verdicts.get(head.seq)
        if found is not None:
            return found
        revision = self._scene.facts(self._scene.now()).revision
        raw = None if head.size > most or not revision else self._scene.payload(head.seq)
        if raw is None or len(raw) > most:
            return None
        from mcp_tui.client.official import problems
        from mcp_tui.protocol.messages import read_json

        try:
            message = read_json(raw)
        except ValueError:
            found = [Problem((), "not JSON")]
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
        server_requests = reversed(self._index.server_requests)
        return next((each.method for each in server_requests if each.request_id == head.id), "")
