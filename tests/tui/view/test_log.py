"""Lines of the log: who says it, and what."""

from __future__ import annotations

from mcp_tui.protocol import events as ev
from mcp_tui.tui.view.log import told


def test_a_change_of_a_resource_is_told_with_its_uri() -> None:
    source, said, _ = told(ev.Notified(at=1.0, method="notifications/resources/updated", about="demo://a"))
    assert source == "server"
    assert said == "notifications/resources/updated demo://a"


def test_a_change_of_a_list_is_told_by_its_name_alone() -> None:
    assert told(ev.Notified(at=1.0, method="notifications/tools/list_changed"))[1].endswith("list_changed")
