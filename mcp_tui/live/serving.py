"""The session's side of its control socket: it lists what is in flight, and cancels for other terminals.

A tap and mcp-tui's own client give the same answers. Both have a ledger and a loop; they differ only in how they cancel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_tui import __version__
from mcp_tui.journal.client_process import ClientProcess, client_process
from mcp_tui.live import control
from mcp_tui.live.control import CancelAnswer, InFlight, Summary
from mcp_tui.live.counts import Counts
from mcp_tui.live.sockets import ANSWER_SECONDS, QUESTION_BYTES, ListeningSocket, answer, question, report_end
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Connected, Event, RequestEvent, RequestId, Signal
from mcp_tui.protocol.evidence import Delivery
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, encode
from mcp_tui.protocol.requests import OPEN, TERMINAL, Request

if TYPE_CHECKING:
    import asyncio
    import socket

    from mcp_tui.client.client import Client
    from mcp_tui.journal.store import Store

UNSENT_SECONDS: Final = 4.0
"""Seconds after which the answer is that a cancel is not sent yet; less than the other side waits."""

CONFIRMED_SECONDS: Final = 1.0
"""Seconds that a server has to accept or refuse a written cancel. Many do neither before the tool ends."""

LINE_BYTES: Final = 256 * 1024 * 1024
"""The maximum size of a line on a shared connection, in bytes: the arguments of a call, or its result."""


class Loop(Protocol):
    """The loop of a session: asyncio's, or that of a tap."""

    def add_reader(self, fd: socket.socket, callback: Callable[[], object], /) -> object:
        """Calls ``callback`` whenever the socket can be read."""

    def remove_reader(self, fd: socket.socket, /) -> object:
        """Stops these calls."""

    def call_later(self, delay: float, callback: Callable[[], object], /) -> object:
        """Calls ``callback`` once, after ``delay`` seconds."""


