"""Connects: opens the transport, probes, falls back, does the handshake, and opens a new session when the server ended
one.

:mod:`mcp_tui.client.negotiation` makes the decisions; this module carries them out, and logs each step.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from mcp_tui import __version__
from mcp_tui.client import negotiation
from mcp_tui.client.client_port import Caller, Listener
from mcp_tui.client.client_settings import Offers, StdioTarget, Target
from mcp_tui.client.connection import ConnectError, Connection, NoCommonRevision, ServerInfo
from mcp_tui.client.deferred_requests import DeferredRequests
from mcp_tui.client.launchers import launcher
from mcp_tui.client.negotiation import Decision, Reply, Step
from mcp_tui.client.stderr_lines import StderrLines
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages, revisions
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.responses import OPENING_METHODS
from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE, REVISIONS, Negotiated, Revision
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.units import unpainted
from mcp_tui.transport import base
from mcp_tui.transport.base import Unauthorized, spawn
from mcp_tui.transport.suspension import Limit
from mcp_tui.transport.unreachable import STOPPING, TransportError, sentence, within

if TYPE_CHECKING:
    from mcp_tui.transport.http import HttpTransport


def timeout_text(client: Connector, before: str) -> str:
    """Returns why there was no session in time: the step that took too long, and the input since its start.

    ``before`` is the outcome of a probe that ``initialize`` followed.
    """
    doing, since = ("starting", 0.0)
    if client.steps:
        doing, since = client.steps[-1].text, client.steps[0].at
    text = f"No connection after {client.settings.connect_timeout:g} s ({doing})"
    noise = [each.line for each in client.store.log if isinstance(each, ev.Pollution) and each.at >= since]
    if noise:
        text += f"; unexpected stdout: {noise[0].strip()[:80]}"
    where = "command" if isinstance(client.target, StdioTarget) else "URL"
    if where == "command" and not (_received_any(client) or noise or client.stderr):
        text += "; nothing received"
    text += f"; before that: {before}. {ADVICE}" if before else "."
    if name := downloading(client):
        return f"{text} {name} may still be downloading. Try once more, or raise --connect-timeout."
    forced = client.settings.protocol != "auto"
    return f"{text} Check the {where} or raise --connect-timeout{', or try --protocol auto' * forced}."


def _received_any(client: Connector) -> bool:
    """Whether a message has arrived since this attempt began."""
    frames, since = client.store.frames, client.steps[0].at if client.steps else 0.0
    return any(frames[index].direction == "in" for index in range(frames.until(since), len(frames)))


def downloading(client: Connector) -> str:
    """Returns the launcher that may still be downloading the server, because no message has arrived yet; else empty."""
    name = launcher(client.target.command) if isinstance(client.target, StdioTarget) else ""
    return "" if name and _received_any(client) else name


_COMPLAINT: Final = late(
    r"discover|valid|method|unknown|unsupported|unexpected|not found|not implemented|initializ|-32[67]",
    re.IGNORECASE,
)
"""The words of a line of stderr about a message that a server does not know."""

PROBE_SECONDS: Final = 5.0
"""Seconds of silence after which a probe is given up: some old servers never answer an unknown method."""

LATE_WAIT: Final = 1.0
"""C-24: seconds that a server has to answer ``initialize`` after it answered the probe late."""

EXIT_CODE_SECONDS: Final = 1.0
"""Seconds that a server has to exit after it closed its pipes, so that its exit code can be reported."""

NO_COMMON: Final = "No common protocol version"

ADVICE: Final = "If you know what the server speaks, use --protocol VERSION or --transport sse."

CLIENT_INFO: Final = {"name": "mcp-tui", "version": __version__}

_OPENING: Final = {"stdio": "starting the server", "sse": "waiting for the endpoint event"}
"""The first step, by the kind of transport."""


class Connector(Caller, base.Sink, Protocol):
    """The members of a client that connecting uses; :class:`~mcp_tui.client.client.Client` implements it."""

    target: Target
    deferred: DeferredRequests
    connection: Connection | None
    disconnected: asyncio.Event
    closing: bool
    last_words: str
    stderr: StderrLines
    steps: list[ev.Note]

    async def disconnect(self) -> None: ...
    def lost(self, detail: str, /) -> None: ...
    def send(self, id: RequestId, method: str, message: dict[str, Json], /) -> None: ...


async def connect(client: Connector, *, handshake: bool = False) -> Connection:
    """Does the work of :meth:`~mcp_tui.client.client.Client.connect`; ``handshake`` skips the probe.

    Returns the connection, ready for requests. The client has it as soon as its transport is opened, because the
    handshake uses it.
    """
    client.steps.clear()
    client.closing = False
    attempt = _Attempt(client)
    try:
        # Deferred requests stop this limit: a person may need minutes to sign in.
        async with Limit(client.settings.connect_timeout) as client.deferred.limit:
            return await attempt.run(handshake=handshake)
    except NoCommonRevision:
        raise  # the server has answered: its stderr adds nothing
    except TransportError as error:
        error.add_stderr(client.stderr)
        raise
    except TimeoutError:
        if client.closing:
            raise ConnectError("The client was closed while it was connecting.") from None
        late = ConnectError(timeout_text(client, attempt.before if attempt.kind == "http" else ""))
        late.add_stderr(client.stderr)  # without the lines of its end
        raise late from None
    finally:
        client.deferred.limit = None
        if not attempt.ready:
            await client.disconnect()


class _Attempt:
    """One attempt to connect. The client's ``steps`` show a person how far it got."""

    def __init__(self, client: Connector) -> None:
        self.client = client
        self.limits = ev.Limits(timeout=None, max_timeout=client.settings.connect_timeout)
        """The limits that a person sees; the connect timeout, which began before any request, ends first."""
        self.kind = ""
        self.ready = False
        self.discovered: dict[str, Json] = {}
        self.unanswered: RequestId | None = None
        """The id of a probe that was given up and may still be answered."""
        self.opened_at = self.probed_at = 0.0
        self.before = ""
        """The outcome of a probe over HTTP that ``initialize`` followed."""

    async def run(self, *, handshake: bool) -> Connection:
        wanted = self.client.settings.protocol
        await self._open()
        if handshake or self.kind == "sse" or (wanted != "auto" and not REVISIONS[wanted].modern):
            return await self._initialize(None if wanted == "auto" else wanted)
        forced = wanted != "auto"
        # Without a fallback the probe is never given up. Otherwise it gets at most a third of the time, so that
        # initialize has enough.
        wait = None if forced else min(PROBE_SECONDS, self.client.settings.connect_timeout / 3)
        decision = await self._probe(REVISIONS[wanted] if forced else LATEST, wait)
        if decision.step is Step.RETRY:
            self._log_step(decision.why)
            decision = await self._probe(decision.revision, wait, retried=True)
        return await self._follow(decision, forced=forced)

    async def _follow(self, decision: Decision, *, forced: bool) -> Connection:
        if decision.step is Step.SPEAK:
            if decision.why:
                self._log_step(decision.why)
            return await self._ready(decision.revision, self.discovered)
        if decision.step not in (Step.INITIALIZE, Step.RESPAWN, Step.LEGACY_SSE):
            raise self._failure(decision)
        happened = decision.why.rsplit(", ", 1)[0]  # without the fallback
        if forced:
            asked = f"{self.client.settings.protocol} was requested. Try --protocol auto."
            if decision.blind:
                raise ConnectError(f"{happened}; {asked}")
            raise NoCommonRevision(f"{NO_COMMON}: {happened}; {asked}")
        self._log_step(decision.why)
        if decision.step is Step.LEGACY_SSE:
            await self._open("sse")
        elif decision.step is Step.RESPAWN:
            await self._open()
        elif self.kind == "http":
            self.before = happened
        return await self._initialize(None)

    def _failure(self, decision: Decision) -> ConnectError:
        text = decision.why
        if self.before and text not in self.before:  # the probe may have failed the same way
            text = f"{sentence(text)} Before that: {self.before}. {ADVICE}"
        if decision.step is Step.NO_COMMON:
            return NoCommonRevision(f"{NO_COMMON}: {text}")
        refused = text.startswith("connection refused")
        return ConnectError(f"{text}. Is the server running?" if refused else text)

    @property
    def _may_be_sse(self) -> bool:
        """Whether the transport is not fixed, so that it may be HTTP+SSE."""
        return self.kind == "http" and getattr(self.client.target, "transport", "") == "auto"

    # -- steps -----------------------------------------------------------------------------------------------

    def _step(self, text: str) -> None:
        self.client.steps.append(ev.Note(at=self.client.now(), text=text))

    def _log_step(self, text: str) -> None:
        self._step(text)
        self.client.note(text)

    async def _open(self, kind: str = "", *, again: bool = False) -> None:
        client = self.client
        await client.disconnect()
        transport = make_transport(client, kind)
        self.kind = transport.kind
        self._step(_OPENING.get(self.kind, "connecting"))
        client.stderr.clear()
        self.opened_at, self.probed_at = client.now(), 0.0
        client.ledger.negotiated = Negotiated(transport=self.kind)
        client.disconnected.clear()
        # Before it is open: its reports belong to this connection, and a person who stops connecting must find it.
        client.connection = Connection(transport=transport)
        try:
            await client.deferred.load()
            await transport.open(client)
        except TransportError as error:
            client.connection = None
            challenge = error.challenge if isinstance(error, Unauthorized) else None
            # Only HTTP+SSE is refused here, by the status of its stream: no request exists yet that could be
            # deferred.
            if again or challenge is None or not await client.deferred.authorized(challenge):
                raise
            await self._open(kind, again=True)

    async def _probe(self, revision: Revision, wait: float | None, *, retried: bool = False) -> Decision:
        client = self.client
        self._step("waiting for the response to server/discover")
        self._speak(revision, modern_meta(revision, self._offers))
        self.probed_at = client.now()
        id_ = client.call("server/discover", {}, limits=self.limits, internal=True)
        outcome = await self._probe_reply(id_, wait)
        self.unanswered = id_ if outcome.silent else None
        decision = negotiation.after_probe(
            outcome, transport=self.kind, retried=retried, may_fall_back=self._may_be_sse
        )
        if decision.step is Step.SPEAK:
            self.discovered = as_object(outcome.result)
        return decision

    async def _initialize(self, wanted: str | None) -> Connection:
        client = self.client
        self._step("waiting for the response to initialize")
        self._speak(None, {})
        asked = REVISIONS[wanted or LATEST_HANDSHAKE.name]
        params: dict[str, Json] = {
            "protocolVersion": asked.name,
            "capabilities": client.settings.offers.capabilities(asked),
            "clientInfo": CLIENT_INFO,
        }
        id_ = client.call("initialize", params, limits=self.limits, internal=True)
        outcome = await self._initialize_reply(id_)
        decision = negotiation.after_initialize(outcome, wanted=wanted, may_fall_back=self._may_be_sse)
        if decision.step is not Step.SPEAK and (found := await self._reconsider(outcome)) is not None:
            return await self._follow(found, forced=False)
        if decision.step is Step.LEGACY_SSE:
            self._log_step(decision.why)
            try:
                await self._open("sse")
            # An event stream exists, so these errors say what is wrong, and not the earlier status.
            except (Unauthorized, base.EndpointError):
                raise
            except TransportError as error:
                # There is no event stream either, so the response to initialize explains the failure.
                self._log_step(str(error))
                decision = negotiation.after_initialize(outcome, wanted=wanted, may_fall_back=False)
                raise self._failure(decision) from error
            return await self._initialize(wanted)
        if decision.step is not Step.SPEAK:
            raise self._failure(decision)
        return await self._ready(decision.revision, as_object(outcome.result))

    async def _probe_reply(self, id_: RequestId, wait: float | None) -> Reply:
        """Returns the reply to a probe, which is given up ``wait`` seconds after it was sent.

        Over HTTP it is sent when the connection is made, and again after a person signed in.
        """
        loop = asyncio.get_running_loop()
        if wait is None:
            return await self._reply(id_, None, Limit(None))
        limit = Limit(None if self.client.ledger.row(id_).sent_at is None else wait)

        def listener(event: ev.Event) -> None:
            if isinstance(event, (ev.Sent, ev.Resumed)) and event.id == id_:
                limit.reschedule(loop.time() + wait)
            elif isinstance(event, ev.Paused) and event.id == id_:
                limit.reschedule(None)

        return await self._reply(id_, wait, limit, listener)

    async def _initialize_reply(self, id_: RequestId) -> Reply:
        """Returns the reply to ``initialize``. C-24: a probe that was given up may be answered meanwhile."""
        client, limit = self.client, Limit(None)

        def listener(event: ev.Event) -> None:
            if isinstance(event, ev.Late) and event.id == self.unanswered and event.kind is ev.Kind.RESULT:
                frame = messages.response_in(client.store.payload(event.seq) or b"", event.id)
                self.discovered = as_object(frame and frame.result)
                if self.discovered and client.ledger.row(id_).open:
                    limit.reschedule(asyncio.get_running_loop().time() + LATE_WAIT)

        return await self._reply(id_, LATE_WAIT, limit, listener)

    async def _reconsider(self, outcome: Reply) -> Decision | None:
        """Returns another decision for a server that did not answer the probe and then failed ``initialize``, or
        ``None``.

        C-24: the server may have been too slow for the probe, and its answer may then have made it a modern server.
        Or the probe broke it, so that it exits at the next message, as the ``mcp`` package 1.2 does.
        """
        if self.unanswered is None:
            return None
        self.unanswered = None
        if outcome.closed:
            return negotiation.after_probe(outcome, transport=self.kind) if self.kind == "stdio" else None
        if self.discovered:
            decision = negotiation.after_probe(Reply(result=self.discovered), transport=self.kind)
        elif outcome.code is not None:
            self.client.note(f"error {outcome.code} to initialize, probing again")
            # Only a modern server sends these errors, so waiting is worthwhile.
            wait = None if outcome.code in negotiation.MODERN_ERRORS else PROBE_SECONDS
            decision = await self._probe(LATEST, wait)
        else:
            return None
        return decision if decision.step is Step.SPEAK else None

    async def _ready(self, revision: Revision, result: dict[str, Json]) -> Connection:
        """Uses a revision from now on, with the server as its answer to the opening request describes it."""
        client, connection = self.client, self.client.connection
        if connection is None:
            when = "after the probe" if revision.modern else "during the handshake"
            raise ConnectError(f"the connection closed {when}")
        # All of this before notifications/initialized: then the server may ask at once, and is judged by the declared
        # capabilities.
        offers, capabilities = self._offers, as_object(result.get("capabilities"))
        client.ledger.negotiated = Negotiated(
            transport=self.kind,
            revision=revision,
            meta=modern_meta(revision, offers, client.settings.log_level) if revision.modern else {},
            cancels_tasks=revision.modern or "cancel" in as_object(capabilities.get("tasks")),
            prompts=offers.prompts(revision),
            modes=offers.modes(revision),
        )
        connection.speaking = revision
        connection.transport.negotiated(revision)
        if not revision.modern:
            self._step("sending notifications/initialized")
            try:
                await connection.initialized()
            except Unauthorized as error:
                # At most one token: if it is refused with that too, nothing would use the next one.
                if error.challenge is None or not await client.deferred.authorized(error.challenge):
                    raise
                await connection.initialized()
            if client.connection is not connection:
                raise ConnectError(f"the connection closed during the handshake: {client.last_words}")
            self._forgive()
        in_meta = as_object(result.get("_meta")).get(revisions.META_SERVER_INFO)
        fields = as_object(result.get("serverInfo") or in_meta)
        info = ServerInfo(
            transport=self.kind,
            revision=revision,
            name=_text(fields.get("name")),
            version=_text(fields.get("version")),
            title=_text(fields.get("title")),
            instructions=_text(result.get("instructions")),
            capabilities=capabilities,
            pid=connection.transport.pid,
        )
        # Ready before the event, because a listener may call at once.
        connection.info, self.ready = info, True
        server = f"{info.name} {info.version}".strip()
        if not client.target.name:
            client.store.rename_for(info.name)
        made = ev.Connected(
            at=client.now(), transport=self.kind, revision=revision.name, server=server, pid=info.pid
        )
        client.report(made)
        return connection

    def _forgive(self) -> None:
        """Removes the lines of stderr that the probe provoked, because older servers do not know it. The log has them.

        A line before the first complaint is not about the probe.
        """
        if not self.probed_at:
            return
        client = self.client
        client.stderr.clear()
        for each in client.store.log:
            if isinstance(each, ev.Stderr) and each.at >= self.opened_at:
                if each.at >= self.probed_at and _COMPLAINT.search(each.line):
                    break
                client.stderr.add(unpainted(each.line))

    def _speak(self, revision: Revision | None, meta: dict[str, Json]) -> None:
        """Sets the revision that requests name in their headers and their ``_meta`` before one is negotiated."""
        client = self.client
        client.ledger.negotiated = replace(client.ledger.negotiated, meta=meta)
        if client.connection is not None:
            client.connection.speaking = revision

    async def _reply(
        self, id_: RequestId, wait: float | None, limit: Limit, listener: Listener = lambda _: None
    ) -> Reply:
        """Waits for a request of the handshake and returns its reply, within ``limit``: ``wait`` seconds after an event."""
        client = self.client
        ignore = client.listen(listener)
        try:
            async with limit:
                frame = await client.wait(id_)
        except TimeoutError:
            # C-23: over stdio no cancel is sent, because no revision is known yet; the id stays known for a late
            # answer.
            client.cancel(id_, Cause.TIMEOUT, f"no answer within {wait:g} s")
            return Reply(silent=True)
        finally:
            ignore()
        row, refusal = client.ledger.row(id_), client.refusals.pop(id_, base.NO_ANSWER)
        if row.cause is Cause.MAX_TIMEOUT:
            raise TimeoutError
        status = refusal.status
        lost = row.state is State.LOST
        why = row.error if frame is None or lost else ""
        if status in (401, 403):
            raise Unauthorized(why or f"HTTP {status}", refusal.challenge)
        if lost and self.kind == "stdio":
            with contextlib.suppress(TimeoutError):
                async with Limit(EXIT_CODE_SECONDS):
                    await client.disconnected.wait()
                why = client.last_words or why  # the exit code says more than a broken pipe
        if frame is None or lost:
            # Over HTTP a sent request has reached a server, whatever failed then.
            reached = self.kind != "stdio" and row.sent_at is not None
            return Reply(status=status, detail=why, closed=lost and not reached, sse=refusal.sse)
        if frame.error is None:
            return Reply(result=frame.result or {}, status=status)
        error = frame.error
        code = error.code or 0  # it is an error, even with an invalid code
        return Reply(code=code, message=error.message, data=error.data, status=status)

    @property
    def _offers(self) -> Offers:
        """The capabilities that this client declares, with the extensions of its authorization."""
        offers, tokens = self.client.settings.offers, self.client.tokens
        if tokens is None:
            return offers
        return replace(offers, extensions={**offers.extensions, **tokens.extensions})


