"""Config files with and without a tap: byte for byte the same when it is out again, and the same server while it is in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.config.servers import discover
from mcp_tui.config.sources import REGISTRY
from mcp_tui.tap.installation import ConfigEntry, NotEditable, options
from tests.cli.running import run
from tests.config.placing import CORPUS, surroundings
from tests.waiting import HANG

LAUNCHER: Final = Path(__file__).parents[2] / "launcher" / "mcp-tui"
PROGRAM: Final = "/opt/my tools/mcp-tui"
FILES: Final = {
    "plain": '{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}',
    "compact": '{"mcpServers":{"a":{"command":"npx","args":["-y","x"]},"b":{"command":"b"}}}',
    "no end of line": '{\n  "mcpServers": {\n    "a": {\n      "command": "npx"\n    }\n  }\n}',
    "carriage returns": '{\r\n "servers": {\r\n  "a": {\r\n   "command": "x",\r\n   "args": []\r\n  }\r\n }\r\n}\r\n',
    "carriage returns, no args": '{\r\n "servers": {\r\n  "a": {\r\n   "command": "x"\r\n  }\r\n }\r\n}\r\n',
    "carriage returns alone": '{\r "servers": {\r  "a": {\r   "command": "x"\r  }\r }\r}\r',
    "byte order mark": '\ufeff{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}\n',
    "tabs": '{\n\t"servers": {\n\t\t"a": {\n\t\t\t"command":\t"x",\n\t\t\t"args":\t[\n\t\t\t\t"y"\n\t\t\t]\n\t\t}\n\t}\n}\n',
    "tabs, no args": '{\n\t"servers": {\n\t\t"a": {\n\t\t\t"command": "npx"\n\t\t}\n\t}\n}\n',
    "comments": (
        '// mine\n{ /* all */ "servers": { // KEEP\n "a": { /* c */ "command" /* d */ : /* e */ "npx", // f\n'
        ' "args": [ // g\n "x", /* h */ "y" // i\n ] } } }\n'
    ),
    "comment in an empty list": '{"servers": {"a": {"command": "x", "args": [ // none\n]}}} // KEEP',
    "blank in an empty list": '{"servers": {"a": {"command": "x", "args": [ ]}}}',
    "lines in an empty list": '{"servers": {"a": {\n"command": "x", "args": [\n\n]}}}',
    "trailing commas": '{"servers": {"a": {"command": "x", "args": ["y", "z",],}, "b": {"command": "b",},},}',
    "args first": '{"servers": {"a": {"args": ["y"], "env": {"KEEP": "1"}, "command": "x"}}}',
    "no args before a comment": '{"servers": {"a": {\n  // the program\n  "command": "x" // here\n}}}',
    "a name twice": '{"servers": {"a": {"command": "old", "args": ["1"]},\n "a": {"command": "x", "args": ["2"]}}}',
    "servers twice": '{"servers": {"a": {"command": "old"}}, "servers": {"a": {"command": "new"}}}',
    "members twice": '{"servers": {"a": {"command": "old", "command": "x", "args": ["1"], "args": ["2"]}}}',
    "escapes": r'{"servers": {"a": {"command": "C:\\p\u0072og\/x", "args": ["\"", "\\", "\u00e9\ud83d\ude00"]}}}',
    "escaped keys": r'{"servers": {"\u0061": {"c\u006fmmand": "x", "\u0061rgs": ["y"]}}}',
    "other languages": '{"servers": {"файлы": {"command": "/домой/сервер", "args": ["путь"]}}}\n',
    "odd names": r'{"servers": {"-- \n\"${x}\"": {"command": "x", "args": ["y"]}, "--": {"command": "x"}}}',
    "numbers in args": '{"servers": {"a": {"command": "x", "args": ["-p", 8080, -1.5e3, true]}}}',
    "words of a tap": '{"servers": {"a": {"command": "x", "args": ["tap", "--", "mcp-tui", "tap"]}}}',
    "order and blanks": '{"servers": {"a": {"args": [ "x" ], "command": "x"}, "b": {"args": [], "command": "x"}}}',
    "VS Code": (
        '{\n  "inputs": [{"id": "k", "type": "promptString"}],\n  "servers": {\n    "a": {\n'
        '      "type": "stdio",\n      "command": "${workspaceFolder}/x",\n'
        '      "args": ["--key", "${input:k}"],\n      "envFile": "${workspaceFolder}/.env"\n    }\n  }\n}\n'
    ),
    "Zed": (
        '{\n  "theme": "KEEP", // dark\n  "context_servers": {\n'
        '    "a": { "source": "custom", "command": "x", "args": ["y"], "env": null },\n  }\n}\n'
    ),
    "Zed as it was": (
        '{"context_servers": {"a": {"command": {"path": "x", "args": ["y"]}}, "b": {"command": {"path": "x"}}}}'
    ),
    "Claude Code": (
        '{"numStartups": 3, "projects": {"/other": {"mcpServers": {"a": {"command": "no"}}},\n'
        ' "@CWD@": {"mcpServers": {"a": {"type": "stdio", "command": "x", "args": [], "env": {}}}}},\n'
        ' "mcpServers": {"b": {"command": "${HOME}/b", "args": ["${X:-d}"]}}, "history": ["KEEP"]}'
    ),
    "codex.toml": (
        '# mine\nmodel = "KEEP"\n\n[mcp_servers.a]\ncommand = "npx"  # here\nargs = ["-y", "x"] # there\n\n'
        '[mcp_servers.a.env]\nA = "b"\n'
    ),
    "lines.toml": '[mcp_servers.a]\nargs = [\n  # first\n  "-y", # [really]\n  "x",\n]\ncommand = "npx"\n',
    "no args.toml": "[mcp_servers.a]\n  command = \"npx\"\n\n[mcp_servers.'b c']\r\n\"command\"='x'\r\n",
    "empty.toml": '[mcp_servers.a]\ncommand = "x"\nargs = [ # none\n]\n[mcp_servers.b]\ncommand = "x"\nargs = []',
    "inline.toml": 'mcp_servers = { a = { command = "x", args = ["y"] }, b = { command = "x" } }\n',
    "dotted.toml": (
        'mcp_servers.a.command = "x"\nmcp_servers.a.args = ["y"]\nmcp_servers.b.command = "x" # KEEP\n'
    ),
    "dotted inside.toml": "[mcp_servers]\na.command = 'x'\n\"b\".'command' = 'x'\nb.env = { A = '1' }\n",
    "one inline.toml": '[mcp_servers]\na = { command = "x", args = [ "y", "z", ], env = { K = "v" } }\n',
    "strings.toml": (
        "[mcp_servers.a]\ncommand = 'C:\\p\\x'\nargs = ['''a\n\"b''', \"\"\"c\\\n  d\"\"\"\", \"# 'e'\"]\n"
    ),
    "many.toml": (
        "[[notify]]\nx = [1, 2.5, 2026-01-01]\n[[notify]]\nx = []\n[mcp_servers.a]\nlimit = 1_0.5\n"
        'when = 2026-01-01 10:00:00Z\ncommand = "x"\n'
    ),
    "opencode": (
        '{ // mine\n  "mcp": {\n    "a": {"type": "local", "command": ["npx", "-y" /* yes */, "x"],\n'
        '      "environment": {"K": "KEEP"}},\n'
        '    "b": {"type": "local", "command": [\n      "uvx",\n      "{env:X}",\n    ], "enabled": false},\n'
        '    "c": {"type": "local", "command": ["mcp-tui"]}, "d": {"type": "remote", "url": "https://h"}\n  }\n}\n'
    ),
    "Cline": (
        '{"mcpServers": {"a": {"transport": {"type": "stdio", "command": "x", "args": ["y"]}, "disabled": false},\n'
        '"b": {"transport": {"command": "x"}, "timeout": 60}, "c": {"command": "x"},\n'
        '"d": {"transport": {"type": "streamableHttp", "url": "https://h"}}}}'
    ),
    "VS Code's settings": '{\n  "editor.x": "KEEP",\n  "mcp": {"servers": {"a": {"command": "x"}}}, // here\n}\n',
    "goose.yaml": (
        "# mine\nGOOSE_MODEL: KEEP\nextensions:\n  a:\n    type: stdio\n    cmd: npx   # here\n    args:\n      - -y\n"
        "      # two\n      - 'x y'\n    enabled: true\n    timeout: 300\n  developer:\n    type: builtin\n"
        "  b: {type: stdio, cmd: \"x\", args: [a, 'b'], enabled: true}\n  c: {cmd: x}\n  d:\n    cmd: 'x'\n  e:\n"
        "    cmd: x\n    args: []\n  f:\n    cmd: x\n    args:\n    - 8080\n    - true\n"
    ),
    "continue.yaml": (
        'name: mine\nmcpServers:\n  - name: a\n    command: npx\n    args: ["-y", x]\n  - command: x # KEEP\n    name: "b"\n'
        "  - name: c\r\n    env:\n      K: v\r\n    command: uvx\r\n    args:\r\n      - x\r\n  - {name: d, command: y}\n"
        "  - name: e\n    url: https://h\n"
    ),
}
"""Texts of config files by their names. KEEP is what the client changes meanwhile."""


def _servers(file: Path, cwd: Path) -> list[Definition]:
    """The servers that a tap can stand in front of."""
    found = discover(surroundings(cwd, cwd), file)
    assert not found.problems
    return [
        each
        for each in found.servers
        if each.launch
        and each.launch.transport == "stdio"
        and not each.shadowed
        and each.source is not REGISTRY
    ]


def _in_and_out(file: Path, cwd: Path) -> None:
    """Puts a tap in front of every server and takes it out again, while the client changes what is its own."""
    before, raw = _servers(file, cwd), file.read_bytes()
    assert not any(each.tapped for each in before)
    for each in before:
        ConfigEntry(each).install(PROGRAM, options(5, None, each.name)).write()
    tapped = _servers(file, cwd)
    assert [each.launch for each in tapped] == [each.launch for each in before]
    assert all(each.tapped for each in tapped)
    file.write_bytes(file.read_bytes().replace(b"KEEP", b"other"))
    for each in reversed(before):
        (now,) = (one for one in _servers(file, cwd) if one.name == each.name)
        ConfigEntry(now).uninstall().write()
    assert file.read_bytes() == raw.replace(b"KEEP", b"other")


@pytest.mark.parametrize("name", FILES)
def test_a_tap_leaves_every_byte_as_it_was(name: str, tmp_path: Path):
    json_name = ".claude.json" if name == "Claude Code" else "mcp.json"
    file = tmp_path / (name if name.endswith((".toml", ".yaml")) else json_name)
    file.write_bytes(FILES[name].replace("@CWD@", str(tmp_path)).encode())
    assert _servers(file, tmp_path)
    _in_and_out(file, tmp_path)


def test_a_tap_leaves_every_byte_of_the_files_of_each_tool(tmp_path: Path):
    sources = [each for end in ("json", "jsonc", "toml", "yaml") for each in CORPUS.rglob(f"*.{end}")]
    for number, source in enumerate(each for each in sources if "broken" not in each.parts):
        file = tmp_path / str(number) / source.name.replace("dot-", ".", 1)
        file.parent.mkdir()
        file.write_bytes(source.read_bytes())
        _in_and_out(file, tmp_path)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            '{"command": "/p/mcp-tui", "args": ["tap", "--", "npx", "-y"]}',
            '{"command": "npx", "args": ["-y"]}',
        ),
        ('{"command": "uvx", "args": ["mcp-tui-client", "tap", "--", "x"]}', '{"command": "x", "args": []}'),
        ('{"command": "mcp-tui", "args": [\n"tap",\n"--",\n"x",\n]}', '{"command": "x", "args": []}'),
        (
            '{"command": "mcp-tui", "args": ["tap", "--", "/b/mcp-tui", "tap", "--name=x", "--", "x", "y"]}',
            '{"command": "x", "args": ["y"]}',
        ),
        (
            '{"command": "mcp-tui", "args": ["tap", "--max-timeout", "60", "npx", "-y"]}',
            '{"command": "npx", "args": ["-y"]}',
        ),
        (
            '{"command": "uv", "args": ["tool", "run", "--from", "mcp-tui-client", "mcp-tui", "tap", "x"]}',
            '{"command": "x", "args": []}',
        ),
        (
            '{"command": "python3", "args": ["-I", "-m", "mcp_tui", "tap", "--new-option", "v", "--", "x"]}',
            '{"command": "x", "args": []}',
        ),
    ],
    ids=["by hand", "uvx", "laid out anew", "two taps", "without --", "uv", "an option of another version"],
)
def test_a_tap_that_somebody_else_wrote_is_taken_out(text: str, after: str, tmp_path: Path):
    file = tmp_path / "mcp.json"
    file.write_text(f'{{"servers": {{"a": {text}}}}}')
    (server,) = _servers(file, tmp_path)
    ConfigEntry(server).uninstall().write()
    assert file.read_text() == f'{{"servers": {{"a": {after}}}}}'


@pytest.mark.parametrize(
    ("definition", "lines"),
    [
        (
            '{"url": "https://h/mcp"}',
            ["mcp-tui tap --http 7000 https://h/mcp", '"url": "http://127.0.0.1:7000/mcp"'],
        ),
        (
            '{"serverUrl": "https://h/a/sse?key=v"}',
            ["mcp-tui tap --http 7000 'https://h/a/sse?key=v'", '"serverUrl": "http://127.0.0.1:7000/a/sse"'],
        ),
        (
            '{"command": "x", "args": null}',
            [f'"command": "{PROGRAM}",', '"args": ["tap", "--name=a", "--", "x"]'],
        ),
        (
            '{"command": "mcp-tui", "args": ["tap", "--", /* mine */ "x", "y"]}',
            ['"command": "x",', '"args": ["y"]'],
        ),
        ("{}", []),
    ],
    ids=["url", "the client's own name for a url", "args are null", "a comment would be lost", "no command"],
)
def test_what_cannot_be_edited_is_refused_with_the_lines(definition: str, lines: list[str], tmp_path: Path):
    file = tmp_path / "mcp.json"
    file.write_text(f'{{"servers": {{"a": {definition}}}}}')
    (server,) = discover(surroundings(tmp_path, tmp_path), file).servers
    with pytest.raises(NotEditable) as refused:
        ConfigEntry(server).uninstall() if server.tapped else ConfigEntry(server).install(
            PROGRAM, ["--name=a"]
        )
    assert refused.value.lines == lines


def test_the_lines_for_a_file_of_toml_are_toml(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text('[mcp_servers.a]\nurl = "https://h"\n')
    (server,) = discover(surroundings(tmp_path, tmp_path), file).servers
    with pytest.raises(NotEditable) as refused:
        ConfigEntry(server)
    assert refused.value.lines[1] == 'url = "http://127.0.0.1:7000/"'


def test_a_file_that_is_gone_is_not_said_to_be_read_only(tmp_path: Path):
    file = tmp_path / "mcp.json"
    file.write_text(FILES["plain"])
    (server,) = _servers(file, tmp_path)
    edit = ConfigEntry(server).install(PROGRAM, [])
    file.unlink()
    with pytest.raises(ConfigError, match="No such file"):
        edit.write()


def test_the_commands_show_the_change_and_keep_mode_and_link(tmp_path: Path):
    file, link = tmp_path / "real.json", tmp_path / "mcp.json"
    text = '{"mcpServers": {"a": {"command": "npx"}, "b": {"url": "https://h/mcp"}}}'
    file.write_text(text)
    file.chmod(0o640)
    link.symlink_to(file)
    given = ("--config", str(link))
    refused = run("tap", "install", "a", *given)
    assert (refused.status, file.read_text()) == (2, text)
    assert "Add --yes" in refused.err
    for words in (("--record", "r.jsonl"), ("--json",)):
        unfit = run("tap", "install", "a", *words, *given, "--yes")
        told = f"mcp-tui: {words[0]} does not go with tap install.\n"
        assert (unfit.status, unfit.err, file.read_text()) == (2, told, text)
    done = run("tap", "install", "a", "--max-timeout", "9", *given, "--yes")
    assert (done.status, done.err) == (0, "")
    assert (
        '+ {"mcpServers": {"a": {"args": [ "tap", "--max-timeout", "9", "--name=a", "--", "npx" ]' in done.out
    )
    assert (file.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert os.access(json.loads(file.read_text())["mcpServers"]["a"]["command"], os.X_OK)
    assert run("tap", "install", "a", *given).out.endswith("has a tap\nNothing changed.\n")
    told = json.loads(run("tap", "status", *given, "--json").out)
    assert [(each["name"], each["tap"], each["command"]) for each in told] == [
        ("a", True, ["npx"]),
        ("b", False, None),
    ]
    assert "mcp-tui tap --http 7000 https://h/mcp" in run("tap", "install", "b", *given).err
    undone = run("tap", "uninstall", "a", *given, "--yes")
    assert (undone.status, file.read_text()) == (0, text)
    kept = Path(undone.out.rpartition(": ")[2].strip())
    assert json.loads(kept.read_text())["mcpServers"]["a"]["args"][0] == "tap"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_of_two_equal_members_the_changed_one_is_named(tmp_path: Path):
    file = tmp_path / "two.json"
    for text, place in (
        ('{"mcpServers": {"a": {"command": "x"},\n"a": {"command": "y"}}}', "mcpServers.a"),
        ('{"mcpServers": {"a": {"command": "x",\n"command": "y"}}}', "mcpServers.a.command"),
        ('{"mcpServers": {"a": {"command": "x"}},\n"mcpServers": {"a": {"command": "y"}}}', "mcpServers"),
    ):
        file.write_text(text)
        ran = run("tap", "install", "a", "--config", str(file), "--yes")
        assert f"{place} is defined in line 1 and again in line 2. Only the last one is used" in ran.err
        assert '"y"' in file.read_text().splitlines()[1]
        assert file.read_text().splitlines()[0] == text.splitlines()[0]


def test_of_all_servers_what_stays_is_told_and_announces_no_lines(tmp_path: Path):
    file = tmp_path / "mcp.json"
    file.write_text(
        '{"servers": {"a": {"command": "x", "args": null}, "b": {"command": "x", "args": ["${x}"]}}}'
    )
    ran = run("tap", "install", "--all", "--config", str(file), "--yes", "--max-timeout", "1234567")
    assert f"{file}:1  Cannot edit {file}:1 safely\n" in ran.out
    assert '"--max-timeout", "1234567"' in file.read_text()
    file.write_text('{"servers": {}}')
    for words in (("install", "--all"), ("status",)):
        assert run("tap", *words, "--config", str(file)).err == f"mcp-tui: No servers in {file}.\n"


def test_a_file_of_another_form_is_refused_with_what_to_write(tmp_path: Path):
    for name, text, why, line in (
        ("config.yaml", "mcpServers: [\n", ":2:1: not valid YAML", 'args: ["tap", "--", "COMMAND", "ARGS"]'),
        ("opencode.json", "{", ":1:2: not valid JSON", '"tap", "--", "COMMAND", "ARGS"]'),
        ("crushrc", "mcp add a --command npx\n", ": a shell script", "tap -- COMMAND ARGS"),
    ):
        file = tmp_path / name
        file.write_text(text)
        refused = run("tap", "install", "a", "--config", str(file), "--yes")
        assert (refused.status, file.read_text()) == (2, text)
        assert f"{file}{why}" in refused.err
        assert line in refused.err


def test_a_shared_file_gets_a_path_of_this_machine_only_after_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    file, text = Path(".mcp.json"), '{"mcpServers": {"a": {"command": "npx"}}}'
    file.write_text(text)
    assert run("servers", "--trust", "a", "--yes").status == 0
    install, project = (
        ("tap", "install", "a", "--yes"),
        f"{tmp_path}/.mcp.json belongs to a project: others get",
    )
    done = run(*install)
    assert (done.status, project in done.err) == (0, True)
    assert run("tap", "uninstall", "a", "--yes").err == ""
    for words in (("init", "-q"), ("add", ".mcp.json")):
        subprocess.run(("git", *words), check=True, capture_output=True)
    refused = run(*install)
    assert (refused.status, file.read_text()) == (2, text)
    assert (
        "has a file that is tracked by git: others would get a path of this machine. Name the file"
        in refused.err
    )
    left_alone = run("tap", "install", "--all", "--yes")
    assert (left_alone.status, "is tracked by git" in left_alone.out, file.read_text()) == (0, True, text)
    done = run(*install, "--config", ".mcp.json")
    assert (done.status, "is tracked by git" in done.err, file.read_text() == text) == (0, True, False)


def test_a_project_s_server_needs_approval_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path(".mcp.json").write_text('{"mcpServers": {"a": {"command": "npx"}}}')
    refused = run("tap", "install", "a", "--yes")
    assert "needs your approval. Run mcp-tui servers --trust a" in refused.err
    assert run("servers", "--trust", "a", "--yes").status == 0
    assert run("tap", "install", "a", "--yes").status == 0
    (server,) = json.loads(run("servers", "--json").out)
    assert (server["state"], server["command"]) == ("usable", "npx")
    Path(".cursor").mkdir()
    Path(".cursor/mcp.json").write_text('{"mcpServers": {"a": {"command": "other"}}}')
    assert run("servers", "--trust", "a", "--yes", "--config", ".cursor/mcp.json").status == 0
    both = run("tap", "install", "a", "--client", "cursor", "--yes")
    assert (
        both.status,
        "Change" in both.out,
        both.out.count("\nchange") + both.out.startswith("change"),
    ) == (0, False, 1)
    assert run("tap", "uninstall", "a", "--yes").out.count("change ") == 2


def _program(path: Path) -> Path:
    """Installs mcp-tui as an installer does: the launcher, and beside it the script that it starts."""
    path.parent.mkdir(parents=True)
    shutil.copy(LAUNCHER, path)
    client = path.with_name("mcp-tui-client")
    client.write_text(f"#!{sys.executable}\nfrom mcp_tui.__main__ import run\nrun()\n")
    client.chmod(0o755)
    return path


def test_a_program_that_will_be_deleted_is_refused_and_one_that_is_gone_is_named(tmp_path: Path):
    file = tmp_path / "mcp.json"
    file.write_text(FILES["plain"])
    (tmp_path / "uv" / "archive-v0" / "x").mkdir(parents=True)
    (tmp_path / "uv" / "CACHEDIR.TAG").touch()
    cached = _program(tmp_path / "uv" / "archive-v0" / "x" / "bin" / "mcp-tui")
    tool = _program(tmp_path / "tools" / "x" / "bin" / "mcp-tui")
    for mark in ("pyvenv.cfg", "uv-receipt.toml"):
        (tool.parents[1] / mark).touch()
    link = tmp_path / "mcp-tui"
    link.symlink_to(tool)

    def install(program: Path) -> subprocess.CompletedProcess[str]:
        words = (program, "tap", "install", "a", "--config", file, "--yes")
        return subprocess.run(words, check=False, capture_output=True, text=True, timeout=HANG)

    refused = install(cached)
    assert (refused.returncode, refused.stdout, file.read_text()) == (2, "", FILES["plain"])
    assert f"{cached} is in uv's cache" in refused.stderr
    assert "Run uv tool install " in refused.stderr
    done = install(tool.with_name("mcp-tui-client"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(file.read_text())["mcpServers"]["a"]["command"] == str(tool)
    assert run("tap", "uninstall", "a", "--config", str(file), "--yes").status == 0
    done = install(link)
    assert (done.returncode, done.stderr) == (0, "")
    shutil.rmtree(tmp_path / "tools")
    link.unlink()
    status = run("tap", "status", "--config", str(file))
    assert (status.status, status.out.split()[:3]) == (0, ["a", "broken", "tap"])
    (told,) = json.loads(run("tap", "status", "--config", str(file), "--json").out)
    assert told["problem"].startswith("No such file: ")
    for each in (status, run("tap", "install", "a", "--config", str(file), "--yes")):
        assert (
            f"has a tap that has to be replaced: {told['problem']}. Run mcp-tui tap uninstall a, then"
            in each.err
        )
    assert run("tap", "uninstall", "a", "--config", str(file), "--yes").status == 0
    assert file.read_text() == FILES["plain"]


@pytest.mark.parametrize(
    ("name", "before", "tapped"),
    [
        (
            "config.toml",
            '[mcp_servers.a]\ncommand = "x"\n',
            f'[mcp_servers.a]\ncommand = "{PROGRAM}"\nargs = [\n  "tap",\n  "--",\n  "x",\n]\n',
        ),
        (
            "config.yaml",
            "extensions:\n  a:\n    cmd: x\n",
            f"extensions:\n  a:\n    args:\n    - tap\n    - --\n    - x\n    cmd: {PROGRAM}\n",
        ),
        (
            "mcp.json",
            '{"mcpServers": {"a": {"command": "x"}}}',
            f'{{"mcpServers": {{"a": {{"command": "{PROGRAM}", "args": ["tap", "--", "x"]}}}}}}',
        ),
    ],
)
def test_a_file_that_its_client_wrote_anew_gets_no_arguments_that_it_had_not(
    name: str, before: str, tapped: str, tmp_path: Path
):
    file = tmp_path / name
    file.write_text(before)
    (server,) = _servers(file, tmp_path)
    ConfigEntry(server).install(PROGRAM, []).write()
    file.write_text(tapped)
    (server,) = _servers(file, tmp_path)
    ConfigEntry(server).uninstall().write()
    assert file.read_text() == before


HOMES: Final = {
    ".claude.json": (
        '{"projects": {"/a": {"mcpServers": {"l1": {"command": "x"}}}, "/b": {"mcpServers": {"l1": {"command": "y"}}}},\n'
        ' "mcpServers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "fs"], "env": {}}, @4@}}'
    ),
    ".codex/config.toml": '# mine\n[mcp_servers.files]\ncommand = "npx" # here\ntool_timeout_sec = 30\n@4@',
    ".gemini/settings.json": '{\n\t"mcpServers": {"files": {"command": "npx", "args": []}, @4@}\n}\n',
    ".qwen/settings.json": '{"mcpServers": {"n": {"env": {}, "command": "x"}, @4@}, "x": 1}',
    "config/opencode/opencode.jsonc": '{ // mine\n  "mcp": {@4@,}\n}',
    ".cline/data/settings/cline_mcp_settings.json": '{"mcpServers": {@4@}}\r\n',
    "config/goose/config.yaml": "# mine\nextensions:\n@4@",
    ".continue/config.yaml": "name: mine\nmcpServers:\n@4@",
}
"""The config files of eight clients; ``@4@`` stands for more servers of the client's form."""


