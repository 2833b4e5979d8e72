"""The numbers of a session that only grow: durations, cancels, late answers, repeats, and sizes (:data:`COUNTED`).

A session adds them up for as long as it runs, and another process reads them by its control socket. The number of their
attributes is bounded: whoever names a tool, a method, or an error may be hostile.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from time import monotonic
from typing import Any, Final, NamedTuple, cast

from mcp_tui.journal import metric_names as names
from mcp_tui.journal.metric_names import Metric
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.requests import Request

COUNTED: Final = {each.name: each for each in names.METRICS if each.kind in {"counter", "histogram"}}
"""The metrics whose values only grow, by their names."""

Attributes = tuple[tuple[str, str], ...]
"""The names and values of attributes, in the order of their names."""

Values = dict[tuple[str, Attributes], list[float]]
"""The values of metrics, by name and attributes. That of a counter is one number. That of a histogram is the sum, and the
number of values in each bucket, the last of which has no upper bound.
"""

MOST_SETS: Final = 200
"""The number of sets of attributes that one session distinguishes."""

OTHER: Final = "_OTHER"
"""The value of an attribute of further sets, as in OpenTelemetry's conventions."""

_OWN_WORDS: Final = frozenset(
    {names.CLIENT_ENDED, "lost", "timeout", "cancelled", "tool_error"}
    | {each.value for kind in (ev.Cause, ev.Kind, evidence.Outcome) for each in kind}
)
"""Values that are never replaced: nobody else chooses them."""

_NO_ANSWERS: Final = (ev.Kind.PROGRESS, ev.Kind.TASK)

_MOST_ASKED: Final = 1000
"""The number of requests from the server whose answers are awaited."""


class Counted(NamedTuple):
    """The counts of the session ``id``, which began ``age`` seconds ago."""

    id: str
    age: float
    transport: str
    revision: str
    values: Values


class Counts:
    """Adds up what happens in a session. :meth:`event` has to be called with each of its events.

    ``row_of`` returns the request with an id.
    """

    def __init__(self, row_of: Callable[[ev.RequestId], Request | None]) -> None:
        self._row_of = row_of
        self._id = os.urandom(8).hex()
        self._since = monotonic()
        self._connected = ev.Connected(at=0.0, transport="", revision="", server="")
        self._connected_at: float | None = None
        self._lost: list[ev.Lost] = []
        """Lost requests, until the next event shows whether the client ended the connection itself."""
        self._asked: dict[tuple[type, ev.RequestId], ev.ServerRequestReceived] = {}
        self._values: Values = {}

    def event(self, event: ev.Event) -> None:
        """Adds what an event says."""
        match event:
            case ev.Connected():
                self._connection_ended(event.at)
                self._connected, self._connected_at = event, event.at
            case ev.Disconnected():
                self._count_lost(names.CLIENT_ENDED if event.expected else "")
                self._connection_ended(event.at, "" if event.expected else "disconnected")
            case ev.Lost():
                self._lost.append(event)
            case ev.ServerRequestReceived() if len(self._asked) < _MOST_ASKED:
                self._asked[type(event.request_id), event.request_id] = event
            case ev.ServerRequestAnswered() | ev.ServerRequestWithdrawn():
                asked = self._asked.pop((type(event.request_id), event.request_id), None)
                if asked is not None:
                    about = names.request_attributes(asked.method, "")
                    self._add(names.SERVER_DURATION, about, event.at - asked.at)
            case ev.Completed() | ev.Failed() | ev.Settled() | ev.Late() | ev.Repeat():
                self._request(event)
            case _:
                pass

    def _request(self, event: ev.RequestEvent, error: str = "") -> None:
        row = self._row_of(event.id)
        if row is None or row.internal:
            return
        about = names.request_attributes(row.method, row.name)
        match event:
            case ev.Completed() | ev.Failed() | ev.Lost() | ev.Settled():
                if row.sent_at is not None:
                    failure = names.failure_attributes(error or evidence.error_type(row), row.code)
                    self._add(names.CLIENT_DURATION, {**about, **failure}, row.elapsed(event.at))
                if isinstance(event, ev.Completed):
                    self._add(names.RESULT_SIZE, about, event.size)
                elif isinstance(event, ev.Settled) and row.cause not in (None, ev.Cause.SHUTDOWN):
                    cause, outcome = row.cause.value, evidence.outcome(row, event.at).value
                    self._add(names.CANCELS, {**about, names.CAUSE: cause, names.OUTCOME: outcome})
            case ev.Late() if event.kind not in _NO_ANSWERS and not event.after_end:
                self._add(names.LATE, {**about, names.KIND: event.kind.value}, event.after)
            case ev.Repeat():
                self._add(names.REPEATS, {**about, names.FIRST_OUTCOME: event.first_outcome})
            case _:
                pass

    def _count_lost(self, error: str = "") -> None:
        lost, self._lost = self._lost, []
        for event in lost:
            self._request(event, error)

    def _connection_ended(self, at: float, error: str = "") -> None:
        if self._connected_at is not None:
            about = {names.ERROR: error} if error else {}
            self._add(names.SESSION_DURATION, about, at - self._connected_at)
        self._connected_at = None

    def _add(self, metric: Metric, attributes: Mapping[str, str], value: float = 1.0) -> None:
        total = total_of(self._values, metric, sorted(attributes.items()), MOST_SETS)
        value = max(0.0, value)
        total[0] += value
        if metric.buckets:
            total[1 + bisect_left(metric.buckets, value)] += 1

    def line(self, *, ended: bool = False) -> dict[str, Any]:
        """Returns what :func:`read_counts` reads; ``ended`` adds the duration of the connection."""
        self._count_lost()
        if ended:
            self._connection_ended(monotonic())
        return {
            "id": self._id,
            "age": round(monotonic() - self._since, 3),
            "transport": self._connected.transport,
            "revision": self._connected.revision,
            "values": [[name, dict(attributes), value] for (name, attributes), value in self._values.items()],
        }


def total_of(values: Values, metric: Metric, attributes: Iterable[tuple[str, str]], most: int) -> list[float]:
    """Returns the value of a metric with these attributes, to be changed. A new one is made, 0, while there are fewer than
    ``most``; then that of :data:`OTHER` is used.
    """
    key = metric.name, tuple(attributes)
    if key not in values and len(values) >= most:
        key = metric.name, tuple((name, text if text in _OWN_WORDS else OTHER) for name, text in key[1])
    return values.setdefault(key, [0.0] * (len(metric.buckets) + 2 if metric.buckets else 1))


def read_counts(members: Any) -> Counted:
    """Reads the counts that another program sent. Metrics and attributes that are not known are left out.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is something else.
    """
    values: Values = {}
    for name, attributes, value in members["values"]:
        metric = COUNTED.get(name)
        if metric is None:
            continue
        known = sorted((each, _text(attributes[each])) for each in metric.attributes if each in attributes)
        total = total_of(values, metric, known, MOST_SETS + len(_OWN_WORDS))
        if type(value) is not list or len(cast("list[Any]", value)) != len(total):
            raise ValueError
        total[:] = map(_number, cast("list[Any]", value))
    texts = [_text(members[each]) for each in ("id", "transport", "revision")]
    return Counted(texts[0], _number(members["age"]), texts[1], texts[2], values)


def _number(value: Any) -> float:
    if type(value) not in {int, float} or not (isfinite(value) and value >= 0):
        raise ValueError
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value[: names.LONGEST_VALUE]
