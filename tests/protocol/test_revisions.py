from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE, REVISIONS, cancellation

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"


def test_every_revision_oldest_first() -> None:
    assert tuple(REVISIONS) == (*HANDSHAKE, MODERN)
    assert all(name == revision.name for name, revision in REVISIONS.items())
    assert LATEST is REVISIONS[MODERN]
    assert LATEST_HANDSHAKE is REVISIONS["2025-11-25"]


@pytest.mark.parametrize(
    ("property_", "holders"),
    [
        ("modern", {MODERN}),
        ("batches", {"2025-03-26"}),
        ("version_header", {"2025-06-18", "2025-11-25", MODERN}),
        ("method_headers", {MODERN}),
        ("resumes", {"2025-03-26", "2025-06-18", "2025-11-25"}),
        ("server_requests", set(HANDSHAKE)),
        ("elicitation", {"2025-06-18", "2025-11-25", MODERN}),
        ("elicitation_modes", {"2025-11-25", MODERN}),
        ("core_tasks", {"2025-11-25"}),
        ("completions_declared", {"2025-03-26", "2025-06-18", "2025-11-25", MODERN}),
        ("completion_context", {"2025-06-18", "2025-11-25", MODERN}),
    ],
)
def test_which_revision_has_what(property_: str, holders: set[str]) -> None:
    assert {name for name, revision in REVISIONS.items() if getattr(revision, property_)} == holders


@pytest.mark.parametrize("method", ["tools/call", "ping", "server/discover", "subscriptions/listen"])
@pytest.mark.parametrize(
    ("revision", "transport", "signal"),
    [
        *((name, "stdio", Signal.NOTIFICATION) for name in (*HANDSHAKE, MODERN)),
        *((name, "http", Signal.NOTIFICATION) for name in HANDSHAKE),
        ("2024-11-05", "sse", Signal.NOTIFICATION),
        (MODERN, "http", Signal.STREAM_CLOSED),
        (None, "stdio", Signal.NONE),
        (None, "http", Signal.STREAM_CLOSED),
    ],
)
def test_how_a_cancel_leaves(revision: str | None, transport: str, signal: Signal, method: str) -> None:
    way = cancellation(REVISIONS[revision] if revision else None, transport, method)
    assert way.signal is signal
    assert way.reason_delivered is (signal is Signal.NOTIFICATION)
    assert way.why


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
@pytest.mark.parametrize("revision", [None, *REVISIONS])
def test_initialize_is_cancelled_nowhere(revision: str | None, transport: str) -> None:
    way = cancellation(REVISIONS[revision] if revision else None, transport, "initialize")
    assert way.signal is Signal.NONE
    assert not way.reason_delivered
    assert "initialize cannot be cancelled" in way.why


def test_what_a_person_is_told_before_giving_a_reason() -> None:
    assert cancellation(REVISIONS["2025-11-25"], "stdio", "x").why == "sent to the server; logged"
    assert (
        cancellation(LATEST, "http", "x").why
        == "logged locally only (HTTP 2026-07-28 closes the stream instead)"
    )
