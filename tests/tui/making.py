"""Requests as tests tell them: events in, requests or a row out."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, RequestId, Signal
from mcp_tui.protocol.requests import Request, Requests, fold
from mcp_tui.view.outline import Item, row_key
from mcp_tui.view.table_columns import COLUMNS, TableLine

LIMITS = ev.Limits(timeout=60.0, max_timeout=600.0)


def called(
    id: RequestId = 1,
    *,
    at: float = 0.0,
    method: str = "tools/call",
    name: str = "slow_sql",
    limits: ev.Limits = LIMITS,
    internal: bool = False,
) -> ev.Called:
    return ev.Called(at=at, id=id, method=method, name=name, limits=limits, internal=internal)


def started(
    id: RequestId = 1, *, at: float = 0.0, limits: ev.Limits = LIMITS, name: str = "slow_sql"
) -> list[ev.Event]:
    return [called(id, at=at, limits=limits, name=name), ev.Sent(at=at, id=id)]


def progress(
    progress: float,
    total: float | None = None,
    message: str | None = None,
    *,
    at: float = 1.0,
    id: RequestId = 1,
) -> ev.Progress:
    return ev.Progress(at=at, id=id, progress=progress, total=total, message=message)


def completed(
    *, at: float = 2.0, id: RequestId = 1, size: int = 1800, is_error: bool = False
) -> ev.Completed:
    return ev.Completed(at=at, id=id, size=size, is_error=is_error)


def cancelled(
    *,
    at: float = 2.0,
    id: RequestId = 1,
    cause: Cause = Cause.USER,
    reason: str = "wrong table",
    signal: Signal | None = Signal.NOTIFICATION,
    settled: str | None = None,
) -> list[ev.Event]:
    events: list[ev.Event] = [ev.CancelRequested(at=at, id=id, cause=cause, reason=reason)]
    if signal is not None:
        delivered = signal is Signal.NOTIFICATION
        events.append(ev.CancelSignalled(at=at + 0.007, id=id, signal=signal, reason_delivered=delivered))
    if settled is not None:
        events.append(ev.Settled(at=at + 2.0, id=id, detail=settled))
    return events


def late(
    kind: Kind = Kind.RESULT,
    after: float = 0.412,
    *,
    at: float | None = None,
    id: RequestId = 1,
    code: int | None = None,
    size: int = 0,
) -> ev.Late:
    at = 2.0 + after if at is None else at  # behind the cancel of :func:`cancelled`
    return ev.Late(at=at, id=id, kind=kind, after=after, code=code, size=size)


def row(*events: ev.Event | Sequence[ev.Event]) -> Request:
    """The one row that the events lead to."""
    (made,) = requests(*events).order
    return made


def requests(*events: ev.Event | Sequence[ev.Event]) -> Requests:
    """The requests that the events lead to."""
    told: list[ev.Event] = []
    for event in events:
        told.extend([event] if isinstance(event, ev.Event) else event)
    return fold(told)


def cells(row: Request, now: float, *, wide: bool = False, logged_at: Sequence[float] = ()) -> dict[str, str]:
    """The texts of a row in the request table, each by the first word of its column's title."""
    line = TableLine(Item(row_key(row), row), now, wide, logged_at=logged_at)
    return {column.title.split()[0]: column.cell(line)[0] for column in COLUMNS}


def warns(row: Request, now: float) -> bool:
    """Whether a row shows that its time is near a limit."""
    line = TableLine(Item(row_key(row), row), now)
    return any(column.cell(line)[1] == "warning" for column in COLUMNS)
