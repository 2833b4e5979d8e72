"""What headless commands print: JSON lines for programs, short lines for people.

JSON is ASCII, so no byte of a server's reaches the terminal as anything but a letter; text for people goes through the one
sanitiser. Results go to stdout, the story of how they came about to stderr.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO, cast

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, as_object, shown
from mcp_tui.protocol.requests import Evidence, Request, State
from mcp_tui.tui.view.badges import UNSUBSCRIBED, unsubscribed
from mcp_tui.tui.view.text import clean

PROGRESS_EVERY: Final = 0.2
"""Seconds between two lines of progress for people; programs get each."""

LINE: Final = 4000
"""Characters of a line for people; programs get everything."""

_WIDEST: Final = 14_000
"""Bits of an integer that Python still writes in decimal."""

_TIMEOUTS: Final = (ev.Cause.TIMEOUT, ev.Cause.MAX_TIMEOUT)


def outcome_state(row: Request) -> str:
    """``completed``, ``failed``, ``cancelled``, ``timed_out`` or ``lost``."""
    if row.cause is not None:
        return "timed_out" if row.cause in _TIMEOUTS else "cancelled"
    return {State.COMPLETED: "completed", State.FAILED: "failed"}.get(row.state, "lost")


def outcome(row: Request, now: float, result: Json = None, data: Json = None) -> dict[str, Any]:
    """The last line of a request: what came of it. ``result`` counts for a completed one, ``data`` for a failed one."""
    state = outcome_state(row)
    error: dict[str, Any] | None = None
    if state == "failed":
        error = {"code": row.code, "message": row.error}
        if row.rule:
            error["rule"] = row.rule
        if data is not None:
            error["data"] = data
    elif state == "lost":
        error = {"code": None, "message": row.error}
    return {
        "event": "outcome",
        "id": row.id,
        "state": state,
        "cause": row.cause.value if row.cause else None,
        "reason": row.reason if row.cause else None,
        "signal": row.signal.value if row.signal else None,
        "reason_delivered": row.reason_delivered,
        "elapsed": round(row.elapsed(now), 6),
        "late": [_evidence(each) for each in row.late],
        "result": result if state == "completed" else None,
        "error": error,
    }


def _evidence(each: Evidence) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": each.kind.value, "after": round(each.after, 6)}
    if each.code is not None:
        made["code"] = each.code
    if each.kind is ev.Kind.PROGRESS:
        made["count"] = each.count
    if each.kind is ev.Kind.OVERSIZE:
        made["bytes"] = each.size
    return made


def as_json(event: ev.Event) -> dict[str, Any] | None:  # noqa: C901 - one case an event
    """The event as the contract names it, without its time; ``None`` for what headless output does not tell."""
    match event:
        case ev.Connected():
            return {
                "event": "connected",
                "transport": event.transport,
                "revision": event.revision,
                "server": event.server,
            }
        case ev.Called():
            return None
        case ev.Sent():
            return {"event": "sent", "id": event.id}
        case ev.Progress():
            return {
                "event": "progress",
                "id": event.id,
                "progress": event.progress,
                "total": event.total,
                "message": event.message,
            }
        case ev.Log():
            return {"event": "log", "level": event.level, "logger": event.logger or None, "data": event.data}
        case ev.Stderr():
            return {"event": "stderr", "line": event.line}
        case ev.CancelRequested():
            return {
                "event": "cancel_requested",
                "id": event.id,
                "cause": event.cause.value,
                "reason": event.reason,
            }
        case ev.CancelSignalled():
            return {
                "event": "cancel_signalled",
                "id": event.id,
                "signal": event.signal.value,
                "reason_delivered": event.reason_delivered,
            }
        case ev.CancelWithdrawn():
            return {"event": "cancel_withdrawn", "id": event.id}
        case ev.InputRequired():
            return {"event": "input_required", "id": event.id, "round": event.round, "asks": event.asks}
        case ev.Round():
            return {"event": "round", "id": event.id, "round": event.number, "wire_id": event.wire_id}
        case ev.TaskCreated() | ev.TaskStatus():
            return {
                "event": "task",
                "id": event.id,
                **({"task_id": event.task_id} if isinstance(event, ev.TaskCreated) else {}),
                "status": event.status,
                "message": event.message or None,
            }
        case ev.ServerRequestReceived():
            return {"event": "asked", "request_id": event.request_id, "method": event.method}
        case ev.ServerRequestAnswered():
            return {"event": "answered", "request_id": event.request_id, "code": event.code}
        case ev.ServerRequestWithdrawn():
            return {"event": "withdrawn", "request_id": event.request_id, "reason": event.reason or None}
        case ev.Acknowledged():
            return {"event": "acknowledged", "id": event.id, "filter": event.filter}
        case ev.Delivered():
            return {"event": "delivered", "id": event.id, "method": event.method, "uri": event.about or None}
        case ev.Late():
            made = {"event": "late", "id": event.id, "kind": event.kind.value, "after": round(event.after, 6)}
            if event.kind is ev.Kind.OVERSIZE:
                made["bytes"] = event.size
            return made if event.code is None else {**made, "code": event.code}
        case ev.Duplicate():
            return {"event": "duplicate", "id": event.id, "kind": event.kind.value}
        case ev.Unknown():
            return {"event": "unknown", "response_id": event.response_id, "kind": event.kind.value}
        case ev.Settled():
            return {"event": "settled", "id": event.id, "detail": event.detail or None}
        case ev.Undelivered():
            return {"event": "undelivered", "id": event.id, "detail": event.detail}
        case ev.Oversize():
            return {"event": "oversize", "id": event.id, "bytes": event.bytes}
        case ev.Pollution():
            return {"event": "pollution", "line": event.line}
        case ev.Violation():
            return {"event": "violation", "id": event.id, "rule": event.rule, "detail": event.detail}
        case _:
            return None


def in_words(event: ev.Event) -> str | None:  # noqa: C901 - one case an event
    """The event as a short line for people, unsanitised; ``None`` for what needs no line."""
    match event:
        case ev.Progress():
            known = event.total is not None and 0 <= event.progress <= event.total > 0
            of = f"/{event.total:g}" if event.total is not None else ""
            share = f" {event.progress / event.total:.0%}" if known and event.total else ""
            return f"progress {event.progress:g}{of}{share} {event.message or ''}".rstrip()
        case ev.Log():
            return f"log {event.level}: {event.data}"
        case ev.Stderr():
            return f"stderr: {event.line}"
        case ev.CancelRequested():
            return f"cancel requested ({event.cause.value}): {event.reason}"
        case ev.CancelSignalled():
            return _SIGNALLED[event.signal]
        case ev.CancelWithdrawn():
            return "the answer came before the cancel left: not cancelled"
        case ev.InputRequired():
            return f"the server asks for input: {event.asks or 'to be asked again'}"
        case ev.Round():
            return f"sent again as {event.wire_id}: {event.why}"
        case ev.TaskCreated():
            return f"a task of the server's now: {event.task_id} {event.message}".rstrip()
        case ev.TaskStatus():
            return f"task {event.status.replace('_', ' ')} {event.message}".rstrip()
        case ev.ServerRequestReceived() if event.method != "ping":
            return f"the server asks: {event.method}"
        case ev.ServerRequestWithdrawn():
            return f"the server takes its request back: {event.reason}".removesuffix(": ")
        case ev.Acknowledged():
            return f"the server agrees to tell {event.filter or 'nothing'}"
        case ev.Delivered():
            return f"{event.method} {event.about}".rstrip()
        case ev.Late() if event.kind is not ev.Kind.PROGRESS:
            code = "" if event.code is None else f" {event.code}"
            return f"late {_kind(event)}{code} {event.after:.3f} s after the cancel, ignored"
        case ev.Duplicate():
            return f"a second response ({event.kind.value.replace('_', ' ')}), ignored"
        case ev.Unknown():
            return f"a response to the unknown id {shown(event.response_id)}, ignored"
        case ev.Undelivered():
            return f"the cancel was not delivered: {event.detail}"
        case ev.Oversize():
            return f"a message of {event.bytes:,} bytes was dropped (--max-message)"
        case ev.Pollution():
            return f"not JSON on the server's stdout: {event.line}"
        case ev.Violation():
            return f"violation ({event.rule}): {event.detail}"
        case _:
            return None


_SIGNALLED: Final = {
    ev.Signal.NOTIFICATION: "sent notifications/cancelled with the reason",
    ev.Signal.STREAM_CLOSED: "closed the stream; the reason stays here",
    ev.Signal.TASKS_CANCEL: "sent tasks/cancel; the reason stays here",
    ev.Signal.NONE: "nothing was sent to the server",
}


def summary(row: Request, now: float) -> str:
    """One line for people: what came of a request, unsanitised."""
    state = outcome_state(row)
    after = f"after {row.elapsed(now):.3f} s"
    if state == "completed":
        return f"completed {after}, but the tool reports an error" if row.is_error else f"completed {after}"
    if state == "failed":
        told = row.code is None or str(row.code) in row.error  # several SDKs write it into the message
        code = "" if told else f" (error {row.code})"
        return f"failed {after}: {row.error or 'the server does not say why'}{code}"
    if state == "lost":
        return f"lost {after}: {row.error}"
    if row.sent_at is None:
        return "cancelled before it was sent"
    if unsubscribed(row):
        return f"cancelled {after}: {UNSUBSCRIBED}"
    answers = [each for each in row.late if each.kind is not ev.Kind.PROGRESS]
    progress = next((each for each in row.late if each.kind is ev.Kind.PROGRESS), None)
    came = [_came(each, task=bool(row.task_id)) for each in answers]
    if progress is not None:
        came.append(f"{progress.count} × late progress, the last +{progress.last_after:.3f} s")
    if row.settled and not answers:
        came.append(row.settled)
    return f"{state.replace('_', ' ')} {after}: {'; '.join(came) or 'no answer since'}"


def _came(each: Evidence, *, task: bool) -> str:
    """A late answer in words; a task may end as it likes after its cancel (C-88)."""
    if task and each.kind in (ev.Kind.RESULT, ev.Kind.ERROR):
        how = "finished" if each.kind is ev.Kind.RESULT else "failed"
        return f"the task {how} anyway +{each.after:.3f} s, ignored"
    return f"late {_kind(each)} +{each.after:.3f} s, ignored"


def _kind(late: Evidence | ev.Late) -> str:
    if late.kind is ev.Kind.OVERSIZE:
        return f"response of {late.size:,} bytes, too large to be read,"
    return late.kind.value.replace("_", " ")


class Printer:
    """Prints the events of a command. ``t`` counts from ``began``, monotonic seconds.

    ``closed`` is called, once, when stdout has no reader any more.
    """

    def __init__(self, *, as_json: bool, began: float, closed: Callable[[], None]) -> None:
        self.json = as_json
        self._began = began
        from mcp_tui.cli.streams import Streams  # and with it asyncio, which `log` has no use for

        self.streams = Streams(closed)
        self._over = False
        self._own: set[ev.RequestId] = set()
        self._methods: dict[ev.RequestId, str] = {}
        self._progress_at = 0.0
        self._colour = colourful(sys.stderr)

    def event(self, event: ev.Event) -> None:
        """Print one event; those of the client's own requests are left out, and whatever comes after the outcome."""
        if self._over:
            return
        if isinstance(event, ev.RequestEvent):
            if isinstance(event, ev.Called):
                self._methods[event.id] = event.method
                if event.internal:
                    self._own.add(event.id)
            if event.id in self._own:
                return
        if self.json:
            made = as_json(event)
            if made is not None:
                if isinstance(event, ev.Sent):
                    made["method"] = self._methods.get(event.id, "")
                self.line(made, event.at)
        else:
            self._tell(event)

    def _tell(self, event: ev.Event) -> None:
        if isinstance(event, ev.Progress):
            if event.at - self._progress_at < PROGRESS_EVERY:
                return
            self._progress_at = event.at
        text = in_words(event)
        if text is not None:
            self.say(text, dim=not isinstance(event, (ev.Violation, ev.Undelivered)))

    def line(self, made: dict[str, Any], at: float) -> None:
        """One JSON line, with its time."""
        made = {"event": made["event"], "t": round(max(0.0, at - self._began), 6), **made}
        self.out(dump(made))

    def value(self, value: Any) -> None:
        """One JSON value on stdout."""
        self.out(dump(value))

    def end(self) -> None:
        """Print no event from here on: the outcome is told last, and a server may say much while it is ended."""
        self._over = True

    def say(self, text: str, *, dim: bool = False, red: bool = False) -> None:
        """One line for people, on stderr."""
        line = clean(text if len(text) <= LINE else f"{text[: LINE - 1]}…")
        style = "2" if dim else "31" if red else ""
        self.streams.err(f"\x1b[{style}m{line}\x1b[0m\n" if style and self._colour else f"{line}\n")

    def out(self, text: str) -> None:
        """One line on stdout, at once. Text of a server's must have been cleaned or encoded before."""
        self.streams.out(f"{text}\n")


