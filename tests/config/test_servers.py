"""Which files are looked at on which machine, and which of several servers with one name counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.client.client_settings import HttpTarget
from mcp_tui.config.consent import Availability, availability, consent_details
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.config.servers import discover, find
from mcp_tui.config.sources import place_of, places
from tests.cases import cases
from tests.config.placing import surroundings


def write(file: Path, key: str = "mcpServers", **servers: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: servers}))
    return file


class TestPlaces:
    def paths(self, platform: str, env: dict[str, str] | None = None) -> dict[str, list[str]]:
        around = surroundings(Path("/home/ada"), Path("/work/app"), env, platform)
        found: dict[str, list[str]] = {}
        for place in places(around):
            found.setdefault(place.source.id, []).append(str(place.path))
        return found

    def test_linux(self):
        found = self.paths("linux", {"XDG_CONFIG_HOME": "/home/ada/.config"})
        assert found["claude-desktop"] == ["/home/ada/.config/Claude/claude_desktop_config.json"]
        assert "/home/ada/.config/Code/User/mcp.json" in found["vscode"]
        assert "/home/ada/.config/zed/settings.json" in found["zed"]

    def test_macos(self):
        found = self.paths("darwin", {"XDG_CONFIG_HOME": ""})
        support = "/home/ada/Library/Application Support"
        assert found["claude-desktop"] == [f"{support}/Claude/claude_desktop_config.json"]
        assert f"{support}/Code/User/mcp.json" in found["vscode"]
        assert "/home/ada/.config/zed/settings.json" in found["zed"]

    def test_a_file_of_the_person_s_own_is_no_project_s_in_a_folder_below(self, tmp_path: Path):
        file = write(tmp_path / ".cursor" / "mcp.json", a={"command": "x"})
        (tmp_path / "work").mkdir()
        around = surroundings(tmp_path, tmp_path / "work")
        assert [each.project for each in discover(around).servers] == [False]
        assert place_of(file, around).folder is None

    def test_it_is_none_either_where_the_home_folder_is_a_link(self, tmp_path: Path):
        (home := tmp_path / "home").symlink_to(tmp_path / "real")
        write(tmp_path / "real" / ".cursor" / "mcp.json", a={"command": "x"})
        (cwd := tmp_path / "real" / "work").mkdir()
        found = discover(surroundings(home, cwd)).servers
        assert [(each.scope, each.file) for each in found] == [("user", home / ".cursor" / "mcp.json")]


class TestFind:
    def test_within_a_tool_the_nearer_file_counts(self, tmp_path: Path):
        for folder, command in ((tmp_path, "far"), (tmp_path / "a", "near")):
            write(folder / ".cursor" / "mcp.json", one={"command": command})
        write(tmp_path / "home" / ".cursor" / "mcp.json", one={"command": "own"})
        around = surroundings(tmp_path / "home", tmp_path / "a")
        found = find("one", around=around)
        assert found.place == f"{tmp_path}/a/.cursor/mcp.json:1"
        others = [each.shadowed for each in discover(around).servers if each is not found]
        assert [place for place in others if place] == [found.place] * 2

    def test_between_tools_nobody_guesses(self, tmp_path: Path):
        write(tmp_path / ".cursor" / "mcp.json", one={"command": "x"})
        write(tmp_path / ".vscode" / "mcp.json", "servers", one={"command": "y"})
        around = surroundings(tmp_path / "home", tmp_path)
        with pytest.raises(ConfigError) as raised:
            find("one", around=around)
        assert str(raised.value) == (
            f"Server 'one' differs between {tmp_path}/.cursor/mcp.json:1 (Cursor), "
            f"{tmp_path}/.vscode/mcp.json:1 (VS Code). Choose one with --config FILE."
        )
        assert find("one", tmp_path / ".vscode" / "mcp.json", around).source.id == "vscode"

    def test_equal_ones_are_one_and_the_person_s_own_needs_no_consent(self, tmp_path: Path):
        write(tmp_path / ".vscode" / "mcp.json", "servers", one={"command": "x", "args": ["a"]})
        own = tmp_path / "home" / ".codeium" / "windsurf" / "mcp_config.json"
        write(own, one={"command": "x", "args": ["a"]})
        found = find("one", around=surroundings(tmp_path / "home", tmp_path))
        assert (found.source.id, found.project) == ("windsurf", False)

    @pytest.mark.parametrize("names", [("clientCert", "clientKey"), ("client_cert", "client_key")])
    def test_a_url_with_a_client_certificate(self, names: tuple[str, str], tmp_path: Path):
        cert, key = names
        file = write(tmp_path / "x.json", one={"url": "https://h/", cert: "${HOME}/me.pem", key: "me.key"})
        found = find("one", file, surroundings(tmp_path / "home", tmp_path, {"HOME": "/home/ada"}))
        target = found.target()
        assert isinstance(target, HttpTarget)
        assert (target.client_cert, target.client_key) == ("/home/ada/me.pem", "me.key")
        assert ("certificate", "${HOME}/me.pem") in consent_details(found)
        assert found.unread == ()

    def test_nobody_of_that_name(self, tmp_path: Path):
        file = write(tmp_path / "some.json", everything={"command": "x"}, other={"command": "x"})
        around = surroundings(tmp_path / "home", tmp_path)
        for name, hint in (
            ("everythin", r"Did you mean 'everything'\?"),
            ("zzz", r"Choose from: everything, other\."),
        ):
            with pytest.raises(ConfigError, match=rf"No server '{name}' in .*some.json. {hint}$"):
                find(name, file, around)

    def test_a_broken_file_elsewhere_is_told_where_it_may_be_the_reason(self, tmp_path: Path):
        (tmp_path / ".mcp.json").write_text("{")
        sentence = r"No server 'a' in the config files.*Skipped .*\.mcp\.json:1:2: not valid"
        with pytest.raises(ConfigError, match=sentence):
            find("a", around=surroundings(tmp_path / "home", tmp_path))


class TestNamedFile:
    @pytest.mark.parametrize("key", ["mcpServers", "servers", "context_servers", "mcp_servers"])
    def test_a_file_of_no_tool_may_have_any_of_the_keys(self, key: str, tmp_path: Path):
        file = write(tmp_path / "any.json", key, a={"command": "x"})
        assert find("a", file, surroundings(tmp_path / "home", tmp_path)).problem == ""

    def test_toml_is_read_as_toml(self, tmp_path: Path):
        file = tmp_path / "servers.toml"
        file.write_text('# mine\n[mcp_servers.a]\ncommand = "x"\n\n[mcpServers.b]\ncommand = "y"\n')
        found = find("a", file, surroundings(tmp_path / "home", tmp_path))
        assert (found.line, found.source.id) == (2, "codex")
        file.write_text('[mcpServers.b]\ncommand = "y"\n')
        assert find("b", file, surroundings(tmp_path / "home", tmp_path)).line == 1

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", ":1: the file is empty"),
            ("// nothing yet\n", ":1: the file is empty"),
            (
                '{"x": 1, "b": 2}',
                ":1: no mcpServers, servers, context_servers, mcp_servers, mcp.servers, mcp, or extensions, but 'x', 'b'",
            ),
        ],
    )
    def test_a_file_without_servers_says_so_with_its_place(self, text: str, problem: str, tmp_path: Path):
        file = tmp_path / "any.json"
        file.write_text(text)
        found = discover(surroundings(tmp_path / "home", tmp_path), file)
        assert found.problems == [f"{file}{problem}"]

    def test_a_name_that_a_file_defines_twice_names_both_lines(self, tmp_path: Path):
        file = tmp_path / "any.json"
        file.write_text(
            '{"servers": {\n"a": {"command": "x"},\n"b": {"command": "x"},\n"a": {"command": "y"}}}'
        )
        a, b = discover(surroundings(tmp_path / "home", tmp_path), file).servers
        assert availability(a) == (Availability.USABLE, f"{file}:2 defines 'a' too; line 4 counts")
        assert availability(b) == (Availability.USABLE, "")

    def test_an_input_that_a_command_of_an_editor_gives_is_asked_for(self, tmp_path: Path):
        file = tmp_path / "mcp.json"
        whole = {
            "servers": {"a": {"command": "x", "args": ["${input:id}"]}},
            "inputs": [{"id": "id", "type": "command", "command": "extension.compute"}],
        }
        file.write_text(json.dumps(whole))
        assert [each.id for each in find("a", file).questions] == ["id"]

    @pytest.mark.parametrize(
        ("definition", "problem"),
        [
            (5, "definition is not an object"),
            ({}, "no command and no url"),
            ({"command": ""}, "empty command"),
            ({"command": 5}, "command is not a string"),
            ({"command": "x", "args": "a b"}, "args is not a list"),
            ({"command": "x", "args": [["a"]]}, "args is not a string"),
            ({"command": "x", "env": ["A=b"]}, "env is not an object"),
            ({"command": "x", "env": {"A=": "b"}}, "'A=' in env is not a valid variable name"),
            ({"command": "x\0"}, "command contains a NUL character"),
            ({"url": "ftp://x"}, "unsupported URL scheme ftp://"),
            ({"url": "localhost:3000"}, "url does not start with http:// or https://"),
            (
                {"url": "http://x", "headers": {"a b": "c"}},
                "The name of HTTP header 'a b' cannot contain ' ' (U+0020)",
            ),
            ({"url": "http://x", "type": "ws"}, "unknown transport 'ws'"),
            ({"url": "http://x", "type": "stdio"}, "type is stdio, but there is a url and no command"),
        ],
        ids=str,
    )
    def test_a_definition_that_says_nothing_usable_is_listed_with_the_reason(
        self, definition: object, problem: str, tmp_path: Path
    ):
        file = write(tmp_path / "any.json", bad=definition, good={"command": "x"})
        bad, good = discover(surroundings(tmp_path / "home", tmp_path), file).servers
        assert (bad.find_problem(), good.find_problem()) == (problem, "")


STDIO: Final = {
    "command": "x",
    "args": ["y"],
    "disabled": True,
    "enabled": False,
    "cwd": "/c",
    "timeout": 5000,
}
ARRAY: Final = {
    "type": "local",
    "command": ["x", "y"],
    "environment": {"K": "{env:T}"},
    "enabled": False,
    "cwd": "/c",
}
NESTED: Final = {
    "transport": {"type": "stdio", "command": "x", "args": ["y"], "cwd": "/c"},
    "disabled": True,
    "timeout": 5,
}
CLINE_FILE: Final = ".cline/data/settings/cline_mcp_settings.json"
BEARER: Final = {"Authorization": "Bearer t"}
GOOSE: Final = {
    "type": "stdio",
    "cmd": "x",
    "args": ["y"],
    "envs": {"K": "t"},
    "enabled": False,
    "timeout": 5,
}


@pytest.mark.parametrize(
    ("tool", "place", "key", "entry", "disabled", "limit", "cwd"),
    [
        ("claude-code", ".claude.json", "mcpServers", STDIO, False, 5, None),
        ("codex", ".codex/config.toml", "mcp_servers", None, True, 5, "/c"),
        ("copilot", ".copilot/mcp-config.json", "mcpServers", STDIO, False, 5, "/c"),
        ("copilot", "w/.github/mcp.json", "mcpServers", STDIO, False, 5, "/c"),
        ("gemini", ".gemini/settings.json", "mcpServers", STDIO, False, 5, "/c"),
        ("qwen", "w/.qwen/settings.json", "mcpServers", STDIO, False, 5, "/c"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers", STDIO, True, None, "/c"),
        ("zed", "config/zed/settings.json", "context_servers", STDIO, True, None, "/c"),
        ("vscode", "config/Code/User/settings.json", "mcp.servers", STDIO, False, None, "/c"),
        ("opencode", "config/opencode/opencode.jsonc", "mcp", ARRAY | {"timeout": 5000}, True, 5, "/c"),
        ("kilo", "config/kilo/kilo.jsonc", "mcp", ARRAY, True, None, "/c"),
        ("crush", "config/crush/crush.json", "mcp", STDIO, True, None, "/c"),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", "mcpServers", NESTED, True, 5, "/c"),
        ("kimi", ".kimi-code/mcp.json", "mcpServers", STDIO | {"toolTimeoutMs": 5000}, True, 5, "/c"),
        ("kiro", "w/.kiro/settings/mcp.json", "mcpServers", STDIO, True, None, "/c"),
        ("amazon-q", ".aws/amazonq/mcp.json", "mcpServers", STDIO, True, 5, "/c"),
        ("lm-studio", ".lmstudio/mcp.json", "mcpServers", STDIO, False, None, "/c"),
        ("warp", ".warp/.mcp.json", "mcpServers", STDIO | {"working_directory": "/d"}, False, None, "/d"),
        ("mcporter", "w/config/mcporter.json", "mcpServers", STDIO, False, None, "w/config"),
        ("goose", "config/goose/config.yaml", "extensions", GOOSE, True, 5, None),
        ("continue", ".continue/config.yaml", "mcpServers", STDIO, False, None, "/c"),
        (
            "inspector",
            ".mcp-inspector/mcp.json",
            "mcpServers",
            STDIO | {"requestTimeout": 5000},
            False,
            5,
            "/c",
        ),
    ],
)
def test_each_tool_has_its_own_place_form_and_keys_that_count(
    tool: str,
    place: str,
    key: str,
    entry: dict[str, object] | None,
    disabled: bool,
    limit: float | None,
    cwd: str | None,
    tmp_path: Path,
):
    file = tmp_path / place
    write(file, key.partition(".")[2] or key, one=entry)
    if "." in key:
        file.write_text(f'{{"mcp": {file.read_text()}}}')
    if entry is None:
        file.write_text(
            '[mcp_servers.one]\ncommand = "x"\nargs = ["y"]\ncwd = "/c"\nenabled = false\ntool_timeout_sec = 5\n'
        )
    elif tool == "continue":  # JSON is YAML; its servers are a list
        file.write_text(f"mcpServers:\n  - {json.dumps({'name': 'one', **entry})}\n")
    (tmp_path / "w" / "deep").mkdir(parents=True, exist_ok=True)
    (found,) = discover(surroundings(tmp_path, tmp_path / "w" / "deep", {"T": "t"})).servers
    assert (found.source.id, found.name, found.project) == (tool, "one", place.startswith("w/"))
    assert (found.disabled, found.call_limit) == (disabled, limit)
    launched = found.launched()
    assert launched is not None
    assert launched.command == ("x", "y")
    assert launched.env.get("K", "t") == "t"
    folder = tmp_path / "w" if found.project else None
    assert launched.cwd == (folder if cwd is None else tmp_path / cwd)


# The units and keys below are not what the tools' own pages lead one to expect, so each has the version in which it was
# seen: "ran" with a recording server, "read" in the shipped package (npm and PyPI have all of them; Crush: its source).
@cases(
    ("place", "entry", "call", "start"),
    [
        (
            ".claude.json",
            {"timeout": 5000},
            5,
            None,
        ),  # Claude Code 2.1.332, ran: milliseconds, and of calls alone
        # Codex 0.171.0, ran: seconds with a fraction; a start also in milliseconds, a call not, though no error says so
        (".codex/config.toml", {"tool_timeout_sec": 2.5, "startup_timeout_ms": 9000}, 2.5, 9),
        (".codex/config.toml", {"tool_timeout_ms": 5000, "startup_timeout_sec": 3}, None, 3),
        (".codex/config.toml", {"timeout": 5000}, None, None),
        (".gemini/settings.json", {"timeout": 5000}, 5, 5),  # Gemini CLI 0.61.0, ran
        (
            ".qwen/settings.json",
            {"timeout": 5000, "discoveryTimeoutMs": 2000},
            5,
            2,
        ),  # Qwen Code 0.24.4, read
        ("config/opencode/opencode.json", {"timeout": 5000}, 5, 5),  # opencode 1.18.33, ran
        (
            "config/opencode/opencode.json",
            {},
            None,
            None,
        ),  # its schema says 5 s, and a call of 35 s was not ended
        (
            "config/crush/crush.json",
            {"timeout": 10},
            None,
            10,
        ),  # Crush of 2026-08-21, read: seconds of a start
        (".copilot/mcp-config.json", {"timeout": 5000}, 5, None),  # Copilot CLI 1.0.102, ran
        # Cline CLI 3.0.65, read: seconds, clamped
        (CLINE_FILE, {"timeout": 5}, 5, None),
        (CLINE_FILE, {"timeout": 60_000}, 3600, None),
        (CLINE_FILE, {"timeout": 0.2}, 1, None),
        # Kimi Code 2.1.0, read
        (".kimi-code/mcp.json", {"toolTimeoutMs": 5000, "startupTimeoutMs": 2000, "timeout": 9}, 5, 2),
        (
            "config/mcporter/mcporter.json",
            {"timeout": 5000},
            None,
            None,
        ),  # mcporter 0.12.3, read: variables alone
        # Inspector 2.12.0, ran: 0 is the limit of its SDK
        (".mcp-inspector/mcp.json", {"requestTimeout": 0, "connectionTimeout": 30_000}, None, 30),
        (".continue/config.yaml", {"connectionTimeout": 5000}, None, 5),  # Continue CLI 1.5.47, read
    ],
)
def test_limits_have_the_units_of_their_tools(
    place: str, entry: dict[str, object], call: float | None, start: float | None, tmp_path: Path
):
    (found,) = _defined(place, {"command": "x", **entry}, tmp_path)
    assert (found.call_limit, found.start_limit) == (call, start)
    known = {name for limits in (found.source.calls, found.source.starts) for name, _ in limits}
    assert {*found.unread, *found.ignored} == {*entry} - known
    assert not (found.source.id == "codex" and found.unread)  # `servers` warns of what is ignored


@cases(
    ("place", "entry", "transport", "headers"),
    [
        (".gemini/settings.json", {"httpUrl": "http://h/"}, "http", {}),  # Gemini CLI 0.61.0, ran
        (".gemini/settings.json", {"url": "http://h/", "type": "http"}, "http", {}),
        (".gemini/settings.json", {"url": "http://h/"}, "sse", {}),
        # Cline CLI 3.0.65, ran: its own command nests the entry; a flat one without a type is HTTP+SSE
        (CLINE_FILE, {"transport": {"type": "streamableHttp", "url": "http://h/"}}, "http", {}),
        (CLINE_FILE, {"url": "http://h/"}, "sse", {}),
        (CLINE_FILE, {"url": "http://h/", "transportType": "streamableHttp"}, "http", {}),
        # Codex 0.171.0, ran
        (".codex/config.toml", {"url": "http://h/", "bearer_token_env_var": "T"}, "auto", BEARER),
        (".codex/config.toml", {"url": "http://h/", "http_headers.A": "${T}"}, "auto", {"A": "${T}"}),
        (
            ".codex/config.toml",
            {"url": "http://h/", "headers.A": "a"},
            "auto",
            {},
        ),  # ruler 0.3.44 writes it
        (
            ".kimi-code/mcp.json",
            {"url": "http://h/", "bearerTokenEnvVar": "T"},
            "auto",
            BEARER,
        ),  # Kimi 2.1.0, read
        ("config/mcporter/mcporter.json", {"baseUrl": "http://h/"}, "auto", {}),  # mcporter 0.12.3, ran
        (
            "config/opencode/opencode.json",
            {"type": "remote", "url": "http://h/"},
            "auto",
            {},
        ),  # opencode 1.18.33, ran
        (
            ".copilot/mcp-config.json",
            {"type": "sse", "url": "http://h/"},
            "sse",
            {},
        ),  # Copilot CLI 1.0.102, ran
    ],
)
def test_a_url_is_reached_as_its_tool_would(
    place: str, entry: dict[str, object], transport: str, headers: dict[str, str], tmp_path: Path
):
    (found,) = _defined(place, entry, tmp_path)
    target = found.target()
    assert isinstance(target, HttpTarget)
    assert (target.url, target.transport, target.headers) == ("http://h/", transport, headers)
    assert found.unread == ()


def _defined(place: str, entry: dict[str, object], tmp_path: Path) -> list[Definition]:
    """The servers on a machine with one file, which has one entry."""
    home = tmp_path / str(len([*tmp_path.iterdir()]))
    around = surroundings(home, home, {"T": "t"})
    source = place_of(home / place, around).source
    key = source.keys[0]
    if source.form.is_list and "command" in entry:
        entry = {**entry, "command": [entry["command"]]}
    write(home / place, key, one=entry)
    if place.endswith(".toml"):
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
        (home / place).write_text(f"[{key}.one]\n{''.join(lines)}")
    return discover(around).servers


def test_copilot_reads_one_of_a_project_s_two_files(tmp_path: Path):
    write(tmp_path / ".github" / "mcp.json", a={"command": "x"})
    around = surroundings(tmp_path / "home", tmp_path)
    assert [each.shadowed for each in discover(around).servers] == [""]
    file = write(tmp_path / ".mcp.json", b={"command": "x"})
    assert [(each.name, each.shadowed) for each in discover(around).servers] == [("b", ""), ("a", str(file))]
    own = write(tmp_path / "home" / ".copilot" / "mcp-config.json", off={"command": "x"}, on={"command": "x"})
    own.with_name("settings.json").write_text('{"disabledMcpServers": ["off"]}')
    assert [each.disabled for each in discover(around).servers if each.file == own] == [True, False]


def test_what_claude_code_s_own_files_disable_is_disabled(tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "project"
    write(project / ".mcp.json", a={"command": "x"}, b={"command": "x"}, c={"command": "x", "disabled": True})
    state = {"disabledMcpjsonServers": ["a"], "disabledMcpServers": ["own"]}
    own = {"mcpServers": {"own": {"command": "x"}, "a": {"command": "x"}}, "projects": {str(project): state}}
    home.mkdir()
    (home / ".claude.json").write_text(json.dumps(own))
    found = discover(surroundings(home, project)).servers
    told = {(each.name, each.project): (each.disabled, each.ignored) for each in found}
    assert told == {
        ("a", True): (True, []),
        ("b", True): (False, []),
        ("c", True): (False, ["disabled"]),
        ("own", False): (True, []),
        ("a", False): (False, []),
    }
    assert availability(found[2])[1] == "from a project's file"


def test_a_shell_script_is_named_as_that_and_not_run(tmp_path: Path):
    file = tmp_path / ".crushrc"
    file.write_text("mcp add a --command $(touch ran)\n")
    found = discover(surroundings(tmp_path / "home", tmp_path))
    assert found.problems == [f"{file}: a shell script, which only Crush can run"]
