"""An MCP server behind authorization, and its authorization server, each on a socket of its own; they can lie.

``python -m tests.auth.lying_server [LIE]`` runs both, prints the URL, and lets everybody in who opens the sign-in page.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import sys
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwk, jws, jwt

from mcp_tui.client.auth.token_endpoint import JWT_BEARER
from tests.servers.http_scripted import Call, HttpScript

EVIL = "https://evil.example"
BOUND_BY_CHALLENGE = "bound by its challenge"

LIES: dict[str, str] = {
    "wrong issuer": "calls itself https://evil.example",
    "mixed-up issuer": "the redirect names https://evil.example",
    "missing iss": "the redirect does not name its server although it must",
    "error of another issuer": "the redirect names https://evil.example",
    "metadata elsewhere": "so it is not read. Its place is http://127.0.0.1:",
    "another resource": "is for another resource",
    "sibling resource": "is for another resource",
    "javascript endpoint": "the authorization_endpoint of the authorization server cannot be used",
    "plain http endpoint": "does not use https",
    "credentials in endpoint": "has credentials in it",
    "redirect to a private address": "redirects to http://169.254.169.254/",
    "private authorization server": "is at the link-local address 169.254.169.254",
    "decimal address": "which the MCP server may not name",
    "no pkce": "does not say that it supports PKCE",
    "another audience": "issued a token for another server, https://evil.example",
    "another type": "issued a token of type mac, not Bearer",
    "split token": "issued a token that cannot be sent",
    "endless metadata": "is larger than 512 kB",
    "no registration": "offers no client registration. Register mcp-tui there by hand with the redirect URI http://127",
    "closed registration": 'access_denied (it says: "ask CALL 556"). Register mcp-tui there by hand with the redirect URI',
    "registration by a page": "it answered HTTP 200 with text/html, which is not a JSON object. Register mcp-tui there by",
    "registration without an id": "registered mcp-tui without a client id. Register mcp-tui there by hand",
    "registration of too many": "HTTP 429 with text/plain. Try again later. Register mcp-tui there by hand",
    "page for metadata": "answered HTTP 200 with text/html, which is not a JSON object",
    "no metadata": "answered HTTP 404 with no Content-Type",
    "never satisfied": "refuses the token that it was just given",
    "bound, but the token is not": "issued a token of type Bearer, not DPoP",
    "bound to another key": "issued a token for another key",
    "bound by an algorithm of its own": "lists no algorithm that mcp-tui has",
    "bound, endless nonces of the token endpoint": "refused to issue a token: use_dpop_nonce",
    "bound, endless nonces": "asks for a DPoP nonce again",
    "bound, refused proofs": "refuses the proof that this token is ours",
}
"""What the servers do, and a part of the sentence that refuses it."""

PATCHES: dict[str, dict[str, Any]] = {
    "wrong issuer": {"issuer": EVIL},
    "mixed-up issuer": {"iss": EVIL},
    "missing iss": {"iss": None},
    "error of another issuer": {
        "code": None, "error": "access_denied", "error_description": "CALL 555", "iss": EVIL,
    },
    "another resource": {"resource": f"{EVIL}/mcp"},
    "private authorization server": {"authorization_servers": ["https://169.254.169.254"]},
    "decimal address": {"authorization_servers": ["https://2852039166"]},
    "javascript endpoint": {"authorization_endpoint": "javascript:alert(1)//"},
    "plain http endpoint": {"authorization_endpoint": "http://as.example/authorize"},
    "credentials in endpoint": {"authorization_endpoint": "https://me:canary@as.example/authorize"},
    "no pkce": {"code_challenge_methods_supported": None},
    "no registration": {"registration_endpoint": None},
    "another type": {"token_type": "mac"},
    "bound, but the token is not": {"token_type": "Bearer"},
    "bound by an algorithm of its own": {"dpop_signing_alg_values_supported": ["none", "HS256"]},
}  # fmt: skip
"""What a lie changes in the document that has one of these members; ``None`` takes it away."""


class Lying:
    """The two servers. ``secrets`` is all that they handed out, ``asked`` what reached the authorization server.

    With a lie that begins with ``bound`` tokens are bound to a key, and both servers want a nonce in each proof.
    """

    def __init__(self, lie: str = "") -> None:
        assert (
            not lie
            or lie in LIES
            or lie.startswith(("endless", "refresh", "short", "bound", "grants", "redirects", "slash"))
        )
        self.lie = lie
        self.mcp = HttpScript(self._mcp)
        self.issuing = HttpScript(self._issue)
        self.elsewhere = HttpScript(self._issue)
        self.moved = False
        """Whether another server issues the tokens now."""
        self.secrets: set[str] = set()
        self.good: set[str] = set()
        self.refreshes: set[str] = set()
        self.scopes: dict[str, set[str]] = {}
        self.registered: set[str] = set()
        self.redirects: set[str] = set()
        """The redirect URIs that a client may have, compared exactly; any if there are none."""
        self.challenges: dict[str, dict[str, str]] = {}
        self.signed_in = 0
        self.refreshed = 0
        self.assertions: list[str] = []
        self.keys: dict[str, str] = {}
        """The key of each bound token, by its thumbprint."""
        self.proofs: set[str] = set()

    def forget(self) -> None:
        """Know none of the clients any more."""
        self.registered.clear()

    def revoke(self) -> None:
        """Know none of the tokens any more, access and refresh tokens alike."""
        self.good.clear()
        self.refreshes.clear()

    @property
    def bound(self) -> bool:
        return self.lie.startswith("bound")

    @property
    def url(self) -> str:
        return self.mcp.url

    @property
    def issuer(self) -> str:
        return (self.elsewhere if self.moved else self.issuing).url.removesuffix("/mcp")

    @property
    def asked(self) -> list[str]:
        return [call.path.partition("?")[0] for call in self.issuing.calls]

    def canary(self, kind: str) -> str:
        made = f"{kind}-canary-{secrets.token_hex(12)}"
        self.secrets.add(made)
        return made

    # -- the MCP server ------------------------------------------------------------------------------------------

    async def _mcp(self, call: Call) -> None:
        if call.path.startswith("/.well-known/oauth-protected-resource"):
            await self._resource(call)
        elif call.path != "/mcp":
            await call.respond(404)
        elif call.method != "POST":
            await call.respond(405)
        else:
            await self._message(call)

    async def _resource(self, call: Call) -> None:
        if self.lie == "redirect to a private address":
            await call.respond(302, headers={"Location": "http://169.254.169.254/latest"})
            return
        if self.lie == "endless metadata":
            await call.respond(200, b'{"resource":"' + b"x" * 600_000 + b'"}', "application/json")
            return
        metadata = {
            "resource": f"{self.url}-other" if self.lie == "sibling resource" else self.url,
            "authorization_servers": [
                f"{self.issuer}/" if self.lie == "slash in the resource" else self.issuer
            ],
            "scopes_supported": ["read"],
            "dpop_bound_access_tokens_required": self.bound and self.lie != BOUND_BY_CHALLENGE,
        }
        await self._json(call, metadata)

    async def _message(self, call: Call) -> None:
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        assert not token or scheme == ("DPoP" if self.bound else "Bearer")
        if token and self.bound and not await self._proved(call, self.url, token):
            return
        if token not in self.good or self.lie == "never satisfied":
            origin = EVIL if self.lie == "metadata elsewhere" else self.url.removesuffix("/mcp")
            where = f"{origin}/.well-known/oauth-protected-resource/mcp"
            kind = "DPoP" if self.lie == BOUND_BY_CHALLENGE else "Bearer"
            await self._challenge(call, 401, f'{kind} resource_metadata="{where}"')
            return
        if self.lie.startswith("short"):
            self.good.discard(token)
        name = call.message.get("params", {}).get("name", "")
        if call.rpc == "tools/call" and name not in self.scopes[token] and name != "open":
            wanted = name if self.lie != "endless step-up" else f"more-{secrets.token_hex(2)}"
            await self._challenge(call, 403, f'Bearer error="insufficient_scope", scope="{wanted}"')
            return
        await self._answer(call)

    async def _challenge(self, call: Call, status: int, value: str) -> None:
        body = b"x" * 20_000_000 if self.lie == "endless refusal" else b""
        await call.respond(status, body, "text/plain", headers={"WWW-Authenticate": value})

    async def _answer(self, call: Call) -> None:
        match call.rpc:
            case "server/discover":
                await call.respond(404)
            case "initialize":
                server = {"name": "guarded", "version": "1"}
                await call.answer(
                    {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
                )
            case "tools/list":
                schema = {"type": "object"}
                await call.answer(
                    {"tools": [{"name": each, "inputSchema": schema} for each in ("open", "write")]}
                )
            case "tools/call":
                talkative = self.lie.endswith("and talkative")
                said = f"done {call.headers}" if talkative else "done"
                await call.answer({"content": [{"type": "text", "text": said}]})
            case _:
                await call.respond(202)

    # -- the authorization server --------------------------------------------------------------------------------

    async def _issue(self, call: Call) -> None:
        match urlsplit(call.path).path:
            case "/.well-known/oauth-authorization-server" if self.lie == "page for metadata":
                await call.respond(200, b"<p>Welcome", "text/html")
            case "/.well-known/oauth-authorization-server" if self.lie != "no metadata":
                await self._json(call, self._metadata())
            case "/register" if self.lie == "closed registration":
                why = {"error": "access_denied", "error_description": "ask CALL 556"}
                await self._json(call, why, 403)
            case "/register" if self.lie == "registration by a page":
                await call.respond(200, b"<p>Welcome", "text/html")
            case "/register" if self.lie == "registration without an id":
                await self._json(call, {"client_name": "mcp-tui"}, 201)
            case "/register" if self.lie == "registration of too many":
                await call.respond(429, b"slow down", "text/plain")
            case "/register":
                client = self.canary("client-id")
                self.registered.add(client)
                made = {"client_id": client, "client_secret": self.canary("client-secret")}
                await self._json(call, made | {"token_endpoint_auth_method": "client_secret_post"}, 201)
            case "/authorize":
                back = self.redirect(call.path)
                await call.respond(302 if back else 422, headers={"Location": back} if back else {})
            case "/token":
                await self._token(call)
            case _:
                await call.respond(404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": f"{self.issuer}/" if self.lie == "slash in the issuer" else self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
            "scopes_supported": ["read", "write", "offline_access"],
            "dpop_signing_alg_values_supported": ["RS512", "ES256"],
        }

    def _patched(self, document: dict[str, Any]) -> dict[str, Any]:
        patch = PATCHES.get(self.lie, {})
        made = document | patch if patch.keys() & document.keys() else document
        return {name: value for name, value in made.items() if value is not None}

    def redirect(self, path: str) -> str:
        """Where the browser goes that opened the page of an authorization request; empty for a page that knows no client."""
        asked = {name: each[0] for name, each in parse_qs(urlsplit(path).query).items()}
        if self.redirects and asked["redirect_uri"] not in self.redirects:
            return ""
        if asked["client_id"] not in self.registered:
            back = {"error": "unauthorized_client", "state": asked["state"], "iss": self.issuer}
            return f"{asked['redirect_uri']}?{urlencode(back)}" if self.lie == "redirects the unknown" else ""
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == self.url
        code = self.canary("code")
        self.challenges[code] = asked
        self.signed_in += 1
        self.secrets |= {asked["state"]}
        back = self._patched({"code": code, "state": asked["state"], "iss": self._metadata()["issuer"]})
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    async def _token(self, call: Call) -> None:
        form = {name: each[0] for name, each in parse_qs(call.body.decode()).items()}
        assert form["resource"] == self.url
        if self.bound and not await self._proved(call, f"{self.issuer}/token"):
            return
        if form["grant_type"] == JWT_BEARER:
            self.assertions.append(form["assertion"])
            token, _ = self._made({"read"})
            await self._json(call, {"access_token": token, "token_type": "Bearer"})
            return
        if form["client_id"] not in self.registered:
            await self._json(call, {"error": "invalid_client"}, 401)
            return
        if form["grant_type"] == "refresh_token":
            if self.lie == "refresh outage":
                await call.respond(503)
                return
            if form["refresh_token"] not in self.refreshes or self.lie == "short, without renewal":
                await self._json(call, {"error": "invalid_grant"}, 400)
                return
            self.refreshed += 1
            scopes = {"read"}
        else:
            asked = self.challenges.pop(form["code"])
            assert digest_of(form["code_verifier"]) == asked["code_challenge"]
            assert form["redirect_uri"] == asked["redirect_uri"]
            self.secrets.add(form["code_verifier"])
            scopes = {"read"} if self.lie == "grants too little" else set(asked.get("scope", "").split())
        token, refresh = self._made(scopes)
        made = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
        if self.bound:
            self.keys[token] = self._jkt(call)
            made["token_type"] = "DPoP"
        if self.lie == "split token":
            made["access_token"] = f"{token}\r\nX-Evil: 1"
        await self._json(call, {**made, "scope": " ".join(sorted(scopes))})

    def _made(self, scopes: set[str]) -> tuple[str, str]:
        token, refresh = self.canary("access"), self.canary("refresh")
        if self.lie == "another audience":
            token = jwt_of({"aud": [EVIL], "jti": token})
            self.secrets.add(token)
        if self.lie == "bound to another key":
            token = jwt_of({"aud": self.url, "cnf": {"jkt": "another"}, "jti": token})
            self.secrets.add(token)
        if self.lie != "refresh loop":
            self.good.add(token)
        self.scopes[token] = scopes
        self.refreshes.add(refresh)
        return token, refresh

    # -- proofs of possession (RFC 9449, section 4.3) ------------------------------------------------------------

    def _jkt(self, call: Call) -> str:
        return jwk.import_key(
            jws.extract_compact(call.headers["dpop"].encode()).headers()["jwk"]
        ).thumbprint()

    async def _proved(self, call: Call, url: str, token: str = "") -> bool:
        """Check a proof, and refuse it where it has not the nonce of this request's server."""
        proof = call.headers["dpop"]
        header = jws.extract_compact(proof.encode()).headers()
        key = jwk.import_key(header["jwk"])
        claims = jwt.decode(proof, key, algorithms=["ES256"]).claims
        assert header["typ"] == "dpop+jwt"
        assert "d" not in header["jwk"]
        assert (claims["htm"], claims["htu"]) == ("POST", url)
        assert claims["jti"] not in self.proofs
        self.proofs.add(claims["jti"])
        self.secrets.add(proof)
        if token:
            assert self.keys[token] == key.thumbprint()
            assert claims["ath"] == digest_of(token)
        nonce = digest_of(url)
        endless = self.lie.endswith("endless nonces" if token else "token endpoint")
        if claims.get("nonce") == nonce and not endless:
            return True
        headers = {"DPoP-Nonce": secrets.token_hex(8) if endless else nonce}
        if token:
            error = "invalid_dpop_proof" if self.lie == "bound, refused proofs" else "use_dpop_nonce"
            headers["WWW-Authenticate"] = f'DPoP error="{error}"'
        await self._json(call, {"error": "use_dpop_nonce"}, 401 if token else 400, headers)
        return False

    async def _json(
        self, call: Call, value: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        await call.respond(status, json.dumps(self._patched(value)).encode(), "application/json", headers)


def digest_of(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def jwt_of(claims: dict[str, Any]) -> str:
    """A JWT that nobody signed."""
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"eyJhbGciOiJub25lIn0.{body}.c2ln"


@contextlib.asynccontextmanager
async def lying(lie: str = "") -> AsyncGenerator[Lying]:
    """Both servers, listening."""
    made = Lying(lie)
    async with made.mcp, made.issuing, made.elsewhere:
        yield made


async def main() -> None:
    async with lying(sys.argv[1] if len(sys.argv) > 1 else "") as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
