"""``replay``: a recording in the workbench, read-only."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Usage, Words
from mcp_tui.cli.status import Exit, Failure
from mcp_tui.cli.workbench import plain, show, unusable, wishes

if TYPE_CHECKING:
    from mcp_tui.journal.recording import Recording


def run(name: str, given: Words) -> int:
    """Open the recording that is named; the exit status when it is left.

    Raises:
        Failure: there is no such recording, it cannot be read, or there is no terminal for it.
    """
    named = journals.word(name, given)
    if named is None:
        raise Usage("mcp-tui: replay takes a recording: a FILE, the start of a session's name, or last")
    replay = journals.open_recording(journals.find(named))
    problem = unusable()
    if problem:
        raise Failure(problem.replace("the workbench", "replay", 1), Exit.USAGE)
    return _open(replay, given.options)


def _open(replay: Recording, options: argparse.Namespace) -> int:
    from mcp_tui.config.folders import themes_folder
    from mcp_tui.tui.app import ReplayApp

    app = ReplayApp(
        replay,
        speed=options.speed,
        ascii_only=plain(),
        themes=themes_folder(),
        preferences=wishes(),
    )
    status = show(app)
    if app.defect is not None:
        raise app.defect
    return status
