"""Copies of a request: its messages as JSON, the command that repeats it, and a block of Markdown for an issue."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mcp_tui import __version__
from mcp_tui.client.client_settings import Target
from mcp_tui.journal.redaction import Redactor
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request
from mcp_tui.view.badges import badge
from mcp_tui.view.detail import JSON_CHARACTERS, code, facts, fence, history
from mcp_tui.view.rows import request
from mcp_tui.view.shell_command import headless_command
from mcp_tui.view.text import pretty, words
from mcp_tui.view.wire import parsed

COPIES: Final = {
    "result": words("Result"),
    "command": words("Command line"),
    "request": words("JSON-RPC request"),
    "both": words("JSON-RPC request and answer"),
    "raw": words("Result, control characters unchanged"),
    "issue": words("Issue block (Markdown)"),
}
"""The kinds of copies, with their names in the menu."""

MEMBERS: Final = {"request": "Request", "response": "Answer", "late, ignored": "Late, ignored"}
"""The titles of the messages of :func:`exported`."""


def exported(
    row: Request, read: Callable[[int], bytes | None], secrets: Redactor, *, most: float = math.inf
) -> dict[str, object]:
    """Returns request, answer, and late messages as JSON, without secrets; leaves out messages above ``most`` bytes."""
    found: dict[str, object] = {"id": row.id, "state": row.state.value}
    if row.cause is not None:
        found |= {"cause": row.cause.value, "reason": row.reason}

    def message(seq: int) -> object:
        raw = read(seq) if seq else None
        return None if raw is None or len(raw) > most else parsed(secrets.redact(raw))

    for name, seq in (("request", row.request_seq), ("response", row.response_seq)):
        if (frame := message(seq)) is not None:
            found[name] = frame
    if late := [frame for each in row.late if (frame := message(each.seq)) is not None]:
        found["late, ignored"] = late
    return found


def command(row: Request, found: dict[str, object], target: Target | None, secrets: Redactor) -> str:
    """Returns the command that repeats a request, or an empty text if the request or the target is not known.

    ``found`` is the result of :func:`exported`.
    """
    if target is None or "request" not in found:
        return ""
    params = as_object(as_object(found["request"]).get("params"))
    return headless_command(row.method, params, target, secrets)


def issue(
    row: Request,
    found: dict[str, object],
    *,
    server: Iterable[tuple[str, str]],
    target: Target | None,
    secrets: Redactor,
    now: float,
) -> Iterator[str]:
    """Yields the text for an issue: versions, the command, request, answer, and the timeline, without secrets.

    ``server`` has facts about the server and the connection, as names and values; ``found`` is the result of
    :func:`exported`.
    """
    yield f"### {code(secrets.text(request(row)))}: {badge(row, now).word}"
    yield ""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    ours = (("mcp-tui", __version__), ("Python", platform.python_version()), ("OS", system))
    for name, value in (*server, *ours):
        if value:
            yield f"- {name}: {code(secrets.text(value))}"
    if line := command(row, found, target, secrets):
        yield from ("", "#### Command", "", *fence([line], "sh"))
    for name, title in MEMBERS.items():
        if name in found:
            yield from ("", f"#### {title}", "", *fence(pretty(found[name], limit=JSON_CHARACTERS), "json"))
        elif name == "response" and row.response_seq:
            yield from ("", "The answer is not available, or too large to show here.")
        elif name == "response" and "late, ignored" not in found:
            yield from ("", "No answer.")
    yield from ("", "#### Timeline in seconds", "")
    lines = (*list(facts(row, now))[1:], *history(row))
    yield from fence(secrets.text(each.text).rstrip() for each in lines)
