"""The lines at a control socket, as typed records: one request, one answer, and the one reader of each.

The other side may be of another version of mcp-tui, or another program. So every member is checked, and no reader raises:
what cannot be read is a :class:`Problem`. Unknown members are ignored. If a member is removed, or its meaning changes,
:data:`VERSION` grows. Lines without a version are from the first sessions, and are still read.

Each command that asks a session loads this module, so its imports are few.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from mcp_tui.live.counts import Counted

VERSION: Final = 1
"""The version of these lines."""

REASON_CHARACTERS: Final = 4096
"""The maximum length of a reason, in characters."""

TEXT_CHARACTERS: Final = 1000
"""The maximum length of a text of the client or the server, in characters."""

SIGNALS: Final = frozenset({"notification", "stream_closed", "tasks_cancel", "none"})

Record = TypeVar("Record")


class Problem(Enum):
    """What is wrong with an answer."""

    SILENT = "silent"
    """No answer arrived in time."""
    OTHER_VERSION = "other_version"
    """The answer is of a later version."""
    NOT_UNDERSTOOD = "not_understood"
    UNREACHABLE = "unreachable"
    """The session's host (:mod:`mcp_tui.live.via`) could not be asked."""


# -- requests --------------------------------------------------------------------------------------------------


class ListRequest(NamedTuple):
    """Asks for a :class:`Summary`; with ``counts``, for the counts of the session as well."""

    counts: bool = False


class CancelRequest(NamedTuple):
    """Asks to cancel a request, and for the outcome: a :class:`CancelAnswer`.

    ``id`` names the request. A text may also name a request whose id is that number, unless it is ``exact``.
    """

    id: int | str
    reason: str
    exact: bool


class AllowRequest(NamedTuple):
    """Asks the guard of a tap to let one call through that is equal to a refused one: a :class:`CancelAnswer`."""

    id: int | str
    exact: bool


class ShareRequest(NamedTuple):
    """Asks for a shared connection (:mod:`mcp_tui.live.shared_connection`); in an old form, if ``is_old``."""

    is_old: bool = False


LIST: Final = {"ask": "list", "version": VERSION}
COUNTS: Final = {**LIST, "counts": True}
SHARE: Final = {"ask": "lend", "version": VERSION}


def cancel_line(id: int | str, reason: str, *, exact: bool) -> dict[str, Any]:
    """Returns the line of a :class:`CancelRequest`."""
    return {**allow_line(id, exact=exact), "ask": "cancel", "reason": reason[:REASON_CHARACTERS]}


def allow_line(id: int | str, *, exact: bool) -> dict[str, Any]:
    """Returns the line of an :class:`AllowRequest`."""
    return {"ask": "allow", "version": VERSION, "id": id, "exact": exact}


def read_request(
    line: bytes | bytearray,
) -> ListRequest | CancelRequest | AllowRequest | ShareRequest | None:
    """Returns the request in a line; ``None`` if this version does not know it."""
    try:
        asked = read_object(line)
        match asked["ask"]:
            case "list":
                return ListRequest(asked.get("counts") is True)
            case "lend" if asked.get("version", 0) == 0:
                return ShareRequest(is_old=True)
            case "lend":
                return ShareRequest()
            case "cancel":
                reason = "" if asked.get("reason") is None else _text(asked["reason"])
                return CancelRequest(_id(asked["id"]), reason[:REASON_CHARACTERS], asked.get("exact") is True)
            case "allow":
                return AllowRequest(_id(asked["id"]), asked.get("exact") is True)
            case _:
                return None
    except UNREADABLE:
        return None


# -- answers ---------------------------------------------------------------------------------------------------


class InFlight(NamedTuple):
    """A request in flight. Times are in seconds; ``None`` is no limit, or no progress. Texts come from client and server."""

    id: int | str
    method: str
    name: str
    state: str
    elapsed: float
    timeout: float | None
    max_timeout: float | None
    progress: float | None
    total: float | None
    message: str
    repeat_of: int | str | None = None


