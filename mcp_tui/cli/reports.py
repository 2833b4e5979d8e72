"""Reports for CI: JUnit XML, SARIF, Markdown, a badge, and the annotations and job summary of GitHub Actions.

A command that judges runs within :func:`judging`. From the start, each requested file says that nothing was judged.
So however the run ends, no report of an earlier run remains. The texts may quote servers, so they are cleaned here.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from urllib.parse import quote

from mcp_tui import __version__
from mcp_tui.cli.grammar import Words, subcommand
from mcp_tui.cli.options import REPORTS, options_of
from mcp_tui.cli.output import Exit, Failure, dump, in_workflow, warn
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import brief, clean, markdown_code


@frozen
class ReportRule:
    """A rule of a report: a stable id, a title, and how to learn more or fix it."""

    id: str
    title: str
    help: str


@frozen
class ReportFinding:
    """A finding. ``level`` is ``error``, ``warning``, or ``note``; ``rule`` is that of its case, unless given.

    ``line`` counts from 1 in ``file``; a finding without a file is about the server.
    """

    text: str
    level: str = "error"
    file: str = ""
    line: int = 1
    rule: ReportRule | None = None


@frozen
class ReportCase:
    """One check of a report.

    ``kind`` is ``failure``, ``error`` (not judged), ``skipped``, or empty if the check passes. ``type`` is its
    verdict, ``seconds`` its duration.
    """

    name: str
    rule: ReportRule
    kind: str = ""
    type: str = ""
    message: str = ""
    lines: Sequence[str] = ()
    findings: Sequence[ReportFinding] = ()
    seconds: float = 0.0

    @property
    def found(self) -> Sequence[ReportFinding]:
        """The findings; for a failure without any, its message."""
        failed = self.kind in ("failure", "error") and not self.findings
        return [ReportFinding(self.message)] if failed else self.findings

    @property
    def details(self) -> list[str]:
        """The lines below the message."""
        return [*self.lines, *(each.text for each in self.findings if each.text != self.message)]


NOT_JUDGED: Final = ReportRule(
    "not-judged", "Nothing could be judged", "Run the command alone. Its stderr says what to do."
)
_CUT_SHORT: Final = "The run did not end: mcp-tui was stopped, or is still at work."

_SARIF: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_HOME: Final = "https://pypi.org/project/mcp-tui-client/"

RESULTS: Final = 5000
"""The maximum number of results in a SARIF report: code scanning shows no more, and rejects a file with five times as
many.
"""

ANNOTATIONS: Final = 10
"""The maximum number of annotations of a level: GitHub drops any more of a step."""

DETAILS: Final = 50
"""The maximum number of lines below a check in Markdown."""

SUMMARY_BYTES: Final = 1_000_000
"""The maximum number of bytes of a job summary: GitHub drops one above 1 MiB."""

TEXT_CHARACTERS: Final = 1000
"""The maximum number of characters of an id, a title, or a message in SARIF, and of an annotation."""


def refuse_files(given: Words, *options: str) -> None:
    """Checks that the files can be written, before anything starts.

    Raises:
        Failure: one cannot.
    """
    for option in options:
        name = getattr(given.options, option)
        if name is None:
            continue
        path = Path(name)
        where = path if path.exists() else path.parent
        if path.is_dir() or not where.exists() or not os.access(where, os.W_OK):
            raise Failure(f"Cannot write {name!r} (--{option}). Choose another file.")


def write(option: str, name: str, data: bytes) -> None:
    """Writes the file of an option.

    Raises:
        Failure: it cannot be written.
    """
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        raise Failure(f"Cannot write {name!r} (--{option}): {error.strerror}.") from None


def judging(given: Words, body: Callable[[Reports], int]) -> int:
    """Runs ``body``, which passes its judgement to the reports; returns its exit status. However it ends, each report
    says how.

    Raises:
        Failure: a report cannot be written, or ``body`` raised it.
    """
    reports = Reports(given)
    try:
        reports.begin()
        status = body(reports)
    except BaseException as error:
        reports.failed(*_reason(error))
        reports.announce()
        raise
    if not reports.done:
        ended = "Interrupted." if status > 128 else "Nothing was judged."
        reports.failed(f"{ended} The exit status is {status}.")
    reports.announce()
    if reports.problem is not None:
        raise Failure(str(reports.problem), Exit(status or Exit.USAGE))
    return status


def _reason(error: BaseException) -> tuple[str, Sequence[str]]:
    if isinstance(error, Failure):
        return str(error) or "The output was not read.", error.lines
    if not isinstance(error, Exception):
        return "Interrupted.", ()
    from mcp_tui.cli.defect import explain

    return explain(error), ()


def refused(arguments: Sequence[str], text: str) -> None:
    """Writes the reports that an invalid command line asks for, as far as their options are understood."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    name, head = subcommand(arguments[:cut])
    options = [] if name is None else options_of(name)
    known = {each.names[0]: each.dest for each in REPORTS if each in options}
    found = dict.fromkeys((each.dest for each in REPORTS), None)
    for word, following in zip(head, (*head[1:], "-"), strict=True):
        option, equals, value = word.partition("=")
        if option in known and (equals or not following.startswith("-")):
            found[known[option]] = value if equals else following
    if known and (in_workflow() or any(found[each] for each in known.values())):
        reports = Reports(Words(name, SimpleNamespace(**found), [], [], None, None))
        with suppress(Failure):
            reports.begin()
            reports.failed(text)
            reports.announce()


