"""``tap install --serve``: mcp-tui as a server in the config files of clients, and every byte back when it is out again."""

from __future__ import annotations

import json
import os
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from ruamel.yaml import YAML

from mcp_tui.config.servers import discover
from mcp_tui.config.sources import CLIENTS, REGISTRY, Place, Surroundings, place_of
from mcp_tui.tap.installation import NotEditable
from mcp_tui.tap.serve_entry import add, future, remove
from tests.cli.running import run
from tests.config.placing import CORPUS, surroundings
from tests.tap.test_install import FILES, HOMES, PROGRAM

WORDS: Final = [PROGRAM, "serve"]
READER: Final[Any] = YAML(typ="safe")
BARE: Final = {
    "no table": '{"theme": "KEEP"}\n',
    "no table, lines": '{\n\t"theme": "KEEP"\n}\n',
    "nothing": "{}",
    "nothing but a comment": "{ // mine\n}\n",
    "empty table": '{"mcpServers": {}, "theme": "KEEP"}',
    "blank in the table": '{"mcpServers": { }}',
    "lines in the table": '{\r\n  "mcpServers": {\r\n  }\r\n}\r\n',
    "comma": '{"mcpServers": {\n  "a": {"command": "x"}, // KEEP\n},}',
    "end.toml": 'model = "KEEP"',
    "returns.toml": 'model = "KEEP"\r\n',
    "blank line.toml": 'model = "KEEP"\n\n',
    "nothing.toml": "",
    "other.toml": '[mcp_servers.a]\ncommand = "x"\n\n[tui]\nx = "KEEP"',
    "end.yaml": "model: KEEP",
    "lines.yaml": "model: KEEP # here\n",
    "null.yaml": "extensions:\nmodel: KEEP\n",
    "null at the end.yaml": "model: KEEP\nextensions:",
    "flow.yaml": "extensions: {}\n",
    "list.yaml": "mcpServers: [ ]\nname: KEEP\n",
    "full list.yaml": "mcpServers: [{name: a, command: x}]",
    "comment.yaml": "extensions:\n  # KEEP\n  a:\n    type: stdio\n    cmd: x\n",
}
"""Texts of config files without servers, or with odd ends, by their names. KEEP is what the client changes meanwhile."""


def _in_and_out(place: Place, around: Surroundings) -> None:
    """Adds ``mcp-tui serve`` and removes it again, while the client changes what is its own."""
    file = place.path
    before, raw = discover(around, file, all_projects=True).servers, file.read_bytes()
    new = future(place, "mcp-tui", WORDS, around)
    assert (new.problem, new.serves, new.command_words) == ("", True, WORDS)
    add(new).write()
    servers = discover(around, file, all_projects=True).servers
    (there,) = (each for each in servers if each.serves)
    assert (there.name, there.command_words, there.problem, there.unread) == ("mcp-tui", WORDS, "", ())
    assert there.fields == new.fields
    assert [each.fields for each in servers if each != there] == [each.fields for each in before]
    file.write_bytes(file.read_bytes().replace(b"KEEP", b"other"))
    remove(next(each for each in discover(around, file).servers if each.serves)).write()
    assert file.read_bytes() == raw.replace(b"KEEP", b"other")


@pytest.mark.parametrize("name", [*FILES, *BARE])
def test_a_server_that_is_added_and_removed_leaves_every_byte_as_it_was(name: str, tmp_path: Path):
    own = {"Claude Code": ".claude.json", "opencode": "opencode.json", "continue.yaml": "config.yaml"}
    file = tmp_path / (name if name.endswith((".toml", ".yaml")) else own.get(name, "mcp.json"))
    file.write_bytes((FILES | BARE)[name].replace("@CWD@", str(tmp_path)).encode())
    around = surroundings(tmp_path, tmp_path)
    if name == "VS Code's settings":
        file = file.rename(tmp_path / "settings.json")
    if name != "inline.toml":
        _in_and_out(place_of(file, around), around)
        return
    with pytest.raises(NotEditable) as refused:  # a table in one line
        _in_and_out(place_of(file, around), around)
    assert tomllib.loads("\n".join(refused.value.lines))["mcp_servers"]["mcp-tui"]["args"] == ["serve"]


