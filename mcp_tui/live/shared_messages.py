"""The lines of a shared connection, as typed records with one reader for each direction.

The session and the process that shares its connection may be of different versions of mcp-tui: the session's first line has
its :data:`~mcp_tui.live.control.VERSION`. Members that a version does not know are ignored.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_tui.journal.records import UnknownEvent, decode_event, encode_event
from mcp_tui.live.control import REASON_CHARACTERS, VERSION, Problem
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.protocol.revisions import REVISIONS

# -- to the session --------------------------------------------------------------------------------------------


class MakeCall(NamedTuple):
    """Asks the session for a request; the answer is a :class:`CallMade`."""

    method: str
    params: Json
    limits: ev.Limits
    internal: bool

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        times: dict[str, Json] = {"timeout": self.limits.timeout, "max_timeout": self.limits.max_timeout}
        return {"call": {"method": self.method, "params": self.params, "internal": self.internal, **times}}


class CancelCall(NamedTuple):
    """Asks the session to cancel a request; all that are in flight for the process if ``id`` is ``None``."""

    id: RequestId | None
    cause: Cause
    reason: str
    leave: bool

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"cancel": self.reason, "of": self.id, "cause": self.cause.value, "leave": self.leave}


def read_wish(line: bytes) -> MakeCall | CancelCall:
    """Returns what the process asks for.

    Raises:
        ValueError: this version does not know it, or it cannot be read.
    """
    members = as_object(messages.read_json(line))
    if "cancel" in members:
        reason, leave = as_text(members["cancel"])[:REASON_CHARACTERS], members.get("leave") is True
        return CancelCall(_id(members.get("of")), Cause(members.get("cause")), reason, leave)
    call = as_object(members.get("call"))
    if not (method := as_text(call.get("method"))):
        raise ValueError("it is of a version that asks for something else")
    timeout, max_timeout = (messages.number(call.get(name)) for name in ("timeout", "max_timeout"))
    limits = ev.Limits(timeout=timeout, max_timeout=max_timeout)
    return MakeCall(method, call.get("params"), limits, call.get("internal") is True)


# -- from the session ------------------------------------------------------------------------------------------


class Shared(NamedTuple):
    """The first message: the connection, and the capabilities of its server."""

    connected: ev.Connected
    capabilities: dict[str, Json]

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        event: Json = encode_event(self.connected)
        return {"version": VERSION, "lent": event, "capabilities": self.capabilities}


class NotShared(NamedTuple):
    """The first message if no connection is shared. ``why`` is a sentence without its full stop."""

    why: str

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"refused": self.why}


class Happened(NamedTuple):
    """An event of the process's requests, or of the connection."""

    event: ev.Event

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"told": encode_event(self.event)}


class CallMade(NamedTuple):
    """The id of the oldest :class:`MakeCall` that has none yet."""

    id: RequestId

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"id": self.id}


class CallOver(NamedTuple):
    """The outcome of a request is final.

    ``response`` is ``None`` if none counts, ``status`` the HTTP status of a refusal, or 0. ``id`` is ``None`` from the first
    version, which made one request at a time: it is the newest.
    """

    id: RequestId | None
    response: dict[str, Json] | None
    status: int

    def line(self) -> dict[str, Json]:
        """Returns its line."""
        return {"of": self.id, "answer": self.response, "status": self.status}


def read_opening(line: bytes) -> Shared | NotShared | Problem:
    """Returns the first message of a session."""
    try:
        members = as_object(messages.read_json(line))
        version = members.get("version", 0)
        if type(version) is int and version > VERSION:
            return Problem.OTHER_VERSION
        if "lent" not in members:
            return NotShared(as_text(members.get("refused")) or "It has ended")
        event = decode_event(as_object(members["lent"]))
        if isinstance(event, ev.Connected) and event.revision in REVISIONS:
            return Shared(event, as_object(members.get("capabilities")))
    except (ValueError, UnknownEvent):
        pass
    return Problem.NOT_UNDERSTOOD


def read_message(line: bytes) -> Happened | CallMade | CallOver | None:
    """Returns a later message of a session; ``None`` if this version does not know it.

    Raises:
        UnknownEvent: it is an event that this version does not know.
        ValueError: it cannot be read.
    """
    members = as_object(messages.read_json(line))
    if "told" in members:
        return Happened(decode_event(as_object(members["told"])))
    if messages.is_request_id(id_ := members.get("id")):
        return CallMade(id_)
    if "answer" not in members:
        return None
    response = None if members["answer"] is None else as_object(members["answer"])
    status = members.get("status")
    of = _id(members.get("of", None if response is None else response.get("id")))
    return CallOver(of, response, status if isinstance(status, int) else 0)


def _id(value: Json) -> RequestId | None:
    if value is not None and not messages.is_request_id(value):
        raise ValueError("not the id of a request")
    return value
