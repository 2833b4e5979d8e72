"""``mock``: runs a server that answers as a recording did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, warn
from mcp_tui.cli.reports import refuse_files
from mcp_tui.mock.runs import Runs, redacted
from mcp_tui.mock.server import Mock
from mcp_tui.protocol.http_access import HttpAccess
from mcp_tui.view.text import clean

NAMED_REDACTIONS: Final = 5
"""The maximum number of redacted values that are named."""


def run(_name: str, given: Words) -> int:
    """Serves the runs of the named recordings until the client disconnects; returns the exit status."""
    options = given.options
    if options.http is not None and not 0 <= options.http < 65536:
        raise Failure(f"Port {options.http} does not exist. Choose from 0 to 65535.")
    found = journals.with_folders(given)
    if given.url is not None or given.command is not None:
        raise Failure("mock takes no server: it is one. Give a recording.")
    if not found:
        raise Failure(
            "Missing FILE. Give a recording, a folder of them, the start of a session's name, or last."
        )
    refuse_files(given, "report")
    runs = Runs((each.paths[0] for each in found), any_of=options.any_of)
    if not any(each.id is not None for each in runs.all):
        raise Failure(f"{found[0].paths[0]} has no requests to answer.")
    if runs.damaged:
        warn(f"Skipped {runs.damaged:,} unreadable line{'s'[: runs.damaged > 1]}.")
    _report_redacted(runs, str(found[0].paths[0]))
    mock = Mock(
        runs,
        speed=options.speed,
        strict=options.strict,
        nearest=options.nearest,
        report=None if options.report is None else Path(options.report),
    )
    status = mock.serve(options.http, HttpAccess(options.allow_origins, options.allow_hosts))
    sound = mock.report.end(strict=options.strict)
    return Exit.BROKEN_RULE if options.strict and not sound and status in _ENDED_BY_WILL else status


def _report_redacted(runs: Runs, path: str) -> None:
    """Reports the values that are missing in the recording, and how to record them."""
    places = Counter(
        f"{run.method} {run.name}".strip() + f": {place}"
        for run in runs.all
        if run.marked
        for part in (run.params, *(step.frame for step in run.steps))
        for place in redacted(part)
    )
    if not places:
        return
    named = [clean(place) for place in list(places)[:NAMED_REDACTIONS]]
    more = [f"and {len(places) - NAMED_REDACTIONS} more"] if len(places) > NAMED_REDACTIONS else []
    warn(
        f"Secrets were redacted in {clean(path)}: any value matches there, and answers have the mark. "
        "To keep the values, record with --record FILE --keep-secrets.",
        [*named, *more],
    )


_ENDED_BY_WILL: Final = (0, Exit.TERMINATED, Exit.INTERRUPTED)
