"""Secrets in running text, in what was given for a server, and in signed URLs; and ordinary text that looks like them."""

# ruff: noqa: E501 - lists
from __future__ import annotations

import json
from pathlib import Path

from mcp_tui.journal.masks import is_harmless, known_secrets, mask_given, mask_headers, mask_url
from mcp_tui.journal.redaction import MASK, Redactor
from mcp_tui.transport.targets import HttpTarget, StdioTarget
from tests.cases import cases

CANARY = "Zx81canaryQ7vv"

TEXTS = (
    "password={}", "password = {}", "password: {}", "Password: {}", "PASSWORD={}", "passwd={} user=bob", "pwd={};", "db_password={}",
    "api_key: {}", "api_key={}", "apiKey: {}", "API-Key: {}", "X-API-Key: {}", "x-api-key={}", "client_secret={}", "secret: {}",
    "Cookie: sid={}", "Set-Cookie: sid={}; Path=/", "Cookie: a=1; b={}", "export TOKEN={}", "TOKEN={}", "token: {}", "access_token={}",
    "GH_PAT={}", "JWT={}", "jwt: {}", "BEARER={}", "AUTH={}", "auth: {}", "OTP={}", "CREDS={}", "STRIPE_SK={}", "otp={}", "pin={}",
    "session_id={}", "session_id: {}", "sessionId={}", "code_verifier={}", "Authorization: Bearer {}", "Authorization: Basic {}",
    "authorization={}", "passphrase='{}'", 'password="{}"', "Authorization: {}", "credential={}", "aws_secret_access_key={}",
    "connecting with password={} to db", "error: invalid token: {}", "env: {{TOKEN={}}}", "(api_key={})", "--password={}",
)  # fmt: skip

URLS = (
    "https://b.example/x?X-Amz-Signature={}&X-Amz-Expires=60", "https://b.example/x?X-Amz-Credential={}", "https://b.example/?sig={}",
    "https://b.example/?X-Goog-Signature={}", "https://b.example/?X-Amz-Security-Token={}", "https://u:{}@b.example/",
    "https://b.example/?Signature={}", "https://b.example/cb?code={}", "https://b.example/?session_id={}",
)  # fmt: skip

MEMBERS = (
    "otp", "jwt", "pin", "session_id", "code_verifier", "auth", "bearer", "creds", "GH_PAT", "STRIPE_SK", "token", "apiKey",
    "password", "Cookie", "authorization", "clientSecret",
)  # fmt: skip

ORDINARY = """
sorted(rows, key=len)
sorted(rows, key=lambda row: row.name)
password: required
Password: must be at least 12 characters
the token: expired
error: invalid token: not given
{"path": "src/a.py", "task": "write", "ping": "pong"}
key: value
keyword=argument
max_tokens=4096
tokens: 1234
author: Ada Lovelace
pattern=^[a-z]+$
mapping: {a: b}
the session: it went well
primary_key=customer_id
token_type: Bearer
auth_method=none
TOKEN=$TOKEN
password=<your password>
api_key=${API_KEY}
secret: null
opinion: this is fine
https://b.example/docs?page=2&sort=asc
compass: north-north-west
disk: /dev/sda1 100GB
risk=low
shopping: milk, eggs
"session" of 3 hours: fine
monkey=banana
pinned: true
patch: applied
patient: Mr. Smith 12345678
skip=true
spin: 12 rounds of 99
update authentication: done
""".strip().splitlines()


@cases("text", [*TEXTS, *URLS])
@cases("depth", [0, 1, 2])
def test_a_secret_in_running_text_is_hidden(text: str, depth: int):
    said = text.format(CANARY)
    for _ in range(depth):
        said = json.dumps({"text": f"line one\n{said}\nline two"})
    clean = Redactor().text(said)
    assert CANARY not in clean
    if depth:
        assert json.loads(clean)


@cases("name", MEMBERS)
def test_a_secret_under_its_name_is_hidden(name: str):
    assert CANARY not in Redactor().text(json.dumps({"arguments": {name: CANARY, "user": "bob"}}))


@cases("text", ORDINARY)
def test_ordinary_text_stays_whole(text: str):
    assert Redactor().text(text) == text
    assert json.loads(Redactor().text(json.dumps({"text": text}))) == {"text": text}


@cases("url", URLS)
def test_a_signed_url_is_shown_without_its_signature(url: str):
    assert CANARY not in mask_url(url.format(CANARY))


def test_whatever_is_given_for_a_server_is_a_secret_unless_it_is_plainly_none(tmp_path: Path):
    given = {
        "REGION_CODE": CANARY,
        "NAME": "short",
        "PORT": "12345678",
        "LOG": "critical",
        "HOME": str(tmp_path),
    }
    found = known_secrets(StdioTarget(command=("run",), env=given))
    assert found == {CANARY}
    headers = {"X-Tenant": CANARY, "Accept": "application/json"}
    assert known_secrets(HttpTarget(url="https://h/mcp", headers=headers)) == {CANARY}
    signed = f"https://h/?sig={CANARY}&x=1"
    assert known_secrets(HttpTarget(url="https://h/mcp", headers={"X-Back": signed})) == {signed, CANARY}
    assert CANARY not in Redactor(found).text(f"the tenant {CANARY} said hello")


def test_what_was_given_is_hidden_in_its_own_field_however_short_it_is():
    given = {"REGION": "eu-west", "X-Tenant": "acme", "TOKEN": "true"}
    shown = {"PORT": "8080", "Accept": "text/html", "EMPTY": ""}
    masked = {name: mask_given(name, value) for name, value in (given | shown).items()}
    assert masked == dict.fromkeys(given, MASK) | shown
    assert mask_headers({"X-Tenant": "acme"}) == {"X-Tenant": MASK}


def test_what_is_plainly_no_secret(tmp_path: Path):
    harmless = (
        "1 -2.5 true off debug WARNING en_US.UTF-8 text/html https://a.example/x production 10.0.0.1:8080"
    )
    assert all(map(is_harmless, ["", *harmless.split(), str(tmp_path)]))
    assert not any(map(is_harmless, [CANARY, "/no/such/place/at/all", "abcdefgh", "https://a.example/?x=1"]))
