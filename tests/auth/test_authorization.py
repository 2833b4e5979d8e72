"""Signing in, step by step, and the lies of servers: each refused with a sentence, and no secret sent."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from mcp_tui.cli.session import login_command, token_hint
from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.client.auth import authorization, token_endpoint
from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.client.auth.credential_store import Credentials, CredentialStore, StorageError
from mcp_tui.client.auth.discovery import (
    HEADER_OPTION,
    AuthorizationError,
    authorization_server_urls,
    issuer_is_exact,
    resource_names_the_server,
    token_challenge,
)
from mcp_tui.client.auth.sign_in import ANY_PORT, AuthorizationRequest, RedirectListener, is_local
from mcp_tui.client.auth.token_endpoint import (
    JWT_BEARER,
    ClientRegistration,
    ProofKey,
    Token,
    claims_of,
    lifetime,
    signed_assertion,
)
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Cause, Note, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import Challenge, RequestToken, TransportError, Unauthorized
from mcp_tui.transport.http_fetch import Fetcher, address_kind
from tests.auth.lying_server import LIES, Lying, jwt_of, lying
from tests.cases import cases
from tests.servers.http_scripted import Call, HttpScript
from tests.waiting import HANG, until


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> str:
    """The redirect URI where no one chose another, of this process alone: other tests sign in at the same time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}/callback"
    for module in (authorization, token_endpoint):
        monkeypatch.setattr(module, "DEFAULT_REDIRECT", uri)
    return uri


