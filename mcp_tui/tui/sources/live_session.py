"""One client with all its data on the screen, the sessions of one app, and the counts of a session."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from mcp_tui import clock
from mcp_tui.client.catalogue import CHANGED_LISTS, LISTS, ListFailed, Lists, difference, offers
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import Offers, StdioTarget
from mcp_tui.client.connecting import downloading
from mcp_tui.client.session_store import shown
from mcp_tui.client.task_store import TaskStore
from mcp_tui.client.url_required import ask_for_urls
from mcp_tui.config.settings import DEFAULTS, Settings
from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.redaction import Redactor
from mcp_tui.live.serving import ClientControlSocket
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.events import Kind, Limits
from mcp_tui.protocol.evidence import is_disconnected, is_still_progressing, waits_to_cancel
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.protocol.states import State
from mcp_tui.transport.unreachable import TransportError, sentence, within
from mcp_tui.tui.preferences import ASK_SECONDS
from mcp_tui.tui.sources.questions import Question, respond
from mcp_tui.tui.sources.sign_in_steps import SignIn
from mcp_tui.view.badges import LATE
from mcp_tui.view.cancellations import Cancellations
from mcp_tui.view.catalogue_entries import Catalogue
from mcp_tui.view.detail import Section, connecting_sections, failure_sections, server_sections
from mcp_tui.view.keys import hint, key_of
from mcp_tui.view.lines import Segments
from mcp_tui.view.outline import put
from mcp_tui.view.rows import first_steps, plural, request
from mcp_tui.view.server_bar import ALONE, LINK_GLYPHS, Counts, Link, OtherServers, ServerFacts, title
from mcp_tui.view.shell_command import redactor
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words
from mcp_tui.view.timeline import RequestSpans
from mcp_tui.view.wire import log_lines, wire_lines


class Session:
    """A client and its data in the workbench, on the screen or not.

    Attributes:
        mode: the name of its stack of screens in the app.
        servers: the list of all open servers, once it is in one.
        shown: whether it is on the screen.
        link: the state of the connection.
        trouble: why there is no connection, in one sentence; empty while there is one or one is being made.
        since: when the connection was made, in monotonic seconds.
        renewing: whether the client opens a new session automatically; calls wait for it meanwhile.
        broke: whether the last connection ended without a request from here.
        late: the number of late answers since it was last on the screen.
        stale: the lists of the catalogue that must be read again.
    """

    mode = ""

    def __init__(self, client: Client, limits: Callable[[str], Limits] | None = None) -> None:
        self.client = client
        self.target = client.target
        self.requests = client.requests
        self.problems = client.store.problems
        self.payload = client.store.payload
        self._limits_of: Callable[[str], Limits] | None = limits
        self.origin = origin = clock.origin()
        self.cancellations = Cancellations(client.requests, origin=origin, now=client.now)
        self.log = log_lines(client.store.log, origin=origin)
        self.wire = wire_lines(client.store.frames, origin=origin)
        self.catalogue = Catalogue()
        self.spans = RequestSpans(client.requests, client.store.frames, origin=origin)
        self.limits = self.limits_of("")
        self._unsent: dict[ev.RequestId, dict[str, Json]] = {}
        self.link = Link.LOST
        self.trouble = NOTHING
        self.degraded = False
        """Whether the open connection has lost an ability until a person reconnects."""
        self.left_running = NOTHING
        """The message about processes that the server left running, until a person has seen it."""
        self.servers: Servers | None = None
        self.shown = self._lost_reported = False
        self.late = 0
        self._overdue: dict[ev.RequestId, bool] = {}
        self._attempts = 0
        self.since: float | None = None
        self.stale: set[str] = set()
        self.renewing = self.broke = self._closing = False
        self._counters = Counters(client.requests)
        self._counted: tuple[object, Counts] = None, Counts()
        self.lists = Lists(client)
        self._tasks = TaskStore(shown(client.target))
        self._tasks.keep(client)
        self.questions: list[Question] = []
        """The questions that wait, oldest first; postponed ones come last."""
        client.interactions.respond = partial(respond, self.questions)
        ask_for_urls(client, self.call)
        self.control_socket: ClientControlSocket | None = None
        """The socket by which other processes reach the session."""
        self.sign_in = None if client.tokens is None else SignIn(client.tokens)
        """The sign-in to this server; ``None`` if it has none."""
        self.apply(DEFAULTS)
        client.listen(self._take)

    def apply(self, settings: Settings) -> None:
        """Uses settings from the next connection on; they determine what a server may ask."""
        self.settings = replace(settings, roots=[*self.client.settings.roots] or settings.roots)
        sampling = settings.sampling.mode != "off"
        offers = Offers(elicitation=frozenset({"form", "url"}), sampling=sampling, roots=True)
        self.client.settings = replace(self.client.settings, offers=offers)

    # -- facts -----------------------------------------------------------------------------------------------

    def _take(self, event: ev.Event) -> None:
        self._counters.note(event)
        match event:
            case ev.Connected():
                if self.renewing:
                    # A new session of an HTTP server may offer other things than the previous one.
                    self.stale.update(LISTS)
                self.renewing = False
                self._set_link(Link.CONNECTED)
                self.since = event.at
            # While a connection is being made, connect() reports its failure itself.
            case ev.Disconnected() if self.link is Link.CONNECTED or self.renewing:
                self._lost(brief(self.client.last_words, 400) or words("the connection closed"))
            case ev.ProcessesEnded():
                self.left_running = clean(sentence(describe(event).words(event)))
            case ev.Degraded() if self.link is Link.CONNECTED:
                self.degraded = True
            case ev.Notified() if event.method in CHANGED_LISTS:
                self.stale.update(CHANGED_LISTS[event.method])
            case ev.Late(kind=Kind.RESULT | Kind.ERROR | Kind.OVERSIZE) if not self.shown:
                self.late += 1
            case ev.Overdue() if not self.shown:
                self._overdue[event.id] = False
            case _:
                pass

    def _lost(self, detail: SafeText) -> None:
        was, self.renewing = self.renewing, self.client.renewal.active
        if not self.renewing:
            self._set_link(Link.LOST, detail)
            self.broke = not self._closing
        elif not was:
            self._set_link(Link.CONNECTING, safe("Connecting: {}", detail))

    def _set_link(self, link: Link, trouble: SafeText = NOTHING) -> None:
        text = clean(sentence(trouble)) if trouble else trouble
        self.link, self.trouble, self.since, self.broke, self.degraded = link, text, None, False, False

    def named(self, text: SafeText) -> SafeText:
        """Returns ``text``, after the server's name if there are several servers."""
        return safe("{}: {}", self.around.server_name, text) if self.around.server_name else text

    @property
    def around(self) -> OtherServers:
        """The other servers, as this one shows them."""
        return ALONE if self.servers is None else self.servers.around(self)

    @property
    def running(self) -> list[Request]:
        """The requests in flight, including internal ones, oldest first."""
        unfinished = self.client.requests.unfinished.values()
        return [row for row in unfinished if row.open and not row.listening]

    @property
    def unwritten(self) -> list[Request]:
        """The requests whose cancel is unwritten because the server does not read its stdin."""
        if not isinstance(self.client.target, StdioTarget):
            return []
        return [row for row in self.client.requests.unfinished.values() if waits_to_cancel(row)]

    @property
    def calls(self) -> list[Request]:
        """The requests in flight that are not internal."""
        return [row for row in self.running if not row.internal]

    # -- in the background -------------------------------------------------------------------------------------

    @property
    def overdue(self) -> list[Request]:
        """The requests that became overdue while another server was on the screen, and still are."""
        rows = [self.requests.get(id_) for id_ in self._overdue]
        return [row for row in rows if row is not None and row.overdue_until is not None]

    def mark_shown(self) -> None:
        """Notes that the session is on the screen from now on."""
        self.shown, self._lost_reported, self.late = True, False, 0
        self._overdue.clear()

    def news(self) -> Iterator[SafeText]:
        """Yields the news for a person while another server is on the screen, each once."""
        for question in self.questions:
            if not question.shown:
                question.shown = True
                keys = hint("{server.list} opens it, {question.answer} answers")
                yield safe("{}: {}", question.wants, keys)
        for row in self.overdue:
            if not self._overdue[row.id]:
                self._overdue[row.id] = True
                text = "{} {} is overdue and will be cancelled automatically: {} goes there"
                yield safe(text, row.id, request(row), key_of("server.list"))
        if self.broke and not self._lost_reported:
            yield safe("lost: {}", self.fault)
        self._lost_reported = self.broke

    # -- facts for the bar -----------------------------------------------------------------------------------

    def _counts(self, now: float) -> Counts:
        """Returns the counts, computed once for each version of the requests."""
        before, counts = self._counted
        # whether progress continues also depends on the time
        stamp = (self.client.requests.version, int(now) if counts.progressing else 0)
        if stamp != before:
            counts = self._counters.counts(now)
            self._counted = stamp, counts
        return counts

    @property
    def name(self) -> SafeText:
        """The server's own name and version, or else the target's name."""
        info = self.client.info
        text = NOTHING if info is None else join((brief(info.name, 80), brief(info.version, 40)), " ")
        return text or title(self.client.target)

    @property
    def doing(self) -> SafeText:
        """The current step of connecting; empty while no connection is being made."""
        if self.link is Link.CONNECTING and self.sign_in is not None and self.sign_in.active:
            return self.sign_in.state()
        steps = self.client.steps
        return brief(steps[-1].text, 200) if self.link is Link.CONNECTING and steps else NOTHING

    @property
    def slow(self) -> bool:
        """Whether connecting takes so long that a person wants to see the steps."""
        steps = self.client.steps
        return bool(steps and self.doing) and self.client.now() - steps[0].at > 1.0

    def _given_up(self) -> SafeText:
        if self.sign_in is not None and self.sign_in.active:
            return words("stopped before the sign-in")
        return safe("stopped while {}", self.doing) if self.doing else words("stopped")

    def facts(self, now: float) -> ServerFacts:
        """Returns the facts for the server bar at ``now`` (monotonic seconds)."""
        info = self.client.info
        sign_in = NOTHING if self.sign_in is None else self.sign_in.word
        connecting = self.link is Link.CONNECTING
        kind = "stdio" if isinstance(self.client.target, StdioTarget) else "http"
        return ServerFacts(
            link=self.link,
            degraded=self.degraded,
            name=self.name,
            transport=clean(kind if info is None else info.transport),
            pid=None if info is None else info.pid,
            revision=NOTHING if info is None else clean(info.revision.name),
            detail=self._connection_words() or (sign_in if connecting else NOTHING) or self.doing,
            up=None if self.since is None else float(int(now - self.since)),
            counts=replace(self._counts(now), asks=len(self.questions)),
            limits=self.limits,
            around=self.around,
            sign_in=NOTHING if connecting else sign_in,
        )

    def _connection_words(self) -> SafeText:
        """Returns why there is no connection, for the bar; an empty table shows the reason itself."""
        return self.trouble if self.has_calls() or not self.trouble else words("not connected")

    # -- the scene ---------------------------------------------------------------------------------------------

    def redactor(self) -> Redactor:
        """Returns the redactor that masks the secrets of this server as the journal does."""
        return redactor(self.client.target, self.client.store.learned, self.client.store.hidden)

    def now(self) -> float:
        """Returns the shown time in monotonic seconds."""
        return self.client.now()

    def stamp(self) -> object:
        """Returns a value that stays equal until a pane must be drawn again."""
        client = self.client
        versions = (
            self.link,
            self.degraded,
            self.trouble,
            self.around,
            self.catalogue.version,
            tuple(self.questions),
        )
        sign_in = 0 if self.sign_in is None else self.sign_in.version
        return client.requests.version, client.store.version, len(client.steps), self.slow, sign_in, *versions

    def empty_text(self) -> SafeText:
        """Returns the text of the empty table of requests."""
        match self.link:
            case Link.CONNECTING:
                step = safe(": {}", self.doing) if self.doing else words(" …")
                return safe("Connecting to {}{} ({} stops)", self.name, step, key_of("request.cancel"))
            case Link.CONNECTED:
                return first_steps()
            case Link.LOST:
                way = "{server.menu} to reconnect"
                if self.wants_sign_in:
                    way = "{server.sign-in} to sign in, or {server.menu} to reconnect"
                return safe("Not connected: {} Press {}.", self.fault, hint(way))

    @property
    def wants_sign_in(self) -> bool:
        """Whether the server requires a sign-in that has not happened."""
        return self.sign_in is not None and self.sign_in.required and not self.sign_in.done

    @property
    def fault(self) -> SafeText:
        """:attr:`trouble` for use after a colon."""
        return clean(within(self.trouble))

    def overview(self) -> list[Section]:
        """Returns the detail that is shown while no request is selected."""
        client = self.client
        if client.info is not None:
            return server_sections(client.info)
        if self.link is Link.CONNECTING:
            steps = [] if self.sign_in is None else self.sign_in.sections()
            name = downloading(client)
            sections = connecting_sections(client.steps, client.stderr, now=self.now(), launcher=name)
            return [*steps, *sections]
        return failure_sections(client.steps, client.stderr)

    def has_calls(self) -> bool:
        """Returns whether a person has called anything."""
        return any(not row.internal for row in self.client.requests.order)

    def frame(self, seq: int) -> FrameHead | None:
        """Returns the head of a frame; ``None`` if it is not stored."""
        frames = self.client.store.frames
        index = frames.find(seq)
        return None if index is None else frames[index]

    # -- the connection --------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connects and reads the catalogue; an error is reported in :attr:`trouble` and the log."""
        self.renewing = False
        self._attempts = attempt = self._attempts + 1
        await self._close()
        self.catalogue.clear()
        self.client.steps.clear()
        self._set_link(Link.CONNECTING)
        try:
            await self.client.connect()
        except TransportError as error:
            self.client.note(f"not connected: {error}")
            self._set_link(Link.LOST, brief(str(error), 2000))
        except asyncio.CancelledError:
            # a later attempt may have set the state already
            if attempt == self._attempts and self.link is Link.CONNECTING:
                self._set_link(Link.LOST, self._given_up())
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, a person reads it, and the other servers go on
            text = safe("Internal error in mcp-tui: {}.", type(error).__name__)
            self.client.note(f"not connected: {text}")
            self._set_link(Link.LOST, text)
        else:
            await self.read(LISTS)
            self.client.subscriptions.watch_lists()
            if waiting := len(self.left_behind()):
                palette = key_of("app.palette")
                tasks = plural(waiting, "task")
                self.client.note(f"{tasks} of earlier sessions may be running: {palette} resumes them")

    def optional_tasks(self) -> list[str]:
        """Returns the tools that may, but need not, be called as a task."""
        client = self.client
        optional = (name for name, support in client.task_support.items() if support == "optional")
        return list(filter(client.may_be_task, optional))

    def left_behind(self) -> dict[str, str]:
        """Returns the names, by id, of tasks of earlier sessions that may still run and have no row here."""
        here = {row.task_id for row in self.client.requests.order if row.task_id}
        return {task_id: name for task_id, name in self._tasks.read().items() if task_id not in here}

    async def stop(self) -> None:
        """Cancels all requests and ends the connection."""
        # The same key stops connecting, which may have set the trouble already.
        trouble = self.trouble if self.link is Link.LOST and self.trouble else self._given_up()
        self.renewing = False
        await self._close()
        self._set_link(Link.LOST, trouble)

    async def _close(self) -> None:
        self._closing = True
        try:
            if self.client.transport is not None or self.client.renewal.active:
                await self.client.close()
        finally:
            self._closing = False

    async def read(self, kinds: Collection[str]) -> None:
        """Reads some lists of the catalogue again, if the server offers them."""
        for kind in LISTS:
            if kind not in kinds or not offers(self.client, kind):
                continue
            self.stale.discard(kind)
            try:
                before = self.catalogue.entries.get(kind)
                found, problem = await self.lists.read(kind), NOTHING
                if before is not None and (changed := difference([each.raw for each in before], found)):
                    self.client.note(f"{kind}: {changed}")
            except ListFailed as failed:
                # Many servers that offer resources have no method for templates; that is not a problem to show.
                if kind == "templates" and failed.row.code == -32601:
                    continue
                found, problem = [], brief(str(failed), 200)
            self.catalogue.put(kind, found, problem)

    # -- requests --------------------------------------------------------------------------------------------

    def call(self, method: str, params: dict[str, Json] | None) -> ev.RequestId:
        """Sends a request of the person at the screen; before its timeout cancels, the person is asked."""
        name = params.get("name") if params is not None and method == "tools/call" else ""
        id_ = self.client.call(method, params, limits=self.limits_of(str(name or "")))
        written = (
            each for each in [*self._unsent] if (row := self.client.requests.get(each)) and row.request_seq
        )
        for each in written:
            del self._unsent[each]
        # Until the message is written no frame has the params, and a key may repeat the request before that.
        self._unsent[id_] = params or {}
        return id_

    def unsent(self, row: Request) -> dict[str, Json] | None:
        """Returns the params of a request whose message is not written yet; ``None`` if they are not stored."""
        return self._unsent.get(row.id)

    def limit(self, timeout: float | None, max_timeout: float | None) -> None:
        """Sets the limits of all later requests, in seconds; ``None`` is no limit."""
        client = self.client
        self.limits = chosen = replace(self.limits, timeout=timeout, max_timeout=max_timeout)
        self._limits_of = lambda _: chosen
        client.settings = replace(client.settings, limits=replace(chosen, ask=client.settings.limits.ask))

    def limits_of(self, tool: str) -> Limits:
        """Returns the limits of calls of a tool, or of any other request for an empty name."""
        if self._limits_of is None:
            return replace(self.client.settings.limits, ask=ASK_SECONDS)
        return self._limits_of(tool)


