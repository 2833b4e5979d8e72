"""A form from a JSON Schema: fields with what is wrong beside them, or the whole as JSON, and back without a loss.

It knows nothing of what it is filled in for: a tool's arguments, a prompt's, what a server asks for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from json import JSONDecodeError
from typing import Final

from textual import events
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_tui.client.completion import Completer, Told
from mcp_tui.client.forms import (
    ABSENT,
    TEXT,
    Draft,
    Field,
    FieldChoice,
    FieldEntry,
    FieldKind,
    FormLayout,
    Given,
)
from mcp_tui.client.schemas import Problem, mistake
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys import FIELD, FORM, key_of
from mcp_tui.tui.view.forms import Styled, about, editable, first_value, parsed, vacant
from mcp_tui.tui.view.text import SafeText, brief, clean, join, safe, width, words
from mcp_tui.tui.widgets.canvas import styled
from mcp_tui.tui.widgets.controls import ChoiceField, SeveralField, Suggestions, TextField, ToggleField
from mcp_tui.tui.widgets.editor import Editor

CHECKED: Final = 20_000
"""Characters up to which a form is checked again while it is typed."""

LABEL: Final = 22
"""Cells of a label, at most."""


def _named(field: Field) -> SafeText:
    """The name of a field with its indent."""
    return safe("{}{}", "  " * max(0, len(field.path) - 1), brief(field.name, 60) or "other")


def _label(field: Field, *more: Styled, style: str) -> Static:
    return Static(styled([(_named(field), style), *more]), markup=False, classes="-label")


def _sentence(problems: Iterable[Problem | str]) -> SafeText:
    return join((brief(str(each), 400) for each in problems), "; ")


class FieldRow(Vertical):
    """A field with its label. ``entry`` is its value; nothing typed means not set.

    Args:
        field: the field; one that is an object is typed as JSON.
        entry: what stands in it at first.
        label: cells of the label.
        edited: is called when something else stands in it; the flag tells whether a person typed that.
    """

    SCOPES = (FIELD,)
    BINDINGS = bindings(*SCOPES)

    def __init__(
        self, field: Field, entry: FieldEntry, *, label: int, edited: Callable[[FieldRow, bool], None]
    ) -> None:
        super().__init__()
        self.field = field
        self._edited = edited
        self._entry = entry
        self._before = FieldEntry(Given.TEXT, entry.text)
        self._fixed = len(entry.text) > TEXT
        self._offered: Sequence[FieldChoice] = field.choices
        self._suggestions = Suggestions()
        self._problem = Static(markup=False, classes="-problem")
        self._problem.styles.padding = self._suggestions.styles.margin = (0, 0, 0, label)
        self._label = _label(field, style="bold" if field.required else "")
        self._label.styles.width = label
        self.control = self._control()
        self._say_vacant()

    def _control(self) -> TextField | ChoiceField | ToggleField | SeveralField:
        """The control for the kind of field, and a text where its value is typed as JSON."""
        match self.field.kind:
            case FieldKind.BOOLEAN if not self._as_json:
                return ToggleField(self._shown)
            case FieldKind.CHOICE if not self._as_json:
                return ChoiceField(self.field.choices, self._shown)
            case FieldKind.SEVERAL if not self._as_json:
                return SeveralField(self.field.choices, self._shown)
            case _:
                made = TextField(self._suggestions.step)
                made.text = self._shown
                made.read_only = self._fixed
                made.set_class(self._has_lines, "-lines")
                return made

    def put(self) -> None:
        """Put label and control in place at once: keys typed ahead are meant for them."""
        line = Horizontal()
        self.mount(line, self._problem, self._suggestions)
        line.mount(self._label, self.control)

    # -- the value -------------------------------------------------------------------------------------------

    @property
    def _as_json(self) -> bool:
        return self._entry.given is Given.JSON

    @property
    def _has_lines(self) -> bool:
        """Whether enter makes a new line in it."""
        return self._as_json or self.field.kind in (FieldKind.LIST, FieldKind.JSON)

    @property
    def _shown(self) -> str:
        """What the control has of the entry."""
        return self._entry.text if self._entry.has_text and not self._fixed else ""

    @property
    def entry(self) -> FieldEntry:
        """The value, whatever news of it is still under way: any text is a value, no text is not set."""
        text = self.control.text
        if text != self._shown:
            json = self._as_json or self.field.kind is FieldKind.JSON
            self._entry = FieldEntry(Given.JSON if json else Given.TEXT, text) if text else ABSENT
            self._say_vacant()
        return self._entry

    def _write(self, entry: FieldEntry) -> None:
        self._entry = entry
        self.control.text = self._shown
        self._say_vacant()
        self._edited(self, False)

    def _say_vacant(self) -> None:
        entry = self._entry
        if self._fixed and entry.has_text:
            unset = key_of("form.leave-out")
            said = safe("{:,} characters, sent unchanged · {} unset", len(entry.text), unset)
            self.control.say([(said, "italic")])
        else:
            self.control.say(vacant(self.field, ABSENT if self._shown else entry))

    def action_leave_out(self) -> None:
        """Unset the field; the next time take back what it was, or make it an empty text or list."""
        entry = self.entry
        if entry.given is not Given.ABSENT:
            self._before = entry
            self._write(FieldEntry(Given.ABSENT, entry.text))
        elif entry.text:
            self._write(self._before)
        elif self.field.kind in (FieldKind.TEXT, FieldKind.LIST, FieldKind.SEVERAL, FieldKind.ANY):
            self._write(FieldEntry(Given.TEXT))

    def action_nullify(self) -> None:
        """Make it null where the schema permits that, and take it back."""
        free = self.field.kind in (FieldKind.ANY, FieldKind.JSON) and not self.field.types
        if self.entry.given is Given.NULL:
            self._write(ABSENT)
        elif self.field.nullable or free:
            self._write(FieldEntry(Given.NULL))

    def on_text_area_changed(self, event: Message) -> None:
        event.stop()
        before = self._entry
        typed = self.entry is not before
        if typed and self.has_focus_within:
            self.suggest()
        self._edited(self, typed)

    on_select_changed = on_text_area_changed
    on_checkbox_changed = on_text_area_changed
    on_several_field_changed = on_text_area_changed

    def complain(self, problems: Sequence[Problem]) -> None:
        """Say below the field what is wrong with it."""
        inner = [each if len(each.path) > len(self.field.path) else each.text for each in problems]
        self._problem.display = bool(problems)
        self._problem.set_class(all(each.advisory for each in problems), "-advisory")
        self._problem.update(Content(_sentence(inner)))

    # -- suggestions -----------------------------------------------------------------------------------------

    def offer(self, choices: Sequence[FieldChoice]) -> None:
        """Offer other values, for what is typed here now."""
        self._offered = choices
        if self.has_focus_within:
            self._suggestions.offer(choices)

    def suggest(self) -> None:
        """List the values offered for a text that have in them what is typed."""
        if self.field.kind is not FieldKind.TEXT:
            return
        text = self.control.text
        wanted = text.strip().casefold()
        found = [each for each in self._offered if wanted in f"{each.label}\n{each.title}".casefold()]
        self._suggestions.offer([] if [each.label for each in found] == [text] else found)

    def action_hide_suggestions(self) -> None:
        """List no suggestions any more."""
        self._suggestions.offer([])

    def on_option_list_option_selected(self, event: Suggestions.OptionSelected) -> None:
        """Take the suggestion that the cursor was moved to."""
        event.stop()
        self._take()

    def _take(self) -> None:
        chosen = self._suggestions.chosen
        if chosen is not None:
            self._write(FieldEntry(Given.TEXT, chosen))
        self.action_hide_suggestions()

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here: in lists and JSON enter is a new line, esc closes only a list that is open."""
        match action:
            case "take":
                return not self._has_lines
            case "turn":
                return isinstance(self.control, ToggleField | SeveralField)
            case "hide_suggestions":
                listed = self._suggestions
                return listed.display and (listed.chosen is not None or bool(self.control.text))
            case _:
                return True

    def action_next(self) -> None:
        """To the next field, with the suggestion that the cursor was moved to."""
        self._take()
        self.screen.focus_next()

    action_take = action_next

    def action_previous(self) -> None:
        self.screen.focus_previous()

    def action_newline(self) -> None:
        if isinstance(self.control, TextField):
            self.control.insert("\n")

    def action_turn(self) -> None:
        if isinstance(self.control, ToggleField | SeveralField):
            self.control.toggle()


