"""``tap --once`` over stdio and HTTP: a call whose outcome is unknown to its client happens once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from mcp_tui.journal.journal_files import is_locked, journal_folder, journals
from mcp_tui.live.sockets import sockets
from mcp_tui.protocol import events as ev
from mcp_tui.tap.once import NOT_SENT, REPEAT_OF
from mcp_tui.transport.base import spawn
from tests.cli.running import MCP_TUI, run
from tests.servers.http_scripted import Call, HttpScript
from tests.tap.test_http_tap import (
    HANDSHAKE,
    Peer,
    Tapped,
    _of,  # pyright: ignore[reportPrivateUsage]
    _stateful,  # pyright: ignore[reportPrivateUsage]
    _tapped,  # pyright: ignore[reportPrivateUsage]
)
from tests.tap.test_tap import Client, recorded, tap
from tests.tap.test_tap import _client as client_of  # pyright: ignore[reportPrivateUsage]
from tests.waiting import HANG, until, wait

# -- HTTP ------------------------------------------------------------------------------------------------------


class Work:
    """A server that counts its work, and answers when it may."""

    def __init__(self, *, stream: bool = False, statuses: tuple[int, ...] = ()) -> None:
        self.count = 0
        self.may = asyncio.Event()
        self._stream = stream
        self._statuses = [*statuses]
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> None:
        self.count += 1
        self.calls.append(call)
        if self._statuses:
            await call.respond(self._statuses.pop(0))
            return
        if self._stream:
            await call.stream()

        async def allowed() -> None:
            await self.may.wait()

        gone, may = spawn(call.disconnected(), name="gone"), spawn(allowed(), name="may")
        await asyncio.wait([gone, may], return_when=asyncio.FIRST_COMPLETED)
        for each in (gone, may):
            each.cancel()
        await asyncio.gather(gone, may, return_exceptions=True)
        result = {"content": [{"type": "text", "text": f"mail {self.count}"}]}
        if self._stream and self.may.is_set():
            await call.event({"jsonrpc": "2.0", "id": call.id, "result": result})
            await call.end()
        elif self.may.is_set():
            await call.answer(result)


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    return message["result"]


def text(message: dict[str, Any]) -> str:
    return message["result"]["content"][0]["text"]


def guarded(tapped: Tapped) -> Any:
    return tapped.tap.guard._guard


def look_around(tapped: Tapped) -> None:
    """Has a tap look for others, which it does before its first call, so that it sends that before it reads it."""
    assert [*tapped.tap.guard._log.others()] == []
    assert not tapped.tap.guard._log.has_news


async def given_up(tapped: Tapped, peer: Peer) -> None:
    """Has a client leave, and waits until the tap knows that."""
    peer.writer.close()
    await until(
        lambda: (open_ := guarded(tapped).open) and all(each.given_up_at is not None for each in open_)
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_reconnects_gets_the_answer_to_its_first_call(stream: bool) -> None:
    work = Work(stream=stream)
    async with _tapped(_stateful(work), once="") as tapped:
        look_around(tapped)
        await tapped.shake_hands()
        await given_up(tapped, await _called(tapped, work, 1))
        waiting = [await tapped.call(each) for each in (7, 8)]
        await until(lambda: len(guarded(tapped).open[0].waiting) == 2)
        work.may.set()
        for id, peer in zip((7, 8), waiting, strict=True):
            answer = await peer.answer()
            assert (answer["id"], text(answer), result_of(answer)["_meta"][REPEAT_OF]["id"]) == (
                id,
                "mail 1",
                1,
            )
        assert work.count == 1
        # It is an ordinary call again.
        assert text(await (await tapped.call(9)).answer()) == "mail 2"
    assert [(each.how, each.other) for each in _of(ev.Guarded) if each.how == "given"] == [("given", 1)] * 2


async def _called(tapped: Tapped, work: Work, id: Any, **more: Any) -> Peer:
    count = work.count
    peer = await tapped.call(id, **more)
    await until(lambda: work.count > count)
    return peer


@pytest.mark.parametrize("modern", [False, True])
async def test_a_limit_gives_up_without_a_cancel_and_the_repeat_gets_the_late_answer(modern: bool) -> None:
    work = Work()
    async with _tapped(_stateful(work), once="slow", max_timeout=0.2) as tapped:
        look_around(tapped)
        if not modern:
            await tapped.shake_hands()
        ended = await (await _called(tapped, work, 1, modern=modern)).answer()
        assert result_of(ended)["isError"]
        assert "Send the same call again to get its answer: it is not run twice." in text(ended)
        work.may.set()
        await until(lambda: guarded(tapped).withheld_bytes)
        answer = await (await tapped.call(2, modern=modern)).answer()
        assert (text(answer), result_of(answer)["_meta"][REPEAT_OF]["id"]) == ("mail 1", 1)
        assert work.count == 1
        assert not [each for each in tapped.server.calls if each.rpc == "notifications/cancelled"]


async def test_a_stream_that_its_client_closes_is_a_cancel_and_the_repeat_is_refused_until_a_person_allows_it() -> (
    None
):
    work = Work()
    async with _tapped(_stateful(work), once="") as tapped:
        look_around(tapped)
        await given_up(tapped, await _called(tapped, work, 1, modern=True))
        await until(lambda: guarded(tapped).open[0].unknown)
        refused = await (await tapped.call(2, modern=True)).answer()
        assert result_of(refused)["isError"]
        assert result_of(refused)["resultType"] == "complete"
        assert result_of(refused)["_meta"][NOT_SENT]["repeatOf"] == 1
        assert "its outcome is unknown" in text(refused)
        assert work.count == 1
        tapped.tap.guard.allow(2, "")
        work.may.set()
        assert text(await (await tapped.call(3, modern=True)).answer()) == "mail 2"


@pytest.mark.parametrize(
    ("status", "sent"), [(404, True), (401, True), (429, True), (502, False), (504, False), (500, False)]
)
async def test_a_call_that_the_server_refused_is_sent_again_and_one_that_a_gateway_gave_up_is_not(
    status: int, sent: bool
) -> None:
    work = Work(statuses=(status,))
    work.may.set()
    async with _tapped(_stateful(work), once="") as tapped:
        look_around(tapped)
        await tapped.shake_hands()
        peer = await tapped.call(1)
        assert await peer.head() == status
        answer = await (await tapped.call(2)).answer()
        assert (NOT_SENT in result_of(answer).get("_meta", {})) is not sent
        assert work.count == 1 + sent


async def test_nothing_is_changed_where_nothing_is_repeated() -> None:
    work = Work()
    work.may.set()
    async with _tapped(_stateful(work), once="") as tapped, _tapped(_stateful(work)) as other:
        bodies = list[bytes]()
        for each in (tapped, other):
            await each.shake_hands()
            peer = await each.call("x")
            assert await peer.head() == 200
            bodies.append((await peer.body()).replace(b"mail 2", b"mail 1"))
            assert each.server.calls[-1].body == b"".join([each.server.calls[-1].body])
        assert bodies[0] == bodies[1]
        assert tapped.server.calls[-1].body == other.server.calls[-1].body
        assert tapped.server.calls[-1].headers.keys() == other.server.calls[-1].headers.keys()
        assert REPEAT_OF.encode() not in bodies[0]


async def test_equal_calls_one_after_the_other_all_run_and_so_do_those_at_once() -> None:
    work = Work()
    async with _tapped(_stateful(work), once="") as tapped:
        await tapped.shake_hands()
        peers = [await tapped.call(each) for each in (1, 2)]
        await until(lambda: work.count == 2)
        work.may.set()
        assert [(await peer.answer())["id"] for peer in peers] == [1, 2]
        assert (await (await tapped.call(3)).answer())["id"] == 3
        assert work.count == 3


async def test_a_call_over_http_that_was_only_noted_when_the_tap_was_killed_is_known_to_the_next_one() -> (
    None
):
    """The server kills the tap as soon as it has the call. An equal call under the same id was answered before."""
    kills: list[int] = []
    count = 0

    async def script(call: Call) -> None:
        nonlocal count
        count += call.rpc == "tools/call"
        if kills and call.rpc == "tools/call":
            os.kill(kills.pop(), 9)
            await call.disconnected()
            return
        await call.answer({"content": []})

    async with HttpScript(script) as server, asyncio.timeout(HANG):
        for number in range(2):
            command = [*MCP_TUI, "tap", "--http", "0", "--once", server.url]
            process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
            assert process.stderr is not None
            url = (await process.stderr.readline()).split()[-1].decode().rstrip(".")
            async with httpx.AsyncClient(trust_env=False) as client:

                async def call(id: int, tool: str, url: str = url) -> dict[str, Any]:
                    body = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}
                    return (await client.post(url, json=body)).json()

                if number == 0:
                    await call(1, "first")
                    for _ in range(2):
                        await call(2, "send")
                    kills.append(process.pid)
                    with pytest.raises(httpx.TransportError):
                        await call(2, "send")
                    assert await process.wait() != 0
                else:
                    assert NOT_SENT in result_of(await call(2, "send"))["_meta"]
                    assert "_meta" not in result_of(await call(1, "first"))
                    process.terminate()
                    await process.wait()
    assert count == 5


# -- stdio -----------------------------------------------------------------------------------------------------

MAIL: Final = r"""
import json, os, sys, threading
done = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
go = sys.argv[2]
def out(**message):
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
def work(id):
    os.write(done, b"mail\n")
    while not os.path.exists(go):
        threading.Event().wait(0.01)
    out(id=id, result={"content": [{"type": "text", "text": "sent"}]})
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "mail"}}
            out(id=message["id"], result=about)
        case "tools/list":
            out(id=message["id"], result={"tools": [{"name": "look", "annotations": {"readOnlyHint": True}}]})
        case "tools/call":
            if "kill" in (given := message["params"]["arguments"]):
                os.kill(given["kill"], 9)
            threading.Thread(target=work, args=(message["id"],), daemon=True).start()
        case "notifications/cancelled":
            os.write(done, b"cancel %d\n" % message["params"]["requestId"])
