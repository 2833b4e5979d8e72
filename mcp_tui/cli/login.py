"""``login``, ``logout``, and ``auth list``: sign in to a server, delete sign-ins, and list them."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Final

from mcp_tui import clock
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import defaults_of
from mcp_tui.cli.output import Exit, Failure, dump, out, show
from mcp_tui.cli.target import in_force, required
from mcp_tui.client.auth.authorization import Authorization, server_key
from mcp_tui.client.auth.credential_store import Credentials, CredentialStore, StorageError
from mcp_tui.client.auth.discovery import AuthorizationError
from mcp_tui.client.auth.sign_in import LOCAL, AuthorizationRequest, is_local
from mcp_tui.client.auth.token_endpoint import (
    AUTHORIZATION_CODE,
    CLIENT_CREDENTIALS,
    JWT_BEARER,
    VARIABLE_PREFIX,
    ClientRegistration,
)
from mcp_tui.client.client_settings import HttpTarget
from mcp_tui.client.open_url import open_url
from mcp_tui.transport.base import TransportError
from mcp_tui.view.text import clean

SECRET: Final = "MCP_TUI_CLIENT_SECRET"  # noqa: S105 - the name of a variable
IDP_SECRET: Final = "MCP_TUI_IDP_CLIENT_SECRET"  # noqa: S105 - the name of a variable
_KEY_BYTES: Final = 64 * 1024


def run(name: str, given: Words) -> int:
    """Runs the command and returns the exit status.

    Raises:
        Failure: the words name no server behind a URL, nobody signed in, or nothing can be stored.
    """
    if name == "auth" and (given.words != ["list"] or given.url or given.command):
        raise Failure("auth takes one word. Use mcp-tui auth list.")
    if name != "auth" and (given.command is not None or given.words):
        raise Failure(f"{name} takes a URL or --server NAME.")
    store = CredentialStore(storage=in_force().auth.storage)
    try:
        if name == "auth":
            found = store.every()
            return show([*map(_fields, found)], _lines(found, store.place), as_json=given.options.json)
        if name == "logout":
            return _forget(store, given)
        return asyncio.run(_login(store, given, _server(given)))
    except StorageError as error:
        raise Failure(str(error)) from None


def _server(given: Words) -> HttpTarget:
    """Returns the server that the words name; the options of commands that connect have their defaults."""
    if given.url is None and given.options.server is None:
        raise Failure("No server given. Add a URL or --server NAME.")
    options = SimpleNamespace(**{**defaults_of("info"), **vars(given.options)})
    found = required(given._replace(options=options))
    if not isinstance(found, HttpTarget):
        raise Failure("Only servers behind a URL take a sign-in. A stdio server gets credentials with -e.")
    return found


# -- login -------------------------------------------------------------------------------------------------------


async def _login(store: CredentialStore, given: Words, where: HttpTarget) -> int:
    options, chosen = given.options, in_force(warns=False).auth
    if options.redirect_uri is not None and not is_local(options.redirect_uri):
        raise Failure(f"--redirect-uri must be {LOCAL}, not {options.redirect_uri!r}.")
    authorization = Authorization(
        where.url,
        store=store,
        browser=TerminalBrowser(opens=not options.no_browser),
        registration=_registration(given),
        client_url=chosen.client_url,
        scopes=tuple((options.scope or "").split()),
        redirect_uri=options.redirect_uri or "",
        usual_redirect_uri=chosen.redirect_uri,
        tls=where.tls,
    )
    authorization.listeners.append(_say)
    try:
        credentials = await authorization.sign_in()
    except TransportError as error:
        kind = Exit.UNAUTHORIZED if isinstance(error, AuthorizationError) else Exit.UNREACHABLE
        raise Failure(str(error), kind) from None
    if options.json:
        out(dump({**_fields(credentials), "stored": authorization.stored or None}))
    else:
        out(clean(f"Signed in to {credentials.server} ({_until(credentials)})."))
        if authorization.stored:
            out(clean(f"Stored in {authorization.stored}."))
    if not authorization.stored:
        problem = clean(authorization.storage_problem)
        raise Failure(f"The sign-in is not stored and ends with this command. {problem}", Exit.DEFECT)
    return Exit.COMPLETED


def _registration(given: Words) -> ClientRegistration | None:
    """Returns the client that a person registered manually.

    Raises:
        Failure: a part is missing, or a secret would be sent to any host that the server names.
    """
    options = given.options
    secret, key = os.environ.get(SECRET, "") if options.client_id else "", ""
    if options.key is not None:
        try:
            with Path(options.key).open("rb") as file:
                key = file.read(_KEY_BYTES).decode("ascii")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not PEM"
            raise Failure(f"Cannot read {options.key!r} (--key): {why}.") from None
        if not key.strip():
            raise Failure(f"The file {options.key!r} (--key) is empty.")
    if (options.idp or options.idp_client_id) and not (
        options.idp and options.assertion and options.client_id
    ):
        raise Failure("An identity provider needs --idp, --assertion, and --client-id.")
    if options.assertion and options.client_credentials:
        raise Failure("Use either --assertion or --client-credentials.")
    if options.client_id is None and not options.assertion:
        if options.client_credentials or options.key or options.issuer:
            raise Failure("--client-credentials, --key, and --issuer need --client-id.")
        return None
    if options.client_credentials and not (secret or key):
        raise Failure(f"--client-credentials needs a secret in {SECRET}, or --key.")
    if (secret or key) and not options.issuer:
        raise Failure("A secret or key needs --issuer URL, so that no server can choose who receives it.")
    assertion = options.assertion or ""
    if assertion and not assertion.startswith(VARIABLE_PREFIX):
        assertion = str(Path(assertion).absolute())
    by_itself = CLIENT_CREDENTIALS if options.client_credentials else AUTHORIZATION_CODE
    return ClientRegistration(
        client_id=options.client_id or "",
        grant=JWT_BEARER if assertion else by_itself,
        client_secret=secret,
        private_key=key,
        algorithm=options.algorithm,
        issuer=options.issuer or "",
        assertion=assertion,
        idp_issuer=options.idp or "",
        idp_client_id=options.idp_client_id or "",
        idp_client_secret=os.environ.get(IDP_SECRET, "") if options.idp else "",
    )


def _say(text: str) -> None:
    print(clean(f"· {text}"), file=sys.stderr, flush=True)


class TerminalBrowser:
    """Signs a person in from a terminal: shows the URL, opens it on enter, and accepts a pasted redirect."""

    def __init__(self, *, opens: bool) -> None:
        self._opens = opens

    async def agrees(self, why: str) -> bool:
        """Returns true: the person ran the command."""
        return True

    async def visit(self, request: AuthorizationRequest) -> str:
        """Shows the URL; enter opens it."""
        out(clean(f"Sign in at {request.host}:\n\n{request.url}\n", newlines=True), flush=True)
        if self._opens and sys.stdin.isatty():
            out("Press enter to open the URL in a browser, or open it anywhere and paste the URL")
        else:
            out("Open it in any browser, then paste the URL")
        out("that the browser ends at (it may show an error page).", flush=True)
        lines = _stdin_lines()
        while True:
            line = (await lines.get()).strip()
            if request.is_redirect(line):
                return line
            if line:
                out(f"Not the redirect URL, which begins with {request.redirect_uri}?", flush=True)
            elif self._opens and not await asyncio.to_thread(open_url, request.url):
                out("No browser can be opened here. Open the URL above yourself.", flush=True)


def _stdin_lines() -> asyncio.Queue[str]:
    """Returns a queue of the lines of stdin. A thread reads them, and nothing waits for it."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        # Unbuffered: at exit, a waiting thread would still hold the lock of a buffer, which ends the process with an
        # error.
        with suppress(OSError, RuntimeError), open(0, "rb", buffering=0, closefd=False) as stdin:
            for line in stdin:
                # The loop is already closed if the person signed in another way.
                loop.call_soon_threadsafe(queue.put_nowait, line.decode("utf-8", "replace"))

    threading.Thread(target=read, name="read the redirect", daemon=True).start()
    return queue