class Reports:
    """The reports of one run of a command. ``problem`` is the first one that could not be written."""

    def __init__(self, given: Words) -> None:
        self.problem: Failure | None = None
        self.done = False
        self._given = given
        self._name = given.name or ""
        self._began = time.monotonic()
        self._cases: Sequence[ReportCase] = ()
        self._markdown = ""
        self._files = {
            each.dest: name
            for each in REPORTS
            if (name := getattr(given.options, each.dest, None)) is not None
        }

    @property
    def wanted(self) -> str:
        """The options of the requested reports, in words."""
        return ", ".join(f"--{option}" for option in self._files)

    def begin(self) -> None:
        """Replaces the contents of the files.

        Raises:
            Failure: a file cannot be written, or this command reads it.
        """
        given, options = self._given, self._given.options
        try:
            refuse_files(given, *self._files)
            read = [*given.words, *(given.command or ())]
            read += [
                getattr(options, each, None) or "" for each in ("catalogue", "config", "heartbeat", "record")
            ]
            for number, (option, name) in enumerate(self._files.items()):
                others = [*read, *list(self._files.values())[:number]]
                if any(_same(name, each) for each in others):
                    raise Failure(f"{name!r} is named twice (--{option}). Choose another file.")
        except Failure as failure:
            self._files = {key: name for key, name in self._files.items() if f"(--{key})" not in str(failure)}
            self.failed(str(failure))
            raise
        self.failed(_CUT_SHORT, begins=True)
        if self.problem is not None:
            raise self.problem

    def failed(self, text: str, lines: Sequence[str] = (), *, begins: bool = False) -> None:
        """Reports that nothing could be judged, and why, unless a judgement was reported. ``begins``: nothing was judged
        yet.
        """
        if not self.done:
            seconds = time.monotonic() - self._began
            case = ReportCase(self._name, NOT_JUDGED, "error", NOT_JUDGED.id, text, lines, (), seconds)
            client = " client" * (self._name == "probe-client")
            badge = {"schemaVersion": 1, "label": f"MCP{client} cancellation", "message": "not judged"}
            self.judged([case], badge={**badge, "color": "lightgrey", "isError": True}, begins=begins)

    def judged(
        self,
        cases: Sequence[ReportCase],
        *,
        properties: Iterable[tuple[str, str]] = (),
        said: Iterable[str] = (),
        markdown: str = "",
        badge: dict[str, object] | None = None,
        begins: bool = False,
    ) -> None:
        """Writes the reports of a judgement. ``markdown`` replaces the table of cases; ``said`` is the whole report in
        lines.
        """
        self.done, self._cases = not begins, cases
        seconds = time.monotonic() - self._began
        self._markdown = markdown or table_of(self._name, cases)
        for option, name in self._files.items():
            if begins and not _replaceable(name):
                continue
            match option:
                case "junit":
                    data = junit(self._name, cases, properties=properties, seconds=seconds, said=said)
                case "sarif":
                    data = dump(sarif(self._name, cases, self._subject()), indent=2).encode()
                case "badge":
                    data = dump(badge or {}).encode()
                case _:
                    data = self._markdown.encode("utf-8", "replace")
            try:
                write(option, name, data)
            except Failure as failure:
                self.problem = self.problem or failure

    def announce(self) -> None:
        """Writes the annotations and the job summary if this is a step of a workflow of GitHub Actions."""
        if not in_workflow():
            return
        with suppress(OSError):
            for line in workflow_commands(self._name, self._cases):
                print(line, file=sys.stderr, flush=True)
        name, data = os.environ.get("GITHUB_STEP_SUMMARY"), self._markdown.encode("utf-8", "replace")
        if not name:
            return
        if len(data) > SUMMARY_BYTES:
            data = data[: data.rfind(b"\n", 0, SUMMARY_BYTES)] + "\n\n…\n".encode()
        try:
            with Path(name).open("ab") as file:
                file.write(data + b"\n")
        except OSError as error:
            warn(f"Cannot write the job summary {name!r}: {error.strerror}.")

    def _subject(self) -> str:
        """Returns the file for findings about a server: its program or config file, if it is in this folder."""
        given, root = self._given, _root()
        for each in (*reversed(given.command or ()), getattr(given.options, "config", None) or ""):
            with suppress(OSError, ValueError):  # not a path
                if Path(each).is_file() and Path(each).resolve().is_relative_to(root):
                    return each
        return "mcp-server"


