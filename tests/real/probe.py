"""A raw probe: calls a tool, cancels it, and says what came after. Raw messages only, no SDK and no mcp-tui.

What it sees is what `observed.py` holds; `test_observed.py` compares the two.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.real.peers import Message, Peer, Pipe, Web
from tests.real.registry import MODERN, SERVERS_BY_NAME, STARTS_WITHIN, Server

Transport = Literal["stdio", "http"]
Signal = Literal["notification", "stream_closed"]
Fate = Literal["lives", "deaf", "session lost", "dies", "dies next"]

SECONDS = 1.2  # the work that is asked for
STEPS = 12
CANCEL_AT = 3  # the step after which the cancel leaves
LATENCY = 3  # progress of so many steps more may have been on its way when the cancel arrived
QUIET = 1.2  # seconds without a message and without a heartbeat, after which nothing more is expected
LISTENS_FOR = 15.0
ANSWERS_WITHIN = 5.0

OPENING, CALL, NEXT = 1, 2, 3
TOKEN = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call to cancel: on which server, how it is reached, which revision is spoken, by what signal."""

    server: str
    transport: Transport
    revision: str
    signal: Signal
    tool: str
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = (self.server, *self.flags, self.transport, self.revision, self.signal, self.tool)
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a server did once the cancel had left.

    answer: `silent`, `result`, `tool error` (a result with isError) or `error CODE`, as it came back late.
    progress: whether progress went on, beyond what may have been on its way.
    ran_on: whether the work went on to its end, by the heartbeat (server-everything: by its progress; None where
        nothing can tell).
    stream: what became of the response stream over HTTP: `open`, `ended`; None on stdio, and where we closed it.
    posted: what the POST of the notification got, and when: `202`, or `202 after the work`; None on stdio, and where
        a stream was closed instead.
    server: `lives` when the next call on the same connection is answered, `deaf` when it is not, `session lost` when
        it gets a 404, `dies` when the server exited, `dies next` when it did so only at that next call.
    """

    answer: str = "silent"
    progress: bool = False
    ran_on: bool | None = False
    stream: Literal["open", "ended"] | None = None
    posted: str | None = None
    server: Fate = "lives"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What is not compared: seconds from the cancel to what came (None for what did not), and what comes by chance.

    belated: the answer to the cancelled call that came only once the next call had been sent, or None.
    """

    answered: float | None
    posted: float | None
    next_answered: float | None
    belated: str | None


@contextlib.contextmanager
def connection(server: Server, case: Case) -> Generator[Peer]:
    """Start the server of a case and connect to it; both are gone afterwards."""
    if case.transport == "stdio":
        pipe = Pipe((*server.stdio, *case.flags))
        with contextlib.closing(pipe):
            yield pipe
        return
    with server.serve(*case.flags) as url, contextlib.closing(Web(url, case.revision)) as web:
        yield web


def until(condition: Callable[[], bool], within: float) -> bool:
    """Wait until the condition holds; False when it does not within so many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def response_to(peer: Peer, id: int) -> tuple[float, Message] | None:
    return next(((at, it) for at, it in list(peer.heard) if it.get("id") == id and "method" not in it), None)


def progress_of(peer: Peer) -> float:
    """The furthest progress of the call."""
    params = [it["params"] for _, it in list(peer.heard) if it.get("method") == "notifications/progress"]
    return max((it["progress"] for it in params if it["progressToken"] == TOKEN), default=0)


def request(case: Case, id: int, method: str, params: Message) -> Message:
    """A request in the words of the revision: from 2026-07-28 on each one says which it is and who asks."""
    if case.revision == MODERN:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "raw-probe", "version": "1"},
        }
        params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def greet(peer: Peer, case: Case, capabilities: Message | None = None) -> None:
    """Open the conversation: `initialize` and its notification, or `server/discover`."""
    if case.revision == MODERN:
        peer.send(request(case, OPENING, "server/discover", {}))
    else:
        client = {"name": "raw-probe", "version": "1"}
        asks = {"protocolVersion": case.revision, "capabilities": capabilities or {}, "clientInfo": client}
        peer.send(request(case, OPENING, "initialize", asks))
    until(lambda: response_to(peer, OPENING) is not None, STARTS_WITHIN)
    found = response_to(peer, OPENING)
    if found is None or "result" not in found[1]:
        raise RuntimeError(f"{case}: the opening was answered with {found}")
    if case.revision != MODERN:
        peer.send(notification("notifications/initialized", {}))


class Heartbeat:
    """What the tool wrote of its work."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def step(self) -> int:
        return max((int(step) for step in re.findall(r" step (\d+)/", self.text())), default=0)

    def done(self) -> bool:
        return " done\n" in self.text()


