"""The session of a headless command: a client, its printer, its signals, and its exit status.

The first ctrl+c lets the command wind down (cancel, linger); the second exits at once. SIGTERM and SIGQUIT also wind
down, and so does SIGHUP, when the terminal closes or its connection is lost, unless ``nohup`` ignores it. The exit
status is that of a shell for the first signal. However a command ends, requests in flight are cancelled and the
server is terminated.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.cli import defect
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.printer import Printer, uncalled
from mcp_tui.cli.target import in_force, required, settings
from mcp_tui.client import Client, session_store
from mcp_tui.client.client import SHUTDOWN_REASON, SHUTDOWN_SECONDS
from mcp_tui.client.client_port import Requester
from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.client.connecting import downloading
from mcp_tui.journal.masks import mask_url
from mcp_tui.journal.store import Store
from mcp_tui.live.serving import ClientControlSocket
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.events import CancelDelayed, Cause, Event, Note, ProcessesEnded, RequestEvent, Violation
from mcp_tui.protocol.evidence import waits_to_cancel
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.base import TransportError, Unauthorized, spawn
from mcp_tui.transport.unreachable import readable

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization
    from mcp_tui.transport.base import Challenge

INSECURE: Final = (
    "TLS verification is off (--insecure). Anyone on the network path can read and change all traffic."
)
Body = Callable[["HeadlessSession"], Awaitable[int]]

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that end a command."""

LAUNCHER_LOOK_SECONDS: Final = 0.5
"""The number of seconds between two checks of a launcher."""

STDIN_UNREAD: Final = (
    "mcp-tui: The server does not read its stdin, so the cancel cannot be sent. "
    "The server is terminated when this command ends."
)


class Headless:
    """A command that works on a server, with its printer and its signals. It must be created in the task of the command.

    ``began`` is the start of the command. ``wind_down`` is called at the first signal; without it the task is
    cancelled.
    """

    def __init__(self, given: Words, where: Target, began: float) -> None:
        self.given = given
        self.began = began
        self.insecure = isinstance(where, HttpTarget) and where.insecure
        self.stopped: Exit | None = None
        self.wind_down: Callable[[Exit], None] | None = None
        self.printer = Printer(as_json=given.options.json, began=began, closed=self.stop)
        self._said: set[str] = set()
        self._task: asyncio.Task[Any] | None = asyncio.current_task()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(defect.report_beside)
        for number in ENDING:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self.stop, Exit(128 + number))
        if self.insecure:
            self.printer.say(INSECURE, red=True)
        if isinstance(where, HttpTarget) and where.headers:
            # This loads an HTTP library, which only a server behind a URL needs.
            from mcp_tui.transport.http_client import ignored_headers

            for name in ignored_headers(where.headers):
                self.printer.say(f"mcp-tui: Header {name!r} is ignored: the protocol sets it.")

    def stop(self, status: Exit) -> None:
        """Handles a signal, or a closed stdout."""
        if self.stopped is not None and status is Exit.INTERRUPTED:
            with contextlib.suppress(Exception):
                self.last_words()
            # the guard ends the server as soon as this process exits
            os._exit(self.stopped)
        self.stopped = self.stopped or status
        self.printer.streams.hurry()
        if self.wind_down is not None and status not in (Exit.STDOUT_CLOSED, Exit.DEFECT):
            self.wind_down(status)
        elif self._task is not None:
            self._task.cancel()

    def last_words(self) -> None:
        """Prints the outcome so far, before a second ctrl+c ends the process."""

    def opened(self, store: Store) -> None:
        """Prints the notes in the log of a new store once, such as a missing journal."""
        for text in notes_in(store):
            if text not in self._said:
                self._said.add(text)
                self.printer.say(f"mcp-tui: {text}")
        if self.insecure:
            store.event(Note(at=time.monotonic(), text="TLS verification is off (--insecure)"))

    async def finish(self) -> None:
        """Protects the closing of the connection from being cut short."""
        self._task = None
        # The last line may have found stdout closed, which cancels this task: that must arrive here, not in the
        # closing.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    async def end(self) -> None:
        """Waits until all output is read."""
        if not await self.printer.streams.drained():
            # nobody reads the output, and at its exit Python would wait too
            os._exit(self.stopped or Exit.INTERRUPTED)


