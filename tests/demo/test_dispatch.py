from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_tui.demo.frames import SUPPORTED
from tests.demo.conftest import Make
from tests.demo.official import MODERN, RESULTS, REVISIONS
from tests.demo.peers import Peer, StdioPeer, initialize

HANDSHAKE = REVISIONS[:-1]
LISTS = {
    "tools/list": ("tools", 14),
    "resources/list": ("resources", 2),
    "resources/templates/list": ("resourceTemplates", 1),
    "prompts/list": ("prompts", 2),
}
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


class TestHandshake:
    @pytest.mark.parametrize("transport", ["stdio", "http"])
    @pytest.mark.parametrize("revision", HANDSHAKE)
    def test_the_revision_that_is_asked_for_is_spoken(
        self, connect: Make, transport: str, revision: str
    ) -> None:
        peer = connect(transport, revision)
        info = peer.exchanges[1].result()["serverInfo"]
        assert info["name"] == "mcp-tui-demo"
        assert ("title" in info) == (revision >= "2025-06-18")
        assert peer.request("ping").result() == {}

    @pytest.mark.parametrize("asked", [MODERN, "1999-01-01", ""])
    def test_an_unknown_revision_is_answered_with_the_latest(self, tmp_path: Path, asked: str) -> None:
        with StdioPeer("2025-11-25", tmp_path / "log") as peer:
            assert peer.request("initialize", initialize(asked)).result()["protocolVersion"] == "2025-11-25"

    def test_initialize_without_a_version_is_refused(self, tmp_path: Path) -> None:
        with StdioPeer("2025-11-25", tmp_path / "log") as peer:
            assert peer.request("initialize").error()["code"] == -32602
            assert peer.request("initialize", initialize("2025-11-25")).result()

    def test_initialize_twice_is_refused(self, connect: Make) -> None:
        peer = connect("stdio", "2025-11-25")
        assert peer.request("initialize", initialize("2025-06-18")).error()["code"] == -32600
        assert peer.request("ping").result() == {}

    def test_nothing_but_ping_comes_before_it(self, tmp_path: Path) -> None:
        with StdioPeer("2025-11-25", tmp_path / "log") as peer:
            assert peer.request("ping").result() == {}
            assert peer.request("tools/list").error()["code"] == -32602

    def test_the_level_of_log_messages(self, connect: Make) -> None:
        peer = connect("stdio", "2025-06-18")
        assert peer.request("logging/setLevel", {"level": "warning"}).result() == {}
        assert peer.request("logging/setLevel", {"level": "loud"}).error()["code"] == -32602

    def test_what_is_no_method_of_the_revision(self, connect: Make) -> None:
        peer = connect("http", "2025-11-25")
        for method in ("server/discover", "subscriptions/listen", "completion/complete", "x"):
            assert peer.request(method).error()["code"] == -32601


