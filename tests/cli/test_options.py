"""The table of commands, and what the first pass over the words knows of their options."""

from __future__ import annotations

from importlib import import_module

import pytest

from mcp_tui.cli.grammar import parser
from mcp_tui.cli.options import COMMANDS, VALUED


def test_the_first_pass_knows_every_option_that_takes_a_value() -> None:
    taking = {
        option
        for name in (None, *COMMANDS)
        for action in parser(name)._actions
        if action.option_strings and action.nargs != 0
        for option in action.option_strings
    }

    assert taking == VALUED


@pytest.mark.parametrize("name", COMMANDS)
def test_the_module_of_each_command_runs_it(name: str) -> None:
    assert callable(import_module(f"mcp_tui.cli.{COMMANDS[name].module}").run)
