"""``check``: assertions over recordings, in the filter language of the workbench, and over a catalogue.

Missing or unreadable input never passes: a damaged recording, a file that is not a recording, a recording without
requests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from mcp_tui import clock
from mcp_tui.cli import journals, reports
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, dump, out, table, warn
from mcp_tui.cli.printer import summary
from mcp_tui.cli.reports import NOT_JUDGED, ReportCase, ReportFinding, ReportRule, Reports
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.cli.snapshot import CatalogueCheck, Lists, catalogue_of, read_lock
from mcp_tui.journal.journal_files import Journal
from mcp_tui.journal.payloads import SearchedMessages
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import STRICT_BYTES, Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.workers import in_parallel
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.descriptions import about
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.protocol.states import TypedId
from mcp_tui.protocol.values import frozen
from mcp_tui.view.badges import badge, outcome_of, server_request_badge
from mcp_tui.view.filters import Shown, is_open, json_state, parse, request_fields
from mcp_tui.view.list_filters import broken_rules, is_beside, log, names_messages
from mcp_tui.view.text import SafeText, brief, clean, join
from mcp_tui.view.wire import event_pieces


@frozen
class MatchedRow:
    """A row that a filter matches, and the offset of its record in the file.

    ``until`` is the end of its recording, ``wall`` the epoch time at which the recording began.
    """

    session: str
    file: str
    row: Shown
    until: float
    wall: float
    offset: int

    @property
    def seconds(self) -> float | None:
        """The seconds from the request to its end; ``None`` if it was never sent, or never ended."""
        row = self.row
        sent = row.at if isinstance(row, ServerRequest) else row.sent_at
        return None if sent is None or row.ended_at is None else row.elapsed(row.ended_at)

    def cells(self) -> tuple[SafeText, ...]:
        """The cells for a person: session, time, request, state, and outcome."""
        row = self.row
        if isinstance(row, ServerRequest):
            id, label, word, became = (
                row.request_id,
                row.method,
                server_request_badge(row).word,
                outcome_of(row),
            )
        else:
            id, label, word = row.id, row.label, badge(row, self.until).word
            open_ = f"open after {row.elapsed(self.until):.3f} s"
            became = brief(open_ if row.open else summary(row, self.until))
        named = join((brief(str(id), 40), brief(label, 80)), " ")
        return brief(self.session, 200), clean(clock.local_stamp(self.wall)), named, word, became

    def fields(self) -> dict[str, Any]:
        """The row as JSON."""
        row, seconds = self.row, self.seconds
        made: dict[str, Any] = {
            "session": self.session,
            "file": self.file,
            "time": clock.utc_stamp(self.wall) or None,
            "method": row.method,
            "elapsed": None if seconds is None else round(seconds, 6),
        }
        if isinstance(row, ServerRequest):
            word = json_state(row)
            return made | {"id": row.request_id, "question": True, "state": word, "shown": word}
        return made | {
            "id": row.id,
            "question": False,
            "name": row.name or None,
            "state": json_state(row),
            "shown": badge(row, self.until).word,
            "error": row.error or None,
            "cause": None if row.cause is None else row.cause.value,
            "reason": row.reason,
            **evidence.as_json(row, self.until),
        }


@frozen
class MatchedMessage:
    """An event outside of the requests that a filter matches; ``row`` is the request that it names."""

    session: str
    file: str
    event: ev.Event
    row: Request | None
    wall: float
    offset: int

    seconds = None

    def cells(self) -> tuple[SafeText, ...]:
        """The cells for a person: session, time, request, source, and text."""
        source, text, _ = event_pieces(self.event)
        named = clean("") if self.row is None else brief(f"{self.row.id} {self.row.label}", 120)
        return brief(self.session, 200), clean(clock.local_stamp(self.wall)), named, source, brief(text, 400)

    def fields(self) -> dict[str, Any]:
        """The event as JSON."""
        source, text, _ = event_pieces(self.event)
        return {
            "session": self.session,
            "file": self.file,
            "time": clock.utc_stamp(self.wall) or None,
            "id": None if self.row is None else self.row.id,
            "method": None if self.row is None else self.row.method,
            "name": None if self.row is None else self.row.name or None,
            "source": source,
            "rule": self.event.rule if isinstance(self.event, ev.Violation) else None,
            "text": text,
        }


Match = MatchedRow | MatchedMessage


_EXPECTING: Final = ("expect", "at-least")
"""The assertions that pass if enough requests match."""


@dataclass(slots=True)
class Assertion:
    """One ``--fail-on``, ``--expect``, ``--at-most``, or ``--at-least``, and the rows that match it.

    ``slow`` has the rows that matched but took too long; ``count`` is the maximum or minimum number of matches.
    """

    option: str
    filter: str
    within: float | None = None
    count: int = 0
    matches: list[Match] = field(default_factory=list[Match])
    slow: list[Match] = field(default_factory=list[Match])

    @property
    def passes(self) -> bool:
        """Whether the assertion holds: enough rows match in time, or no more rows than permitted."""
        if self.option in _EXPECTING:
            return len(self.matches) >= self.count and not self.slow
        return len(self.matches) <= self.count

    @property
    def broken_by(self) -> list[Match]:
        """The rows that break the assertion."""
        return [] if self.passes else self.slow if self.option in _EXPECTING else self.matches

    @property
    def name(self) -> str:
        """The assertion as typed."""
        return f"--{self.option} {f'{self.count} ' * self.option.startswith('at-')}{self.filter}"

    def add(self, match: MatchedRow) -> None:
        """Adds a row that matches."""
        ended = match.seconds
        late = self.within is not None and (ended is None or ended > self.within)
        (self.slow if late else self.matches).append(match)

    def sentence(self, checked: int) -> str:
        """Returns a sentence with the result for ``checked`` requests."""
        beside = sum(isinstance(each, MatchedMessage) for each in self.matches)
        some = len(self.matches) - beside
        found = f"{some:,} of {checked:,} requests {'matches' if some == 1 else 'match'}"
        found = found if some else "no request matches"
        if beside:
            found += f", {beside:,} {'line of the log does' if beside == 1 else 'lines of the log do'}"
        if self.slow:
            found += f", {len(self.slow):,} did not end within {self.within:g} s"
        return found

    def fields(self) -> dict[str, Any]:
        """The assertion as JSON."""
        return {
            "option": self.option,
            "filter": self.filter,
            "within": self.within,
            "most": self.count if self.option == "at-most" else None,
            "least": self.count if self.option == "at-least" else None,
            "holds": self.passes,
            "matches": len(self.matches),
            "rows": [each.fields() for each in self.broken_by],
        }


@dataclass(slots=True)
class Findings:
    """The results of the check of ``files``.

    ``problems`` are sentences about files that cannot be judged, by file. ``redacted`` has the files whose searched
    messages lack secrets. ``cut`` counts the requests whose end is unknown. ``seconds`` is the time that each assertion
    took: its share of the reading.
    """

    assertions: list[Assertion]
    files: list[str] = field(default_factory=list[str])
    requests: int = 0
    internal: int = 0
    cut: int = 0
    catalogue: CatalogueCheck | None = None
    problems: dict[str, str] = field(default_factory=dict[str, str])
    redacted: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def status(self) -> Exit:
        """The exit status. A broken assertion counts even if other files could not be read."""
        broken = self.catalogue is not None and not self.catalogue.passes
        if broken or not all(each.passes for each in self.assertions):
            return Exit.BROKEN_RULE
        return Exit.USAGE if self.problems else Exit.COMPLETED

    def add(self, some: Findings) -> None:
        """Adds the findings about further rows."""
        self.requests += some.requests
        self.internal += some.internal
        for each, found in zip(self.assertions, some.assertions, strict=True):
            each.matches += found.matches
            each.slow += found.slow


def run(_name: str, given: Words) -> int:
    """Checks the recordings; returns the exit status."""
    return reports.judging(given, lambda made: _check(given, made))


def _check(given: Words, report: Reports) -> int:
    options = given.options
    made = assertions(options.fail_on, options.expect, options.within, options.at_most, options.at_least)
    named = journals.with_folders(given)
    lock: str | None = options.catalogue
    if not made and (named or lock is None):
        raise Failure(
            "Nothing to check. Add --fail-on FILTER, --expect FILTER, --at-most N FILTER, or --catalogue LOCK."
        )
    if made and not named:
        raise Failure(
            "Missing recording. Give a file, a folder, the start of a session's name, last, or --client."
        )
    if lock is None and (given.url or given.command or options.server or options.demo):
        raise Failure("A server without a catalogue. Add --catalogue LOCK.")
    locked = None if lock is None else read_lock(lock)
    began = perf_counter()
    findings = _read(named, made, internal=options.internal) if made else Findings(made)
    findings.seconds = (perf_counter() - began) / max(1, len(made))
    unread, began = 0, perf_counter()
    if lock is not None and locked is not None:
        found: list[Lists] = []

        async def ask(session: HeadlessSession) -> int:
            found.append(await catalogue_of(session))
            return Exit.COMPLETED

        try:
            unread = sessions.run(given, ask)
        except Failure as failure:
            if not made:
                raise
            unread, findings.problems[lock] = failure.status, str(failure)
        if found:
            findings.catalogue = CatalogueCheck.of(
                lock, locked, found[0], strict=options.strict, seconds=perf_counter() - began
            )
        elif not made:
            return unread  # it was interrupted
        else:
            findings.problems.setdefault(lock, "Interrupted before the server had been asked.")
    report.judged(cases(findings))
    _print(findings, as_json=options.json)
    # A broken assertion counts even if the server could not be asked.
    return findings.status if findings.status is Exit.BROKEN_RULE else unread or findings.status


def assertions(
    fail_on: Iterable[str],
    expect: Iterable[str],
    within: float | None = None,
    at_most: Iterable[tuple[int, str]] = (),
    at_least: Iterable[tuple[int, str]] = (),
) -> list[Assertion]:
    """Returns the assertions of these filters.

    Raises:
        Failure: a filter is empty or invalid, or the time limit has no assertion.
    """
    made = [Assertion("fail-on", each) for each in fail_on]
    made += [Assertion("expect", each, within, count=1) for each in expect]
    made += [Assertion("at-most", filter, count=count) for count, filter in at_most]
    made += [Assertion("at-least", filter, count=count) for count, filter in at_least]
    for each in made:
        filter = parse(each.filter, broken=lambda _row: ())
        if filter.problem:
            raise Failure(f"Invalid {each.name}. {filter.problem}")
        if not filter:
            raise Failure(f"Empty --{each.option}. Use key:value, or words to search for.")
        if (each.option, each.count) == ("at-least", 0):
            raise Failure(f"{each.name} always holds. Use a number of 1 or more.")
    if within is not None and not any(each.option == "expect" for each in made):
        raise Failure("--within is about --expect. Add --expect FILTER.")
    return made


def _read(named: Sequence[Journal], made: list[Assertion], *, internal: bool) -> Findings:
    """Checks every row of the recordings against the assertions."""
    findings = Findings(made)
    size = sum(each.size for each in named)
    if size > STRICT_BYTES and sys.stderr.isatty():
        warn(f"Checking {size / 1e6:,.0f} MB of recordings …")
    for where in named:
        try:
            recording = Recording.read(where.paths[0])
        except RecordingError as error:
            if len(named) == 1:
                raise
            findings.problems[str(where.paths[0])] = str(error)
            continue
        judge(findings, recording, where.name, internal=internal)
        recording.close()
    if not findings.requests and not findings.problems:
        hidden = " --internal checks those that mcp-tui made for itself." if findings.internal else ""
        raise Failure(f"No requests to check.{hidden}")
    return findings


def judge(findings: Findings, recording: Recording, name: str, *, internal: bool = False) -> None:
    """Checks the rows of one recording against the assertions; ``internal`` includes internal requests."""
    file, until = str(recording.path), recording.ended_at
    running = recording.is_locked()
    holes = recording.skipped + recording.lost + (recording.torn and not running)
    if holes:
        text = f"{holes:,} {'record is' if holes == 1 else 'records are'} unreadable or missing in {file}."
        findings.problems[file] = f"{text} Their content is lost."
    elif recording.removed:
        findings.problems[file] = f"{file}: {recording.removed}. Their content is lost."
    findings.files.append(file)
    origin = recording.wall(0.0)
    servers = {each.server: each.client for each in recording.connections().values()}
    server = " ".join((recording.header.target, *servers, *servers.values()))
    payloads = SearchedMessages(recording.payload)
    requests, brief_rows = RecordedRequests.whole(recording), RecordedRequests.whole(recording, is_brief=True)

    def texts(kind: str, row: Shown) -> Iterable[str]:
        """Returns the texts of messages; a row has all of them only if it has all progress."""
        return payloads(kind, row if isinstance(row, ServerRequest) else requests.get(row.id) or row)

    shared: dict[str, Any] = {"server": lambda: server, "now": lambda: until, "payload": texts}
    broken = _broken(recording)

    def judged(rows: Iterable[Shown]) -> tuple[Findings, bool]:
        """Returns the findings about some rows, and whether a redacted message was searched."""
        made = Findings([replace(each, matches=[], slow=[]) for each in findings.assertions])
        filters = [
            (each, parse(each.filter, **shared, broken=broken))
            for each in made.assertions
            if not names_messages(each.filter)[0]
        ]
        for row in _counted(made, rows, internal=internal):
            matched = [assertion for assertion, filter in filters if filter.matches(row)]
            if not matched:
                continue
            at = row.at if isinstance(row, ServerRequest) else row.called_at
            seq = row.seq if isinstance(row, ServerRequest) else row.request_seq
            match = MatchedRow(name, file, row, until, origin + at, _offset(recording, seq))
            for assertion in matched:
                assertion.add(match)
        return made, payloads.redacted

    cut = 0
    rows = len(requests.order)
    for made, redacted in chain(
        in_parallel(rows, lambda places: judged(map(brief_rows.row, places))),
        [judged(requests.server_requests)],
    ):
        findings.add(made)
        cut, payloads.redacted = cut + made.cut, payloads.redacted or redacted
    _judge_messages(findings, requests, name, shared, internal=internal)
    if cut:
        ended = "is still being written" if running else "has no end"
        some = f"{cut:,} request{'s are' if cut > 1 else ' is'} open, or its cancel is watched"
        findings.problems.setdefault(
            file, f"{file} {ended}: {some}. What became of {'them' if cut > 1 else 'it'} is not known."
        )
    if payloads.redacted:
        findings.redacted.append(file)


def _broken(recording: Recording) -> Callable[[Shown], Iterable[str]]:
    """Returns a function that returns the rules broken by a request."""

    @cache
    def rules() -> dict[TypedId, set[str]]:
        found: dict[TypedId, set[str]] = {}
        for event in map(recording.event, recording.table.log):
            id = None if event is None else about(event)
            if event is not None and id is not None:
                found.setdefault((type(id), id), set()).update(broken_rules(event))
        return found

    return lambda row: () if isinstance(row, ServerRequest) else rules().get((type(row.id), row.id), ())


def _judge_messages(
    findings: Findings, requests: RecordedRequests, name: str, shared: dict[str, Any], *, internal: bool
) -> None:
    """Checks the events outside of the requests against the assertions; an expectation counts only if it names such
    events.
    """
    recording = requests.recording

    def request(event: ev.Event) -> Request | None:
        id = about(event)
        return None if id is None else requests.get(id)

    fields = request_fields(**shared)
    wanted = [
        (each, log(each.filter, request, fields, server=shared["server"], typing=False))
        for each in findings.assertions
        if names_messages(each.filter)[each.option not in _EXPECTING]
    ]
    for number in recording.table.log if wanted else ():
        event = recording.event(number)
        if event is None or not is_beside(event):
            continue
        row = request(event)
        offset = recording.table.offsets[number]
        match = MatchedMessage(name, str(recording.path), event, row, recording.wall(event.at), offset)
        # A broken rule counts even for an internal request.
        counts = internal or row is None or not row.internal or any(broken_rules(event))
        for assertion, filter in wanted if counts else ():
            if filter.matches(event):
                assertion.matches.append(match)


def _offset(recording: Recording, seq: int) -> int:
    """Returns the offset of a frame's record, 0 if it is not stored."""
    frame = recording.find(seq)
    return 0 if frame is None else recording.frame_offset(frame)


