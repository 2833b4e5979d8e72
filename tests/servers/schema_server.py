"""A stdio server of 2025-11-25 whose results break the official schema: ``schema_server.py``.

It stands on the standard library alone. The tool ``wrong`` answers with content that is no list, and
has a control sequence in it; ``right`` answers as it should.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}, "description": f"Answers {name}"}
    for name in ("right", "wrong")
]


def result(message: dict[str, Any]) -> dict[str, Any] | None:
    """What a request is answered with; ``None`` for an error."""
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "schema", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if message["params"]["name"] == "right":
            return {"content": [{"type": "text", "text": "fine"}]}
        case "tools/call":
            return {"content": "no list\x1b[2J"}
        case _:
            return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        made = result(message)
        if made is None:
            answer["error"] = {"code": -32601, "message": "no such method"}
        else:
            answer["result"] = made
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