class Person:
    """Signs in at once by a real listener, unless ``waits``; counts how often they were asked."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.willing = agrees
        self.asked = 0
        self.waits = asyncio.Event()
        self.waits.set()

    async def agrees(self, why: str) -> bool:
        self.asked += 1
        await self.waits.wait()
        return self.willing

    async def visit(self, request: AuthorizationRequest) -> str:
        async with httpx.AsyncClient(trust_env=False, verify=False) as browser:
            location = (await browser.get(request.url)).headers.get("location", "")
            if not location:
                return ""  # the page goes nowhere
            await browser.get(f"{request.redirect_uri}?code=stolen&state=guessed")
            await browser.get(location)
        return await asyncio.Event().wait() and ""  # nothing is pasted


def client_of(
    server: Lying, person: Person | None, folder: Path, **more: Any
) -> tuple[Client, Authorization]:
    store = CredentialStore(folder, storage="file")
    tokens = Authorization(server.url, store=store, browser=person, **more)
    return Client(HttpTarget(url=server.url), ClientSettings(), tokens=tokens), tokens


@asynccontextmanager
async def connected(
    server: Lying, person: Person | None, folder: Path, **more: Any
) -> AsyncGenerator[tuple[Client, Authorization]]:
    client, tokens = client_of(server, person, folder, **more)
    await client.connect()
    yield client, tokens
    await client.close()


async def refusal(server: Lying, person: Person | None, folder: Path, **more: Any) -> str:
    """The sentence with which no connection comes about."""
    client, _ = client_of(server, person, folder, **more)
    with pytest.raises(Unauthorized) as raised:
        await client.connect()
    await client.close()
    return str(raised.value)


async def answered(client: Client, method: str, params: Json = None) -> None:
    frame = await client.request(method, params)
    assert frame is not None
    assert frame.error is None


async def ended(client: Client, tool: str) -> Request:
    """The row of a call that is over."""
    id_ = client.call_tool(tool, {})
    await client.wait(id_)
    return row_of(client, id_)


def row_of(client: Client, id_: RequestId) -> Request:
    row = client.requests.get(id_)
    assert row is not None
    return row


async def test_a_server_that_wants_a_token_is_connected_to_after_one_sign_in(tmp_path: Path):
    person = Person()
    async with lying() as server:
        async with connected(server, person, tmp_path) as (client, tokens):
            await answered(client, "tools/list")
        assert server.signed_in == person.asked == 1
        assert tokens.credentials.issuer == server.issuer

        async with connected(server, None, tmp_path):  # another process has what was stored
            pass
        assert server.signed_in == 1
    assert (tmp_path / "sign-ins.json").stat().st_mode & 0o777 == 0o600


async def test_the_listener_takes_one_redirect_with_its_own_path_and_state():
    class Silent(Person):
        async def visit(self, request: AuthorizationRequest) -> str:
            shown.set()
            return await asyncio.Event().wait() and ""

    shown = asyncio.Event()
    async with (
        RedirectListener.at() as listener,
        asyncio.TaskGroup() as group,
        httpx.AsyncClient(trust_env=False, verify=False) as browser,
    ):
        uri = listener.redirect_uri
        right = f"{uri}?code=1&state=ours"
        redirect = group.create_task(listener.redirect(AuthorizationRequest("", uri, "ours", ""), Silent()))
        await shown.wait()
        many = "".join(f"&{number}=" for number in range(50))
        wrong = (f"{uri}?code=stolen&state=guessed", f"{uri}/other?code=1&state=ours", right + many)
        for url, status in [*((each, 400) for each in wrong), (right, 200), (right, 400)]:
            assert (await browser.get(url)).status_code == status
    assert redirect.result() == right


@cases(
    ("uri", "local"),
    [
        ("http://127.0.0.1:80/callback", True),
        ("http://localhost:8080", True),
        ("http://[::1]:8080/a/b", True),
        ("http://127.0.0.1/callback", False),
        ("http://127.0.0.1:0/callback", False),
        ("https://127.0.0.1:8080/", False),
        ("http://192.168.0.1:8080/", False),
        ("http://localhost.example:8080/", False),
        ("http://me@localhost:8080/", False),
        ("http://localhost:8080/?a=b", False),
        ("http://localhost:8080/#a", False),
        ("http://localhost:99999/", False),
        ("localhost:8080", False),
    ],
)
def test_a_redirect_uri_is_on_this_machine_and_has_a_port(uri: str, local: bool):
    assert is_local(uri) is local


async def free_redirect(uri: str = ANY_PORT) -> str:
    """A redirect URI whose port was free a moment ago."""
    async with RedirectListener.at([ANY_PORT]) as listener:
        return uri.replace(":0", f":{parse(listener.redirect_uri).url.port}")


@pytest.mark.parametrize("uri", ["http://localhost:0", "http://localhost:0/cb", "http://127.0.0.1:0/a/b"])
async def test_a_chosen_redirect_uri_is_sent_exactly_and_kept_with_the_client(uri: str, tmp_path: Path):
    async with lying() as server:
        store = CredentialStore(tmp_path, storage="file")
        await Authorization(server.url, store=store, browser=Person()).sign_in()
        chosen = await free_redirect(uri)
        server.redirects = {chosen}
        made = await Authorization(server.url, store=store, browser=Person(), redirect_uri=chosen).sign_in()
        again = await Authorization(server.url, store=store, browser=Person()).sign_in()
        assert made.registration.redirect_uri == again.registration.redirect_uri == chosen
        assert server.asked.count("/register") == 2  # the first was made for another redirect URI


async def test_the_redirect_uri_that_is_to_be_registered_is_the_one_that_is_sent(tmp_path: Path, usual: str):
    taken = await free_redirect()
    async with lying("no registration") as server:
        for chosen in ("", taken):
            said = await refusal(server, Person(), tmp_path, usual_redirect_uri=chosen)
            (uri,) = re.findall(r"by hand with the redirect URI (\S+), and give its id with", said)
            option = re.findall(r"--client-id ID --redirect-uri (\S+)\. ", said)
            assert uri == (chosen or (option or [usual])[0])
        server.redirects, server.registered = {uri}, {"mine"}
        more = {"registration": ClientRegistration(client_id="mine"), "redirect_uri": option[0]}
        async with connected(server, Person(), tmp_path, **more):
            pass
        async with connected(server, Person(), tmp_path) as (client, tokens):
            server.revoke()
            await answered(client, "tools/list")  # nobody has to choose it again
            assert tokens.credentials.registration.redirect_uri == uri
    assert server.signed_in == 2


async def test_the_default_redirect_uri_gives_way_and_a_chosen_one_does_not(tmp_path: Path):
    async with lying() as server, RedirectListener.at([ANY_PORT]) as other:
        store, told = CredentialStore(tmp_path, storage="file"), list[str]()
        with pytest.raises(AuthorizationError, match="choose another with --redirect-uri"):
            await Authorization(
                server.url, store=store, browser=Person(), redirect_uri=other.redirect_uri
            ).sign_in()
        taken = ClientRegistration(client_id="ours", issuer=server.issuer, redirect_uri=other.redirect_uri)
        store.save(Credentials(server=server.url, issuer=server.issuer, registration=taken))
        tokens = Authorization(server.url, store=store, browser=Person())
        tokens.listeners.append(told.append)
        made = await tokens.sign_in()
        assert any(f"The port of {other.redirect_uri} is taken" in each for each in told)
        assert any(made.registration.redirect_uri in each for each in told)
        assert made.registration.client_id != "ours"


async def test_a_refusal_with_a_large_body_is_a_challenge_like_any_other(tmp_path: Path):
    async with lying("endless refusal") as server, connected(server, Person(), tmp_path):
        assert server.signed_in == 1


async def test_an_expired_token_is_refreshed_without_a_person(tmp_path: Path):
    async with lying() as server, connected(server, Person(), tmp_path) as (client, _):
        server.good.clear()
        client.call_tool("open", {})
        await answered(client, "tools/list")
        assert server.signed_in == server.refreshed == 1


async def test_a_refresh_token_that_was_refused_is_not_sent_again(tmp_path: Path):
    async with lying() as server:
        async with connected(server, Person(), tmp_path):
            pass
        async with connected(server, None, tmp_path) as (client, _):
            server.revoke()
            before = server.asked.count("/token")
            for _ in range(3):
                assert await client.request("tools/list") is None
        assert "requires sign-in" in await refusal(server, None, tmp_path)
        assert server.asked.count("/token") == before + 1


async def test_a_renewal_is_tried_again_after_an_outage(tmp_path: Path):
    async with lying() as server, connected(server, Person(), tmp_path) as (client, tokens):
        server.good.clear()
        server.lie = "refresh outage"
        assert "HTTP 503" in (await ended(client, "open")).error
        server.lie = ""
        await answered(client, "tools/list")
        assert (server.refreshed, tokens.credentials.token.refused) == (1, "")


async def test_a_client_that_a_renewal_finds_forgotten_is_registered_again(tmp_path: Path):
    async with lying() as server:
        async with connected(server, Person(), tmp_path):
            pass
        server.forget()
        server.good.clear()
        assert "requires sign-in" in await refusal(server, None, tmp_path)
        async with connected(server, Person(), tmp_path) as (_, tokens):
            assert tokens.credentials.registration.client_id in server.registered
        assert server.asked.count("/register") == 2


@pytest.mark.parametrize("lie", ["", "redirects the unknown"])
async def test_a_client_that_the_page_does_not_know_is_registered_again_once(lie: str, tmp_path: Path):
    async with lying(lie) as server:
        store = CredentialStore(tmp_path, storage="file")
        await Authorization(server.url, store=store, browser=Person()).sign_in()
        server.forget()
        if not lie:  # the page goes nowhere, so the person stops, and signs in again as they were told
            told: list[str] = []
            tokens = Authorization(server.url, store=store, browser=Person())
            tokens.listeners.append(told.append)
            with pytest.raises(AuthorizationError, match="stopped"):
                await tokens.sign_in()
            assert any("stop and sign in again" in each for each in told)
        made = await Authorization(server.url, store=store, browser=Person()).sign_in()
        assert made.registration.client_id in server.registered
        assert server.asked.count("/register") == 2


async def test_a_given_client_that_is_unknown_is_named_with_the_ways_out(tmp_path: Path):
    async with lying("redirects the unknown") as server:
        store = CredentialStore(tmp_path, storage="file")
        server.registered.add("mine")
        given = ClientRegistration(client_id="mine")
        await Authorization(server.url, store=store, browser=Person(), registration=given).sign_in()
        server.forget()
        stored = (
            rf"Check the client 'mine' \(--client-id\), or run mcp-tui logout {server.url} and sign in again"
        )
        for registration, said in ((given, r"Check the client 'mine' \(--client-id\)\. "), (None, stored)):
            tokens = Authorization(server.url, store=store, browser=Person(), registration=registration)
            with pytest.raises(AuthorizationError, match=said):
                await tokens.sign_in()
        assert "/register" not in server.asked


@pytest.mark.parametrize("lie", ["slash in the issuer", "slash in the resource"])
async def test_an_issuer_may_differ_by_the_slash_of_an_empty_path(lie: str, tmp_path: Path):
    async with lying(lie) as server, connected(server, Person(), tmp_path) as (client, _):
        server.lie = ""  # it names itself in the other way now, and the client is still its own
        server.good.clear()
        await answered(client, "tools/list")
        assert (server.signed_in, server.refreshed) == (1, 1)


@cases(
    ("asked", "named"),
    [
        ("https://as.example/a", "https://as.example/a/"),
        ("https://as.example", "https://as.example//"),
        ("https://as.example", "https://as.example/?"),
        ("https://as.example", "https://AS.example/"),
        ("https://as.example", "https://as.example:443"),
        ("https://as.example", "http://as.example/"),
    ],
)
def test_an_issuer_may_differ_by_nothing_else(asked: str, named: str):
    with pytest.raises(AuthorizationError, match="not trusted"):
        issuer_is_exact(asked, named, parse("https://x.example/mcp"))


@cases(
    ("server", "named", "advice"),
    [
        ("http://127.0.0.1:8000/mcp", "http://localhost:8000/mcp", "Connect to http://localhost:8000/mcp."),
        ("http://localhost:8000/mcp", "http://[::1]:8000/mcp", "Connect to http://[::1]:8000/mcp."),
        ("http://127.0.0.1:8000/mcp", "http://localhost:8001/mcp", "Check the URL of the server."),
        (
            "http://127.0.0.1:8000/mcp",
            "http://localhost.evil.example:8000/mcp",
            "Check the URL of the server.",
        ),
        ("https://x.example/mcp", "https://localhost/mcp", "Check the URL of the server."),
    ],
)
def test_another_name_of_this_machine_is_named_as_the_url_to_use(server: str, named: str, advice: str):
    with pytest.raises(AuthorizationError, match=f"{re.escape(advice)}$"):
        resource_names_the_server(named, parse(server))


def test_an_issuer_with_another_name_of_this_machine_is_one_to_connect_to():
    with pytest.raises(AuthorizationError, match=re.escape("Connect to http://localhost:8000/mcp.")):
        issuer_is_exact("http://127.0.0.1:8000", "http://localhost:8000", parse("http://127.0.0.1:8000/mcp"))


def test_metadata_of_an_issuer_with_a_path_is_looked_for_in_three_places():
    assert authorization_server_urls(parse("https://x.example/a/b/"), legacy=False) == [
        "https://x.example/.well-known/oauth-authorization-server/a/b",
        "https://x.example/.well-known/openid-configuration/a/b",
        "https://x.example/a/b/.well-known/openid-configuration",
    ]


async def test_of_two_processes_one_alone_refreshes(tmp_path: Path):
    async with (
        lying() as server,
        connected(server, Person(), tmp_path) as (first, _),
        connected(server, None, tmp_path) as (second, _),
    ):
        server.good.clear()
        await asyncio.gather(answered(first, "tools/list"), answered(second, "tools/list"))
        assert server.signed_in == server.refreshed == 1


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_is_refused_with_a_sentence_and_no_secret_is_sent(lie: str, tmp_path: Path):
    async with lying(lie) as server:
        client, _ = client_of(server, Person(), tmp_path)
        with pytest.raises(Unauthorized, match=re.escape(LIES[lie])) as raised:
            await client.connect()
        await client.close()
        assert (HEADER_OPTION in str(raised.value)) is not server.bound
        issued = "/token" in server.asked
        assert issued == (
            lie in ("another audience", "another type", "split token", "never satisfied")
            or (server.bound and lie != "bound by an algorithm of its own")
        )
        used = lie in ("never satisfied", "bound, endless nonces", "bound, refused proofs")
        assert (tmp_path / "sign-ins.json").exists() is used
        if not used:
            assert not [call for call in server.mcp.calls if "authorization" in call.headers]
    assert not [event for event in client.store.log if isinstance(event, Note) and "555" in event.text]


async def test_more_scopes_are_asked_for_with_those_that_were_granted(tmp_path: Path):
    async with lying() as server, connected(server, Person(), tmp_path) as (client, tokens):
        await answered(client, "tools/call", {"name": "write", "arguments": {}})
        assert {"read", "write"} <= set(tokens.credentials.token.scopes)
        assert server.signed_in == 2


@pytest.mark.parametrize("lie", ["", "grants too little"])
async def test_more_scopes_that_a_person_wants_come_with_those_that_are_held(lie: str, tmp_path: Path):
    async with lying(lie) as server:
        store = CredentialStore(tmp_path, storage="file")
        await Authorization(server.url, store=store, browser=Person()).sign_in()
        await Authorization(server.url, store=store, browser=Person(), scopes=("write",)).sign_in()
        (*_, asked) = (call.path for call in server.issuing.calls if call.path.startswith("/authorize"))
        assert set(parse_qs(asked)["scope"][0].split()) == {"read", "write", "offline_access"}
        async with connected(server, None, tmp_path) as (client, _):
            row = await ended(client, "write")
            assert row.state is (State.FAILED if lie else State.COMPLETED)
            if lie:  # who asked in vain is not sent to ask again
                hint = token_hint(client.target, client.refusals[row.id].challenge, row.error)
                assert "asked for write already, so another one may not help" in hint


async def test_a_renewed_token_that_is_refused_too_is_said_so(tmp_path: Path):
    async with lying() as server:
        async with connected(server, Person(), tmp_path):
            server.good.clear()
            server.lie = "refresh loop"
        assert "refuses the token that was just renewed" in await refusal(server, None, tmp_path)


async def test_endless_step_up_ends_after_two_sign_ins(tmp_path: Path):
    async with lying("endless step-up") as server, connected(server, Person(), tmp_path) as (client, _):
        row = await ended(client, "write")
        assert row.state is State.FAILED
        assert "asked for more scopes 2 times" in row.error
        assert server.signed_in == 3


async def test_a_refresh_that_brings_no_good_token_leads_to_a_person_once(tmp_path: Path):
    person = Person()
    async with lying() as server, connected(server, person, tmp_path) as (client, _):
        server.lie = "refresh loop"
        server.good.clear()
        row = await ended(client, "open")
        assert "refuses the token that it was just given" in row.error
        assert (server.refreshed, person.asked) == (1, 2)


async def test_a_request_is_held_with_its_clocks_stopped_and_cancelled_as_never_sent(tmp_path: Path):
    person = Person()
    async with lying() as server, connected(server, person, tmp_path) as (client, _):
        server.revoke()
        person.waits.clear()
        first, second = client.call_tool("open", {}), client.call_tool("open", {})
        rows = [row_of(client, id_) for id_ in (first, second)]
        await until(lambda: person.asked == 2 and len(client.deferred.waiting) == 2)
        for row in rows:
            assert row.state is State.QUEUED
            assert row.paused_at is not None
        assert client.ledger.deadlines.next() is None
        assert client.cancel(second, Cause.USER) is CancelOutcome.UNSENT
        assert rows[1].settled == "cancelled before it was sent"
        person.waits.set()
        await client.wait(first)
        assert rows[0].state is State.COMPLETED
        # each was refused twice, before and after it was known that the tokens are gone; the cancelled one no more
        bodies = [call.message for call in server.mcp.calls if call.rpc == "tools/call"]
        assert len(bodies) == 3
        assert all(call.rpc != "notifications/cancelled" for call in server.mcp.calls if call.body)


async def test_who_declines_is_asked_once_for_all_that_waits(tmp_path: Path):
    person = Person()
    async with lying() as server, connected(server, person, tmp_path) as (client, _):
        server.revoke()
        person.willing = False
        ids = [client.call_tool("open", {}) for _ in range(5)]
        for id_ in ids:
            await client.wait(id_)
            row = row_of(client, id_)
            assert "requires sign-in" in row.error
        assert person.asked == 2


def noted(store: Store, text: str) -> None:
    store.event(Note(at=0.0, text=text))


@pytest.mark.parametrize("kind", ["short and talkative", "bound and talkative"])
async def test_no_secret_of_a_sign_in_is_in_a_recording(kind: str, tmp_path: Path):
    async with lying(kind) as server:
        recordings: list[Path] = []
        for number in range(3):
            recordings.append(path := tmp_path / f"{number}.jsonl")
            tokens = Authorization(server.url, browser=Person())
            store = Store(Writer(path))
            tokens.listeners.append(partial(noted, store))
            tokens.share_secrets(store.learn)
            client = Client(HttpTarget(url=server.url), store=store, tokens=tokens)
            await client.connect()
            server.secrets |= set(tokens.credentials.secrets().values()) - {""}
            frame = await client.request("tools/call", {"name": "open", "arguments": {}})
            assert frame is not None
            assert "access-canary" in str(frame.result)  # the server says it, and it is not written
            await client.close()
            store.close()
    assert len(server.secrets) >= 24
    written = "".join(path.read_text() for path in recordings)
    assert "Token issued" in written
    assert "done " in written
    assert not [secret for secret in server.secrets if secret in written]


async def test_nobody_to_ask_means_no_request_but_the_refused_one(tmp_path: Path):
    async with lying() as server:
        assert "requires sign-in (HTTP 401)" in await refusal(server, None, tmp_path)
        assert [call.path for call in server.mcp.calls] == ["/mcp"]
        assert server.asked == []


async def test_given_credentials_go_to_their_own_issuer_alone(tmp_path: Path):
    registration = ClientRegistration(
        client_id="mine", client_secret="my-secret", issuer="https://mine.example"
    )
    async with lying() as server:
        said = await refusal(server, Person(), tmp_path, registration=registration)
        assert "belongs to https://mine.example, so nothing was sent" in said
        assert set(server.asked) == {"/.well-known/oauth-authorization-server"}


async def test_a_bound_token_is_proved_and_refreshed_with_its_key(tmp_path: Path):
    async with lying("bound") as server, connected(server, Person(), tmp_path) as (client, tokens):
        before = tokens.credentials
        server.good.clear()
        await answered(client, "tools/call", {"name": "open", "arguments": {}})
        assert tokens.credentials.token.proof_key == before.token.proof_key != ""
        async with connected(server, None, tmp_path):  # another process has what was stored
            pass
        assert (server.signed_in, server.refreshed) == (1, 1)


async def test_a_request_is_sent_once_more_for_a_nonce_and_not_again(tmp_path: Path):
    async with lying("bound") as server, connected(server, Person(), tmp_path) as (client, _):
        server.lie = "bound, endless nonces"
        before = len(server.mcp.calls)
        row = await ended(client, "open")
        assert "asks for a DPoP nonce again" in row.error
        assert len(server.mcp.calls) - before == 2


async def test_requests_refused_late_for_an_earlier_nonce_are_sent_again_too(tmp_path: Path):
    async def refused(sent: RequestToken, nonce: str) -> None:
        tokens.answered(sent, 401, nonce)
        await tokens.authorize(Challenge(401, 'DPoP error="use_dpop_nonce"', sent))

    store, url = CredentialStore(tmp_path, storage="file"), "https://x.example/mcp"
    key = ProofKey.drawn(["ES256"]).secret
    store.save(replace(signed_in_at(url), token=Token(access="canary-access", proof_key=key)))
    tokens = Authorization(url, store=store)
    await tokens.load()
    first, second = tokens.for_request("POST", url), tokens.for_request("POST", url)
    await refused(first, "n1")
    again = tokens.for_request("POST", url)
    assert claims_of(again.headers["DPoP"])["nonce"] == "n1"
    tokens.answered(again, 200, "n2")
    await refused(second, "n3")
    third = tokens.for_request("POST", url)
    assert third.nonce == "n3"
    with pytest.raises(AuthorizationError, match="asks for a DPoP nonce again"):
        await refused(third, "n4")


async def test_dpop_without_its_library_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "joserfc.jwk", None)
    async with lying("bound") as server:
        said = await refusal(server, Person(), tmp_path)
        assert "needs the extra jwt; install mcp-tui-client[jwt]" in said


async def test_a_workload_signs_in_with_its_jwt_as_it_is_now(tmp_path: Path):
    jwt = tmp_path / "jwt"
    async with lying() as server:
        given = ClientRegistration(grant=JWT_BEARER, assertion=str(jwt))
        client, tokens = client_of(server, None, tmp_path, registration=given)
        for number in range(2):
            jwt.write_text(jwt_of({"aud": server.issuer, "jti": str(number)}))
            await (client.request("tools/list") if number else client.connect())
            server.good.clear()
        assert [claims_of(each)["jti"] for each in server.assertions] == ["0", "1"]
        assert tokens.extensions == {}
        await client.close()
        assert jwt.read_text() not in (tmp_path / "sign-ins.json").read_text()


async def test_an_assertion_goes_to_nobody_but_whom_it_names(tmp_path: Path):
    jwt = tmp_path / "jwt"
    jwt.write_text(jwt_of({"aud": "https://mine.example/token"}))
    async with lying() as server:
        for issuer, said in (
            ("", "is for https://mine.example"),
            ("https://mine.example", "belongs to https"),
        ):
            given = ClientRegistration(grant=JWT_BEARER, assertion=str(jwt), issuer=issuer)
            assert said in await refusal(server, None, tmp_path, registration=given)
        assert "/token" not in server.asked


async def test_an_identity_provider_alone_sees_what_it_issued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def provide(call: Call) -> None:
        issuer = provider.url.removesuffix("/mcp")
        if call.method == "GET":
            answer = {"issuer": issuer, "token_endpoint": f"{issuer}/token"}
        else:
            asked = {name: each[0] for name, each in parse_qs(call.body.decode()).items()}
            assert asked["subject_token"] == identity
            assert asked["client_id"] == "at-idp"
            grant = jwt_of({"aud": asked["audience"], "resource": asked["resource"]})
            answer = {"access_token": grant, "issued_token_type": kind, "token_type": "N_A"}
        await call.respond(200, json.dumps(answer).encode(), "application/json")

    identity = jwt_of({"aud": "at-idp", "sub": "somebody"})
    monkeypatch.setenv("IDENTITY", identity)
    async with lying() as server, HttpScript(provide) as provider:
        given = ClientRegistration(
            client_id="me",
            issuer=server.issuer,
            grant=JWT_BEARER,
            assertion="env:IDENTITY",
            idp_issuer=provider.url.removesuffix("/mcp"),
            idp_client_id="at-idp",
        )
        kind = "urn:ietf:params:oauth:token-type:access_token"
        said = await refusal(server, None, tmp_path, registration=given)
        assert "something other than an identity grant" in said
        kind = "urn:ietf:params:oauth:token-type:id-jag"
        async with connected(server, None, tmp_path, registration=given) as (_, tokens):
            pass
        assert list(tokens.extensions) == ["io.modelcontextprotocol/enterprise-managed-authorization"]
        (grant,) = server.assertions
        assert claims_of(grant) == {"aud": server.issuer, "resource": server.url}
        assert not [
            call for call in server.issuing.calls + server.mcp.calls if identity.encode() in call.body
        ]


async def test_a_server_elsewhere_means_registering_anew(tmp_path: Path):
    async with lying() as server, connected(server, Person(), tmp_path) as (client, tokens):
        before = tokens.credentials
        server.good.clear()
        server.moved = True
        await answered(client, "tools/list")
        assert before.issuer != tokens.credentials.issuer == server.issuer
        assert tokens.credentials.registration.client_id != before.registration.client_id
        sent = b"".join(call.body for call in server.elsewhere.calls)
        assert not [secret for secret in before.secrets().values() if secret and secret.encode() in sent]


@cases(
    ("header", "found"),
    [
        ('Bearer scope="a b", resource_metadata="https://x/y"', (("a", "b"), "https://x/y")),
        ('Basic realm="x, y", bearer SCOPE=a', (("a",), "")),
        ("", ((), "")),
        ("Basic realm=x", None),
        ('Bearer scope=a, DPoP error="use_dpop_nonce"', (("a",), "")),
        ('Bearer scope="a\\"b c', ((), "")),
    ],
)
def test_challenges_are_read(header: str, found: tuple[tuple[str, ...], str] | None):
    made = token_challenge(Challenge(401, header))
    assert (None if made is None else (made.scopes, made.resource_metadata)) == found


@cases(
    ("ip", "where"),
    [
        ("8.8.8.8", "public"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "private"),
        ("169.254.169.254", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("::1", "loopback"),
        ("0.0.0.0", "loopback"),
        ("224.0.0.1", "private"),
        ("fd00::1", "private"),
        ("fec0::1", "private"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b::808:808", "public"),
        ("64:ff9b:1::808:808", "private"),
        ("2002:7f00:1::1", "loopback"),
        ("::10.0.0.1", "private"),
        ("2001:4860:4860::8888", "public"),
    ],
)
def test_addresses_are_told_apart(ip: str, where: str):
    assert address_kind(ip) == where


def test_a_key_signs_for_one_issuer():
    jwt, jwk = pytest.importorskip("joserfc.jwt"), pytest.importorskip("joserfc.jwk")
    key = jwk.ECKey.generate_key("P-256", private=True)
    pem, issuer = key.as_pem(private=True).decode(), "https://as.example"
    claims = jwt.decode(signed_assertion("me", pem, "ES256", issuer), key, algorithms=["ES256"]).claims
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", "https://as.example")
    assert claims["exp"] - claims["iat"] == 60
    with pytest.raises(AuthorizationError, match="cannot sign"):
        signed_assertion("me", "no key", "ES256", issuer)


class FakeKeyring:
    """Keeps passwords, unless it is locked."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise RuntimeError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


