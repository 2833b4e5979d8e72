"""Small MCP servers on stdio that each break one rule: ``cli_server.py MODE [MARK…]``.

They stand on the standard library alone. All of them list the tools ``ok``, which answers at once, and ``odd``, which does
what the mode says; what comes after the mode is there for the tests to find the process by.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MODERN = "2026-07-28"


def say(message: Any) -> None:
    put(json.dumps(message).encode())


def put(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def tools() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    return {"tools": [{"name": name, "inputSchema": schema} for name in ("ok", "odd")]}


def shake(id: Any, params: dict[str, Any], **offered: Any) -> None:
    version: Any = params.get("protocolVersion")
    info = {"name": "cli-server", "version": "1"}
    capabilities: dict[str, Any] = {"tools": {}, **offered}
    say(result(id, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}))


def shake_with_tasks(id: Any, params: dict[str, Any]) -> None:
    """Its tool must be called as a task, and no task can be cancelled."""
    shake(id, params, tasks={"requests": {"tools": {"call": {}}}})


def shake_with_cancellable_tasks(id: Any, params: dict[str, Any]) -> None:
    shake(id, params, tasks={"cancel": {}, "requests": {"tools": {"call": {}}}})


# -- what the tool `odd` does ----------------------------------------------------------------------------------

Odd = Callable[[int, dict[str, Any]], None]


def pollution(id: int, _: dict[str, Any]) -> None:
    put(b"not json")
    say(result(id, text("after the noise")))


def large(id: int, _: dict[str, Any]) -> None:
    say(result(id, text("x" * 20_000_000)))


def invalid(id: int, _: dict[str, Any]) -> None:
    put(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff\xfe"}]}}' % id)


def monstrous(id: int, _: dict[str, Any]) -> None:
    """Answer to an id of 5,000 digits first."""
    put(b'{"jsonrpc":"2.0","id":%s,"result":{}}' % (b"9" * 5000))
    say(result(id, text("for you")))


def exits(id: int, _: dict[str, Any]) -> None:
    sys.stderr.write("out of cheese\n")
    sys.stderr.flush()
    os._exit(7)


def starts(id: int, _: dict[str, Any]) -> None:
    """Start two processes that go on after the answer, and after the server."""
    for _number in range(2):
        subprocess.Popen(["sleep", "60"], stdin=-3, stdout=-3, stderr=-3)
    say(result(id, text("started")))


def nameless(id: int, _: dict[str, Any]) -> None:
    say(error(None, -32700, "I could not read that"))


def refuses(id: int, _: dict[str, Any]) -> None:
    say(error(id, -32000, "\x1b[31mno\x1b[0m\u202e way"))


def tool_error(id: int, _: dict[str, Any]) -> None:
    say(result(id, {**text("that went wrong"), "isError": True}))


def never(id: int, _: dict[str, Any]) -> None:
    return


def unread(id: int, _: dict[str, Any]) -> None:
    """Read nothing more."""
    time.sleep(600)


def delicate(id: int, _: dict[str, Any]) -> None:
    """Exit with the next cancel."""
    while b"notifications/cancelled" not in sys.stdin.buffer.readline():
        pass
    os._exit(7)


def unended(id: int, _: dict[str, Any]) -> None:
    """Exit with an answer that only lacks its line feed."""
    sys.stdout.buffer.write(json.dumps(result(id, text("whole"))).encode())
    sys.stdout.buffer.flush()
    os._exit(4)


def error_data(id: int, _: dict[str, Any]) -> None:
    say(error(id, -32602, "bad", {"why": ["too", "short"]}))


def error_empty(id: int, _: dict[str, Any]) -> None:
    say(error(id, -1, ""))


def asks(id: int, _: dict[str, Any]) -> None:
    form: dict[str, Any] = {
        "message": "who?",
        "mode": "form",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    asked: dict[str, Any] = {"who": {"method": "elicitation/create", "params": form}}
    say(result(id, {"resultType": "input_required", "inputRequests": asked}))


def task() -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    times = {"createdAt": when, "lastUpdatedAt": when, "ttl": 60_000, "pollInterval": 500}
    return {"taskId": "one", "status": "working", **times}


def task_no_cancel(id: int, _: dict[str, Any]) -> None:
    say(result(id, {"task": task()}))


def flood(id: int, _: dict[str, Any]) -> None:
    """Say more than a pipe holds, then ask whether it was read, and never answer."""
    for progress in range(2000):
        params = {"progressToken": id, "progress": progress, "message": "x" * 200}
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    say({"jsonrpc": "2.0", "id": "flooded", "method": "ping"})


# -- how a server takes the first messages ---------------------------------------------------------------------


def serve(
    *,
    odd: Odd = never,
    discover: Callable[[Any, dict[str, Any]], None] | None = None,
    initialize: Callable[[Any, dict[str, Any]], None] = shake,
    listed: Any = None,
    opens_only: bool = False,
) -> None:
    for line in sys.stdin.buffer:
        message: dict[str, Any] = json.loads(line)
        method, id = message.get("method"), message.get("id")
        params: dict[str, Any] = message.get("params", {})
        heard(message)
        if method == "server/discover":
            if discover is None:
                say(error(id, -32601, "no such method"))
            else:
                discover(id, params)
        elif method == "initialize":
            initialize(id, params)
        elif opens_only:
            continue
        elif method == "ping":
            say(result(id, {}))
        elif method == "tools/list":
            say(result(id, {**tools(), **(listed or {}), "resultType": "complete"}))
        elif method == "tasks/get":
            say(result(id, task()))
        elif method == "tools/call" and params["name"] == "ok":
            say(result(id, {**text("ok"), "resultType": "complete"}))
        elif method == "tools/call":
            odd(int(str(id)), params)


def heard(message: dict[str, Any]) -> None:
    """Write what came, and to which process, into the file that HEARD names."""
    name = os.environ.get("HEARD")
    if name:
        with open(name, "a", encoding="utf-8") as file:  # noqa: PTH123 - nothing more than needed is imported
            file.write(json.dumps({"pid": os.getpid(), **message}) + "\n")


def discovered(versions: list[str]) -> Callable[[Any, dict[str, Any]], None]:
    def answer(id: Any, _: dict[str, Any]) -> None:
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "cli-server", "version": "1"}}
        made: dict[str, Any] = {
            "supportedVersions": versions,
            "capabilities": {"tools": {}},
            "resultType": "complete",
        }
        say(result(id, {**made, "_meta": meta}))

    return answer


def silence(id: Any, _: dict[str, Any]) -> None:
    return


def broken_by_probe(id: Any, _: dict[str, Any]) -> None:
    """Say nothing to the probe, and exit with the message after it."""
    heard(json.loads(sys.stdin.buffer.readline()))
    os._exit(1)


def refusal(code: int, data: Any = None, words: str = "refused") -> Callable[[Any, dict[str, Any]], None]:
    def answer(id: Any, _: dict[str, Any]) -> None:
        say(error(id, code, words, data))

    return answer


def quit_on_probe(id: Any, _: dict[str, Any]) -> None:
    os._exit(4)


def unnamed(name: Any) -> Callable[[Any, dict[str, Any]], None]:
    """Refuse the probe under an id of its own, with a complaint on stderr."""

    def answer(id: Any, _: dict[str, Any]) -> None:
        sys.stderr.write("ready\nfailed to validate the request server/discover\n")
        sys.stderr.flush()
        say(error(name, -32600, "invalid request"))

    return answer


def after_release(id: Any, params: dict[str, Any]) -> None:
    """Answer the probe once the test wrote the file that RELEASE names."""
    while not os.path.exists(os.environ["RELEASE"]):  # noqa: PTH110 - nothing more than needed is imported
        time.sleep(0.01)
    discovered([MODERN])(id, params)


class Late:
    """Answer the probe only when `initialize` came; ``then`` says what to do with that."""

    def __init__(self, then: str) -> None:
        self.then = then
        self.probe: Any = None

    def discover(self, id: Any, params: dict[str, Any]) -> None:
        if self.probe is None:
            self.probe = id
        else:
            discovered([MODERN])(id, params)

    def initialize(self, id: Any, params: dict[str, Any]) -> None:
        if self.then == "reprobe":
            say(error(id, -32022, "unsupported", {"supported": [MODERN]}))
            return
        discovered([MODERN, "2025-11-25"])(self.probe, params)
        if self.then == "refuse":
            say(error(id, -32022, "unsupported", {"supported": [MODERN]}))
        elif self.then == "accept":
            shake(id, params)


def wrong_version(id: Any, params: dict[str, Any]) -> None:
    shake(id, {"protocolVersion": "1999-01-01"})


def noisy_silence(id: Any, _: dict[str, Any]) -> None:
    sys.stderr.write("waiting for the database\n")
    sys.stderr.flush()


def framed(id: Any, _: dict[str, Any]) -> None:
    """Answer in the framing of another protocol."""
    put(b"Content-Length: 2\r\n\r\n{}")


def late(then: str) -> dict[str, Any]:
    made = Late(then)
    return {"discover": made.discover, "initialize": made.initialize}


TASK_ALONE = {
    "initialize": shake_with_tasks,
    "listed": {
        "tools": [
            {"name": "odd", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
        ]
    },
}

MODES: dict[str, dict[str, Any]] = {
    "dies-on-probe": {"discover": quit_on_probe},
    "silent-to-probe": {"discover": silence},
    "foreign-to-probe": {"discover": unnamed("server-error")},
    "nameless-to-probe": {"discover": unnamed(None)},
    "slow-start": {"discover": after_release},
    "broken-by-probe": {"discover": broken_by_probe},
    "modern": {"discover": discovered([MODERN]), "initialize": refusal(-32601)},
    "nothing-mutual": {"discover": refusal(-32022, {"supported": ["2099-01-01"]})},
    **{f"late-{then}": late(then) for then in ("accept", "refuse", "silent", "reprobe")},
    "refuses-handshake": {"initialize": refusal(-32603)},
    "wrong-version": {"initialize": wrong_version},
    "hostile-refusal": {"initialize": refusal(-32000, words="no\x1b[31m\nway\u202e")},
    "asks": {"odd": asks, "discover": discovered([MODERN])},
    "no-list": {"listed": {"tools": "none"}},
    "task-no-cancel": {"odd": task_no_cancel, **TASK_ALONE},
    "task-no-handle": TASK_ALONE,
    "task-unnamed": {"initialize": shake_with_cancellable_tasks},
    "opens": {"opens_only": True},
    "mute": {"discover": noisy_silence, "initialize": silence},
    "mute-to-initialize": {"initialize": silence},
    "framed": {"discover": framed, "initialize": silence},
}
"""Those that take the first messages in a way of their own. Any other mode is the name of what its tool does."""


if __name__ == "__main__":
    serve(**MODES.get(sys.argv[1]) or {"odd": globals()[sys.argv[1]]})