def _counted(findings: Findings, rows: Iterable[Shown], *, internal: bool) -> Iterator[Shown]:
    """Yields the rows that are checked, and counts them."""
    for row in rows:
        if isinstance(row, Request):
            # The client behind a tap goes on with an older version then, as mcp-tui's own internal probe does.
            is_own = row.internal or evidence.is_refused_probe(row)
            findings.internal += is_own
            if is_own and not internal:
                continue
        findings.requests += 1
        findings.cut += is_open(row) or (isinstance(row, Request) and row.settled == evidence.RECORDING_ENDS)
        yield row


# -- output ----------------------------------------------------------------------------------------------------


def _print(findings: Findings, *, as_json: bool) -> None:
    for text in findings.problems.values():
        warn(text)
    for file in findings.redacted:
        warn(
            f"{file} is redacted. A text that was removed as a secret cannot be found; text:redacted finds where."
        )
    if as_json:
        out(dump(fields(findings), indent=2))
        return
    for each in findings.assertions:
        word = "holds " if each.passes else "broken"
        out(clean(f"{word}  {each.name}  ({each.sentence(findings.requests)})"))
        for line in table([match.cells() for match in each.broken_by]) if each.broken_by else ():
            out(f"  {line}")
    if findings.catalogue is not None:
        for line in findings.catalogue.lines():
            out(line)


