"""The filter of the table: ``state:late name:slow id:212 server:demo /text/ words``, and ``-`` before what is not wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view.badges import badge, server_request_badge
from mcp_tui.tui.view.terms import Terms, read

Shown = Request | ServerRequest
"""What a row may show: a request of ours, or one of the server's."""

Filter = Terms[Shown]
"""A filter of the table."""

_Test = Callable[[Shown], bool]


def parse(text: str, *, server: Callable[[], str] = str) -> Filter:
    """Read a filter, see :func:`mcp_tui.tui.view.terms.read`.

    ``state:`` takes the start of any word of a badge, or ``open`` and ``done``; ``id:`` the whole id; ``name:`` (or
    ``tool:``), ``method:``, ``reason:``, ``cause:`` and ``server:`` a part. ``/an expression/`` is looked for in method,
    name, error and summary, words and phrases in all that a row says. ``server`` is what the server of the rows is called.
    """
    return read(
        text,
        {
            "state": _state,
            "name": _name_has,
            "tool": _name_has,
            "method": lambda value: lambda row: value in row.method.casefold(),
            "id": _id,
            "reason": lambda value: lambda row: value in _reason(row).casefold(),
            "cause": lambda value: lambda row: value in _cause(row),
            "server": lambda value: lambda _: value in server().casefold(),
        },
        said=_said,
        searched=_searched,
    )


def _name_has(value: str) -> _Test:
    return lambda row: value in _name(row).casefold()


def _cause(row: Shown) -> str:
    return "" if isinstance(row, ServerRequest) or row.cause is None else row.cause.value.replace("_", " ")


def _state(value: str) -> _Test:
    if value == "open":
        return is_open
    if value == "done":
        return lambda row: not is_open(row)
    value = value.replace("-", " ").replace("_", " ")

    def test(row: Shown) -> bool:
        shown = server_request_badge(row) if isinstance(row, ServerRequest) else badge(row)
        # "overdue" is a mark on a state: the style has its name, the word has not.
        spoken = f" {shown.word.replace(',', '')} {shown.style}"
        return f" {value}" in spoken

    return test


def is_open(row: Shown) -> bool:
    """Whether an answer is still waited for."""
    return row.ended_at is None if isinstance(row, ServerRequest) else row.open


def _id(value: str) -> _Test:
    def test(row: Shown) -> bool:
        if isinstance(row, ServerRequest):
            return str(row.request_id).casefold() == value
        return str(row.id).casefold() == value or any(
            str(round_).casefold() == value for round_ in row.round_ids
        )

    return test


def _name(row: Shown) -> str:
    return "" if isinstance(row, ServerRequest) else row.name


def _reason(row: Shown) -> str:
    return row.outcome if isinstance(row, ServerRequest) else row.reason


def _searched(row: Shown) -> Iterable[str]:
    if isinstance(row, ServerRequest):
        return row.method, row.outcome
    return row.method, row.name, row.label, row.error, row.summary


def _said(row: Shown) -> Iterable[str]:
    if isinstance(row, ServerRequest):
        return row.method, str(row.request_id), row.outcome, server_request_badge(row).word
    code = "" if row.code is None else str(row.code)
    said = (row.label, str(row.id), row.reason, code, row.error, row.summary, row.message or "", row.settled)
    return *said, badge(row).word
