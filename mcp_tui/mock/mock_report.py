"""The report of a mock for a test: refused requests, requests answered as the nearest one, and recorded ones never asked."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mcp_tui.demo.frames import Object
from mcp_tui.mock.runs import Run, Runs, shown
from mcp_tui.protocol.responses import OPENING_METHODS

LISTED: Final = 100
"""The most requests of each kind that a report lists; all are counted."""

NAMED: Final = 8
"""The most requests that a sentence names."""

EMPTY_RESULTS: Final[dict[str, Object]] = {
    "ping": {},
    "logging/setLevel": {},
    "tools/list": {"tools": []},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "tasks/list": {"tasks": []},
    "completion/complete": {"completion": {"values": []}},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
}
"""The results of methods that the capabilities announce, for requests that were not recorded."""


class MockReport:
    """Counts the requests of a mock, reports unrecorded ones on stderr, and writes a report to a file, if there is one.

    The file is always up to date, because a client may kill its server at any time.
    """

    def __init__(self, runs: Runs, path: Path | None = None) -> None:
        self._path = path
        self._refused: list[Object] = []
        self._nearest: list[Object] = []
        self.refused = 0
        self._answered_as_nearest = 0
        self.unasked = dict.fromkeys(run for run in runs.all if _is_asked_for_its_own_sake(run))
        """The runs that have answered no request yet, in the recorded order."""
        self.write()

    def ask(self, run: Run) -> None:
        """Records that a run answers a request."""
        if run in self.unasked:
            del self.unasked[run]
            if len(self.unasked) < LISTED:  # with more, the first ones in the file hardly change
                self.write()

    def refuse(self, method: str, params: Object, why: str) -> None:
        """Records a refusal. ``why`` has complete sentences."""
        self.refused += 1
        _note(self._refused, method, params, why=why)
        self._say(why)

    def answer_nearest(self, method: str, params: Object, run: Run) -> None:
        """Records that an unrecorded request is answered like another one."""
        self._answered_as_nearest += 1
        _note(self._nearest, method, params, answered_as=_without_meta(run.params))
        asked, instead = shown(method, params), shown(method, run.params)
        self._say(f"Not recorded: {asked}. Answered as {instead} (--nearest).")

    def end(self, *, strict: bool) -> bool:
        """Writes the last report; returns whether all recorded requests were made, and no others."""
        if strict and self.unasked:
            names = list(dict.fromkeys(shown(run.method, run.params) for run in self.unasked))
            more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
            self._say(f"Recorded and never asked: {', '.join(names[:NAMED])}{more}.")
        self.write(ended=True)
        return not (self.refused or self.unasked)

    def write(self, *, ended: bool = False) -> None:
        """Replaces the file by the present report; ignores a file that cannot be written."""
        if self._path is None:
            return
        unasked: list[Object] = []
        for run in self.unasked:
            _note(unasked, run.method, run.params)
        nearest = self._answered_as_nearest
        report = {
            "ended": ended,
            "counts": {"refused": self.refused, "nearest": nearest, "unasked": len(self.unasked)},
            "refused": self._refused,
            "nearest": self._nearest,
            "unasked": unasked,
        }
        new = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            new.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            new.replace(self._path)

    def _say(self, sentence: str) -> None:
        self.write()
        with suppress(OSError):  # stderr may be closed
            sys.stderr.write(f"mcp-tui mock: {sentence}\n")
            sys.stderr.flush()


def _is_asked_for_its_own_sake(run: Run) -> bool:
    """Whether a test depends on a request. Lists, pings, and the handshake are made by every client."""
    usual = run.method in EMPTY_RESULTS or run.method in OPENING_METHODS
    return run.id is not None and not usual and not run.method.startswith(("tasks/", "subscriptions/"))


def _note(entries: list[Object], method: str, params: Object, **more: Any) -> None:
    if len(entries) < LISTED:
        entries.append({"method": method, "params": _without_meta(params), **more})


def _without_meta(params: Object) -> Object:
    return {name: value for name, value in params.items() if name != "_meta"}
