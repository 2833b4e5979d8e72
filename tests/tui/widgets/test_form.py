from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Button

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.host import FRAME_STYLES, STYLES
from mcp_tui.tui.widgets.form import FieldRow, Form
from tests.tui.painted import screen_text
from tests.waiting import HANG

EVERY: dict[str, Json] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to say"},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "loud": {"type": "boolean"},
        "colour": {"enum": ["red", "green", "blue"]},
        "size": {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "opts": {
            "type": "object",
            "properties": {
                "deep": {"type": "boolean"},
                "in": {"type": "object", "properties": {"x": {"type": "number"}}},
            },
        },
        "edits": {"type": "array", "items": {"type": "object", "properties": {"from": {"type": "string"}}}},
        "any": {},
    },
    "required": ["text", "colour"],
}


def schema(properties: dict[str, Json], *required: str) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(required)}


UNSET = "unset"


class Shown(App[None]):
    """A form and a button behind it, with what the form posted."""

    CSS_PATH = [FRAME_STYLES, STYLES]

    def __init__(self, schema_: Json, values: dict[str, Json] | None = None, **given: Any) -> None:
        super().__init__()
        self.form = Form(schema_, values, **given)
        self.submitted: list[dict[str, Json]] = []

    def compose(self) -> ComposeResult:
        yield self.form
        yield Button("send")

    def on_mount(self) -> None:
        self.form.focus_first()

    def on_button_pressed(self) -> None:
        self.submit()

    def submit(self) -> bool:
        arguments = self.form.submit()
        if arguments is not None:
            self.submitted.append(arguments)
        return arguments is not None

    @property
    def text(self) -> str:
        return screen_text(self)


@asynccontextmanager
async def showing(*shown: Any, **given: Any) -> AsyncGenerator[tuple[Shown, Pilot[None]]]:
    app = Shown(*shown, **given)
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[None], met: Callable[[], object]) -> None:
    """Wait for what a key brings about."""
    async with asyncio.timeout(HANG):
        while not met():
            await pilot.pause(0.02)


async def rush(app: Shown, pilot: Pilot[None], *keys: str) -> None:
    """Keys as a terminal hands them over when they were typed ahead: all at once."""
    for key in keys:
        app.simulate_key(key)
    for _ in range(4):
        await pilot.pause()


async def test_what_is_typed_in_a_hurry_lands_in_order():
    async with showing(EVERY) as (app, pilot):
        await rush(app, pilot, *"hi", "tab", "backspace", "7", "tab", "space", "tab", "tab")
        await rush(app, pilot, "tab", "a", "enter", "b", "tab", "space", "down", "down", "space", "tab")
        await rush(app, pilot, *"n", "tab", "enter", "space", "tab", "enter", *"1.5")
        assert app.form.arguments() == {
            "text": "hi",
            "count": 7,
            "loud": True,
            "tags": ["a", "b"],
            "days": ["mon", "wed"],
            "note": "n",
            "opts": {"deep": True, "in": {"x": 1.5}},
        }
        assert [str(each) for each in app.form.errors()] == ["colour is required"]


DEFAULTS: dict[str, tuple[Json, str, Json]] = {
    "string": ("old", "new", "new"),
    "number": (1.5, "2", 2),
    "integer": (10, "2", 2),
    "array": (["a", "b"], "c", ["c"]),
    "object": ({"a": 1}, '{"b": 2}', {"b": 2}),
    "any": ("old", '"new"', "new"),
}
"""By type: a default, what is typed in its place, and the value then."""


async def test_typing_takes_the_place_of_a_default_however_fast_it_is_typed():
    fields: dict[str, Json] = {
        name: {"default": default, **({} if name == "any" else {"type": name, "items": {"type": "string"}})}
        for name, (default, _, _) in DEFAULTS.items()
    }
    keys = [key for _, typed, _ in DEFAULTS.values() for key in (*typed, "tab")]
    async with showing(schema(fields)) as (app, pilot):
        await rush(app, pilot, *keys)
        assert app.form.arguments() == {name: value for name, (_, _, value) in DEFAULTS.items()}
        await rush(app, pilot, "shift+tab")  # the button hands nothing on
        await rush(app, pilot, *["shift+tab"] * 5, "end", "!")
        assert app.form.arguments()["string"] == "new!", "what a person typed stays"
        app.app_focus = False
        app.app_focus = True
        await rush(app, pilot, "?")
        assert app.form.arguments()["string"] == "new!?", "the terminal had lost the focus meanwhile"


