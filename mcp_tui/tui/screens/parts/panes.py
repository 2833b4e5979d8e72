"""The widgets that show a session or a recording."""

from __future__ import annotations

from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.view.index import RowIndex, key
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.tui.widgets.timeline import Timeline


class Panes:
    """The table of requests and, :attr:`by_name`, the panes around or below it. ``index`` says which requests are shown."""

    def __init__(self, scene: Scene, index: RowIndex) -> None:
        self.table = RequestTable(scene.book, now=scene.now, index=index, id="requests")
        self.detail = Detail(id="detail")
        self.catalogue = LineList(
            scene.catalogue,
            title="Catalogue",
            from_top=True,
            count=lambda: scene.catalogue.count,
            empty="Nothing here until a server is connected.",
            id="catalogue",
        )
        self.cancellations = LineList(
            scene.cancellations,
            title="Cancellations",
            newest_first=True,
            empty=f"Nothing was cancelled yet. Press {key_of('request.cancel')} on a request in flight.",
            id="cancellations",
        )
        self.log = LineList(scene.log, title="Log", empty="Nothing was said yet.", id="log")
        self.wire = LineList(scene.wire, title="Wire", empty="No frame yet.", id="wire")
        self.timeline = Timeline(
            scene.spans,
            shows=lambda row: index.line(key(row)) is not None,
            get=scene.book.get,
            now=scene.now,
            id="timeline",
        )
        self.by_name: dict[str, Canvas] = {
            "detail": self.detail,
            "catalogue": self.catalogue,
            "cancellations": self.cancellations,
            "log": self.log,
            "wire": self.wire,
            "timeline": self.timeline,
        }