def signed_in_at(server: str) -> Credentials:
    return Credentials(
        server=server,
        issuer="https://as.example",
        resource=server,
        registration=ClientRegistration(client_id="me", client_secret="canary-secret"),
        token=Token(access="canary-access", refresh="canary-refresh", scopes=("a",), expires_at=5.0),
    )


def test_secrets_are_in_the_keyring_and_in_the_file_only_where_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    keyring = FakeKeyring()
    monkeypatch.setattr("mcp_tui.client.auth.credential_store.system_keyring", lambda: keyring)
    store = CredentialStore(tmp_path)
    made = signed_in_at("https://x.example/mcp")
    store.save(made)
    assert "canary" not in store.path.read_text()
    assert store.load(made.server) == made
    assert store.delete(made.server)
    assert keyring.kept == {}
    assert store.every() == []
    keyring.locked = True
    store.save(made)
    assert "canary-access" in store.path.read_text()
    assert store.load(made.server) == made
    with pytest.raises(StorageError):
        CredentialStore(tmp_path, storage="keyring").save(made)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (3600, 3600),
        (59.5, 59.5),
        ("7200", 7200),
        pytest.param(int("9" * 4000), 0, id="a long number"),
        pytest.param("9" * 4000, 0, id="a long text"),
        (-1, 0),
        (True, 0),
        ("soon", 0),
        ("nan", 0),
        (None, 0),
        ([5], 0),
    ],
)
def test_the_lifetime_of_a_token_is_read_or_unknown(said: Json, seconds: float):
    assert lifetime(said) == seconds


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        pytest.param("token", "expires_at", int("9" * 4000), id="expires_at"),
        ("token", "scopes", 5),
        ("token", "refused", 5),
        ("registration", "client_id", ["me"]),
        ("registration", "given", "no"),
    ],
)
def test_a_stored_sign_in_that_is_not_sound_counts_as_none(part: str, name: str, value: Json, tmp_path: Path):
    store, made = CredentialStore(tmp_path, storage="file"), signed_in_at("https://x.example/mcp")
    store.save(made)
    entries = json.loads(store.path.read_text())
    entries[made.server][part][name] = value
    store.path.write_text(json.dumps(entries))
    assert store.load(made.server) == Credentials()


