"""The report of an internal error: its type, its place in the code, and the path of the journal.

Local variables, which Textual prints in its traceback, and the text of an exception may contain any sent data,
including secrets. So the report has neither: the type and the places in the code are enough for a bug report.
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
"""The number of reported places in our own code, the innermost ones."""

_kept: list[Writer] = []


def remember(store: Store) -> None:
    """Stores which files a later report names: those of ``store``."""
    _kept.extend(store.writers)


def is_known(error: Exception) -> bool:
    """Whether an error is not an internal one, so that its text is a sentence for a person."""
    # Imported late: the workbench rarely explains one of these.
    from mcp_tui.config.files import ConfigError
    from mcp_tui.journal.records import RecordingError
    from mcp_tui.transport.base import TransportError

    return isinstance(error, (ConfigError, Failure, RecordingError, TransportError))


def explain(error: Exception) -> str:
    """Returns the sentence of an error for a person, or else the report of an internal error."""
    return str(error) if is_known(error) else report(error)


def report(error: BaseException) -> str:
    """Returns one sentence about an internal error, with the paths of the journals but without the exception's text."""
    journal = f" Journal: {', '.join(str(each.path) for each in _kept)}" if _kept else ""
    return f"Internal error in mcp-tui: {_where(error)}.{journal}"


def _where(error: BaseException) -> str:
    """Returns the exception's type, its place in the code, and the places in our code that called it."""
    error = _inner(error)
    places = list(_places(error.__traceback__))
    at = f" at {places[-1]}" if places else ""
    ours = [place for place in places[:-1] if place.startswith(f"{_PACKAGE.name}/")][-_REPORTED_PLACES:]
    by = f" (by {', '.join(reversed(ours))})" if ours else ""
    return f"{type(error).__name__}{at}{by}"


def report_beside(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Reports a failed background task in the same way; asyncio would print the exception's text."""
    error: BaseException | None = context.get("exception")
    if error is not None:
        warn(f"Internal error in mcp-tui (continuing): {_where(error)}.")


def _inner(error: BaseException) -> BaseException:
    """Returns the exception that a failed worker or an exception group wraps."""
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