async def test_errors_stand_beside_their_fields_and_go_as_soon_as_they_are_mended():
    async with showing(
        schema(
            {
                "n": {"type": "integer", "maximum": 9},
                "o": {"type": "object", "properties": {"p": {"type": "string", "minLength": 3}}},
            },
            "n",
        )
    ) as (app, pilot):
        assert not app.submit()
        await pilot.pause()
        assert app.text.count("required") == 2, "of the field, and below it"
        await pilot.press(*"10", "tab", "enter", *"ab")
        app.form.submit()
        await pilot.pause()
        lines = [line.rstrip() for line in app.text.splitlines()]
        assert "10 is greater than the maximum of 9" in lines[lines.index("n    10") + 1]
        assert '"ab" is shorter than 3 characters' in lines[lines.index("  p  ab") + 1]
        assert not app.submitted
        await pilot.press("1", "tab", "tab", "c")  # it takes the place of the number, which is selected
        await pilot.pause()
        assert "greater" not in app.text
        assert "shorter" not in app.text
        assert app.submit()
        await pilot.pause()
        assert app.submitted == [{"n": 1, "o": {"p": "abc"}}]


async def test_a_number_that_is_none_is_told_when_the_field_is_left():
    async with showing(schema({"n": {"type": "number"}, "m": {"type": "number"}}, "m")) as (app, pilot):
        await pilot.press("shift+tab", "tab", *"x")
        await pilot.pause()
        assert "must be a number" not in app.text
        await pilot.press("tab", "shift+tab")
        await pilot.pause()
        assert app.text.count("must be a number") == 1


BRANCHES: list[Json] = [
    schema({"kind": {"const": "mail"}, "address": {"type": "string"}}, "kind", "address"),
    schema({"kind": {"const": "sms"}, "phone": {"type": "string"}}, "kind", "phone"),
]


@pytest.mark.slow
async def test_a_branch_is_chosen_and_then_filled_in():
    async with showing({**schema({"text": {"type": "string"}}), "oneOf": BRANCHES}) as (app, pilot):
        await pilot.press("shift+tab", "shift+tab", *"hi", "shift+tab")
        await pilot.pause()
        assert "address  required" in app.text
        await pilot.press(*"kind=s")
        await until(pilot, lambda: "phone   required" in app.text)
        assert "address" not in app.text.replace("kind=mail address", "")
        assert not app.submit()
        await pilot.press(*"12")
        assert app.submit()
        assert app.submitted == [{"text": "hi", "kind": "sms", "phone": "12"}]


@pytest.mark.slow
async def test_json_of_branches_begins_with_the_names_and_fits_the_branch_that_is_typed():
    async with showing({"type": "object", "oneOf": BRANCHES}) as (app, pilot):
        await pilot.press("ctrl+t")
        assert json.loads(app.form.editor.text) == {"kind": "mail", "address": None}
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "address  required" in app.text
        await pilot.press("ctrl+t")
        app.form.editor.text = '{"kind": "sms", "phone": "12"}'
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "kind=sms phone" in app.text)
        assert app.form.arguments() == {"kind": "sms", "phone": "12"}


@pytest.mark.slow
async def test_to_json_and_back_loses_nothing_that_was_typed():
    async with showing(EVERY) as (app, pilot):
        await pilot.press(*"hi", "tab", "backspace", *"abc", "tab", "tab", "tab", "tab", "ctrl+o")
        before = app.form.filled
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert '"count": "abc"' in app.text
        assert app.form.as_json
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert app.form.filled == before
        cases: list[tuple[dict[str, Json], bool]] = [
            ({"opts": {"deep": True}}, False),
            ({"unheard": {"of": 1}}, True),
        ]
        for more, as_json in cases:
            typed: dict[str, Json] = {"text": "ho", "count": "abc", "days": [], **more}
            await pilot.press("ctrl+t")
            app.form.editor.text = json.dumps(typed)
            await pilot.press("ctrl+t")
            await pilot.pause()
            assert app.form.as_json is as_json
            assert app.form.arguments() == typed
        assert "Only JSON here: some arguments have no field" in app.text


async def test_json_that_is_none_stays_and_says_why():
    async with showing(EVERY) as (app, pilot):
        await pilot.press("ctrl+t")
        app.form.editor.text = '{"text": }'
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert app.form.as_json
        assert "line 1, column 10" in app.text
        assert app.form.arguments() == {}
        assert [problem.path for problem in app.form.errors()] == [()]


