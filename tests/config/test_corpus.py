"""Files as people have them, for each tool: what comes of every server in them, and where a broken one is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.config.consent import Availability, availability
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.config.servers import discover
from tests.config.placing import CORPUS, TOOLS, place, surroundings

ENV = {"HOME": "/home/ada", "TOKEN": "s3cret", "DB_URL": "postgres://db", "TRACE_ID": "t-1"}


class Machine:
    """What one tool's files define, on a machine with nothing else."""

    def __init__(self, tool: str, tmp_path: Path) -> None:
        self.home, self.project = tmp_path / "home", tmp_path / "work" / "app"
        below = self.project / "deep" / "down" if tool != "registry" else self.project
        below.mkdir(parents=True)
        for part in ("home", "project"):
            place(CORPUS / tool / part, getattr(self, part), PROJECT=self.project)
        self.around = surroundings(self.home, below, ENV)
        self.found = discover(self.around)

    def named(self, name: str) -> Definition:
        (found,) = (each for each in self.found.servers if each.name == name and not each.shadowed)
        return found

    def target(self, name: str, **answers: str) -> Target:
        return self.named(name).target(answers)

    def stdio(self, name: str, **answers: str) -> StdioTarget:
        target = self.target(name, **answers)
        assert isinstance(target, StdioTarget)
        return target

    def http(self, name: str, **answers: str) -> HttpTarget:
        target = self.target(name, **answers)
        assert isinstance(target, HttpTarget)
        return target

    def problem(self, name: str) -> str:
        return self.named(name).find_problem()


@pytest.mark.parametrize("tool", TOOLS)
def test_every_server_of_every_tool_is_found_with_its_tool_file_and_line(tool: str, tmp_path: Path):
    machine = Machine(tool, tmp_path)
    assert machine.found.problems == []
    assert machine.found.servers != []
    for each in machine.found.servers:
        assert each.source.id == tool
        assert each.line is not None
        line = each.file.read_text().splitlines()[each.line - 1]
        assert tool == "registry" or each.name in line
        assert each.project == each.file.is_relative_to(machine.project)


def test_claude_desktop_expands_nothing(tmp_path: Path):
    machine = Machine("claude-desktop", tmp_path)
    assert machine.stdio("filesystem").command[-1] == "$HOME/Desktop"
    sqlite = machine.stdio("sqlite")
    assert sqlite.command == ("uvx", "mcp-server-sqlite", "--db-path", "/home/ada/notes.db")
    assert sqlite.env == {"LOG_LEVEL": "debug", "CACHE": "${HOME}/.cache", "RETRIES": "3", "VERBOSE": "true"}
    assert machine.problem("neither") == "no command and no url"


def test_claude_code_expands_braces_with_defaults_and_no_bare_dollar(tmp_path: Path):
    machine = Machine("claude-code", tmp_path)
    assert machine.http("sentry").headers == {"Authorization": "Bearer s3cret", "X-Price": "$TOKEN"}
    assert machine.http("sentry").transport == "http"
    asana = machine.http("asana")
    assert (asana.url, asana.transport) == ("https://mcp.asana.com/sse", "sse")
    shared = machine.stdio("shared")
    assert shared.command == ("npx", "-y", "@acme/tools@latest")
    assert shared.env == {"ACME_TOKEN": "s3cret", "DIR": "."}
    assert shared.cwd == machine.project
    assert machine.problem("unset") == "environment variable NOT_SET is not set"


def test_claude_code_counts_local_before_project_before_user(tmp_path: Path):
    machine = Machine("claude-code", tmp_path)
    assert machine.stdio("database").command == ("dbhub", "--dsn", "sqlite:///notes.db")
    local, user = (each for each in machine.found.servers if each.name == "database")
    assert user.shadowed == local.place
    assert not local.project
    assert local.folder == machine.project
    names = [each.name for each in machine.found.servers]
    assert "elsewhere" not in names
    assert availability(machine.named("switched-off"))[0] is Availability.DISABLED


