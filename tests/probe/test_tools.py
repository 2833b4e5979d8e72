"""Which tools look slow and harmless, and what they are told to take their time."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.probe.tool_choice import NamedTool, Unsuitable, candidates, named_tool, rated, task_choice, words
from tests.cases import cases

READS = {"readOnlyHint": True}
DESTROYS = {"destructiveHint": True}


def tool(
    name: str, annotations: dict[str, Any] | None = None, said: str = "", /, **properties: dict[str, Any]
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    made: dict[str, Any] = {"name": name, "description": said, "inputSchema": schema}
    return made if annotations is None else {**made, "annotations": annotations}


def number(**more: Any) -> dict[str, Any]:
    return {"type": "number", **more}


@cases(
    ("name", "found"),
    [
        ("sleepTime_ms", {"sleep", "time", "ms"}),
        ("long-running.operation2", {"long", "running", "operation", "2"}),
        ("HTTPDelay", {"http", "delay"}),
    ],
)
def test_the_words_of_a_name(name: str, found: set[str]):
    assert words(name) == found


@cases(
    ("argument", "schema", "value"),
    [
        ("seconds", number(), 2),
        ("duration", number(default=10), 2),
        ("duration", number(default=5000), 2000),
        ("duration", number(description="How long, in milliseconds (at most 60 seconds)"), 2000),
        ("durationMs", number(), 2000),
        ("delay_ms", {"type": "integer"}, 2000),
        ("minutes", number(), 2 / 60),
        ("seconds", {"type": "integer", "maximum": 1}, 1),
        ("seconds", number(minimum=3), 3),
        ("seconds", number(exclusiveMaximum=2), 1.999),
        ("wait", {"type": ["integer", "null"]}, 2),
        ("sleep", {"anyOf": [{"type": "number"}, {"type": "null"}]}, 2),
    ],
)
def test_an_argument_that_says_how_long_is_set_to_about_two_seconds(
    argument: str, schema: dict[str, Any], value: float
):
    (choice,) = candidates([tool("slow", None, "", **{argument: schema})])
    assert choice.arguments == {argument: pytest.approx(value)}


@cases(
    ("argument", "schema"),
    [
        ("timeout", number()),
        ("seconds", {"type": "string"}),
        ("interval_ms", number()),
        ("count", number()),
        ("length", number(description="seconds")),
        ("max_seconds", number()),
        ("limit", number(default=10)),
        ("page_size", number()),
        ("time", number(description="Unix timestamp")),
    ],
)
def test_other_arguments_say_nothing_of_it(argument: str, schema: dict[str, Any]):
    assert candidates([tool("frobnicate", READS, "", **{argument: schema})]) == []


def test_time_is_a_duration_only_where_a_description_says_so():
    (choice,) = candidates([tool("page", READS, "Waits for some seconds", time=number())])
    assert choice.arguments == {"time": 2}


def test_no_value_is_invented_for_what_names_a_thing_on_the_server():
    waits = tool("wait_for_process", READS, "Waits until it ends", pid={"type": "integer"})
    waits["inputSchema"]["required"] = ["pid"]
    (rating,) = rated([waits])
    assert rating.choice is None
    assert rating.why_not == "only you know a value for pid"
    assert rating.usage == (("pid", "VALUE"),)


def test_tools_that_are_not_taken_have_a_reason_and_the_worst_come_last():
    tools = [
        tool("wipe", DESTROYS, seconds=number()),
        tool("delete_slowly", None, seconds=number()),
        tool("text", READS, length=number()),
        tool("sleep", None, seconds=number()),
    ]
    assert [(each.name, each.why_not) for each in rated(tools)] == [
        ("sleep", ""),
        ("text", "nothing in its name and schema says how long it takes"),
        ("delete_slowly", "its name says that it changes something (delete)"),
        ("wipe", "it is marked as destructive"),
    ]


def test_steps_are_set_beside_a_duration_and_left_alone_without_one():
    (choice,) = candidates(
        [tool("work", None, duration=number(default=10), steps={"type": "integer", "default": 5})]
    )
    assert choice.arguments == {"duration": 2, "steps": 10}
    assert choice.brief == {"duration": 0.2, "steps": 10}
    (choice,) = candidates([tool("slow", None, "Takes its time", steps={"type": "integer", "default": 5})])
    assert choice.arguments == {"steps": 5}
    assert choice.brief is None


def test_what_is_required_beside_is_given_the_least():
    least = {"seconds": 1, "text": "probe", "mode": "fast", "on": False, "nothing": None}
    more = {f"more{each}": {"type": "string"} for each in range(200)}
    types = {"text": {"type": "string"}, "on": {"type": "boolean"}, "nothing": {"type": "null"}}
    elsewhere = {"seconds": {"$ref": "#/$defs/length"}, "mode": {"$ref": "#/$defs/mode"}}
    schema = tool("slow", None, "", **types, **elsewhere, **more)
    definitions = {"length": number(maximum=1), "mode": {"enum": ["fast", "slow"]}}
    schema["inputSchema"] |= {"required": [*least], "$defs": definitions}
    (choice,) = candidates([schema])
    assert choice.arguments == least


@cases(
    ("name", "annotations"),
    [
        *(("sleep", DESTROYS), ("count", {**READS, **DESTROYS})),
        *((name, None) for name in ("delete_slowly", "send_delayed", "runShell")),
    ],
)
def test_what_may_do_harm_is_no_candidate(name: str, annotations: dict[str, Any] | None):
    assert candidates([tool(name, annotations, seconds=number())]) == []


@cases(
    ("name", "annotations", "said", "is_one"),
    [
        ("slow_thing", None, "Takes some seconds", True),
        ("long_running", None, "Takes a while", True),
        ("slow_thing", None, "Does a thing", False),
        ("batch", None, "Takes some seconds", False),
        ("batch", READS, "Takes some seconds", True),
        ("echo", READS, "Takes no time", False),
    ],
)
def test_a_name_must_say_much_and_a_description_speak_of_time(
    name: str, annotations: dict[str, Any] | None, said: str, is_one: bool
):
    assert bool(candidates([tool(name, annotations, said)])) is is_one


def test_the_likeliest_comes_first():
    tools = [
        tool("echo", READS, text={"type": "string"}),
        tool("wait", None, "Waits some seconds"),
        tool("stubborn", READS, seconds=number()),
        tool("count", READS, seconds=number(), steps={"type": "integer"}),
    ]
    assert [choice.name for choice in candidates(tools)] == ["count", "stubborn", "wait"]
    assert candidates(tools)[0].why == ("its argument seconds", "its name", "readOnlyHint")


@cases("broken", [{}, {"name": 5}, {"name": "sleep", "inputSchema": [], "annotations": "yes"}])
def test_whatever_a_server_lists_is_borne(broken: dict[str, Any]):
    assert len(candidates([broken])) <= 1


def test_the_tool_that_was_asked_for_gets_what_it_was_not_told():
    tools = [tool("crash", DESTROYS, seconds=number(), steps={"type": "integer"})]
    choice = named_tool(NamedTool("crash", (("steps", "3"),)), tools)
    assert choice.arguments == {"seconds": 2, "steps": 3}
    assert choice.destructive
    given = named_tool(NamedTool("crash", (("seconds", "7"),)), tools)
    assert given.arguments["seconds"] == 7
    assert given.brief == {"seconds": 0.2, "steps": 10}


def test_the_tool_that_was_asked_for_is_refused_in_a_sentence():
    tools = [tool("wait"), tool("sleep", None, seconds=number())]
    for wish, offered, why in (
        (NamedTool("x"), [], "no tool 'x': it offers no tools"),
        (NamedTool("sloth"), tools, "no tool 'sloth': it offers wait, sleep"),
        (
            NamedTool("sleep", (("seconds", "a while"),)),
            tools,
            "sleep: seconds must be a number, not 'a while'",
        ),
        (NamedTool("sleep", arguments={"seconds": "x"}), tools, "sleep: seconds"),
    ):
        with pytest.raises(Unsuitable, match=why):
            named_tool(wish, offered)


def test_a_tool_that_must_be_a_task_is_run_as_one_alone():
    needed = {**tool("slow", None, seconds=number()), "execution": {"taskSupport": "required"}}
    assert candidates([needed]) == []
    choice = task_choice([needed], None, NamedTool())
    assert choice is not None
    assert choice.arguments == {"seconds": 2}
    assert task_choice([tool("slow", None, seconds=number())], None, NamedTool()) is None
