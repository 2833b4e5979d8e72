"""The probe on the screen, driven by keys on the demo server and on a scripted one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_tui.probe.rules import RULES
from mcp_tui.tui.screens.probe_screen import ProbeScreen
from tests.probe.probing import scripted
from tests.servers.stdio_scripted import processes
from tests.tui.driving import Driven, driving

pytestmark = pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about


@asynccontextmanager
async def opened(mode: str, *marks: str) -> AsyncGenerator[Driven]:
    """The workbench on a scripted server, which offers tools alone."""
    target = scripted(mode)
    target = replace(target, command=(*target.command, *marks))
    async with driving(target, link=None, size=(120, 36)) as driven:
        await driven.until(
            lambda: driven.app.session is not None and "tools" in driven.session.catalogue.entries
        )
        yield driven


def probe(driven: Driven) -> ProbeScreen:
    assert isinstance(driven.top, ProbeScreen)
    return driven.top


async def test_it_says_what_it_will_call_and_for_how_long_before_it_does_anything():
    async with driving(size=(120, 36)) as driven:
        await driven.until(lambda: "count" in driven.text())
        await driven.press("P")
        await driven.until(lambda: "enter Start" in driven.text())
        text = driven.text()
        assert "Does this server stop when told to?" in text
        assert "it calls count seconds=2 steps=10 about 25 times" in text
        assert "Takes at most 50 s" in text
        assert "P-01" in text
        assert not probe(driven).running
        await driven.press("y")
        await driven.until(lambda: "No report yet" in driven.text())
        await driven.press("escape")
        assert driven.top is driven.bench


async def test_the_rules_are_judged_before_ones_eyes_and_the_report_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    async with opened("harmful") as driven:
        await driven.press("P", "enter")
        screen = probe(driven)
        assert screen.running
        await driven.press("enter")
        assert "The probe is running" in driven.text()
        await driven.until(lambda: "connecting" in driven.text())
        await driven.until(lambda: screen.report is not None)
        assert "✓ pass" in driven.line("P-10  ")
        assert "∅ not observable" in driven.line("P-01  ")
        assert "stops when told to: not observable" in driven.text()
        assert set(screen.findings) == set(RULES)

        await driven.press("home", *["down"] * 9)
        assert "P-10 a cancel of an unknown id is ignored" in driven.text()
        assert 'cancelled 987654321 and "no-such-request"' in driven.text()

        await driven.press("y")
        assert driven.app.clipboard.startswith("# Does probe-server 1 stop when told to?")
        await driven.press("w")
        report = tmp_path / "probe-probe-server-1.md"
        assert report.read_text() == driven.app.clipboard
        report.write_text("of the first probe")
        await driven.press("w")
        assert report.read_text() == "of the first probe"
        assert (tmp_path / "probe-probe-server-1-1.md").read_text() == driven.app.clipboard
        await driven.press("enter")
        assert "r runs it again" in driven.text()
        # the session that was open before goes on
        await driven.press("escape")
        assert driven.top is driven.bench
        assert driven.session.client.connected


async def test_esc_asks_once_and_then_stops_the_probe_with_its_servers(tmp_path: Path):
    mark = f"mark-{tmp_path}"
    async with opened("good", mark) as driven:
        own = processes(mark)
        await driven.press("P", "enter")
        screen = probe(driven)
        await driven.until(lambda: len(processes(mark)) > len(own))
        await driven.press("escape")
        assert driven.top is screen
        assert "esc again to stop it" in driven.text()
        await driven.press("escape")
        await driven.until(lambda: driven.top is driven.bench)
        await driven.until(lambda: processes(mark) == own)


async def test_a_rule_that_was_not_judged_waits_for_nothing_once_the_probe_is_stopped():
    async with opened("good") as driven:
        await driven.press("P", "enter")
        await driven.until(lambda: "…" in driven.line("P-01  "))
        await driven.press("ctrl+c")
        await driven.until(lambda: "Stopped." in driven.text())
        await driven.until(lambda: "…" not in driven.line("P-01  "))
