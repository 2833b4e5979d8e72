from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.config import saved
from mcp_tui.config.files import ConfigError, recent_file
from mcp_tui.config.saved import (
    Recent,
    SavedCall,
    SavedServer,
    SecretArguments,
    load_recent,
    remember,
    server_of,
)

ONE = server_of(StdioTarget(command=("npx", "-y", "one"), env={"TOKEN": "hunter2", "A": "b"}))
TWO = SavedServer(name="everything")


def call(name: str = "mine", server: SavedServer = ONE, **arguments: object) -> SavedCall:
    return SavedCall(name=name, tool="echo", arguments=dict(arguments), server=server)


def test_what_was_saved_is_found_as_it_was(tmp_path: Path):
    made = call(text="hi", deep={"a": [1, None, "ä"]})
    file = saved.save(tmp_path / "calls", made)
    assert saved.find(tmp_path / "calls", "mine") == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_server_is_told_by_its_url_whatever_headers_it_was_saved_with(tmp_path: Path):
    with_headers = SavedServer(url="https://x.example/mcp", headers=("X-Key",))
    saved.save(tmp_path, call(server=with_headers))
    saved.save(tmp_path, call(server=TWO))
    assert saved.find(tmp_path, "mine", SavedServer(url="https://x.example/mcp")).server == with_headers


def test_a_server_with_another_host_in_its_variables_has_calls_of_its_own(tmp_path: Path):
    def server(host: str, token: str) -> SavedServer:
        return server_of(StdioTarget(command=("x",), env={"API_HOST": host, "API_TOKEN": token}))

    files = [
        saved.save(tmp_path, call(server=server(host, "hunter2"))) for host in ("a.example", "b.example")
    ]
    assert len({*files}) == 2
    assert "a.example" not in files[0].read_text()
    found = saved.find(tmp_path, "mine", server("b.example", "a newer token")).server
    assert found == server("b.example", "hunter2")
    tenants = [server_of(HttpTarget(url="https://h/mcp", headers={"X-Tenant": each})) for each in "ab"]
    assert len({saved.save(tmp_path, call(server=each)) for each in tenants}) == 2


def test_the_paths_of_a_client_certificate_are_saved_whole(tmp_path: Path):
    target = HttpTarget(url="https://x.example/mcp", client_cert="me.pem", client_key="/keys/me.key")
    saved.save(tmp_path, call(server=server_of(target)))
    server = saved.find(tmp_path, "mine").server
    assert (server.client_cert, server.client_key) == (str(Path("me.pem").absolute()), "/keys/me.key")
    remember(target)
    assert load_recent() == []


def test_each_server_has_a_file_and_each_name_one_call_in_it(tmp_path: Path):
    saved.save(tmp_path, call(text="old"))
    saved.save(tmp_path, call(text="new"))
    saved.save(tmp_path, call("other"))
    saved.save(tmp_path, call(server=TWO))
    assert len(list(tmp_path.iterdir())) == 2
    calls, problems = saved.load(tmp_path)
    found = [(each.name, each.arguments) for each in calls if each.server == ONE]
    assert found == [("mine", {"text": "new"}), ("other", {})]
    assert problems == []
    sentence = r"'mine' is saved for several servers: everything, npx -y one. Give the server, too."
    with pytest.raises(ConfigError, match=sentence):
        saved.find(tmp_path, "mine")
    assert saved.find(tmp_path, "mine", TWO).server == TWO


def test_arguments_that_the_journal_would_redact_are_saved_only_when_confirmed(tmp_path: Path):
    made = call(api_key="hunter22", text="ok", deep={"password": "x1y2z3"}, url="https://a:secret9@h/")
    with pytest.raises(SecretArguments) as raised:
        saved.save(tmp_path, made)
    assert raised.value.names == ["api_key", "deep", "url"]
    assert list(tmp_path.iterdir()) == []
    saved.save(tmp_path, made, secrets=True)
    assert saved.find(tmp_path, "mine").arguments["api_key"] == "hunter22"


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (StdioTarget(command=("x",), name="demo", env={"TOKEN": "hunter2"}), SavedServer(name="demo")),
        (StdioTarget(command=("x", "--token", "hunter2")), SavedServer()),
        (HttpTarget(url="https://a:hunter2@h/mcp"), SavedServer()),
        (
            HttpTarget(url="https://h/mcp", headers={"Authorization": "Bearer hunter2"}),
            SavedServer(url="https://h/mcp", headers=("Authorization",)),
        ),
        (StdioTarget(command=("x",), env={"TOKEN": "hunter2"}), SavedServer(command=("x",), env=("TOKEN",))),
    ],
    ids=str,
)
def test_of_a_server_no_secret_is_kept(target: StdioTarget | HttpTarget, kept: SavedServer, tmp_path: Path):
    assert server_of(target) == kept
    file = saved.save(tmp_path, call(server=kept))
    assert "hunter2" not in file.read_text()
    assert saved.find(tmp_path, "mine").server == kept


def test_a_broken_file_costs_its_calls_and_one_sentence(tmp_path: Path):
    saved.save(tmp_path, call())
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "newer.json").write_text(json.dumps({"version": 2}))
    (tmp_path / "odd.json").write_text(json.dumps({"version": 1, "calls": {"a": {"arguments": {}}}}))
    calls, problems = saved.load(tmp_path)
    assert [each.name for each in calls] == ["mine"]
    assert problems == [
        f"{tmp_path}/broken.json: not a file of saved calls",
        f"{tmp_path}/newer.json: written by another version of mcp-tui",
        f"{tmp_path}/odd.json: call 'a' has no tool",
    ]


# -- the servers that were opened last -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (StdioTarget(command=("x",), env={"TOKEN": "t"}, name="mine"), Recent(server="mine")),
        (StdioTarget(command=("npx", "-y", "a b")), Recent(line="npx -y 'a b'", folder=str(Path.cwd()))),
        (HttpTarget(url="https://h/mcp"), Recent(line="https://h/mcp")),
        (StdioTarget(command=("x", "--token=hunter22")), None),
        (StdioTarget(command=("x",), env={"A": "b"}), None),
        (StdioTarget(command=("x",), cwd=Path("/tmp")), Recent(line="x", folder="/tmp")),
        (HttpTarget(url="https://h/mcp", headers={"A": "b"}), None),
        (HttpTarget(url="https://u:hunter22@h/mcp"), None),
    ],
    ids=str,
)
def test_what_can_be_opened_again_and_is_no_secret_is_remembered(target: Target, kept: Recent | None):
    remember(target)
    assert load_recent() == ([] if kept is None else [kept])


def test_the_last_one_is_the_first_and_each_is_there_once():
    for name in ("a", "b", "a", *map(str, range(20))):
        remember(StdioTarget(command=("x",), name=name))
    remember(StdioTarget(command=("x",), name="19"))
    assert load_recent() == [Recent(server=str(number)) for number in range(19, 7, -1)]
    assert stat.S_IMODE(recent_file().stat().st_mode) == 0o600