def test_cursor_knows_env_and_places_and_leaves_other_dollars(tmp_path: Path):
    machine = Machine("cursor", tmp_path)
    linear = machine.http("linear")
    assert (linear.headers, linear.transport) == ({"Authorization": "Bearer s3cret"}, "auto")
    assert machine.stdio("notes").command == (f"{machine.home}/bin/notes/run", "--shell", "echo ${HOME}")
    here = machine.stdio("here")
    assert here.command == ("node", f"{machine.project}/server.js", "--name", "app")
    assert here.env == {
        "PLAIN": "one two",
        "QUOTED": "line\nbreak # none",
        "SINGLE": "$HOME \\n",
        "EMPTY": "",
    }
    assert machine.problem("no-token") == "environment variable NOT_SET is not set"


def test_vs_code_asks_for_inputs_and_says_what_it_alone_knows(tmp_path: Path):
    machine = Machine("vscode", tmp_path)
    perplexity = machine.named("perplexity")
    (asked,) = perplexity.questions
    assert (asked.id, asked.secret, asked.description) == ("perplexity-key", True, "Perplexity API Key")
    assert availability(perplexity)[0] is Availability.ASKS
    made = machine.stdio("perplexity", **{"perplexity-key": "pplx"})
    assert made.command[-1] == "--region=eu"
    assert made.env == {"PERPLEXITY_API_KEY": "pplx"}
    with pytest.raises(
        ConfigError, match=r"'perplexity-key' is not set .or set MCP_TUI_INPUT_PERPLEXITY_KEY"
    ):
        machine.target("perplexity")
    assert perplexity.unread == ("dev",)
    assert machine.problem("by-command") == (
        "only VS Code knows ${command:extension.pick}: write its value in its place"
    )
    assert machine.problem("socket") == "unsupported URL scheme unix://"
    assert machine.http("github").url == "https://api.githubcopilot.com/mcp/"


def test_a_folder_of_vs_code_is_the_one_that_its_file_belongs_to(tmp_path: Path):
    machine = Machine("vscode", tmp_path)
    assert machine.problem("playwright") == f"directory not found: {machine.project}/web"
    (machine.project / "web").mkdir()
    made = machine.stdio("playwright")
    assert made.command[-1] == f"{machine.project}/out"
    assert (made.cwd, made.env) == (machine.project / "web", {"TOKEN": "s3cret"})
    assert availability(machine.named("playwright"))[0] is Availability.CONSENT


def test_copilot_expands_as_a_shell_does(tmp_path: Path):
    machine = Machine("copilot", tmp_path)
    assert machine.stdio("playwright").env == {"TOKEN": "s3cret", "MODE": "headless"}
    assert machine.http("context7").headers == {"KEY": "s3cret"}


def test_windsurf_has_server_urls_and_env_alone(tmp_path: Path):
    machine = Machine("windsurf", tmp_path)
    figma = machine.http("figma")
    assert (figma.url, figma.headers) == ("https://mcp.figma.com/mcp", {"Authorization": "Bearer s3cret"})
    assert machine.stdio("git").command[-1] == "${HOME}"
    assert machine.named("git").disabled


def test_zed_has_two_forms_of_commands_and_servers_that_only_extensions_start(tmp_path: Path):
    machine = Machine("zed", tmp_path)
    assert machine.stdio("local").command == ("some-command", "arg-1", "$HOME")
    older = machine.stdio("older")
    assert (older.command, older.env) == (("older-command", "--stdio"), {"A": "b"})
    assert machine.http("remote").headers == {"Authorization": "Bearer <token>"}
    assert machine.named("off").disabled
    assert machine.problem("postgres-context-server") == "started by a Zed extension; no file says how"


def test_gemini_tells_streams_from_events_and_expands_bare_names(tmp_path: Path):
    machine = Machine("gemini", tmp_path)
    tools = machine.named("pythonTools")
    assert tools.find_problem() == "directory not found: /srv/tools"
    env = {"DATABASE_URL": "postgres://db", "API_KEY": "s3cret", "PRICE": "5$"}
    assert machine.stdio("pythonTools").env == env
    streamed = machine.http("streamed")
    assert (streamed.transport, streamed.headers) == ("http", {"Authorization": "Bearer s3cret"})
    assert machine.http("events").transport == "sse"
    assert machine.named("experimental").disabled
    assert machine.problem("unset") == "environment variable NOT_SET is not set"


