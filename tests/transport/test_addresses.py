from __future__ import annotations

import base64

import pytest

from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from tests.cases import cases


@cases(
    ("text", "url"),
    [
        ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"),
        ("HTTPS://Example.org", "https://example.org"),
        ("  http://h/a#part ", "http://h/a"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
        ("http://müller.example/", "http://xn--mller-kva.example/"),
        ("http://h/mcp?key=1", "http://h/mcp?key=1"),
    ],
)
def test_what_can_be_connected_to(text: str, url: str):
    assert str(parse(text).url) == url


@cases(
    ("text", "words"),
    [
        ("ftp://h/", "not 'ftp'"),
        ("file:///etc/passwd", "not 'file'"),
        ("localhost:8080", "http:// or https://"),
        ("/mcp", "without a scheme"),
        ("", "without a scheme"),
        ("http://", "has no host"),
        ("http://h:99999/", "port 99999"),
        ("http://h:http/", "invalid port"),
        ("http://\x1b[2J/", "Invalid URL"),
        ("http://[::1", "invalid port"),
        ("http://[", "Invalid host name"),
        ("http://exa mple/", "Invalid host name .*exa%20mple'"),
        ("http://h:0/", "port 0"),
        ("http://" + "a" * 70_000, "Invalid URL"),
    ],
)
def test_what_cannot_is_said_in_one_sentence(text: str, words: str):
    with pytest.raises(TransportError, match=words.replace("/", ".")) as caught:
        parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_credentials_become_a_header_and_are_shown_nowhere():
    address = parse("https://ann:p%40ss@h.example/mcp?token=hidden")
    assert address.authorization == "Basic " + base64.b64encode(b"ann:p@ss").decode()
    for text in (str(address.url), address.shown, address.host, repr(address)):
        assert "ann" not in text
        assert "p@ss" not in text
    assert "hidden" not in address.shown
    assert address.shown == "https://h.example/mcp?…"


@cases(
    ("url", "loopback"),
    [
        ("http://127.0.0.1/", True),
        ("http://127.9.9.9/", True),
        ("http://[::1]/", True),
        ("http://LOCALHOST:3/", True),
        ("http://a.localhost./", True),
        ("http://localhost.example/", False),
        ("http://10.0.0.1/", False),
        ("http://example.org/", False),
    ],
)
def test_loopback(url: str, loopback: bool):
    assert parse(url).loopback is loopback


@cases(
    ("reference", "url"),
    [
        ("/messages?session=1", "http://h:9/messages?session=1"),
        ("messages", "http://h:9/a/messages"),
        ("http://h:9/m", "http://h:9/m"),
        ("http://H:9/m", "http://h:9/m"),
        ("http://x:y@h:9/m", "http://h:9/m"),
        ("  /m?session=1 \r", "http://h:9/m?session=1"),
    ],
)
def test_an_endpoint_of_the_same_origin(reference: str, url: str):
    resolved = parse("http://u:p@h:9/a/sse").resolve(reference)
    assert str(resolved.url) == url
    assert resolved.authorization == "Basic " + base64.b64encode(b"u:p").decode()


@cases(
    "reference",
    [
        "http://h:8/m",
        "https://h:9/m",
        "//evil/m",
        "http://evil:9/m",
        "javascript:1",
        "http://h:99999999/m",
        "\x00",
    ],
)
def test_an_endpoint_elsewhere_is_refused(reference: str):
    with pytest.raises(TransportError) as caught:
        parse("http://h:9/sse").resolve(reference)
    assert str(caught.value).isprintable()


def test_a_bad_url_s_credentials_are_not_repeated():
    with pytest.raises(TransportError) as caught:
        parse("ftp://ann:secret@h/")
    assert "secret" not in str(caught.value)
