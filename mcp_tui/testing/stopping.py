"""The question whether a tool stops when it is cancelled, answered by the probe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from mcp_tui.client import ClientSettings
from mcp_tui.journal.store import Store
from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.judging import HEARTBEAT
from mcp_tui.probe.report import TIME_OVER, Finding, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.run import WAY_OUT, Probe
from mcp_tui.probe.tool_choice import NamedTool
from mcp_tui.protocol.messages import Json
from mcp_tui.testing.sessions import LoopThread, Server, target_of, with_parameters

STOPS: Final = "P-03"
"""The rule that a cancelled call stops working."""

MID_WORK: Final = [each for each in EXPERIMENTS if each.name == "cancelled mid-work"]


def assert_stops_when_cancelled(
    server: Server,
    tool: str,
    arguments: dict[str, Json] | None = None,
    *,
    heartbeat: Path | str | None = None,
    patience: float = 60.0,
    settings: ClientSettings | None = None,
) -> Report:
    """Calls a tool twice, once to its end and once cancelled in its midst, and judges that as ``mcp-tui probe`` does.

    ``heartbeat`` is a file that the tool writes to while it works, for one that reports no progress. ``patience`` is the
    number of seconds that the tool may take. Returns the report.

    Raises:
        AssertionError: the tool works on, or answers after the cancel, or the next call fails; or nothing shows whether it
            stops: what cannot be seen is no success.
        TransportError: no session came about.
        Unsuitable: the tool cannot be called so.
    """
    __tracebackhide__ = True
    probe = Probe(
        target_of(server),
        settings or ClientSettings(),
        wish=NamedTool(tool, (), arguments or {}),
        heartbeat=None if heartbeat is None else Path(heartbeat),
        patience=patience,
        limit=math.inf,  # a busy machine makes a test slower, not red
        experiments=MID_WORK,
        reuse=True,
        store=lambda _: Store(),
        on_progress=lambda _: None,
    )
    thread = LoopThread("mcp probe")  # where no event loop is running, whatever the test itself is
    try:
        report = thread.run(probe.run())
    finally:
        thread.close()  # of a run that ctrl+c cancelled, this waits for the end of the server
    if report.no_tool:
        raise AssertionError(f"Nothing shows whether {tool} stops: {advising_here(report.no_tool)}.")
    wrong = [each for each in report.findings.values() if each.verdict is Verdict.FAIL]
    stops = report.findings.get(STOPS)
    if stops is not None and stops.verdict is not Verdict.PASS and stops not in wrong:
        wrong.append(stops)
    if wrong:
        raise AssertionError("\n".join(line for each in wrong for line in _lines(tool, each)))
    return report


_ADVICE_HERE: Final = {
    HEARTBEAT: "heartbeat=FILE shows whether the tool stops, if it writes to FILE while it works",
    WAY_OUT: "name a tool, or arguments, with which it works for a second or more",
    TIME_OVER: "not run: time was over",
}
"""What the probe advises, in words for a test."""


def advising_here(sentence: str) -> str:
    """Returns a sentence of the probe with the advice for a test."""
    return with_parameters(sentence, _ADVICE_HERE)


def _lines(tool: str, finding: Finding) -> list[str]:
    rule = RULES[finding.rule]
    sentence = advising_here(finding.sentence)
    lines = [f"{tool} breaks {rule.id} ({rule.title}): {sentence}"]
    if finding.verdict is Verdict.NOT_OBSERVABLE:
        lines = [f"Nothing shows whether {tool} stops ({rule.id}): {sentence}"]
    return [
        *lines,
        *(f"  {'' if each.at is None else f'{each.at:.3f} s '}{each.what}" for each in finding.evidence),
    ]