def test_codex_is_toml_and_names_variables_in_fields_of_their_own(tmp_path: Path):
    machine = Machine("codex", tmp_path)
    docs = machine.stdio("docs")
    assert docs.command == ("npx", "-y", "docs-server")
    assert docs.env == {"LANG": "C", "HOME_DIR": "$HOME", "TOKEN": "s3cret"}
    figma = machine.http("figma")
    given = {"X-Figma-Region": "us-east-1", "X-Trace": "t-1"}
    assert figma.headers == {**given, "Authorization": "Bearer s3cret"}
    assert machine.named("off").disabled
    assert [each.name for each in machine.found.servers] == ["docs", "figma", "off"]


def test_cline_keeps_slashes_in_names_and_has_a_word_of_its_own_for_http(tmp_path: Path):
    machine = Machine("cline", tmp_path)
    assert machine.stdio("github.com/upstash/context7-mcp").env == {"KEY": "s3cret"}
    assert machine.named("github.com/upstash/context7-mcp").unread == ("autoApprove",)
    assert machine.http("remote").transport == "http"
    assert machine.named("remote").disabled


def test_the_inspector_s_own_fields_are_kept_as_unread(tmp_path: Path):
    machine = Machine("inspector", tmp_path)
    assert machine.stdio("everything").command[0] == "npx"
    assert machine.named("everything").unread == ("protocolEra", "roots")
    assert machine.http("remote").url == "http://localhost:3001/mcp"
    assert len(machine.found.servers) == 2


def test_a_server_json_gives_a_command_for_each_package_and_a_url_for_each_remote(tmp_path: Path):
    machine = Machine("registry", tmp_path)
    commands = {
        each.name.removeprefix("io.github.acme/weather").strip(): machine.stdio(
            each.name, WEATHER_KEY="k"
        ).command
        for each in machine.found.servers[:4]
    }
    assert commands == {
        "": ("npx", "-y", "@acme/weather@1.4.0", "serve", "--units", "metric", "--verbose"),
        "(oci)": (
            *("docker", "run", "-i", "--rm", "-e", "MODE", "--mount", "type=bind,src=/srv/data,dst=/data"),
            "docker.io/acme/weather:1.4.0",
        ),
        "(nuget 3)": ("dnx", "Acme.Weather@1.4.0", "--yes", "--", "mcp"),
        "(pypi 4)": ("uvx", "acme-weather==1.4.0"),
    }
    first = machine.stdio("io.github.acme/weather", WEATHER_KEY="k")
    assert first.env == {"WEATHER_KEY": "k", "LOG_LEVEL": "info"}
    (asked,) = machine.found.servers[0].questions
    assert (asked.id, asked.secret) == ("WEATHER_KEY", True)
    assert machine.found.servers[4].problem == "cannot start packages of type 'mcpb'"
    remote = machine.http(machine.found.servers[5].name, key="k")
    assert (remote.url, remote.headers) == ("https://eu.acme.dev/mcp/{literal}", {"X-Key": "Bearer k"})


@pytest.mark.parametrize(
    ("argument", "command", "asked"),
    [
        ({"name": "--stdio"}, ["--stdio"], []),
        ({"name": "--stdio", "value": ""}, ["--stdio"], []),
        ({"name": "--no-log", "isRequired": True, "description": "No log"}, ["--no-log"], []),
        ({"name": "--fast", "format": "boolean"}, ["--fast"], []),
        ({"name": "--port", "value": "80"}, ["--port", "80"], []),
        ({"name": "--port", "format": "number"}, [], []),
        ({"name": "--mode", "choices": ["a", "b"]}, [], []),
        ({"name": "--dir", "format": "filepath", "isRequired": True}, ["--dir", "given"], ["dir"]),
        ({"name": "--api-key", "isRequired": True}, ["--api-key", "given"], ["api-key"]),
        ({"name": "--api-key", "isSecret": True}, [], []),
    ],
)
def test_a_named_argument_of_a_server_json_without_a_value_is_a_flag(
    argument: dict[str, Any], command: list[str], asked: list[str], tmp_path: Path
):
    package = {
        "registryType": "npm",
        "identifier": "thing",
        "packageArguments": [{"type": "named", **argument}],
    }
    (tmp_path / "server.json").write_text(json.dumps({"name": "io.example/thing", "packages": [package]}))
    (found,) = discover(surroundings(tmp_path, tmp_path, {})).servers
    assert [each.id for each in found.questions] == asked
    target = found.target(dict.fromkeys(asked, "given"))
    assert isinstance(target, StdioTarget)
    assert target.command == ("npx", "-y", "thing", *command)


