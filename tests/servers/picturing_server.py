"""An MCP server on stdio that gives images: ``picturing_server.py IMAGES``, a JSON object of types and base64.

The tool ``show`` gives all of them, ``nothing`` gives none, and the resource ``pic://sun`` is the first.
"""

from __future__ import annotations

import json
import sys
from typing import Any

IMAGES: dict[str, str] = json.loads(sys.argv[1])


def called(name: str) -> dict[str, Any]:
    blocks = [{"type": "image", "mimeType": mime, "data": data} for mime, data in IMAGES.items()]
    return {"content": blocks if name == "show" else []}


def read(uri: str) -> dict[str, Any]:
    mime, data = next(iter(IMAGES.items()))
    return {"contents": [{"uri": uri, "mimeType": mime, "blob": data}]}


def result(message: dict[str, Any]) -> dict[str, Any] | None:
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "picturing", "version": "1"},
            }
        case "tools/list":
            return {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("show", "nothing")]
            }
        case "resources/list":
            return {"resources": [{"uri": "pic://sun", "name": "sun", "mimeType": "image/png"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "prompts/list":
            return {"prompts": []}
        case "resources/read":
            return read(message["params"]["uri"])
        case "tools/call":
            return called(message["params"]["name"])
        case _:
            return None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    found = result(asked)
    answer = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}) + "\n")
    sys.stdout.flush()
