from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import OptionList, TextArea

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.screens.call_form import LISTED_TOOLS, CallScreen
from mcp_tui.tui.widgets.form import Form
from mcp_tui.view.catalogue_entries import Catalogue
from tests.tui.hostile import PACKED, assert_harmless
from tests.tui.screens.host import UNANSWERED, Host, showing


def tool(
    name: str, properties: dict[str, Json] | None = None, required: tuple[str, ...] = (), **more: Json
) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "inputSchema": schema, **more}


TOOLS = [
    tool("echo", {"text": {"type": "string"}}, ("text",), description="Says it again.\nAnd nothing else."),
    tool(
        "count",
        {
            "seconds": {"type": "number", "default": 10, "description": "how long"},
            "steps": {"type": "integer"},
        },
        description="Counts up.",
        annotations={"readOnlyHint": True},
    ),
    tool("silent", description="Never answers an echo."),
]


def screen(tools: list[dict[str, Json]], preset: str = "", **given: Any) -> CallScreen:
    catalogue = Catalogue()
    catalogue.put("tools", tools)
    entries = catalogue.tools
    return CallScreen(entries, preset=next((each for each in entries if each.name == preset), None), **given)


def form(
    tools: list[dict[str, Json]] = TOOLS, preset: str = "", **given: Any
) -> AbstractAsyncContextManager[tuple[Host, Pilot[int]]]:
    return showing(screen(tools, preset, **given))


def editor(host: Host) -> TextArea:
    return host.screen.query_one(Form).editor


async def write(host: Host, pilot: Any, text: str) -> None:
    """Type the whole as JSON."""
    if not host.screen.query_one(Form).as_json:
        await pilot.press("ctrl+t")
    editor(host).text = text
    await pilot.pause()


async def test_arguments_that_have_no_room_in_the_list_stand_below_it():
    ways: list[Json] = [
        {"properties": {name: {}}, "required": [name]} for name in ("address", "phone_number")
    ]
    async with form([{"name": "notify", "description": "Sends", "inputSchema": {"oneOf": ways}}]) as (
        host,
        _,
    ):
        assert "address | phone_number" in host.shown


async def test_a_description_has_the_lines_below_a_short_list_and_claims_are_never_cut():
    long = tool("long", description="word " * 400, annotations={"readOnlyHint": True})
    async with form([long, *TOOLS]) as (host, pilot):
        lines = host.shown.splitlines()
        assert sum("word word" in each for each in lines) == 9  # one of them in the list
        assert "word … " in host.shown
        assert "server claims: read-only (unverified)" in host.shown
        await pilot.press("down")
        assert "And nothing else." in host.shown


async def test_the_filter_finds_names_first():
    async with form() as (host, pilot):
        await pilot.press(*"echo")
        shown = host.shown
        assert shown.index("echo    ") < shown.index("silent")
        assert "Counts up" not in shown
        assert "2 of 3" in shown
        await pilot.press("x")
        assert "No matching tool" in host.shown
        await pilot.press("enter", "ctrl+s")
        assert host.answer == UNANSWERED


