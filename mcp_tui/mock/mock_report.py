"""What a mock was asked, for the test: what it refused, what it answered as the nearest call, and what nobody asked for."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from mcp_tui.demo.frames import Object
from mcp_tui.mock.runs import Run, Runs, shown
from mcp_tui.protocol.responses import OPENING_METHODS

LISTED: Final = 100
"""Requests of each kind that a report lists; it counts all."""

NAMED: Final = 8
"""Requests that a sentence names."""

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
"""Results of methods that capabilities announce, for what the recorded client did not ask for."""


class MockReport:
    """Counts what a mock was asked, says on stderr what was not recorded, and writes all of it to a file, if there is one.

    The file is kept up to date: a client may kill its server.
    """

    def __init__(self, runs: Runs, path: Path | None = None) -> None:
        self._path = path
        self._refused: list[Object] = []
        self._nearest: list[Object] = []
        self.refused = 0
        self._answered_as_nearest = 0
        self.unasked = dict.fromkeys(run for run in runs.all if _is_asked_for_its_own_sake(run))
        """The runs that no request was answered by, in the recorded order."""
        self.write()

    def ask(self, run: Run) -> None:
        """Notes that a request is answered by a run."""
        if run in self.unasked:
            del self.unasked[run]
            if len(self.unasked) < LISTED:  # of more, a list of the first says nothing new
                self.write()

    def refuse(self, method: str, params: Object, why: str) -> None:
        """Notes a refusal. ``why`` is whole sentences."""
        self.refused += 1
        _note(self._refused, method, params, why=why)
        self._say(why)

    def answer_nearest(self, method: str, params: Object, run: Run) -> None:
        """Notes that a request that is not recorded is answered as another one."""
        self._answered_as_nearest += 1
        _note(self._nearest, method, params, answered_as=_without_meta(run.params))
        self._say(
            f"Not recorded: {shown(method, params)}. Answered as {shown(method, run.params)} (--nearest)."
        )

    def end(self, *, strict: bool) -> bool:
        """Writes the last report; returns whether a strict mock was asked for all that is recorded, and nothing else."""
        if strict and self.unasked:
            names = list(dict.fromkeys(shown(run.method, run.params) for run in self.unasked))
            more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
            self._say(f"Recorded and never asked: {', '.join(names[:NAMED])}{more}.")
        self.write(ended=True)
        return not (self.refused or self.unasked)

    def write(self, *, ended: bool = False) -> None:
        """Writes the file anew; one that cannot be written is left as it is."""
        if self._path is None:
            return
        unasked = [
            {"method": run.method, "params": _without_meta(run.params)}
            for run in islice(self.unasked, LISTED)
        ]
        report = {
            "ended": ended,
            "counts": {
                "refused": self.refused,
                "nearest": self._answered_as_nearest,
                "unasked": len(self.unasked),
            },
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
        with suppress(OSError):  # nobody may read it
            sys.stderr.write(f"mcp-tui mock: {sentence}\n")
            sys.stderr.flush()


def _is_asked_for_its_own_sake(run: Run) -> bool:
    """Whether a test means a request, and not what any client asks to find its way."""
    return run.id is not None and not (
        run.method in EMPTY_RESULTS
        or run.method in OPENING_METHODS
        or run.method.startswith(("tasks/", "subscriptions/"))
    )


def _note(entries: list[Object], method: str, params: Object, **more: Any) -> None:
    if len(entries) < LISTED:
        entries.append({"method": method, "params": _without_meta(params), **more})


def _without_meta(params: Object) -> Object:
    return {name: value for name, value in params.items() if name != "_meta"}
