"""A stdio server that stops reading: its cancel cannot be written, which is said, and it is ended with the command."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

from mcp_tui.cli.output import Exit
from mcp_tui.cli.session import STDIN_UNREAD
from tests.cli.running import HANDSHAKE, running, scripted
from tests.servers.stdio_scripted import processes

SERVER = """
import json, os, time
data = b""
while True:
    data += os.read(0, 1000)
    if b"tools/call" in data:
        time.sleep(600)  # in the middle of the line
    if b"\\n" in data:
        line, _, data = data.partition(b"\\n")
        message = json.loads(line)
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


async def test_c08_it_is_said_once_and_the_server_is_ended(tmp_path: Path):
    arguments, mark = tmp_path / "arguments", f"mark-{uuid.uuid4().hex}"
    arguments.write_text(json.dumps({"filler": "x" * 1_000_000}))
    options = ("--json", "--no-journal", "--protocol", HANDSHAKE, "--max-timeout", "0.4", "--linger", "0.3")
    server = ("--", sys.executable, "-S", "-c", SERVER, mark)
    ran = await running("call", "silent", "--args", f"@{arguments}", *options, *server)
    assert ran.status == Exit.TIMED_OUT
    assert ran.err.splitlines() == [STDIN_UNREAD]
    assert (ran.outcome["state"], ran.outcome["signal"]) == ("timed_out", "none")
    assert (ran.outcome["delivery"], ran.outcome["watched"], ran.of("undelivered")) == ("none", 0.0, [])
    assert not processes(mark)


async def test_c80_a_server_that_names_no_task_is_not_said_to_read_nothing():
    params = json.dumps({"name": "slow", "task": {}})
    options = ("--no-journal", "--protocol", HANDSHAKE, "--params", params, "--cancel-after", "0.1")
    ran = await running("request", "tools/call", *options, *scripted("task-unnamed"))
    assert ran.status == Exit.CANCELLED
    assert "cancel not sent: the server sent no task id, so the task cannot be cancelled" in ran.err
    assert STDIN_UNREAD not in ran.err
