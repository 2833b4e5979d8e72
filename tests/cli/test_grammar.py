"""Plain command lines are parsed without argparse, and as argparse parses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mcp_tui.cli.grammar import plain_options, read
from mcp_tui.cli.options import COMMANDS, options_of
from mcp_tui.cli.output import Failure
from mcp_tui.cli.parser import parser
from mcp_tui.config.tap_words import OPTIONS
from mcp_tui.tap.start import quick
from tests.cases import cases

VALUES = (
    "",
    "-",
    "1",
    "0.5",
    "-1",
    "auto",
    "http",
    "csv",
    "a b",
    "NAME=x=y",
    "-x",
    "http://127.0.0.1:1/mcp",
    "max",
)


@some.composite
def lines(draw: some.DrawFn) -> tuple[str | None, list[str]]:
    name = draw(some.sampled_from([None, *COMMANDS]))
    options = [each for option in options_of(name) for each in option.names]
    option = some.sampled_from([*options, "--nonsense", "-h"])
    value = some.sampled_from(VALUES)
    assigned = some.tuples(option, value).map("=".join)
    spaced = some.tuples(option, value).map(list)
    pieces = some.lists(
        some.one_of(value.map(lambda it: [it]), assigned.map(lambda it: [it]), spaced), max_size=6
    )
    return name, [word for piece in draw(pieces) for word in piece]


@given(lines())
def test_what_is_parsed_without_argparse_is_what_argparse_makes_of_it(
    line: tuple[str | None, list[str]],
) -> None:
    name, words = line
    plain = plain_options(name, words)
    if plain is not None:
        assert vars(plain) == vars(parser(name).parse_intermixed_args(words))


def test_a_plain_command_line_needs_no_argparse() -> None:
    made = plain_options("call", ["echo", "--timeout", "3", "text=hi", "-e", "A=b", "--json", "-e", "C=d"])
    assert made is not None
    assert (made.words, made.timeout, made.env, made.json) == (["echo", "text=hi"], 3.0, ["A=b", "C=d"], True)
    assert plain_options("call", ["echo", "--timeout", "soon"]) is None


@cases(
    ("line", "options", "command", "is_quick"),
    [
        ("tap -- npx -y s", {}, "npx -y s", True),
        ("tap npx -y s", {}, "npx -y s", True),
        ("tap --max-timeout 60 npx -y s", {"max_timeout": 60}, "npx -y s", True),
        ("tap --max-timeout=60 --name n -- s -- x", {"max_timeout": 60, "name": "n"}, "s -- x", True),
        ("tap --timeout 5 s --timeout 6 -- --name n", {"timeout": 5}, "s --timeout 6 -- --name n", True),
        ("tap --record r tap tap", {"record": "r"}, "tap tap", True),
        ("tap -- install x", {}, "install x", True),
        ("tap --keep-secrets --record r s", {"keep_secrets": True, "record": "r"}, "s", False),
        ("--timeout 5 tap s", {"timeout": 5}, "s", False),
        ("tap --http 7000 http://h/mcp --timeout 5", {"http": 7000, "timeout": 5}, None, False),
        ("tap http://h/mcp --http 7000", {"http": 7000}, None, False),
        ("tap HTTPS://h/mcp", {}, None, False),
        ("tap --all install --yes", {"all": True, "yes": True}, None, False),
        ("tap install x --config f --timeout 5", {"config": "f", "timeout": 5}, None, False),
        ("tap", {}, None, False),
    ],
)
def test_the_command_of_a_tap_begins_behind_its_options(
    line: str, options: dict[str, object], command: str | None, is_quick: bool
) -> None:
    words = read(line.split())
    assert words.command == (command and command.split())
    given = {key: value for key, value in vars(words.options).items() if value not in (None, False, [])}
    given.pop("words", None)
    assert given == options
    assert quick(line.split()) == ((options, words.command) if is_quick else None)


@cases(
    "line",
    [
        "tap --name --timeout 5 s",
        "tap --name -- s",
        "tap --max-timeout s",
        "tap --timeout x s",
        "tap --foo bar s",
    ],
)
def test_an_option_of_a_tap_that_is_wrong_is_not_taken_for_its_command(line: str) -> None:
    assert quick(line.split()) is None
    try:
        read(line.split())
    except Failure:
        return
    raise AssertionError(line)


@cases(
    ("former", "now"),
    [("--install a", "install NAME"), ("--uninstall=a", "uninstall NAME"), ("--status", "status")],
)
def test_a_former_option_of_a_tap_names_its_subcommand(former: str, now: str) -> None:
    with pytest.raises(Failure, match=rf"is now a command. Use mcp-tui tap {now}$"):
        read(["tap", *former.split(), "--yes"])


def test_the_options_of_a_tap_are_those_that_its_start_knows() -> None:
    elsewhere = {"--all", "--client", "--config", "--serve", "--allow-cancel", "--yes", "--json", "--version"}
    own = [option for option in options_of("tap") if not elsewhere & {*option.names}]
    takes = {name: option.takes_value for option in own for name in option.names}
    assert takes == {name: kind != "switch" for name, kind in OPTIONS.items()}


def test_a_filter_that_begins_with_a_dash_needs_no_equals_sign() -> None:
    given = read(["check", "--fail-on", "-state:completed", "a.jsonl", "--expect", "-poll", "--json"])
    assert (given.options.fail_on, given.options.expect) == (["-state:completed"], ["-poll"])
    assert (given.options.json, given.words) == (True, ["a.jsonl"])


def test_a_number_and_a_filter_are_one_value() -> None:
    given = read(["check", "--at-most", "2", "-state:completed", "a.jsonl", "--at-most", "3 name:poll"])
    assert given.options.at_most == [(2, "-state:completed"), (3, "name:poll")]
    assert read(["check", "--at-least", "2", "-state:late"]).options.at_least == [(2, "-state:late")]
    assert given.words == ["a.jsonl"]
