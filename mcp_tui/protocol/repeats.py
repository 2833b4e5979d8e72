"""Finds calls that a client repeats: the same tool and arguments as an earlier call whose outcome the client does not
know.

The outcome is unknown if the client gave the call up (a cancel, a timeout, a lost connection, an error of a gateway)
and got no answer. A client may give up silently. So an equal call more than half a second after an open one repeats
it; equal calls sent closer together are parallel on purpose. Tools that are safe to repeat, by their annotations in
the newest list, are ignored.

The arguments are compared as values: the order of members, the spelling of numbers, and ``_meta`` do not count.
"""

from __future__ import annotations

from _blake2 import blake2b  # hashlib would load OpenSSL into each recorder process
from collections import OrderedDict
from collections.abc import Callable
from json import encoder
from math import inf
from typing import Any, Final, NamedTuple, cast

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Origin, RequestId
from mcp_tui.protocol.json_values import as_list
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.protocol.states import State

WINDOW_SECONDS: Final = 600.0
"""Seconds after a call was given up in which it can be repeated."""

PARALLEL_SECONDS: Final = 0.5
"""Seconds in which equal calls are taken as parallel on purpose."""

CALLS: Final = 10_000
"""The maximum number of remembered calls."""

EQUAL_CALLS: Final = 200
"""The maximum number of remembered calls that are equal: each new one is compared with all of them."""

RUNNING: Final = "running"
"""The outcome of a first call that has no answer and was not cancelled."""

LOST: Final = "lost"
"""The outcome of a first call whose connection or server ended."""

_CHUNKS: Any = encoder.c_make_encoder(  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    None, None, encoder.encode_basestring_ascii, None, ":", ",", True, False, True
)
"""Encodes a value with its members in order. A ``JSONEncoder`` would make this function anew for each value."""

_SAFE: Final = ("readOnlyHint", "idempotentHint")


# -- the identity of a call ------------------------------------------------------------------------------------


def identity(method: str, params: Json) -> bytes | None:
    """Returns a digest of a call's tool and arguments; ``None`` for a message that is not a new call.

    A retry with ``requestState`` or ``inputResponses`` continues the same call (multi round-trip requests).
    """
    fields = as_object(params)
    if method != "tools/call" or "requestState" in fields or "inputResponses" in fields:
        return None
    parts = [fields.get("name"), *([fields["arguments"]] if "arguments" in fields else ())]
    try:
        text = "".join(_CHUNKS(parts, 0))
        if ".0" in text or "e+" in text:  # perhaps a number with a fraction of 0
            text = "".join(_CHUNKS(_plain(parts), 0))
    except (ValueError, RecursionError, TypeError):
        return None
    return blake2b(text.encode(), digest_size=16).digest()


def _plain(value: Any) -> Any:
    """Returns a value in which equal numbers have the same type, so that 1 and 1.0 are encoded alike."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_plain(each) for each in cast("list[Any]", value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


class SafeTools:
    """The tools that are safe to repeat, by their annotations in the newest list."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __contains__(self, tool: str) -> bool:
        return tool in self._names

    def listed(self, result: Json) -> None:
        """Reads the result of ``tools/list``."""
        for tool in map(as_object, as_list(as_object(result).get("tools"))):
            if isinstance(name := tool.get("name"), str):
                hints = as_object(tool.get("annotations"))
                is_safe = any(hints.get(each) is True for each in _SAFE)
                (self._names.add if is_safe else self._names.discard)(name)


# -- the outcome of a first call -------------------------------------------------------------------------------

_REFUSED: Final = ("connection refused", "the connection was refused")
"""The start of the reason of a request that was lost before it reached the server."""


def is_known(row: Request) -> bool:
    """Whether a client knows the outcome of a call: it got an answer, or the server did not accept the call."""
    if row.guard is not None and row.guard.how in ("refused", "passed_on"):
        return row.guard.how == "passed_on"  # a refused repeat got an answer of the tap
    match row.state:
        case State.COMPLETED | State.TASK | State.AWAITING_INPUT:
            return True
        case State.FAILED:
            # HTTP 5xx may come from a gateway that gave up while the server still works, so the outcome is unknown.
            return row.origin is Origin.SERVER or row.rule != "http" or "HTTP 5" not in row.error
        case State.LOST:
            return row.error.lower().startswith(_REFUSED) and not row.late
        case _:
            return False


def is_given_up(row: Request) -> bool:
    """Whether a call is over although its client does not know the outcome."""
    return row.method == "tools/call" and not row.open and not is_known(row)


def first_outcome(row: Request, now: float) -> str:
    """Returns the known outcome of a first call: an outcome of its cancel, :data:`RUNNING`, or :data:`LOST`."""
    late = evidence.late_answer(row)
    if late is not None:
        return evidence.LATE_BY_KIND[late.kind].value
    if row.open or (row.guard is not None and row.signal is ev.Signal.NONE):  # given up without a cancel
        return RUNNING
    return LOST if row.cancel_at is None else evidence.outcome(row, now).value


# -- the calls of a client -------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """A remembered call and the requests of its session."""

    requests: Requests
    id: RequestId
    session: str
    key: tuple[str, bytes]

    @property
    def row(self) -> Request | None:
        return self.requests.get(self.id)


class EarlierCall(NamedTuple):
    """A call in the recording ``session`` whose client does not know the outcome.

    ``ended_at`` is in monotonic seconds, now for an open call; ``outcome`` and ``after`` are as in
    :class:`~mcp_tui.protocol.events.Repeat`.
    """

    session: str
    id: RequestId
    ended_at: float
    outcome: str
    after: float | None


