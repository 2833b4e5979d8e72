"""Fields for text, and whatever is pasted into them."""

from __future__ import annotations

import pytest
from textual.events import Paste
from textual.widgets import Label

from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.line_input import LineInput
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.widgets.host import Host

CONTROLS = "a\x1b[2Jb\x9b2J\x0ec\x7f\x00d\ud800"


def shown(field: LineInput | Editor) -> str:
    return "".join(field.render_line(y).text for y in range(field.size.height))


@pytest.mark.parametrize("kind", [LineInput, Editor])
async def test_no_pasted_text_reaches_the_terminal_raw(kind: type[LineInput | Editor]):
    field = kind()
    async with Host(field).run_test(size=(200, 50)) as pilot:
        field.focus()
        for text in (*PAYLOADS.values(), CONTROLS):
            field.clear()
            pilot.app.post_message(Paste(text))
            await pilot.pause()
            assert_harmless(shown(field))


@pytest.mark.parametrize("kind", [LineInput, Editor])
async def test_what_no_key_types_is_not_in_the_text_that_is_sent(kind: type[LineInput | Editor]):
    field = kind()
    async with Host(field).run_test() as pilot:
        field.focus()
        await pilot.pause()
        pilot.app.post_message(Paste(CONTROLS))
        await pilot.pause()
        assert (field.value if isinstance(field, LineInput) else field.text) == "a[2Jb2Jcd"


async def test_a_line_is_visible_text_also_where_a_file_gives_it():
    host = Host(Label())
    async with host.run_test():
        await host.put(field := LineInput("a\tb\u202ec\u200b\x1b"))
        assert field.value == "a bc"


async def test_an_editor_keeps_marks_of_a_language_and_draws_them_as_dots():
    field = Editor()
    async with Host(field).run_test() as pilot:
        field.focus()
        await pilot.pause()
        pilot.app.post_message(Paste("می\u200cخواهم\n\tx"))
        await pilot.pause()
        assert field.text == "می\u200cخواهم\n\tx"
        assert "می·خواهم" in shown(field)
