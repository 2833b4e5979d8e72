"""Results held to the output schemas that a server promised: what differs is told once, when it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_tui.client.ports import Caller
from mcp_tui.client.results import differences
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, as_object, parse
from mcp_tui.protocol.requests import Request

CHECKED: Final = 256 * 1024
"""Bytes of a result up to which it is checked as it comes; larger ones are checked when they are looked at."""


class Promises:
    """Tells a violation, ``output-schema``, for each result of a tool that is not what its output schema says.

    Args:
        client: whose results these are.
        schema: the output schema of a tool, ``None`` where there is none.
    """

    def __init__(self, client: Caller, schema: Callable[[str], Json]) -> None:
        self._client = client
        self._schema = schema
        client.listen(self._take)

    def _take(self, event: ev.Event) -> None:
        if not isinstance(event, ev.Completed) or not event.seq or event.size > CHECKED:
            return
        row = self._client.book.get(event.id)
        if row is None or row.method != "tools/call":
            return
        schema = self._schema(row.name)
        raw = self._client.store.payload(event.seq) if schema else None
        if raw is None:
            return
        broken = violation(row, schema, as_object(_result(raw)), event.at)
        if broken is not None:
            self._client.tell(broken)


def violation(row: Request, schema: Json, result: Json, at: float) -> ev.Violation | None:
    """How the result of ``row`` breaks what its tool promised, the first of it; ``at`` is monotonic seconds."""
    found = differences(schema, result)
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return ev.Violation(at=at, rule="output-schema", detail=f"{row.name}: {found[0]}{more}", id=row.id)


def _result(raw: bytes) -> Json:
    frame = parse(raw)
    return getattr(frame, "result", None)
