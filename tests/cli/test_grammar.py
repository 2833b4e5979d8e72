"""Plain command lines are parsed without argparse, and as argparse parses them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from mcp_tui.cli.grammar import plain_options
from mcp_tui.cli.options import COMMANDS, options_of
from mcp_tui.cli.parser import parser

VALUES = (
    "",
    "-",
    "1",
    "0.5",
    "-1",
    "auto",
    "http",
    "har",
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
