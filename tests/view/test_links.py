"""URLs of a server's, taken apart: whole, with the host in sight, and opened only where that is safe."""

from __future__ import annotations

from typing import NamedTuple

from mcp_tui.tui.screens.interaction import link_parts
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless


class Seen(NamedTuple):
    """A URL as it is shown."""

    before: str
    host: str
    after: str
    warnings: list[str]
    opens: bool


def seen(url: str) -> Seen:
    found = link_parts(url)
    before, host, after, *warnings = [*(each if isinstance(each, str) else each[0] for each in found.pieces)]
    return Seen(before, host, after, [each.strip() for each in warnings], found.opens)


def whole(found: Seen) -> str:
    return f"{found.before}{found.host}{found.after}"


def warned(url: str) -> str:
    return " ".join(seen(url).warnings)


def test_an_ordinary_url_is_whole_and_its_host_stands_out() -> None:
    found = seen("https://Example.com:8443/in?a=1#b")
    assert whole(found) == "https://Example.com:8443/in?a=1#b"
    assert found.host == "Example.com:8443"
    assert found.warnings == []
    assert found.opens


def test_the_host_that_stands_out_is_the_one_that_is_visited_and_not_the_one_in_front_of_it() -> None:
    found = seen("https://bank.example@evil.example/bank.example")
    assert found.host == "evil.example"
    assert found.before == "https://bank.example@"
    assert "The URL contains credentials" in found.warnings[0]
    assert found.opens


@cases("user", ["evil.example", "x:evil.example", "evil.example:evil.example"])
def test_a_name_that_looks_like_the_host_does_not_take_its_place(user: str) -> None:
    found = seen(f"https://{user}@evil.example/")
    assert found.before == f"https://{user}@"
    assert found.host == "evil.example"


def test_a_host_in_punycode_is_spelt_out() -> None:
    assert "аpple.com" in warned("https://xn--pple-43d.com/")


def test_a_host_in_other_letters_is_spelt_in_ascii() -> None:
    assert "xn--pple-43d.com" in warned("https://аpple.com/")


@cases(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:text/html,x",
        "vscode://x/y",
        "mailto:a@b",
        "example.com",
        "//example.com/",
        "https:///path",
        "",
        "-h",
    ],
)
def test_nothing_but_http_and_https_opens(url: str) -> None:
    found = seen(url)
    assert not found.opens
    assert "Only http and https URLs can be opened." in found.warnings


@cases("url", ["https://[::1", "https://a:99999/", "https://a:b/", "http://[x]/"])
def test_what_cannot_be_read_does_not_open(url: str) -> None:
    found = link_parts(url)
    assert not found.opens
    assert found.pieces[1] == ("\nThe URL is not valid.", "$warning")


def test_http_says_that_it_is_not_encrypted_but_for_this_machine() -> None:
    assert "not encrypted" in warned("http://example.com/")
    assert not warned("http://localhost:8080/")
    assert not warned("http://127.0.0.1/")
    assert not warned("http://[::1]:80/")


@cases("url", ["https://a.example/\u202egpj", "https://a.example/ b", "https://a.example/\n"])
def test_characters_that_cannot_be_seen_keep_it_from_opening(url: str) -> None:
    found = seen(url)
    assert not found.opens
    assert "invisible characters" in " ".join(found.warnings)


def test_hostile_text_is_harmless_wherever_it_stands() -> None:
    for url in ("https://{}.example/", "https://a.example/{}", "{}", "https://{}@a.example/"):
        for payload in PAYLOADS.values():
            for piece in link_parts(url.format(payload)).pieces:
                assert_harmless((piece if isinstance(piece, str) else piece[0]).strip("\n"))


def test_a_backslash_that_a_browser_reads_otherwise_keeps_it_from_opening() -> None:
    found = seen("https://evil.example\\@good.example/")
    assert not found.opens
    assert "backslash" in " ".join(found.warnings)
