"""What a running session tells of itself: what is in flight there, for how long, and who asked for it."""

from __future__ import annotations

import os
from typing import Any

from mcp_tui.journal.store import Store
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, integer_id, is_request_id
from mcp_tui.protocol.requests import Request


def summary(
    ledger: Ledger, store: Store, now: float, *, kind: str, client: str, server: str
) -> dict[str, Any]:
    """Returns who is at work in a session, and its requests in flight.

    ``kind`` is ``tap``, ``workbench``, or ``call``; ``client`` and ``server`` are the names of both sides.
    """
    rows = [each.row for each in ledger.live.values() if not each.row.internal]
    recordings = [os.path.abspath(writer.path) for writer in store.writers]  # noqa: PTH100 - a link stays one
    return {
        "kind": kind,
        "name": server,
        "client": client,
        "pid": os.getpid(),
        "recording": recordings[0] if recordings else "",
        "requests": [_in_flight(row, now) for row in rows],
    }


def _in_flight(row: Request, now: float) -> dict[str, Any]:
    return {
        "id": row.id,
        "method": row.method,
        "name": row.name,
        "state": row.state.value,
        "elapsed": round(row.elapsed(now), 3),
        "timeout": row.limits.timeout,
        "max_timeout": row.limits.max_timeout,
        "progress": row.progress,
        "total": row.total,
        "message": row.message,
    }


def named(ledger: Ledger, wanted: Json) -> Request | None:
    """Returns the request that is meant by an id, or by its text: one in flight, or else one that is over."""
    row = ledger.book.get(wanted) if is_request_id(wanted) else None
    if not isinstance(wanted, str) or (row is not None and row.open):
        return row
    for live in ledger.live.values():
        if live.row.open and str(live.row.id) == wanted:
            return live.row
    number = integer_id(wanted)
    return row or (None if number is None else ledger.book.get(number))


def not_cancelled(row: Request, outcome: CancelOutcome) -> dict[str, Any] | None:
    """Returns why a cancel did nothing; ``None`` if it did something."""
    if outcome is CancelOutcome.REFUSED:
        return {"refused": f"{row.method} cannot be cancelled"}
    if outcome in (CancelOutcome.ALREADY_DONE, CancelOutcome.ALREADY_REQUESTED):
        return {"over": row.state.value}
    return None
