"""Running sessions of other processes: reads their recordings, and acts through their control sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from mcp_tui.journal.client_recording import ClientRecording, RecordedSource
from mcp_tui.journal.journal_files import journal_folder, journals, read_header, server_in
from mcp_tui.live.control import CancelAnswer
from mcp_tui.live.running import Running, RunningClient, Unknown, allow, by_client, cancel, sessions
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json, as_text
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import REVISIONS, Cancellation, cancellation
from mcp_tui.transport.base import spawn
from mcp_tui.tui.sources.recorded import RecordedScene
from mcp_tui.view.detail import Section, fact_lines
from mcp_tui.view.server_bar import Link, ServerFacts
from mcp_tui.view.text import SafeText, brief, join, safe, words

Target = tuple[str, Path, RequestId]
"""The name and the socket of a session, and the id of a request in it."""


class Attached:
    """The parts of a session and a client that keys to cancel need. ``show_message`` shows the result of a cancel."""

    def __init__(
        self, session: Running | RunningClient, scene: RecordedScene, show_message: Callable[[SafeText], None]
    ) -> None:
        self._session = session
        self._scene = scene
        self._show_message = show_message
        self.requests = scene.requests

    @property
    def client(self) -> Attached:
        return self

    @property
    def running(self) -> list[Request]:
        """The requests in flight, oldest first."""
        requests = self.requests
        rows = (requests.row(place) for place in range(len(requests.order)) if not requests.is_over(place))
        return [row for row in rows if row.open and not row.listening]

    def now(self) -> float:
        return self._scene.now()

    def cancellation(self, row: Request) -> Cancellation:
        """Returns the signal with which that session would cancel a request."""
        facts = self._scene.facts(self.now())
        transport, revision = str(facts.transport), str(facts.revision)
        recording = self._scene.replay
        if isinstance(recording, ClientRecording) and (source := recording.source_of(row.id)) is not None:
            transport, revision = source.transport, source.revision
        between = row.state is State.AWAITING_INPUT
        task = row.as_task or bool(row.task_id)
        return cancellation(
            REVISIONS.get(revision), transport or "stdio", row.method, task=task, between=between
        )

    def cancel(self, id: RequestId, cause: Cause, reason: str) -> CancelOutcome:
        """Asks the session to cancel a request; shows the result when it answers."""
        row = self.requests.get(id)
        if row is None or not row.open:
            return CancelOutcome.ALREADY_DONE
        assert cause is Cause.USER  # each session has its own timeouts
        spawn(self._cancel(id, reason), name="cancel in another session")
        return CancelOutcome.REQUESTED

    async def cancel_all(self, cause: Cause, reason: str, ids: Sequence[RequestId]) -> int:
        """Cancels several requests, one after the other."""
        assert cause is Cause.USER
        for id_ in ids:
            await self._cancel(id_, reason)
        return len(ids)

    def allow(self, id: RequestId) -> None:
        """Asks the session to permit one call that is equal to a refused one; shows the result."""
        spawn(self._allow(id), name="allow in another session")

    async def _allow(self, id_: RequestId) -> None:
        target = self._target(id_)
        answer = None if target is None else await asyncio.to_thread(allow, *target)
        request = brief(str(id_), 40)
        if isinstance(answer, CancelAnswer) and answer.allowed:
            self._show_message(safe("The next call that is equal to {} is sent to the server", request))
        elif isinstance(answer, CancelAnswer):
            self._show_message(
                safe("Request {}: {}", request, brief(answer.refused or "not known there", 200))
            )
        else:
            self._show_message(words("The session has ended, or did not answer"))

    def _target(self, id: RequestId) -> Target | None:
        """Returns the session of a request; ``None`` if the session has ended."""
        session, recording = self._session, self._scene.replay
        if isinstance(session, Running) or not isinstance(recording, ClientRecording):
            assert isinstance(session, Running)
            return session.name, session.path, id
        origin = recording.joined.origins.get(str(id))
        if origin is None:
            return None
        source, its_id = origin
        found = (each for each in session.sessions if each.name == source.name)
        return next(((each.name, each.path, its_id) for each in found), None)

    async def _cancel(self, id_: RequestId, reason: str) -> None:
        # This waits for another process, which may be stopped or busy, so it runs in a thread.
        target = self._target(id_)
        answer = None if target is None else await asyncio.to_thread(cancel, *target, reason)
        request = brief(str(id_), 40)
        if answer is None:
            self._show_message(words("The session has ended"))
        elif isinstance(answer, Unknown):
            self._show_message(safe("Session {} {}", answer.name, answer.why))
        elif answer.over:
            self._show_message(safe("Request {} was over already – nothing was sent", request))
        elif answer.unknown:
            self._show_message(safe("Request {} is not known there", request))
        elif answer.refused or answer.unsent:
            self._show_message(safe("Request {}: {}", request, brief(answer.refused or answer.unsent, 200)))

    def look_for_more(self) -> list[RecordedSource]:
        """Looks for more sessions of the same client; returns their recordings. It waits for all running sessions."""
        client, recording = self._session, self._scene.replay
        if isinstance(client, Running) or not isinstance(recording, ClientRecording):
            return []
        now = next((each for each in by_client(sessions()[0]) if each.process == client.process), None)
        # A recording that is renamed while this looks cannot be opened, and has another path at the next look.
        if now is None or _recordings(now) == _recordings(client):
            return []
        self._session = now
        return sources(now, recording.joined.sources)


# -- all sessions of a client ----------------------------------------------------------------------------------


def sources(client: RunningClient, known: Sequence[RecordedSource] = ()) -> list[RecordedSource]:
    """Opens the recordings of a client that are not ``known``, of running and of ended sessions. Unreadable ones are left
    out.
    """
    found: list[RecordedSource] = []
    opened = {str(each.path) for each in known}
    began = {_begin(each.header) for each in known}

    def add(name: str, server: str, path: Path) -> None:
        try:
            made = RecordedSource(name, server, path)
        except OSError:
            return
        # A recorder that replaced another one also has its open requests.
        if str(path) in opened or _begin(made.header) in began:
            made.file.close()
            return
        opened.add(str(path))
        began.add(_begin(made.header))
        found.append(made)

    for each in client.sessions:
        if each.summary.recording:
            add(each.name, each.summary.server, Path(each.summary.recording))
    names = {each.name for each in (*known, *found)}
    for journal in journals(journal_folder()) if client.process[1] else ():
        header = read_header(journal.paths[0])
        if (header.get("client_pid"), header.get("client_started")) == client.process:
            id_ = as_text(header.get("id"))
            name = next((id_[:length] for length in (4, 6, 8) if id_[:length] not in names), id_)
            names.add(name)
            add(name, server_in(journal.name), journal.paths[0])
    return found


def _recordings(client: RunningClient) -> set[str]:
    return {each.summary.recording for each in client.sessions}


def _begin(header: dict[str, Json]) -> tuple[Json, Json]:
    # Both recorders of a tap know its begin but for the rounding of a float. Two servers may start within a millisecond.
    mono = header.get("mono")
    return header.get("target"), round(mono, 6) if isinstance(mono, float) else mono


NAMED_SERVERS: Final = 4
"""The maximum number of servers that the bar names; of more it shows the number."""


class ClientScene(RecordedScene):
    """The scene of all sessions of a client."""

    def __init__(self, recording: ClientRecording) -> None:
        self._recording = recording
        super().__init__(recording)

    def server(self) -> str:
        return " ".join(each.server for each in self._recording.joined.sources)

    def _read_connection(self) -> ServerFacts:
        every = self._recording.joined.sources
        names = list(dict.fromkeys(each.server for each in every))
        servers = join([brief(each, 40) for each in names], ", ")
        if len(names) > NAMED_SERVERS:
            servers = safe("{:,} servers", len(names))
        first = self.replay.event(self.replay.table.connection[0]) if self.replay.table.connection else None
        revisions = {each.revision for each in every} - {""}
        connected = isinstance(first, ev.Connected) and self.requests.position > 0
        return ServerFacts(
            link=Link.LOST if self.requests.over else Link.CONNECTED if connected else Link.CONNECTING,
            name=safe("{} → {}", brief(self._recording.name, 60), servers),
            transport=words("stdio"),
            revision=brief(revisions.pop(), 20) if len(revisions) == 1 else words(""),
            detail=words("the client has ended") if self.requests.over else words(""),
            up=first.at if connected and first is not None else None,
        )

    def overview(self) -> list[Section]:
        rows = [
            (brief(each.name, 20), brief(f"{each.server}  {each.path}", 1000))
            for each in self._recording.joined.sources
        ]
        return [Section(words("Sessions"), fact_lines(rows, 8))]
