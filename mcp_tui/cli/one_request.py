"""``call``, ``request``, ``read``, ``prompt``: send one request, and listen beyond its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_tui.cli import reports, target
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.printer import outcome, outcome_state, summary
from mcp_tui.cli.result_text import print_result
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client import Client
from mcp_tui.client.arguments import ArgumentError, check_arguments, typed_arguments
from mcp_tui.client.catalogue import ListFailed, every, offers
from mcp_tui.client.client import DEFAULT_REASON, SHUTDOWN_REASON, SHUTDOWN_SECONDS, is_leaving
from mcp_tui.client.parameters import schema_of, template_schema, usage
from mcp_tui.client.results import needs_handshake, violation
from mcp_tui.client.uri_templates import TemplateError, expand
from mcp_tui.client.url_required import required_urls, shown_origin
from mcp_tui.config.files import guess
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.error_codes import URL_REQUIRED
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, as_text, texts_in
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE, UNCANCELLABLE
from mcp_tui.transport.base import NO_ANSWER
from mcp_tui.transport.suspension import Alarm, Limit
from mcp_tui.transport.unreachable import sentence

if TYPE_CHECKING:
    from mcp_tui.config.saved import SavedCall

SIMILAR_NAMES: Final = 1000
SIMILAR_NAME_CHARACTERS: Final = 128
"""The limits of the search for a similar name: the number of tools, and the characters of a name."""

UNANSWERABLE: Final = (
    "mcp-tui: Only the workbench can answer questions. Open the server without a subcommand."
)

URL_CHARACTERS: Final = 1000
"""The maximum number of characters of a URL, and of its message, that are shown."""

OLDER_PROTOCOL: Final = (
    f"mcp-tui: This tool needs an older protocol version. Try --protocol {LATEST_HANDSHAKE.name}."
)

LINGER_SECONDS: Final = 1.0
"""Seconds for which a command keeps listening after a cancel or timeout, without ``--linger``."""


def run(name: str, given: Words) -> int:
    """Runs the command; returns the exit status."""
    call: SavedCall | None = None
    if name == "call" and given.options.saved is not None:
        call, given = target.recall(given)
    reports.refuse_files(given, "output")
    wanted = _WantedRequest(name, given, call)
    linger = given.options.linger
    grace = LINGER_SECONDS if linger is None else linger
    return sessions.run(given, lambda session: _watch(session, wanted), grace=grace, events=True)


_METHOD_OF_COMMAND: Final = {"call": "tools/call", "read": "resources/read", "prompt": "prompts/get"}


class _WantedRequest:
    """The request of the command line, checked as far as that is possible without a server."""

    def __init__(self, name: str, given: Words, call: SavedCall | None = None) -> None:
        self.command = name
        options = (getattr(given.options, each, None) for each in ("args", "params", "reason"))
        for word in (*given.words, *map("=".join, given.pairs), *options):
            # Bytes that are not text are decoded as lone surrogates.
            if word is not None and any("\ud800" <= each <= "\udfff" for each in word):
                raise Failure(f"{word!r} is not valid UTF-8. JSON needs UTF-8.")
        self.subject = given.words[0] if call is None else call.tool
        self.method = _METHOD_OF_COMMAND.get(name, self.subject)
        if name == "request" and self.subject in UNCANCELLABLE and given.options.cancel_after is not None:
            raise Failure(f"{self.subject} must not be cancelled. Leave --cancel-after out.")
        self.pairs = given.pairs
        option = "params" if name == "request" else "args"
        source = getattr(given.options, option, None)
        self.given = None if source is None else sessions.read_object(source, f"--{option}")
        if call is not None:
            self.given = {**call.arguments, **(self.given or {})}

    @property
    def lists(self) -> str:
        """The list in which the server describes the tool, prompt, or template; empty if no list is needed."""
        if self.command == "read" and not self.pairs and "{" not in self.subject:
            return ""
        return {"call": "tools", "prompt": "prompts", "read": "templates"}.get(self.command, "")

    def params(self, entry: dict[str, Json]) -> Json:
        """Returns the params of the request. ``entry`` is the tool, prompt, or template in the server's list, or empty.

        Raises:
            ArgumentError: the arguments do not fit.
        """
        match self.command:
            case "request":
                return self.given
            case "read":
                return {"uri": self._uri(entry)}
            case "prompt":
                schema = (
                    schema_of("prompts", entry) if entry else {"additionalProperties": {"type": "string"}}
                )
                given = typed_arguments(schema, self.pairs, self.given)
                other = [key for key, value in given.items() if not isinstance(value, str)]
                _check_names(schema if entry else {}, given, [f"{key!r} must be text" for key in other])
                return {"name": self.subject, "arguments": given}
            case _:
                schema = entry.get("inputSchema")
                arguments = typed_arguments(schema, self.pairs, self.given)
                wrong = check_arguments(schema, arguments)
                if wrong:
                    raise ArgumentError(wrong)
                return {"name": self.subject, "arguments": arguments}

    def _uri(self, entry: dict[str, Json]) -> str:
        """Returns the URI to read: unchanged, or made from a template that was given or named."""
        if not self.pairs and not entry:
            return self.subject
        if not entry and "{" not in self.subject:
            raise ArgumentError("not a URI template, and the server lists none of this name")
        template = as_text(entry.get("uriTemplate")) or self.subject
        values: dict[str, list[str]] = {}
        for name, text in self.pairs:
            values.setdefault(name, []).append(text)
        try:
            _check_names(template_schema(template), values)
            return expand(template, values)
        except TemplateError as error:
            raise ArgumentError(str(error)) from None


def _check_names(schema: dict[str, Json], given: Collection[str], wrong: Sequence[str] = ()) -> None:
    """Checks the names of arguments.

    Raises:
        ArgumentError: required ones are missing, some do not exist, or others are ``wrong``.
    """
    unknown = [name for name in given if schema and name not in as_object(schema["properties"])]
    missing = [name for name in texts_in(schema.get("required")) if name not in given]
    found = [
        *wrong,
        *(f"unknown argument {name!r}" for name in unknown),
        *(f"{name} is required" for name in missing),
    ]
    if found:
        takes = f". It takes {usage(schema) or 'no arguments'}" if unknown or missing else ""
        raise ArgumentError(f"{'; '.join(found)}{takes}")


async def _definition(session: HeadlessSession, wanted: _WantedRequest) -> dict[str, Json]:
    """Returns the tool, prompt, or resource template in the server's list; empty if it is not listed.

    Raises:
        Failure: the named template cannot be looked up.
    """
    what = wanted.lists
    if not what or not offers(session.requester, what):
        return {}
    try:
        entries = await every(session.requester, what)
    except ListFailed as failed:
        if what != "templates":
            doing = "Calling the tool" if what == "tools" else "Getting the prompt"
            session.printer.say(f"mcp-tui: {sentence(str(failed))} {doing} without its definition.")
        elif "{" not in wanted.subject:
            raise Failure(f"Template {wanted.subject!r} not found: {failed}.", Exit.SERVER_ERROR) from None
        return {}
    for entry in entries:
        if wanted.subject in (entry.get("name"), entry.get("uriTemplate")):
            return entry
    if what != "templates":
        # Servers may know more names than they list.
        names = [name for entry in entries[:SIMILAR_NAMES] if isinstance(name := entry.get("name"), str)]
        comparable = [each for each in names if len(each) <= SIMILAR_NAME_CHARACTERS]
        kind, doing = ("tool", "calling") if what == "tools" else ("prompt", "getting")
        text = f"mcp-tui: The server does not list a {kind} {wanted.subject!r} ({doing} it anyway)."
        session.printer.say(f"{text}{guess(wanted.subject, comparable)}")
    return {}


async def _watch(session: HeadlessSession, wanted: _WantedRequest) -> int:
    client = session.requester
    entry = await _definition(session, wanted)
    try:
        params = wanted.params(entry)
    except ArgumentError as error:
        way = " Use NAME=VALUE, or give all at once with --args JSON." if wanted.command == "call" else ""
        raise Failure(f"Invalid arguments for {wanted.subject!r}: {error}.{way}") from None
    named = as_object(params).get("name") if wanted.method == "tools/call" else ""
    limits = target.limits(session.given, str(named or ""), server=client.target.name)
    row = await client.begin(wanted.method, params, limits=limits)
    watch = _CallWatch(session, row)
    session.outcome = partial(_end, session, row, None)
    frame = await client.wait(row.id)
    if row.state is State.LOST:
        frame = None
    result = None if frame is None else frame.result  # once: a large result is parsed each time
    if frame is not None and frame.error is None:
        broken = violation(row, entry.get("outputSchema"), result, client.now())
        if broken is not None:
            client.report(broken)
    await watch.linger()
    session.outcome = None
    return _end(session, row, frame, result)


class _CallWatch:
    """Cancels the request ``--cancel-after`` seconds after it was written, and keeps listening."""

    def __init__(self, session: HeadlessSession, row: Request) -> None:
        self.row = row
        self.client = session.requester
        self.options = session.given.options
        self.reason = self.options.reason or DEFAULT_REASON
        self.timer: Alarm | None = None
        self.enough = asyncio.Event()
        """Set to stop listening: at a signal with nothing left to cancel, or when the connection ended."""
        self.client.listen(self._on_event)
        session.wind_down = self._stop
        # The request may be written already: an idle pipe accepts it during the call.
        if row.sent_at is not None:
            self._arm()

    def _on_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.Sent) and event.id == self.row.id:
            self._arm()
        elif isinstance(event, ev.Disconnected):
            self.enough.set()

    def _arm(self) -> None:
        after = self.options.cancel_after
        if after is not None and self.timer is None:
            self.timer = Alarm(asyncio.get_running_loop().time() + after, self._cancel)

    def _cancel(self) -> None:
        self.client.cancel(self.row.id, ev.Cause.USER, self.reason, leave=True)

    def _stop(self, status: Exit) -> None:
        """Cancels because of a signal, and lingers as after any cancel. Another signal ends the lingering."""
        if status is Exit.INTERRUPTED:
            reason, over = self.options.reason or "interrupted", {CancelOutcome.ALREADY_DONE}
            done = self.client.cancel(self.row.id, ev.Cause.USER, reason, leave=True)
        else:
            # SIGKILL usually follows SIGTERM soon, so a lingering command prints its outcome now.
            over = {CancelOutcome.ALREADY_DONE, CancelOutcome.ALREADY_REQUESTED}
            done = self.client.cancel(self.row.id, ev.Cause.SHUTDOWN, SHUTDOWN_REASON)
        if done in over:
            self.enough.set()

    async def linger(self) -> None:
        """Listens until the cancel was sent (at most two seconds), and then for the time of ``--linger``."""
        row = self.row
        if self.timer is not None:
            self.timer.cancel()
        until = self.client.now() + SHUTDOWN_SECONDS
        while is_leaving(row) and self.client.now() < until:  # noqa: ASYNC110 - two seconds at most
            await asyncio.sleep(0.005)
        seconds = self.options.linger
        if seconds is None:
            seconds = 0.0 if row.cause is None else LINGER_SECONDS
        if seconds > 0:
            # Counted from the signal: at the end of that time the row is settled as well.
            since = row.signalled_at if row.signalled_at is not None else self.client.now()
            with contextlib.suppress(TimeoutError):
                async with Limit(max(0.0, since + seconds - self.client.now())):
                    await self.enough.wait()
        await self.client.handle_what_is_due(row)


def _end(session: HeadlessSession, row: Request, frame: ResponseFrame | None, result: Json = None) -> int:
    printer, now = session.printer, session.requester.now()
    printer.end()
    session.requester.stop_watching(now)  # the recording must agree with the outcome
    if row.state is State.COMPLETED:
        output = None if row.is_error else session.given.options.output
        print_result(printer, result, output, is_read=row.method == "resources/read" and not row.is_error)
    if printer.json:
        data = frame.error.data if frame is not None and frame.error is not None else None
        printer.line(outcome(row, now, result, data), now)
    else:
        printer.say(summary(row, now))
        if row.state is State.FAILED and row.rule == "unsupported" and row.asks:
            printer.say(UNANSWERABLE)
        info = session.requester.info
        if info is not None and needs_handshake(row, info.revision):
            printer.say(OLDER_PROTOCOL)
        if row.code == URL_REQUIRED and frame is not None and frame.error is not None:
            for each in required_urls(frame.error.data):
                for text in _url_lines(as_text(each.get("url")), as_text(each.get("message"))):
                    printer.say(text)
    status = report_status(session, row)
    strict = getattr(session.given.options, "strict", False) and status is Exit.COMPLETED
    return Exit.BROKEN_RULE if strict and printer.warned else status


def _url_lines(url: str, message: str) -> Iterator[str]:
    """Yields lines about a URL that the server asks a person to open first."""
    origin = shown_origin(url)
    does = (
        f"Open this URL of {origin}, then run the command again"
        if origin
        else "Do not open this URL, it is not plain"
    )
    yield f"mcp-tui: {does}: {url[:URL_CHARACTERS]}"
    if message:
        yield f"  The server says: {message[:URL_CHARACTERS]}"


def report_status(session: HeadlessSession, row: Request) -> Exit:
    """Returns :func:`status_of`, and prints advice about missing authorization."""
    status = status_of(session, row)
    if hint := sign_in_hint(session, row, status):
        session.printer.say(f"mcp-tui: {hint}")
    return status


def sign_in_hint(session: HeadlessSession, row: Request, status: Exit) -> str:
    """Returns advice about missing authorization; empty for programs, and if there is none."""
    own = isinstance(session.requester, Client)  # with --session, the workbench signs in
    if status is not Exit.UNAUTHORIZED or not own or session.printer.json:
        return ""
    challenge = session.requester.refusals[row.id].challenge
    return sessions.token_hint(session.requester.target, challenge, row.error)


def status_of(session: HeadlessSession, row: Request) -> Exit:
    """Returns the exit status of a request that ended."""
    if session.requester.refusals.get(row.id, NO_ANSWER).status in (401, 403):
        return Exit.UNAUTHORIZED
    state = outcome_state(row)
    return Exit.COMPLETED if state == "completed" and not row.is_error else _EXIT_OF_STATE[state]


_EXIT_OF_STATE: Final = {
    "completed": Exit.SERVER_ERROR,
    "failed": Exit.SERVER_ERROR,
    "timed_out": Exit.TIMED_OUT,
    "cancelled": Exit.CANCELLED,
    "lost": Exit.LOST,
}
"""The exit status of each outcome; a completed call has one only if the tool reports an error."""
