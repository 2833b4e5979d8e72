"""A stand-in for a model, on loopback: says what a test's script says, in the API that an agent program speaks.

An agent program sends the whole conversation with every request. The results of tools in it say how far the script is.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

Body = dict[str, Any]

NAME: Final = "stand-in"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool of an MCP server, by the name that the server gives it."""

    tool: str
    arguments: Body = field(default_factory=dict[str, Any])


SEARCH: Final = "tool_search"
"""A tool of agent programs that offer the tools of servers only to a model that has searched for them."""

THROUGH: Final = "tool_call"
"""A tool of some of them that calls one that was found."""

Turn = Call | str
"""What the model says at once: it calls a tool, or writes a text and is done."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API of a model.

    `results` are the results of tools in a request, as texts. `offers` says whether the request offers the tool of a call.
    `events` are those of the answer, with their types.
    """

    results: Callable[[Body], list[str]]
    offers: Callable[[Body, Call], bool]
    events: Callable[[Body, Turn, int], Iterator[Body]]


class Model:
    """A model with a script, at `url`. A context manager.

    A request that does not offer the tool whose turn it is, such as one for a title, gets a short text.
    """

    def __init__(self, *script: Turn) -> None:
        self.script: Final = script
        self.results: list[str] = []
        """What the agent's tools answered, as texts, by the longest conversation so far."""
        self.unknown: list[str] = []
        """Paths that were asked for, and that no API has."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url: Final = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: Body) -> list[Body]:
        """The events with which a request is answered; none if no API has its path."""
        api = next((api for end, api in APIS.items() if path.partition("?")[0].endswith(end)), None)
        if api is None:
            self.unknown.append(path)
            return []
        results = api.results(body)
        self.results = max(self.results, results, key=len)
        turn = self.script[min(len(results), len(self.script) - 1)]
        if isinstance(turn, Call) and not api.offers(body, turn):
            found = re.search(rf'\\"name\\": ?\\"(\w*_{turn.tool})\\"', json.dumps(body))
            if found and api.offers(body, Call(THROUGH)):
                turn = Call(THROUGH, {"name": found[1], "arguments": turn.arguments})
            else:
                turn = Call(SEARCH, {"query": turn.tool}) if api.offers(body, Call(SEARCH)) else "ok"
        return list(api.events(body, turn, len(results)))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                events = model.answer(self.path, body)
                lines = (f"{_type_line(each)}data: {json.dumps(each)}\n\n" for each in events)
                self._send(200 if events else 404, "".join(lines).encode(), "text/event-stream")

            def do_GET(self) -> None:
                self._send(404, b"", "text/plain")

            def do_HEAD(self) -> None:
                self._send(404, b"", "text/plain")

            def _send(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None: ...

        return Handler


def _text(content: Any) -> str:
    """The text of what is either a text or a list of parts with texts."""
    return content if isinstance(content, str) else "".join(each.get("text", "") for each in content)


def _type_line(event: Body) -> str:
    """The line with the type of an event; two of the APIs have none."""
    return f"event: {event['type']}\n" if "type" in event else ""


def _named(names: Iterator[str], call: Call) -> str:
    """The name that an agent program gives a tool: that of its server comes before it."""
    return next((name for name in names if re.fullmatch(rf"(.*[_-])?{call.tool}", name)), "")


# -- Anthropic's Messages ------------------------------------------------------------------------------------------


def _message_results(body: Body) -> list[str]:
    parts = (
        part for each in body["messages"] if isinstance(each["content"], list) for part in each["content"]
    )
    return [_text(part.get("content", "")) for part in parts if part["type"] == "tool_result"]


def _message_tool(body: Body, call: Call) -> str:
    names = (each["name"] for each in body.get("tools", []))
    return next((name for name in names if name.endswith(f"__{call.tool}")), "")


def _message_events(body: Body, turn: Turn, step: int) -> Iterator[Body]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: Body = {"id": f"msg_{step}", "type": "message", "role": "assistant", "model": body["model"]}
    message |= {"content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    if isinstance(turn, str):
        block: Body = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": turn}
    else:
        name = _message_tool(body, turn)
        block = {"type": "tool_use", "id": f"toolu_{step}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(turn, str) else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}


# -- OpenAI's Responses --------------------------------------------------------------------------------------------


def _response_results(body: Body) -> list[str]:
    return [_text(each["output"]) for each in body["input"] if each["type"] == "function_call_output"]


def _response_tool(body: Body, call: Call) -> Body:
    """How a call names its tool: an MCP server's may be in a namespace."""
    for each in body.get("tools", []):
        if each["type"] == "namespace" and call.tool in [tool["name"] for tool in each["tools"]]:
            return {"namespace": each["name"], "name": call.tool}
        if each["type"] == "function" and each["name"].endswith(f"__{call.tool}"):
            return {"name": each["name"]}
    return {}


