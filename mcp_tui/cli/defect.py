"""The report of an internal error: its type, its place in the code, and the path of the journal.

A traceback with local variables, which Textual prints, and an exception's own text may hold anything that was sent, even
secrets. So neither is printed: a type and places in the code are enough for a bug report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_tui.cli.output import Failure, warn

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from mcp_tui.journal.store import Store
    from mcp_tui.journal.writer import Writer

_PACKAGE: Final = Path(__file__).parents[1]

_REPORTED_PLACES: Final = 4
"""Places in our own code that are reported, the innermost ones."""

_kept: list[Writer] = []


def remember(store: Store) -> None:
    """Name the files of ``store`` in a report from now on."""
    _kept.extend(store.writers)


def is_known(error: Exception) -> bool:
    """Returns whether an error is not an internal one: its text is a sentence for people."""
    # The workbench explains errors, and rarely one of these.
    from mcp_tui.config.files import ConfigError
    from mcp_tui.journal.records import RecordingError
    from mcp_tui.transport.base import TransportError

    return isinstance(error, (ConfigError, Failure, RecordingError, TransportError))


def explain(error: Exception) -> str:
    """Returns the sentence of an error that has one for people, else the report of an internal error."""
    return str(error) if is_known(error) else report(error)


def report(error: BaseException) -> str:
    """Returns one sentence about an internal error, with the journals but without the exception's text."""
    journal = f" Journal: {', '.join(str(each.path) for each in _kept)}" if _kept else ""
    return f"Internal error in mcp-tui: {_where(error)}.{journal}"


def _where(error: BaseException) -> str:
    """The exception's type, its place in the code, and the places in our code that led there."""
    error = _inner(error)
    places = list(_places(error.__traceback__))
    at = f" at {places[-1]}" if places else ""
    ours = [place for place in places[:-1] if place.startswith(f"{_PACKAGE.name}/")][-_REPORTED_PLACES:]
    by = f" (by {', '.join(reversed(ours))})" if ours else ""
    return f"{type(error).__name__}{at}{by}"


def report_beside(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report a failed background task in the same way; asyncio would print the exception's text."""
    error: BaseException | None = context.get("exception")
    if error is not None:
        warn(f"Internal error in mcp-tui (continuing): {_where(error)}.")


def _inner(error: BaseException) -> BaseException:
    """The original exception, of one that wraps another: a failed worker, or an exception group."""
    inner: object = getattr(error, "error", None)
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    same = cast("BaseException", error)
    return _inner(inner) if isinstance(inner, BaseException) and inner is not error else same


def _places(trace: TracebackType | None) -> Iterator[str]:
    for frame, line in walk_tb(trace):
        path = Path(frame.f_code.co_filename)
        ours = path.is_relative_to(_PACKAGE)
        name = path.relative_to(_PACKAGE.parent) if ours else Path(*path.parts[-2:])
        yield f"{name.as_posix()}:{line}"