def test_goose_starts_with_its_keys_and_lists_no_part_of_itself(tmp_path: Path):
    machine = Machine("goose", tmp_path)
    assert [each.name for each in machine.found.servers] == ["fetch", "tracker"]
    fetch = machine.stdio("fetch")
    assert (fetch.command, fetch.env) == (
        ("uvx", "mcp-server-fetch", "--port=8080"),
        {"LOG": "debug", "TOKEN": "s3cret"},
    )
    assert machine.http("tracker").headers == {"Authorization": "Bearer x"}
    assert availability(machine.named("tracker")) == (Availability.DISABLED, "disabled in goose")


def test_continue_has_a_list_of_servers(tmp_path: Path):
    machine = Machine("continue", tmp_path)
    assert machine.stdio("sqlite").command == ("npx", "-y", "mcp-sqlite", "/home/ada/db.sqlite")
    assert (machine.named("sqlite").start_limit, machine.named("sqlite").line) == (20, 5)
    assert machine.http("tracker").url == "https://tracker.example/mcp"


def test_opencode_has_one_list_and_names_what_only_it_knows(tmp_path: Path):
    machine = Machine("opencode", tmp_path)
    files = machine.stdio("files")
    assert (files.command, files.env) == (("npx", "-y", "files-server", "/home/ada"), {"TOKEN": "s3cret"})
    assert machine.named("files").call_limit == 8
    assert machine.named("off").disabled
    assert machine.problem("remote").startswith("only opencode knows {file:~/.token}")
    assert machine.problem("text") == "command is not a list of words"


# -- broken ones -------------------------------------------------------------------------------------------------

BROKEN = {
    "claude-desktop": (4, 5, "not valid JSON (expecting ',' delimiter)"),
    "claude-code": (3, None, "mcpServers is not an object"),
    "copilot": (3, 3, "not valid JSON (unterminated string)"),
    "cursor": (5, 1, "not valid JSON (expecting property name enclosed in double quotes)"),
    "vscode": (3, 5, "not valid JSON (expecting property name enclosed in double quotes)"),
    "windsurf": (3, 24, "not valid JSON (expecting value)"),
    "zed": (3, 27, "not valid JSON (expecting property name enclosed in double quotes)"),
    "gemini": (6, 8, "not valid JSON (expecting value)"),
    "codex": (4, 11, "not valid TOML (invalid value)"),
    "cline": (1, None, "not a JSON object"),
    "inspector": (5, 3, "not valid JSON (extra data)"),
    "registry": (2, None, "not UTF-8"),
    "goose": (3, 4, "not valid YAML (expected ',' or '}', but got ':')"),
    "continue": (1, None, "mcpServers is not a list or an object"),
    "opencode": (3, 27, "not valid JSON (expecting ',' delimiter)"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_broken_file_gives_one_sentence_with_its_line(tool: str, tmp_path: Path):
    place(CORPUS / "broken" / tool, tmp_path)
    (file,) = (file for file in tmp_path.rglob("*") if file.is_file())
    line, column, words = BROKEN[tool]
    where = f"{file}:{line}" if column is None else f"{file}:{line}:{column}"
    found = discover(surroundings(tmp_path / "home", tmp_path), file)
    assert found.servers == []
    assert found.problems == [f"{where}: {words}"]
