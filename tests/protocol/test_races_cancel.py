"""How a cancel leaves, C-01 to C-09 and C-22 to C-24 by the numbers of the protocol reference, as playbooks.

Not decided by the ledger, and so tested where they are: the order in which a request and its cancel leave (C-05, C-07:
the transports; here: what the ledger asks for), and the second probe after a late ``DiscoverResult`` (C-24: the client;
here: the evidence that it goes by).
"""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Cause, Limits, Signal
from tests.protocol.playbook import (
    MODERN,
    MODERN_HTTP,
    Step,
    Wire,
    after,
    at,
    everywhere,
    handshaken,
    notifying,
    play,
)

NOTIFIED = '-> signal 1 notification {"requestId":1,"reason":"no"}'


# -- how a cancel leaves ---------------------------------------------------------------------------------------


@notifying
def test_c01_c02_c09_cancel_in_flight_once_and_again(wire: Wire) -> None:
    play(
        wire.in_flight(),
        at(2).cancels(1, "wrong table"),
        '-> signal 1 notification {"requestId":1,"reason":"wrong table"}',
        at(2).look(1, "cancel_requested elapsed=2 cause=user reason='wrong table'"),
        at(2.1).leaving(1),
        "-> resolve 1 with nothing",
        at(2.2).signalled(1),
        "CancelSignalled 1 signal=notification reason_delivered=True",
        at(2.2).deadline(4.2),
        at(2.5).cancel(1, "another reason"),
        "= ALREADY_REQUESTED",
        at(4.2).tick(),
        *wire.settles(),
        at(9).look(
            1, "cancelled elapsed=2 cause=user reason='wrong table' signal=notification reason delivered"
        ),
        at(60).cancel(1, "yet another"),
        "= ALREADY_REQUESTED",
    )


@pytest.mark.parametrize("written", [[at(0).wrote(1)], [at(0).writing(1)]], ids=["written", "being written"])
def test_c03_c04_modern_http_closes_the_stream_at_once_and_posts_nothing(written: list[Step]) -> None:
    play(
        after(MODERN_HTTP.ledger(), at(0).call("tools/call"), *written),
        at(2).cancels(1, "no"),
        "-> signal 1 stream_closed",
        at(2).leaving(1),
        "-> resolve 1 with nothing",
        at(2).signalled(1, Signal.STREAM_CLOSED),
        "CancelSignalled 1 signal=stream_closed reason_delivered=False",
        "Settled 1",
        at(9).cancel(1, "another reason"),
        "= ALREADY_REQUESTED",
        at(9).deadline(None),
    )


@notifying
def test_c05_c07_a_cancel_while_the_request_is_being_written(wire: Wire) -> None:
    play(
        wire.ledger(),
        at(0).calls(1, "tools/call"),
        at(0).writing(1),
        at(1).cancels(1, "no"),
        NOTIFIED,
        at(1.5).written(1),
        "Sent 1",
        at(1.5).look(1, "cancel_requested elapsed=0 cause=user reason=no"),
        at(1.5).leaves(1),
        at(1.5).deadline(3.5),
    )


@everywhere
def test_c06_cancel_before_any_byte_was_written(wire: Wire) -> None:
    play(
        wire.ledger(),
        at(0).calls(1, "tools/call"),
        at(1).cancels(1, "no"),
        "-> unqueue 1",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='cancelled before it was sent'",
        "= UNSENT",
        at(1).deadline(None),
    )


@notifying
def test_c08_a_signal_that_cannot_be_written_is_said_to_wait(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2).deadline(4),
        at(4).tick(),
        "CancelDelayed 1 detail='not written after 2 s'",
        at(4).deadline(None),
        at(99).look(1, "cancel_requested elapsed=2 cause=user reason=no delayed='not written after 2 s'"),
        at(99).leaving(1),
        "-> resolve 1 with nothing",
        at(99).signalled(1),
        "CancelSignalled 1 signal=notification reason_delivered=True",
        at(101).tick(),
        *wire.settles(),
        at(101).look(1, "cancelled elapsed=2 cause=user reason=no signal=notification reason delivered"),
    )


# -- the handshake ---------------------------------------------------------------------------------------------


@handshaken
def test_c22_initialize_is_never_cancelled(wire: Wire) -> None:
    play(
        wire.in_flight("initialize", limits=Limits(timeout=10)),
        at(5).cancel(1, "enough"),
        "= REFUSED",
        at(5).look(1, "in_flight elapsed=5"),
        at(10).tick(),
        "CancelRequested 1 cause=timeout reason='timed out after 10 s'",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1",
    )


def test_c23_c24_a_probe_on_stdio_is_dropped_without_a_word_and_its_late_result_is_evidence() -> None:
    play(
        Wire("stdio", None).in_flight("server/discover"),
        at(5).cancels(1, "no answer within 5 s", cause=Cause.TIMEOUT),
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1",
        at(5).calls(2, "initialize"),
        at(5).sent(2),
        at(6).result(1, {"supportedVersions": [MODERN]}),
        "Late 1 kind=result after=1",
        at(6).error(2, -32022, "modern only"),
        "Failed 2 message='modern only' code=-32022",
    )
