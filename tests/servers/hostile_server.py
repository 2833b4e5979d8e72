"""A server whose every word is hostile: ``hostile_server.py FILE``, a JSON list of texts that each go into each place.

Its tools are named after the texts; calling one logs, reports progress, pollutes stdout and stderr, and answers or fails
with all of them. ``form``, ``link``, ``model`` and ``folders`` ask; ``hang`` never answers.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

TEXTS: list[str] = json.loads(Path(sys.argv[1]).read_text())
ALL = " ".join(TEXTS)
ASKING = ("form", "link", "model", "folders")
ids = itertools.count(1)


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(stream: Any, text: str) -> None:
    stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
    stream.buffer.flush()


def schema(text: str) -> dict[str, Any]:
    field = {"type": "string", "title": text, "description": text, "default": text}
    pick = {"type": "string", "enum": TEXTS, "description": text}
    return {"type": "object", "properties": {text: field, "pick": pick}, "required": [text], "title": text}


def listed(method: str) -> dict[str, Any]:
    if method == "tools/list":
        tools = [
            {
                "name": f"plain{chr(97 + at)} {text}",
                "title": text,
                "description": text,
                "inputSchema": schema(text),
            }
            for at, text in enumerate(TEXTS)
        ]
        plain = {"type": "object"}
        return {
            "tools": [{"name": f"{each} {TEXTS[0]}", "inputSchema": plain} for each in (*ASKING, "hang")]
            + tools
        }
    if method == "prompts/list":
        arguments = [{"name": "word", "description": ALL, "required": True}]
        return {
            "prompts": [
                {"name": f"say {text}", "description": text, "arguments": arguments} for text in TEXTS
            ]
        }
    if method == "resources/list":
        return {"resources": [{"uri": f"x://{text}", "name": text, "mimeType": text} for text in TEXTS]}
    return {"resourceTemplates": [{"uriTemplate": "x://{word}", "name": text} for text in TEXTS]}


def called(id: Any, params: dict[str, Any]) -> None:
    name = str(params["name"]).partition(" ")[0]
    token = params.get("_meta", {}).get("progressToken")
    for at, text in enumerate(TEXTS):
        if token is not None:
            progress = {"progressToken": token, "progress": at + 1, "total": 99, "message": text}
            say({"method": "notifications/progress", "params": progress})
        if name == "hang" or at == 0:
            say(
                {
                    "method": "notifications/message",
                    "params": {"level": "error", "logger": text, "data": text},
                }
            )
            say({"method": f"notifications/{text}", "params": {text: text}})
            raw(sys.stdout, f"pollution {text}")
            raw(sys.stderr, f"stderr {text}")
    if name == "hang":
        return
    if name in ASKING:
        ask(name)
        say({"id": id, "result": {"content": [{"type": "text", "text": "asked"}]}})
    elif name in ("plainb", "plaind"):
        say(
            {
                "id": id,
                "error": {"code": -1, "message": ALL, "data": {text: text for text in TEXTS}},
            }
        )
    else:
        links = [
            {"type": "resource_link", "uri": f"x://{text}", "name": text, "mimeType": text} for text in TEXTS
        ]
        content = [{"type": "text", "text": "\n".join(TEXTS)}, *links]
        say({"id": id, "result": {"content": content, "structuredContent": {text: [text] for text in TEXTS}}})


def ask(name: str) -> None:
    methods = {"model": "sampling/createMessage", "folders": "roots/list"}
    message = {"role": ALL, "content": {"type": "text", "text": ALL}}
    params: dict[str, Any] = {
        "form": {"message": ALL, "requestedSchema": schema(ALL)},
        "link": {"mode": "url", "message": ALL, "url": f"https://a.example/{ALL}", "elicitationId": ALL},
        "model": {"messages": [message], "systemPrompt": ALL, "maxTokens": 5, ALL: ALL},
        "folders": {ALL: ALL},
    }
    say(
        {
            "id": f"{next(ids)} {ALL}",
            "method": methods.get(name, "elicitation/create"),
            "params": params[name],
        }
    )


def main() -> None:
    raw(sys.stderr, ALL)
    for line in sys.stdin:
        message: Any = json.loads(line)
        id, method = message.get("id"), message.get("method")
        params: Any = message.get("params") or {}
        if id is None or method is None:
            continue
        if method == "initialize":
            offered: dict[str, Any] = {
                each: {} for each in ("tools", "prompts", "resources", "completions", "logging")
            }
            info = {"name": ALL, "title": ALL, "version": ALL}
            about: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "serverInfo": info,
                "capabilities": offered,
                "instructions": ALL,
            }
            say({"id": id, "result": about})
        elif method == "tools/call":
            called(id, params)
        elif method == "completion/complete":
            say({"id": id, "result": {"completion": {"values": TEXTS, "total": len(TEXTS)}}})
        elif method.endswith("/list"):
            say({"id": id, "result": listed(method)})
        else:
            say({"id": id, "error": {"code": -32601, "message": ALL, "data": ALL}})


main()
