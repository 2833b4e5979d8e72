"""Schemas of real servers, and such as no server should send: every one becomes a form or JSON, within bounds."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from mcp_tui.client.arguments import ArgumentError, check_arguments, typed_arguments
from mcp_tui.client.forms import FORM_FIELDS, Field, FieldKind, FormLayout, Given, Unreadable, entry_of, read
from mcp_tui.client.schemas import REQUIRED
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.widgets.form import Form
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.form_text import about, vacant
from tests.tui.screens.host import showing

CORPUS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("corpus.json").read_text(encoding="utf-8"))
TOOLS: list[tuple[str, dict[str, Any]]] = [
    (each["package"], tool) for each in CORPUS for tool in each["tools"]
]

SOONER = 20.0
"""Seconds after which a bomb counts as having gone off: what is bounded takes a fraction of one."""


@cache
def layout_of(number: int) -> FormLayout:
    return FormLayout(TOOLS[number][1]["inputSchema"])


def leaves(layout: FormLayout) -> list[Field]:
    return [each for each in layout.fields if each.kind is not FieldKind.OBJECT]


EVERY = range(len(TOOLS))


def named(number: int) -> str:
    package, tool = TOOLS[number]
    return f"{package} {tool['name']}"


class TestCorpus:
    def test_every_schema_has_a_form_and_can_be_checked_against(self) -> None:
        unusable = [named(each) for each in EVERY if not layout_of(each).schema.usable]
        whole = {named(each): layout_of(each).whole for each in EVERY if layout_of(each).whole}
        assert (unusable, whole) == ([], {})

    def test_every_default_is_valid_or_reported(self) -> None:
        for each in EVERY:
            layout = layout_of(each)
            draft = layout.spread(layout.defaults())
            assert draft is not None, named(each)
            arguments, unreadable = layout.read(draft)
            told = layout.problems(draft)
            missing = [problem for problem in told if problem.text == REQUIRED]
            assert not unreadable, named(each)
            assert told == missing, named(each)
            if not missing:
                assert check_arguments(TOOLS[each][1]["inputSchema"], arguments) == ""

    @pytest.mark.parametrize(
        "text", ["", "x", "7", "null", "true", "[1]", "{", '"', "\ud800\x1b]52;c;x\x07", "9" * 5000]
    )
    def test_whatever_is_typed_into_a_field_is_a_value_or_one_sentence(self, text: str) -> None:
        from mcp_tui.client.forms import FieldEntry

        for each in EVERY:
            layout = layout_of(each)
            for leaf in leaves(layout):
                entry = FieldEntry(Given.TEXT, text)
                said = [*vacant(leaf, entry), *about(leaf, entry)]
                assert all("\x1b" not in piece for piece, _ in said)
                try:
                    said_of_it = json.dumps(read(leaf, entry))
                except Unreadable as error:
                    said_of_it = str(error)
                assert 0 < len(said_of_it) < 6000

    @pytest.mark.slow
    @pytest.mark.timeout(900)
    async def test_forms_go_to_json_and_back_before_they_are_drawn_and_lose_nothing(self) -> None:
        app = Showing()
        async with app.run_test(size=(80, 24)) as pilot:
            for _, tool in TOOLS[::4]:
                form = await app.show(Form(tool["inputSchema"]))
                before = form.arguments()
                for as_json in (True, False):
                    form.action_json()
                    assert form.as_json is as_json
                    assert form.arguments() == before
            await pilot.pause()


class Showing(App[None]):
    """One form after the other."""

    async def show(self, form: Form) -> Form:
        await self.screen.remove_children()
        await self.screen.mount(form)
        return form


# -- bombs -----------------------------------------------------------------------------------------------------


def deep(levels: int) -> Json:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"a": made}, "required": ["a"]}
    return made


EMPTY: dict[str, Json] = {}


def doubling(levels: int, keyword: str) -> Json:
    """Each level twice the one below: 2^levels applications."""
    defs: dict[str, Any] = {
        f"n{each}": {
            keyword: [{"$ref": f"#/$defs/n{each + 1}"}, {"$ref": f"#/$defs/n{each + 1}", "title": "b"}]
        }
        for each in range(levels)
    }
    return {
        "$ref": "#/$defs/n0",
        "$defs": {**defs, f"n{levels}": {"type": "object"}},
        "properties": {"a": {"$ref": "#/$defs/n0"}},
    }


def recursive() -> Json:
    """Twice itself at every level of the value, and a default that is deep."""
    default: dict[str, Any] = {}
    for _ in range(40):
        default = {"a": default}
    node = {
        "allOf": [
            {"properties": {"a": {"$ref": "#/$defs/n"}}},
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "title": "b"},
        ]
    }
    return {"properties": {"a": {"$ref": "#/$defs/n", "default": default}}, "$defs": {"n": node}}


def nested_choices(levels: int) -> Json:
    made: dict[str, Any] = {"const": 1}
    for _ in range(levels):
        made = {"anyOf": [made, made]}
    return {"properties": {"a": made}}


PATTERNS = ["^(a+)+$", "(.*a){30}", "^(a|aa)+$", "(?=(a+)+$)b", "([a-z]{1,900}){1,900}", "(x+x+)+y" * 60]

BOMBS: dict[str, Callable[[], Json]] = {
    "deep": lambda: deep(20),
    "deeper": lambda: deep(400),
    "deepest": lambda: deep(100_000),
    "wide": lambda: {"properties": {f"p{each}": {"type": "string"} for each in range(100_000)}},
    "wide inside": lambda: {
        "properties": {
            f"p{each}": {"type": "object", "properties": {f"q{inner}": EMPTY for inner in range(90)}}
            for each in range(90)
        }
    },
    "enum": lambda: {"properties": {"a": {"enum": [f"v{each}" for each in range(100_000)]}}},
    "titles": lambda: {
        "properties": {"a": {"oneOf": [{"const": each, "title": "t" * 1000} for each in range(900)]}}
    },
    "required": lambda: {"properties": {"a": EMPTY}, "required": [f"r{each}" for each in range(100_000)]},
    "allOf": lambda: doubling(60, "allOf"),
    "anyOf": lambda: doubling(60, "anyOf"),
    "oneOf": lambda: doubling(60, "oneOf"),
    "recursive": recursive,
    "choices": lambda: nested_choices(14),
    "alternatives": lambda: {
        "properties": {"a": {"$ref": "#/$defs/n0"}},
        "$defs": {
            **{f"n{each}": {"anyOf": [{"$ref": f"#/$defs/n{each + 1}"}] * 300} for each in range(9)},
            "n9": {"type": "string"},
        },
    },
    "itself": lambda: {"properties": {"a": {"$ref": "#/properties/a"}}},
    "whole": lambda: {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"items": {"$ref": "#"}, "type": "array"}},
    },
    "ring": lambda: {
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}},
    },
    "chain": lambda: {
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {
            **{f"d{each}": {"$ref": f"#/$defs/d{each + 1}"} for each in range(4000)},
            "d4000": {"type": "string"},
        },
    },
    "remote": lambda: {"properties": {"a": {"$ref": "other.json"}}},
    "dynamic": lambda: {"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}},
    "patterns": lambda: {
        "properties": {
            f"p{number}": {"type": "string", "pattern": each, "default": "a" * 5000 + "!"}
            for number, each in enumerate(PATTERNS)
        }
    },
    "many patterns": lambda: {
        "patternProperties": {f"^(a{{1,{each}}})*$": EMPTY for each in range(900, 1200)},
        "properties": {"a": EMPTY},
    },
    "long pattern": lambda: {
        "properties": {"a": {"type": "string", "pattern": "(a?)" * 50_000, "default": "a"}}
    },
    "default": lambda: {"properties": {"a": {"type": "string", "default": "x" * 2_000_000}}},
    "description": lambda: {"properties": {"a": {"type": "string", "description": "x" * 2_000_000}}},
    "unique": lambda: {
        "properties": {
            "a": {"type": "array", "uniqueItems": True, "default": [{"v": each} for each in range(5000)]}
        }
    },
    "digits": lambda: {"properties": {"a": {"type": "integer", "minimum": 10**4000, "default": 10**4000}}},
    "unevaluated": lambda: {
        "allOf": [doubling(40, "allOf")],
        "unevaluatedProperties": False,
        "properties": {"a": EMPTY},
    },
}


def bounded(work: Callable[[], None]) -> None:
    done = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            raised.append(error)
        done.set()

    threading.Thread(target=run, daemon=True).start()
    assert done.wait(SOONER), "the bomb went off"
    if raised:
        raise raised[0]


class TestBombs:
    @pytest.mark.parametrize("name", BOMBS)
    def test_a_bomb_is_a_form_or_json_within_bounds(self, name: str) -> None:
        schema = BOMBS[name]()

        def work() -> None:
            layout = FormLayout(schema)
            assert len(leaves(layout)) <= FORM_FIELDS
            draft = layout.spread(layout.defaults()) or {}
            layout.problems(draft)
            for leaf in leaves(layout):
                assert (
                    len("".join(piece for piece, _ in about(leaf, draft.get(leaf.path, entry_of(leaf, 1)))))
                    < 2000
                )
            check_arguments(schema, {"a": {"a": {"a": "x"}}})
            with contextlib.suppress(ArgumentError):
                typed_arguments(schema, [("a", "x")])

        bounded(work)

    @pytest.mark.slow
    async def test_it_opens_on_the_screen(self) -> None:
        async with showing() as (host, pilot):
            for name in ("wide", "enum", "patterns"):
                bomb = Entry("tools", {"name": "bomb", "inputSchema": BOMBS[name]()})
                await host.open(CallScreen([], preset=bomb))
                await pilot.pause()
                assert "^s Call" in host.shown
                await pilot.press("ctrl+t", "escape")

    @pytest.mark.parametrize(
        "name", ["deepest", "wide", "long pattern", "many patterns", "required", "default", "remote"]
    )
    def test_what_is_out_of_bounds_is_not_checked(self, name: str) -> None:
        assert not FormLayout(BOMBS[name]()).schema.usable
