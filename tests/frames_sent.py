"""Every frame that any test sends, held to the official schema of the revision that it is sent in.

Frames of this process are judged as they are stored, those of a command that a test ran by the journal that it left. A
test that sends something else on purpose says so by the marker ``sends_anything``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import jsonschema_rs

FOLDER: Final = Path(__file__).parents[1] / "mcp_tui" / "protocol" / "schemas"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
MOST: Final = 2000
"""Frames of one session that are judged: a flood repeats itself."""

ANSWERS: Final = {"action": "ElicitResult", "role": "CreateMessageResult", "roots": "ListRootsResult"}
"""The results that a client gives, by a member that tells them apart."""

OUTSIDE: Final = {"tasks/get", "tasks/update", "tasks/cancel"}
"""Methods of the tasks extension, which has no official schema of its own."""


@cache
def _schema(revision: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{revision}.json").read_bytes())


def _place(revision: str) -> str:
    return "definitions" if "definitions" in _schema(revision) else "$defs"


@cache
def judge(revision: str, definition: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        {**_schema(revision), "$ref": f"#/{_place(revision)}/{definition}"}, retriever=_nothing
    )


def _nothing(uri: str) -> Any:
    raise ValueError(f"nothing is fetched for {uri}")


@cache
def _definitions(revision: str) -> dict[str, str]:
    """The definition of each message that a client may send, by its method."""
    found: dict[str, str] = {}
    for name, definition in _schema(revision)[_place(revision)].items():
        method = definition.get("properties", {}).get("method", {}).get("const")
        if isinstance(method, str):
            found[method] = name
    return found


class Sent:
    """The frames of one session, in their order."""

    def __init__(self) -> None:
        self.revision: str | None = None
        self.problems: list[str] = []
        self._asked: Any = None
        self._count = 0

    def frame(self, direction: str, raw: bytes | str) -> None:
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            if direction == "out":
                self.problems.append(f"no JSON: {raw[:200]!r}")
            return
        if not isinstance(found, dict):
            return
        message = cast("dict[str, Any]", found)
        if direction == "in":
            self._heard(message)
        elif self._count < MOST:
            self._count += 1
            self._judge(message)

    def _heard(self, message: dict[str, Any]) -> None:
        """The answer to ``initialize`` says in which revision it goes on."""
        if "method" not in message and message.get("id") == self._asked and self._asked is not None:
            result = message.get("result")
            named = (
                cast("dict[str, Any]", result).get("protocolVersion") if isinstance(result, dict) else None
            )
            if isinstance(named, str) and (FOLDER / f"{named}.json").exists():
                self.revision = named

    def _judge(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        given = message.get("params")
        params = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        revision = self.revision
        if method == "initialize":
            self._asked, revision = message.get("id"), params.get("protocolVersion")
        elif method is not None:
            revision = params.get("_meta", {}).get(VERSION, revision)
        if revision is None or not (FOLDER / f"{revision}.json").exists():
            return  # a message of a connection that never came about
        if method is None and "result" in message:
            wrong = answers(message, revision)
            if wrong:
                self.problems.append(f"{revision}: {wrong} in {json.dumps(message)[:600]}")
        for definition in _expected(message, revision):
            error = next(iter(judge(revision, definition).iter_errors(message)), None)
            if error is not None:
                self.problems.append(
                    f"{revision} {definition}: {error.message[:300]} in {json.dumps(message)[:600]}"
                )


def _expected(message: dict[str, Any], revision: str) -> Iterator[str]:
    method = message.get("method")
    split = revision >= "2025-11-25"
    if isinstance(method, str):
        yield "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        definition = _definitions(revision).get(method)
        if definition is not None and not (revision >= "2026" and method in OUTSIDE):
            yield definition
    elif "error" in message:
        yield "JSONRPCErrorResponse" if split else "JSONRPCError"
    else:
        yield "JSONRPCResultResponse" if split else "JSONRPCResponse"


def answers(message: dict[str, Any], revision: str) -> str | None:
    """What is wrong with a result that a client gives; nothing where it is one."""
    result: dict[str, Any] = message["result"]
    definition = next((name for member, name in ANSWERS.items() if member in result), "EmptyResult")
    if definition not in _schema(revision)[_place(revision)]:
        return f"{revision} has no {definition}"
    error = next(iter(judge(revision, definition).iter_errors(result)), None)
    return None if error is None else error.message


def journals(folder: Path) -> Iterator[Sent]:
    """The sessions that commands left in a folder."""
    for path in sorted(folder.rglob("*.jsonl")):
        sent = Sent()
        with path.open("rb") as file:
            for line in file:
                if line.startswith(b'{"record":"frame"'):
                    try:
                        record = json.loads(line)
                    except ValueError:
                        continue  # torn, as a test wanted it
                    if isinstance(record.get("raw"), str):
                        sent.frame(record.get("dir", ""), record["raw"])
        yield sent