SERVER_NAME_CHARACTERS: Final = 32
"""The maximum number of characters of a server's name in the list of servers."""


class Servers:
    """All open servers in the order of opening; ``current`` is the one on the screen."""

    def __init__(self) -> None:
        self.all: list[Session] = []
        self.current: Session | None = None
        self._opened = 0

    def add(self, session: Session) -> None:
        """Adds a server."""
        self._opened += 1
        session.mode, session.servers = f"server-{self._opened}", self
        self.all.append(session)

    def remove(self, server: Session) -> Session | None:
        """Removes a server; returns the server to show instead, if there is any."""
        at = self.all.index(server)
        self.all.remove(server)
        if self.current is server:
            self.current = None
        return self.all[min(at, len(self.all) - 1)] if self.all else None

    def show(self, server: Session) -> None:
        """Shows a server on the screen."""
        if self.current is not None:
            self.current.shown = False
        self.current = server
        server.mark_shown()

    def next(self) -> Session | None:
        """Returns the server after the one on the screen; ``None`` if there is no other."""
        if self.current is None or len(self.all) < 2:
            return None
        return self.all[(self.all.index(self.current) + 1) % len(self.all)]

    def name(self, server: Session) -> SafeText:
        """Returns a server's name, as configured or else its own; numbered if several are equal."""
        called = _name(server)
        alike = [each for each in self.all if _name(each) == called]
        at = alike.index(server) if server in alike else 0
        return safe("{} {}", called, at + 1) if at else called

    def news(self) -> Iterator[SafeText]:
        """Yields the news of the servers that are not on the screen, with their names."""
        for each in self.all:
            for text in () if each.shown else each.news():
                yield safe("{} {}", self.name(each), text)

    def around(self, server: Session) -> OtherServers:
        """Returns a server's place among the others; for the one on the screen, also what the others need."""
        count = len(self.all)
        if count < 2 or server not in self.all:
            return ALONE
        wants = self._needs() if server.shown else ()
        return OtherServers(self.all.index(server) + 1, count, self.name(server), wants)

    def _needs(self) -> Segments:
        """Returns what the other servers need, the most urgent first."""
        wants: list[tuple[int, SafeText, str]] = []
        for each in self.all:
            name = self.name(each)
            if each.shown:
                continue
            if each.questions:
                wants.append((1, safe("? {} asks", name), "warning"))
            if each.sign_in is not None and each.sign_in.waits:
                wants.append((2, safe("! sign-in: {}", name), "warning"))
            if each.overdue:
                wants.append((3, safe("! {} overdue", name), "warning"))
            if each.broke and each.link is Link.LOST:
                wants.append((4, safe("{} {} lost", LINK_GLYPHS[Link.LOST][0], name), "error"))
            if each.late:
                wants.append((5, safe("{} {} {:,} late", LATE.glyph, name, each.late), LATE.style))
        return tuple((text, tone) for _, text, tone in sorted(wants, key=lambda want: want[0]))


