"""``servers``, and ``--server``: real files, real processes, and a mark that a server leaves when it is started."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANG, MCP_TUI, Ran, run
from tests.config.placing import marking

ARGS = ["-m", "mcp_tui.demo"]


class Machine:
    """A home and a project with servers in them. Whatever server is started touches ``mark`` first."""

    def __init__(self, tmp_path: Path) -> None:
        self.home, self.project, self.mark = tmp_path / "home", tmp_path / "app", tmp_path / "started"
        (self.project / "sub").mkdir(parents=True)

    def server(self, *more: str) -> dict[str, Any]:
        return marking(self.mark, *more)

    def own(self, text: str = "", **servers: object) -> Path:
        return self.write(self.home / ".cursor" / "mcp.json", text, servers)

    def shared(self, text: str = "", **servers: object) -> Path:
        return self.write(self.project / ".mcp.json", text, servers)

    def write(self, file: Path, text: str, servers: dict[str, object]) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or json.dumps({"mcpServers": servers}, indent=1))
        return file

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}

    def run(self, *words: str, **env: str) -> Ran:
        return run(*words, cwd=self.project / "sub", **(self.env | env))

    def listed(self, **env: str) -> dict[str, dict[str, Any]]:
        return {each["name"]: each for each in json.loads(self.run("servers", "--json", **env).out)}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_list_says_of_each_server_where_it_stands_and_starts_none(machine: Machine):
    machine.own(
        mine=machine.server(),
        key={"url": "https://x.dev/mcp", "headers": {"A": "${env:NOT_SET}"}},
        off={"command": "x", "disabled": True},
    )
    machine.shared(theirs=machine.server())
    ran = machine.run("servers")
    rows = [line.split(None, 1) for line in ran.out.splitlines()]
    assert [row[0] for row in rows] == ["theirs", "mine", "key", "off"]
    assert rows[0][1].startswith("needs consent  Claude Code")
    assert rows[1][1].startswith("usable         Cursor")
    assert rows[2][1].endswith("environment variable NOT_SET is not set")
    assert rows[3][1].endswith("disabled in Cursor")
    assert ran.status == 0
    assert "--trust NAME" in ran.err
    assert not machine.mark.exists()


def test_hostile_names_reach_no_terminal(machine: Machine):
    machine.shared("", **{"\x1b]0;owned\x07red\u202e": {"command": "x"}})
    for ran in (
        machine.run("servers"),
        machine.run("servers", "--trust", "\x1b]0;owned\x07red\u202e"),
        machine.run("tools", "--server", "nobody"),
    ):
        assert "\x1b" not in ran.out + ran.err
        assert "\x07" not in ran.out + ran.err
        assert "red" in ran.out + ran.err


def test_a_project_s_server_is_refused_without_consent_and_told_how_to_give_it(machine: Machine):
    file = machine.shared(theirs=machine.server())
    machine.run("tools", "--server", "theirs").sentence(
        Exit.USAGE, str(file), "mcp-tui servers --trust theirs"
    )
    machine.run("tools", "--server", "theirs", "--config", str(file)).sentence(
        Exit.USAGE, f"mcp-tui servers --trust theirs --config {file}"
    )
    assert not machine.mark.exists()


def test_a_config_file_without_a_name_uses_its_only_server(machine: Machine):
    file = machine.write(
        machine.home / "one.json", "", {"mine": machine.server(), "off": {"command": "x", "disabled": True}}
    )
    assert machine.run("call", "echo", "text=hi", "--config", str(file)).out == "hi\n"
    machine.write(file, "", {"mine": machine.server(), "other": {"command": "x"}})
    machine.run("tools", "--config", str(file)).sentence(
        Exit.USAGE, f"{file} defines mine, other. Choose one with --server NAME."
    )
    machine.write(file, "", {})
    machine.run("tools", "--config", str(file)).sentence(Exit.USAGE, f"No enabled server in {file}.")


def test_a_disabled_server_and_a_name_defined_twice_are_used_with_a_word(machine: Machine):
    server = json.dumps(machine.server() | {"disabled": True})
    file = machine.own(f'{{"mcpServers": {{\n"a": {{}},\n"a": {server}\n}}}}')
    ran = machine.run("call", "echo", "text=hi", "--server", "a")
    assert (ran.status, ran.out) == (0, "hi\n")
    assert f"Server 'a' is disabled in {file}:3. It is used because you named it." in ran.err
    assert f"{file}:2 defines 'a' too; line 3 counts." in ran.err
    machine.run("tools", "--config", str(file)).sentence(
        Exit.USAGE, f"No enabled server in {file}. Use a disabled one with --server NAME: a."
    )


def test_a_whole_command_line_in_command_says_where_its_words_belong(machine: Machine):
    machine.own(a={"command": "npx -y some-server"})
    ran = machine.run("tools", "--server", "a")
    ran.sentence(Exit.UNREACHABLE, "Put only the program into command, and the other words into args.")
    machine.run("tools", "--", "npx -y some-server").sentence(Exit.UNREACHABLE, "Remove the quotes around it")


def test_consent_on_the_command_line_holds_until_the_definition_changes(machine: Machine):
    machine.shared(theirs=machine.server())
    trusted = machine.run("servers", "--trust", "theirs", "--yes")
    assert trusted.status == 0
    assert f"command     {sys.executable} -c" in trusted.out
    assert f"folder      {machine.project}" in trusted.out
    assert not machine.mark.exists()
    assert machine.listed()["theirs"]["state"] == "usable"
    assert machine.run("call", "echo", "text=hi", "--server", "theirs").out == "hi\n"
    assert machine.mark.exists()
    machine.shared(theirs=machine.server("--other"))
    assert machine.run("tools", "--server", "theirs").status == Exit.USAGE
    machine.shared(theirs=machine.server())
    assert machine.run("servers", "--distrust", "theirs").status == 0
    assert machine.run("tools", "--server", "theirs").status == Exit.USAGE


@pytest.mark.pty
@pytest.mark.parametrize(
    ("answer", "state"), [("", "needs consent"), ("n", "needs consent"), ("y", "usable")]
)
def test_on_a_terminal_consent_is_asked_and_the_default_is_no(
    machine: Machine, answer: str, state: str, monkeypatch: pytest.MonkeyPatch
):
    machine.shared(theirs=machine.server())
    for name, value in machine.env.items():
        monkeypatch.setenv(name, value)
    words = [*MCP_TUI[1:], "servers", "--trust", "theirs"]
    child: pexpect.spawn[str] = pexpect.spawn(
        MCP_TUI[0], words, cwd=str(machine.project), encoding="utf-8", timeout=HANG
    )
    child.expect_exact("[y/N] ")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == (0 if answer == "y" else Exit.USAGE)
    assert machine.listed()["theirs"]["state"] == state


def test_an_input_is_answered_by_the_environment_or_said_to_be_missing(machine: Machine):
    file = machine.home / ".cursor" / "mcp.json"
    server = {"command": sys.executable, "args": ARGS, "env": {"KEY": "${input:api-key}"}}
    inputs = [{"id": "api-key", "type": "promptString", "password": True}]
    machine.write(file, json.dumps({"inputs": inputs, "servers": {"mine": server}}), {})
    assert machine.listed()["mine"]["state"] == "asks"
    refused = machine.run("tools", "--server", "mine")
    refused.sentence(Exit.USAGE, "needs 'api-key'", "MCP_TUI_INPUT_API_KEY")
    assert machine.run("call", "echo", "text=hi", "--server", "mine", MCP_TUI_INPUT_API_KEY="k").out == "hi\n"