def observe(case: Case) -> tuple[Seen, Aside, str]:
    """Call the tool of a case, cancel it, and gather what comes; the third part is the heartbeat file.

    Raises:
        RuntimeError: the server did not start, or did not begin to work.
    """
    server = SERVERS_BY_NAME[case.server]
    with tempfile.TemporaryDirectory() as folder, connection(server, case) as peer:
        heartbeat = Heartbeat(Path(folder) / "heartbeat")
        greet(peer, case)
        peer.send(request(case, CALL, "tools/call", call(case, heartbeat)))

        def step() -> float:
            return max(heartbeat.step(), progress_of(peer))

        if not until(lambda: step() >= CANCEL_AT, STARTS_WITHIN):
            raise RuntimeError(f"{case}: no work after {STARTS_WITHIN} s; heard {peer.heard}")
        at_cancel = step()
        cancelled_at = time.monotonic()
        if case.signal == "notification":
            peer.send(notification("notifications/cancelled", {"requestId": CALL, "reason": "enough"}))
        else:
            peer.close_stream(CALL)
        posted_during = listen(peer, heartbeat)
        answer, died = response_to(peer, CALL), peer.exited()
        status, posted_at = peer.posted()
        stream = peer.stream(CALL) if case.signal == "notification" else None
        fate = "dies" if died else next_call(peer, case)
        following = response_to(peer, NEXT)
        belated = None if answer else response_to(peer, CALL)

        def after(at: float | None) -> float | None:
            return None if at is None else round(at - cancelled_at, 2)

        seen = Seen(
            answer=described(answer[1]) if answer else "silent",
            progress=progress_of(peer) > at_cancel + LATENCY,
            ran_on=ran_on(peer, case, heartbeat),
            stream=stream,
            posted=f"{status}{'' if posted_during else ' after the work'}" if status else None,
            server=fate,
        )
        aside = Aside(
            answered=after(answer and answer[0]),
            posted=after(posted_at),
            next_answered=after(following and following[0]),
            belated=described(belated[1]) if belated else None,
        )
        return seen, aside, heartbeat.text()


def call(case: Case, heartbeat: Heartbeat) -> Message:
    """The parameters of the call; server-everything has words of its own and writes no heartbeat."""
    arguments: Message = {"seconds": SECONDS, "heartbeat": str(heartbeat.path)}
    if case.server == "everything":
        arguments = {"duration": SECONDS, "steps": STEPS}
    return {"name": case.tool, "arguments": arguments, "_meta": {"progressToken": TOKEN}}


def ran_on(peer: Peer, case: Case, heartbeat: Heartbeat) -> bool | None:
    if case.server != "everything":
        return heartbeat.done()
    return progress_of(peer) == STEPS if case.signal == "notification" else None


def listen(peer: Peer, heartbeat: Heartbeat) -> bool:
    """Wait until neither a message nor a heartbeat has come for a while.

    Returns whether the POST of the cancel was answered while the tool was still at work, or had stopped.
    """
    deadline = time.monotonic() + LISTENS_FOR
    state, changed = (0, 0), time.monotonic()
    posted_during = False
    while time.monotonic() < min(deadline, changed + QUIET):
        time.sleep(0.02)
        posted_during = posted_during or (peer.posted()[0] is not None and not heartbeat.done())
        now = (len(peer.heard), len(heartbeat.text()))
        if now != state:
            state, changed = now, time.monotonic()
    return posted_during


def next_call(peer: Peer, case: Case) -> Fate:
    """Call `echo` on the same connection, as a person would."""
    text = "still there?"
    arguments = {"message": text} if case.server == "everything" else {"text": text}
    with contextlib.suppress(OSError):
        peer.send(request(case, NEXT, "tools/call", {"name": "echo", "arguments": arguments}))
    until(lambda: response_to(peer, NEXT) is not None or peer.lost(NEXT) or peer.exited(), ANSWERS_WITHIN)
    answer = response_to(peer, NEXT)
    if answer is not None and text in json.dumps(answer[1].get("result")):
        return "lives"
    if peer.lost(NEXT):
        return "session lost"
    return "dies next" if peer.exited() else "deaf"


def described(response: Message) -> str:
    if "error" in response:
        return f"error {response['error']['code']}"
    return "tool error" if response["result"].get("isError") else "result"
