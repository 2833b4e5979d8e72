"""``metrics``: what a Prometheus reads of running sessions, and what stays of those that ended."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.journal.metric_names import CAUSE, OUTCOME
from mcp_tui.live.control import ListRequest, Problem, read_request, read_summary
from mcp_tui.live.counts import MOST_SETS, OTHER, Counted, Counts, read_counts
from mcp_tui.live.running import sessions
from mcp_tui.live.sockets import ENDS, sockets
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Requests
from tests.cli.running import run
from tests.control import Control
from tests.forking import Piped
from tests.live.odd_answers import ODD, SESSION, answering
from tests.tap.test_tap import Client, tap
from tests.waiting import HANG, wait

prometheus = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not installed")

Samples = dict[tuple[str, str], float]


class Exporter:
    """A running ``mcp-tui metrics``."""

    def __init__(self, process: Piped) -> None:
        assert process.stdout is not None
        self.process = process
        self.url = process.stdout.readline().decode().strip()
        self.address = self.url.split("/")[2]

    def ask(self, method: str = "GET", path: str = "/metrics", **headers: str) -> tuple[int, str]:
        link = http.client.HTTPConnection(self.address, timeout=HANG)
        link.request(method, path, headers=headers)
        answer = link.getresponse()
        read = answer.read().decode()
        link.close()
        return answer.status, read

    def scrape(self) -> Samples:
        """The values by the name of their series, and its tool, problem, or server; series of one name are summed."""
        status, text = self.ask()
        assert status == 200
        found: Samples = {}
        for family in prometheus.text_string_to_metric_families(text):
            for each in family.samples:
                labels = each.labels
                about = (
                    labels.get("gen_ai_tool_name")
                    or labels.get("mcp_tui_problem")
                    or labels["mcp_tui_server"]
                )
                found[each.name, about] = found.get((each.name, about), 0.0) + each.value
        return found

    def value(self, name: str, about: str) -> float:
        return self.scrape().get((name, about), 0.0)


@contextmanager
def exporting(*options: str) -> Generator[Exporter]:
    with Piped("command", ["metrics", "--listen", "127.0.0.1:0", *options], os.environ) as process:
        try:
            yield Exporter(process)
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.wait(HANG) == Exit.TERMINATED
    assert not sockets(ENDS)


@contextmanager
def calling(control: Control, *options: str) -> Generator[Piped]:
    """A command with a call in flight; it ends when the test releases the tool."""
    words = ["call", "count", "seconds=10", "steps=2", "--demo", *control.options, *options]
    with Piped("command", words, os.environ) as process:
        control.wait("waiting", tool="count")
        yield process


CALLS = "mcp_client_operation_duration_seconds_count", "count"
IN_FLIGHT = "mcp_tui_requests_in_flight", "count"


def test_calls_are_in_flight_then_counted_and_stay_counted_when_their_session_ends(control: Control):
    with exporting() as exporter:
        assert exporter.scrape()["mcp_tui_sessions_not_answering", "silent"] == 0
        with calling(control) as process:
            wait(lambda: exporter.value(*IN_FLIGHT) == 1)
            assert exporter.value("mcp_tui_requests_oldest_age_seconds", "count") > 0
            assert exporter.value("mcp_tui_sessions", "demo") == 1
            assert exporter.value(*CALLS) == 0
            control.release("count")
            assert process.wait(HANG) == 0
        # It ended before another scrape, so it reported this itself.
        for _ in range(2):
            now = exporter.scrape()
            assert (now[CALLS], now.get(IN_FLIGHT)) == (1, None)
            assert now["mcp_client_session_duration_seconds_count", "demo"] == 1
            assert now["mcp_tui_result_size_bytes_sum", "count"] > 0


def _called(counts: Counted | None, tool: str) -> bool:
    return counts is not None and any(("gen_ai.tool.name", tool) in about for _, about in counts.values)


@contextmanager
def tapped() -> Generator[Client]:
    """A client behind a tap, on the demo server, of which it has called ``echo`` once."""
    client = Client(tap("--name", "demo"))
    try:
        client.connect()
        client.call(1, "echo", text="hi")
        assert client.read()["id"] == 1
        # The recorder of the tap is not ahead of the client.
        wait(lambda: any(_called(each.summary.counts, "echo") for each in sessions(counts=True)[0]))
        yield client
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


def test_calls_from_before_the_exporter_began_are_no_jump():
    echoed = "mcp_client_operation_duration_seconds_count", "echo"
    with tapped() as client, exporting() as exporter:
        before = exporter.scrape()
        assert (before[echoed], before["mcp_tui_sessions", "demo"]) == (0, 1)
        client.call(2, "echo", text="hi")
        wait(lambda: exporter.value(*echoed) == 1)
        client.call(3, "crash", seconds=0)
        client.process.wait(HANG)
        # The server ends with the call, and the session with the server: it still reports what was lost.
        lost = 'error_type="lost"'
        wait(
            lambda: any(line.startswith(CALLS[0]) and lost in line for line in exporter.ask()[1].splitlines())
        )
        assert exporter.value(*echoed) == 1


def test_sessions_that_say_nothing_or_something_odd_are_counted_and_hide_nothing():
    said = {what: told for kind in ODD.values() for what, told in kind.items()}
    with answering(said), exporting() as exporter:
        status, text = exporter.ask()
        assert status == 200
        assert text.count("mcp_tui_sessions{") > 1
        assert all(character.isprintable() or character == "\n" for character in text)
        assert max(map(len, re.findall(r'="((?:[^"\\]|\\.)*)"', text))) == 128
        now = exporter.scrape()
    assert sum(value for (name, _), value in now.items() if name == "mcp_tui_sessions") == len(
        ODD["understood"]
    )
    assert now["mcp_tui_requests_in_flight", "x"] > 2000
    for kind in ("silent", "other_version", "not_understood"):
        assert (kind, now["mcp_tui_sessions_not_answering", kind]) == (kind, len(ODD[kind]))


def test_only_a_get_of_the_path_by_a_name_of_this_machine_is_answered():
    with exporting() as exporter:
        assert exporter.ask()[0] == exporter.ask(path="/metrics?x=1", Host="localhost:1")[0] == 200
        assert exporter.ask(path="/")[0] == exporter.ask(path="/metrics/")[0] == 404
        assert {exporter.ask(verb)[0] for verb in ("POST", "HEAD", "PUT", "DELETE", "BREW")} == {405}
        assert {exporter.ask(Host=name)[0] for name in ("evil.example", "127.0.0.1.evil.example")} == {403}


def test_another_address_is_said_to_be_reachable():
    with Piped("command", ["metrics", "--listen", "0.0.0.0:0"], os.environ) as process:
        assert b"0.0.0.0 is not a loopback address" in process.stderr.readline()
        exporter = Exporter(process)
        exporter.address = exporter.address.replace("0.0.0.0", "127.0.0.1")
        assert exporter.ask(Host="build1:9464")[0] == 200
        process.send_signal(signal.SIGTERM)


SIGNALLED = """
import os, signal
from mcp_tui.cli import main, metrics
metrics._Server.process_request = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
raise SystemExit(main(["metrics", "--listen", "127.0.0.1:0"]))
"""


def test_a_signal_while_a_scrape_is_accepted_ends_it():
    # The server of the standard library reports any Exception there, and serves on.
    with subprocess.Popen([sys.executable, "-c", SIGNALLED], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().decode().split("/")[2]
            with socket.create_connection(address.split(":")):
                assert process.wait(HANG) == Exit.TERMINATED
        finally:
            process.kill()


def test_what_cannot_listen_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    for wrong in ("9464", "127.0.0.1:", "127.0.0.1:99999", ":9464", "127.0.0.1:x"):
        run("metrics", "--listen", wrong).sentence(Exit.USAGE, "is not HOST:PORT")
    run("metrics", "--listen", "192.0.2.1:0").sentence(Exit.USAGE, "Cannot listen at 192.0.2.1:0", "Choose")


def test_a_missing_extra_is_one_sentence(tmp_path: Any):
    (tmp_path / "prometheus_client.py").write_text("raise ImportError\n")
    run("metrics", PYTHONPATH=str(tmp_path)).sentence(Exit.USAGE, "Install mcp-tui-client[prometheus]")


# -- counts ----------------------------------------------------------------------------------------------------


class Session:
    """Events and their counts."""

    def __init__(self) -> None:
        self.requests = Requests()
        self.counts = Counts(self.requests.get)
        self.id = 0

    def call(self, name: str, *events: Any, method: str = "tools/call") -> None:
        self.id += 1
        called = ev.Called(at=0.0, id=self.id, method=method, name=name, internal=False, limits=ev.Limits())
        for event in (
            called,
            ev.Sent(at=1.0, id=self.id),
            *(kind(id=self.id, **rest) for kind, rest in events),
        ):
            self.requests.apply(event)
            self.counts.event(event)

    def read(self) -> list[tuple[str, dict[str, str], list[float]]]:
        """The metrics with attributes and values, as another process reads them."""
        line = json.loads(json.dumps(self.counts.line()))
        return [(name, dict(about), value) for (name, about), value in read_counts(line).values.items()]


LOST = ev.Lost, {"at": 3.0, "detail": "server exited"}


def test_what_a_client_that_ends_leaves_open_was_not_lost_by_its_server():
    for expected, error in ((True, "client_ended"), (False, "lost")):
        session = Session()
        session.counts.event(ev.Connected(at=0.0, transport="stdio", revision="2025-11-25", server="a"))
        session.call("a", LOST)
        session.counts.event(ev.Disconnected(at=3.0, detail="", expected=expected))
        (one, two) = session.read()
        assert one[1]["error.type"] == error
        assert (two[0], two[1], two[2][0]) == (
            "mcp.client.session.duration",
            {} if expected else {"error.type": "disconnected"},
            3.0,
        )


def test_each_way_to_end_is_counted_with_its_duration_and_error():
    session = Session()
    session.call("a", (ev.Completed, {"at": 1.3, "is_error": False, "summary": "", "size": 300}))
    session.call("a", (ev.Completed, {"at": 1.3, "is_error": True, "summary": "", "size": 300}))
    session.call("a", (ev.Failed, {"at": 1.3, "message": "no", "code": -32603}))
    session.call("a", LOST)
    session.call(
        "a",
        (ev.CancelRequested, {"at": 2.0, "cause": ev.Cause.TIMEOUT, "reason": ""}),
        (ev.CancelSignalled, {"at": 2.0, "signal": ev.Signal.NOTIFICATION, "reason_delivered": True}),
        (ev.Late, {"at": 5.0, "kind": ev.Kind.RESULT, "after": 3.0}),
        (ev.Settled, {"at": 6.0, "detail": ""}),
    )
    found = session.read()
    durations = {about.get("error.type", ""): value for name, about, value in found if "operation" in name}
    assert {error: value[0] for error, value in durations.items()} == pytest.approx(
        {"": 0.3, "tool_error": 0.3, "-32603": 0.3, "lost": 2.0, "timeout": 1.0}
    )
    assert all(sum(value[1:]) == 1 for value in durations.values())
    others = {name: (about.get(CAUSE), about.get(OUTCOME), value[0]) for name, about, value in found}
    assert others["mcp_tui.cancels"] == ("timeout", "late_result", 1)
    assert others["mcp_tui.late.delay"][2] == 3.0
    assert others["mcp_tui.result.size"][2] == 600


def test_a_client_that_invents_names_makes_no_more_series_than_permitted():
    session = Session()
    for number in range(MOST_SETS * 3):
        session.call(
            f"tool {number}" + "x" * 10_000, LOST, method=f"tools/call{'' if number % 2 else number}"
        )
    found = session.read()
    assert len(found) <= MOST_SETS + 10
    assert max(len(text) for _, about, _ in found for text in about.values()) <= 128
    # What was lost is still known as lost.
    assert {about["error.type"] for _, about, _ in found} == {"lost"}
    assert sum(sum(value[1:]) for *_, value in found) == MOST_SETS * 3
    assert found[-1][1]["gen_ai.tool.name"] == OTHER


def test_counts_of_others_are_checked():
    good: dict[str, Any] = {"id": "a", "age": 1, "transport": "stdio", "revision": "", "values": []}
    odd: list[Any] = [
        {**good, "age": -1},
        {**good, "id": 7},
        {**good, "values": None},
        {**good, "values": [["mcp_tui.cancels", {}, [1, 2]]]},
        {**good, "values": [["mcp_tui.cancels", {}, [float("inf")]]]},
        {**good, "values": [["mcp_tui.cancels", {"mcp.method.name": 7}, [1]]]},
        {**good, "values": [["mcp_tui.cancels"]]},
        {**good, "values": 7},
        [],
        "text",
    ]
    for wrong in odd:
        line = json.dumps({**SESSION, "counts": wrong}).encode()
        assert read_summary(line) is Problem.NOT_UNDERSTOOD, wrong
    more: dict[str, Any] = {
        **good,
        "values": [["novelty", {}, [1]], ["mcp_tui.cancels", {"novelty": 1}, [2]]],
    }
    assert read_counts(more).values == {("mcp_tui.cancels", ()): [2.0]}


def test_a_list_has_no_counts_unless_they_are_asked_for():
    assert read_request(b'{"ask": "list", "version": 1}\n') == ListRequest(counts=False)
    assert read_request(b'{"ask": "list", "version": 1, "counts": true}\n') == ListRequest(counts=True)
