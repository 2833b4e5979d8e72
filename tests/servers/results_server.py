"""An MCP server of 2025-11-25 on stdio that answers what it is told to: ``results_server.py RESULTS``.

They are a JSON object of results by method; that of a call may stand under the name of its tool, and ``{"error": …}`` in
the place of a result.
"""

from __future__ import annotations

import json
import sys
from typing import Any

RESULTS: dict[str, Any] = json.loads(sys.argv[1])
LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}
SHAKEN: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {name: {} for method, name in LISTS.items() if method in RESULTS},
    "serverInfo": {"name": "results", "version": "1"},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    result = SHAKEN if method == "initialize" else RESULTS.get(params.get("name"), RESULTS.get(method))
    missing = {"error": {"code": -32601, "message": "no such method"}}
    answer = missing if result is None else result if "error" in result else {"result": result}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
    sys.stdout.flush()
