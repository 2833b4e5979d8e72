from __future__ import annotations

import base64
import json
import stat
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.tui.widgets.detail_pane import Pager
from mcp_tui.view.text import words
from tests.tui.hostile import PACKED, assert_harmless
from tests.tui.screens.host import UNANSWERED, Host, showing
from tests.waiting import until

DATA = b"\x89PNG\r\n\x1a\n"
RESULT: Json = {
    "content": [
        {"type": "text", "text": "hello\nworld"},
        {"type": "text", "text": json.dumps({"rows": [{"n": number} for number in range(5)]})},
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(DATA).decode()},
        {"type": "resource_link", "uri": "demo://linked", "name": "Linked"},
    ],
    "structuredContent": {"n": 1},
}


def screen(result: Json = RESULT, **given: Any) -> ResultScreen:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    return ResultScreen(raw, title=words("7 tools/call t"), **given)


def answer(result: Json = RESULT, **given: Any) -> AbstractAsyncContextManager[tuple[Host, Pilot[int]]]:
    return showing(screen(result, **given))


async def shown(host: Host, pilot: Any, text: str) -> None:
    await pilot.pause()
    await until(lambda: text in host.shown, lambda: host.shown)


async def test_all_parts_are_on_one_page_with_structured_content_last():
    async with answer() as (host, pilot):
        await pilot.resize_terminal(80, 40)
        await shown(host, pilot, "world")
        lines = [line.strip("│ ") for line in host.shown.splitlines()]
        places = [
            lines.index(text) for text in ("world", '▾ "rows": [ 5 ]', "demo://linked", '"n": 1', "▸ { 2 }")
        ]
        assert places == sorted(places)
        for where in ("1 of 6  text", "2 of 6", "3 of 6  image", "4 of 6  link", "5 of 6  structured"):
            await shown(host, pilot, where)
            await pilot.press("tab")
        await pilot.press("enter")
        await shown(host, pilot, '"content": [ 4 ]')
        await pilot.press("shift+tab")
        await shown(host, pilot, "5 of 6  structured")
        await pilot.press("escape")
        await pilot.pause()
        assert host.answer is None


async def test_a_list_of_many_texts_reads_as_one_and_is_searched_and_copied_whole():
    async with answer({"content": [{"type": "text", "text": f"row {number}"} for number in range(50)]}) as (
        host,
        pilot,
    ):
        await shown(host, pilot, "row 10")
        assert "row 1 " in host.shown.splitlines()[3]
        await pilot.press("slash", *"row", "space", *"49", "enter")
        await shown(host, pilot, "1 of 1")
        await shown(host, pilot, "50 of 51")
        await pilot.press("y")
        assert host.clipboard == "\n".join(f"row {number}" for number in range(50))


async def test_a_link_is_read_by_enter_and_by_nothing_else():
    for follow, expected in ((True, "demo://linked"), (False, UNANSWERED)):
        async with answer(follow=follow) as (host, pilot):
            await shown(host, pilot, "world")
            await pilot.press("enter", *["tab"] * 3)
            await shown(host, pilot, "demo://linked")
            assert ("enter Read" in host.shown) is follow
            await pilot.press("enter")
            await pilot.pause()
            assert host.answer == expected


async def test_find_goes_from_place_to_place_and_unfolds():
    async with answer([{"name": f"item {number}", "deep": {"list": [number]}} for number in range(3000)]) as (
        host,
        pilot,
    ):
        await shown(host, pilot, "▾ [ 3,000 ]")
        await pilot.press("slash", *"item", "space", *"2999", "enter")
        await shown(host, pilot, "1 of 1")
        assert '"item 2999"' in host.shown
        await pilot.press("slash", *"item", "space", *"29", "enter")
        await shown(host, pilot, "1 of 111")
        await pilot.press("n", "n", "N")
        await shown(host, pilot, "2 of 111")
        await pilot.press("slash", *"nowhere", "enter")
        await shown(host, pilot, "not found")
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert host.answer == UNANSWERED


async def test_saving_asks_where_and_overwrites_only_when_asked_twice(tmp_path: Path):
    async with answer() as (host, pilot):
        await shown(host, pilot, "world")
        await pilot.press("tab", "tab")
        await shown(host, pilot, "3 of 6  image")
        await pilot.press("w")
        await shown(host, pilot, "Save this part to:")
        field = host.screen.query_one(Input)
        assert Path(field.value) == Path.cwd() / "result.png"
        target = tmp_path / "image.png"
        target.write_bytes(b"mine")
        field.value = str(target)
        await pilot.press("enter")
        await shown(host, pilot, "again to overwrite")
        assert target.read_bytes() == b"mine"
        field.value = str(tmp_path / "other.png")
        await pilot.press("enter")
        await shown(host, pilot, "8 B written to")
        assert (tmp_path / "other.png").read_bytes() == DATA
        assert stat.S_IMODE((tmp_path / "other.png").stat().st_mode) == 0o600
        await pilot.press("w")
        field.value = str(target)
        await pilot.press("enter", "enter")
        await shown(host, pilot, "written to")
        assert target.read_bytes() == DATA
        await pilot.press("w")
        field.value = str(tmp_path / "no" / "folder")
        await pilot.press("enter")
        await shown(host, pilot, "Cannot write")  # the path wraps the rest somewhere
        await pilot.press("escape")
        await shown(host, pilot, "Nothing written")
        assert host.answer == UNANSWERED


async def test_copies_have_symbols_for_control_characters_until_somebody_asks_again(tmp_path: Path):
    text = "a\x1b[201~b\x9bc\r\n\td\re"
    async with answer({"content": [{"type": "text", "text": text}]}) as (host, pilot):
        await shown(host, pilot, "1 of 2")
        await pilot.press("y")
        assert host.clipboard == "a␛[201~b‹009B›c\r\n\td␍e"
        for name, written in (("one", host.clipboard), ("two", text), ("three", host.clipboard)):
            await pilot.press("w", *str(tmp_path / name), "enter")
            await pilot.pause()
            assert (tmp_path / name).read_bytes() == written.encode()
        host.copy_to_clipboard(text, raw=True)
        assert host.clipboard == text


async def test_an_answer_of_many_megabytes_is_read_beside_the_screen():
    async with answer({"content": [{"type": "text", "text": "0123456789" * 800_000}]}) as (host, pilot):
        await shown(host, pilot, "line 1 of 10")
        await pilot.press("end")
        await pilot.pause()
        pager = host.screen.query_one(Pager)
        assert pager.at == pager.virtual_size.height - 1
        assert pager.at > 100_000
        assert "456789" in host.shown


async def test_what_is_no_result_is_shown_as_it_came():
    async with showing() as (host, pilot):
        for raw in (b"", b"{", b"\xff\xfe", b"[1]", b'{"error":{"code":-1,"message":"no"}}'):
            await host.open(ResultScreen(raw, title=words("7 x")))
            await shown(host, pilot, "line 1 of ")
            assert "esc Back" in host.shown


async def test_hostile_results_are_shown_and_not_obeyed():
    async with showing() as (host, pilot):
        for text in PACKED:
            link: Json = {
                "type": "resource_link",
                "uri": text,
                "name": text,
                "mimeType": text,
                "description": text,
            }
            await host.open(screen({"content": [{"type": "text", "text": text}, link], text: text}))
            for _ in range(3):
                await shown(host, pilot, "esc Back")
                assert_harmless(host.shown.replace("\n", ""))
                await pilot.press("tab")
            await pilot.press("w")
            await pilot.pause()
            assert_harmless(host.shown.replace("\n", ""))
