"""A form from a JSON Schema: fields with what is wrong beside them, or the whole as JSON, and back without a loss.

It knows nothing of what it is filled in for: a tool's arguments, a prompt's, what a server asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_tui.client.forms import ABSENT, Draft, FieldChoice, FieldKind, FieldPath, FormLayout, Given
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import FORM
from mcp_tui.tui.view.forms import about
from mcp_tui.tui.view.text import SafeText, brief, clean, join, safe, words
from mcp_tui.tui.view.tools import NotArguments, editable, first_value, parsed
from mcp_tui.tui.widgets.canvas import styled
from mcp_tui.tui.widgets.controls import TextField
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.form_row import FieldRow, label_width

CHECKED: Final = 20_000
"""Characters up to which a form is checked again while it is typed."""


@dataclass(frozen=True, slots=True)
class FormDraft:
    """All that stands in a form: its fields, and the text where the whole is typed as JSON."""

    draft: Draft
    text: str | None = None
    made: str = ""


class Form(Vertical):
    """Fields for a schema whose value is an object.

    Posts :class:`Submitted` when :meth:`submit` finds nothing wrong, :class:`Changed` when something else stands in it, and
    :class:`Typed` with what stands in the field that a person types into.

    Args:
        schema: the schema, whatever a server sent.
        values: what stands in it at first, in place of the defaults.
        filled: what stood in an earlier form of the same schema, in place of both.
        formats: whether what breaks a ``format`` is wrong, and not merely said.
    """

    DEFAULT_CSS = """
    Form {
        height: 1fr;
        & > VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
        & > Editor { height: 1fr; min-height: 3; display: none; }
        & > Static.-about { height: auto; max-height: 3; margin-top: 1; color: $text; }
        & > Static.-wrong { height: auto; max-height: 3; color: $error; display: none; }
        &.-json > VerticalScroll, &.-json > Static.-about { display: none; }
        &.-json > Editor { display: block; }
    }
    """

    SCOPES = (FORM,)
    BINDINGS = bindings(*SCOPES)

    class Submitted(Message):
        """The form is filled in and nothing is wrong with it."""

        def __init__(self, form: Form, arguments: dict[str, Json]) -> None:
            super().__init__()
            self.form = form
            self.arguments = arguments

    class Changed(Message):
        """Something else stands in the form."""

        def __init__(self, form: Form) -> None:
            super().__init__()
            self.form = form

    class Typed(Message):
        """A person typed into a field, or came to one for text."""

        def __init__(self, form: Form, name: FieldPath, text: str) -> None:
            super().__init__()
            self.form = form
            self.name = name
            self.text = text

    def __init__(
        self,
        schema: Json,
        values: dict[str, Json] | None = None,
        *,
        filled: FormDraft | None = None,
        formats: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.layout_ = FormLayout(schema)
        self._formats = formats
        self._draft: Draft = self.layout_.first() if values is None else self.layout_.spread(values)
        self._rows: list[FieldRow] = []
        self._tried = False
        self._made = ""
        self._list = VerticalScroll(can_focus=False)
        self.editor = Editor(line_numbers=True)
        self._about = Static(markup=False, classes="-about")
        self._wrong = Static(markup=False, classes="-wrong")
        if filled is not None:
            self._draft = filled.draft
        if filled is not None and filled.text is not None:
            self._made = filled.made
            self._show_json(filled.text)
        elif self.layout_.whole:
            self._to_json()

    def limit(self, lines: int) -> None:
        """Be at most so many lines high, beside what is said of a field."""
        for widget in (self._list, self.editor):
            widget.styles.max_height = max(3, lines)

    def compose(self) -> ComposeResult:
        if self.children:  # put in place already, see build()
            return
        yield self._list
        yield self.editor
        yield self._about
        yield self._wrong

    def on_mount(self) -> None:
        self.build()

    def build(self) -> None:
        """Put the fields in place. At once where the form was just mounted: keys typed ahead are meant for them."""
        if self.is_attached and not self.children:
            self.mount(*self.compose())
        if not self._list.children:
            self._lay_out()

    def _lay_out(self) -> None:
        """Make the rows that the draft needs, at once; where there is no place for them, the draft itself is what stands."""
        self._rows = []
        if not self._list.is_attached:
            return
        fields = list(self.layout_.rows(self._draft))
        label = max((label_width(each) for each in fields if each.kind is not FieldKind.OBJECT), default=0)
        self._rows = [FieldRow(each, self._draft.get(each.path, ABSENT), label=label) for each in fields]
        self._list.mount(*self._rows)
        for row in self._rows:
            row.put()
        if not self._rows and not self.as_json:
            said = styled([(words("This takes no arguments."), "$text-muted")])
            self._list.mount(Static(said, markup=False))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to fill in."""
        return not (self._filled_in or self.as_json)

    @property
    def _filled_in(self) -> list[FieldRow]:
        """The rows with a control."""
        return [row for row in self._rows if not row.is_heading]

    # -- what stands in it -----------------------------------------------------------------------------------

    @property
    def as_json(self) -> bool:
        """Whether the whole is typed as JSON."""
        return self.has_class("-json")

    @property
    def filled(self) -> FormDraft:
        """All that stands in the form, to open another one with."""
        return FormDraft(self._now(), self.editor.text if self.as_json else None, self._made)

    def _now(self) -> Draft:
        if self.as_json or not self._rows:
            return dict(self._draft)
        return {row.field.path: row.entry for row in self._filled_in if row.entry != ABSENT}

    def arguments(self) -> dict[str, Json]:
        """What the form stands for; where it cannot be read (:meth:`errors`), as far as it can."""
        if not self.as_json:
            return self.layout_.read(self._now())[0]
        try:
            return parsed(self.editor.text)
        except NotArguments:
            return {}

    def errors(self) -> list[Problem]:
        """What is wrong with what stands in the form; what is ``advisory`` does not keep it from being sent."""
        if not self.as_json:
            found = self.layout_.problems(self._now())
        else:
            try:
                found = self.layout_.schema.problems(parsed(self.editor.text))
            except NotArguments as error:
                return [Problem((), str(error))]
        if self._formats:
            return [Problem(each.path, each.text) for each in found]
        return found

    def fill(self, arguments: dict[str, Json]) -> None:
        """Put other arguments into the form."""
        self._tried = False
        self._complain([])
        self._put(self.layout_.spread(arguments))
        if self.as_json:
            self._to_json()
        self.post_message(self.Changed(self))

    def restore(self, filled: FormDraft) -> None:
        """Put back what stood in the form."""
        self._complain([])
        self._made = filled.made
        if filled.text is not None:
            self._draft = filled.draft
            self._show_json(filled.text)
        else:
            self.remove_class("-json")
            self._put(filled.draft)
        self.post_message(self.Changed(self))

    def _put(self, draft: Draft) -> None:
        """Show a draft, in rows of its own; the focus stays with its field."""
        focused = self.row
        self._draft = draft
        self._list.remove_children()
        self._lay_out()
        if focused is not None:
            same = (row for row in self._filled_in if row.field.path == focused.field.path)
            row = next(same, None)
            self.screen.set_focus(self.first if row is None else row.control)

    # -- fields or JSON --------------------------------------------------------------------------------------

    def action_json(self) -> None:
        """From the fields to JSON for the whole, and back; what cannot go back stays, and says why."""
        if not self.as_json:
            self._draft = self._now()
            self._to_json()
            self.editor.focus()
            return
        if self.layout_.whole:
            self._say_wrong(safe("Only JSON here: {}", clean(self.layout_.whole)))
            return
        if self.editor.text != self._made:
            try:
                arguments = parsed(self.editor.text)
            except NotArguments as error:
                self._mistake(error)
                return
            self._draft = self.layout_.spread(arguments, self._draft)
        self.remove_class("-json")
        self._complain([])
        self._put(self._draft)
        self.focus_first()
        self.post_message(self.Changed(self))

    def _to_json(self) -> None:
        problem = ""
        try:
            text = editable(self.layout_.read(self._draft)[0])
        except NotArguments as error:
            text, problem = "{}", str(error)
        self._made = text
        self._show_json(text)
        if problem:
            self._say_wrong(brief(problem, 400))

    def _show_json(self, text: str) -> None:
        self.add_class("-json")
        self.editor.text = text
        self.editor.move_cursor(first_value(text))

    def _mistake(self, error: NotArguments) -> None:
        if error.line:
            self.editor.move_cursor((error.line - 1, error.column - 1))
        self._say_wrong(brief(str(error), 400))

    # -- fields ----------------------------------------------------------------------------------------------

    @property
    def row(self) -> FieldRow | None:
        """The row with the focus."""
        return next((row for row in self._filled_in if row.has_focus_within), None)

    @property
    def first(self) -> Widget | None:
        """The control to have the focus first: that of the first field that has to be filled in, or else the first."""
        if self.as_json:
            return self.editor
        rows = self._filled_in
        required = (row for row in rows if row.field.required and row.entry.given is Given.ABSENT)
        row = next(required, rows[0] if rows else None)
        return None if row is None else row.control

    def focus_first(self) -> None:
        """Move the focus to :attr:`first`."""
        if self.is_attached and self.first is not None:
            self.screen.set_focus(self.first)

    def _row_of(self, widget: Widget) -> FieldRow | None:
        return next((row for row in self._filled_in if row.control in widget.ancestors_with_self), None)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = self._row_of(event.widget)
        if row is not None:
            self._tell(row)
            if row.field.kind in (FieldKind.NUMBER, FieldKind.INTEGER) and isinstance(row.control, TextField):
                row.control.select_all()  # what is typed takes the place of a default
            if row.field.kind is FieldKind.TEXT:
                row.suggest()
                self._post_typed(row)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        row = self._row_of(event.widget)
        if row is not None and not row.has_focus_within:
            row.action_hide_suggestions()
            if row.entry.given is not Given.ABSENT and not self.as_json:
                self._complain(self.errors(), only=row)

    def _tell(self, row: FieldRow) -> None:
        self._about.update(styled(about(row.field, row.entry)))

    def _post_typed(self, row: FieldRow) -> None:
        if isinstance(row.control, TextField):
            self.post_message(self.Typed(self, row.field.path, row.control.text))

    # -- keys ------------------------------------------------------------------------------------------------

    def on_field_row_edited(self, event: FieldRow.Edited) -> None:
        event.stop()
        if event.row.has_focus_within:
            self._tell(event.row)
        if event.typed and event.row.field.kind is FieldKind.TEXT:
            self._post_typed(event.row)
        self._again()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.as_json and event.text_area is self.editor:
            self._again()

    def _again(self) -> None:
        """Once something was wrong, look at every keystroke whether it still is."""
        self.post_message(self.Changed(self))
        size = len(self.editor.text) if self.as_json else sum(len(each.text) for each in self._now().values())
        if self._tried and size <= CHECKED:
            self._complain(self.errors())

    def offer(self, name: FieldPath, choices: Sequence[FieldChoice]) -> None:
        """Offer values for what is typed in a field."""
        for row in self._rows:
            if row.field.path == name:
                row.offer(choices)

    # -- what is wrong ---------------------------------------------------------------------------------------

    def submit(self) -> bool:
        """Post what the form stands for, or say beside the fields what is wrong; whether it was posted."""
        if self.as_json:
            try:
                parsed(self.editor.text)
            except NotArguments as error:
                self._tried = True
                self._mistake(error)
                self.editor.focus()
                return False
        found = self.errors()
        self._complain(found)
        wrong = [each for each in found if not each.advisory]
        if wrong:
            self._tried = True
            self._focus_on(wrong)
            return False
        self.post_message(self.Submitted(self, self.arguments()))
        return True

    def _focus_on(self, wrong: list[Problem]) -> None:
        """Move the focus to the first field in which something is wrong."""
        if self.as_json:
            self.editor.focus()
            return
        rows = [self._row_about(each) for each in wrong]
        row = next((row for row in self._filled_in if row in rows), None)
        if row is not None:
            row.control.focus()

    def complain(self, problems: list[Problem]) -> None:
        """Show problems that were found elsewhere, each beside its field."""
        self._tried = True
        self._complain(problems)

    def _complain(self, problems: list[Problem], *, only: FieldRow | None = None) -> None:
        if self.as_json:
            self._say_wrong(join((brief(str(each), 400) for each in problems), "; "))
            return
        rows = [self._row_about(each) for each in problems]
        for row in self._filled_in if only is None else [only]:
            said = [each for each, about in zip(problems, rows, strict=True) if about is row]
            inner = (each if len(each.path) > len(row.field.path) else each.text for each in said)
            advisory = all(each.advisory for each in said)
            row.complain(join((brief(str(each), 400) for each in inner), "; "), advisory=advisory)
        if only is None:
            left = [each for each, row in zip(problems, rows, strict=True) if row is None]
            self._say_wrong(join((brief(str(each), 400) for each in left), "; "))

    def _row_about(self, problem: Problem) -> FieldRow | None:
        """The row in which something is wrong: that of its field, or of the nearest around or within it."""
        path = tuple(str(part) for part in problem.path)
        rows = [row for row in self._filled_in if row.field.path]
        above = (row for row in rows if path[: len(row.field.path)] == row.field.path)
        below = (row for row in rows if path and row.field.path[: len(path)] == path)
        return next(above, None) or next(below, None)

    def _say_wrong(self, text: SafeText) -> None:
        self._wrong.display = bool(text)
        self._wrong.update(styled([(text, "")]))