class HeadlessSession(Headless):
    """A command with one client. ``outcome`` prints the current outcome of its request."""

    def __init__(self, given: Words, began: float, requester: Requester) -> None:
        super().__init__(given, requester.target, began)
        self.requester = requester
        self.outcome: Callable[[], object] | None = None
        self._unread = False

    @property
    def client(self) -> Client:
        """The client; only for a command that cannot use the connection of another session."""
        assert isinstance(self.requester, Client)
        return self.requester

    def last_words(self) -> None:
        if self.outcome is not None:
            self.outcome()
        self.printer.end()
        self.requester.lost("closed", expected=True)  # nobody keeps listening, and the recording must say so
        self.requester.store.flush()
        self.printer.streams.flush(SHUTDOWN_SECONDS)

    def uncalled(self) -> None:
        """Prints the outcome of a command that was interrupted before it called."""
        self.outcome = None
        by_person = self.stopped is Exit.INTERRUPTED
        made = uncalled(Cause.USER, "interrupted") if by_person else uncalled(Cause.SHUTDOWN, SHUTDOWN_REASON)
        self.printer.line(made, self.requester.now())
        self.printer.end()

    async def connect(self) -> None:
        """Connects. Meanwhile the terminal shows that a launcher may be downloading, and its last line.

        Raises:
            TransportError: there is no session.
        """
        shows = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not self.printer.json
        own = isinstance(self.requester, Client)
        shown = spawn(self._show_launcher(), name="show the launcher") if shows and own else None
        try:
            await self.requester.connect()
        finally:
            if shown is not None:
                shown.cancel()
                self.printer.status("")

    async def _show_launcher(self) -> None:
        client, limit = self.client, self.client.settings.connect_timeout
        while True:
            await asyncio.sleep(LAUNCHER_LOOK_SECONDS)
            if (name := downloading(client)) and client.steps:
                lasts = client.now() - client.steps[0].at
                text = f"{name} may still be downloading ({lasts:.0f} s of {limit:g} s)"
                newest = client.stderr.newest
                self.printer.status(f"{text}: {newest}" if newest else text)

    def report(self, event: Event) -> None:
        """Prints an event."""
        row = self.requester.requests.get(event.id) if isinstance(event, RequestEvent) else None
        self.printer.event(event, row)

    def warn(self, event: Event) -> None:
        """Reports a limitation that the JSON value does not show, such as a truncated list."""
        if isinstance(event, Violation):
            self.printer.report(event)

    def ended(self, event: Event) -> None:
        """Reports processes that the server left running, even after the outcome: they are ended last."""
        if isinstance(event, ProcessesEnded):
            self.printer.say(f"mcp-tui: {describe(event).words(event)}.")

    def on_event(self, event: Event) -> None:
        """Reports at once that the server does not read its stdin."""
        if isinstance(event, CancelDelayed):
            self.report_unread(waits_to_cancel)

    def report_unread(self, waits: Callable[[Request], bool]) -> None:
        """Reports once that a cancel could not be written."""
        requester = self.requester
        rows = requester.requests.unfinished.values() if isinstance(requester.target, StdioTarget) else ()
        if not self._unread and any(map(waits, rows)):
            self._unread = True
            self.printer.say(STDIN_UNREAD)


def run(given: Words, body: Body, *, grace: float | None = None, events: bool = False) -> int:
    """Connects, runs ``body``, and closes; returns the exit status.

    ``events``: ``--json`` prints every event from the start; otherwise it prints only the output of ``body``.

    Raises:
        Failure: the words name no server, or there is no session.
    """
    began = time.monotonic()
    if getattr(given.options, "session", None) is not None:
        # Few commands need another session, and this loads what asks all of them.
        from mcp_tui.cli.running_sessions import shared_client

        return asyncio.run(_run(given, shared_client(given), body, began, events=events))
    where = required(given)

    def made() -> Client:
        store = open_store(given, where)
        return Client(where, settings(given, grace=grace), store=store, tokens=tokens_for(where, store))

    return asyncio.run(_run(given, made, body, began, events=events))