async def test_what_no_form_fits_is_typed_as_json_and_says_why():
    async with showing({"type": "object", "additionalProperties": {"type": "number"}}) as (app, pilot):
        assert app.form.as_json
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "Only JSON here: the schema allows arguments but names none" in app.text
        app.form.editor.text = '{"a": "x"}'
        assert not app.submit()
        await pilot.pause()
        assert 'a: "x" is not of type "number"' in app.text


async def test_an_open_list_has_a_border_and_offers_only_its_choices_beside_its_field():
    fields: dict[str, Json] = {
        "one": {"type": "string"},
        "two": {"enum": [f"n{number}" for number in range(30)]},
        "three": {"type": "integer", "default": 10},
        "four": {"enum": ["x", "y"]},
    }
    async with showing(schema(fields)) as (app, pilot):
        await rush(app, pilot, "tab", "enter")
        shown = [line.rstrip() for line in app.text.splitlines()]
        at = next(number for number, line in enumerate(shown) if line.startswith("two"))
        assert "one of 30" in shown[at]
        assert "╭─" in shown[at + 1]
        assert "│n0" in shown[at + 2]
        assert sum("╯" in line for line in shown) == 1
        await rush(
            app, pilot, "escape", "enter", "down", "down", "enter", "tab", "2", "tab", "down", "down", "space"
        )
        assert app.form.arguments() == {"two": "n2", "three": 2, "four": "y"}
        await rush(app, pilot, "enter", "up", "escape", "enter", "up", "shift+tab", "3")
        assert app.form.arguments() == {"two": "n2", "three": 3, "four": "y"}
        assert "╭" not in app.text


async def test_a_choice_is_found_by_letters_taken_from_its_list_and_unset():
    async with showing(schema({"c": {"enum": [f"value {number}" for number in range(500)]}})) as (app, pilot):
        await pilot.press(*"473")
        assert app.form.arguments() == {"c": "value 473"}
        await pilot.press("enter")
        await until(pilot, lambda: "value 472" in app.text)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.form.arguments() == {"c": "value 474"})
        await pilot.press("ctrl+o")
        assert app.form.arguments() == {}


@pytest.mark.parametrize(
    ("type_", "steps"),
    [
        ("string", [("x", "x"), ("ctrl+n", "x"), ("ctrl+o", UNSET), ("ctrl+o", "")]),
        ("boolean", [("space", True), ("space", False), ("ctrl+n", False), ("ctrl+o", UNSET)]),
        (
            ["string", "null"],
            [
                *[("ctrl+o", ""), ("ctrl+n", None), ("x", "x"), ("ctrl+o", UNSET), ("ctrl+z", "x")],
                ("backspace", UNSET),
            ],
        ),
    ],
)
async def test_keys_that_set_a_field_and_unset_it(type_: Json, steps: list[tuple[str, Json]]):
    async with showing(schema({"a": {"type": type_}})) as (app, pilot):
        assert app.form.arguments() == {}
        for key, expected in steps:
            await pilot.press(key)
            assert app.form.arguments() == ({} if expected == UNSET else {"a": expected})
        assert ("^n" in app.text) is (type_ == ["string", "null"]), "only where null is permitted"


EMAIL: Json = {"a": {"type": "string", "format": "email"}}


@pytest.mark.parametrize(
    ("made", "values", "formats", "said", "sent"),
    [
        (schema(EMAIL), {"a": "nobody"}, False, '"nobody" is not a "email"', True),
        (schema(EMAIL), {"a": "nobody"}, True, '"nobody" is not a "email"', False),
        (schema({"c": {"enum": ["a", "b"]}}), {"c": "z"}, False, '"z" is not one of "a" or "b"', False),
        (
            {**schema({"a": {"type": "string"}}), "minProperties": 1},
            {},
            False,
            "{} has less than 1 property",
            False,
        ),
    ],
)
async def test_what_is_wrong_is_said_and_only_a_warning_is_sent(
    made: Json, values: dict[str, Json], formats: bool, said: str, sent: bool
):
    async with showing(made, values, formats=formats) as (app, pilot):
        assert app.submit() is sent
        await pilot.pause()
        assert said in app.text
        assert app.submitted == [values] * sent