def fields(findings: Findings) -> dict[str, Any]:
    """Returns the findings as JSON."""
    return {
        "holds": findings.status is Exit.COMPLETED,
        "recordings": findings.files,
        "requests": findings.requests,
        "redacted": findings.redacted,
        "assertions": [each.fields() for each in findings.assertions],
        "catalogue": None if findings.catalogue is None else findings.catalogue.fields(),
        "problems": [{"file": file, "text": text} for file, text in findings.problems.items()],
    }


_HELP: Final = {
    "fail-on": "No request of a recording may match this filter.",
    "expect": "A request has to match this filter, and each that does has to end in time.",
    "at-most": "No more requests than this may match this filter.",
    "at-least": "As many requests as this have to match this filter.",
}


def cases(findings: Findings) -> list[ReportCase]:
    """Returns the findings as cases of a report; each row that breaks an assertion is one finding."""
    lines = _lines([match for each in findings.assertions for match in each.broken_by])
    made: list[ReportCase] = []
    for each in findings.assertions:
        broken = [
            ReportFinding(_line(match), file=match.file, line=lines.get((match.file, match.offset), 1))
            for match in each.broken_by
        ]
        text, kind = each.sentence(findings.requests), "" if each.passes else "failure"
        if not each.passes and not broken:
            broken = [ReportFinding(text, file=file) for file in findings.files[:1]]
        rule = ReportRule(each.name, each.name, _HELP[each.option])
        verdict = "" if each.passes else each.option
        made.append(ReportCase(each.name, rule, kind, verdict, text, (), broken, findings.seconds))
    for file, text in findings.problems.items():
        unread = [ReportFinding(text, file=file)]
        made.append(ReportCase(file, NOT_JUDGED, "error", NOT_JUDGED.id, text, (), unread))
    return [*made, *([] if findings.catalogue is None else [findings.catalogue.case()])]


def _lines(matches: Iterable[Match]) -> dict[tuple[str, int], int]:
    """Returns the lines of the records of matches, by the file and the offset."""
    found: dict[tuple[str, int], int] = {}
    for file, offsets in groupby(sorted({(each.file, each.offset) for each in matches}), itemgetter(0)):
        line, at = 1, 0
        with suppress(OSError), Path(file).open("rb") as data:
            for _, offset in offsets:
                line += data.read(offset - at).count(b"\n")
                found[file, offset], at = line, offset
    return found


def _line(match: Match) -> str:
    return "  ".join(match.cells())