class ControlSocket:
    """The control socket of a session, open until :meth:`close`. :meth:`event` has to be called with each of its events.

    ``summary`` returns what is in flight, and ``cancel`` cancels a request for a person. ``certain`` calls a function as
    soon as it is certain which requests were answered. ``share`` gets a connection that asks to use that of the session.
    ``allow`` has the guard of a tap let a call through. ``listening`` is the socket, if it is open already.

    Raises:
        OSError: no socket can be opened.
    """

    def __init__(
        self,
        loop: Loop,
        ledger: Ledger,
        *,
        summary: Callable[[], Summary],
        cancel: Callable[[RequestId, str], CancelOutcome],
        certain: Callable[[Callable[[], object]], object] = lambda call: call(),
        share: Callable[[socket.socket], object] | None = None,
        allow: Callable[[Request], CancelAnswer] = lambda _: control.NOT_KNOWN,
        listening: ListeningSocket | None = None,
    ) -> None:
        self._loop = loop
        self._allow = allow
        self._ledger = ledger
        self._summary = summary
        self._cancel = cancel
        self._certain = certain
        self._share = share
        self._reading: dict[socket.socket, bytearray] = {}
        self._waiting: dict[RequestId, dict[socket.socket, bool]] = {}
        """Connections that wait for the outcome of a cancel; true for those that asked after the first one."""
        self._cancelling: RequestId | None = None
        self._counts = Counts(ledger.requests.get)
        self._listening = listening or ListeningSocket(os.urandom(6).hex())
        loop.add_reader(self._listening.socket, self._accept)

    def close(self) -> None:
        """Closes the socket permanently. Waiting connections get the outcome known so far."""
        # The end is reported first: a session whose socket is gone has reported its end.
        report_end(lambda: {**control.summary_line(self._summary()), "counts": self._counts.line(ended=True)})
        self._listening.close()
        with suppress(RuntimeError):  # The workbench closes after its loop has ended.
            self._loop.remove_reader(self._listening.socket)
            for id_ in list(self._waiting):
                self._look(id_, otherwise="not sent: the session ended")
            for link in list(self._reading):
                self._drop(link)

    def abandon(self) -> None:
        """Closes the socket in this process only, because another process has it, too."""
        self._listening.socket.close()
        for link in (*self._reading, *(link for waiting in self._waiting.values() for link in waiting)):
            link.close()

    # -- connections -------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        link = self._listening.accept()
        if link is not None:
            self._reading[link] = bytearray()
            self._loop.add_reader(link, partial(self._read, link))
            self._loop.call_later(ANSWER_SECONDS, partial(self._drop, link))

    def _drop(self, link: socket.socket) -> None:
        """Closes a connection that has sent no request."""
        if self._reading.pop(link, None) is not None:
            self._loop.remove_reader(link)
            link.close()

    def _read(self, link: socket.socket) -> None:
        data, piece = self._reading[link], b""
        with suppress(OSError):
            piece = link.recv(QUESTION_BYTES)
        data += piece
        line = question(data)
        if line is None and piece:
            return
        self._loop.remove_reader(link)
        del self._reading[link]
        match control.read_request(line or b""):
            case control.ListRequest(counts):
                line = control.summary_line(self._summary())
                answer(link, {**line, "counts": self._counts.line()} if counts else line)
            case control.CancelRequest() as asked:
                self._cancel_for(link, asked)
            case control.AllowRequest(id, exact):
                row = _named(self._ledger, id, exact=exact, over=True)
                answer(link, (row if isinstance(row, CancelAnswer) else self._allow(row)).line())
            case control.ShareRequest(is_old=True) if self._share is not None:
                answer(link, control.NOT_SHARED.line())
            case control.ShareRequest() if self._share is not None:
                self._share(link)
            case _:
                answer(link, control.NOT_KNOWN.line())

    # -- cancels -----------------------------------------------------------------------------------------------

    def _cancel_for(self, link: socket.socket, asked: control.CancelRequest) -> None:
        row = _named(self._ledger, asked.id, exact=asked.exact)
        if isinstance(row, CancelAnswer):
            answer(link, row.line())
            return
        waiting = self._waiting.setdefault(row.id, {})
        waiting[link] = bool(waiting) or row.state not in OPEN
        if not waiting[link]:
            self._certain(partial(self._cancel_now, row, asked.reason))
        self._look(row.id)
        if row.id in self._waiting:
            look = partial(self._look, row.id, otherwise="not sent yet: the tap is busy")
            self._loop.call_later(UNSENT_SECONDS, look)

    def _cancel_now(self, row: Request, reason: str) -> None:
        # The events are emitted within the call, before its outcome is known.
        self._cancelling = row.id
        outcome = self._cancel(row.id, reason)
        self._cancelling = None
        match outcome:
            case CancelOutcome.REFUSED:
                self._answer(row.id, CancelAnswer(refused=f"{row.method} cannot be cancelled"))
            case CancelOutcome.UNSENT | CancelOutcome.ABANDONED | CancelOutcome.LEFT:
                self._answer(row.id, CancelAnswer(signal=Signal.NONE.value))
            case _:
                self._look(row.id)

    def event(self, event: Event) -> None:
        """Counts an event, and checks whether it decides the outcome of a cancel that a connection waits for."""
        self._counts.event(event)
        if self._waiting and isinstance(event, RequestEvent) and event.id != self._cancelling:
            self._look(event.id)

    def _look(self, id_: RequestId, *, otherwise: str = "") -> None:
        """Answers the waiting connections, if the outcome of the cancel is known; ``otherwise`` is the text if not."""
        if id_ not in self._waiting:
            return
        row = self._ledger.row(id_)
        sent, is_over = evidence.delivery(row), row.state in TERMINAL
        unsent = sent is Delivery.NONE and (otherwise or is_over)
        confirmed = otherwise or row.unanswered or not row.answer_owed
        reply: CancelAnswer | None = None
        if row.cancel_at is None and is_over:
            reply = CancelAnswer(over=row.state.value)
        elif row.cancel_at is None:
            reply = CancelAnswer(unsent=otherwise) if otherwise else None
        elif unsent or sent in (Delivery.FAILED, Delivery.REFUSED):
            reply = CancelAnswer(unsent=evidence.delivery_words(row, monotonic()))
        elif sent is Delivery.ACCEPTED or (sent is Delivery.WRITTEN and confirmed):
            reply = CancelAnswer(signal="" if row.signal is None else row.signal.value)
        elif sent is Delivery.WRITTEN:
            self._loop.call_later(CONFIRMED_SECONDS, partial(self._look, id_, otherwise="not confirmed"))
        if reply is not None:
            self._answer(id_, reply)

    def _answer(self, id_: RequestId, reply: CancelAnswer) -> None:
        for link, again in self._waiting.pop(id_, {}).items():
            answer(link, reply._replace(already=again).line())


def _named(ledger: Ledger, wanted: RequestId, *, exact: bool, over: bool = False) -> Request | CancelAnswer:
    """Returns the named request if it is in flight, or its cancel is not over; otherwise the answer.

    ``over``: the newest request with this id is meant, even if it is over.
    """
    ids: list[RequestId] = [wanted]
    if isinstance(wanted, str) and not exact:
        # Ids may be negative numbers; "07" is not 7.
        with suppress(ValueError):
            ids += [number] if str(number := int(wanted)) == wanted else []
    rows = [row for id_ in ids if (row := ledger.requests.get(id_)) is not None]
    if over and rows:
        return max(rows, key=lambda row: row.called_at)
    live = [row for row in rows if row.open]
    if len(live) > 1:
        return CancelAnswer(refused=f"{wanted} names two requests, number:{wanted} and text:{wanted}")
    for row in (*live, *rows):
        if row.state not in TERMINAL:
            return row
    return CancelAnswer(over=rows[0].state.value) if rows else CancelAnswer(unknown=True)