@frozen
class FormDraft:
    """All that stands in a form: its fields, and the text where the whole is typed as JSON.

    ``made`` is the text as the form made it of the fields: while it stands there, they are what is meant.
    """

    draft: Draft
    text: str | None = None
    made: str = ""


class Form(Vertical):
    """Fields for a schema whose value is an object. Posts :class:`Changed` when something else stands in it.

    Args:
        schema: the schema, whatever a server sent.
        values: what stands in it at first, in place of the defaults.
        filled: what stood in an earlier form of the same schema, in place of both.
        formats: whether what breaks a ``format`` is wrong, and not merely said.
        completer: makes what completes texts while they are typed, and tells what it found to what it is given.
    """

    SCOPES = (FORM,)
    BINDINGS = bindings(*SCOPES)

    class Changed(Message):
        """Something else stands in the form."""

    def __init__(
        self,
        schema: Json,
        values: dict[str, Json] | None = None,
        *,
        filled: FormDraft | None = None,
        formats: bool = False,
        completer: Callable[[Told], Completer] | None = None,
    ) -> None:
        super().__init__()
        self.layout_ = FormLayout(schema)
        self._formats = formats
        self._completer = None if completer is None else completer(self.offer)
        self._rows: list[FieldRow] = []
        self._tried = False
        self._list = VerticalScroll(can_focus=False)
        self.editor = Editor(line_numbers=True)
        self._about = Static(markup=False, classes="-about")
        self._wrong = Static(markup=False, classes="-wrong")
        if filled is None:
            draft = self.layout_.first() if values is None else self.layout_.spread(values)
            filled = self._draft(draft, as_json=bool(self.layout_.whole))
        self._show(filled)

    def limit(self, lines: int) -> None:
        """Be at most so many lines high, beside what is said of a field."""
        for widget in (self._list, self.editor):
            widget.styles.max_height = max(3, lines)

    def build(self) -> None:
        """Put the fields in place. At once where the form was just mounted: keys typed ahead are meant for them."""
        if self.is_attached and not self.children:
            self.mount(self._list, self.editor, self._about, self._wrong)
            self._lay_out()

    on_mount = build

    def on_unmount(self) -> None:
        if self._completer is not None:
            self._completer.stop()

    def _lay_out(self) -> None:
        """Make the rows that the draft needs, at once; where there is no place for them, the draft itself is what stands."""
        if not self._list.is_attached:
            return
        self._list.remove_children()
        fields = list(self.layout_.rows(self._filled.draft))
        labels = (_named(each) for each in fields if each.kind is not FieldKind.OBJECT)
        label = min(LABEL, max(map(width, labels), default=0)) + 2
        shown: list[Widget] = []
        for each in fields:
            if each.kind is FieldKind.OBJECT:
                note = words("" if each.required else "  not set while all fields are empty")
                shown.append(_label(each, (note, "$text-muted"), style="bold"))
            else:
                entry = self._filled.draft.get(each.path, ABSENT)
                shown.append(FieldRow(each, entry, label=label, edited=self._row_edited))
        if not shown and not self.as_json:
            shown.append(Static(Content.styled(words("This takes no arguments."), "$text-muted")))
        self._list.mount(*shown)
        self._rows = [each for each in shown if isinstance(each, FieldRow)]
        for row in self._rows:
            row.put()

    # -- what stands in it -----------------------------------------------------------------------------------

    @property
    def as_json(self) -> bool:
        """Whether the whole is typed as JSON."""
        return self.has_class("-json")

    @property
    def filled(self) -> FormDraft:
        """All that stands in the form, to open another one with."""
        if self.as_json:
            return replace(self._filled, text=self.editor.text)
        if not self._rows:
            return self._filled
        return FormDraft({row.field.path: row.entry for row in self._rows if row.entry != ABSENT})

    def arguments(self) -> dict[str, Json]:
        """What the form stands for; where it cannot be read (:meth:`errors`), as far as it can."""
        if not self.as_json:
            return self.layout_.read(self.filled.draft)[0]
        try:
            return parsed(self.editor.text)
        except ValueError:
            return {}

    def errors(self) -> list[Problem]:
        """What is wrong with what stands in the form; what is ``advisory`` does not keep it from being sent."""
        if not self.as_json:
            found = self.layout_.problems(self.filled.draft)
        else:
            try:
                found = self.layout_.schema.problems(parsed(self.editor.text))
            except ValueError as error:
                return [Problem((), mistake(error))]
        return [replace(each, advisory=each.advisory and not self._formats) for each in found]

    def fill(self, arguments: dict[str, Json]) -> None:
        """Put other arguments into the form."""
        self._tried = False
        self.restore(self._draft(self.layout_.spread(arguments), as_json=self.as_json))

    def restore(self, filled: FormDraft) -> None:
        """Put back what stood in the form, or in another of its schema."""
        self._complain([])
        self._show(filled)
        self.post_message(self.Changed())

    def _show(self, filled: FormDraft) -> None:
        """Show what it is filled with, in rows of its own or as JSON; the focus stays with its field."""
        focused = self.row
        self._filled = filled
        self.set_class(filled.text is not None, "-json")
        if filled.text is None:
            self._lay_out()
        else:
            self.editor.text = filled.text
            self.editor.move_cursor(first_value(filled.text))
        if focused is not None:
            same = (row for row in self._rows if row.field.path == focused.field.path and not self.as_json)
            row = next(same, None)
            self.screen.set_focus(self.first if row is None else row.control)

    # -- fields or JSON --------------------------------------------------------------------------------------

    def action_json(self) -> None:
        """From the fields to JSON for the whole, and back; what cannot go back stays, and says why."""
        if not self.as_json:
            self._show(self._draft(self.filled.draft, as_json=True))
            self.editor.focus()
            return
        if self.layout_.whole:
            self._say_wrong(safe("Only JSON here: {}", clean(self.layout_.whole)))
            return
        draft = self._filled.draft
        if self.editor.text != self._filled.made:
            arguments = self._parsed()
            if arguments is None:
                return
            draft = self.layout_.spread(arguments, draft)
        self.restore(FormDraft(draft))
        self.focus_first()

    def _draft(self, draft: Draft, *, as_json: bool) -> FormDraft:
        """A draft of the fields as one of the form: in its fields, or as JSON for the whole."""
        if not as_json:
            return FormDraft(draft)
        try:
            text = editable(self.layout_.read(draft)[0])
        except ValueError as error:
            text = "{}"
            self._say_wrong(brief(str(error), 400))
        return FormDraft(draft, text, text)

    def _parsed(self) -> dict[str, Json] | None:
        """What is typed as JSON; where it is none, the cursor moves to the place, and the form says why."""
        try:
            return parsed(self.editor.text)
        except ValueError as error:
            if isinstance(error, JSONDecodeError):
                self.editor.move_cursor((error.lineno - 1, error.colno - 1))
            self._say_wrong(brief(mistake(error), 400))
            return None

    # -- fields ----------------------------------------------------------------------------------------------

    @property
    def row(self) -> FieldRow | None:
        """The row with the focus."""
        return next((row for row in self._rows if row.has_focus_within), None)

    @property
    def first(self) -> Widget | None:
        """The control to have the focus first: that of the first field that has to be filled in, or else the first.

        ``None`` where there is nothing to fill in.
        """
        if self.as_json:
            return self.editor
        required = (row for row in self._rows if row.field.required and row.entry.given is Given.ABSENT)
        row = next(chain(required, self._rows), None)
        return None if row is None else row.control

    def focus_first(self) -> None:
        """Move the focus to :attr:`first`."""
        self.build()
        if self.is_attached and self.first is not None:
            self.screen.set_focus(self.first)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = self.row
        if row is not None:
            self._about.update(styled(about(row.field, row.entry)))
            if row.field.kind in (FieldKind.NUMBER, FieldKind.INTEGER) and isinstance(row.control, TextField):
                row.control.select_all()  # what is typed takes the place of a default
            row.suggest()
            self._complete(row)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        row = next((row for row in self._rows if row in event.widget.ancestors), None)
        if row is not None and not row.has_focus_within:
            row.action_hide_suggestions()
            if row.entry.given is not Given.ABSENT and not self.as_json:
                row.complain(self._by_row(self.errors())[row])

    def _row_edited(self, row: FieldRow, typed: bool) -> None:
        if row.has_focus_within:
            self._about.update(styled(about(row.field, row.entry)))
        if typed:
            self._complete(row)
        self._again()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.as_json and event.text_area is self.editor:
            self._again()

    def _again(self) -> None:
        """Once something was wrong, look at every keystroke whether it still is."""
        self.post_message(self.Changed())
        size = len(self.editor.text) if self.as_json else sum(len(each.entry.text) for each in self._rows)
        if self._tried and size <= CHECKED:
            self._complain(self.errors())

    def _complete(self, row: FieldRow) -> None:
        """Ask what completes the text in a row."""
        name = row.field.name
        if self._completer is not None and row.field.kind is FieldKind.TEXT and row.field.path == (name,):
            given = {other: text for other, text in self.arguments().items() if isinstance(text, str)}
            given.pop(name, None)
            self._completer.ask(name, row.control.text, given)

    def offer(self, name: str, values: Sequence[str]) -> None:
        """Offer values for what is typed in a field."""
        choices = [FieldChoice(value, value) for value in values if len(value.splitlines()) == 1]
        for row in self._rows:
            if row.field.path == (name,):
                row.offer(choices)

    # -- what is wrong ---------------------------------------------------------------------------------------

    def submit(self) -> dict[str, Json] | None:
        """What the form stands for; or ``None``, and it says beside the fields what is wrong."""
        if self.as_json and self._parsed() is None:
            self._tried = True
            self.editor.focus()
            return None
        found = self.errors()
        self._complain(found)
        wrong = [self._row_about(each) for each in found if not each.advisory]
        if not wrong:
            return self.arguments()
        self._tried = True
        row = next((row for row in self._rows if row in wrong), None)
        if self.as_json:
            self.editor.focus()
        elif row is not None:
            row.control.focus()
        return None

    def _complain(self, problems: list[Problem]) -> None:
        """Say what is wrong, each beside its field."""
        told = self._by_row(problems)
        for row in self._rows if not self.as_json else ():
            row.complain(told[row])
        self._say_wrong(_sentence(problems if self.as_json else told[None]))

    def _by_row(self, problems: Iterable[Problem]) -> defaultdict[FieldRow | None, list[Problem]]:
        """What is wrong with each field; with ``None``, the whole."""
        told: defaultdict[FieldRow | None, list[Problem]] = defaultdict(list)
        for each in problems:
            told[self._row_about(each)].append(each)
        return told

    def _row_about(self, problem: Problem) -> FieldRow | None:
        """The row in which something is wrong: that of its field, or of the nearest around or within it."""
        path = tuple(str(part) for part in problem.path)
        rows = [row for row in self._rows if row.field.path]
        above = (row for row in rows if path[: len(row.field.path)] == row.field.path)
        below = (row for row in rows if path and row.field.path[: len(path)] == path)
        return next(above, None) or next(below, None)

    def _say_wrong(self, text: SafeText) -> None:
        self._wrong.display = bool(text)
        self._wrong.update(Content(text))
