"""An MCP server on stdio with one tool, ``odd``, that promises a number ``n``: ``promising_server.py FILE``.

The file has what it answers, as JSON, whatever it promised.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROPERTIES = {"n": {"type": "number"}, "unit": {"type": "string"}}
PROMISE = {"type": "object", "properties": PROPERTIES, "required": ["n"]}
TOOL = {"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": PROMISE}
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "promising", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")),
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = RESULTS.get(message["method"])
    answer = (
        {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    )
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
    sys.stdout.flush()
