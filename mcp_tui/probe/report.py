"""The findings of a run, which are verdicts with evidence, and the report that summarises them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import ClassVar, Final

from mcp_tui.client.connection import ServerInfo
from mcp_tui.probe.rules import RULES, Clause, Rule, Strength
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.values import frozen


class Verdict(Enum):
    """The verdict on one rule."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    """A MUST is broken."""
    WARNING = "warning"
    """A SHOULD is not followed."""
    NOT_OBSERVABLE = "not observable"
    """The server gives no way to observe the rule, or the experiment could not be run."""
    NOT_APPLICABLE = "not applicable"
    """The rule does not apply to this transport, revision, or server."""


BAD: Final = (Verdict.FAIL, Verdict.WARNING)

TIME_OVER: Final = "not run: time was over (mcp-tui probe --time S gives more)"


@frozen
class EvidenceItem:
    """One observation. ``at`` is in seconds since the call of the experiment was written; ``None`` without a call.

    ``frame`` is the start of the observed message. ``what`` and ``frame`` may contain text from the server.
    """

    what: str
    at: float | None = None
    frame: str = ""

    def fields(self) -> dict[str, object]:
        """Returns the evidence for JSON."""
        at = None if self.at is None else round(self.at, 3)
        return {"t": at, "what": self.what, "frame": self.frame or None}


@frozen
class Finding:
    """The verdict on one rule, the reason, and the evidence. ``sentence`` may contain text from the server.

    ``clause`` is the broken clause if it is a general one instead of the rule's own.
    """

    rule: str
    verdict: Verdict
    sentence: str
    evidence: tuple[EvidenceItem, ...] = ()
    clause: Clause | None = None

    def fields(self) -> dict[str, object]:
        """Returns the finding for JSON."""
        evidence = [each.fields() for each in self.evidence]
        return {"verdict": self.verdict.value, "sentence": self.sentence, "evidence": evidence}


def is_broken(clause: Clause, finding: Finding, *, strict: bool = False) -> bool:
    """Returns whether a MUST is broken or, if ``strict``, a SHOULD is not followed."""
    advised = strict and finding.verdict is Verdict.WARNING and clause.level is not Strength.MAY
    return finding.verdict is Verdict.FAIL or advised


@frozen
class CalledTool:
    """A tool that was called, its arguments, and the number of calls."""

    tool: str
    arguments: dict[str, Json]
    times: int


@frozen
class PassedOver:
    """A tool that may be slow but was not used: the reason, and the command that uses it anyway."""

    tool: str
    why: str
    command: str


@dataclass(slots=True, kw_only=True)
class Report:
    """The report of a run, filled in during the run.

    Attributes:
        party: who was judged.
        asked: the question that the last line answers.
        label: the left text of the badge.
        info: the facts about the server.
        table: the rules.
        probe: the version of mcp-tui.
        date: the start of the run (UTC).
        command: the server's command line or URL, without secrets.
        tool: the slow tool; empty for none.
        arguments: the arguments of its calls.
        duration: the seconds of the uncancelled run; ``None`` if it did not end, or without a tool.
        seconds: the seconds of the whole run.
        calls: the tools that were called.
        findings: the findings by rule.
        notes: sentences about the run, including the ``violations``.
        violations: messages that violate the protocol, but that no rule is about.
        no_tool: why no slow tool was used, and what to do; empty if one was used.
        unlisted: whether the tools are unknown, because ``tools/list`` failed.
        passed_over: the best candidates if no slow tool was used.
        lost: why no experiment could connect after the control run.
        not_run: the rules that were not judged because time was over.
        took: the seconds of each experiment.
    """

    party: ClassVar = "server"
    asked: ClassVar = "stop when told to"
    label: ClassVar = "MCP cancellation"
    info: ServerInfo
    table: Mapping[str, Rule] = field(default_factory=lambda: RULES)
    probe: str = ""
    date: str = ""
    command: str = ""
    tool: str = ""
    arguments: dict[str, Json] = field(default_factory=dict[str, Json])
    duration: float | None = None
    seconds: float = 0.0
    calls: tuple[CalledTool, ...] = ()
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    notes: list[str] = field(default_factory=list[str])
    violations: list[str] = field(default_factory=list[str])
    no_tool: str = ""
    unlisted: bool = False
    passed_over: tuple[PassedOver, ...] = ()
    lost: str = ""
    not_run: list[str] = field(default_factory=list[str])
    took: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def server_named(self) -> str:
        """The name of the server with its version."""
        return f"{self.info.name} {self.info.version}".strip()

    def rows(self) -> list[tuple[Rule, Clause, Finding]]:
        """Returns each rule with its clause and its finding, in the order of the rules."""
        unseen = Finding("", Verdict.NOT_OBSERVABLE, "not run")
        found = ((rule, self.findings.get(rule.id, unseen)) for rule in self.table.values())
        return [(rule, finding.clause or self._clause(rule), finding) for rule, finding in found]

    def _clause(self, rule: Rule) -> Clause:
        return rule.clause(self.info.revision, self.info.transport)

    def seconds_of(self, rule: Rule) -> float:
        """Returns the seconds that a rule took: its share of the experiment, which may judge several rules."""
        rules = [each for each in self.table.values() if each.experiment == rule.experiment]
        return self.took.get(rule.experiment, 0.0) / len(rules)

    def broken(self, *, strict: bool = False) -> bool:
        """Returns whether a MUST is broken or, if ``strict``, a SHOULD is not followed or there is a violation."""
        broken = any(is_broken(clause, finding, strict=strict) for _, clause, finding in self.rows())
        return broken or (strict and bool(self.violations))

    def unjudged(self, *, strict: bool = False) -> bool:
        """Returns whether time was over before a MUST or, if ``strict``, a SHOULD was judged."""
        levels = (Strength.MUST, Strength.SHOULD) if strict else (Strength.MUST,)
        return any(self._clause(self.table[rule]).level in levels for rule in self.not_run)

    def counts(self) -> dict[Verdict, int]:
        """Returns the number of rules with each verdict."""
        verdicts = [finding.verdict for _, _, finding in self.rows()]
        return {verdict: verdicts.count(verdict) for verdict in Verdict}

    def _of(self, rule: str) -> Finding | None:
        finding = self.findings.get(rule)
        return finding if finding is not None and finding.verdict in BAD else None

    def stops(self) -> tuple[str, str]:
        """Returns whether the server stops when told to (``yes``, ``no``, or ``not observable``), and the reason."""
        if why := self.no_tool or self.lost:
            return "not observable", why
        work = self.findings.get("P-03")
        aside = [finding.sentence for rule in ("P-01", "P-02") if (finding := self._of(rule)) is not None]
        if died := self._of("P-04") or self._of("P-18"):
            return "no", died.sentence
        if work is None:
            return "not observable", "the experiment was not run"
        if work.verdict is Verdict.WARNING:
            return "no", work.sentence
        if work.verdict is Verdict.PASS:
            return "yes", f"but {'; '.join(aside)}" if aside else work.sentence
        return "not observable", "; ".join([work.sentence, *aside])

    def in_short(self, answer: str) -> str:
        """Returns the answer of :meth:`stops` in a few words."""
        if self._of("P-04") is not None:
            return "next call fails"
        return {"yes": "stops", "no": "keeps working"}.get(answer, answer)

    def badge(self) -> dict[str, object]:
        """Returns the report for badge services (the endpoint format of shields.io)."""
        answer = self.stops()[0]
        fails = sum(is_broken(clause, found) for _, clause, found in self.rows())
        warnings = sum(is_broken(clause, found, strict=True) for _, clause, found in self.rows()) - fails
        sound = answer == "yes" and not (warnings or self.not_run or self.violations)
        color = "brightgreen" if sound else "yellow"
        if fails or answer == "no":
            color = "red"
        message = self.in_short(answer)
        message += f", {fails} MUST broken" * bool(fails)
        message += f", {warnings} SHOULD not followed" * bool(warnings)
        violations = len(self.violations)
        message += f", {violations} violation{'s'[: violations > 1]}" * bool(violations)
        message += f", {len(self.not_run)} not run" * bool(self.not_run)
        return {"schemaVersion": 1, "label": self.label, "message": message, "color": color}

    def fields(self) -> dict[str, object]:
        """Returns the report for JSON."""
        (answer, why), info = self.stops(), self.info
        return {
            "schema": 1,
            "mcp_tui": self.probe,
            "date": self.date,
            self.party: {"name": info.name, "version": info.version, "command": self.command},
            "transport": info.transport,
            "revision": info.revision.name,
            "tool": self.tool or None,
            "arguments": self.arguments if self.tool else None,
            "duration": None if self.duration is None else round(self.duration, 3),
            "calls": [asdict(each) for each in self.calls],
            "rules": [
                {
                    "id": rule.id,
                    "title": rule.title,
                    **clause.fields(rule.of(info.revision)),
                    **finding.fields(),
                }
                for rule, clause, finding in self.rows()
            ],
            "counts": {verdict.value: count for verdict, count in self.counts().items()},
            "stops": answer,
            "why": why,
            "passed_over": [asdict(each) for each in self.passed_over],
            "not_run": list(self.not_run),
            "notes": list(self.notes),
            "violations": list(self.violations),
            "seconds": round(self.seconds, 3),
        }
