from __future__ import annotations

from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.revisions import REVISIONS, cancellation
from tests.cases import cases

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"


def test_every_revision_oldest_first() -> None:
    assert tuple(REVISIONS) == (*HANDSHAKE, MODERN)


@cases(
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


CLOSES = "logged locally only (HTTP 2026-07-28 closes the stream instead)"
UNKNOWN = "logged locally only (nothing is sent before the protocol version is known)"


@cases(
    ("revision", "transport", "method", "signal", "told"),
    [
        ("2025-11-25", "http", "tools/call", Signal.NOTIFICATION, "sent to the server; logged"),
        (MODERN, "stdio", "tools/call", Signal.NOTIFICATION, "sent to the server; logged"),
        (MODERN, "http", "tools/call", Signal.STREAM_CLOSED, CLOSES),
        (None, "http", "server/discover", Signal.STREAM_CLOSED, CLOSES),
        (None, "stdio", "server/discover", Signal.NONE, UNKNOWN),
        (None, "http", "initialize", Signal.NONE, "initialize cannot be cancelled: disconnect?"),
    ],
)
def test_how_a_cancel_leaves_and_what_a_person_is_told_before_giving_a_reason(
    revision: str | None, transport: str, method: str, signal: Signal, told: str
) -> None:
    way = cancellation(REVISIONS[revision] if revision else None, transport, method)
    assert (way.signal, way.reason_delivered) == (signal, signal is Signal.NOTIFICATION)
    assert way.why == told