# -- logout and auth ---------------------------------------------------------------------------------------------


def _forget(store: CredentialStore, given: Words) -> int:
    servers = store.servers() if given.options.all else [server_key(_server(given).url)]
    left = store.remove_unfinished()
    removed = [server for server in servers if store.delete(server)]
    for server in removed:
        out(clean(f"Deleted the sign-in of {server}. The token stays valid at its server until it expires."))
    if left:
        out("Deleted what an interrupted mcp-tui left of the stored sign-ins.")
    if not removed and not left:
        raise Failure("No sign-in stored for this server. mcp-tui auth list shows them.")
    return Exit.COMPLETED


def _lines(found: list[Credentials], place: str) -> Iterator[str]:
    if not found:
        yield "No sign-ins stored. Sign in with mcp-tui login URL."
        return
    for each in found:
        yield clean(each.server)
        for label, value in (
            ("issuer", each.issuer),
            ("resource", each.resource if each.resource != each.server else ""),
            ("client", each.registration.client_id),
            ("redirect", each.registration.redirect_uri),
            ("JWT from", each.registration.assertion),
            ("scopes", " ".join(each.token.scopes)),
            ("token", _until(each)),
        ):
            if value:
                yield clean(f"  {label:<8} {value}")
    yield clean(f"Stored in {place}.")


def _until(credentials: Credentials) -> str:
    """Returns the words for the validity of a sign-in."""
    token = credentials.token
    if not token.expires_at:
        text = "no expiry given"
    elif token.expires_at <= clock.wall():
        text = f"expired {clock.local_stamp(token.expires_at)}"
    else:
        text = f"valid until {clock.local_stamp(token.expires_at)}"
    renews = ", renews automatically" if credentials.renews else ""
    if token.refused and not renews:
        renews = f", renewal refused ({token.refused})"
    return f"{text}{renews}{', bound to a key (DPoP)' if token.proof_key else ''}"


def _fields(credentials: Credentials) -> dict[str, object]:
    token = credentials.token
    return {
        "server": credentials.server,
        "issuer": credentials.issuer,
        "resource": credentials.resource,
        "client_id": credentials.registration.client_id,
        "redirect_uri": credentials.registration.redirect_uri or None,
        "grant": credentials.registration.grant,
        "scopes": list(token.scopes),
        "expires_at": clock.utc_stamp(token.expires_at) if token.expires_at else None,
        "renews": credentials.renews,
        "renewal_refused": token.refused or None,
        "bound": bool(token.proof_key),
    }
