from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mcp_tui.client.settings import HttpTarget, StdioTarget
from mcp_tui.tui.view.headless import headless_command, masked
from tests.tui.hostile import PAYLOADS, assert_harmless

STDIO = StdioTarget(command=("python", "my server.py"))
HTTP = HttpTarget(url="http://127.0.0.1:8000/mcp")


def call(arguments: object, name: str = "slow_sql") -> str:
    return headless_command("tools/call", {"name": name, "arguments": arguments}, STDIO)


def test_a_call_as_one_would_type_it():
    assert call({"query": "select 'x'", "n": 5, "wide": True}) == (
        """mcp-tui call slow_sql query='select '"'"'x'"'"'' n=5 wide=true -- python 'my server.py'"""
    )
    assert call({}) == "mcp-tui call slow_sql -- python 'my server.py'"
    assert call({"text": ""}) == "mcp-tui call slow_sql text= -- python 'my server.py'"


def test_what_name_and_value_cannot_say_is_json():
    for arguments in ({"list": [1]}, {"nothing": None}, {"a-b": "c"}, {"o": {"x": 1}}):
        tokens = shlex.split(call(arguments))
        assert tokens[:4] == ["mcp-tui", "call", "slow_sql", "--args"]
        assert json.loads(tokens[4]) == arguments


def test_other_requests():
    assert headless_command("ping", None, HTTP) == "mcp-tui request ping http://127.0.0.1:8000/mcp"
    read = shlex.split(headless_command("resources/read", {"uri": "file:///x"}, HTTP))
    assert read[:4] == ["mcp-tui", "request", "resources/read", "--params"]
    assert json.loads(read[4]) == {"uri": "file:///x"}


def test_the_clients_own_metadata_is_left_out():
    params = {"name": "add", "arguments": {"a": 1}, "_meta": {"progressToken": 7}}
    assert headless_command("tools/call", params, HTTP) == "mcp-tui call add a=1 http://127.0.0.1:8000/mcp"


def test_what_else_a_call_carries_is_kept():
    params = {"name": "add", "arguments": {"a": 1}, "task": {"ttl": 60}}
    tokens = shlex.split(headless_command("tools/call", params, HTTP))
    assert tokens[:4] == ["mcp-tui", "request", "tools/call", "--params"]
    assert json.loads(tokens[4]) == params


@pytest.mark.parametrize(
    "name", ["apiKey", "api_key", "access_token", "Password", "client_secret", "Authorization"]
)
def test_secrets_are_masked(name: str):
    assert "hunter2" not in call({name: "hunter2"})
    assert "hunter2" not in call({"deep": [{name: "hunter2"}]})
    assert "***" in call({name: "hunter2"})


def test_the_protocols_own_fields_are_not_secrets():
    value = {"progressToken": "a", "cursor": "b", "nextCursor": "c"}
    assert masked(value) == value


def test_secrets_of_the_target_are_masked():
    stdio = StdioTarget(
        command=("server", "--api-key", "hunter2", "--token=hunter2", "--verbose", "plain"),
        env={"GITHUB_TOKEN": "hunter2", "LEVEL": "debug"},
        cwd=Path("/srv"),
    )
    shown = headless_command("ping", None, stdio)
    assert "hunter2" not in shown
    assert shlex.split(shown) == [
        *("mcp-tui", "request", "ping", "-e", "GITHUB_TOKEN=***", "-e", "LEVEL=debug", "--cwd", "/srv", "--"),
        *("server", "--api-key", "***", "--token=***", "--verbose", "plain"),
    ]
    http = HttpTarget(
        url="https://user:hunter2@example.com/mcp?key=hunter2&flag",
        headers={"Authorization": "Bearer hunter2", "X-Trace": "1"},
        insecure=True,
    )
    shown = headless_command("ping", None, http)
    assert "hunter2" not in shown
    assert shlex.split(shown)[-1] == "https://***@example.com/mcp?key=***&flag"
    assert "'X-Trace: 1'" in shown
    assert "--insecure" in shown


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_command_runs_as_it_is_shown(name: str):
    text = PAYLOADS[name]
    shown = call({"query": text}, name="add")
    assert_harmless(shown)
    tokens = shlex.split(shown)
    if tokens[3] == "--args":
        assert json.loads(tokens[4]) == {"query": text}
    else:
        assert tokens[3] == f"query={text}"
    shown = call({}, name=text)
    assert_harmless(shown)
    tokens = shlex.split(shown)
    assert tokens[2] == text or json.loads(tokens[4])["name"] == text
