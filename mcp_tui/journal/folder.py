"""Where journals live, and how long."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.recording import Header, RecordingError, why
from mcp_tui.journal.redaction import Redactor
from mcp_tui.journal.writer import Writer

KEPT: Final = 200
"""Journals kept."""

KEPT_BYTES: Final = 2_000_000_000
"""Bytes of journals kept, all together."""

SAFE: Final = 24 * 3600.0
"""Seconds since its last record in which a journal is never deleted: it may still be written."""


def state_folder() -> Path:
    """``$MCP_TUI_STATE``, or the folder for state that the system prescribes (``~/.local/state/mcp-tui``)."""
    named = os.environ.get("MCP_TUI_STATE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path("mcp-tui", appauthor=False)


def new_journal_path(server_name: str) -> Path:
    """The path of a new journal, ``journal/2026-11-21T031500-everything-4711.jsonl`` in the state folder.

    Makes the folder, readable by its owner only.

    Raises:
        RecordingError: the folder cannot be made, or belongs to somebody else.
    """
    folder = state_folder() / "journal"
    _make_private(folder)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", server_name).strip("-.")[:48].strip("-.") or "server"
    stamp = clock.local_stamp(clock.wall()).replace(" ", "T").replace(":", "")
    stem = f"{stamp}-{name}-{os.getpid()}"
    path, number = folder / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.jsonl"
    return path


def open_journal(server_name: str, *, redactor: Redactor, header: Header | None = None) -> Writer:
    """A writer of a new journal; the oldest ones are deleted where there are too many.

    Raises:
        RecordingError: it cannot be made.
    """
    path = new_journal_path(server_name)
    prune(path.parent)
    return Writer(path, redactor=redactor, header=header)


def prune(folder: Path, *, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
    """Delete the oldest journals until no more than ``kept`` with ``kept_bytes`` are left."""
    found: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            with suppress(OSError):
                status = path.lstat()
                found.append((status.st_mtime, status.st_size, path))
    found.sort(reverse=True)
    newest = clock.wall() - SAFE
    size = 0
    for index, (written, bytes_, path) in enumerate(found):
        size += bytes_
        if (index >= kept or size > kept_bytes) and written < newest:
            with suppress(OSError):
                path.unlink()


def _make_private(folder: Path) -> None:
    """Make a folder and its parents, each new one for its owner only, whatever the umask; the last one always so."""
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            each.chmod(0o700)
        status = folder.stat()
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise RecordingError(f"The folder for journals, {folder}, belongs to somebody else.")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise RecordingError(f"The folder for journals, {folder}, cannot be made: {why(error)}.") from None