class Summary(NamedTuple):
    """A session: its ``kind`` is ``tap``, ``workbench``, or ``call``. Texts of its client and server may be hostile.

    ``recording`` is the file that it writes, empty for none. ``client_pid`` is the process of the client, if that is known,
    ``client_started`` when it started, in seconds since the machine did, and ``client_folder`` the
    folder in which it works. ``counts`` are there if they were asked for, and the session knows them.
    """

    kind: str
    client: str
    server: str
    pid: int
    recording: str
    requests: tuple[InFlight, ...]
    client_pid: int | None = None
    client_folder: str = ""
    client_started: float | None = None
    counts: Counted | None = None

    @property
    def client_name(self) -> str:
        """The client of the session: a foreign one, or mcp-tui itself."""
        return (self.client or "unknown client") if self.kind == "tap" else f"{self.client} {self.kind}"

    @property
    def where(self) -> str:
        """The process of the client, and its folder as a person would write it; empty if neither is known."""
        home, folder = os.path.expanduser("~"), self.client_folder  # noqa: PTH111 - pathlib is a costly import
        if folder == home or folder.startswith(f"{home}/"):
            folder = f"~{folder.removeprefix(home)}"
        return " ".join(filter(None, ("" if self.client_pid is None else str(self.client_pid), folder)))


class CancelAnswer(NamedTuple):
    """The outcome of a cancel. One of the texts is not empty, unless the request is ``unknown``.

    ``signal`` was sent. ``unsent`` says why no signal was sent, or that the server refused it. ``over`` is the state of a
    request that had ended before. ``refused`` says why nothing was done. ``unknown``: there is no such request.
    ``already``: it was being cancelled before. ``allowed`` answers an :class:`AllowRequest`: the next equal call passes.
    """

    signal: str = ""
    unsent: str = ""
    over: str = ""
    refused: str = ""
    unknown: bool = False
    already: bool = False
    allowed: bool = False

    def line(self) -> dict[str, Any]:
        """Returns its line."""
        return {"version": VERSION, **{name: value for name, value in self._asdict().items() if value}}


NOT_SHARED: Final = CancelAnswer(refused="It is of a later version of mcp-tui")
"""The answer to an old :class:`ShareRequest`, whose sender shows it as the reason."""

NOT_KNOWN: Final = CancelAnswer(refused="not supported by this session")
"""The answer to a request that is not understood."""


def summary_line(summary: Summary) -> dict[str, Any]:
    """Returns the line of a :class:`Summary`."""
    made = summary._asdict()
    made["name"] = made.pop("server")
    del made["counts"]  # The session adds the line of its own.
    return {"version": VERSION, **made, "requests": [each._asdict() for each in summary.requests]}


def read_summary(line: bytes | bytearray) -> Summary | Problem:
    """Returns the answer to a :class:`ListRequest`."""
    return _read(line, _summary)


def read_cancel(line: bytes | bytearray) -> CancelAnswer | Problem:
    """Returns the answer to a :class:`CancelRequest`."""
    return _read(line, _cancel_answer)


def read_rows(output: bytes) -> dict[str, Summary | tuple[Problem, str]]:
    """Returns the sessions in the output of ``ps --json`` by their names; of a session without an answer, why.

    Raises:
        Exception: one of :data:`UNREADABLE`.
    """
    rows = json.loads(output.decode(), parse_constant=_not_json)
    if type(rows) is not list:
        raise TypeError
    made: dict[str, Summary | tuple[Problem, str]] = {}
    requests: dict[str, list[InFlight]] = {}
    for row in cast("list[dict[str, Any]]", rows):
        name = _text(row["session"])
        if not (name.isascii() and name.replace("-", "").isalnum()):
            raise ValueError
        if row["id"] is None:
            made[name] = Problem(row["state"]), _text(row["detail"])
            continue
        requests.setdefault(name, []).append(_in_flight(row))
        session: dict[str, Any] = {**row, "name": row["server"], "pid": 1, "recording": "", "requests": []}
        made.setdefault(name, _summary(session))
    for name, some in requests.items():
        if isinstance(summary := made[name], Summary):
            made[name] = summary._replace(requests=tuple(some))
    return made