def _text(value: Json) -> str:
    return as_text(value)[:10_000]


def modern_meta(revision: Revision, offers: Offers, log_level: str = "") -> dict[str, Json]:
    """Returns the ``_meta`` of every request of a modern connection (basic, 2026-07-28)."""
    made: dict[str, Json] = {
        revisions.META_PROTOCOL_VERSION: revision.name,
        revisions.META_CLIENT_INFO: CLIENT_INFO,
        revisions.META_CAPABILITIES: offers.capabilities(revision),
    }
    return {**made, negotiation.LOG_LEVEL: log_level} if log_level else made


def make_transport(client: Connector, kind: str = "") -> base.Transport:
    """Returns the transport for a client's target. HTTP libraries are loaded only for HTTP."""
    target, settings = client.target, client.settings
    if isinstance(target, StdioTarget):
        # Each transport loads its libraries; those of HTTP take longest.
        from mcp_tui.transport.stdio import StdioTransport

        return StdioTransport(target, max_message=settings.max_message)
    # As above.
    from mcp_tui.transport.http import HttpTransport, SseTransport

    over_http = SseTransport if (kind or target.transport) == "sse" else HttpTransport
    return over_http(target, max_message=settings.max_message, tokens=client.tokens)


PAUSES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before each attempt to open a new session: in half a minute a server restarts. Then the attempts end."""

SETTLED_SECONDS: Final = 5.0
"""Seconds after which a new session counts as stable, so that the pauses start again."""


LEAVING_LOOK_SECONDS: Final = 0.1
"""Seconds between two checks whether a stopping server has answered its last call."""


def _listens(row: Request) -> bool:
    return row.method == LISTEN and row.state is State.IN_FLIGHT


def _is_answered_there(row: Request) -> bool:
    """Whether a stopping server may still answer a request; a subscription would keep it for ever."""
    waits = row.state is State.IN_FLIGHT or (row.state is State.CANCEL_REQUESTED and not row.undelivered)
    return waits and row.method != LISTEN


class Renewal:
    """Opens new sessions for one client. ``active``: one is being opened.

    Requests made meanwhile are ``deferred`` and sent, in order, in the new session. They are lost if there is none,
    and are never sent if they are cancelled in time.
    """

    def __init__(self, client: Connector) -> None:
        self.active = False
        self._client = client
        self._attempts = 0
        self._ready_at = 0.0
        self.deferred: dict[RequestId, tuple[str, dict[str, Json]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._handshake = True

    def leave(self) -> None:
        """Leaves a stopping server, which our open stream would keep, after its last call has ended."""
        # Loaded already if the transport is HTTP, and otherwise not needed.
        from mcp_tui.transport.http import HttpTransport

        client, connection = self._client, self._client.connection
        if connection is None or connection.info is None or (self._leaving and not self._leaving.done()):
            return
        transport = connection.transport
        assert isinstance(transport, HttpTransport)
        if transport.listens or any(map(_listens, client.requests.unfinished.values())):
            client.note(f"{STOPPING}; its stream is closed")
            self._leaving = spawn(self._leave(transport), name="leave a server that is stopping")

    async def _leave(self, transport: HttpTransport) -> None:
        rows = self._client.requests.unfinished
        while any(map(_is_answered_there, rows.values())):  # noqa: ASYNC110 - many may end at once
            await asyncio.sleep(LEAVING_LOOK_SECONDS)
        if not transport.over:
            transport.lose(STOPPING, renewable=True)

    def begin(self, why: str, *, handshake: bool = True) -> None:
        """Opens a new session after the server ended the last one, for the reason ``why``.

        Without ``handshake`` the last session had none, so this opens another connection (2026-07-28).
        """
        if self._client.now() - self._ready_at >= SETTLED_SECONDS:
            self._attempts = 0
        self.active, self._handshake = True, handshake
        self._task = spawn(self._run(why), name="open a new session")

    async def stop(self) -> None:
        """Stops opening a session, because a person decided so. The deferred requests are lost."""
        if self._leaving is not None:
            self._leaving.cancel()
        task, self._task, self._attempts = self._task, None, 0
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if self.active:
            self._give_up("no new session was opened")

    def defer(self, id: RequestId, method: str, message: dict[str, Json]) -> bool:
        """Defers a request if it must wait for a new session; returns whether it must."""
        if not self.active or method in OPENING_METHODS:
            return False
        self.deferred[id] = method, message
        return True

    async def _run(self, why: str) -> None:
        try:
            await self._renew(why)
        except Exception as error:
            # An internal error, which is reported as one: deferred requests must not wait for ever.
            self._give_up(f"{why}; last attempt: mcp-tui failed ({type(error).__name__})")
            raise

    async def _renew(self, why: str) -> None:
        client, last = self._client, ""
        await asyncio.sleep(0)  # an eager task would start before the loss is reported
        while self._attempts < len(PAUSES):
            pause = PAUSES[self._attempts]
            self._attempts += 1
            client.note(f"opening a new session in {pause:g} s" if pause else "opening a new session")
            await asyncio.sleep(pause)
            try:
                # A session needs no probe: only the revisions with a handshake have sessions.
                await connect(client, handshake=self._handshake)
            except TransportError as error:
                last = within(str(error))
                client.note(f"no new session: {last}")
                # A person must sign in: the next attempts would be refused too.
                if isinstance(error, Unauthorized):
                    break
            else:
                # No longer active, or the requests sent here would be deferred again.
                self.active, self._ready_at = False, client.now()
                deferred, self.deferred = self.deferred, {}
                for id_, (method, message) in deferred.items():
                    client.send(id_, method, message)
                return
        ended = f"; last attempt: {last}" if last else ", repeatedly"
        self._give_up(f"{why}{ended}")

    def _give_up(self, detail: str) -> None:
        """Reports once why there is no session; deferred requests are lost with it."""
        self.active = False
        self.deferred.clear()
        self._client.lost(detail)
