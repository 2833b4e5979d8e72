"""Fields for text, and whatever is pasted into them."""

from __future__ import annotations

import pytest
from textual.containers import Vertical
from textual.events import Key, Paste
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
async def test_pasted_control_characters_are_symbols_and_nothing_is_lost(kind: type[LineInput | Editor]):
    field = kind()
    async with Host(field).run_test() as pilot:
        field.focus()
        await pilot.pause()
        pilot.app.post_message(Paste(CONTROLS))
        await pilot.pause()
        text = field.value if isinstance(field, LineInput) else field.text
        assert text == "a␛[2Jb‹009B›2J␎c␡␀d‹D800›"


async def test_a_line_takes_all_lines_of_a_paste_and_says_so_if_they_are_too_many():
    field = LineInput(max_length=20)
    async with Host(field).run_test(size=(80, 24)) as pilot:
        field.focus()
        await pilot.pause()
        pilot.app.post_message(Paste("one\x0btwo\r\nthree\n"))
        pilot.app.post_message(Paste("and a text that has no room"))
        await pilot.pause()
        assert field.value == "one two  three"
        assert [each.message for each in pilot.app._notifications] == [  # pyright: ignore[reportPrivateUsage]
            "Not pasted: 27 characters. This field holds 20."
        ]


async def test_the_end_of_a_long_paste_is_in_sight():
    field = LineInput()
    async with Host(field).run_test(size=(80, 24)) as pilot:
        field.focus()
        pilot.app.post_message(Paste("x" * 100 + "end"))
        await pilot.pause()
        await pilot.pause()
        assert shown(field).rstrip().endswith("end")
        field.styles.width = 30
        await pilot.pause()
        await pilot.pause()
        assert shown(field).rstrip().endswith("end")


async def test_a_paste_behind_a_key_that_moved_the_focus_is_for_the_next_field():
    fields = Editor(), LineInput()
    async with Host(Vertical(*fields)).run_test() as pilot:
        fields[0].focus()
        await pilot.pause()
        for each in (Key("a", "a"), Paste("b"), Key("tab", None), Paste("c"), Key("d", "d")):
            pilot.app.post_message(each)
        await pilot.pause()
        assert (fields[0].text, fields[1].value) == ("ab", "cd")


async def test_a_line_is_visible_text_also_where_a_file_gives_it():
    host = Host(Label())
    async with host.run_test():
        await host.put(field := LineInput("a\tb\u202ec\u200b\x1b"))
        assert field.value == "a bc␛"


async def test_an_editor_keeps_marks_of_a_language_and_draws_them_as_dots():
    field = Editor()
    async with Host(field).run_test() as pilot:
        field.focus()
        await pilot.pause()
        pilot.app.post_message(Paste("می\u200cخواهم\n\tx"))
        await pilot.pause()
        assert field.text == "می\u200cخواهم\n\tx"
        assert "می·خواهم" in shown(field)
