"""The probe over the older HTTP+SSE transport, of 2024-11-05: a good server passes, a bad one falls by the same rules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mcp_tui.client.settings import HttpTarget
from mcp_tui.probe.report import Report, Verdict
from tests.probe.probing import SERVER, fallen, probed

pytestmark = [pytest.mark.sends_anything, pytest.mark.slow, pytest.mark.timeout(200)]

FRONT = SERVER.with_name("sse_front.py")


def probed_over_sse(mode: str) -> Report:
    command = (sys.executable, str(FRONT), sys.executable, "-S", str(SERVER), mode)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            target = HttpTarget(url=process.stdout.readline().strip())
            return probed(target, "slow_work", ("seconds", "0.8"), revision="2024-11-05", patience=3.0)
        finally:
            process.kill()


def test_a_good_server_passes_whatever_can_be_seen():
    report = probed_over_sse("good")
    assert (report.transport, report.lost) == ("sse", "")
    assert report.revision is not None
    assert report.revision.name == "2024-11-05"
    assert fallen(report) == {}
    assert report.stops()[0] == "yes"
    for rule in ("P-17", "P-18", "P-19", "P-20", "P-21"):
        assert report.findings[rule].verdict is Verdict.NOT_APPLICABLE
    for rule in ("P-01", "P-02", "P-03", "P-04", "P-05", "P-06", "P-08", "P-14", "P-16", "P-22"):
        assert report.findings[rule].verdict is Verdict.PASS, report.findings[rule]


def test_one_that_stops_every_call_falls_by_that_rule():
    fell = fallen(probed_over_sse("selfish"))
    assert {rule: verdict for rule, verdict in fell.items() if rule != "P-07"} == {"P-14": "fail"}
