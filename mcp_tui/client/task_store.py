"""Stores the ids of tasks that outlive a client in a file, so that they can be resumed (tasks, "Task Polling").

The file has one JSON object per line: ``server`` and ``task`` with its name and time, or ``over``. A task is stored
from the moment its id is known to its end, at most for its time to live, or a day if it has none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from mcp_tui import clock
from mcp_tui.client.client_port import Caller
from mcp_tui.journal.journal_files import make_private
from mcp_tui.journal.state_folder import state_folder
from mcp_tui.protocol import events as ev

DAY: Final = 86400.0
STORE_BYTES: Final = 1_000_000
"""The number of bytes at the end of the file that are read: far more than the tasks of a day need."""


class TaskStore:
    """The tasks of one server without a known end. ``server`` is its target in one line, without secrets."""

    def __init__(self, server: str, path: Path | None = None) -> None:
        self.server = server
        self.path = state_folder() / "tasks.jsonl" if path is None else path

    def read(self) -> dict[str, str]:
        """Returns the names of tasks that may still exist, by id, oldest first; none if the file cannot be read."""
        found: dict[str, str] = {}
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - STORE_BYTES))
                lines = file.read(STORE_BYTES).splitlines()  # a first line that is cut cannot be parsed
        except OSError:
            return {}
        now = clock.wall()
        for line in lines:
            try:
                record = cast("dict[str, object]", json.loads(line))
                server, over, task_id = record["server"], record.get("over"), record.get("task")
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if server != self.server:
                continue
            if isinstance(over, str):
                found.pop(over, None)
            until = record.get("until")
            if isinstance(task_id, str) and isinstance(until, (int, float)) and until > now:
                found[task_id] = str(record.get("name", ""))
        return found

    def keep(self, client: Caller) -> None:
        """Stores the tasks of a client, and their ends, from now on."""
        client.listen(lambda event: self._take(client, event))

    def _take(self, client: Caller, event: ev.Event) -> None:
        if isinstance(event, ev.TaskCreated):
            row = client.requests.get(event.id)
            until = clock.wall() + (DAY if event.ttl is None else event.ttl)
            name = "" if row is None else row.name
            self._write({"server": self.server, "task": event.task_id, "name": name, "until": until})
        elif isinstance(event, (ev.Completed, ev.Failed, ev.Settled)):
            row = client.requests.get(event.id)
            if row is not None and row.task_id:
                self._write({"server": self.server, "over": row.task_id})

    def _write(self, record: dict[str, object]) -> None:
        with suppress(OSError):  # a task runs even if it cannot be stored
            make_private(self.path.parent)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(json.dumps(record).encode() + b"\n")
