"""A server that sends what no terminal should see: it is shown, and nothing of it is obeyed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcp_tui.client.settings import StdioTarget
from mcp_tui.protocol.requests import State
from tests.tui.driving import driving
from tests.tui.hostile import PAYLOADS, assert_harmless

SERVER = """
import json, sys
evil = json.loads(sys.argv[1])
def send(message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
sys.stderr.buffer.write((evil + "\\n").encode("utf-8", "surrogatepass")); sys.stderr.flush()
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None:
        continue
    if method == "initialize":
        info = {"name": evil, "version": evil, "title": evil}
        send({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-11-25", "serverInfo": info,
              "capabilities": {"tools": {}, "logging": {}}, "instructions": evil}})
    elif method == "tools/list":
        tool = {"name": evil, "description": evil,
                "inputSchema": {"type": "object", "properties": {evil: {"type": "string", "description": evil}}}}
        send({"jsonrpc": "2.0", "id": id, "result": {"tools": [tool]}})
    elif method == "tools/call":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": evil}})
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params":
              {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1, "message": evil}})
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": evil, "data": evil}})
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": evil}})
"""


@pytest.mark.parametrize(
    "evil",
    ["".join(PAYLOADS.values()), PAYLOADS["rich-close"], PAYLOADS["long"]],
    ids=["all", "markup", "long"],
)
async def test_hostile_text_is_shown_and_not_obeyed(evil: str, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    target = StdioTarget(command=(sys.executable, str(server), json.dumps(evil)))
    async with driving(target, size=(140, 40), link=None) as driven:
        await driven.until(lambda: driven.session.catalogue.count == 1)
        driven.bench.connection.call("tools/call", {"name": evil, "arguments": {}})
        row = driven.session.client.book.order[-1]
        await driven.until(lambda: row.state is State.FAILED)
        seen = [driven.text()]
        look = "5 enter 4 3 6 2 down n enter escape escape S escape v escape c escape 1 z end r"
        for key in look.split():
            await driven.press(key)
            seen.append(driven.text())
        for text in seen:
            assert_harmless(text.replace("\n", ""))
        assert driven.app.is_running