async def test_a_keyring_that_waits_for_its_password_stops_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Waiting(FakeKeyring):
        asked, unlocked = threading.Event(), threading.Event()

        def get_password(self, service: str, username: str) -> str | None:
            self.asked.set()
            assert self.unlocked.wait(HANG)
            return super().get_password(service, username)

    keyring = Waiting()
    monkeypatch.setattr("mcp_tui.client.auth.credential_store.system_keyring", lambda: keyring)
    made = signed_in_at("https://x.example/mcp")
    CredentialStore(tmp_path).save(made)
    tokens = Authorization(made.server, store=CredentialStore(tmp_path))
    async with asyncio.TaskGroup() as group:
        group.create_task(tokens.load())
        await until(keyring.asked.is_set)
        keyring.unlocked.set()
    assert tokens.credentials == made


@cases(
    ("challenge", "hint"),
    [
        (None, "Run mcp-tui login https://x.example/mcp, or add a token"),
        (Challenge(401, "Bearer"), "Run mcp-tui login https://x.example/mcp, or"),
        (Challenge(401, 'DPoP algs="ES256"'), "Run mcp-tui login https://x.example/mcp."),
        (Challenge(401, "Basic realm=x"), "Put a user and a password in the URL"),
        (Challenge(403, 'Bearer error="insufficient_scope", scope="a $(b)"'), "--scope 'a $(b)', or"),
        (
            Challenge(
                403,
                'Bearer error="insufficient_scope", scope="write"',
                RequestToken("sent", scopes=("read",)),
            ),
            "--scope 'read write', or",
        ),
        (
            Challenge(
                403, 'Bearer error="insufficient_scope", scope="a"', RequestToken("sent", scopes=("a", "b"))
            ),
            "The last sign-in asked for a already, so another one may not help. Ask the server's operator",
        ),
        (Challenge(403, 'Bearer error="insufficient_scope"'), "does not say which scopes are missing"),
        (Challenge(403, ""), "Run mcp-tui login https://x.example/mcp, or"),
        (
            Challenge(403, "", RequestToken("sent")),
            "another sign-in does not help. Ask the server's operator",
        ),
    ],
)
def test_the_way_out_is_told_by_the_challenge(challenge: Challenge | None, hint: str):
    assert hint in token_hint(HttpTarget(url="https://x.example/mcp"), challenge)


