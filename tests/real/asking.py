"""A raw probe for questions: a tool asks the person (`elicitation/create`) and gives up; does the server take its question
back? Handshake revisions only: in 2026-07-28 a server has no requests of its own.

What it sees is what `observed.py` holds; `test_withdrawals.py` compares the two.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.real.peers import Message, Peer
from tests.real.probe import (
    CALL,
    STARTS_WITHIN,
    Case,
    Transport,
    connection,
    described,
    greet,
    request,
    response_to,
    until,
)
from tests.real.registry import SERVERS_BY_NAME, Server

ELICIT = "elicitation/create"
PATIENCE = 0.5  # seconds that the tool waits for an answer
LISTENS_FOR = 2.0  # seconds, within which a server that gives up has done so
QUIET = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """A tool that asks: on which server, how it is reached, which revision is spoken."""

    server: str
    transport: Transport
    revision: str

    def __str__(self) -> str:
        return f"{self.server} {self.transport} {self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What became of a question that nobody answered.

    asked: whether it came at all.
    withdrawn: the reason with which `notifications/cancelled` took it back; None where none came.
    answer: what the call of the tool came to, in the words of `probe.Seen`; `silent` while the tool still waits.
    """

    asked: bool = True
    withdrawn: str | None = None
    answer: str = "result"


def call(server: Server, patience: float = PATIENCE) -> Message:
    """The parameters of the call of the tool that asks."""
    if server.name == "everything":
        return {"name": "trigger-elicitation-request", "arguments": {}}
    return {"name": "asks", "arguments": {"seconds": patience}}


def questions(peer: Peer) -> list[Message]:
    return [it for _, it in list(peer.heard) if it.get("method") == ELICIT]


def observe(asking: ServerRequest) -> Question:
    """Call the tool, let it ask, answer nothing, and gather what comes."""
    server = SERVERS_BY_NAME[asking.server]
    case = Case(
        server=asking.server,
        transport=asking.transport,
        revision=asking.revision,
        signal="notification",
        tool="asks",
    )
    with connection(server, case) as peer:
        greet(peer, case, {"elicitation": {}})
        peer.send(request(case, CALL, "tools/call", call(server)))
        until(lambda: bool(questions(peer)) or response_to(peer, CALL) is not None, STARTS_WITHIN)
        until(lambda: response_to(peer, CALL) is not None, LISTENS_FOR)
        time.sleep(QUIET)
        answer = response_to(peer, CALL)
        asked = questions(peer)
        taken_back = [
            it["params"]
            for _, it in list(peer.heard)
            if it.get("method") == "notifications/cancelled" and it["params"]["requestId"] == asked[0]["id"]
        ]
        return Question(
            asked=bool(asked),
            withdrawn=taken_back[0].get("reason", "") if taken_back else None,
            answer=described(answer[1]) if answer else "silent",
        )