async def _run(given: Words, made: Callable[[], Requester], body: Body, began: float, *, events: bool) -> int:
    client = made()
    store = client.store
    session = HeadlessSession(given, began, client)
    printer = session.printer
    session.opened(store)
    control_socket = (
        ClientControlSocket(client, "call", may=is_reachable(given)) if isinstance(client, Client) else None
    )
    client.listen(session.ended)
    try:
        if printer.json and events:
            client.listen(session.report)
            # The last line of --json is an outcome, even if a signal arrives before the call.
            session.outcome = session.uncalled
        await session.connect()
        # A person sees the events after connecting. Programs asked for all events.
        if not printer.json:
            client.listen(session.report)
        elif not events:
            client.listen(session.warn)
        client.listen(session.on_event)
        status = await body(session)
    except asyncio.CancelledError:
        status = session.stopped or Exit.INTERRUPTED
        if session.outcome == session.uncalled:
            session.uncalled()
    except TransportError as error:
        raise failure(error, client.target) from None
    finally:
        # The order matters. From here on no signal cuts the closing short. The control socket closes before the
        # connection that it uses. The store closes after the client, whose closing it still records, and only then
        # knows its problems.
        await session.finish()
        session.report_unread(lambda row: _unwritten(row, client.now()))
        if control_socket is not None:
            control_socket.close()
        await client.close()
        store.close()
        for problem in store.problems:
            printer.say(problem)
        await session.end()
    return session.stopped or status


def is_reachable(given: Words) -> bool:
    """Whether other processes of this user may see the session and act on it."""
    return in_force(warns=False).reachable and not given.options.no_journal


def failure(error: TransportError, where: Target) -> Failure:
    """Returns the message and the exit status for a session that could not be opened."""
    if isinstance(error, Unauthorized):
        return Failure(
            f"{error} {token_hint(where, error.challenge, f'{error}')}".rstrip(), Exit.UNAUTHORIZED
        )
    return Failure(str(error), Exit.UNREACHABLE, error.stderr)


def _unwritten(row: Request, now: float) -> bool:
    """Whether the cancel of a request is still unwritten after a second, although nothing else delays it."""
    if row.as_task and not row.task_id:
        return False  # C-80: it waits for the task's id, regardless of the pipe
    since = now if row.cancel_at is None else row.cancel_at
    return row.state is State.CANCEL_REQUESTED and row.signal is None and now - since > SHUTDOWN_SECONDS / 2


def token_hint(where: Target, challenge: Challenge | None, said: str = "") -> str:
    """Returns advice about a server that refused with this challenge; empty if ``said`` contains it already."""
    # These load an HTTP library, which is loaded already if a server behind a URL has refused.
    from mcp_tui.client.auth.discovery import HEADER_OPTION, token_challenge
    from mcp_tui.transport.addresses import parse

    found = None if challenge is None else token_challenge(challenge)
    if HEADER_OPTION in said:
        return ""
    sent = "" if challenge is None else challenge.sent.access
    denied = challenge is not None and challenge.status == 403 and found is None
    if isinstance(where, HttpTarget):
        if any(name.lower() == "authorization" for name in where.headers):
            return f"The given Authorization header {'gives no access' if denied else 'was not accepted'}."
        if parse(where.url).authorization:
            return f"The user and password in the URL {'give no access' if denied else 'were not accepted'}."
    if denied and sent:
        return "The token gives no access to this, so another sign-in does not help. Ask the server's operator for access."
    if challenge is not None and challenge.status == 401 and found is None:
        return "Put a user and a password in the URL: https://USER:PASSWORD@HOST/PATH"
    way = f"Run {login_command(where)}"
    if challenge is not None and found is not None and found.wants_scopes:
        granted, wanted = challenge.sent.scopes, " ".join(found.scopes)
        if not wanted:
            return f"The server does not say which scopes are missing. {way} --scope SCOPES with those that you need."
        if set(found.scopes) <= set(granted):
            asked = f"The last sign-in asked for {readable(wanted)} already, so another one may not help"
            return f"{asked}. Ask the server's operator for access."
        # The granted scopes with the missing ones: a sign-in for only the latter would lose the former, again and
        # again.
        way += f" --scope {shlex.quote(' '.join(dict.fromkeys((*granted, *found.scopes))))}"
    if found is None or not found.bound:
        way += f", or {HEADER_OPTION}"
    return f"{way}."


