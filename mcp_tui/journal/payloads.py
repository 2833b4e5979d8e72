"""The texts of whole messages, which filters search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from mcp_tui.journal.records import read_record
from mcp_tui.journal.redaction import MARK
from mcp_tui.protocol.messages import Json, as_list, as_object, bytes_text, encode
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.server_requests import ServerRequest


class SearchedMessages:
    """The texts of the messages of requests, including progress, rounds, and late answers.

    ``payload`` returns the bytes of a message by its number. ``redacted`` becomes true when a redacted message was searched,
    ``missing`` when a message was not available.
    """

    def __init__(self, payload: Callable[[int], bytes | None]) -> None:
        self.redacted = False
        self.missing = False
        self._payload = payload
        self._messages = lru_cache(4)(self._read)

    def __call__(self, kind: str, row: Request | ServerRequest) -> Iterator[str]:
        """Yields the texts of a kind: ``args`` and ``result`` as JSON, or ``text``, which is each string in the result."""
        if isinstance(row, ServerRequest):
            numbers = row.seq, row.response_seq
        else:
            numbers = tuple(dict.fromkeys(event.seq for event in row.history))
        for number in filter(None, numbers):
            args, result = self._messages(number)
            if kind == "text":
                yield from result[1:]
            else:
                yield from (args if kind == "args" else result)[:1]

    def _read(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the texts of the arguments and of the result in a message: the JSON, followed by all strings in it."""
        raw = self._payload(number)
        if raw is None:
            self.missing = True
            return (), ()
        self.redacted = self.redacted or MARK.search(raw) is not None
        message = read_record(raw)
        if message is None:
            return (), (bytes_text(raw),) * 2
        params = as_object(message.get("params"))
        asked: Json = params.get("arguments", params or None)
        answered: Json = message.get("result", message.get("error"))
        if "method" in message and not isinstance(message.get("id"), (int, str)):
            asked, answered = None, params  # progress is a part of the answer
        return _texts(asked), _texts(answered)


def _texts(value: Json) -> tuple[str, ...]:
    return () if value is None else (encode(value).decode("utf-8", "replace"), *_strings(value))


def _strings(value: Json) -> Iterable[str]:
    waiting: list[Json] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting.extend(reversed([*as_object(each).values()]))
        elif isinstance(each, list):
            waiting.extend(reversed(as_list(each)))
