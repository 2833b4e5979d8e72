from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.demo.frames import SUPPORTED
from tests.demo.conftest import Make
from tests.demo.official import MODERN, REVISIONS

LISTS = {
    "tools/list": ("tools", 15),
    "resources/list": ("resources", 2),
    "resources/templates/list": ("resourceTemplates", 1),
    "prompts/list": ("prompts", 2),
}
VERSION = "io.modelcontextprotocol/protocolVersion"


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

    def test_a_version_that_cannot_be_declared(self, connect: Make) -> None:
        peer = connect("stdio", MODERN)
        for version in ("2025-11-25", "2099-01-01"):
            error = peer.request("tools/list", meta={VERSION: version}).error()
            assert error["code"] == -32022
            assert error["data"] == {"supported": list(SUPPORTED), "requested": version}


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

    def test_fields_that_a_revision_does_not_know_are_left_out(self, connect: Make) -> None:
        fields: dict[str, set[str]] = {}
        for revision in REVISIONS:
            tools = connect("stdio", revision).request("tools/list").result()["tools"]
            fields[revision] = {field for tool in tools for field in tool}
        old = {"name", "description", "inputSchema"}
        new = old | {"annotations", "title", "outputSchema"}
        assert list(fields.values()) == [old, old | {"annotations"}, new, new | {"execution"}, new]


class TestCalls:
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