def _described(row: Request, session: str, at: float) -> EarlierCall:
    late = evidence.late_answer(row)
    return EarlierCall(
        session=session,
        id=row.id,
        ended_at=at if row.ended_at is None else row.ended_at,
        outcome=first_outcome(row, at),
        after=None if late is None else round(late.after, 6),
    )


def _first_of(call: _Call, row: Request) -> tuple[str, RequestId]:
    """Returns the session and the id of the first call that a call repeats; its own if it repeats none."""
    if row.repeat is None:
        return call.session, call.id
    return row.repeat.session or call.session, row.repeat.repeat_of


class _Equal:
    """The remembered calls with one key, oldest first, and the last result of comparing them.

    That holds for ``doubts`` of the session ``requests`` and until a time. So a storm of equal calls is compared only
    when one of them may have ended.
    """

    __slots__ = ("calls", "doubts", "first", "requests", "until")

    def __init__(self) -> None:
        self.calls: dict[int, _Call] = {}
        self.requests: Requests | None = None
        self.doubts = 0
        self.until = 0.0
        self.first: _Call | None = None


class Repeats:
    """The calls whose outcome a client may not know, over all of its sessions with a server."""

    def __init__(self) -> None:
        self._calls: OrderedDict[int, _Call] = OrderedDict()
        self._by_key: dict[tuple[str, bytes], _Equal] = {}
        self._number = 0
        self.safe = SafeTools()
        self.earlier: Callable[[str, bytes, float], EarlierCall | None] | None = None
        """Returns the call of an ended session that a call repeats, by its client, its identity, and its time."""

    def called(
        self, requests: Requests, row: Request, params: Json, *, client: str, session: str, at: float
    ) -> tuple[int, ev.Repeat | None]:
        """Remembers a call; returns a number for :meth:`over`, and the call that it repeats, if any.

        ``session`` is the name of this session.
        """
        found = None if row.internal or row.name in self.safe else identity(row.method, params)
        if found is None:
            return 0, None
        if len(self._calls) >= CALLS:
            self._drop(next(iter(self._calls)))
        key, number = (client, found), 0
        first = self._first(key, at) if key in self._by_key else None
        equal = self._by_key.get(key)
        if equal is None:
            equal = self._by_key[key] = _Equal()
        if len(equal.calls) < EQUAL_CALLS:
            self._number = number = self._number + 1
            self._calls[number] = equal.calls[number] = _Call(requests, row.id, session, key)
        if equal.requests is not requests:
            equal.requests = None  # doubts are counted for each session
        if first is None:
            known = None if self.earlier is None else self.earlier(client, found, at)
        else:
            of, session = first.row, "" if first.requests is requests else first.session
            known = None if of is None else _described(of, session, at)
        if known is None:
            return number, None
        return number, ev.Repeat(
            at=at,
            id=row.id,
            repeat_of=known.id,
            first_outcome=known.outcome,
            first_after=known.after,
            session=known.session,
        )

    def over(self, number: int, row: Request) -> None:
        """Forgets a call that is over, if its client knows the outcome. An answer to a repeat also answers other calls."""
        if is_known(row) and (call := self._calls.get(number)) is not None:
            if row.repeat is None:
                self._drop(number)
            else:
                self._by_key[call.key].requests = None

    def given_up(self, requests: Requests, session: str, at: float) -> list[tuple[str, bytes, EarlierCall]]:
        """Returns the remembered calls of a session whose outcome is unknown, with their clients and identities."""
        rows = [(call, call.row) for call in self._calls.values() if call.requests is requests]
        answered = {_first_of(call, row) for call, row in rows if row is not None and is_known(row)}
        return [
            (*call.key, _described(row, session, at))
            for call, row in rows
            if row is not None
            and is_given_up(row)
            and not self._is_over(row, at)
            and _first_of(call, row) not in answered
        ]

    def _first(self, key: tuple[str, bytes], at: float) -> _Call | None:
        """Returns the oldest equal call whose outcome is unknown; forgets those with a known one."""
        equal = self._by_key[key]
        if equal.requests is not None and equal.requests.doubts == equal.doubts and at <= equal.until:
            return equal.first
        equal.first = first = self._compare(equal, at)
        equal.requests = None
        if len({id(each.requests) for each in equal.calls.values()}) == 1:
            oldest = first or next(iter(equal.calls.values()))
            equal.requests, row = oldest.requests, oldest.row
            assert row is not None
            equal.doubts = equal.requests.doubts
            equal.until = (
                row.called_at + PARALLEL_SECONDS if first is None else at if row.ended_at is not None else inf
            )
        return first

    def _compare(self, equal: _Equal, at: float) -> _Call | None:
        rows = [(number, call, call.row) for number, call in equal.calls.items()]
        # An answer to a repeat also answers its first call and all other repeats of that.
        answered = {_first_of(call, row) for _, call, row in rows if row is not None and is_known(row)}
        for number, call, row in rows:
            if row is None or self._is_over(row, at) or is_known(row) or _first_of(call, row) in answered:
                self._drop(number)
        for call in equal.calls.values():
            row = call.row
            # Parallel calls are sent together; a pause before the second one suggests that the client gave up the
            # first.
            if row is not None and (not row.open or at - row.called_at > PARALLEL_SECONDS):
                return call
        return None

    @staticmethod
    def _is_over(row: Request, at: float) -> bool:
        return row.ended_at is not None and at - row.ended_at > WINDOW_SECONDS

    def _drop(self, number: int) -> None:
        call = self._calls.pop(number)
        equal = self._by_key[call.key]
        del equal.calls[number]
        if equal.first is not None:
            equal.requests = None
        if not equal.calls:
            del self._by_key[call.key]
