"""``config``, what the settings do to commands, and saved calls, each as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config import files, saved
from mcp_tui.config.saved import SavedCall, server_of
from mcp_tui.config.settings import DEFAULTS
from tests.cli.running import HANDSHAKE, MCP_TUI, run
from tests.waiting import HANG


def settings(text: str) -> Path:
    file = files.settings_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_every_value_has_its_origin():
    file = settings('\n[limits]\ntimeout = 5\nmax-timeout = 50\n[keys]\n"request.cancel" = "x"\n')
    ran = run("config", "--json", "--timeout", "7", "--no-journal", MCP_TUI_MAX_TIMEOUT="70")
    whole = json.loads(ran.out)
    assert whole["values"]["limits.timeout"] == {"value": 7.0, "from": "command line"}
    assert whole["values"]["limits.max-timeout"] == {"value": 70.0, "from": "MCP_TUI_MAX_TIMEOUT"}
    assert whole["values"]["journal.keep"] == {"value": False, "from": "command line"}
    assert whole["values"]["keys.request.cancel"] == {"value": "x", "from": f"{file}:6"}
    assert whole["values"]["theme"] == {"value": "auto", "from": "default"}
    assert whole["places"]["settings"] == {"path": str(file), "exists": True}
    assert whole["problems"] == []


def test_a_settings_file_is_checked_where_the_start_spared_modules():
    settings('timers = "off"\n')
    ran = run("config", "--json", PYTHONUTF8="1")  # a process of its own from the beginning
    assert (ran.status, json.loads(ran.out)["values"]["timers"]["value"]) == (0, "off")


def test_a_wrong_value_stops_commands_with_its_line_and_config_tells_all():
    file = settings('timers = "fast"\n[limits]\ntimeout = "x"\nidle = 1\n')
    more = "(and 1 more; see mcp-tui config)"
    run("info", "--demo").sentence(Exit.USAGE, f"{file}:1: timers must be", more)
    ran = run("config")
    assert ran.status == Exit.USAGE
    assert [line.split(":")[2] for line in ran.err.splitlines()] == ["1", "3", "4"]
    assert "limits.timeout" in ran.out


def test_an_unknown_key_is_told_and_stops_nothing():
    file = settings("themme = 1\n")
    ran = run("call", "echo", "text=hi", "--demo", "--no-journal")
    assert (ran.status, ran.out) == (0, "hi\n")
    assert ran.err.splitlines()[0] == f"mcp-tui: {file}:1: unknown setting 'themme'; did you mean 'theme'?"


def test_of_each_key_that_cannot_be_had_it_is_said_in_which_line_it_stands():
    file = settings('[keys]\n"request.cancel" = "enter"\n"request.nwe" = "x"\n')
    ran = run("config")
    unknown, clash = sorted(ran.err.splitlines(), key=lambda line: "means" in line)
    means = "enter already means Detail (requests.activate)"
    assert clash == f"mcp-tui: {file}:2: request.cancel = 'enter': {means}"
    assert unknown.startswith(f"mcp-tui: {file}:3: unknown action request.nwe; did you mean request.new")
    assert "request.cancel" in run("config", "--keys").out


@pytest.mark.parametrize(
    ("text", "words", "env", "waited"),
    [
        ("limits.timeout = 0.4", (), {}, "0.4"),
        ("servers.demo.timeout = 30", (), {"MCP_TUI_TIMEOUT": "30"}, ""),
        ("servers.demo.tools.silent.timeout = 30", ("--timeout", "0.3"), {}, "0.3"),
    ],
)
def test_limits_come_from_option_tool_server_variable_or_file(
    text: str, words: tuple[str, ...], env: dict[str, str], waited: str
):
    settings(text)
    cancel = () if waited else ("--cancel-after", "0.2")
    options = ("--demo", "--no-journal", "--linger", "0", "--protocol", HANDSHAKE, "--json")
    ran = run("call", "silent", *options, *words, *cancel, cwd=None, **env)
    assert ran.outcome["state"] == ("timed_out" if waited else "cancelled")
    assert ran.outcome["reason"] == (f"timed out after {waited} s" if waited else ran.outcome["reason"])


DEMO = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), name="demo")
PLAIN = StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), env={"SOME": "thing"})


def save(name: str, target: StdioTarget, tool: str, **arguments: object) -> None:
    call = SavedCall(name=name, tool=tool, arguments=dict(arguments), server=server_of(target))
    saved.save(DEFAULTS.saved_folder, call)


def test_a_saved_call_runs_on_its_server_with_what_the_words_change():
    save("hello", DEMO, "echo", text="kept")
    save("sum", PLAIN, "add", a=1, b=2)
    assert run("call", "--saved", "hello").out == "kept\n"
    assert run("call", "--saved", "hello", "text=changed").out == "changed\n"
    assert run("call", "--saved", "sum", "--args", '{"b": 40}', SOME="thing").out == "41\n"
    assert run("call", "--saved", "sum", "--demo").out == "3\n"
    assert "The value of 'SOME' was not saved" in run("call", "--saved", "sum").err


def test_a_saved_call_on_a_named_server_asks_once_for_what_that_needs(tmp_path: Path):
    file = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": ["-m", "mcp_tui.demo"], "env": {"A": "${input:word}"}}
    inputs = [{"id": "word", "type": "promptString"}]
    file.write_text(json.dumps({"servers": {"asks": server}, "inputs": inputs}))
    save("hello", StdioTarget(command=("x",), name="asks"), "echo", text="kept")
    words = ("call", "--saved", "hello", "--server", "asks", "--config", str(file))
    terminal, end = os.openpty()
    os.write(terminal, b"one\ntwo\n")
    ran = subprocess.run(
        [*MCP_TUI, *words], stdin=end, stdout=subprocess.PIPE, stderr=end, timeout=HANG, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, b"kept\n")
    assert os.read(terminal, 65536).count(b"word: ") == 1
    os.close(terminal)
    os.close(end)


def test_a_saved_call_on_a_project_s_server_needs_consent_as_ever(tmp_path: Path):
    server = {"command": sys.executable, "args": ["-m", "mcp_tui.demo"]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": server}}))
    save("hello", StdioTarget(command=("x",), name="theirs"), "echo", text="kept")
    run("call", "--saved", "hello", cwd=tmp_path).sentence(Exit.USAGE, "mcp-tui servers --trust theirs")
    assert run("servers", "--trust", "theirs", "--yes", cwd=tmp_path).status == 0
    assert run("call", "--saved", "hello", cwd=tmp_path).out == "kept\n"