def test_the_command_to_sign_in_has_the_client_certificate():
    where = HttpTarget(url="https://x.example/mcp", client_cert="my cert.pem", client_key="my.key")
    assert login_command(where) == (
        "mcp-tui login --client-cert 'my cert.pem' --client-key my.key https://x.example/mcp"
    )


async def test_a_private_address_is_refused_behind_a_proxy_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fetcher = Fetcher(parse("https://8.8.8.8/mcp"))
    for host in ("10.0.0.1", "2852039166", "[::ffff:169.254.169.254]"):
        with pytest.raises(TransportError, match="which the MCP server may not name"):
            await fetcher.fetch(f"https://{host}/x")


def lookups(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Each lookup of a name gets the next of ``answers``, and no more lookups are made."""
    left = list(answers)

    async def getaddrinfo(host: str, port: int | None, **_: Any) -> list[Any]:
        if host[:1].isdigit():
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in left.pop(0)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    ("connected", "looked_up"),
    [
        ([], ["93.184.216.34", "127.0.0.1"]),
        (["93.184.216.34"], ["127.0.0.1"]),
        (["127.0.0.1", "93.184.216.34"], ["127.0.0.1"]),
    ],
)
async def test_a_second_dns_answer_permits_no_more_than_the_first(
    connected: list[str], looked_up: list[str], monkeypatch: pytest.MonkeyPatch
):
    lookups(monkeypatch, looked_up)
    fetcher = Fetcher(parse("https://server.test/mcp"))
    for ip in connected:
        fetcher.connected(ip)
    with pytest.raises(TransportError, match="which the MCP server may not name"):
        await fetcher.fetch("http://127.0.0.1:9/x", b"")


async def test_a_request_goes_to_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch):
    async def answer(call: Call) -> None:
        await call.respond(200)

    async with HttpScript(answer) as server:
        port = parse(server.url).url.port
        lookups(monkeypatch, ["127.0.0.9", "127.0.0.1"])
        found = await Fetcher(parse(server.url)).fetch(f"http://as.localhost:{port}/x")
    assert found.status == 200
    assert [call.headers["host"] for call in server.calls] == [f"as.localhost:{port}"]