def _response_events(body: Body, turn: Turn, step: int) -> Iterator[Body]:
    yield {"type": "response.created", "response": {"id": f"resp_{step}"}}
    if isinstance(turn, str):
        content: list[Body] = [{"type": "output_text", "text": turn, "annotations": []}]
        item: Body = {"type": "message", "id": f"msg_{step}", "role": "assistant", "content": content}
    else:
        named = _response_tool(body, turn)
        item = {"type": "function_call", "id": f"fc_{step}", "call_id": f"call_{step}", **named}
        item["arguments"] = json.dumps(turn.arguments)
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": f"resp_{step}", "usage": usage}}


# -- OpenAI's Chat Completions ------------------------------------------------------------------------------------


def _chat_results(body: Body) -> list[str]:
    found = (each for each in body["messages"] if each["role"] == "tool")
    return [_text(each["content"]) for each in found if not each["tool_call_id"].startswith(SEARCH)]


def _chat_tool(body: Body, call: Call) -> str:
    return _named((each["function"]["name"] for each in body.get("tools", [])), call)


def _chat_events(body: Body, turn: Turn, step: int) -> Iterator[Body]:
    delta: Body = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if isinstance(turn, Call):
        id_ = f"{turn.tool}_{step}_{len(body['messages'])}"
        function = {"name": _chat_tool(body, turn), "arguments": json.dumps(turn.arguments)}
        delta["tool_calls"] = [{"index": 0, "id": id_, "type": "function", "function": function}]
    chunk: Body = {"id": f"chat_{step}", "object": "chat.completion.chunk", "created": 0, "model": NAME}
    yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "stop" if isinstance(turn, str) else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


# -- Gemini's generateContent -------------------------------------------------------------------------------------


def _content_results(body: Body) -> list[str]:
    parts = (part for each in body["contents"] for part in each["parts"])
    return [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]


def _content_tool(body: Body, call: Call) -> str:
    names = (
        each["name"] for tools in body.get("tools", []) for each in tools.get("functionDeclarations", [])
    )
    return _named(names, call)


def _content_events(body: Body, turn: Turn, step: int) -> Iterator[Body]:
    part: Body = {"text": turn} if isinstance(turn, str) else {}
    if isinstance(turn, Call):
        part = {"functionCall": {"name": _content_tool(body, turn), "args": turn.arguments}}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    yield {"candidates": [candidate], "usageMetadata": usage, "responseId": f"response_{step}"}


APIS: Final = {
    "/v1/messages": Api(
        _message_results, lambda body, call: bool(_message_tool(body, call)), _message_events
    ),
    "/v1/responses": Api(
        _response_results, lambda body, call: bool(_response_tool(body, call)), _response_events
    ),
    "/v1/chat/completions": Api(_chat_results, lambda body, call: bool(_chat_tool(body, call)), _chat_events),
    ":streamGenerateContent": Api(
        _content_results, lambda body, call: bool(_content_tool(body, call)), _content_events
    ),
}
"""The APIs by the end of their path."""
