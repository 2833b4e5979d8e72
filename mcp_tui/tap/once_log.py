"""The log of a tap's guard: a file for each running tap, from which the next one with the same command learns what was open.

A line is written before a call leaves. The file has no arguments, only a digest of them with a secret of this user; it is no
recording and is never exported. A tap has its file locked for as long as it lives, so a file without a lock is that of one
that has ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mcp_tui import clock
from mcp_tui.journal.state_folder import is_alone, make_folders, state_folder
from mcp_tui.protocol.repeats import WINDOW_SECONDS
from mcp_tui.tap.pipes import warn

_ENCODED: Final = json.JSONEncoder(separators=(",", ":")).encode

KILLED: Final = "the tap that sent it ended before its answer came"


class GuardLog:
    """The log of one tap. ``configuration`` is what its client starts it with.

    Without a folder to write to, it warns, and the guard knows nothing of earlier taps.
    """

    def __init__(self, configuration: object) -> None:
        self._file = -1
        self._folder: Path | None = None
        self._path: Path | None = None
        self._seen: dict[str, tuple[int, bool]] = {}
        self._changed = 0
        self._running = False
        """Another tap with the same command is running."""
        try:
            top = state_folder() / "once"
            named = hashlib.sha256(repr(configuration).encode("utf-8", "surrogateescape")).hexdigest()[:32]
            self._folder = top / named
            make_folders(self._folder)
            self.secret = _secret(top / "secret")
            self._path = self._folder / f"{os.getpid()}-{os.urandom(4).hex()}.jsonl"
            self._file = os.open(
                self._path,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.secret = os.urandom(16)
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        warn(f"--once knows nothing of the calls of earlier taps: {error.strerror}. The traffic continues.")
        self._folder = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def write(self, line: dict[str, Any]) -> None:
        """Writes a line."""
        if self._file >= 0:
            try:
                os.write(self._file, _ENCODED(line).encode() + b"\n")
            except OSError as error:
                self._fail(error)

    def others(self) -> Iterator[tuple[str, list[dict[str, Any]], str]]:
        """Yields the logs of other taps that have changed since the last time: name, lines, why nobody knows what is open.

        That is empty for a tap that is running.
        """
        if self._folder is None:
            return
        with suppress(OSError):
            changed = self._folder.stat().st_mtime_ns
            # A file of a tap that has ended changes no more.
            if changed == self._changed and not self._running:
                return
            self._changed, self._running = changed, False
            for entry in os.scandir(self._folder):
                if self._path is not None and entry.name == self._path.name:
                    continue
                status = entry.stat(follow_symlinks=False)
                state = status.st_size, _is_over(entry.path)
                self._running |= not state[1]
                if state[1] and clock.wall() - status.st_mtime > WINDOW_SECONDS:
                    Path(entry.path).unlink()
                elif self._seen.get(entry.name) != state:
                    self._seen[entry.name] = state
                    yield entry.name, _read(entry.path), KILLED if state[1] else ""

    def close(self, *, empty: bool) -> None:
        """Ends the log; removes it if nothing is open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if empty and self._path is not None:
                with suppress(OSError):
                    self._path.unlink()


def _is_over(path: str) -> bool:
    with open(path, "rb") as file:  # noqa: PTH123 - a path of scandir
        return is_alone(file.fileno())


def _read(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in Path(path).read_bytes().splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _secret(path: Path) -> bytes:
    """Returns the secret of this user, which is made when it is first needed."""
    with suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(file, os.urandom(32))
        os.close(file)
    return path.read_bytes()
