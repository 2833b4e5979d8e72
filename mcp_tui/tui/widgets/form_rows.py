"""The rows of a form together: made for a draft, found by what is wrong, and moved among."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from textual.widget import Widget

from mcp_tui.client.fields import ABSENT, Draft, Given, Kind
from mcp_tui.client.forms import Layout
from mcp_tui.client.problems import Problem
from mcp_tui.tui.view.text import brief, width, words
from mcp_tui.tui.widgets.form_row import Row

LABEL: Final = 22
"""Cells of the labels, at most."""


@dataclass(frozen=True, slots=True)
class Filled:
    """All that stands in a form: its fields, and the text where the whole is typed as JSON."""

    draft: Draft
    text: str | None = None
    made: str = ""


class FormRows(list[Row]):
    """Rows in the order in which they stand."""

    @classmethod
    def made(
        cls, layout: Layout, draft: Draft, *, move: Callable[[Row, int], None], ascii_only: bool
    ) -> FormRows:
        """The rows that a draft needs. ``move`` moves the focus on from a row."""
        fields = list(layout.rows(draft))
        labels = [
            width(brief(each.name, 60)) + 2 * max(0, len(each.path) - 1)
            for each in fields
            if each.kind is not Kind.OBJECT
        ]
        label = min(LABEL, max(labels, default=0)) + 2
        return cls(
            Row(each, draft.get(each.path, ABSENT), label=label, move=move, ascii_only=ascii_only)
            for each in fields
        )

    @property
    def typed(self) -> list[Row]:
        """Those that a person types into, or chooses in."""
        return [row for row in self if row.field.kind is not Kind.OBJECT]

    @property
    def focused(self) -> Row | None:
        """The one with the focus."""
        return next((row for row in self if row.typing.has_focus), None)

    def with_(self, widget: Widget) -> Row | None:
        """The one whose field is this widget."""
        return next((row for row in self if row.typing is widget), None)

    @property
    def draft(self) -> Draft:
        """What stands in them."""
        return {row.field.path: row.entry for row in self.typed if row.entry != ABSENT}

    def fill(self, layout: Layout, draft: Draft) -> bool:
        """Put a draft into them; false where it needs other rows."""
        wanted = [(each.path, each.kind) for each in layout.rows(draft)]
        fits = wanted == [(row.field.path, row.field.kind) for row in self]
        for row in self if fits else ():
            row.fill(draft.get(row.field.path, ABSENT))
        return fits

    @property
    def first(self) -> Row | None:
        """The first that must be filled in and is not, or else the first."""
        typed = self.typed
        open_ = (row for row in typed if row.field.required and row.entry.given is Given.ABSENT)
        return next(open_, typed[0]) if typed else None

    def beside(self, row: Row, step: int) -> Row | int:
        """The row so many steps on from another; where there is none, -1 for before the first and 1 for after the last."""
        typed = self.typed
        at = typed.index(row) + step if row in typed else 0
        return typed[at] if 0 <= at < len(typed) else -1 if at < 0 else 1

    def of(self, problem: Problem) -> Row | None:
        """The row in which something is wrong: that of its field, or of the nearest around or within it."""
        path = tuple(str(part) for part in problem.path)
        typed = [row for row in self.typed if row.field.path]
        above = (row for row in typed if path[: len(row.field.path)] == row.field.path)
        below = (row for row in typed if path and row.field.path[: len(path)] == path)
        return next(above, None) or next(below, None)

    def complain(self, problems: Sequence[Problem], *, only: Row | None = None) -> list[Problem]:
        """Say beside each row, or one of them, what is wrong with it; those that no row is about."""
        said: dict[int, Problem] = {}
        left: list[Problem] = []
        for each in problems:
            row = self.of(each)
            if row is None:
                left.append(each)
            else:
                said.setdefault(id(row), each)
        for row in self if only is None else [only]:
            problem = said.get(id(row))
            if problem is None:
                row.complain(words(""))
            else:
                inner = Problem(problem.path[len(row.field.path) :], problem.text)
                row.complain(brief(str(inner), 400), advisory=problem.advisory)
        return left