def test_it_leaves_every_byte_of_the_files_of_each_tool(tmp_path: Path):
    around = surroundings(tmp_path, tmp_path)
    known = [place for source in CLIENTS if source is not REGISTRY for place in around.own_files(source)]
    sources = [each for end in ("json", "jsonc", "toml", "yaml") for each in CORPUS.rglob(f"*.{end}")]
    done: set[str] = set()
    for number, source in enumerate(each for each in sources if "broken" not in each.parts):
        file = tmp_path / str(number) / source.name.replace("dot-", ".", 1)
        file.parent.mkdir()
        file.write_bytes(source.read_bytes())
        place = next((each for each in known if each.source.id == source.relative_to(CORPUS).parts[0]), None)
        if place is not None and place.path.suffix == file.suffix and discover(around, file).servers:
            _in_and_out(Place(place.source, file), around)
            done.add(place.source.id)
    assert len(done) > 12, done


def test_where_sessions_are_is_in_the_entry_if_it_is_no_usual_place(tmp_path: Path):
    odd = {"XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}
    around = surroundings(tmp_path, tmp_path, {**odd, "MCP_TUI_STATE": ""})
    for name, text, member in (
        ("config.toml", "", "env"),
        ("opencode.json", "{}", "environment"),
        ("config.yaml", "extensions: {}", "envs"),
    ):
        file = tmp_path / name
        file.write_text(text)
        _in_and_out(place_of(file, around), around)
        assert future(place_of(file, around), "mcp-tui", WORDS, around).fields[member] == odd
    usual = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}
    around = surroundings(tmp_path, tmp_path, usual)
    assert (
        "environment" not in future(place_of(tmp_path / "opencode.json", around), "n", WORDS, around).fields
    )


