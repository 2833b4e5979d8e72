"""The sessions of the clients behind a tap over HTTP: which one an exchange belongs to.

A session is what ``Mcp-Session-Id`` names, or the stream of HTTP+SSE. A client without either (2026-07-28, and servers that
keep no sessions) is known by its name and by the connections that it uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Final

from mcp_tui.journal.masks import known_secrets
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.live.sockets import ListeningSocket
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Batch, Frame, RequestFrame, as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import Repeats
from mcp_tui.protocol.revisions import META_CLIENT_INFO, META_PROTOCOL_VERSION, REVISIONS
from mcp_tui.tap import recorder_records
from mcp_tui.tap.http_heads import Headers
from mcp_tui.tap.http_session import Exchange, Exchanges, TappedSession
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.targets import HttpTarget

SESSIONS: Final = 64
"""The maximum number of open sessions; beyond it the one that was idle for longest is closed."""


def requests_in(frame: Frame | Batch | None) -> list[RequestFrame]:
    """Returns the requests of a message, or of a batch."""
    frames = frame.frames if isinstance(frame, Batch) else (frame,)
    return [each for each in frames if isinstance(each, RequestFrame)]


def secrets_in(headers: Headers) -> set[str]:
    """Returns the secrets in headers."""
    texts = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return known_secrets(
        HttpTarget(url="", repeated=tuple(each for each in texts if is_secret_name(each[0])))
    )


def _is_taken(session: TappedSession, request: RequestFrame) -> bool:
    """Returns whether an id shows another client of the same name: the id is in use, or is a first one."""
    row = session.ledger.named(request.id)
    return row is not None and (row.open or request.method == "server/discover")


def _distance(session: TappedSession, id_: object) -> float:
    """Returns the distance of an id to the last one of a session, because most clients count their ids."""
    last = session.ledger.requests.order[-1].wire_id if session.ledger.requests.order else 0
    return id_ - last if isinstance(id_, int) and isinstance(last, int) and id_ > last else float("inf")


class HttpSessions:
    """The sessions of one tap. ``begin`` are its options, and the URL of the server."""

    def __init__(self, loop: RecorderLoop, exchanges: Exchanges, begin: recorder_records.HttpBegin) -> None:
        self.loop = loop
        self._exchanges = exchanges
        self._target = HttpTarget(url=begin["url"], name=begin.get("name", ""))
        self.address = parse(self._target.url)
        self._begin = begin
        self.by_id: dict[str, TappedSession] = {}
        self.by_endpoint: dict[bytes, TappedSession | None] = {}
        """The sessions over HTTP+SSE; ``None`` for one that is closed."""
        self.last: dict[int, TappedSession] = {}
        """The session of the last message of a connection."""
        self._all: list[TappedSession] = []
        """The session of the newest message, last."""
        self._chosen = loop.settings()
        self._repeats = Repeats()
        self.count = 0
        """The number of the last session."""
        own = self.address.authorization or ""
        self.secrets = secrets_in([(b"authorization", own.encode())])

    @property
    def open_sessions(self) -> list[TappedSession]:
        """The open sessions."""
        return [each for each in self._all if not each.over]

    def learn(self, secrets: Iterable[str]) -> None:
        """Notes secrets that must not get into any journal."""
        self.secrets.update(secrets)
        for each in self._all:
            each.store.learn(self.secrets)

    def is_endpoint(self, target: bytes) -> bool:
        """Whether MCP messages go to a target. Other traffic, such as a sign-in, is not recorded."""
        path = self.address.url.raw_path.partition(b"?")[0].rstrip(b"/")
        return target.partition(b"?")[0].rstrip(b"/") == path or target in self.by_endpoint

    def session_of(self, record: Exchange, frame: Frame | Batch | None) -> TappedSession | None:
        """Returns the session of an exchange; ``None`` if it is not known yet."""
        named = record.headers.get("mcp-session-id", "")
        requests = requests_in(frame)
        meta = as_object(as_object(requests[0].params if requests else None).get("_meta"))
        claimed = messages.as_text(meta.get(META_PROTOCOL_VERSION)) or record.headers.get(
            "mcp-protocol-version", ""
        )
        revision = REVISIONS.get(claimed)
        modern = revision is not None and revision.modern
        client = party(meta.get(META_CLIENT_INFO))
        if record.target in self.by_endpoint:
            return self._used(self.by_endpoint[record.target])
        # 2026-07-28 has no sessions, so an Mcp-Session-Id means nothing there.
        if named and not modern:
            found = self.by_id.get(named)
            # Its handshake happened before this tap started, or it was idle for too long.
            if (found is None or found.over) and frame is not None:
                found = self.by_id[named] = self.new_session(monotonic())
                found.id = named
            return self._used(found)
        if any(each.method == "initialize" for each in requests):
            client = party(as_object(requests[0].params).get("clientInfo"))
            return self._used(self._unsettled(client))

        def fits(each: TappedSession) -> bool:
            known = (
                each.ledger.negotiated.transport == "http"
                and not each.id
                and each.is_modern in (None, modern)
            )
            same = not client or each.observer.client in ("", client)
            return known and same and not (modern and any(_is_taken(each, request) for request in requests))

        own = None if record.connection is None else self.last.get(record.connection)
        if own is not None and not own.over and fits(own):
            return self._used(own)
        found = [each for each in reversed(self._all) if not each.over and fits(each)]
        number = requests[0].id if requests else None
        return self._used(min(found, key=lambda each: _distance(each, number), default=None))

    def _used(self, session: TappedSession | None) -> TappedSession | None:
        if session is not None and not session.over:
            self._all.remove(session)
            self._all.append(session)
            return session
        return None

    def _unsettled(self, client: str) -> TappedSession | None:
        """Returns the session of a client whose requests so far were refused because of their revision."""
        for each in reversed(self._all):
            asks = each.is_modern is None and not each.id and each.ledger.negotiated.transport == "http"
            if asks and not each.ledger.live and each.observer.client in ("", client):
                return each
        return None

    def new_session(self, at: float, number: int = 0, socket_id: str = "") -> TappedSession:
        """Returns a new session with a journal; with a ``number`` it continues that session of the last recorder."""
        for each in (each for each in self._all if each.over):
            # Or a tap would keep each session that ever was.
            if self.by_id.get(each.id) is each:
                del self.by_id[each.id]
            if self.by_endpoint.get(each.target) is each:
                self.by_endpoint[each.target] = None
        self._all = self.open_sessions
        for each in self._all[: max(0, len(self._all) - SESSIONS + 1)]:
            each.close("idle for too long", expected=True, at=at)
        store = self.loop.open_store(self._target, self._chosen, self._begin, at)
        store.learn(self.secrets)
        self.count = max(self.count, number) if number else self.count + 1
        session = TappedSession(
            self.loop,
            self._exchanges,
            number or self.count,
            store,
            at,
            socket_id or os.urandom(6).hex(),
            self._target.name or self.address.host,
            self._begin,
            self._chosen.tap,
        )
        session.ledger.repeats = self._repeats
        if not self.loop.restoring:
            self.open_socket(session)
        self._all.append(session)
        return session

    def opened(self, record: Exchange, endpoint: bytes, at: float) -> TappedSession | None:
        """Returns the session of an HTTP+SSE stream, whose first event names the target of its messages."""
        try:
            target = self.address.resolve(endpoint.decode("utf-8", "replace")).url.raw_path
        except TransportError:
            return None
        session = self._unsettled("") or self.new_session(at)
        session.becomes_sse(record, target)
        self.by_endpoint[target] = session
        return session

    def open_socket(self, session: TappedSession) -> None:
        if self._chosen.reachable:
            with suppress(OSError):
                session.open_socket(ListeningSocket(session.socket_id))