def _more(name: str) -> str:
    """Servers in the form of a client."""
    forms = {
        ".toml": ('[mcp_servers.s%d]\ncommand = "s"\nargs = ["%d"]', "\n"),
        "jsonc": ('"s%d": {"type": "local", "command": ["s", "%d"]}', ", "),
        "cline_mcp_settings.json": (
            '"s%d": {"transport": {"type": "stdio", "command": "s", "args": ["%d"]}}',
            ", ",
        ),
        "goose/config.yaml": (
            "  s%d:\n    type: stdio\n    cmd: s\n    args:\n      - '%d'\n    enabled: true",
            "\n",
        ),
        "continue/config.yaml": ("  - name: s%d\n    command: s # %d", "\n"),
        ".json": ('"s%d": {"command": "s", "args": ["%d"]}', ", "),
    }
    form, between = next(each for end, each in forms.items() if name.endswith(end))
    return between.join(form % (number, number) for number in range(3))


def test_all_servers_of_eight_clients_get_a_tap_and_every_byte_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = tmp_path / "settings.toml"
    settings.write_text(
        "[tap]\ntimeout = 20\nonce = ['pay']\n[tap.servers.s1.tools.slow]\nmax-timeout = 5\ntimeout = 7\nonce = true\n"
    )
    paths = {"HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path / "config", "MCP_TUI_CONFIG": settings}
    for name, value in paths.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    files = {tmp_path / name: text.replace("@4@", _more(name)).encode() for name, text in HOMES.items()}
    for file, raw in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    done = run("tap", "install", "--all", "--max-timeout", "60", "--yes")
    assert (done.status, done.out.count("\nchange ") + 1) == (0, 30)
    assert "Written. 30 entries in 8 files." in done.out
    assert "Codex ends a call after 30s: the tap's max timeout of 60s is not reached" in done.err
    told = json.loads(run("tap", "status", "--json").out)
    limits = [(each["tap"], each["problem"], each["timeout"], each["max_timeout"]) for each in told]
    assert limits == [(True, None, 20, 60)] * 30
    assert told[0]["scope"] == "local"
    assert next(each["tools"] for each in told if each["name"] == "s1") == {
        "slow": {"timeout": 7, "max_timeout": 60, "once": True}
    }
    assert told[0]["once"] == ["pay"]
    assert len(json.loads(run("tap", "status", "--client", "claude", "--json").out)) == 6
    assert "Unknown client 'codx'. Did you mean 'codex'?" in run("tap", "install", "--client", "codx").err
    said = run("tap", "status", "--client", "Codex").out
    assert "timeout 20s, max timeout 60s, once for pay, Codex's own limit 30s, never started" in said
    assert {each["tool"] for each in told if each["name"] == "files"} == {
        "Claude Code",
        "Codex",
        "Gemini CLI",
    }
    assert run("tap", "install", "--all").out.endswith("Nothing changed.\n")
    file = tmp_path / ".qwen/settings.json"  # its own program writes it anew
    whole = json.loads(file.read_text())
    file.write_text(json.dumps(whole, indent=2))
    files[file] = json.dumps(json.loads(files[file]), indent=2).encode()
    assert run("tap", "uninstall", "--client", "codex", "--yes").out.count("change ") == 4
    undone = run("tap", "uninstall", "--all", "--yes")
    assert (undone.status, undone.err, undone.out.count("\nchange ") + 1) == (0, "", 26)
    assert {each: each.read_bytes() for each in files} == files