def read_message(output: bytes) -> tuple[int, str]:
    """Returns the exit status and the sentence in the output of ``cancel --json``.

    Raises:
        Exception: one of :data:`UNREADABLE`.
    """
    members = read_object(output)
    if type(status := members["status"]) is not int:
        raise TypeError
    return status, _text(members["message"])


def _summary(members: dict[str, Any]) -> Summary:
    requests = members["requests"]
    if type(requests) is not list:
        raise TypeError
    recording = _text(members["recording"])
    if recording and (recording[0] != "/" or recording[-1] == "/" or "\0" in recording):
        raise ValueError
    recording.encode("utf-8", "surrogateescape")  # Fails for a name that no file can have.
    return Summary(
        kind=_text(members["kind"]),
        client=_text(members["client"]),
        server=_text(members["name"]),
        pid=_pid(members["pid"]),
        recording=recording,
        requests=tuple(map(_in_flight, cast("list[Any]", requests))),
        client_pid=_maybe(_pid, members.get("client_pid")),
        client_folder=_maybe(_text, members.get("client_folder")) or "",
        client_started=_maybe(_seconds, members.get("client_started")),
        counts=_maybe(_counts, members.get("counts")),
    )


def _counts(members: Any) -> Counted:
    # Few answers have them.
    from mcp_tui.live.counts import read_counts

    return read_counts(members)


def _in_flight(members: dict[str, Any]) -> InFlight:
    return InFlight(
        id=_id(members["id"]),
        method=_text(members["method"]),
        name=_text(members["name"]),
        state=_text(members["state"]),
        elapsed=_seconds(members["elapsed"]),
        timeout=_maybe(_seconds, members["timeout"]),
        max_timeout=_maybe(_seconds, members["max_timeout"]),
        progress=_maybe(_number, members["progress"]),
        total=_maybe(_number, members["total"]),
        message=_maybe(_text, members["message"]) or "",
        repeat_of=_maybe(_id, members.get("repeat_of")),
    )


def _cancel_answer(members: dict[str, Any]) -> CancelAnswer:
    # The members that say that nothing was done come first: an answer with two of them must not read as "Cancelled".
    if "unknown" in members:
        return CancelAnswer(unknown=True)
    made = CancelAnswer(already=members.get("already") is True)
    if members.get("allowed") is True:
        return made._replace(allowed=True)
    if "refused" in members:
        return made._replace(refused=_text(members["refused"]) or "no reason given")
    if "over" in members:
        return made._replace(over=_text(members["over"]) or "over")
    if "unsent" in members:
        unsent = _text(members["unsent"])
        return made._replace(unsent=unsent if "version" in members else f"not sent: {unsent}")
    if (signal := _text(members["signal"])) not in SIGNALS:
        raise ValueError
    return made._replace(signal=signal)


# -- members ---------------------------------------------------------------------------------------------------

UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors when a line of another program is read."""


def _read(line: bytes | bytearray, made: Callable[[dict[str, Any]], Record]) -> Record | Problem:
    try:
        members = read_object(line)
        version = members.get("version", 0)
        if type(version) is int and version > VERSION:
            return Problem.OTHER_VERSION
        return made(members)
    except UNREADABLE:
        return Problem.NOT_UNDERSTOOD


def read_object(line: bytes | bytearray) -> dict[str, Any]:
    """Returns the object in a line of JSON.

    Raises:
        Exception: one of :data:`UNREADABLE`.
    """
    read = json.loads(line.decode(), parse_constant=_not_json)
    if type(read) is not dict:
        raise TypeError
    return cast("dict[str, Any]", read)


def _not_json(text: str) -> None:
    raise ValueError(text)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _id(value: Any) -> int | str:
    if type(value) is not int and type(value) is not str:
        raise TypeError
    return value


def _pid(value: Any) -> int:
    if type(value) is not int or not 0 < value < 1 << 31:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if type(value) is not int and type(value) is not float:
        raise TypeError
    made = float(value)
    if not math.isfinite(made):
        raise ValueError
    return made


def _seconds(value: Any) -> float:
    made = _number(value)
    if made < 0:
        raise ValueError
    return made


def _maybe(read: Callable[[Any], Record], value: Any) -> Record | None:
    return None if value is None else read(value)
