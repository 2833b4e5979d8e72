"""Which HTTP requests a listener on this machine answers."""

from __future__ import annotations

from mcp_tui.protocol.http_access import (
    OWN_ACCESS,
    HttpAccess,
    asks_for_events,
    host_of,
    joined_headers,
    origin_of,
)
from tests.cases import cases

HERE = {"host": "127.0.0.1:7000"}


@cases(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:7000",
        "localhost:1",
        "LOCALHOST",
        "localhost.",
        "localhost.:80",
        "[::1]",
        "[::1]:7000",
    ],
)
def test_names_of_this_machine_are_answered(host: str):
    assert OWN_ACCESS.refusal({"host": host}) == ""


@cases(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:7000",
        "127.0.0.1, evil.example",
        "evil@127.0.0.1",
        "127.0.0.1:7000@evil.example",
        "127.0.0.1:seven",
        "127.0.0.1/",
        "localhost..",
        "0.0.0.0:7000",
        "2130706433",
        "::1",
        "[::1",
        "[::2]",
        " localhost",
        "localhost\x1b[31m",
    ],
)
def test_any_other_host_is_refused(host: str):
    said = OWN_ACCESS.refusal({"host": host})
    assert said.startswith(("Host '", "The request has no Host."))
    assert said.isprintable()


def test_a_refusal_names_what_came_and_the_option_that_allows_it():
    assert OWN_ACCESS.refusal({"host": "Tap.Example.:8080"}) == (
        "Host 'Tap.Example.:8080' does not name this machine. To allow it, start mcp-tui with --allow-host tap.example"
    )
    assert OWN_ACCESS.refusal({**HERE, "origin": "App://obsidian.md"}) == (
        "Origin 'App://obsidian.md' is not on this machine. To allow it, start mcp-tui with --allow-origin app://obsidian.md"
    )
    for bad in ("$(id)", "a b", "x" * 5000, "<b>"):
        said = OWN_ACCESS.refusal({"host": bad})
        assert "--allow-host" not in said
        assert len(said) < 250


PAGE = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}


@cases(
    "headers",
    [
        {},
        {"sec-fetch-mode": "cors"},  # Node's fetch
        {"sec-fetch-site": "none", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty"},  # Electron's
        PAGE,
        {"origin": "http://localhost:6274", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        {"origin": "http://127.0.0.1", "sec-fetch-site": "same-site"},
        {"origin": "https://[::1]:1"},
        {"referer": "http://localhost:3000/page?x=//evil.example"},
    ],
)
def test_programs_and_pages_of_this_machine_are_answered(headers: dict[str, str]):
    assert OWN_ACCESS.refusal(HERE | headers) == ""


@cases(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "http://localhost@evil.example"},
        {"origin": "http://127.0.0.1, https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "file://"},
        {"origin": "app://localhost"},
        {"origin": "localhost"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "Same-Site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "none, cross-site"},
        {"sec-fetch-site": "of-tomorrow"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-mode": "no-cors"},
        {"origin": "http://localhost:3000", "sec-fetch-mode": "no-cors"},
        {"referer": "https://evil.example/"},
        {"referer": "https://evil.example/http://localhost/"},
        {"referer": "about:client"},
    ],
)
def test_pages_of_websites_are_refused(headers: dict[str, str]):
    assert OWN_ACCESS.refusal(HERE | headers) != ""


def test_a_person_allows_further_origins_and_hosts():
    access = HttpAccess(["vscode-file://vscode-app", "https://tap.example:443"], ["box", "Tap.Example.:7000"])
    page = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    for headers in (
        {"host": "box:1"},
        {"host": "TAP.example:7000"},
        {"origin": "vscode-file://vscode-app", **page},
        {"origin": "https://tap.example", **page},
        {"referer": "https://tap.example/x"},
    ):
        assert access.refusal(HERE | headers) == "", headers
    for headers in (
        {"host": "tap.example"},
        {"host": "box.evil.example"},
        {"origin": "vscode-file://other"},
        {"origin": "http://tap.example"},
        {"origin": "https://tap.example:8443"},
        {"origin": "http://box"},
        {"origin": "https://tap.example", "sec-fetch-mode": "navigate"},
    ):
        assert access.refusal(HERE | headers) != "", headers


@cases(
    "text, host, origin",
    [
        ("box", ("box", ""), "app://box"),
        ("my_box-1.example:7", ("my_box-1.example", "7"), "app://my_box-1.example:7"),
        ("[::1]:7", ("[::1]", "7"), "app://[::1]:7"),
        *(
            (each, None, None)
            for each in ("", "*", "a/b", "http://a", "a b", "a:b", ".", " .", "a..", "é", "a\n")
        ),
    ],
)
def test_hosts_and_origins_are_parsed(text: str, host: tuple[str, str] | None, origin: str | None):
    assert (host_of(text), origin_of(f"app://{text}")) == (host, origin)


@cases(
    "accept, asks",
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream;q=0.5", True),
        ("", False),
        ("*/*", False),
        ("text/*", False),
        ("image/avif,*/*;q=0.8", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream; Q=0.00", False),
        ("x/text/event-stream", False),
    ],
)
def test_accept_asks_for_events(accept: str, asks: bool):
    assert asks_for_events({"accept": accept}) is asks


def test_headers_that_come_twice_are_joined():
    assert joined_headers([(b"Origin", b"a"), (b"X", b"\xe9"), (b"origin", b"b")]) == {
        "origin": "a, b",
        "x": "é",
    }
