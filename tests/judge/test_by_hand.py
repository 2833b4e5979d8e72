"""A person and a program with a window, both played: what the person says is evidence, and an interrupted run goes on."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.judge import client_experiments
from mcp_tui.judge.by_hand import HandJudge
from mcp_tui.judge.client_run import ClientReport, Unstartable
from mcp_tui.probe.report import Verdict
from mcp_tui.transport.base import spawn
from tests.cli.running import HANG, MCP_TUI, run

PASS, WARNING, UNSEEN = Verdict.PASS, Verdict.WARNING, Verdict.NOT_OBSERVABLE


class Played:
    """A program and its person, who does what the judge says. ``cancels``: the program sends a cancel when it is stopped.

    ``says`` is what the person answers to a sentence with these words in it, instead of Enter.
    """

    def __init__(self, folder: Path, *, cancels: bool = True, says: dict[str, str] | None = None) -> None:
        self.judge = HandJudge(
            ("by hand",), say=self._read, folder=folder, server=[*MCP_TUI, "demo", "--judge"]
        )
        self.cancels = cancels
        self.says = says or {}
        self.told: list[str] = []
        self.answers: list[str] = []
        self.leaves_at = "no such sentence"
        self.name = "played"
        self._did: asyncio.Queue[str] = asyncio.Queue()
        self._server: asyncio.subprocess.Process | None = None
        self._id = 0

    async def run(self, *steps: str) -> ClientReport | None:
        """The report; ``None`` if the person left."""
        self.judge.chosen = steps
        judging = asyncio.get_running_loop().create_task(self.judge.run())
        person = spawn(self._person(judging), name="person")
        try:
            async with asyncio.timeout(HANG):
                return await judging
        except asyncio.CancelledError:
            return None
        finally:
            person.cancel()
            if self._server is not None:
                if self._server.returncode is None:
                    self._server.kill()
                await self._server.wait()

    def _read(self, text: str) -> None:
        self.told.append(text)
        if text.startswith("→"):
            self._did.put_nowait(text)

    async def _person(self, judging: asyncio.Task[Any]) -> None:
        while True:
            text = await self._did.get()
            if self.leaves_at in text:
                judging.cancel()
            if "Call the tool" in text:
                tool, _, arguments = text.partition("Call the tool ")[2].partition(" with ")
                given, _ = json.JSONDecoder().raw_decode(arguments)
                await self._send("tools/call", {"name": tool, "arguments": given})
            elif "Stop that call" in text and self.cancels:
                await self._send("notifications/cancelled", {"requestId": self._id, "reason": "enough"})
            if "Enter" in text and "If it cannot" not in text:
                said = next((each for words, each in self.says.items() if words in text), "")
                assert self.judge.trial is not None
                self.judge.trial.said(said)

    async def _send(self, method: str, params: dict[str, Any]) -> None:
        if self._server is None:
            words = [*MCP_TUI, "demo", "--judge", str(self.judge.folder / "judge")]
            self._server = await asyncio.create_subprocess_exec(*words, stdin=-1, stdout=-1)
            self._reading = spawn(self._answers(), name="answers")
            opening: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
            await self._send("initialize", {**opening, "clientInfo": {"name": self.name, "version": "1"}})
        assert self._server.stdin is not None
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            self._id += 1
            frame["id"] = self._id
        self._server.stdin.write(json.dumps(frame).encode() + b"\n")
        await self._server.stdin.drain()

    async def _answers(self) -> None:
        assert self._server is not None
        assert self._server.stdout is not None
        async for line in self._server.stdout:
            result = json.loads(line).get("result", {})
            self.answers += [each["text"] for each in result.get("content", ())]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_experiments, "CANCEL_SECONDS", 0.05)
    monkeypatch.setattr(client_experiments, "MOMENT_SECONDS", 0.05)


def verdicts(report: ClientReport | None, *rules: str) -> dict[str, Verdict]:
    assert report is not None
    return {rule: report.findings[rule].verdict for rule in rules}


async def test_a_program_that_cancels_when_it_is_stopped_passes_and_its_model_is_told_what_is_next(
    tmp_path: Path,
):
    played = Played(tmp_path)
    report = await played.run("stop", "unknown-cancel")
    assert verdicts(report, "K-02", "K-03", "K-04", "K-07", "K-11", "K-17") == dict.fromkeys(
        ("K-02", "K-03", "K-04", "K-07", "K-11", "K-17"), PASS
    )
    assert '3. Next: Call the tool stubborn with {"seconds": 60}.' in played.answers
    assert [each for each in played.told if "cancelled by notifications/cancelled" in each]
    assert report is not None
    assert (report.info.name, report.command) == ("played", "by hand")


async def test_what_a_person_says_is_evidence_against_a_program_that_sends_nothing(tmp_path: Path):
    played = Played(tmp_path, cancels=False, says={"y or n": "y"})
    report = await played.run("stop")
    assert verdicts(report, "K-02", "K-07") == {"K-02": WARNING, "K-07": WARNING}
    assert report is not None
    assert report.findings["K-02"].sentence == "it was stopped by a person, and sent no cancel"


async def test_a_next_call_that_fails_is_harm_as_the_person_saw(tmp_path: Path):
    report = await Played(tmp_path, says={"The answer is 3": "n"}).run("stop")
    assert verdicts(report, "K-07") == {"K-07": WARNING}


async def test_without_a_word_of_the_person_nothing_is_judged(tmp_path: Path):
    played = Played(tmp_path, cancels=False, says={"gives up on its own": "n"})
    report = await played.run("limit")
    assert verdicts(report, "K-01", "K-07") == {"K-01": UNSEEN, "K-07": UNSEEN}


async def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path):
    first = Played(tmp_path)
    first.leaves_at = "Stop that call"
    first.says = {"gives up on its own": "n"}
    assert await first.run("limit", "stop") is None
    second = Played(tmp_path)
    report = await second.run("limit", "stop")
    assert [each for each in second.told if each.startswith("Step ")] == ["Step 2 of 2: stop"]
    assert verdicts(report, "K-01", "K-02") == {"K-01": UNSEEN, "K-02": PASS}


async def test_the_steps_of_two_programs_are_not_mixed(tmp_path: Path):
    first = Played(tmp_path, says={"gives up on its own": "n"})
    first.leaves_at = "Stop that call"
    assert await first.run("limit", "stop") is None
    second = Played(tmp_path)
    second.name = "another"
    with pytest.raises(Unstartable, match="made with played 1, this one with another 1"):
        await second.run("limit", "stop")


def test_a_person_is_needed():
    ran = run("probe-client", "--by-hand")
    assert (ran.status, ran.out) == (2, "")
    assert "probe-client -- COMMAND" in ran.err


def test_a_server_without_its_judge_says_how_to_start_one(tmp_path: Path):
    asked = json.dumps({"jsonrpc": "2.0", "id": "a", "method": "initialize"}) + "\n"
    words = [*MCP_TUI, "demo", "--judge", str(tmp_path / "judge")]
    ran = subprocess.run(words, input=asked, capture_output=True, text=True, timeout=HANG, check=False)
    answer = json.loads(ran.stdout)
    assert (ran.returncode, answer["id"]) == (4, "a")
    assert "probe-client --by-hand" in answer["error"]["message"]
    assert answer["error"]["message"] in ran.stderr
