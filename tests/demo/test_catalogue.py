from __future__ import annotations

import pytest

from mcp_tui.demo import catalogue
from tests.demo.official import REVISIONS


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_what_ends_the_process_is_destructive(revision: str) -> None:
    listed = catalogue.page("tools/list", {}, revision, None)
    assert listed is not None
    hints = {tool["name"]: tool.get("annotations") for tool in listed["tools"]}
    if revision == "2024-11-05":
        assert set(hints.values()) == {None}
        return
    crash = hints.pop("crash")
    assert crash is not None
    assert crash["destructiveHint"] is True
    assert all(hint and hint["readOnlyHint"] for hint in hints.values())


def test_what_is_no_list() -> None:
    assert catalogue.page("tools/call", {}, "2025-11-25", None) is None