# -- what is in flight -----------------------------------------------------------------------------------------


def summary(
    ledger: Ledger,
    store: Store,
    now: float,
    *,
    kind: str,
    client: str,
    server: str,
    process: ClientProcess,
) -> Summary:
    """Returns who is at work in a session, and its requests in flight, oldest first, as in :class:`Summary`."""
    recordings = [os.path.abspath(writer.path) for writer in store.writers]  # noqa: PTH100 - a link stays one
    return Summary(
        kind=kind,
        client=_shortened(client),
        server=_shortened(server),
        pid=os.getpid(),
        recording=recordings[0] if recordings else "",
        requests=tuple(_in_flight(each.row, now) for each in ledger.live.values() if not each.row.internal),
        client_pid=process.pid or None,
        client_folder=_shortened(process.folder),
        client_started=process.started or None,
    )


def _in_flight(row: Request, now: float) -> InFlight:
    return InFlight(
        id=row.id,
        method=_shortened(row.method),
        name=_shortened(row.name),
        state=row.state.value,
        elapsed=round(max(0.0, row.elapsed(now)), 3),
        timeout=row.limits.timeout,
        max_timeout=row.limits.max_timeout,
        progress=row.progress,
        total=row.total,
        message=_shortened(row.message or ""),
        repeat_of=None if row.repeat is None else row.repeat.repeat_of,
    )


def _shortened(text: str) -> str:
    return text[: control.TEXT_CHARACTERS]


# -- a client of ours ------------------------------------------------------------------------------------------


class ClientControlSocket:
    """The control socket of a ``client`` in a session of a ``kind``, from the first connection on, if it ``may`` open.

    If no socket can be opened, the session continues without one. ``share`` is called with a connection that asks to use
    that of the client; without ``share``, no other process can use it.
    """

    def __init__(
        self,
        client: Client,
        kind: str,
        *,
        may: bool = True,
        share: Callable[[Client, asyncio.StreamReader, asyncio.StreamWriter], Any] | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._may = may
        self._share_with = share
        self._socket: ControlSocket | None = None
        import asyncio  # The recorder of a tap has its own loop, and does not load asyncio.

        self._loop = asyncio.get_running_loop()
        client.listen(self._on_event)

    def _on_event(self, event: Event) -> None:
        if self._socket is not None:
            self._socket.event(event)
        elif self._may and isinstance(event, Connected):
            self._may = False
            with suppress(OSError):
                self._socket = ControlSocket(
                    self._loop,
                    self._client.ledger,
                    summary=self._summary,
                    cancel=self._cancel,
                    share=None if self._share_with is None else self._share,
                )
                self._socket.event(event)

    def close(self) -> None:
        """Closes the socket permanently."""
        self._may = False
        if self._socket is not None:
            self._socket.close()

    def _summary(self) -> Summary:
        # Imported at the first request, because it is slow.
        from mcp_tui.client.session_store import shown

        client, info = self._client, self._client.info
        server = client.target.name or ("" if info is None else info.name) or shown(client.target)
        return summary(
            client.ledger,
            client.store,
            client.now(),
            kind=self._kind,
            client=f"mcp-tui {__version__}",
            server=server,
            process=client_process(os.getpid()),
        )

    def _cancel(self, id_: RequestId, reason: str) -> CancelOutcome:
        client = self._client
        return client.cancel(id_, Cause.USER, reason) if reason else client.cancel(id_)

    def _share(self, link: socket.socket) -> None:
        # Imports asyncio, which the recorder of a tap does not load.
        from mcp_tui.transport.base import spawn

        spawn(self._serve(link), name="share a connection")

    async def _serve(self, link: socket.socket) -> None:
        """Shares the connection. An error there does not concern the session."""
        # Imports asyncio as well.
        import asyncio

        assert self._share_with is not None
        reader, writer = await asyncio.open_unix_connection(sock=link, limit=LINE_BYTES)
        try:
            with suppress(Exception):
                await self._share_with(self._client, reader, writer)
        finally:
            writer.close()


def write_line(writer: asyncio.StreamWriter, made: Json) -> None:
    """Writes a line on a shared connection."""
    writer.write(encode(made) + b"\n")
