from __future__ import annotations

import json

import pytest

from mcp_tui.journal.masks import known_secrets, mask_command, mask_headers, mask_url, secrets_in
from mcp_tui.journal.redaction import Redactor
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.targets import HttpTarget, StdioTarget
from tests.cases import cases

M = "‹redacted›"


def test_a_credential_of_foreign_characters_is_a_secret_like_any_other():
    headers = {"X-Authorization": "Basic tök", "Proxy-Authorization": "Bearer “abc”"}
    assert known_secrets(HttpTarget(url="http://h/", headers=headers)) >= {"tök", "“abc”"}


def test_headers_keep_their_names_and_schemes() -> None:
    headers = {"Authorization": "Bearer abc", "X-API-Key": "k", "Accept": "text/html", "Cookie": "a=b; c=d"}
    masked = {"Authorization": f"Bearer {M}", "X-API-Key": M, "Accept": "text/html", "Cookie": M}
    assert mask_headers(headers | {"authorization": "raw"}) == masked | {"authorization": M}


@cases(
    ("url", "masked"),
    [
        ("https://host:8080/mcp", "https://host:8080/mcp"),
        ("https://u:p@host/mcp", f"https://u:{M}@host/mcp"),
        ("https://tok@host/mcp", f"https://{M}@host/mcp"),
        ("https://host/mcp?token=a&mode=sse", f"https://host/mcp?token={M}&mode=sse"),
        ("https://host/mcp?code=a&x=", f"https://host/mcp?code={M}&x="),
        ("https://host/mcp?k=0123456789abcdefghij", f"https://host/mcp?k={M}"),
        ("https://host/s/OTk4abcdefghijklmnop123/mcp", f"https://host/s/{M}/mcp"),
        ("https://host//OTk4abcdefghijklmnop123", f"https://host//{M}"),
        ("https://my-host-name-123-long-enough/", "https://my-host-name-123-long-enough/"),
        ("https://host/a-long-path-with-words-only", "https://host/a-long-path-with-words-only"),
        ("https://host/#access_token=abc", f"https://host/#access_token={M}"),
        ("no url", "no url"),
    ],
)
def test_urls(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_command_lines() -> None:
    argv = [
        "npx", "-y", "@scope/server", "--api-key", "abc", "--token=x", "API_TOKEN=y", "--verbose", "--password",
        "--next", "-e", "GITHUB_TOKEN=z", "-H", "Authorization: Bearer zz", "--header=X-API-Key: k", "--key-file",
        "https://u:p@h/mcp?token=1", "db=postgres://a:b@c/d", '{"token": "x", "y": 1}', "plain",
    ]  # fmt: skip
    assert mask_command(argv) == [
        "npx", "-y", "@scope/server", "--api-key", M, f"--token={M}", f"API_TOKEN={M}", "--verbose", "--password",
        "--next", "-e", f"GITHUB_TOKEN={M}", "-H", f"Authorization: Bearer {M}", f"--header=X-API-Key: {M}", "--key-file",
        M, f"db=postgres://a:{M}@c/d", f'{{"token": "{M}", "y": 1}}', "plain",
    ]  # fmt: skip


def test_known_secrets_are_gathered_from_everything_that_was_given() -> None:
    env = {"GITHUB_TOKEN": "ghp", "DATABASE_URL": "postgres://a:dbpw@c/d", "DEBUG": "1", "EMPTY_TOKEN": ""}
    command = ("run", "--api-key", "abc", "--mode", "fast", "SECRET=ss")
    assert known_secrets(StdioTarget(command=command, env=env)) == {"ghp", "dbpw", "abc", "ss"}
    headers = {"Authorization": "Basic dXNlcjpwYXNz", "X-Foo": "bar", "Cookie": "sid=123; t=9"}
    assert known_secrets(HttpTarget(url="https://u:urlpw@h/mcp?key=kk#code=9x", headers=headers)) == {
        "dXNlcjpwYXNz", "pass", "sid=123; t=9", "123", "9", "urlpw", "kk", "9x",
    }  # fmt: skip
    assert known_secrets(StdioTarget(command=("run",))) == set()


# -- what we send ----------------------------------------------------------------------------------------------


SENT: list[tuple[Json, set[str]]] = [
    ({"password": "correct horse"}, {"correct horse"}),
    ({"token": "abcdef12"}, {"abcdef12"}),
    ({"key": "customers"}, set()),
    ({"name": "abcdef12"}, set()),
    ({"params": {"_meta": {"progressToken": "abcdef12"}}}, set()),
    ({"credentials": {"type": "service_account", "id": ["abcdef12"]}}, {"service_account", "abcdef12"}),
    ({"auth_token": {"type": "service_account", "id": ["abcdef12"]}}, {"abcdef12"}),
    ({"text": json.dumps({"api_key": json.dumps({"x": "abcdef12"})})}, {json.dumps({"x": "abcdef12"})}),
    ({"text": json.dumps({"a": json.dumps({"api_key": "abcdef12"})})}, {"abcdef12"}),
    ({"url": "https://me:hunter2@example.com/?api_key=abcdef12"}, {"hunter2", "abcdef12"}),
    (
        {"private_key": "-----BEGIN KEY-----\nabcdef12\nabcdef34\n-----END KEY-----"},
        {"abcdef12", "abcdef34"},
    ),
    ({"text": "{broken"}, set()),
    ([[[]]], set()),
    (None, set()),
]


@cases(("message", "found"), SENT)
def test_secrets_in_what_is_sent(message: Json, found: set[str]) -> None:
    assert set(secrets_in(message)) >= found
    assert {each for each in secrets_in(message) if "\n" not in each} == found


@pytest.mark.parametrize("text", ["a", "a=", "a:", "http:", "http://a/", "-", "token "])
def test_long_text_that_is_sent_is_searched_in_linear_time(text: str) -> None:
    """Quadratic time would exceed the time limit of a test."""
    assert secrets_in({"token": text * 200_000}) == set()


def test_each_line_of_a_secret_is_one() -> None:
    key = "-----BEGIN KEY-----\nabcdef12\nshort\n-----END KEY-----"
    assert known_secrets(StdioTarget(command=("run",), env={"TLS_KEY": key})) == {key, "abcdef12"}


def test_what_was_learned_is_found_in_any_words() -> None:
    redactor = Redactor()
    assert redactor.text("it is abcdef12, is it?") == "it is abcdef12, is it?"
    redactor.learn(["abcdef12", "short"])
    assert "abcdef12" not in redactor.text("it is abcdef12, is it?")
    assert redactor.text("it is short") == "it is short"
    redactor.learn(f"secret{number:04}" for number in range(2_000))
    redactor.learn(["too late for this"])
    assert redactor.text("too late for this") == "too late for this"


@cases("lone", [0xDCFF, 0xD800])
def test_a_secret_that_is_not_utf8_is_masked_in_json(lone: int) -> None:
    """Bytes of a command line that are not UTF-8 come as lone surrogates."""
    text = f'{{"apiKey": "sk-12345678{chr(lone)}9"}}'
    assert mask_command([text]) == [f'{{"apiKey": "{M}"}}']
    assert mask_command(["{\udcff", "[\ud800"]) == ["{\udcff", "[\ud800"]
    (secret,) = known_secrets(StdioTarget(command=(text,)))
    plain = Redactor([secret], tagged=False)
    assert plain.text(f"it was {secret}") == f"it was {M}"
    assert plain.redact(b"sk-12345678\xff9").decode("utf-8", "replace") == (
        M if "\udcff" in text else "sk-12345678�9"
    )