async def test_without_arguments_no_key_of_a_field_is_named():
    async with form([{"name": "now", "inputSchema": {"type": "object"}}]) as (host, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert host.shown.count("This takes no arguments.") == 1
        assert "^s Call  ^t JSON  esc Back" in host.shown
        await pilot.press("ctrl+s")
        assert host.answer == ("now", {})


async def test_the_keys_follow_from_fields_to_json_and_back():
    async with form(preset="count") as (host, pilot):
        for keys in ("^t Fields", "^o Unset  ^t JSON"):
            await pilot.press("ctrl+t")
            await pilot.pause()
            assert f"^s Call  tab Next  {keys}  ^g Editor  esc Close" in host.shown


async def test_enter_goes_from_field_to_field_and_to_the_button():
    async with form() as (host, pilot):
        await pilot.press("down", "enter", "enter", *"7", "enter", "enter")
        await pilot.pause()
        assert host.answer == ("count", {"seconds": 10, "steps": 7})


async def test_keys_in_a_hurry_reach_the_form_that_they_open():
    async with form() as (host, pilot):
        for key in (*"echo", "enter", *"hello", "ctrl+s"):
            host.simulate_key(key)
        await pilot.pause()
        await pilot.pause()
        assert host.answer == ("echo", {"text": "hello"})


WRONG = {
    '{\n  "seconds": 1\n"steps": 2}': "line 3, column 1: ",
    "{": "line 1, column 2: ",
    "[1]": "Arguments must be a JSON object",
    '{"steps": 1, "steps": 2}': '"steps" appears twice',
    '{"seconds": "ten"}': 'seconds: "ten" is not of type "number"',
}


async def test_what_is_wrong_is_shown_and_keeps_the_form_open():
    async with form(preset="count") as (host, pilot):
        for text, said in WRONG.items():
            await write(host, pilot, text)
            await pilot.press("ctrl+s")
            await pilot.pause()
            assert host.answer == UNANSWERED
            assert said in host.shown
            assert "esc Close" in host.shown
            await write(host, pilot, '{"seconds": 3}')
            await pilot.pause()
            assert said not in host.shown
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert host.answer == ("count", {"seconds": 3})


async def test_no_tools_at_all():
    async with form([{"description": "nameless"}, {"name": 7}]) as (host, pilot):
        await pilot.press("down", "enter", "ctrl+s")
        await pilot.pause()
        assert "No tools, or not listed yet" in host.shown
        await pilot.press("escape")
        await pilot.pause()
        assert host.answer is None


async def test_of_very_many_some_are_listed_and_two_may_have_one_name():
    async with form([tool(f"tool{number % 1000}") for number in range(2000)]) as (host, pilot):
        assert host.screen.query_one(OptionList).option_count == LISTED_TOOLS + 1
        assert "2,000 tools" in host.shown
        await pilot.press(*"tool999", "ctrl+s")
        await pilot.pause()
        assert host.answer == ("tool999", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "size"), [("".join(PACKED[:3]), (80, 24)), (PACKED[3], (40, 12))], ids=["all", "long"]
)
async def test_hostile_tools_are_shown_not_obeyed_and_their_defaults_sent_as_they_are(
    text: str, size: tuple[int, int]
):
    async with showing() as (host, pilot):
        await pilot.resize_terminal(*size)
        of: Json = {"type": "string", "title": text, "description": text, "pattern": text, "format": text}
        properties: dict[str, Json] = {
            text: of,
            "a": {"type": text, "default": text},
            "b": {"enum": [text, "x"], "enumNames": [text]},
            "c": {"type": "array", "items": {"type": "object", "properties": {text: {}}}},
            "d": {"type": "object", "properties": {text: {"type": "string", "default": text}}},
            "n": {"type": [text]},
        }
        claims: Json = {"title": text, "readOnlyHint": text, "destructiveHint": True}
        made = tool(text, properties, (text, "b"), description=text, title=text, annotations=claims)
        await host.open(screen([made]))
        await pilot.pause()
        assert_harmless(host.shown.replace("\n", ""))
        for key in ("enter", "tab", "tab", "down", "enter", "tab", "ctrl+t", "ctrl+t"):
            await pilot.press(key)
            await pilot.pause()
            assert_harmless(host.shown.replace("\n", ""))
        await write(host, pilot, "{")
        host.screen.post_message(Paste(text))
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert_harmless(host.shown.replace("\n", ""))
        await host.open(screen([tool("t", {text: {"default": text}})]))
        await pilot.press("enter", "ctrl+s")
        await pilot.pause()
        assert host.answer == ("t", {text: text})


async def test_defaults_too_long_to_be_edited_are_said_so():
    async with form([tool("t", {"x": {"default": "y" * 200_000}})]) as (host, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert "200,000 characters, sent unchanged" in host.shown
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "too long to edit" in host.shown
        assert editor(host).text == "{}"
        await pilot.press("ctrl+t", "ctrl+s")
        await pilot.pause()
        assert host.answer == ("t", {"x": "y" * 200_000})


DESTROYS = {"destructiveHint": True, "readOnlyHint": False}


async def test_a_tool_that_says_it_destroys_is_asked_about_once_for_each_definition():
    asked: set[str] = set()
    wipes = tool("wipe", annotations=DESTROYS)
    called: tuple[str, dict[str, Json]] = ("wipe", {})
    answers: list[tuple[str, object]] = [("n", UNANSWERED), ("y", called), ("", called)]
    for answer, expected in answers:
        async with form([wipes], asked=asked) as (host, pilot):
            await pilot.press("ctrl+s")
            await pilot.pause()
            assert ("Call wipe?" in host.shown) is bool(answer)
            if answer:
                assert "marks this tool as: not read-only" in host.shown
                await pilot.press(answer)
                await pilot.pause()
            assert host.answer == expected
    async with form([{**wipes, "description": "now it is another"}], asked=asked) as (host, pilot):
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "Call wipe?" in host.shown


async def test_earlier_arguments_come_back_and_then_what_was_typed():
    known: list[dict[str, Json]] = [{"text": "second"}, {"text": "first"}]

    def earlier(name: str) -> list[dict[str, Json]]:
        return known if name == "echo" else []

    async with form(earlier=earlier) as (host, pilot):
        await pilot.press("enter", *"mine")
        await pilot.pause()
        assert "^r Earlier" in host.shown
        for expected in ("second", "first", "mine", "second"):
            await pilot.press("ctrl+r")
            await pilot.pause()
            assert host.screen.query_one(Form).arguments() == {"text": expected}
        assert "history 1 of 2" in host.shown
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert host.answer == ("echo", {"text": "second"})
