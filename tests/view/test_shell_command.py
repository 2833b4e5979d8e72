from __future__ import annotations

import json
import shlex
from pathlib import Path

from mcp_tui.client.client_settings import HttpTarget, StdioTarget
from mcp_tui.journal.redaction import MASK, Redactor
from mcp_tui.view.shell_command import headless_command, redactor
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless

STDIO = StdioTarget(command=("python", "my server.py"))


def call(arguments: object, name: str = "slow_sql") -> str:
    return headless_command("tools/call", {"name": name, "arguments": arguments}, STDIO, redactor(STDIO))


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


def test_the_command_masks_what_the_journal_redacts():
    for name in ("apiKey", "Set-Cookie", "keywords", "max_tokens_count"):
        arguments = {name: "hunter2", "deep": {"text": json.dumps({name: ["hunter2"]})}}
        redacted = json.loads(Redactor(tagged=False).redact(json.dumps(arguments).encode()))
        tokens = shlex.split(call(arguments))
        assert tokens[3] == "--args"
        assert json.loads(tokens[4]) == redacted


def test_secrets_of_a_servers_command_line_and_variables_are_masked_wherever_they_stand():
    stdio = StdioTarget(
        command=("server", "--api-key", "hunter2", "--token=hunter22", "--verbose", "plain"),
        env={"GITHUB_TOKEN": "hunter222", "LEVEL": "debug", "URL": "https://x/?t=hunter222"},
        cwd=Path("/srv"),
    )
    shown = headless_command(
        "tools/call", {"name": "t", "arguments": {"text": "say hunter222"}}, stdio, redactor(stdio)
    )
    assert "hunter2" not in shown
    assert shlex.split(shown) == [
        *("mcp-tui", "call", "t", f"text=say {MASK}", "-e", f"GITHUB_TOKEN={MASK}", "-e", "LEVEL=debug"),
        *("-e", f"URL={MASK}", "--cwd", "/srv", "--"),
        *("server", "--api-key", MASK, f"--token={MASK}", "--verbose", "plain"),
    ]


def test_secrets_of_an_address_and_its_headers_are_masked():
    http = HttpTarget(
        url="https://user:hunter2@example.com/mcp?key=hunter2&flag&page=3",
        headers={"Authorization": "Bearer hunter2", "X-Trace": "1"},
        insecure=True,
    )
    shown = headless_command("ping", None, http, redactor(http))
    assert "hunter2" not in shown
    assert shlex.split(shown) == [
        *(
            "mcp-tui",
            "request",
            "ping",
            "-H",
            f"Authorization: Bearer {MASK}",
            "-H",
            "X-Trace: 1",
            "--insecure",
        ),
        f"https://user:{MASK}@example.com/mcp?key={MASK}&flag&page=3",
    ]


@cases("name", PAYLOADS)
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
