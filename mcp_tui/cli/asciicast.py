"""The story of a session as an asciicast (version 2): a line an event, at its moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mcp_tui.cli.output import dump, in_words, summary
from mcp_tui.journal.streamed import Fold, Streamed
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view import log
from mcp_tui.tui.view.text import SafeText, brief, clip, width

COLUMNS: Final = 100
ROWS: Final = 30

_OVER: Final = (ev.Completed, ev.Failed, ev.Lost, ev.Settled)


def asciicast(recording: Streamed, wanted: Iterable[Request] | None = None) -> Iterator[str]:
    """The lines of the file. With ``wanted``, only what concerns these requests is told."""
    header = recording.header
    yield dump(
        {
            "version": 2,
            "width": COLUMNS,
            "height": ROWS,
            "timestamp": max(0, int(header.wall)) if abs(header.wall) < 1e12 else 0,
            "title": brief(header.target or recording.path.name),
        }
    )
    ids = None if wanted is None else {(type(row.id), row.id) for row in wanted}
    fold = Fold()
    latest = 0.0
    for event in recording.events():
        said: SafeText | None = None
        if not isinstance(event, ev.RequestEvent):
            said = _beside(event) if ids is None else None
        elif ids is None or (type(event.id), event.id) in ids:
            gone = fold.gone(event.id)
            row = fold.take(event)
            if row is not None:
                said = _told(event, row)
            elif gone is not None and isinstance(event, ev.Duplicate):
                said = _again(event, gone)
        if said is None:
            continue
        latest = max(latest, event.at - header.mono)
        line = clip(SafeText(f"{latest:9.3f}  {said}"), COLUMNS - 1)
        assert width(line) < COLUMNS
        yield dump([round(latest, 6), "o", f"{line}\r\n"])


def _beside(event: ev.Event) -> SafeText:
    source, said, _ = log.told(event)
    return SafeText(f"{source}: {said}")


def _again(event: ev.Duplicate, label: str) -> SafeText | None:
    """What came for a request that was over."""
    said = in_words(event)
    name = brief(f"{label} ({event.id})", 60)
    return None if said is None else SafeText(f"  {name} {brief(said, 2000)}")


def _told(event: ev.RequestEvent, row: Request) -> SafeText | None:
    name = brief(f"{row.label} ({row.id})", 60)
    if isinstance(event, ev.Sent):
        return SafeText(f"→ {name}")
    if isinstance(event, _OVER):
        return SafeText(f"  {name} {brief(summary(row, event.at), 2000)}")
    if isinstance(event, ev.Late) and event.kind is ev.Kind.PROGRESS:
        return SafeText(f"  {name} progress after the cancel, ignored")
    said = in_words(event)
    return None if said is None else SafeText(f"  {name} {brief(said, 2000)}")
