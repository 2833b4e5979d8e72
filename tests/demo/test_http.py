from __future__ import annotations

import http.client as http_client
import json
from typing import Any

import pytest

from tests.demo.conftest import Make
from tests.demo.official import MODERN, check
from tests.demo.peers import META, HttpPeer

PING = {"jsonrpc": "2.0", "id": 90, "method": "ping"}
SSE = "text/event-stream"


def http(connect: Make, revision: str) -> HttpPeer:
    peer = connect("http", revision)
    assert isinstance(peer, HttpPeer)
    return peer


def listen(peer: HttpPeer) -> tuple[http_client.HTTPConnection, http_client.HTTPResponse]:
    """Opens the session's own stream."""
    connection = peer.connect()
    connection.request("GET", "/mcp", headers=peer.headers({}))
    return connection, connection.getresponse()


def listing(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 91, "method": "tools/list", "params": {"_meta": META, **params}}


class TestSource:
    """Pages of other sites are refused (DNS rebinding)."""

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Host": "localhost:1"}, 200),
            ({"Host": "evil.example"}, 403),
            ({"Origin": "http://127.0.0.1"}, 200),
            ({"Origin": "http://evil.example"}, 403),
            ({"Sec-Fetch-Site": "same-site"}, 403),
            ({"Referer": "https://evil.example/"}, 403),
        ],
    )
    def test_host_and_origin(self, modern: HttpPeer, headers: dict[str, str | None], status: int) -> None:
        assert modern.post(listing(), headers)[0] == status

    def test_other_paths_and_methods(self, modern: HttpPeer) -> None:
        assert modern.post(listing(), path="/")[0] == 404
        assert modern.post(listing(), path="/mcp?x=1")[0] == 200
        status, _, headers = modern.post(listing(), method="PUT")
        assert (status, headers["allow"]) == (405, "POST, GET, DELETE")
        assert modern.post(b"", method="HEAD")[:2] == (405, b"")

    def test_a_get_asks_for_events(self, connect: Make) -> None:
        peer = http(connect, "2025-11-25")
        assert peer.post(b"", {"Accept": "*/*"}, method="GET")[0] == 406


class TestMessages:
    @pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
    def test_what_is_no_message(self, connect: Make, revision: str) -> None:
        peer = http(connect, revision)
        for body in (b"garbage", b"", b"7", b"[]", b'[{"a":1}]', b'{"jsonrpc":"2.0"}'):
            status, answer, _ = peer.post(body)
            assert status == 400
            check(json.loads(answer), "2025-11-25")

    def test_content_types(self, modern: HttpPeer) -> None:
        assert modern.post(listing(), {"Content-Type": "application/json; charset=utf-8"})[0] == 200
        assert modern.post(listing(), {"Content-Type": "text/plain"})[0] == 415
        assert modern.post(listing(), {"Content-Type": None})[0] == 415


class TestSession:
    def test_it_is_needed(self, connect: Make) -> None:
        peer = http(connect, "2025-11-25")
        for method in ("POST", "GET", "DELETE"):
            assert peer.post(PING, {"Mcp-Session-Id": None}, method=method)[0] == 400
            assert peer.post(PING, {"Mcp-Session-Id": "unknown"}, method=method)[0] == 404
        assert peer.post(PING)[0] == 200

    def test_deleting_it_ends_what_is_at_work_in_it(self, connect: Make) -> None:
        peer = http(connect, "2025-11-25")
        call = peer.call("stubborn")
        listener, stream = listen(peer)
        peer.logged("received", call.id)
        assert peer.post(b"", method="DELETE")[0] == 204
        assert stream.read() == b""
        listener.close()
        peer.wait(call.done.is_set)
        assert call.frames == []
        assert peer.events("dropped", call.id)
        assert peer.post(PING)[0] == 404

    def test_a_batch(self, connect: Make) -> None:
        peer = http(connect, "2025-03-26")
        echo = {"name": "echo", "arguments": {"text": "a"}}
        batch = [PING, {"jsonrpc": "2.0", "id": 92, "method": "tools/call", "params": echo}]
        status, body, headers = peer.post(batch)
        assert (status, headers["content-type"]) == (200, SSE)
        data = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
        assert sorted(json.loads(each)["id"] for each in data) == [90, 92]
        assert peer.post([{"jsonrpc": "2.0", "method": "notifications/x"}])[0] == 202
        assert http(connect, "2025-06-18").post(batch)[0] == 400


class TestModern:
    def test_a_posted_cancel_has_no_effect(self, modern: HttpPeer) -> None:
        modern.step("count")
        call = modern.call("count", steps=2)
        call.beats(1)
        frame = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call.id}}
        assert modern.post(frame)[:2] == (202, b"")
        modern.step("count")
        assert call.text() == "counted to 2"
        assert modern.events("cancelled", call.id) == []

    @pytest.mark.parametrize(
        ("headers", "found"),
        [
            ({"MCP-Protocol-Version": None}, "MCP-Protocol-Version"),
            ({"MCP-Protocol-Version": "2025-11-25"}, "MCP-Protocol-Version"),
            ({"Mcp-Method": None}, "Mcp-Method"),
            ({"Mcp-Method": "tools/LIST"}, "Mcp-Method"),
            ({"Mcp-Method": "=?base64?\xe9?="}, "Mcp-Method"),
        ],
    )
    def test_headers_mirror_the_body(
        self, modern: HttpPeer, headers: dict[str, str | None], found: str
    ) -> None:
        status, body, _ = modern.post(listing(), headers)
        frame = json.loads(body)
        check(frame, MODERN)
        assert (status, frame["id"], frame["error"]["code"]) == (400, 91, -32020)
        assert found in frame["error"]["message"]