def login_command(where: Target) -> str:
    """Returns the command that signs in to a server, without a URL that may contain a secret."""
    if where.name:
        return f"mcp-tui login --server {shlex.quote(where.name)}"
    if not isinstance(where, HttpTarget):
        return "mcp-tui login URL"
    files = {"--client-cert": where.client_cert, "--client-key": where.client_key}
    options = [word for option, file in files.items() if file for word in (option, file)]
    url = where.url if mask_url(where.url) == where.url else "URL"
    return shlex.join(["mcp-tui", "login", *options, url])


def tokens_for(where: Target, store: Store | None = None) -> Authorization | None:
    """Returns the authorization for a server behind a URL, unless credentials were given; ``store`` logs its steps."""
    if not isinstance(where, HttpTarget) or any(name.lower() == "authorization" for name in where.headers):
        return None
    # This loads the HTTP library.
    from mcp_tui.client.auth.authorization import Authorization
    from mcp_tui.client.auth.credential_store import CredentialStore
    from mcp_tui.transport.addresses import parse

    if parse(where.url).authorization is not None:
        return None
    chosen = in_force(warns=False).auth
    made = Authorization(
        where.url,
        store=CredentialStore(storage=chosen.storage),
        client_url=chosen.client_url,
        usual_redirect_uri=chosen.redirect_uri,
        tls=where.tls,
    )
    if store is not None:

        def report(text: str) -> None:
            store.event(Note(at=time.monotonic(), text=f"authorization: {text}"))

        made.listeners.append(report)
        made.share_secrets(store.learn)
    return made


def notes_in(store: Store) -> list[str]:
    """Returns the notes in a log; a new store says there why it has no journal, or which file has the recording."""
    return [event.text for event in store.log if isinstance(event, Note)]


def open_store(given: Words, where: Target, *, beside: str = "", purpose: str = "") -> Store:
    """Returns the store of a session, with its journal and its recording.

    ``beside`` is added to the name of the recording's file if a command makes several. ``purpose`` goes into the
    header of the recording.

    Raises:
        RecordingError: the recording's file cannot be written.
    """
    options = given.options
    journal = in_force(warns=False).journal
    record = options.record
    if options.keep_secrets and not record:
        raise Failure("--keep-secrets is about a recording. Add --record FILE.")
    if record and beside:
        path = Path(record)
        record = str(path.parent / f"{path.stem}-{beside}{path.suffix}")
    store = session_store.open_store(
        where,
        journal=journal.keep and not options.no_journal,
        record=record,
        keep_secrets=options.keep_secrets,
        keep_days=journal.days or None,
        keep_bytes=journal.size * 1_000_000 or None,
        purpose=purpose,
        otlp=options.otlp,
    )
    defect.remember(store)
    return store


def read_object(source: str, option: str) -> dict[str, Json]:
    """Returns the JSON object of ``JSON``, ``@FILE``, or ``-``; a file or stdin is UTF-8 in any locale.

    Raises:
        Failure: it cannot be read, stdin is closed, or it is not a JSON object.
    """
    # Imported late: only for --args.
    from mcp_tui.client.schemas import parse_json

    text = source
    try:
        if source == "-":
            if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, when it was closed before
                raise Failure(f"Cannot read {option} from stdin: stdin is closed.")
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        elif source.startswith("@"):
            text = Path(source[1:]).read_text(encoding="utf-8-sig")
        value = parse_json(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise Failure(f"Cannot read {source!r} ({option}): {reason}.") from None
    except ValueError as error:
        raise Failure(f"{option} is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Failure(f"{option} must be a JSON object.")
    return as_object(value)
