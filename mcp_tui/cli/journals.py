"""Finds the session that a command names: by the name of a journal or of a running session, ``last``, or a path."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mcp_tui.cli import running_sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Failure, warn
from mcp_tui.journal import index
from mcp_tui.journal.journal_files import Journal, journal_folder, journals
from mcp_tui.journal.records import why
from mcp_tui.live.running import sessions
from mcp_tui.live.sockets import sockets


def one_journal(given: Words) -> Journal | None:
    """Returns the one session that a command names; ``None`` if it names none.

    Raises:
        Failure: as :func:`all_named`, or the command names several sessions.
        RecordingError: the folder of journals cannot be read.
    """
    if len(given.words) > 1:
        raise Failure(f"Unexpected argument {given.words[1]!r}. {given.name} takes one session.")
    return next(iter(all_named(given)), None)


def all_named(given: Words) -> list[Journal]:
    """Returns the sessions that a command names, each once.

    Raises:
        Failure: there is no such session, the name is ambiguous, or a server is given.
        RecordingError: the folder of journals cannot be read.
    """
    if given.url is not None or given.command is not None:
        raise Failure(f"{given.name} takes no server. Give the start of a session's name, a file, or last.")
    if getattr(given.options, "client", None) is not None:
        return of_client(given)
    return list({each.name: each for each in map(find, given.words)}.values())


def of_client(given: Words) -> list[Journal]:
    """Returns the sessions of the client that ``--client`` names, the newest run last; ``log`` gets all runs.

    Raises:
        Failure: there is none, or sessions are named as well.
        RecordingError: the folder of journals cannot be read.
    """
    wanted = given.options.client
    if given.words:
        raise Failure("Use either --client or the name of a session, not both.")
    others = elsewhere()
    known = {str(each.paths[0]): each for each in [*journals(journal_folder()), *others]}
    recorded = [*index.sessions(journal_folder()), *map(index.read_session, others)]
    runs = index.of_client(recorded, wanted)
    if not runs:
        names = ", ".join(sorted({each.client for each in recorded} - {""})[:5])
        raise Failure(
            f"No recorded session of a client {wanted!r}.{f' Choose from: {names}.' if names else ''}"
        )
    found = [each for run in (runs if given.name == "log" else runs[-1:]) for each in run]
    return [known[each.path] for each in found if each.path in known]


def with_folders(given: Words) -> list[Journal]:
    """Returns the sessions that a command names, each once; a folder stands for all ``*.jsonl`` in it.

    Raises:
        Failure: there is no such session, the name is ambiguous, or a folder has no recording.
        RecordingError: the folder of journals cannot be read.
    """
    if getattr(given.options, "client", None) is not None:
        return of_client(given)
    found: dict[str, Journal] = {}
    for named in given.words:
        folder = Path(named).expanduser()
        some = _within(folder) if named != "last" and folder.is_dir() else [find(named)]
        found |= {str(each.paths[0].absolute()): each for each in some}
    return list(found.values())


def _within(folder: Path) -> list[Journal]:
    """Returns the recordings in a folder, each with its parts."""
    try:
        found = [Journal.at(path) for path in sorted(folder.glob("*.jsonl")) if path.is_file()]
    except OSError as error:
        raise Failure(f"Cannot read {folder}: {why(error)}.") from None
    if not found:
        raise Failure(f"No recordings (*.jsonl) in {folder}.")
    parts = {path for each in found for path in each.paths[1:]}
    return [each for each in found if each.paths[0] not in parts]


def elsewhere() -> list[Journal]:
    """Returns the journals of running sessions in other folders: a client may start its servers with another state
    folder.
    """
    found: list[Journal] = []
    for session in sessions()[0] if sockets() else ():
        path = Path(session.summary.recording)
        with suppress(OSError, ValueError):
            if session.summary.recording and _known(path) is None:
                found.append(Journal.at(path))
    return found


def find(named: str) -> Journal:
    """Returns the session of this name: the start of a journal's name or of a running session's, ``last``, or a path.

    Raises:
        Failure: there is no such session, or the name is ambiguous.
        RecordingError: the folder of journals cannot be read.
    """
    path = Path(named).expanduser()
    if path.name != named or path.suffix == ".jsonl":
        try:
            return _known(path) or Journal.at(path)
        except (OSError, ValueError) as error:
            if path.name != named:
                text = f"File not found: {named}."
                if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                    text = f"Cannot read {named}: {why(error)}."
                raise Failure(text) from None
    folder = journal_folder()
    known = journals(folder)
    if named == "last":
        if not known:
            raise Failure(f"No recorded sessions in {folder}.")
        return _last(known)
    start = named.removesuffix(".jsonl")
    found = [each for each in known if each.name.startswith(start)]
    found = [each for each in found if each.name == start] or found
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(each.name for each in found[-3:])
        text = f"{len(found)} sessions start with {named!r}: {'… ' if len(found) > 3 else ''}{some}. Give more of the name."
        raise Failure(text)
    if path.is_file():
        return Journal.at(path)
    if any(name.startswith(named) for name in sockets()):
        return _running(named)
    raise Failure(f"No session in {folder} starts with {named!r}. mcp-tui log --sessions lists them.")


def _running(start: str) -> Journal:
    """Returns the journal of a running session, with its name in ``ps``."""
    session = running_sessions.running_named(start)
    if not session.summary.recording:
        raise Failure(
            f"Session {session.name} keeps no recording, so there is nothing to read. Use mcp-tui ps."
        )
    path = Path(session.summary.recording)
    try:
        return _known(path) or Journal.at(path)
    except (OSError, ValueError) as error:
        reason = why(error) if isinstance(error, OSError) else "not a recording"
        raise Failure(f"Cannot read {path}, the recording of session {session.name}: {reason}.") from None


def _last(known: Sequence[Journal]) -> Journal:
    """Returns the last session of the workbench or of a tap, or else the last run; on a terminal it says which."""
    latest = sorted(
        known, key=lambda each: (each.name[: len("2026-11-21T031500")], _begun(each)), reverse=True
    )
    found = next((each for each in latest if each.purpose in ("workbench", "tap")), latest[0])
    if sys.stderr.isatty():
        warn(f"The last session is {found.name}.")
    return found


def _known(path: Path) -> Journal | None:
    """Returns the journal with this path from the folder, so that it has the name of its session."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - a link is not followed
    folder = Path(os.path.abspath(journal_folder()))  # noqa: PTH100
    if path.parent != folder or not path.is_file():
        return None
    return next((each for each in journals(folder) if each.paths[0].name == path.name), None)


def _begun(journal: Journal) -> int:
    """Returns the creation time of the file in nanoseconds, if the system has it."""
    status = journal.paths[0].stat()
    return getattr(status, "st_birthtime_ns", 0) or status.st_mtime_ns
