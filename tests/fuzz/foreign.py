"""Targets that read sign-ins, headers, and files that others may have written: what is not sound is refused or ignored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import httpx

from mcp_tui import clock
from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.client.auth.credential_store import Credentials, CredentialStore
from mcp_tui.client.auth.discovery import AuthorizationServer, Discovery, TokenChallenge, token_challenge
from mcp_tui.client.auth.sign_in import AuthorizationRequest, code_of_response
from mcp_tui.client.auth.token_endpoint import ClientRegistration, Token, TokenEndpoint
from mcp_tui.config import saved
from mcp_tui.journal import index
from mcp_tui.protocol import messages
from mcp_tui.protocol.framing import header_fault
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import Challenge, TransportError
from mcp_tui.transport.http_cookies import Cookies
from mcp_tui.transport.http_fetch import Fetched
from tests.fuzz.target import Target

SERVER = "https://server.example/mcp"
ISSUER = "https://as.example"
REDIRECT = "http://127.0.0.1:9/callback"
TOKEN = b'{"access_token":"a1b2","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"a b"}'
SERVER_METADATA = json.dumps(
    {"resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": ["a"]}
)
METADATA = json.dumps(
    {
        "issuer": ISSUER, "token_endpoint": f"{ISSUER}/token", "authorization_endpoint": f"{ISSUER}/authorize",
        "registration_endpoint": f"{ISSUER}/register", "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
    }
)  # fmt: skip
CLIENT = b'{"client_id":"me","client_secret":"s","redirect_uris":["http://127.0.0.1:9/callback"],"token_endpoint_auth_method":"none"}'


class Saying(Discovery):
    """Gets one answer to whatever it asks."""

    def __init__(self, body: bytes) -> None:
        super().__init__(parse(SERVER), lambda _: None)
        self._body = body

    async def fetched(self, url: str, body: bytes | None, headers: Mapping[str, str]) -> Fetched:
        return Fetched(200, {}, self._body)


def sign_in_answers(data: bytes) -> None:
    """Each answer of a server in a sign-in, in each place where one is read."""

    async def read() -> None:
        saying = Saying(data)
        with suppress(TransportError):
            await saying.resource(TokenChallenge())
        metadata = {**json.loads(METADATA)}
        with suppress(TransportError):
            metadata = (await saying.authorization_server(ISSUER, legacy=False)).metadata
        with suppress(TransportError):
            resource = await Saying(SERVER_METADATA.encode()).resource(TokenChallenge())
            endpoint = TokenEndpoint(saying, AuthorizationServer(ISSUER, metadata), resource)
            with suppress(TransportError):
                await endpoint.register(REDIRECT)
            token = await endpoint.refresh(ClientRegistration(client_id="me"), Token(refresh="r"))
            assert header_fault("Authorization", token.access) == ""
            clock.local_stamp(token.expires_at)

    asyncio.run(read())


def redirects(data: bytes) -> None:
    """A URL that a person pastes, after the beginning that is right or not."""
    text = data.decode("utf-8", "surrogateescape")
    request = AuthorizationRequest(f"{ISSUER}/authorize", REDIRECT, "state1", "verifier")
    for url in (text, f"{REDIRECT}?{text}", f"{REDIRECT}?state=state1&{text}"):
        request.is_redirect(url)
        with suppress(TransportError):
            code_of_response(AuthorizationServer(ISSUER, {}), request, url)


def headers(data: bytes) -> None:
    """Headers of responses, and those that a person gives."""
    text = data.decode("latin-1")
    token_challenge(Challenge(401, text))
    header_fault(text[:20], text)
    url, cookies = httpx.URL(SERVER), Cookies()
    cookies.take(url, httpx.Response(200, headers=[(b"Set-Cookie", data)], request=httpx.Request("GET", url)))
    assert header_fault("Cookie", cookies.header(url)) == ""


def foreign_targets(folder: Path) -> Iterator[Target]:
    """All of them; files are written to ``folder``."""
    store = CredentialStore(folder, storage="file")
    store.save(
        Credentials(
            server=SERVER,
            issuer=ISSUER,
            resource=SERVER,
            registration=ClientRegistration(client_id="me", issuer=ISSUER),
            token=Token(access="a", refresh="r", scopes=("a",), expires_at=5.0),
        )
    )

    def stored(data: bytes) -> None:
        store.path.write_bytes(data)
        for each in store.every():
            clock.utc_stamp(each.token.expires_at)
            " ".join((each.issuer, each.resource, each.registration.client_id, *each.token.scopes))
        tokens = Authorization(SERVER, store=store)
        asyncio.run(tokens.load())
        tokens.for_request("POST", SERVER)

    def calls(data: bytes) -> None:
        (folder / "calls").mkdir(exist_ok=True)
        (folder / "calls" / "one.json").write_bytes(data)
        for each in saved.load(folder / "calls")[0]:
            assert each.server.title is not None

    def sessions(data: bytes) -> None:
        place = folder / "journal"
        place.mkdir(exist_ok=True)
        (place / index.CACHE_NAME).write_bytes(data)
        index.find(index.sessions(place))

    answers = (TOKEN, SERVER_METADATA.encode(), METADATA.encode(), CLIENT)
    yield Target("sign-in-answers", sign_in_answers, answers, 20, as_json=True)
    yield Target("sign-in-bytes", sign_in_answers, answers, 5)
    yield Target("stored-sign-ins", stored, (store.path.read_bytes(),), 10, as_json=True)
    yield Target("stored-bytes", stored, (store.path.read_bytes(),), 5)
    yield Target(
        "redirects",
        redirects,
        (b"state=state1&code=c&iss=https%3A%2F%2Fas.example", b"error=access_denied&state=x"),
        40,
    )
    yield Target(
        "headers",
        headers,
        (b'Bearer scope="a b", resource_metadata="https://x/y"', b"a=b; Path=/; Secure; Max-Age=5"),
        60,
    )
    call = {
        "version": 1,
        "server": {"command": ["python", "s.py"], "env": ["A"], "url": "", "name": "n"},
        "calls": {"one": {"tool": "t", "arguments": {"a": 1}}},
    }
    yield Target("saved-calls", calls, (json.dumps(call).encode(),), 20)
    line = {
        "name": "a.jsonl",
        "path": "/x/a.jsonl",
        "written": 1.0,
        "size": 5,
        "inode": 1,
        "cancellations": [{"cause": "user", "outcomes": ["honoured"], "lags": [None]}],
    }
    kept = messages.encode(line) + b"\n"
    yield Target("index", sessions, (b"%d\n%b" % (crc32(kept), kept), b"%d\n{}" % crc32(b"{}")), 15)
