"""The lists, and what is asked for by them: ``tools``, ``prompts``, ``prompt``, ``read``."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import SERVERS, Ran, run

TEXT = {"type": "string"}
KINDS = [
    {"properties": {"kind": TEXT, name: TEXT}, "required": ["kind", name]} for name in ("address", "phone")
]
PROMPTS = [{"name": "review", "arguments": [{"name": "code", "required": True}, {"name": "language"}]}]


def asked(results: dict[str, Any], *words: str) -> Ran:
    """What a command prints with a server that answers so."""
    server = (sys.executable, "-S", str(SERVERS / "results_server.py"), json.dumps(results))
    return run(*words, "--no-journal", "--", *server)


def test_arguments_of_branches_and_of_prompts_are_listed_with_optional_ones_in_brackets():
    tools = [{"name": "notify", "inputSchema": {"type": "object", "oneOf": KINDS}}]
    assert (
        asked({"tools/list": {"tools": tools}}, "tools").out
        == "notify kind address | kind phone  255 B, ≈ 64 tokens\n"
    )
    assert asked({"prompts/list": {"prompts": PROMPTS}}, "prompts").out == "review code [language]\n"


DOWN = {"error": {"code": -32603, "message": "database is down"}}
FAILING = {"tools/list": DOWN, "prompts/list": DOWN, "resources/list": DOWN, "resources/templates/list": DOWN}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("call hello", Exit.COMPLETED, "Calling the tool without its definition."),
        ("prompt hello", Exit.COMPLETED, "Getting the prompt without its definition."),
        ("read hello name=x", Exit.SERVER_ERROR, "mcp-tui: Template 'hello' not found: "),
        ("probe --tool hello", Exit.SERVER_ERROR, "whether there is a tool 'hello' is not known."),
        ("probe --tool x --before hello", Exit.SERVER_ERROR, "whether there is a tool 'hello' is not known."),
        ("doctor", Exit.BROKEN_RULE, "stops when told to: not observable, "),
        pytest.param("probe", Exit.SERVER_ERROR, "needs a slow tool; ", marks=pytest.mark.slow),
    ],
)
def test_a_list_that_failed_is_no_empty_list(words: str, status: Exit, said: str):
    command, *rest = words.split()
    method = {"prompt": "prompts/list", "read": "resources/templates/list"}.get(command, "tools/list")
    got: dict[str, Any] = (
        {"messages": []} if method == "prompts/list" else {"content": [{"type": "text", "text": "hello"}]}
    )
    ran = asked({**FAILING, "hello": got}, command, *rest)
    told = ran.out + ran.err
    assert f"{method} failed: database is down (error -32603)" in told, told
    assert said in told, told
    assert "no tool" not in told, told
    assert "none found" not in told, told
    assert ran.status == status, told


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_a_list_lacks_is_told_on_stderr(options: tuple[str, ...]):
    page = {"tools": [{"name": "a"}, 5], "nextCursor": "again"}
    ran = asked({"tools/list": page}, "tools", *options)
    assert ran.status == Exit.COMPLETED
    assert "tools/list gave the cursor 'again' twice" in ran.err
    assert "skipped 1 of 2 tools that are not objects" in ran.err
    assert not options or json.loads(ran.out) == [{"name": "a"}] * 2


def test_tools_show_what_each_costs_a_model_and_are_sorted_by_it_or_by_recorded_results():
    listed = run("tools", "--demo")
    assert re.search(r"^echo text  +225 B, ≈ 57 tokens  +Responds", listed.out, re.MULTILINE)
    assert re.fullmatch(r"15 tools: 4\.\d kB, ≈ 1,\d+ tokens of a model's context\n", listed.err)

    def order(by: str) -> list[str]:
        names = [line.split()[0] for line in run("tools", "--sort", by, "--demo").out.splitlines()]
        assert [
            each["name"] for each in json.loads(run("tools", "--sort", by, "--json", "--demo").out)
        ] == names
        return names

    assert order("cost")[0] == "count"
    assert order("results")[0] == "echo"  # nothing is recorded: the server's order
    assert run("call", "big", "megabytes=0.1", "--demo").status == Exit.COMPLETED
    assert order("results")[0] == "big"
    sized = run("tools", "--sort", "results", "--demo").out.splitlines()
    assert re.match(r"big \[megabytes\]  +results up to 10\d\.\d kB  +296 B, ≈ 74 tokens  ", sized[0])
    assert "results unknown" in sized[1]


def test_costs_are_in_one_column_behind_names_and_arguments_of_any_length():
    long = {"properties": {"a_long_name_of_an_argument": TEXT}, "required": ["a_long_name_of_an_argument"]}
    tools = [{"name": "a", "description": "A"}, {"name": "notify", "inputSchema": long}]
    one, other = asked({"tools/list": {"tools": tools}}, "tools").out.splitlines()
    assert one.index(" B, ≈") - 2 == other.index("1") == len("notify a_long_name_of_an_argument  ")


def test_strict_names_each_broken_rule_and_exits_with_9():
    sound = {"name": "a", "description": "A", "inputSchema": {"type": "object"}}
    page = {"tools": [sound, {**sound, "name": "b\x1b c"}, 5]}
    ran = asked({"tools/list": page}, "tools", "--strict")
    assert (ran.status, ran.out.splitlines()) == (
        Exit.BROKEN_RULE,
        [
            "L-01  a tool has a name of 1 to 64 letters, digits, _, and -",
            "      b␛ c  many clients refuse this name",
            "L-13  the list is whole",
            "      tools/list: skipped 1 of 3 tools that are not objects",
        ],
    )
    assert ran.err.splitlines()[-1] == "2 tools: 2 of 13 rules broken"
    ran = asked({"tools/list": page}, "tools", "--strict", "--json")
    first, second = json.loads(ran.out)
    said = "many clients refuse this name"
    assert first == {"rule": "L-01", "tool": "b\x1b c", "path": "", "detail": said}
    assert (second["rule"], second["tool"]) == ("L-13", None)


@pytest.mark.parametrize("options", [(), ("--protocol", "2025-11-25")])
def test_the_demo_server_breaks_no_rule(options: tuple[str, ...]):
    ran = run("tools", "--strict", "--demo", "--no-journal", *options)
    assert (ran.status, ran.out, ran.err) == (Exit.COMPLETED, "", "15 tools: no rule broken\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["review"], "code is required. It takes code [language]."),
        (["review", "code=x", "lang=y"], "unknown argument 'lang'. It takes code [language]."),
        (["review", "lang=y"], "unknown argument 'lang'; code is required. It takes code [language]."),
        (["review", "--args", '{"code": 5}'], "'code' must be text."),
    ],
)
def test_arguments_that_a_prompt_does_not_take_are_refused(words: list[str], said: str):
    ran = asked({"prompts/list": {"prompts": PROMPTS}}, "prompt", *words)
    ran.sentence(Exit.USAGE, f"Invalid arguments for 'review': {said}")


def test_a_prompt_that_is_not_listed_is_asked_for_with_texts():
    block = {"role": "user", "content": {"type": "text", "text": "Hi"}}
    ran = asked(
        {"prompts/list": {"prompts": PROMPTS}, "prompts/get": {"messages": [block]}}, "prompt", "revew", "n=5"
    )
    assert (ran.status, ran.out) == (Exit.COMPLETED, "user: Hi\n")
    assert "does not list a prompt 'revew' (getting it anyway). Did you mean 'review'?" in ran.err


@pytest.mark.parametrize("subject", ["demo://square/{n}", "square", "demo://{kind}/7"])
def test_a_template_is_filled_in_from_names_and_values(subject: str):
    pair = "kind=square" if "kind" in subject else "n=7"
    ran = run("read", pair, subject, "--demo", "--no-journal")
    assert (ran.status, ran.out) == (Exit.COMPLETED, "49\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["demo://square/{n}"], "n is required. It takes n."),
        (["square", "n=1", "m=2"], "unknown argument 'm'. It takes n."),
        (["demo://square/7", "n=1"], "not a URI template, and the server lists none of this name."),
        (["demo://square/{n", "n=1"], "unmatched brace at 15."),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_not_read(words: list[str], said: str):
    run("read", *words, "--demo", "--no-journal").sentence(Exit.USAGE, said)


def test_a_uri_with_an_equals_sign_is_no_value_of_a_template():
    ran = run("read", "demo://square/7?a=b", "--demo", "--no-journal")
    assert "Missing URI" not in ran.err