def dump(value: Any, *, indent: int | None = None) -> str:
    """A value as ASCII JSON, whatever a server put into it: numbers that JSON or Python cannot write become text."""
    try:
        return json.dumps(value, allow_nan=False, indent=indent)
    except ValueError:
        return json.dumps(_writable(value), indent=indent)


def _writable(value: Any) -> Any:
    match value:
        case dict():
            return {key: _writable(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_writable(each) for each in cast("list[Any]", value)]
        case float() if not math.isfinite(value):
            return str(value)
        case int() if value.bit_length() > _WIDEST:
            return hex(value)
        case _:
            return value


def colourful(stream: TextIO) -> bool:
    """Whether colours are wanted there: a terminal, and no ``NO_COLOR``."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def text_of(result: Json) -> str:
    """A result for people: the texts of its content, a line for what is no text, and JSON for anything else."""
    fields = as_object(result)
    for member in ("content", "contents", "messages"):
        parts = fields.get(member)
        if isinstance(parts, list):
            return "\n".join(clean(_part(part), newlines=True) for part in cast("list[Json]", parts))
    return dump(result, indent=2)


def _part(part: Json) -> str:
    fields = as_object(part)
    content, text, data = fields.get("content"), fields.get("text"), fields.get("data") or fields.get("blob")
    if isinstance(content, dict):
        return f"{fields.get('role')}: {_part(content)}"
    if isinstance(text, str):
        return text
    if isinstance(data, str):
        kind = fields.get("mimeType") or fields.get("type") or "data"
        return f"[{kind}, {len(data) * 3 // 4:,} bytes; use --json for the data]"
    return dump(part, indent=2)