async def test_suggestions_are_offered_and_nobody_has_to_take_them():
    async with showing(schema({"a": {"type": "string"}, "b": {"type": "string"}})) as (app, pilot):
        await pilot.press("x")
        await pilot.pause()
        app.form.offer("a", ["xylophone", "xenon"])
        app.form.offer("b", ["not here"])
        await pilot.pause()
        assert "xylophone" in app.text
        assert "not here" not in app.text
        await pilot.press("enter")
        assert app.form.arguments() == {"a": "x"}
        await pilot.press("shift+tab", "e")
        await pilot.pause()
        assert "xylophone" not in app.text
        await pilot.press("down")
        app.form.offer("a", ["xerox", "xenon"])  # a later answer leaves the cursor on its suggestion
        await pilot.press("enter")
        await pilot.pause()
        assert app.form.arguments() == {"a": "xenon"}


async def test_a_text_may_have_lines_and_enter_goes_on():
    async with showing(schema({"a": {"type": "string"}, "b": {"type": "string"}})) as (app, pilot):
        await pilot.press("1", "ctrl+j", "2", "enter", "3", "up", "up", "down", "4")
        assert app.form.arguments() == {"a": "1\n24", "b": "3"}


async def test_all_that_is_wrong_is_told_by_place_and_the_first_field_has_the_focus():
    item = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    async with showing(
        schema({"n": {"type": "integer"}, "items": {"type": "array", "items": item}}, "n", "items")
    ) as (app, pilot):
        app.form.fill({"items": [{"price": 1}, {}, {"price": "x"}]})
        await pilot.pause()
        assert not app.submit()
        await pilot.pause()
        assert app.form.row is not None
        assert app.form.row.field.name == "n"
        lines = [line.rstrip() for line in app.text.splitlines()]
        assert lines[lines.index("  items 2  ^o removes it") + 2].strip() == "required"
        assert "is not of type" in lines[lines.index("  items 3  ^o removes it") + 2]


ORDER: Json = schema(
    {
        "to": {
            "anyOf": [schema({"street": {"type": "string"}}, "street"), {"type": "null"}],
            "default": None,
        },
        "by": schema({"name": {"type": "string", "default": "me"}}),
        "items": {
            "type": "array",
            "items": schema({"sku": {"type": "string"}, "size": schema({"cm": {"type": "integer"}})}, "sku"),
        },
    },
    "by",
)


async def test_objects_and_items_are_added_and_removed_by_keys_and_what_is_seen_is_sent():
    async with showing(ORDER) as (app, pilot):
        sent = app.form.arguments
        assert sent() == {"by": {"name": "me"}}
        await rush(app, pilot, "enter", *"main")  # adds the first object; the focus goes to its first field
        assert sent() == {"to": {"street": "main"}, "by": {"name": "me"}}
        await rush(app, pilot, "tab", "tab", "enter", *"a", "tab", "enter", "7")
        await rush(app, pilot, *["shift+tab"] * 4, "enter", *"b")
        items: list[Json] = [{"sku": "a", "size": {"cm": 7}}, {"sku": "b"}]
        assert sent() == {"to": {"street": "main"}, "by": {"name": "me"}, "items": items}
        await rush(app, pilot, "ctrl+t", "ctrl+t")
        assert sent()["items"] == items, "also after the raw JSON"
        assert "2 items" in app.text
        row = next(row for row in app.query(FieldRow) if row.field.path == ("items", "0"))
        app.screen.set_focus(row.control)
        await rush(app, pilot, "ctrl+o")
        assert sent()["items"] == [{"sku": "b"}]
        await rush(app, pilot, "ctrl+o")
        assert "items" not in sent()
        await rush(app, pilot, "ctrl+o")
        assert sent()["items"] == []
        assert "empty list" in app.text
        await rush(app, pilot, *["shift+tab"] * 3, "ctrl+o")
        assert sent() == {"by": {"name": "me"}, "items": []}
        await rush(app, pilot, "ctrl+n")
        assert sent() == {"to": None, "by": {"name": "me"}, "items": []}
        assert app.submit()


async def test_earlier_arguments_fill_objects_and_items_again():
    values: dict[str, Json] = {"by": {}, "items": [{"sku": "a", "size": {}}, {"sku": "b"}]}
    async with showing(ORDER, values) as (app, pilot):
        assert app.form.arguments() == values
        lines = [" ".join(line.split()) for line in app.text.splitlines()]
        assert lines[:2] == ["to not set · enter adds it · object", "by"]
        assert "size ^o removes it" in lines
        assert "size not set · enter adds it · object" in lines
        app.form.fill({"by": {"name": "x"}, "items": [{"sku": "a", "more": 1}], "to": {"street": "s"}})
        await pilot.pause()
        assert app.form.arguments()["items"] == [{"sku": "a", "more": 1}], (
            "typed as JSON: a member has no field"
        )
        assert not app.form.as_json