def _same(name: str, other: str) -> bool:
    with suppress(OSError, ValueError):  # not a path
        return bool(other) and Path(name).resolve() == Path(other).resolve()
    return False


def _replaceable(name: str) -> bool:
    """Whether a file can be written twice: not a pipe, a device, or the target of stdout."""
    path = Path(name)
    return not name.startswith("/dev/") and (path.is_file() or not path.exists())


def _root() -> Path:
    """Returns the folder that file names are relative to: the checkout of a workflow, else the current folder."""
    here = Path.cwd().resolve()
    root = Path((in_workflow() and os.environ.get("GITHUB_WORKSPACE")) or here).resolve()
    return root if here.is_relative_to(root) else here


# -- JUnit XML ---------------------------------------------------------------------------------------------------


def junit(
    name: str,
    cases: Sequence[ReportCase],
    *,
    properties: Iterable[tuple[str, str]] = (),
    seconds: float = 0.0,
    said: Iterable[str] = (),
) -> bytes:
    """Returns JUnit XML by the schema of Jenkins, with one ``testcase`` for each case."""
    from xml.etree import ElementTree as ET

    kinds = [case.kind for case in cases]
    counts = {
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", counts)
    skipped = {"skipped": str(kinds.count("skipped"))}
    suite = ET.SubElement(root, "testsuite", {"name": f"mcp-tui {name}", **counts, **skipped})
    about = ET.SubElement(suite, "properties")
    for key, value in properties:
        ET.SubElement(about, "property", {"name": key, "value": clean(value)})
    for case in cases:
        named = {"classname": f"mcp-tui.{name}", "name": clean(case.name), "time": f"{case.seconds:.3f}"}
        element = ET.SubElement(suite, "testcase", named)
        text, message = "\n".join(map(clean, case.details)), clean(case.message)
        match case.kind:
            case "failure" | "error":
                attributes: dict[str, str] = {"message": message, "type": clean(case.type)}
                ET.SubElement(element, case.kind, attributes).text = text
            case "skipped":
                ET.SubElement(element, "skipped", {"message": clean(f"{case.type}: {case.message}")})
            case _:
                first = clean(f"{case.type}: {case.message}") if case.type else message
                ET.SubElement(element, "system-out").text = f"{first}\n{text}".rstrip()
    ET.SubElement(suite, "system-out").text = "\n".join(map(clean, said))
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


# -- SARIF -------------------------------------------------------------------------------------------------------


def sarif(name: str, cases: Sequence[ReportCase], subject: str) -> dict[str, object]:
    """Returns a SARIF 2.1.0 log of one run, with the members that GitHub's code scanning needs.

    A file in the current folder has a relative name; ``subject`` is the file of a finding without one.
    """
    found = [(each.rule or case.rule, each) for case in cases for each in case.found][:RESULTS]
    rules = {rule.id: rule for rule in (*(case.rule for case in cases), *(rule for rule, _ in found))}
    ids = list(rules)
    driver = {
        "name": "mcp-tui",
        "version": __version__,
        "informationUri": _HOME,
        "rules": [_rule(each) for each in rules.values()],
    }
    results = [
        {
            "ruleId": brief(rule.id, 200),
            "ruleIndex": ids.index(rule.id),
            "level": each.level,
            # "](" would make it a link.
            "message": {"text": brief(each.text.replace("](", "] ("), TEXT_CHARACTERS) or clean(rule.title)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(each.file or subject)},
                        "region": _region(each.line),
                    }
                }
            ],
        }
        for rule, each in found
    ]
    errors = [case.message for case in cases if case.kind == "error"]
    notes = [{"level": "error", "message": {"text": brief(each, TEXT_CHARACTERS)}} for each in errors]
    invocation = {"executionSuccessful": not errors, "toolExecutionNotifications": notes}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"mcp-tui {name}/"},  # distinguishes the reports of several commands
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _region(line: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": 1, "endLine": line, "endColumn": 2}


def _rule(rule: ReportRule) -> dict[str, object]:
    title, text = brief(rule.title, TEXT_CHARACTERS), brief(rule.help, TEXT_CHARACTERS)
    return {
        "id": brief(rule.id, 200),
        "shortDescription": {"text": title},
        "fullDescription": {"text": f"{title}. {text}"},
        "help": {"text": text, "markdown": text},
        "helpUri": _HOME,
    }


def _uri(file: str) -> str:
    path, root = Path(file).resolve(), _root()
    return quote(os.fsencode(path.relative_to(root))) if path.is_relative_to(root) else path.as_uri()


# -- Markdown, and GitHub Actions --------------------------------------------------------------------------------

_WORDS: Final = {"": "✓ pass", "failure": "✗ fail", "error": "✗ not judged", "skipped": "∅ skipped"}


def table_of(name: str, cases: Sequence[ReportCase]) -> str:
    """Returns the cases as a table in Markdown, with the findings below it."""
    kinds = [case.kind for case in cases]
    ended = "not judged" if "error" in kinds else "passed"
    if failed := kinds.count("failure"):
        ended = f"{failed} of {len(cases)} failed"
    lines = [f"# mcp-tui {name}: {ended}", "", "| check | verdict | what |", "|---|---|---|"]
    for case in cases:
        warns = not case.kind and any(each.level == "warning" for each in case.findings)
        text = markdown_code(case.message, 400) if case.message else ""
        cells = (markdown_code(case.name), "↯ warning" if warns else _WORDS[case.kind], text)
        lines.append(f"| {' | '.join(cells)} |")
    for case in cases:
        if details := case.details:
            lines += ["", f"## {markdown_code(case.name)}", ""]
            lines += [f"- {markdown_code(each)}" for each in details[:DETAILS]]
            lines += [f"- … and {len(details) - DETAILS:,} more"] if len(details) > DETAILS else []
    return "\n".join([*lines, ""])


def workflow_commands(name: str, cases: Sequence[ReportCase]) -> list[str]:
    """Returns the workflow commands that show findings at their lines: errors first, :data:`ANNOTATIONS` of each level."""
    lines: list[str] = []
    for level in ("error", "warning"):
        found = [(case, each) for case in cases for each in case.found if each.level == level]
        most = ANNOTATIONS if len(found) <= ANNOTATIONS else ANNOTATIONS - 1
        for case, each in found[:most]:
            parts = {"title": f"mcp-tui {name}: {brief(case.name, 100)}"}
            path, root = Path(each.file).resolve(), _root()
            if each.file and path.is_relative_to(root):
                parts = {"file": path.relative_to(root).as_posix(), "line": str(each.line), **parts}
            lines.append(_command(level, each.text, **parts))
        if most < len(found):
            more = f"And {len(found) - most:,} more. The output of this step has them all."
            lines.append(_command(level, more, title=f"mcp-tui {name}"))
    return lines


def _command(level: str, text: str, **parts: str) -> str:
    sentence = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in parts.items())
    return f"::{level} {sentence}::{_escaped(brief(text, TEXT_CHARACTERS), '')}"


def _escaped(text: str, more: str) -> str:
    """Escapes a text for a workflow command as GitHub's own toolkit does."""
    return "".join(
        f"%{ord(each):02X}" if each in f"%\r\n{more}" else each for each in clean(text, newlines=True)
    )
