"""The screen of the probe: the rules with their verdicts, and the evidence for the selected rule."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Final

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.worker import Worker

from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.results import free, save
from mcp_tui.probe.report import BAD, EvidenceItem, Finding, Report
from mcp_tui.probe.rules import RULES, Rule
from mcp_tui.probe.run import OnProgress, Probe
from mcp_tui.probe.tool_choice import Choice, Unsuitable
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.transport.base import TransportError
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.host import Host
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.widgets.bars import KeyBar
from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view import probe_report as view
from mcp_tui.view.detail import Section
from mcp_tui.view.keys import PROBE, hint, keys
from mcp_tui.view.lines import Line, Lines, line, texts
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, safe, symbols, words

FINDINGS_LOOK_SECONDS: Final = 0.1
"""Seconds between two checks for findings of the probe."""

_PROBE_TITLE: Final = words("Probe")

_UNKNOWN_SERVER: Final = ServerInfo(transport="stdio", revision=LATEST_HANDSHAKE)
"""The server whose clauses are shown before the report names the real ones."""

_RULES: Final = tuple(RULES.values())

_WHOLE_CELLS: Final = max(len(rule.title) for rule in _RULES) + 24
"""The width in cells of a line with a rule's id, the longest verdict, and the longest title."""


class ProbeScreen(ModalScreen[None]):
    """Probes a server on separate connections; closing the screen ends the probe and all of them.

    ``made`` makes the probe for each start. ``choices`` are the tools to try, in this order; ``None`` if the server's
    tools are not listed yet.
    """

    app = getters.app(Host)
    BINDINGS = bindings(PROBE)

    def __init__(self, made: Callable[[OnProgress], Probe], choices: Sequence[Choice] | None) -> None:
        super().__init__()
        self._made = made
        self._choices = choices
        self.findings: dict[str, Finding] = {}
        self.report: Report | None = None
        self.trouble = NOTHING
        self._doing = NOTHING
        self._began, self._strayed = 0.0, -inf
        self._worker: Worker[None] | None = None
        self._warned = False
        self._story: list[Line] = []
        source = Lines(
            lambda: range(len(RULES)),
            # The last rule first: the list shows its newest line on top.
            lambda number: _RULES[-1 - number],
            self._line,
            lambda: hash((self.running, *self.findings.values())),
        )
        self.list = LineList(source, title="Probe", what="rule", newest_first=True, id="rules")
        self.evidence = Detail(id="evidence")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.list
            yield self.evidence
        yield self.keys

    def on_mount(self) -> None:
        self.set_class(self.app.ascii, "-ascii")
        self.keys.show(keys(PROBE))
        self.list.focus()
        self.set_interval(FINDINGS_LOOK_SECONDS, self.look)
        self._introduce()
        self.look()

    @property
    def running(self) -> bool:
        """Whether the probe is running."""
        return self._worker is not None and not self._worker.is_finished

    # -- display ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Shows the newest state."""
        if not self.is_mounted:
            return
        self.set_class(not self.running and not self.findings, "-before")
        self.list.retitle(self._title())
        self.list.refresh_source()
        idle = set[str]()
        if self.running or self.report is not None:
            idle.add("probe.start")
        if self.running or not self.findings:
            idle.add("probe.again")
        if self.report is None:
            idle |= {"probe.copy", "probe.save"}
        self.keys.show(keys(PROBE), idle)

    def _line(self, number: int, width: int) -> Line:
        """Returns the line of a rule and its verdict."""
        rule = _RULES[-1 - number]
        finding = self.findings.get(rule.id)
        word, tone = words("…" if self.running else ""), "muted"
        if finding is not None:
            word, tone = view.word(finding.verdict), view.VERDICT_GLYPHS[finding.verdict][1]
        # If titles would be cut, the glyph is enough: the pane below has the word.
        cells = 16 if width >= _WHOLE_CELLS else 1
        shown = safe("{:<{}}", word[:cells], cells)
        return line(safe("{}  ", rule.id), (shown, tone), safe("  {}", rule.title), key=rule.id)

    def _title(self) -> SafeText:
        if self.running:
            return brief(f"Probe · {time.monotonic() - self._began:.0f} s · {self._doing}", 300)
        if self.report is not None:
            return safe("Probe · stops when told to: {}", self.report.stops()[0])
        return self.trouble or _PROBE_TITLE

    def _introduce(self) -> None:
        """Describes what the probe will do, with which tools, and for how long."""
        first, *rest = view.plan(self._choices)
        lines = [
            line((safe("{} {}", hint("{probe.start} starts the probe:"), first), "title")),
            *map(line, rest),
        ]
        lines.append(line(words("It uses its own connections; your running requests are not touched.")))
        another = (
            "For another tool, go to it in the catalogue ({view.pane-2}) and press {server.probe} there."
        )
        lines.append(line((hint(another), "muted")))
        self._show("introduction", lines, pane=words("Does this server stop when told to?"))

    def _explain(self, rule: Rule) -> None:
        """Shows the evidence for a rule."""
        finding = self.findings.get(rule.id)
        server = _UNKNOWN_SERVER if self.report is None else self.report.info
        clause = (finding and finding.clause) or rule.clause(server.revision, server.transport)
        source = line(
            (safe("{}: {}", clause.level.value, clause.text(rule.of(server.revision).name)), "muted")
        )
        known, evidence = [source, line(words("not judged yet"))], list[Line]()
        if finding is not None:
            known = [line(_verdict(finding), clean(finding.sentence)), source]
            evidence += map(_evidence_line, finding.evidence)
        key, pane = (rule.id, finding and finding.verdict), safe("{} {}", rule.id, rule.title)
        self._show(key, known, Section(words("Evidence"), evidence), pane=pane)

    def _show(
        self, key: object, lines: Sequence[Line], *more: Section, pane: SafeText = _PROBE_TITLE
    ) -> None:
        """Shows lines below the rules, and the sections of ``more`` that are not empty."""
        sections = [Section(NOTHING, lines), *(each for each in more if each.lines)]
        self.evidence.show(pane, sections, key=key)

    def on_list_canvas_selected(self, event: LineList.Selected) -> None:
        self._explain(RULES[event.about])

    # -- running the probe -----------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Notes a letter that has no meaning here: it was typed for something else, like the enter after it."""
        if event.is_printable:
            self._strayed = self.app.guard.now()

    def action_start(self) -> None:
        """Starts the probe for the first time."""
        if self.report is not None:
            self.keys.show_message(hint("The probe is finished. {probe.again} runs it again."))
        elif self.app.guard.was_readable(self._strayed):
            self._start()
        else:
            self.keys.show_message(words("Text was typed here: press again."))

    def action_again(self) -> None:
        """Starts the probe after another run."""
        if self.findings:
            self._start()
        else:
            self.keys.show_message(hint("No run yet. {probe.start} starts the probe."))

    def _start(self) -> None:
        if self.running:
            self.keys.show_message(hint("The probe is running. {app.interrupt} stops it."))
            return
        self.report, self.trouble, self._warned = None, NOTHING, False
        self.findings.clear()
        self._story.clear()
        self._began = time.monotonic()
        self._doing = words("connecting")
        self._worker = self.run_worker(self._probe, group="probe", exclusive=True, exit_on_error=False)
        self.look()

    async def _probe(self) -> None:
        try:
            self.report = await self._made(self._note_step).run()
        except (TransportError, Unsuitable) as error:
            self.trouble = brief(str(error), 400)
            stderr = error.stderr if isinstance(error, TransportError) else ()
            self._show(
                "trouble", [line((self.trouble, "error")), *texts(brief(each, 400) for each in stderr)]
            )
            return
        except asyncio.CancelledError:
            self.trouble = words("Stopped. Running requests were cancelled and the servers stopped.")
            raise
        self._conclude(self.report)

    def _note_step(self, news: str | Finding) -> None:
        """Shows a step or a finding of the probe. Until a rule is selected, all of them are shown, newest first."""
        at = (safe("{:6.1f} s  ", time.monotonic() - self._began), "muted")
        if isinstance(news, str):
            self._doing = brief(news, 200)
            self._story.append(line(at, self._doing))
        else:
            self.findings[news.rule] = news
            self._story.append(line(at, safe("  {} ", news.rule), _verdict(news), brief(news.sentence, 200)))
        chosen = self.list.selected
        if chosen is None:
            self._show("story", self._story[::-1])
        elif isinstance(news, Finding) and chosen.key == news.rule:
            self._explain(RULES[news.rule])

    def _conclude(self, report: Report) -> None:
        lines = [line((view.conclusion(report), "title"))]
        lines += map(line, (view.headline(report), view.counted(report), *map(clean, report.notes)))
        lines += map(line, view.passed_over(report))
        lines.append(line((view.called(report), "muted")))
        problems: list[Line] = []
        for rule, _, found in report.rows():
            if found.verdict in BAD:
                head = safe("{} {}: ", rule.id, found.verdict.value)
                problems.append(line((head, view.VERDICT_GLYPHS[found.verdict][1]), clean(found.sentence)))
        self._show("conclusion", lines, Section(words("Problems"), problems))

    def action_copy(self) -> None:
        """Copies the report as Markdown."""
        if self.report is None:
            self.keys.show_message(words("No report yet"))
        else:
            self.app.copy_to_clipboard(view.markdown(self.report))
            self.keys.show_message(
                words("Report copied (if your terminal supports OSC 52)"), "muted", seconds=3
            )

    def action_save(self) -> None:
        """Writes the report as Markdown to the folder where mcp-tui was started."""
        if self.report is None:
            self.keys.show_message(words("No report yet"))
            return
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.report.server_named).strip("-.")[:48] or "server"
        path = free(Path(), f"probe-{name}.md")
        try:
            save(path, symbols(view.markdown(self.report)).encode())
        except OSError as error:
            self.keys.show_message(brief(f"{path}: {error.strerror}"), "error")
        else:
            self.keys.show_message(brief(f"written to {path.absolute()}", 300), "muted")

    def action_other_pane(self) -> None:
        self.set_focus(self.evidence if self.focused is self.list else self.list)

    def action_interrupt(self) -> None:
        """Copies the selected text, else stops the probe, else goes back (ctrl+c)."""
        if copied(self):
            self.keys.show_message(words("copied"), "muted", seconds=2)
        elif self.running and self._worker is not None:
            self._worker.cancel()
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Goes back, which ends the probe. While it is running, the first press only says so."""
        if self.running and not self._warned:
            self._warned = True
            self.keys.show_message(
                hint("The probe is running. Press {app.back} again to stop it and go back.")
            )
            return
        self.dismiss(None)


def _verdict(finding: Finding) -> tuple[SafeText, str]:
    return safe("{}: ", view.word(finding.verdict)), view.VERDICT_GLYPHS[finding.verdict][1]


def _evidence_line(evidence: EvidenceItem) -> Line:
    at, what, frame = view.evidence_pieces(evidence, 400)
    return line((at, "muted"), what, (frame, "muted"))
