"""One server for every transport and revision: a call names how it is to be answered.

It stands on the standard library alone. ``python server.py REVISION FILE`` serves stdio and writes all that it hears into
the file; over HTTP and SSE :mod:`tests.races.playing` carries its messages.

``silent`` is never answered. ``late…`` are answered once they are cancelled: with a result, an ``error``, ``progress``, a
``log`` message, a wish for ``input``, or by the ``end`` of the stream alone. The others are answered at once: ``twice``, or
under an ``unknown`` id first, under the id as a ``text`` or under none (``nameless``); in a ``batch`` with every call that
was cancelled; behind a cancel of the server's own that names the call (``misdirects``), or a request of its own with
the call's id (``asks``). With ``ends`` the server ends instead: its process, or the stream that the answer would come by.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Protocol

Message = dict[str, Any]

MODERN = "2026-07-28"


class Way(Protocol):
    """What carries the messages of a server."""

    def say(self, id: Any, message: Message | list[Message]) -> None:
        """Send a message on the stream of the request ``id``, or with ``None`` beside all of them."""
        ...

    def over(self, id: Any) -> None:
        """Nothing more comes for the request ``id``."""
        ...

    def end(self, id: Any) -> None:
        """The server ends, before the request ``id`` is answered."""
        ...


def result(id: Any, value: Message | None = None) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": []} if value is None else value}


def notification(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


class Server:
    """The logic of the server. ``cancelled`` are the calls that were, in order."""

    def __init__(self, revision: str, way: Way) -> None:
        self.revision = revision
        self.way = way
        self.calls: dict[Any, tuple[str, Any]] = {}
        self.cancelled: list[Any] = []

    def take(self, message: Message) -> None:
        """Take in a message of the client's."""
        method, id_ = message.get("method"), message.get("id")
        if method == "notifications/cancelled":
            self._cancel(message["params"]["requestId"])
        elif method == "server/discover" and self.revision == MODERN:
            offered: Message = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}}
            self._answer(id_, offered)
        elif method == "initialize":
            self._answer(id_, {"protocolVersion": self.revision, "capabilities": {}})
        elif method == "tools/call":
            params = message["params"]
            token = params.get("_meta", {}).get("progressToken")
            self.calls[id_] = params["name"], token
            self._call(id_, params["name"])

    def _answer(self, id: Any, value: Message | None = None) -> None:
        self.way.say(id, result(id, value))
        self.way.over(id)

    def _call(self, id: Any, tool: str) -> None:
        say = self.way.say
        match tool:
            case "prompt":
                self._answer(id)
            case "twice":
                say(id, result(id))
                self._answer(id)
            case "unknown":
                say(None, result(4242))
                self._answer(id)
            case "text":
                say(id, result(str(id)))
                self.way.over(id)
            case "nameless":
                say(id, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
                self.way.over(id)
            case "batch":
                say(id, [result(id), *(result(each) for each in self.cancelled)])
                self.way.over(id)
            case "misdirects":
                say(id, notification("notifications/cancelled", requestId=id, reason="mine"))
                self._answer(id)
            case "asks":
                say(id, {"jsonrpc": "2.0", "id": id, "method": "ping"})
                self._answer(id)
            case "ends":
                self.way.end(id)
            case _:
                pass

    def _cancel(self, id: Any) -> None:
        tool, token = self.calls.get(id, ("", None))
        self.cancelled.append(id)
        match tool:
            case "late":
                self._answer(id)
            case "late error":
                error = {"code": -32800, "message": "Request cancelled"}
                self.way.say(id, {"jsonrpc": "2.0", "id": id, "error": error})
                self.way.over(id)
            case "late progress":
                self.way.say(id, notification("notifications/progress", progressToken=token, progress=7))
            case "late log":
                self.way.say(id, notification("notifications/message", level="info", data="row 17"))
            case "late input":
                self._answer(id, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
            case "late end":
                self.way.over(id)
            case _:
                pass


class Stdio:
    """Carries the messages over stdin and stdout."""

    def say(self, id: Any, message: Message | list[Message]) -> None:
        print(json.dumps(message), flush=True)

    def over(self, id: Any) -> None:
        pass

    def end(self, id: Any) -> None:
        os._exit(3)


def main(revision: str, file: str) -> None:
    server = Server(revision, Stdio())
    with open(file, "w", encoding="utf-8") as heard:  # noqa: PTH123 - pathlib takes long to import
        for line in sys.stdin:
            heard.write(line)
            heard.flush()
            server.take(json.loads(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
