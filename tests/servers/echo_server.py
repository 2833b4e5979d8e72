"""A server that says back all it was ever told: arguments, environment, headers, cookies, params.

Usage: echo_server.py stdio ARGS… | echo_server.py http LOG
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import urllib.parse
from typing import Any


def known() -> dict[str, Any]:
    return {"argv": sys.argv[2:], "env": dict(os.environ)}


def texts(value: Any) -> list[str]:
    """Every text in a value."""
    if isinstance(value, dict):
        return [text for key, member in value.items() for text in (f"{key}={member}", *texts(member))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [text for member in value for text in texts(member)]  # pyright: ignore[reportUnknownVariableType]
    return [str(value)]


def replies(message: dict[str, Any], told: dict[str, Any]) -> list[dict[str, Any]]:
    """What is sent for a message, the answer last."""
    method, params = message.get("method"), message.get("params", {})
    everything = {"told": told, "params": params}
    if "id" not in message or method is None:
        return []
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "echo", "version": "1"},
            "instructions": "\n".join(texts(told)),
        }
        return [{"id": message["id"], "result": result}]
    if method == "tools/list":
        tools = [
            {"name": name, "description": json.dumps(told), "inputSchema": {"type": "object"}}
            for name in ("echo", "fail")
        ]
        return [{"id": message["id"], "result": {"tools": tools}}]
    if method != "tools/call":
        return [{"id": message["id"], "error": {"code": -32601, "message": json.dumps(everything)}}]
    some = [text for text in texts(told) if 8 <= len(text) < 200][:200]
    before: list[dict[str, Any]] = [
        {"method": "notifications/message", "params": {"level": "info", "logger": "x", "data": everything}},
        {"method": "notifications/message", "params": {"level": "info", "data": json.dumps(everything)}},
        {"method": "notifications/message", "params": {"level": "info", "data": str(everything)}},
    ]
    token = params.get("_meta", {}).get("progressToken")
    before += [
        {
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": number, "message": text},
        }
        for number, text in enumerate(some, 1)
    ]
    before += [{"method": f"notifications/{text}", "params": {}} for text in some]
    before += [{"id": text, "method": "ping"} for text in some]
    if "argv" in told:  # over HTTP this would end the request, whose stream it came on
        before += [{"id": text, "result": {}} for text in some]
    if params.get("name") == "fail":
        return [
            *before,
            {
                "id": message["id"],
                "error": {"code": -1, "message": json.dumps(everything), "data": everything},
            },
        ]
    content = [{"type": "text", "text": text} for text in (json.dumps(everything), str(everything), *some)]
    return [*before, {"id": message["id"], "result": {"content": content, "structuredContent": everything}}]


def stdio() -> None:
    told = known()
    for text in texts(told):
        print(text, file=sys.stderr)
    print(f"no JSON: {texts(told)}", flush=True)
    for line in sys.stdin:
        for reply in replies(json.loads(line), told):
            print(json.dumps({"jsonrpc": "2.0", **reply}), flush=True)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(raw)
        url = urllib.parse.urlsplit(self.path)
        told = {
            "headers": dict(self.headers),
            "path": self.path,
            "query": urllib.parse.parse_qs(url.query),
            "url": url.geturl(),
        }
        made = replies(message, told)
        body = "".join(f"data: {json.dumps({'jsonrpc': '2.0', **reply})}\n\n" for reply in made).encode()
        self.send_response(200 if made else 202)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        for number, cookie in enumerate(self.headers.get_all("Cookie") or []):
            self.send_header("Set-Cookie", f"c{number}={cookie}")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET  # noqa: N815 - the name that the library calls

    def log_message(self, format: str, *args: Any) -> None:
        pass


if sys.argv[1] == "http":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
else:
    stdio()
