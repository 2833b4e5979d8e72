"""The filter of the table: ``state:late name:slow id:212 /a phrase/ words``. All that is asked for must hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.badges import badge

_TERM: Final = re.compile(
    r"""
    (?P<field>state|name|method|id|reason):(?P<value>"[^"]*"?|\S+)
    | /(?P<phrase>[^/]+)(?:/|$)
    | "(?P<quoted>[^"]+)"?
    | (?P<word>\S+)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_Test = Callable[[Request], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as it was typed, and the tests that it stands for."""

    text: str = ""
    tests: tuple[_Test, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tests)

    def matches(self, row: Request) -> bool:
        """Whether ``row`` passes every test."""
        return all(test(row) for test in self.tests)


def parse(text: str) -> Filter:
    """Read a filter. Nothing is an error: what is no term is a word to look for.

    ``state:`` takes the start of any word of a badge, or ``open`` and ``done``; ``id:`` the whole id; ``name:``,
    ``method:`` and ``reason:`` a part; ``/a phrase/`` and plain words look at all that a row says. Case is ignored.
    """
    tests: list[_Test] = []
    for term in _TERM.finditer(text.strip()):
        field, value = term["field"], (term["value"] or "").strip('"').casefold()
        if field is not None and value:
            tests.append(_FIELDS[field.lower()](value))
        elif field is None:
            tests.append(_anywhere((term["phrase"] or term["quoted"] or term["word"]).casefold()))
    return Filter(text.strip(), tuple(tests))


def _state(value: str) -> _Test:
    if value == "open":
        return lambda row: row.open
    if value == "done":
        return lambda row: not row.open
    value = value.replace("-", " ").replace("_", " ")

    def test(row: Request) -> bool:
        shown = badge(row)
        # "overdue" is a mark on a state: the style has its name, the word has not.
        spoken = f" {shown.word.replace(',', '')} {shown.style}"
        return f" {value}" in spoken

    return test


def _id(value: str) -> _Test:
    return lambda row: str(row.id).casefold() == value


def _name(value: str) -> _Test:
    return lambda row: value in row.name.casefold()


def _method(value: str) -> _Test:
    return lambda row: value in row.method.casefold()


def _reason(value: str) -> _Test:
    return lambda row: value in row.reason.casefold()


def _anywhere(value: str) -> _Test:
    def test(row: Request) -> bool:
        said = (row.label, str(row.id), row.reason, row.error, row.summary, row.message or "", row.settled)
        return any(value in text.casefold() for text in said) or value in badge(row).word

    return test


_FIELDS: Final[dict[str, Callable[[str], _Test]]] = {
    "state": _state,
    "name": _name,
    "method": _method,
    "id": _id,
    "reason": _reason,
}
