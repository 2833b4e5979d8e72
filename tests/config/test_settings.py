"""The settings file: what is in force, what is wrong with it and where, and the example that says it all."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path

import pytest

from mcp_tui.cli.config import example
from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.config.settings import DEFAULTS, KNOBS, Loaded, Settings, every_value, load
from mcp_tui.protocol.states import Limits


def read(tmp_path: Path, text: str, **env: str) -> Loaded:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load(env, file)


def test_the_example_parses_to_the_defaults_and_names_every_setting(tmp_path: Path):
    found = read(tmp_path, example())
    assert (found.settings, found.problems, found.wrong) == (DEFAULTS, (), ())
    table = tomllib.loads(example())
    for each in fields(Settings):
        value, name = getattr(DEFAULTS, each.name), each.name.replace("_", "-")
        if is_dataclass(value):
            assert {inner.name.replace("_", "-") for inner in fields(value)} == set(table[name])
        elif name != "servers":  # a table for each server: shown as a comment
            assert name in table
    values = every_value(DEFAULTS)
    for knob in KNOBS:
        assert knob.default == values[knob.key]
        assert knob.variable in example()


def test_the_guard_of_a_tool_is_its_own_setting_else_that_of_its_server_else_the_general_one() -> None:
    tools = {"pay": {"once": True}, "look": {"once": False}, "odd": {"once": 3}}
    policy = OncePolicy(
        {"once": ["a"], "servers": {"mail": {"once": True, "tools": tools}, "off": {"once": False}}}
    )
    asked = [
        ("mail", "send"),
        ("mail", "look"),
        ("mail", "odd"),
        ("off", "a"),
        ("other", "a"),
        ("other", "b"),
    ]
    found = [policy.guards(server, tool, is_safe=False) for server, tool in asked]
    assert found == [True, False, True, False, True, False]
    # What is named is guarded, whatever the server says about it.
    assert policy.guards("mail", "pay", is_safe=True)
    assert policy.guards("other", "a", is_safe=True)
    assert not policy.guards("mail", "send", is_safe=True)
    assert not OncePolicy({"once": False, "servers": {"a": {}}}).guards_any
    assert OncePolicy({"servers": {"mail": {"tools": tools}}}).guards_any


def test_what_is_commented_out_in_the_example_is_right_too(tmp_path: Path):
    lines = [line.removeprefix("# ") for line in example().splitlines()]
    servers = lines[lines.index("[servers.everything]") : lines.index("[tap]")]
    servers += lines[lines.index("[tap.servers.everything]") : lines.index("[tap.servers]")]
    keys = ["[keys]", *(line for line in lines if re.match(r'"[a-z.]+" = ', line))]
    found = read(tmp_path, "\n".join(line.removeprefix("#") for line in (*servers, *keys)))
    assert (found.problems, found.wrong) == ((), ())
    assert found.settings.limits_of("everything", "longRunningOperation") == (120, 3600, "cancel")
    policy = found.settings.tap
    assert OncePolicy(asdict(policy)).tools("everything") == ["send-mail"]
    assert policy.limits_of("everything", "longRunningOperation") == Limits(timeout=None, max_timeout=3600)
    assert policy.limits_of("everything", "echo", timeout=0, max_timeout=None) == Limits(
        timeout=None, max_timeout=300
    )
    assert policy.limits_of("everything", "longRunningOperation", 5, 7) == Limits(timeout=5, max_timeout=7)
    assert policy.limits_of("other") == Limits(timeout=None, max_timeout=None)
    assert found.settings.keys == {"request.cancel": "x", "app.help": "f1,question_mark"}


def test_each_value_says_where_it_came_from(tmp_path: Path):
    text = "\n[limits]\ntimeout = 5\nmax_timeout = 7.5\n"
    found = read(tmp_path, text, MCP_TUI_MAX_TIMEOUT="9", MCP_TUI_THEME="2024")
    limits = found.settings.limits
    assert (limits.timeout, limits.max_timeout, found.settings.theme) == (5, 9, "2024")
    assert found.origins["limits.timeout"] == f"{found.file}:3"
    assert found.origins["limits.max-timeout"] == "MCP_TUI_MAX_TIMEOUT"
    assert found.origins["theme"] == "MCP_TUI_THEME"
    assert "limits.connect-timeout" not in found.origins


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('timers = "fast"', "1: timers must be 'live', 'slow' or 'off', not 'fast'"),
        ("\nascii = 5", "2: ascii must be true, false or 'auto', not 5"),
        ('[limits]\ntimeout = "60"', "2: limits.timeout must be a number, not '60'"),
        ("limits.max-message = 0", "1: limits.max-message must be greater than 0, not 0"),
        ("[limits]\ntimeout = -1", "2: limits.timeout must be greater than or equal to 0, not -1"),
        ("[limits]\ntimeout = nan", "2: limits.timeout must be "),
        (
            '[servers."a b".tools.c]\nmax-timeout = true',
            "2: servers.a b.tools.c.max-timeout must be a number, not true",
        ),
        ('[journal]\nkeep = "yes"', "2: journal.keep must be true or false, not 'yes'"),
        ("[journal]\ndays = 1.5", "2: journal.days must be a whole number, not 1.5"),
        ('[keys]\n"request.cancel" = 5', "2: keys.request.cancel must be a string, not 5"),
        ('roots = "/"', "1: roots must be a list, not '/'"),
        ("limits = 5", "1: limits must be a table, not 5"),
        ("theme = 2024-01-01", "1: theme should"),
        ('theme = "a"\ntheme = "b"', "2:"),
        ("theme = dark", "1:9: not valid TOML (invalid value)"),
    ],
)
def test_a_wrong_value_is_told_with_its_line_and_key(tmp_path: Path, text: str, sentence: str):
    found = read(tmp_path, text)
    if text.startswith("theme = 2024"):  # a date is written as a text, and is no theme's name either
        assert found.settings.theme == "2024-01-01"
        return
    (wrong,) = found.wrong
    assert wrong.startswith(f"{found.file}:{sentence}")


def test_unknown_keys_are_told_and_everything_else_holds(tmp_path: Path):
    text = 'themee = "x"\ntimers = "slow"\n[limits]\nidle = 3\n[servers.a.tools.b]\nmax-timout = 3\ntimeout = 4\n[plugins]\n'
    found = read(tmp_path, text)
    assert found.wrong == ()
    assert found.problems == (
        f"{found.file}:1: unknown setting 'themee'; did you mean 'theme'?",
        f"{found.file}:4: unknown setting 'limits.idle'; did you mean 'timeout'?",
        f"{found.file}:6: unknown setting 'servers.a.tools.b.max-timout'; did you mean 'max-timeout'?",
        f"{found.file}:8: unknown setting 'plugins'",
    )
    assert read(tmp_path, "timeout = 3\n").problems == (
        f"{found.file}:1: unknown setting 'timeout'; did you mean 'limits.timeout'?",
    )
    assert found.settings.timers == "slow"
    assert found.settings.limits_of("a", "b") == (4, 600, "ask")


def test_a_name_may_have_lines_for_dashes_but_names_of_servers_and_tools_are_their_own(tmp_path: Path):
    found = read(tmp_path, "log_level = 'off'\n[servers.a_b.tools.c_d]\nmax_timeout = 3\n")
    assert (found.problems, found.wrong, found.settings.log_level) == ((), (), "off")
    assert found.origins["log-level"] == f"{found.file}:1"
    assert found.settings.limits_of("a_b", "c_d") == (60, 3, "ask")


def test_limits_of_a_tool_go_before_its_server_s_and_those_before_all_others(tmp_path: Path):
    text = """
[limits]
timeout = 1
max-timeout = 2
[servers.a]
timeout = 10
on-timeout = "cancel"
[servers.a.tools.t]
max-timeout = 0
"""
    limits_of = read(tmp_path, text).settings.limits_of
    assert limits_of("a", "t") == (10, 0, "cancel")
    assert limits_of("a", "other") == (10, 2, "cancel")
    assert limits_of("b", "t") == (1, 2, "ask")
