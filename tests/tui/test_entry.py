"""What the server says of a tool, beside the catalogue that it stands in."""

from __future__ import annotations

from tests.tui.driving import driving


async def test_the_detail_tells_of_what_stands_under_the_cursor_of_the_catalogue() -> None:
    async with driving(size=(140, 40)) as it:
        await it.press("2")
        await it.until(lambda: "Takes" in it.text())
        assert "echo" in it.text()
        await it.press("down")
        await it.until(lambda: "Adds" in it.inside("detail") or "add" in it.inside("detail"))
        entry = it.bench.entry()
        assert entry is not None
        assert entry.name == "add"
        await it.press("2")
        assert it.bench.entry() is None
        await it.until(lambda: "Takes" not in it.text())
