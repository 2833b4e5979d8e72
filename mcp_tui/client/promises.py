"""Results held to the output schemas that a server promised: what differs is told once, when it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mcp_tui.client.results import differences
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, as_object, parse

if TYPE_CHECKING:
    from mcp_tui.client.client import Client

CHECKED: Final = 256 * 1024
"""Bytes of a result up to which it is checked as it comes; larger ones are checked when they are looked at."""


class Promises:
    """Tells a violation, ``output-schema``, for each result of a tool that is not what its output schema says.

    Args:
        client: whose results these are.
        schema: the output schema of a tool, ``None`` where there is none.
    """

    def __init__(self, client: Client, schema: Callable[[str], Json]) -> None:
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
        found = differences(schema, as_object(_result(raw)))
        if found:
            text = f"{row.name}: {found[0]}"
            self._client.tell(ev.Violation(at=event.at, rule="output-schema", detail=text, id=row.id))


def _result(raw: bytes) -> Json:
    frame = parse(raw)
    return getattr(frame, "result", None)
