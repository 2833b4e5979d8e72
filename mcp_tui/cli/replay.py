"""``replay``: a recording in the workbench, read-only."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mcp_tui.cli import journals
from mcp_tui.cli.grammar import Usage, Words
from mcp_tui.cli.status import Exit, Failure
from mcp_tui.cli.workbench import plain, unusable

if TYPE_CHECKING:
    from mcp_tui.journal.replay import Replay


def run(name: str, given: Words) -> int:
    """Open the recording that is named; the exit status when it is left.

    Raises:
        Failure: there is no such recording, it cannot be read, or there is no terminal for it.
    """
    named = journals.word(name, given)
    if named is None:
        raise Usage("mcp-tui: replay takes a recording: a FILE, the start of a session's name, or last")
    where = journals.find(named)

    from mcp_tui.journal.recording import RecordingError
    from mcp_tui.journal.replay import Replay
    from mcp_tui.tui.view.text import clean

    try:
        replay = Replay(where.paths[0])
    except RecordingError as error:
        raise Failure(clean(str(error)).rstrip("."), Exit.USAGE) from None
    problem = unusable()
    if problem:
        raise Failure(problem.replace("the workbench", "replay", 1), Exit.USAGE)
    return _open(replay, given.options)


def _open(replay: Replay, options: argparse.Namespace) -> int:
    from mcp_tui.cli.settings import in_force, loaded
    from mcp_tui.config.folders import themes_folder
    from mcp_tui.journal.folder import state_folder
    from mcp_tui.tui.look import Look
    from mcp_tui.tui.preferences import Preferences
    from mcp_tui.tui.replaying import ReplayApp
    from mcp_tui.tui.restore import restoring

    wished = in_force(told=False)
    look = Look.read(state_folder() / "look.json")
    look.themed = "theme" in loaded().origins
    preferences = Preferences(
        theme=wished.theme if look.themed else look.theme or wished.theme,
        look=look,
        timers=wished.timers,
        keys=wished.keys,
        problems=loaded().problems,
    )
    app = ReplayApp(
        replay,
        speed=options.speed,
        ascii_only=plain() if wished.ascii == "auto" else wished.ascii,
        themes=themes_folder(),
        preferences=preferences,
    )
    with restoring(app.leave_soon) as terminal:
        status = app.run()
        terminal.done()
        terminal.attributes()
    if app.defect is not None:
        raise app.defect
    return app.return_code or status or 0
