"""An MCP server on stdio that completes arguments and says on standard error what it heard: ``completing_server.py MODE``.

Modes: ``quick`` answers at once; ``slow`` answers nothing before the next message. It also has
a tool whose structured content is not what its output schema promises.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MODE = sys.argv[1]
CITIES = ["Paris", "Parma", "Perth", "Oslo", "Paris\nhidden", "\x1b]52;c;eA==\x07"]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(id: Any, result: Any) -> None:
    say({"jsonrpc": "2.0", "id": id, "result": result})


def completed(params: Any) -> Any:
    typed = params["argument"]["value"]
    values = [each for each in CITIES if each.casefold().startswith(typed.casefold())]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def tools() -> Any:
    output = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    return {"tools": [{"name": "liar", "inputSchema": {"type": "object"}, "outputSchema": output}]}


def listed(method: str) -> Any:
    match method:
        case "tools/list":
            return tools()
        case "prompts/list":
            arguments = [{"name": "city", "required": True}, {"name": "street"}]
            return {"prompts": [{"name": "visit", "description": "A visit", "arguments": arguments}]}
        case "resources/templates/list":
            templates = [{"name": "map", "uriTemplate": "map://{city}{?zoom,layers*}"}, {"name": "nowhere"}]
            return {"resourceTemplates": templates}
        case _:
            return {"resources": []}


def main() -> None:
    held: list[tuple[Any, Any]] = []
    for line in sys.stdin:
        message = json.loads(line)
        id, method = message.get("id"), message.get("method")
        params: Any = message.get("params") or {}
        sys.stderr.write(json.dumps({"method": method, "params": params}) + "\n")
        sys.stderr.flush()
        for waiting, asked in held:
            answer(waiting, completed(asked))
        held.clear()
        match method:
            case "initialize":
                capabilities: dict[str, Any] = {}
                capabilities.update((key, {}) for key in ("tools", "prompts", "resources", "completions"))
                info = {"name": "completing", "version": "1"}
                version = params.get("protocolVersion")
                answer(id, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
            case "completion/complete" if MODE == "quick":
                answer(id, completed(params))
            case "completion/complete":
                held.append((id, params))
            case "tools/call":
                answer(id, {"content": [], "structuredContent": {"n": "not a number"}})
            case "prompts/get" | "resources/read":
                answer(id, {"messages": [], "contents": []})
            case str() if method.endswith("/list"):
                answer(id, listed(method))
            case _ if id is not None:
                say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
            case _:
                pass


if __name__ == "__main__":
    main()
