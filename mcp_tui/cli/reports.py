"""Reports for CI: JUnit XML and SARIF. The texts in them may quote servers, so they are cleaned here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from mcp_tui import __version__
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Failure
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import clean


@frozen
class ReportCase:
    """One check of a report. ``kind`` is ``failure``, ``skipped``, or empty where it holds; ``type`` is its verdict."""

    name: str
    kind: str = ""
    type: str = ""
    message: str = ""
    lines: Sequence[str] = ()


@frozen
class SarifResult:
    """One result of a SARIF report: what is wrong with ``file``. ``level`` is ``error``, ``warning``, or ``note``."""

    rule: str
    level: str
    text: str
    file: str


_SARIF: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_HOME: Final = "https://pypi.org/project/mcp-tui-client/"


def refuse_files(given: Words, *options: str) -> None:
    """Refuses a file for a report that cannot be written, before anything starts.

    Raises:
        Failure: there is one.
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


def junit(
    name: str,
    cases: Sequence[ReportCase],
    *,
    properties: Iterable[tuple[str, str]] = (),
    seconds: float = 0.0,
    said: Iterable[str] = (),
) -> bytes:
    """Returns JUnit XML with one ``testcase`` for each case. ``said`` is the output of the whole."""
    kinds = [case.kind for case in cases]
    counts = {
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": "0",
        "skipped": str(kinds.count("skipped")),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": f"mcp-tui {name}", **counts})
    about = ET.SubElement(suite, "properties")
    for key, value in properties:
        ET.SubElement(about, "property", {"name": key, "value": clean(value)})
    for case in cases:
        named = {"classname": f"mcp-tui.{name}", "name": clean(case.name), "time": "0.000"}
        element = ET.SubElement(suite, "testcase", named)
        text = "\n".join(map(clean, case.lines))
        message = clean(case.message)
        match case.kind:
            case "failure":
                attributes = {"message": message, "type": case.type}
                ET.SubElement(element, "failure", attributes).text = text
            case "skipped":
                ET.SubElement(element, "skipped", {"message": f"{case.type}: {message}"})
            case _:
                first = f"{case.type}: {message}" if case.type else message
                ET.SubElement(element, "system-out").text = f"{first}\n{text}".rstrip()
    ET.SubElement(suite, "system-out").text = "\n".join(said)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def sarif(results: Sequence[SarifResult]) -> dict[str, object]:
    """Returns a SARIF 2.1.0 log of one run. A file below the current folder is named from there."""
    rules = list(dict.fromkeys(clean(each.rule) for each in results))
    driver = {
        "name": "mcp-tui",
        "version": __version__,
        "informationUri": _HOME,
        "rules": [{"id": rule} for rule in rules],
    }
    made = [
        {
            "ruleId": clean(each.rule),
            "ruleIndex": rules.index(clean(each.rule)),
            "level": each.level,
            "message": {"text": clean(each.text)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(each.file)}}}],
        }
        for each in results
    ]
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": made}],
    }


def _uri(file: str) -> str:
    path = Path(file).resolve()
    here = Path.cwd().resolve()
    return quote(path.relative_to(here).as_posix()) if path.is_relative_to(here) else path.as_uri()
