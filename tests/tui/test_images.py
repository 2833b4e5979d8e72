"""Images on the screen: in a result, in the detail, in a question; drawn where the terminal can, told otherwise."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from mcp_tui.client.interactions import Inquiry
from mcp_tui.client.results import Part
from mcp_tui.tui.screens.interaction import Prompted, SamplingScreen
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.tui.sources.questions import Question
from mcp_tui.tui.widgets import image
from mcp_tui.tui.widgets.detail_pane import Pager
from mcp_tui.view.picture import Picture, decoded
from mcp_tui.view.text import words
from tests.tui.driving import answering, driving
from tests.tui.imaging import block, quarters, saved
from tests.tui.painted import strips
from tests.tui.screens.host import UNANSWERED, Host, look
from tests.waiting import until

SUN = saved(quarters(40, 20), "PNG")


def answer(*blocks: dict[str, Any], glyphs: bool = True) -> Host:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": list(blocks)}}).encode()
    return Host(ResultScreen(raw, title=words("7 tools/call t")), glyphs=glyphs)


async def shown(host: Host, text: str) -> None:
    await until(lambda: text in host.shown, lambda: host.shown)


def drawn(text: str) -> list[int]:
    """The lines of an image in a text, each by the number of its half blocks."""
    return [line.count("▀") for line in text.splitlines() if "▀▀" in line]


def colours(host: Host) -> set[str]:
    """The colours of the half blocks on the screen."""
    found: set[str] = set()
    for strip in strips(host):
        for text, style, _ in strip:
            if style is not None and style.color is not None and set(text) & {"▀", "▄"}:
                found.add(style.color.get_truecolor().hex)
    return found


# -- an answer, opened -----------------------------------------------------------------------------------------


async def test_an_image_is_drawn_below_what_is_known_of_it_and_fits_the_pane():
    host = answer(block(saved(quarters(400, 200), "PNG")))
    async with host.run_test(size=(80, 60)) as pilot:
        await shown(host, "400 × 200 pixels")
        pager = host.screen.query_one(Pager)
        for width in (80, 60):
            await pilot.resize_terminal(width, 60)
            await until(lambda width=width: pager.inner.width < width)
            await until(lambda: len(drawn(host.shown)) == -(-pager.inner.width // 4))
            assert max(drawn(host.shown)) == pager.inner.width
        assert {"#ff0000", "#00ff00", "#0000ff"} <= colours(host)


@pytest.mark.slow
async def test_where_there_are_no_colours_or_only_ascii_it_is_told_and_nothing_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
):
    def never(part: Part) -> Picture:
        raise AssertionError(part.mime)

    monkeypatch.setattr(image, "decoded", never)
    host = answer(block(SUN, "image/gif"), glyphs=False)
    async with host.run_test(size=(80, 24)):
        await shown(host, "not drawn: ASCII only")
        assert "image/gif" in host.shown
        assert "and its bytes are PNG" in host.shown
        assert host.shown.isascii()
    monkeypatch.setenv("NO_COLOR", "1")
    host = answer(block(SUN))
    async with host.run_test(size=(80, 24)):
        await shown(host, "not drawn: NO_COLOR is set")
        assert "▀" not in host.shown
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    host = answer(block(SUN))
    async with host.run_test(size=(80, 24)):
        await shown(host, "not drawn: no colours in this terminal")


def _nowhere(name: str) -> None:
    """Finds no package."""


async def test_without_pillow_an_image_has_its_type_and_size_and_can_be_saved(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(image, "find_spec", _nowhere)
    host = answer(block(SUN))
    async with host.run_test(size=(100, 30)) as pilot:
        await shown(host, "install mcp-tui-client[images]")
        assert "image/png" in host.shown
        await pilot.press("w")
        await shown(host, "Save this part to:")
        assert not colours(host)


async def test_an_image_that_takes_long_holds_nothing_up_and_is_dropped_with_its_screen(
    monkeypatch: pytest.MonkeyPatch,
):
    go_on, begun = threading.Event(), threading.Event()

    def slow(part: Part) -> Picture:
        begun.set()
        go_on.wait(30)
        return decoded(part)

    monkeypatch.setattr(image, "decoded", slow)
    host = answer(block(SUN), {"type": "text", "text": "beside it"}, block(SUN))
    try:
        async with host.run_test(size=(80, 24)) as pilot:
            await shown(host, "Reading the image …")
            await asyncio.to_thread(begun.wait, 10)
            await pilot.press("tab")
            await shown(host, "2 of 4  text")
            assert "beside it" in host.shown
            await pilot.press("escape")
            await pilot.pause()
            assert host.answer is None
            go_on.set()
            await pilot.pause(0.05)
            assert host.is_running
    finally:
        go_on.set()


async def test_an_image_that_is_never_decoded_is_given_up(monkeypatch: pytest.MonkeyPatch):
    go_on = threading.Event()

    def slow(part: Part) -> Picture:
        go_on.wait(30)
        return decoded(part)

    monkeypatch.setattr(image, "decoded", slow)
    monkeypatch.setattr(image, "DECODING_SECONDS", 0.05)
    host = answer(block(SUN))
    try:
        async with host.run_test(size=(80, 24)):
            await shown(host, "not drawn: decoding took more than 0.05 s")
    finally:
        go_on.set()


# -- the workbench on a server ---------------------------------------------------------------------------------


async def test_a_tool_s_image_is_drawn_in_the_detail_and_enter_opens_it_whole() -> None:
    results = {
        "tools/list": {"tools": [{"name": "show", "inputSchema": {"type": "object"}}]},
        "show": {"content": [block(saved(quarters(200, 400), "PNG"))]},
    }
    async with driving(answering(results), size=(140, 60)) as driven:
        id_ = driven.call("show")
        await driven.until(lambda: not driven.row(id_).open)
        await driven.until(lambda: "200 × 400 pixels" in driven.inside("detail"))
        assert len(drawn(driven.inside("detail"))) == image.IMAGE_LINES
        await driven.press("1", "enter")
        await driven.until(lambda: isinstance(driven.top, ResultScreen))
        await driven.until(lambda: "200 × 400 pixels" in driven.text())
        assert len(drawn(driven.text())) > image.IMAGE_LINES


# -- a question ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 40), (60, 24), (40, 12)])
async def test_an_image_that_a_model_would_see_is_seen_by_the_person(size: tuple[int, int]) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": {"type": "text", "text": "What is it?"}},
        {"role": "user", "content": block(SUN)},
    ]
    over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    params: dict[str, Any] = {"messages": messages, "maxTokens": 9}
    inquiry = Inquiry(
        method="sampling/createMessage", params=params, server="s", at=time.monotonic(), over=over
    )
    screen = SamplingScreen(Question(inquiry))
    host = Host(screen)
    async with host.run_test(size=size) as pilot:
        await look(pilot, screen)
        view = screen.query_one(Prompted)
        await until(lambda: view.size.height > 2)

        def seen() -> bool:
            view.scroll_visible(animate=False, force=True)  # it grows when the image is decoded
            return "image  image/png" in host.shown and {"#ff0000", "#00ff00"} <= colours(host)

        if size[1] > 20:
            await until(seen, lambda: host.shown)
        await pilot.press(*"sun", "ctrl+s")
        await pilot.pause()
        assert host.answer is not UNANSWERED
        assert host.answer["content"]["text"] == "sun"