def test_what_another_program_has_written_anew_is_removed_whole(tmp_path: Path):
    around = surroundings(tmp_path, tmp_path)
    for name, text, by in (
        ("mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', json.dumps),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', _indented),
        ("mcp.json", '{"mcpServers": {}}', _indented),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', _sorted),
        ("goose.yaml", "extensions:\n  a:\n    cmd: x\n    type: stdio\n", _yaml),
        ("opencode.json", '{"mcp": {"a": {"type": "local", "command": ["x"]}}}', _sorted),
    ):
        file = tmp_path / name
        file.write_text(text)
        place = place_of(file, around)
        whole = READER.load(text)
        add(future(place, "mcp-tui", WORDS, around)).write()
        file.write_text(by(READER.load(file.read_text())))
        remove(next(each for each in discover(around, file).servers if each.serves)).write()
        assert file.read_text() == by(whole)


def _indented(whole: Any) -> str:
    return json.dumps(whole, indent=2)


def _sorted(whole: Any) -> str:
    (key,) = whole
    return json.dumps({key: dict(sorted(whole[key].items()))}, indent=4)


def _yaml(whole: Any) -> str:
    written = StringIO()
    library: Any = YAML()
    library.default_flow_style = False
    library.dump(whole, written)
    return written.getvalue()


def test_eight_clients_get_the_server_and_every_byte_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path / "config"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    assert "No client to install mcp-tui serve for" in run("tap", "install", "--serve").err
    refused = run("tap", "install", "--serve", "--client", "codex", "--yes")
    assert (refused.status, "[mcp_servers.mcp-tui]\n" in refused.err) == (2, True)
    files = {
        tmp_path / name: text.replace("@4@", "").replace(", }", "}").replace("{,}", "{}").encode()
        for name, text in HOMES.items()
    }
    for file, raw in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    (tmp_path / ".gemini/settings.json").write_text("{")
    files[tmp_path / ".gemini/settings.json"] = b"{"
    asked = run("tap", "install", "--serve", "--all")
    assert (asked.status, "Add --yes" in asked.err) == (2, True)
    assert {each: each.read_bytes() for each in files} == files
    done = run("tap", "install", "--serve", "--all", "--yes")
    assert (done.status, done.out.count("\nchange ") + done.out.startswith("change ")) == (0, 7)
    assert "Written. 7 entries in 7 files." in done.out
    assert [each["command"][-1] for each in _status()] == ["serve"] * 7
    assert run("tap", "install", "--all", "--client", "claude").out.count("is mcp-tui itself") == 1
    taps = run("tap", "install", "--all", "--yes")
    assert (taps.status, taps.out.count("is mcp-tui itself")) == (0, 7)
    row = run("tap", "status", "--client", "codex").out.splitlines()[-1].split()
    assert row[:3] == ["mcp-tui", "serve", "Codex"]
    other = run("tap", "install", "--serve", "--client", "codex", "--allow-cancel", "--yes")
    assert "has mcp-tui serve without --allow-cancel" in other.err
    assert run("tap", "uninstall", "--serve", "--client", "codex", "--yes").out.count("change ") == 1
    done = run("tap", "install", "--serve", "--client", "codex", "--allow-cancel", "--name", "watch", "--yes")
    assert (done.status, done.err) == (0, "")
    config = tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"]
    assert config["watch"]["args"] == ["serve", "--allow-cancel"]
    assert os.access(config["watch"]["command"], os.X_OK)
    assert (
        run("tap", "install", "watch", "--yes").status == 0
    )  # a person may want to record what the agent asks
    assert run("tap", "uninstall", "watch", "--yes").status == 0
    assert tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"] == config
    assert run("tap", "uninstall", "watch", "--yes").status == 0
    assert "watch" not in tomllib.loads((tmp_path / ".codex/config.toml").read_text())["mcp_servers"]
    undone = run("tap", "uninstall", "--all", "--yes")
    assert undone.status == 0
    assert {each: each.read_bytes() for each in files} == files


def _status() -> list[dict[str, Any]]:
    return [each for each in json.loads(run("tap", "status", "--json").out) if each["serve"]]


def test_the_server_of_a_shared_file_and_of_a_taken_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    file = Path(".mcp.json")
    file.write_text('{"mcpServers": {"mcp-tui": {"command": "x"}}}')
    words = ("tap", "install", "--serve", "--config", str(file), "--yes")
    taken = run(*words)
    assert (taken.status, "has another server 'mcp-tui': use --name" in taken.err) == (2, True)
    done = run(*words, "--name", "b")
    assert (done.status, "belongs to a project: others get" in done.err) == (0, True)
    assert [
        each["name"] for each in json.loads(run("tap", "status", "--config", str(file), "--json").out)
    ] == ["b", "mcp-tui"]
    file.write_text(
        file.read_text().replace(json.loads(file.read_text())["mcpServers"]["b"]["command"], "/gone/mcp-tui")
    )
    gone = run("tap", "status", "--config", str(file))
    assert (gone.out.split()[:3], "tap uninstall --serve, then install it again" in gone.err) == (
        ["b", "broken", "serve"],
        True,
    )
    for text, why in (
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ('{"mcpServers": "x"}', "mcpServers is not an object"),
        ('{"mcpServers": null}', "Cannot edit"),
        ("[]", "Cannot edit"),
        ("", "Cannot edit"),
    ):
        file.write_text(text)
        refused = run(*words)
        assert (refused.status, why in refused.err, file.read_text()) == (2, True, text), refused.err
    for unfit in (("--timeout", "3"), ("a",)):
        assert run(*words, *unfit).status == 2
    assert run("tap", "install", "a", "--allow-cancel").status == 2
