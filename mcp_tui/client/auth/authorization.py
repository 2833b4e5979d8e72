"""The authorization of one server: decides which token its requests carry, and gets new tokens."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

from mcp_tui import clock
from mcp_tui.client.auth.credential_store import Credentials, CredentialStore, StorageError
from mcp_tui.client.auth.discovery import (
    HEADER_OPTION,
    AuthorizationError,
    AuthorizationServer,
    Discovery,
    ProtectedResource,
    StepListener,
    TokenChallenge,
    issuer_id,
    scopes_in,
    shown,
    token_challenge,
)
from mcp_tui.client.auth.sign_in import (
    ANY_PORT,
    Browser,
    RedirectListener,
    authorization_request,
    code_of_response,
    is_local,
)
from mcp_tui.client.auth.token_endpoint import (
    AUTHORIZATION_CODE,
    CLIENT_CREDENTIALS,
    DEFAULT_REDIRECT,
    NONCE,
    ClientRegistration,
    ProofKey,
    Token,
    TokenEndpoint,
    assertion_is_for_the_issuer,
    by_hand,
    credentials_are_the_issuers,
    read_assertion,
)
from mcp_tui.journal.masks import mask_url
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import NO_TOKEN, Challenge, RequestToken, TransportError
from mcp_tui.transport.targets import VERIFIED, Tls
from mcp_tui.transport.unreachable import readable

STEP_UPS: Final = 2
"""How often a server may ask for more scopes before a request succeeds ("Step-Up Authorization Flow")."""

CREDENTIALS_EXTENSION: Final = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE_EXTENSION: Final = "io.modelcontextprotocol/enterprise-managed-authorization"

OFFLINE: Final = "offline_access"

Learn = Callable[[Iterable[str]], None]


def server_key(url: str) -> str:
    """Returns the key of a stored sign-in: the URL without credentials, query, and fragment."""
    return str(parse(url).url.copy_with(query=None))


class Authorization:
    """Tokens for the server at ``url``: a :class:`~mcp_tui.transport.base.TokenSource`.

    ``store`` stores them; without it they exist only in this object. ``browser`` lets a person sign in; without it
    nobody is asked. ``registration`` is a client that an authorization server knows already, ``client_url`` the URL
    of a client ID metadata document. ``scopes`` replace those that the server names. ``redirect_uri`` applies to this
    sign-in, ``usual_redirect_uri`` to any without a choice of its own; empty means the default. ``tls`` is the TLS
    configuration of the server.
    """

    def __init__(
        self,
        url: str,
        *,
        store: CredentialStore | None = None,
        browser: Browser | None = None,
        registration: ClientRegistration | None = None,
        client_url: str = "",
        scopes: tuple[str, ...] = (),
        redirect_uri: str = "",
        usual_redirect_uri: str = "",
        tls: Tls = VERIFIED,
    ) -> None:
        self.browser = browser
        self.listeners: list[StepListener] = []
        """The functions that are called with each step."""
        self.signing_in = False
        """Whether a person agreed to sign in and has not finished."""
        self._secrets: set[str] = set()
        self._learners: list[Learn] = []
        self._key = server_key(url)
        self._store = store
        self._registration = None if registration is None else replace(registration, given=True)
        self._client_url = client_url
        self._scopes = scopes
        self._redirect_uri = redirect_uri
        self._usual_redirect_uri = usual_redirect_uri
        self._discovery = Discovery(parse(url), self._report, tls=tls)
        self.credentials = Credentials()
        """The stored sign-in of this server."""
        self.issued = 0
        self.stored = ""
        """The place of the sign-in's secrets, in words; empty if they are not stored."""
        self.storage_problem = ""
        """Why they are not stored, in one sentence."""
        self._loaded = False
        self._fresh = ""
        """The origin of a token that the server has not accepted yet: ``refreshed`` or ``issued``."""
        self._proof_key: ProofKey | None = None
        self._nonce = ""
        self._refused_nonces: set[str] = set()
        """The nonces of requests that were refused for their nonce since the server last accepted one."""
        self._step_ups = 0
        self._failed: AuthorizationError | None = None
        self._lock = asyncio.Lock()

    # -- the token of each request ---------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads the stored sign-in of this server, once. A thread reads it, because a keyring may block."""
        if not self._loaded:
            self._loaded = True
            self._adopt(await self._stored())

    async def _stored(self) -> Credentials:
        return Credentials() if self._store is None else await asyncio.to_thread(self._store.load, self._key)

    @property
    def token(self) -> str:
        """The access token; empty if there is none."""
        return self.credentials.token.access

    @property
    def extensions(self) -> dict[str, Json]:
        """The extension of the grant, for the capabilities (oauth-client-credentials, "Capabilities")."""
        if self._client.idp_issuer:
            return {ENTERPRISE_EXTENSION: {}}
        return {CREDENTIALS_EXTENSION: {}} if self._client.grant == CLIENT_CREDENTIALS else {}

    def connected(self, ip: str) -> None:
        """Notes the IP address of a connection to the server."""
        self._discovery.connected(ip)

    def for_request(self, method: str, url: object) -> RequestToken:
        """Returns the token of one request, with a proof if the token is bound to a key (RFC 9449, section 7.1)."""
        token, key = self.token, self._proof_key
        if not token:
            return NO_TOKEN
        scopes = tuple(dict.fromkeys((*self.credentials.token.scopes, *self.credentials.token.asked)))
        if key is None:
            return RequestToken(token, headers={"Authorization": f"Bearer {token}"}, scopes=scopes)
        proof = key.proof(method, str(url), token=token, nonce=self._nonce)
        headers = {"Authorization": f"DPoP {token}", "DPoP": proof}
        return RequestToken(token, self._nonce, headers, scopes)

    def answered(self, sent: RequestToken, status: int, nonce: str) -> None:
        """Notes that the server accepted a token, so that it may be renewed again, and keeps a nonce for the next
        requests.
        """
        # A 403 also accepts the token: it only permits too little.
        if sent.access == self.token and status != 401:
            self._fresh = ""
            self._refused_nonces.clear()
        if NONCE.fullmatch(nonce):
            self._nonce = nonce

    def share_secrets(self, learn: Learn) -> None:
        """Calls ``learn`` with the known secrets now, and with each new one later, so that they can be redacted."""
        self._learners.append(learn)
        learn(self._secrets)

    def _learn(self, *values: str) -> None:
        new = {value for value in values if value}
        self._secrets |= new
        for learn in self._learners:
            learn(new)

    def helps(self, challenge: Challenge) -> bool:
        """Whether another token could change a refusal, and there is a way to get one."""
        found = token_challenge(challenge)
        renews = self._by_itself or bool(self.credentials.token.refresh) or self.browser is not None
        return found is not None and (renews or self._wants_nonce(found))

    def _wants_nonce(self, challenge: TokenChallenge) -> bool:
        return challenge.wants_nonce and self._proof_key is not None

    @property
    def _by_itself(self) -> bool:
        """Whether new tokens need no person."""
        return self._client.grant != AUTHORIZATION_CODE

    @property
    def _client(self) -> ClientRegistration:
        """The client that a person configured, else the stored one."""
        return self._registration or self.credentials.registration

    async def renew(self, challenge: Challenge) -> bool:
        """Gets another token without asking a person; returns false if there is none."""
        try:
            await self.authorize(challenge, ask=False)
        except TransportError:
            return False
        return True

    async def authorize(self, challenge: Challenge, *, ask: bool = True) -> None:
        """Gets a token for a challenge: from the store, by a refresh, by the client's own credentials, or from a person.

        Raises:
            AuthorizationError: there is none; the text says why.
        """
        before = self._failed
        async with self._lock:
            if challenge.sent.access != self.token and self.token:
                return  # the refused request had an older token
            if self._failed is not None and self._failed is not before:
                raise self._failed  # another request tried it meanwhile: nobody is asked twice
            if await self._take_newer(challenge.sent.access):
                return
            found = token_challenge(challenge)
            if found is None:
                raise AuthorizationError("the server asks for something other than a token")
            try:
                if self._wants_nonce(found):
                    self._nonce_is_new(challenge.sent.nonce)
                else:
                    await self._obtain(found, ask=ask)
            except AuthorizationError as error:
                self._failed = failed = self._with_header_option(error)
                self._report(str(failed))
                raise failed from None
            finally:
                self.signing_in = False

    async def sign_in(self) -> Credentials:
        """Gets a new token with the browser or the client's own credentials, even if one is stored.

        Raises:
            AuthorizationError: there is none; the text says why.
        """
        await self.load()
        async with self._lock:
            challenge = await self._discovery.challenge()
            try:
                return await self._issue(challenge)
            except AuthorizationError as error:
                raise self._with_header_option(error) from None

    def _with_header_option(self, error: AuthorizationError) -> AuthorizationError:
        """Returns an error with the option that always works if the server accepts plain tokens."""
        if error.declined or self._discovery.bound or self._by_itself:
            return error
        return error.advising(f"You can also {HEADER_OPTION}.")

    # -- the way to a token ----------------------------------------------------------------------------------

    async def _obtain(self, challenge: TokenChallenge, *, ask: bool) -> None:
        # Another token would be refused too (RFC 9449, section 7.1).
        if challenge.error == "invalid_dpop_proof":
            text = "the server refuses the proof that this token is ours; check the clock of this machine"
            raise AuthorizationError(text)
        if challenge.wants_scopes:
            self._step_up_is_bounded(challenge)
        elif self._fresh == "issued":
            text = "the server refuses the token that it was just given; sign in again later"
            raise AuthorizationError(text)
        # A refresh adds no scopes (RFC 6749, section 6), and does not help right after a refresh.
        refreshes = self._by_itself or not (challenge.wants_scopes or self._fresh)
        if refreshes and self.credentials.token.refresh and await self._refreshed(challenge):
            return
        if not self._by_itself:
            await self._agreed(challenge, ask=ask)
        await self._issue(challenge)

    async def _agreed(self, challenge: TokenChallenge, *, ask: bool) -> None:
        """Asks the person to sign in. Nothing is fetched before they agree."""
        scopes = f" for the scopes {' '.join(challenge.scopes)}" if challenge.wants_scopes else ""
        refused = self.credentials.token.refused
        if self._fresh and self.browser is None:
            text = "the server refuses the token that was just renewed, so another sign-in may not help"
            raise AuthorizationError(text)
        again = f" again, as the renewal was refused ({refused})" if refused and not scopes else ""
        why = f"this server requires sign-in{scopes}{again}"
        if not ask or self.browser is None or not await self.browser.agrees(why):
            raise AuthorizationError(why, declined=True)
        self.signing_in = True

    def _step_up_is_bounded(self, challenge: TokenChallenge) -> None:
        """Raises an error for scopes that the token has, and for endless requests of more ("Scope Challenge Handling",
        2025-11-25).
        """
        if not challenge.scopes:
            raise AuthorizationError(
                "the server requires more scopes and does not name them; sign in with mcp-tui login --scope"
            )
        if set(challenge.scopes) <= set(self.credentials.token.scopes):
            text = "the server asks for scopes again that its token has, so no other token is asked for"
            raise AuthorizationError(text)
        if self._step_ups >= STEP_UPS:
            text = f"the server asked for more scopes {STEP_UPS} times, so no other token is asked for"
            raise AuthorizationError(text)
        self._step_ups += 1

    def _nonce_is_new(self, refused: str) -> None:
        """Raises an error for a nonce that did not help before, instead of sending the request again (RFC 9449, section
        9).
        """
        self._refused_nonces.add(refused)
        if self._nonce in self._refused_nonces or len(self._refused_nonces) > 1:
            text = "the server asks for a DPoP nonce again that the request had, so it was not sent once more"
            raise AuthorizationError(text)

    async def _take_newer(self, refused: str) -> bool:
        """Uses a token that another mcp-tui stored meanwhile."""
        found = await self._stored()
        if found.token.access == self.token and found.token.refused:
            self._adopt(found)  # another mcp-tui failed to renew it
        if found.token.access in ("", refused, self.token):
            return False
        self._adopt(found)
        return True

    async def _refreshed(self, challenge: TokenChallenge) -> bool:
        kept, resource = self.credentials, await self._discovery.resource(challenge)
        if not resource.named(kept.issuer):
            issuer = shown(kept.issuer)
            self._report(f"The server changed its authorization server: {issuer} is not named any more")
        # A refresh token is sent only to its issuer and only for its resource: otherwise a server could choose who
        # gets it.
        if not resource.named(kept.issuer) or kept.resource != resource.identifier:
            return False
        server = await self._discovery.authorization_server(kept.issuer, legacy=resource.legacy)
        key = self._proof_key or _drawn(server, resource)
        endpoint = TokenEndpoint(self._discovery, server, resource, kept.token.scopes, key)
        async with nullcontext() if self._store is None else self._store.renewing():
            # Checked again with the lock: another mcp-tui may have renewed the token during the wait.
            if await self._take_newer(kept.token.access):
                return True
            if not self.credentials.token.refresh:
                return False
            try:
                token = await endpoint.refresh(kept.registration, kept.token)
            except AuthorizationError as error:
                # A temporary error is no reason to delete the refresh token.
                if not error.refused:
                    raise
                self._report(str(error))
                # Deleted at once: a server may take the reuse of a refused refresh token as theft.
                token = replace(kept.token, refresh="", refused=error.refused)
                stale = error.unknown_client and not kept.registration.given
                client = replace(kept.registration, stale=stale)
                self.credentials = replace(kept, token=token, registration=client)
                await self._save(self.credentials)
                return False
            await self._keep(replace(kept, token=token), "refreshed")
            return True

    async def _issue(self, challenge: TokenChallenge) -> Credentials:
        resource = await self._discovery.resource(challenge)
        known = (self._client.issuer, self.credentials.issuer)  # else the first one that the server names
        issuer = next((each for each in map(resource.named, known) if each), resource.issuers[0])
        server = await self._discovery.authorization_server(issuer, legacy=resource.legacy)
        self._report(f"Authorization server: {shown(issuer)}")
        scopes = self._wanted_scopes(challenge, server, resource)
        endpoint = TokenEndpoint(self._discovery, server, resource, scopes, _drawn(server, resource))
        try:
            sign_in = self._signed_in_by_itself if self._by_itself else self._signed_in
            client, token = await sign_in(endpoint)
        except AuthorizationError as error:
            if error.unknown_client and self._client.given and not self._client.idp_issuer:
                raise error.advising(f"Check the client {self._configured_client}.") from None
            raise
        made = Credentials(
            server=self._key, issuer=issuer, resource=resource.identifier, registration=client, token=token
        )
        await self._keep(made, "issued")
        return made

    async def _signed_in_by_itself(self, endpoint: TokenEndpoint) -> tuple[ClientRegistration, Token]:
        """Gets a token without a person: for the client, by its JWT, or by its identity provider's grant for that JWT."""
        client = self._client
        bound, assertion = self._bound(client, endpoint.server), ""
        if client.assertion:
            assertion = read_assertion(client.assertion)
            self._learn(assertion)
            if client.idp_issuer:
                assertion = await self._exchanged(client, assertion, endpoint)
                self._learn(assertion)
            elif not client.issuer:
                assertion_is_for_the_issuer(assertion, endpoint.server)
        return bound, await endpoint.issue(bound, assertion)

    async def _exchanged(self, client: ClientRegistration, assertion: str, endpoint: TokenEndpoint) -> str:
        """Returns the grant of the identity provider that a person configured."""
        issuer, id_, secret = client.idp_issuer, client.idp_client_id, client.idp_client_secret
        # A separate discovery: a person named this issuer, so the limits on addresses of the MCP server do not apply.
        discovery = Discovery(parse(issuer), self._report)
        idp = await discovery.authorization_server(issuer, legacy=False)
        there = TokenEndpoint(discovery, idp, endpoint.resource, endpoint.scopes)
        at_idp = ClientRegistration(client_id=id_, client_secret=secret, issuer=issuer)
        return await there.exchange(at_idp, assertion, endpoint.server.issuer)

    async def _signed_in(self, endpoint: TokenEndpoint) -> tuple[ClientRegistration, Token]:
        browser = self.browser
        if browser is None:
            raise AuthorizationError("this server requires sign-in", declined=True)
        known = self._known_client(endpoint.server)
        try:
            return await self._visited(endpoint, known, browser)
        except AuthorizationError as error:
            if known is None or known.given or not error.unknown_client:
                raise
            # Some authorization servers forget clients that registered themselves. Tried once: the next refusal has
            # another reason.
            self._report(f"{error} Registering again")
        return await self._visited(endpoint, None, browser)

    async def _visited(
        self, endpoint: TokenEndpoint, known: ClientRegistration | None, browser: Browser
    ) -> tuple[ClientRegistration, Token]:
        """Lets a person sign in with the client ``known``, or a new one."""
        server, page = endpoint.server, shown(endpoint.server.issuer)
        wanted = self._redirect_uris
        # First, because the free port decides the redirect URI, which the registration contains.
        async with RedirectListener.at(wanted) as listener:
            redirect_uri = listener.redirect_uri
            if len(wanted) > 1 and redirect_uri != wanted[0]:
                taken = f"The port of {wanted[0]} is taken"
                self._report(f"{taken}: the redirect URI of this sign-in is {redirect_uri}")
            if known is None or (not known.given and known.redirect_uri != redirect_uri):
                known = await self._registered(endpoint, redirect_uri)
                self._learn(known.client_secret)
            elif known.given:
                known = replace(known, redirect_uri=wanted[0] if len(wanted) == 1 else "")
                check = f"check that {redirect_uri} is registered for {self._configured_client}"
                other = "or give the one that is with mcp-tui login --redirect-uri"
                self._report(f"If the page of {page} refuses the client, {check}, {other}")
            else:
                again = "stop and sign in again: mcp-tui then registers again"
                self._report(f"If the page of {page} does not know mcp-tui, {again}")
            request = authorization_request(endpoint, known, redirect_uri)
            self._learn(request.state, request.verifier)
            self._report(f"Waiting for the sign-in at {request.host}")
            try:
                redirected = await listener.redirect(request, browser)
            except (AuthorizationError, asyncio.CancelledError):
                await self._not_again(known)
                raise
            code = code_of_response(server, request, redirected)
            self._learn(code)
            return known, await endpoint.redeem(known, code, request.verifier, redirect_uri)

    def _wanted_scopes(
        self, challenge: TokenChallenge, server: AuthorizationServer, resource: ProtectedResource
    ) -> tuple[str, ...]:
        """Returns the scopes of the challenge, else all that the resource lists ("Scope Selection Strategy", 2025-11-25).

        If the server or the person wants more scopes, the granted ones are requested too ("Step-Up Authorization
        Flow", 2026-07-28): a sign-in without them would soon be refused for them. ``offline_access`` is added if the
        authorization server lists it (SEP-2207).
        """
        scopes = self._scopes or challenge.scopes or resource.scopes
        same_issuer = issuer_id(self.credentials.issuer) == issuer_id(server.issuer)
        if same_issuer and (self._scopes or challenge.wants_scopes):
            scopes = (*self.credentials.token.scopes, *scopes)
        if challenge.wants_scopes:
            scopes = (*scopes, *challenge.scopes)
        if OFFLINE in scopes_in(server.metadata.get("scopes_supported")) and scopes and not self._by_itself:
            scopes = (*scopes, OFFLINE)
        return tuple(dict.fromkeys(scopes))

    # -- registration ----------------------------------------------------------------------------------------

    def _known_client(self, server: AuthorizationServer) -> ClientRegistration | None:
        """Returns the client that a person configured, else the one that this issuer registered before."""
        client = self._client
        if not client.client_id:
            return None
        if client.given:
            return self._bound(client, server)
        if issuer_id(client.issuer) != issuer_id(server.issuer):
            self._report(f"Registering again: the earlier client belongs to {shown(client.issuer)}")
        elif client.stale:
            self._report("Registering again: the last sign-in with the earlier client did not work")
        else:
            return client
        return None

    @property
    def _redirect_uris(self) -> tuple[str, ...]:
        """The redirect URIs to try, in order: only the chosen one, else any that is free.

        A choice with a configured client comes before the setting for all.
        """
        client, stored = self._client, self.credentials.registration
        same = client.client_id in ("", stored.client_id) and is_local(stored.redirect_uri)
        kept = stored.redirect_uri if same else ""
        chosen = self._redirect_uri or (client.given and kept) or self._usual_redirect_uri
        free = (kept, DEFAULT_REDIRECT, ANY_PORT) if kept else (DEFAULT_REDIRECT, ANY_PORT)
        return (chosen,) if chosen else free

    async def _not_again(self, client: ClientRegistration) -> None:
        """Makes the next sign-in register again: its page may not know our stored client, and no error would say so."""
        stored = await self._stored()  # another mcp-tui may have renewed the token meanwhile
        if client.given or client != self.credentials.registration:
            return
        stale = replace(client, stale=True)
        self.credentials = replace(self.credentials, registration=stale)
        if stored.registration == client:
            await self._save(replace(stored, registration=stale))

    @property
    def _configured_client(self) -> str:
        """The configured client, as the end of a sentence that says what to check."""
        client = self._client
        secret = " and its secret" if client.client_secret or client.private_key else ""
        text = f"{readable(client.client_id, 60)!r} (--client-id){secret}"
        if self._registration is not None:
            return text
        url = self._key if mask_url(self._key) == self._key else "URL"
        return f"{text}, or run mcp-tui logout {shlex.quote(url)} and sign in again"

    @staticmethod
    def _bound(client: ClientRegistration, server: AuthorizationServer) -> ClientRegistration:
        """Binds a configured client to its issuer; one without an issuer is bound to the first one."""
        credentials_are_the_issuers(client, server.issuer)
        return replace(client, issuer=server.issuer, given=True)

    async def _registered(self, endpoint: TokenEndpoint, redirect_uri: str) -> ClientRegistration:
        """Returns a new client: by URL, else by dynamic registration. Otherwise its error says how to register manually
        (2025-11-25).
        """
        server, url = endpoint.server, self._client_url
        if url and server.metadata.get("client_id_metadata_document_supported") is True:
            self._report(f"If its page refuses the client, check that {shown(url)} has {redirect_uri}")
            return ClientRegistration(client_id=url, issuer=server.issuer, auth_method="none")
        if server.metadata.get("registration_endpoint") is not None:
            return await endpoint.register(redirect_uri)
        text = f"the authorization server {shown(server.issuer)} offers no client registration"
        raise AuthorizationError(f"{text}. {by_hand(redirect_uri)}")

    # -- stored sign-ins -------------------------------------------------------------------------------------

    def _adopt(self, credentials: Credentials) -> None:
        self._learn(*credentials.secrets().values())
        try:
            secret = credentials.token.proof_key
            self._proof_key = ProofKey(secret) if secret else None
        except AuthorizationError as error:
            self._report(str(error))
            self._proof_key, credentials = None, Credentials()
        self.credentials = credentials

    async def _keep(self, credentials: Credentials, fresh: str) -> None:
        self._adopt(credentials)
        self._fresh = fresh
        self.issued += 1
        until = credentials.token.expires_at
        self._report(f"Token issued{f', valid until {clock.local_stamp(until)}' if until else ''}")
        await self._save(credentials)

    async def _save(self, credentials: Credentials) -> None:
        if self._store is not None:
            try:
                self.stored = await asyncio.to_thread(self._store.save, credentials)
                self.storage_problem = ""
            except StorageError as error:
                self.stored, self.storage_problem = "", str(error)
                self._report(str(error))

    def _report(self, text: str) -> None:
        for listener in self.listeners:
            listener(text)


def _drawn(server: AuthorizationServer, resource: ProtectedResource) -> ProofKey | None:
    """Returns a new key if the server wants tokens that are bound to one."""
    algorithms = server.metadata.get("dpop_signing_alg_values_supported")
    return ProofKey.drawn(algorithms) if resource.bound else None
