"""Secrets in running text, in what was given for a server, and in signed URLs; and ordinary text that looks like them."""

# ruff: noqa: E501 - lists
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp_tui.journal.masks import is_harmless, known_secrets, mask_given, mask_headers, mask_url
from mcp_tui.journal.redaction import MASK, Redactor
from mcp_tui.transport.targets import HttpTarget, StdioTarget
from tests.cases import cases

CANARY = "Zx81canaryQ7vv3k"

TEXTS = (
    "password={}", "password = {}", "password: {}", "Password: {}", "PASSWORD={}", "passwd={} user=bob", "pwd={};", "db_password={}",
    "api_key: {}", "api_key={}", "apiKey: {}", "API-Key: {}", "X-API-Key: {}", "x-api-key={}", "client_secret={}", "secret: {}",
    "Cookie: sid={}", "Set-Cookie: sid={}; Path=/", "Cookie: a=1; b={}", "export TOKEN={}", "TOKEN={}", "token: {}", "access_token={}",
    "GH_PAT={}", "JWT={}", "jwt: {}", "BEARER={}", "AUTH={}", "auth: {}", "OTP={}", "CREDS={}", "STRIPE_SK={}", "otp={}", "pin={}",
    "session_id={}", "session_id: {}", "sessionId={}", "code_verifier={}", "Authorization: Bearer {}", "Authorization: Basic {}",
    "authorization={}", "passphrase='{}'", 'password="{}"', "Authorization: {}", "credential={}", "aws_secret_access_key={}",
    "connecting with password={} to db", "error: invalid token: {}", "env: {{TOKEN={}}}", "(api_key={})", "--password={}",
    "my password is {}", "token is: {}", "password:{}", "{{password:'{}'}}", 'the passphrase was "{}"', "MFA code: {}", "SSN: {}",
    "connection string: {}", "webhook_url={}", "cvv={}", "dsn={}", "sas={}", "security code: {}", "AccountKey={};x=y", "Server=x;Pwd={};",
    "--token {}", "run --api-key '{}' x", "serve -token {} -v", "-p{}", "mysql -p{} db", "mysqldump -u me -p'{}'", "sshpass -p {} ssh h",
    "docker login -u me -p {}", "curl -u me:{} http://h/", "redis-cli -a {} ping", "ghp_{}abcdef", "github_pat_11AA_{}", "sk-proj-1a{}",
    "sk_live_{}abcdef", "xoxb-123-{}", "hf_{}abcdef", "AIzaSy{}abcdef", "hvs.{}1a2b", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}",
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\r\nabcd\r\n{}",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1-2\n\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
    "https://hooks.slack.com/services/T0/B0/{}", "https://discord.com/api/webhooks/123456789012345678/{}",
    "https://a.webhook.office.com/webhookb2/{}", "https://h.example/webhook/1a2b-{}",
)  # fmt: skip

URLS = (
    "https://b.example/x?X-Amz-Signature={}&X-Amz-Expires=60", "https://b.example/x?X-Amz-Credential={}", "https://b.example/?sig={}",
    "https://b.example/?X-Goog-Signature={}", "https://b.example/?X-Amz-Security-Token={}", "https://u:{}@b.example/",
    "https://b.example/?Signature={}", "https://b.example/cb?code={}", "https://b.example/?session_id={}",
)  # fmt: skip

MEMBERS = (
    "otp", "jwt", "pin", "session_id", "code_verifier", "auth", "bearer", "creds", "GH_PAT", "STRIPE_SK", "token", "apiKey",
    "password", "Cookie", "authorization", "clientSecret", "mfa_code", "one_time_code", "2faCode", "recovery_codes", "connectionString",
    "webhook_url", "cvv", "CVC2", "ssn", "Social security number", "sas", "dsn", "card_number", "iban", "seed_phrase", "mnemonic",
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
the password is required, and the token is expired
The secret is out. The session is 5 hours long.
the key is 2048 bytes, the token is 12 characters
if row_key is self._header_row_key:
card_number = self.validate_luhn_check_digit(number)
{"code": "ERR_HTTP2_PROTOCOL_ERROR", "signature": "find2(a: int) -> str", "code2": "for i in 1, 2:"}
{"code": "E1001-NOT-FOUND", "status_code": 404, "zip_code": "12345-6789", "country_code": "US"}
{"name": "color", "value": "blue"}, {"name": "tokens", "other": 1}, {"value": 3}
{"required": ["user", "password", "token"], "args": ["--verbose", "--port", "8080", "--token", "${TOKEN}"]}
use --token to authenticate, or --password PASSWORD; --max-tokens 4096; --key len
docker run -p 8080:80 -v a:b; mkdir -p build2; ssh -p2222 h; python -path2; tar -pxf a.tgz; cp -print3d x
-----BEGIN CERTIFICATE-----\\nMIIBaTCCAQ1+gAwIBAgIBATA\\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\\nMIIBaTCCAQ1+gAwIBAgIBATA\\n-----END PUBLIC KEY-----
sk-button-primary-large-01 risk-1a-2b-3c hf_config_2_large_model_3a npm_config_registry_2a3b
https://docs.example.com/webhooks/webhook-events-and-payloads-v2 https://example.com/hooks/2026-01-02-release-notes
Asia, akin, exchange-1a2b3c4d5e, commit 7f3ac9b2e81d4f60a5c37f3ac9b2e81d4f60a5c3, 550e8400-e29b-41d4-a716-446655440000
the postcode: 12345, the pin: 13 legs, codes: 12 of 99
curl -u me https://h/ ; login -p ; mysql -h db -u me
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


@cases(
    "pair",
    [
        {"name": "{}", "value": CANARY},
        {"value": CANARY, "n": [1], "key": "{}"},
        {"field": "{}", "x": "y", "val": CANARY},
    ],
)
@cases("name", [*MEMBERS, "code", "signature", "client_assertion"])
@cases("depth", [0, 2])
def test_the_value_of_a_named_pair_is_hidden(pair: dict[str, Any], name: str, depth: int):
    said = json.dumps({"all": [{"name": "a", "value": "b"}, pair]}, indent=depth or None).replace("{}", name)
    for _ in range(depth):
        said = json.dumps({"text": said})
    clean = Redactor().text(said)
    assert CANARY not in clean
    for _ in range(depth):
        clean = json.loads(clean)["text"]
    assert json.loads(clean)["all"][0] == {"name": "a", "value": "b"}


def test_numbers_and_lines_that_are_secrets():
    number = '{"cvv":123,"pin":1234,"pin2":7,"card_number":4111111111111111,"args":["--token","abc","-v"]}'
    hidden = '{"cvv":"*","pin":"*","pin2":7,"card_number":"*","args":["--token","*","-v"]}'
    redactor = Redactor(tagged=False)
    assert redactor.text(number).replace(MASK, "*") == hidden
    assert (
        redactor.text("card number: 4111 1111 1111 1111, PIN: 1234").replace(MASK, "*")
        == "card number: *, PIN: *"
    )
    line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg"
    lines = [
        line,
        "-----BEGIN EC PRIVATE KEY-----",
        line,
        "working",
        line,
        "-----END EC PRIVATE KEY-----",
        line,
    ]
    assert [redactor.text(each) for each in lines] == [line, lines[1], MASK, "working", MASK, lines[5], line]


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