class TestModern:
    def test_discover(self, connect: Make) -> None:
        for transport in ("stdio", "http"):
            result = connect(transport, MODERN).request("server/discover").result()
            assert result["supportedVersions"] == list(SUPPORTED)
            assert result["resultType"] == "complete"
            offered = {"extensions", "logging", "prompts", "resources", "tools"}
            assert result["capabilities"].keys() == offered
            assert result["capabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}}

    def test_no_log_messages_but_for_requests_that_ask(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        level = "io.modelcontextprotocol/logLevel"
        assert peer.call("flood", count=3).messages == []
        call = peer.call("flood", meta={level: "debug"}, count=3)
        assert call.text()
        assert len(call.messages) == 3
        assert peer.call("flood", meta={level: "deafening"}, count=3).error()["code"] == -32602

    def test_what_meta_lacks(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        for missing in (VERSION, CAPABILITIES):
            error = peer.request("tools/list", meta={missing: None}).error()
            assert error["code"] == -32602
            assert missing in error["message"]

    def test_a_version_that_cannot_be_declared(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        for version in ("2025-11-25", "2099-01-01"):
            error = peer.request("tools/list", meta={VERSION: version}).error()
            assert error["code"] == -32022
            assert error["data"] == {"supported": list(SUPPORTED), "requested": version}

    @pytest.mark.parametrize("transport", ["stdio", "http"])
    def test_what_is_no_method_of_the_revision(self, connect: Make, transport: str) -> None:
        peer = connect(transport, MODERN)
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            assert peer.request(method).error()["code"] == -32601

    def test_both_eras_on_one_pipe(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        assert peer.request("server/discover").result()
        peer.modern, peer.revision = False, "2025-06-18"
        assert (
            peer.request("initialize", initialize("2025-06-18")).result()["protocolVersion"] == "2025-06-18"
        )
        assert "resultType" not in peer.call("echo", text="x").result()
        peer.modern, peer.revision = True, MODERN
        assert peer.call("echo", text="x").result()["resultType"] == "complete"


class TestSubscriptions:
    @pytest.mark.parametrize("transport", ["stdio", "http"])
    def test_one_is_acknowledged_and_ends_silently_when_cancelled(
        self, connect: Make, transport: str
    ) -> None:
        peer = connect(transport, MODERN)
        listen = peer.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        peer.wait(lambda: bool(listen.frames))
        (frame,) = listen.frames
        assert frame["method"] == "notifications/subscriptions/acknowledged"
        assert frame["params"]["notifications"] == {}
        assert frame["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": listen.id}
        listen.cancel()
        peer.logged("stopped", listen.id)
        assert listen.responses == []

    def test_the_server_ends_it_gracefully(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        listen = peer.request("subscriptions/listen", {"notifications": {}})
        peer.wait(lambda: bool(listen.frames))
        peer.close()
        assert listen.result()["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen.id

    def test_a_filter_is_needed(self, connect: Make) -> None:
        assert connect("stdio", MODERN).request("subscriptions/listen").error()["code"] == -32602


class TestCatalogue:
    @pytest.mark.parametrize("transport", ["stdio", "http"])
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_everything_keeps_to_the_schema(self, connect: Make, transport: str, revision: str) -> None:
        peer = connect(transport, revision)
        for method, (field, count) in LISTS.items():
            assert len(peer.request(method).result()[field]) == count
        for uri in ("demo://story", "demo://dot", "demo://square/12"):
            (content,) = peer.request("resources/read", {"uri": uri}).result()["contents"]
            assert content["uri"] == uri
        assert content["text"] == "144"
        for name, arguments in (("review", {"code": "x = 1", "focus": "names"}), ("greeting", {})):
            assert peer.request("prompts/get", {"name": name, "arguments": arguments}).result()["messages"]
        assert set(LISTS) < set(RESULTS)

    def test_fields_that_a_revision_does_not_know_are_left_out(self, connect: Make) -> None:
        fields: dict[str, set[str]] = {}
        for revision in REVISIONS:
            tools = connect("stdio", revision).request("tools/list").result()["tools"]
            fields[revision] = {field for tool in tools for field in tool}
        old = {"name", "description", "inputSchema"}
        new = old | {"annotations", "title", "outputSchema"}
        assert list(fields.values()) == [old, old | {"annotations"}, new, new | {"execution"}, new]

    @pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
    def test_pages(self, connect: Make, revision: str) -> None:
        peer = connect("http", revision, "--page-size", 5)
        names: list[str] = []
        params: dict[str, Any] = {}
        sizes: list[int] = []
        while True:
            result = peer.request("tools/list", params).result()
            sizes.append(len(result["tools"]))
            names += [tool["name"] for tool in result["tools"]]
            if "nextCursor" not in result:
                break
            params = {"cursor": result["nextCursor"]}
        assert sizes == [5, 5, 4]
        assert len(set(names)) == 14

    def test_an_unknown_cursor(self, connect: Make) -> None:
        peer = connect("stdio", "2025-11-25", "--page-size", 5)
        for cursor in ("from-7", "from-0", "", 5):
            assert peer.request("tools/list", {"cursor": cursor}).error()["code"] == -32602

    @pytest.mark.parametrize(
        ("revision", "code"), [("2024-11-05", -32002), ("2025-11-25", -32002), (MODERN, -32602)]
    )
    def test_what_is_not_there(self, connect: Make, revision: str, code: int) -> None:
        peer = connect("stdio", revision)
        for uri in (
            "demo://nothing",
            "demo://square/x",
            "demo://square/",
            "demo://square/1_0",
            "demo://square/²",
        ):
            error = peer.request("resources/read", {"uri": uri}).error()
            assert (error["code"], error["data"]) == (code, {"uri": uri})
        assert peer.request("resources/read").error()["code"] == -32602
        assert peer.request("prompts/get", {"name": "nothing"}).error()["code"] == -32602
        assert peer.request("prompts/get", {"name": "review"}).error()["code"] == -32602
        assert peer.request("prompts/get", {"name": "review", "arguments": []}).error()["code"] == -32602
        assert (
            peer.request("resources/read", {"uri": "demo://square/-3"}).result()["contents"][0]["text"] == "9"
        )


class TestCalls:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_bad_arguments(self, connect: Make, revision: str) -> None:
        peer = connect("stdio", revision)
        call = peer.call("add", a=1)
        if revision < "2025-11-25":
            assert call.error()["code"] == -32602
            assert '"b" is a required' in call.error()["message"]
        else:
            assert call.result()["isError"] is True
            assert '"b" is a required' in call.result()["content"][0]["text"]

    def test_what_is_no_tool(self, peer: Peer) -> None:
        assert peer.call("nothing").error()["code"] == -32602
        mirrored = peer.modern and peer.transport == "http"  # where no name is mirrored, that comes first
        assert peer.request("tools/call").error()["code"] == (-32020 if mirrored else -32602)
        assert peer.request("tools/call", {"name": "echo", "arguments": []}).error()["code"] == -32602

    def test_an_id_in_use(self, connect: Make) -> None:
        peer = connect("stdio", "2025-11-25")
        call = peer.call("silent")
        peer.send(
            call, {"jsonrpc": "2.0", "id": call.id, "method": "tools/call", "params": {"name": "silent"}}
        )
        assert call.error()["code"] == -32600
        call.cancel()

    def test_the_type_belongs_to_the_id(self, connect: Make) -> None:
        """A cancel of ``"2"`` is none of ``2``, nor is one of ``2.0``; a malformed one is ignored."""
        peer = connect("stdio", "2025-11-25")
        call = peer.call("count")
        params: list[Any] = [
            {"requestId": str(call.id)},
            {"requestId": float(call.id)},
            {"requestId": None},
            {},
            [],
        ]
        for wrong in params:
            peer.notify("notifications/cancelled", wrong)
        peer.notify("notifications/unheard-of", {})
        assert peer.request("ping").result() == {}
        assert peer.events("cancelled", call.id) == []
        call.cancel()
        peer.logged("stopped", call.id)
