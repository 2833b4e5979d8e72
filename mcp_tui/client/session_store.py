"""Opens the store of a session, with its journal and a recording."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mcp_tui.client.client_settings import HttpTarget, Target
from mcp_tui.journal.client_process import ClientProcess
from mcp_tui.journal.journal_files import new_journal_path
from mcp_tui.journal.masks import known_secrets, mask_command, mask_url
from mcp_tui.journal.records import Header, RecordingError
from mcp_tui.journal.redaction import Redactor, Unredacted
from mcp_tui.journal.retention import Retention, prune
from mcp_tui.journal.store import Follower, Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Note


def open_store(
    target: Target,
    *,
    journal: bool = True,
    record: str | None = None,
    keep_secrets: bool = False,
    keep_days: float | None = None,
    keep_bytes: int | None = None,
    purpose: str = "",
    soon: Callable[[Callable[[], None]], object] | None = None,
    began: float | None = None,
    otlp: str | None = None,
    unseen: bool = False,
    client: ClientProcess | None = None,
) -> Store:
    """Returns a store that writes a journal and, if ``record`` names a file, a recording, both without secrets of the
    target.

    ``keep_secrets`` keeps them in the recording. ``purpose`` goes into :class:`~mcp_tui.journal.records.Header`.
    ``began`` is the start of the session in monotonic seconds, if not now. Spans, metrics, and logs are sent to the
    collector ``otlp``, which needs the extra of that name. ``unseen`` is passed to :class:`Store`. ``client`` is the
    process of an observed client.

    Older journals are deleted first: those older than ``keep_days``, and those beyond ``keep_bytes``; ``None`` sets
    no limit. Both limits also apply to this journal while it is written. The store's log reports which were deleted,
    that a journal cannot be made, and that ``record`` has content, which is never overwritten. Records are written
    when ``soon`` calls back, by default at the end of each turn of the event loop, which must be running.

    Raises:
        RecordingError: the recording cannot be made.
    """
    if soon is None:
        # This loads asyncio, which the recorder of a tap does not have.
        from mcp_tui.transport.base import call_behind_keys as soon

    redactor = Redactor(known_secrets(target))
    header = Header.now(shown(target), purpose, began)
    if client is not None:
        header = replace(header, client_pid=client.pid, client_started=client.started)
    notes: list[str] = []
    writers: list[Writer] = []
    if record is not None:
        given = Unredacted() if keep_secrets else redactor
        writers.append(Writer(record, redactor=given, header=header, recording=True))
        if (where := writers[0].path) != Path(record):
            notes.append(f"recording to {where}, because {record} exists")
    if journal:
        limits = Retention(days=keep_days, size=keep_bytes)
        try:
            path = new_journal_path(target.name or _word(target))
            after, deleted, none = prune(path.parent, limits)
            notes += filter(None, (*deleted, none))
            header = replace(header, after=after)
            writers.insert(0, Writer(path, redactor=redactor, header=header, retention=limits))
        except RecordingError as error:
            notes.append(f"no journal: {error}")
    followers: list[Follower] = []
    if otlp is not None:
        # Imported late: only for --otlp.
        from mcp_tui.journal.otlp import OtlpSender

        try:
            followers.append(OtlpSender(otlp, header, redactor))
        except ValueError as error:
            notes.append(f"nothing is sent to the collector: {error}")
    store = Store(*writers, soon=soon, followers=followers, unseen=unseen)
    for text in notes:
        store.event(Note(at=time.monotonic(), text=text))
    return store


def shown(target: Target) -> str:
    """Returns the target in one line, without secrets."""
    if isinstance(target, HttpTarget):
        return mask_url(target.url)
    return shlex.join(mask_command(target.command))


def _word(target: Target) -> str:
    if isinstance(target, HttpTarget):
        return mask_url(target.url).partition("://")[2].partition("/")[0]
    return target.command[0].rpartition("/")[2]