"""


class Mail:
    """A server that counts its work in a file, behind taps with the same command."""

    def __init__(self, folder: Any, *options: str) -> None:
        self.done, self.go = folder / "done", folder / "go"
        words = tap(*options, code=MAIL)
        self.command = [*words, str(self.done), str(self.go)]

    @contextmanager
    def client(self) -> Generator[Client]:
        with client_of(self.command) as client:
            client.connect()
            yield client

    @property
    def works(self) -> list[str]:
        return self.done.read_text().split("\n")[:-1] if self.done.exists() else []


def over() -> None:
    """Waits until all recorders have written everything: that of a killed tap takes a moment."""

    def all_is_written() -> bool:
        paths = [path for journal in journals(journal_folder()) for path in journal.paths]
        # One may get its name only now.
        return not any(map(is_locked, paths)) and all(path.exists() for path in paths)

    wait(all_is_written)


def test_a_repeat_waits_for_the_first_and_both_get_its_answer(tmp_path: Any) -> None:
    mail = Mail(tmp_path, "--once")
    with mail.client() as client:
        client.call(1, "send", to="a")
        wait(lambda: mail.works == ["mail"])
        client.write(method="notifications/cancelled", params={"requestId": 1})
        client.call(2, "send", to="a")
        client.write(
            method="notifications/cancelled", params={"requestId": 2}
        )  # the server hears nothing of it
        client.call(3, "send", to="a")
        client.write(id="l", method="tools/list")
        assert client.read()["id"] == "l"
        mail.go.touch()
        first, third = client.read(), client.read()
        assert (first["id"], REPEAT_OF in first["result"].get("_meta", {})) == (1, False)
        assert (third["id"], third["result"]["_meta"][REPEAT_OF]["id"]) == (3, 1)
        assert client.end() == 0
        assert mail.works == ["mail", "cancel 1"]


def test_an_answer_is_that_of_the_call_which_was_sent_though_its_id_is_used_again(tmp_path: Any) -> None:
    mail = Mail(tmp_path, "--once")
    with mail.client() as client:
        client.call(1, "send", to="a")
        wait(lambda: mail.works == ["mail"])
        client.write(method="notifications/cancelled", params={"requestId": 1})
        client.call(1, "send", to="a")  # as openai-agents 0.24.0 (PyPI) does with max_retry_attempts
        client.write(id="l", method="tools/list")
        assert client.read()["id"] == "l"
        mail.go.touch()
        assert [client.read()["id"], client.read()["id"]] == [1, 1]
        assert client.end() == 0
    over()
    assert [each.id for each in recorded() if isinstance(each, ev.Late)] == [1]
    assert "1 (2)" in [each.id for each in recorded() if isinstance(each, ev.Completed)]


@pytest.mark.parametrize(
    ("option", "settings", "tool", "works"),
    [
        ("--once", "", "send", 1),
        ("--once=send,other", "", "send", 1),
        ("--once=other", "[tap]\nonce = true", "send", 2),
        ("--once", "", "look", 2),
        ("--timeout=60", '[tap.servers.mail]\nonce = ["send"]', "send", 1),
    ],
)
def test_the_guard_is_for_the_tools_that_are_named_or_for_all_that_are_not_safe_to_repeat(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, option: str, settings: str, tool: str, works: int
) -> None:
    (tmp_path / "config.toml").write_text(settings)
    monkeypatch.setenv("MCP_TUI_CONFIG", str(tmp_path / "config.toml"))
    mail = Mail(tmp_path, option)
    with mail.client() as client:
        client.write(id="l", method="tools/list")
        assert client.read()["id"] == "l"
        client.call(1, tool)
        wait(lambda: mail.works)
        client.write(method="notifications/cancelled", params={"requestId": 1})
        client.call(2, tool)
        mail.go.touch()
        assert {client.read()["id"], client.read()["id"]} == {1, 2}
        assert client.end() == 0
        assert mail.works.count("mail") == works


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("kill", "the tap that sent it ended before its answer came"),
        ("exit", "the server ended, or closed its output, in the call"),
        ("cancel", "it was cancelled, and no reply arrived"),  # as mcpc 0.2.6 does at its limit
    ],
)
def test_a_call_that_was_open_when_its_tap_ended_is_not_sent_again(tmp_path: Any, how: str, why: str) -> None:
    mail = Mail(tmp_path, "--once")
    with mail.client() as client:
        client.call(1, "send", to="a")
        wait(lambda: mail.works == ["mail"])
        if how == "kill":
            client.process.kill()
            client.process.wait()
        else:
            if how == "cancel":
                client.write(method="notifications/cancelled", params={"requestId": 1})
            client.end()
    works = mail.works
    with mail.client() as again:
        again.call(1, "send", to="a")
        refused = again.read()
        assert (refused["id"], refused["result"]["isError"]) == (1, True)
        assert why in refused["result"]["content"][0]["text"]
        assert refused["result"]["_meta"][NOT_SENT]["repeatOf"] == 1
        again.call(2, "send", to="b")  # another one is sent
        wait(lambda: mail.works == [*works, "mail"])
        mail.go.touch()
        assert again.read()["id"] == 2
        assert again.end() == 0
    with mail.client() as third:
        third.call(5, "send", to="b")
        assert "_meta" not in third.read()["result"]  # what was answered is known
        assert third.end() == 0
    over()


def test_what_a_tap_had_only_noted_when_it_was_killed_is_known_to_the_next_one(tmp_path: Any) -> None:
    """Its server kills it as soon as it has a call, long before that is read and in the log."""
    mail = Mail(tmp_path, "--once=send")
    mail.go.touch()
    with mail.client() as client:
        for id, to in enumerate(("a", "b", "ä")):  # the first is read before it is sent
            client.call(id, "send", to=to)
            assert client.read()["id"] == id
        client.call("l", "look")
        assert client.read()["id"] == "l"  # what was answered before is noted by now
        client.call("k", "send", kill=client.process.pid)
        assert client.process.wait() != 0
    works = len(mail.works)
    with mail.client() as again:
        again.call("k", "other")  # its answer is no answer to the call of that id before
        assert again.read()["id"] == "k"
        again.call(1, "send", kill=client.process.pid)
        assert again.read()["result"]["_meta"][NOT_SENT]["repeatOf"] == "k"
        again.call(2, "send", to="ä")  # it was answered
        assert "_meta" not in again.read()["result"]
        assert again.end() == 0
    assert len(mail.works) == works + 2
    over()


def test_a_person_lets_a_refused_repeat_through(tmp_path: Any) -> None:
    mail = Mail(tmp_path, "--once")
    with mail.client() as client:
        client.call(1, "send")
        wait(lambda: mail.works)
        client.process.kill()
        client.process.wait()
    mail.go.touch()
    with mail.client() as again:
        again.call("two", "send")
        assert NOT_SENT in again.read()["result"]["_meta"]
        again.call(3, "look")
        assert again.read()["id"] == 3
        allowed: list[str] = []

        def is_allowed() -> bool:
            # The recorder of the killed tap may still be writing, and have a socket.
            allowed[:] = [each for each in sockets() if run("cancel", "--allow", f"{each}/two").status == 0]
            return bool(allowed)

        def is_let_through() -> bool:
            # The relay may read the line of its client before the order that its recorder wrote a moment ago.
            again.call(4, "send")
            answer = again.read()
            assert answer["id"] == 4
            return "_meta" not in answer["result"]

        wait(is_allowed)
        wait(is_let_through)
        (session,) = allowed
        assert (
            run("cancel", "--allow", f"{session}/3").err
            == "mcp-tui: Not allowed: it was not refused by tap --once.\n"
        )
        assert again.end() == 0
    assert mail.works == ["mail"] * 3
    over()


def test_the_limit_of_a_tap_gives_up_without_a_cancel_and_the_views_say_what_happened(tmp_path: Any) -> None:
    mail = Mail(tmp_path, "--once", "--max-timeout", "0.2")
    with mail.client() as client:
        client.call(1, "send")
        assert "it is not run twice" in client.read()["result"]["content"][0]["text"]
        client.call(2, "send")  # it has the limit of any call
        assert client.read()["id"] == 2
        mail.go.touch()
        client.call(3, "send")
        third = client.read()
        assert (third["id"], third["result"]["_meta"][REPEAT_OF]["id"]) == (3, 1)
        assert client.end() == 0
    assert mail.works == ["mail"]
    said = {each.id: each for each in recorded() if isinstance(each, ev.Guarded)}
    assert {id: (each.how, each.other) for id, each in said.items()} == {
        1: ("passed_on", 3),
        2: ("waits", 1),
        3: ("given", 1),
    }
    assert "repeats 1, which was still running; not sent, waits for the answer to 1" in run("log").out


async def test_over_http_and_sse_a_repeat_gets_the_answer_by_its_stream() -> None:
    streams: list[Call] = []
    count = 0

    async def script(call: Call) -> None:
        nonlocal count
        if call.method == "GET":
            streams.append(call)
            await call.stream()
            await call.event(b"/messages?s=%d" % len(streams), name="endpoint")
            await call.disconnected()
            return
        await call.respond(202)
        count += call.rpc == "tools/call"
        if call.rpc == "initialize":
            at = int(call.path[-1]) - 1
            await streams[at].event(
                {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2024-11-05", "capabilities": {}}}
            )

    async with _tapped(script, once="") as tapped:

        async def opened(number: int) -> Peer:
            stream = await tapped.connect()
            stream.send("GET", Accept="text/event-stream")
            await stream.head()
            assert b"/messages?s=%d" % number in await stream.chunk()
            await post(number, 0, "initialize", HANDSHAKE)
            assert b"2024-11-05" in await stream.chunk()
            return stream

        async def post(number: int, id: int, method: str, params: Any) -> None:
            peer = await tapped.connect()
            body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
            peer.send("POST", body, f"/messages?s={number}")
            assert await peer.head() == 202

        call: dict[str, Any] = {"name": "slow", "arguments": {}}
        first = await opened(1)
        await post(1, 5, "tools/call", call)
        await until(lambda: count == 1)
        await post(1, 6, "notifications/cancelled", {"requestId": 5})
        await post(1, 7, "tools/call", call)
        await until(lambda: guarded(tapped).open[0].waiting)
        await streams[0].event({"jsonrpc": "2.0", "id": 5, "result": {"content": []}})
        answer, own = [json.loads((await first.chunk()).partition(b"data: ")[2]) for _ in range(2)]
        assert own == {"jsonrpc": "2.0", "id": 5, "result": {"content": []}}
        assert (answer["id"], answer["result"]["_meta"][REPEAT_OF]["id"], count) == (7, 5, 1)
        # The stream is all that its answers can come by: who reconnects is told that nobody knows.
        await post(1, 8, "tools/call", {"name": "other"})
        await until(lambda: count == 2)
        first.writer.close()
        await until(lambda: guarded(tapped).open[0].unknown)
        second = await opened(2)
        await post(2, 8, "tools/call", {"name": "other"})
        refused = json.loads((await second.chunk()).partition(b"data: ")[2])
        assert (refused["id"], NOT_SENT in refused["result"]["_meta"], count) == (8, True, 2)