def _name(server: Session) -> SafeText:
    target, info = server.client.target, server.client.info
    if target.name:
        return brief(target.name, SERVER_NAME_CHARACTERS)
    text = NOTHING if info is None else brief(info.name, SERVER_NAME_CHARACTERS)
    return text or brief(title(target), SERVER_NAME_CHARACTERS)


# -- counts ----------------------------------------------------------------------------------------------------


class Counters:
    """The counts over the rows of a session, updated by each event that changes one."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        # Places take 31 bytes per request; sets of keys, or the rows themselves, took up to 1,190.
        self._lost = array("I")  # places of rows, sorted
        self._progressing: dict[int, Request] = {}
        for place, row in enumerate(requests.order):
            self._take(place, row)

    def note(self, event: ev.Event) -> None:
        """Updates the counts by an event."""
        # By events: with 100,000 finished requests, counting all rows at each change cost twice as much as with 400.
        if type(event) in _COUNTED_CANCELS and isinstance(event, ev.RequestEvent):
            place = self._requests.place(event.id)
            if place is not None:
                self._take(place, self._requests.order[place])

    def _take(self, place: int, row: Request) -> None:
        own = row.cancel_is_internal
        lost = (is_disconnected(row) and not own) or (row.state is State.LOST and not row.internal)
        put(self._lost, place, present=lost)
        if row.late and row.cancel_at is not None and not (own or lost):
            self._progressing[place] = row
        else:
            self._progressing.pop(place, None)

    def counts(self, now: float) -> Counts:
        """Returns the counts at a moment, in monotonic seconds."""
        self._progressing = {
            place: row for place, row in self._progressing.items() if is_still_progressing(row, now)
        }
        progressing, lost = len(self._progressing), len(self._lost)
        return Counts(*self._requests.counts(), progressing=progressing, lost=lost)


_COUNTED_CANCELS: Final = frozenset({ev.CancelRequested, ev.CancelWithdrawn, ev.Late, ev.Lost, ev.Unwatched})
"""The events that may change the counts of rows that are not in flight."""
