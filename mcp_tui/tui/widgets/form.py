"""A form from a JSON Schema: fields with their errors next to them, or the whole as JSON, and back without a loss.

The form does not know its use: the arguments of a tool or a prompt, or a server's question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final, Literal

from textual import events
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_tui.client.argument_completion import Completer, ShowCompletions
from mcp_tui.client.forms import (
    ADDED,
    ALL_ARGUMENTS,
    BRANCH,
    FORM_FIELDS,
    Draft,
    Field,
    FieldChoice,
    FieldEntry,
    FieldKind,
    FormLayout,
    Given,
)
from mcp_tui.client.schemas import Problem
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.widgets.controls import (
    ChoiceField,
    GroupField,
    SeveralField,
    Suggestions,
    TextField,
    ToggleField,
)
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.view.form_text import Styled, about, editable, masked_members, vacant, veiled
from mcp_tui.view.keys import FIELD, FORM, hint, key_of
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, width, words

EDITED_CHARACTERS: Final = 50_000
"""The maximum number of characters of a field that can be edited; longer text is sent unchanged."""

LABEL_CELLS: Final = 22
"""The maximum width of a label in cells."""

_NO_ARGUMENTS: Final = words("This takes no arguments.")


def _named(field: Field) -> SafeText:
    """Returns the name of a field with its indent."""
    if field.path == BRANCH:
        return words("one of")
    name = brief(field.name, 60)
    if field.is_item:
        name = safe("{} {}", brief(field.path[-2], 60), int(field.name) + 1)
    return safe("{}{}", "  " * (len(field.path) - 1), name)


def _label(field: Field, *more: Styled, style: str) -> Static:
    return Static(Content.assemble((_named(field), style), *more), markup=False, classes="-label")


def _is_long(entry: FieldEntry | None) -> bool:
    return entry is not None and len(entry.text) > EDITED_CHARACTERS


def _as_json(draft: Draft, text: str) -> Draft:
    return {**draft, ALL_ARGUMENTS: FieldEntry(Given.JSON, text)}


def _sentence(problems: Iterable[Problem | str]) -> SafeText:
    return join((brief(str(each), 400) for each in problems), "; ")


class FieldRow(Vertical):
    """A field with its label. Without text it is not set.

    Args:
        field: the field.
        entry: its initial content.
        default: its content in a new form.
        form: the form, which learns of changes.
        label: the width of the label in cells.
    """

    BINDINGS = bindings(FIELD)

    def __init__(
        self,
        field: Field,
        entry: FieldEntry | None,
        default: FieldEntry | None,
        *,
        form: Form,
        label: int,
    ) -> None:
        super().__init__()
        self.field = field
        self._form = form
        self._entry = entry
        self._default = default
        self._fixed = _is_long(entry)
        self._offered: Sequence[FieldChoice] = field.choices
        self._suggestions = Suggestions()
        self._problem = Static(markup=False, classes="-problem")
        self._problem.styles.padding = self._suggestions.styles.margin = (0, 0, 0, label)
        self._label = _label(field, style="bold" if field.required else "")
        self._label.styles.width = label
        self.control = self._control()
        self._say_vacant()

    def _control(self) -> TextField | ChoiceField | SeveralField:
        """Makes the control for the kind of field, or a text field if its value is typed as JSON."""
        match self.field.kind:
            case FieldKind.OBJECT | FieldKind.ITEMS if not self._as_json:
                return GroupField(self._shown)
            case FieldKind.BOOLEAN if not self._as_json:
                return ToggleField(self._shown)
            case FieldKind.CHOICE if not self._as_json:
                return ChoiceField(self.field.choices, self._shown)
            case FieldKind.SEVERAL if not self._as_json:
                return SeveralField(self.field.choices, self._shown)
            case _:
                masked = self._form.masks and self.field.secret
                made = TextField(self._suggestions.step, self._is_replaced, self._take_whole, masked=masked)
                made.text = self._shown
                made.read_only = self._fixed
                made.set_class(self._has_lines, "-lines")
                return made

    def _is_replaced(self) -> bool:
        """Whether typing replaces the text: that of a number, and a default that nobody changed."""
        return self.field.kind in (FieldKind.NUMBER, FieldKind.INTEGER) or self.entry == self._default

    def put(self) -> None:
        """Mounts label and control at once: keys typed ahead are meant for them."""
        line = Horizontal()
        self.mount(line, self._problem, self._suggestions)
        line.mount(self._label, self.control)

    # -- the value -------------------------------------------------------------------------------------------

    @property
    def _is_group(self) -> bool:
        return isinstance(self.control, GroupField)

    @property
    def _as_json(self) -> bool:
        return self._entry is not None and self._entry.given is Given.JSON

    @property
    def _has_lines(self) -> bool:
        """Whether enter inserts a new line."""
        return self._as_json or self.field.kind in (FieldKind.LIST, FieldKind.JSON)

    @property
    def _shown(self) -> str:
        """The text of the entry that the control shows."""
        return self._entry.text if self._entry is not None and not self._fixed else ""

    @property
    def entry(self) -> FieldEntry | None:
        """The content, even if the message of a change is still queued; ``None`` if the field is not set."""
        text = self.control.text
        if text != self._shown:
            self._entry = self._made(text) if text else None
            self._say_vacant()
        return self._entry

    def _made(self, text: str) -> FieldEntry:
        json = self._as_json or self.field.kind is FieldKind.JSON
        return FieldEntry(Given.JSON if json else Given.TEXT, text)

    def _take_whole(self, text: str) -> bool:
        """Accepts a pasted text that is too long to be edited, to send it unchanged; also replaces such a text."""
        control = self.control
        assert isinstance(control, TextField)
        if not self._fixed:
            if len(control.text) + len(text) <= EDITED_CHARACTERS:
                return False
            start, end = sorted(control.selection)
            before, after = (
                control.get_text_range((0, 0), start),
                control.get_text_range(end, control.document.end),
            )
            text = f"{before}{text}{after}"
        self._write(self._made(text))
        return True

    def _write(self, entry: FieldEntry | None) -> None:
        self._entry, self._fixed = entry, _is_long(entry)
        if isinstance(self.control, TextField):
            self.control.read_only = self._fixed
        if self.control.text != self._shown:
            self.control.text = self._shown
        self._say_vacant()
        self._form.row_edited(self)

    def _say_vacant(self) -> None:
        entry = self._entry
        if self._fixed and entry is not None:
            unset = key_of("form.leave-out")
            sentence = safe("{:,} characters, sent unchanged · {} unset", len(entry.text), unset)
            self.control.say([(sentence, "italic")])
        else:
            shown = self._shown and not self.field.grouped
            self.control.say(vacant(self.field, None if shown else entry))

    def action_leave_out(self) -> None:
        """Unsets the field; if it is not set, sets an empty text or list."""
        if self.field.is_item or (self._is_group and self.entry is not None):
            self._form.regroup(self, "removed")
        elif self.field.kind is FieldKind.ITEMS and self.entry is None:
            self._write(FieldEntry(Given.TEXT, "0"))
        elif self.entry is not None:
            if isinstance(self.control, TextField):
                self.control.clear()  # an edit, which can be undone
            self._write(None)
        elif self.field.kind in (FieldKind.TEXT, FieldKind.LIST, FieldKind.SEVERAL, FieldKind.ANY):
            self._write(FieldEntry(Given.TEXT))

    def action_nullify(self) -> None:
        """Sets null if the schema permits it; if the value is null, unsets it."""
        free = self.field.kind in (FieldKind.ANY, FieldKind.JSON) and not self.field.types
        null = FieldEntry(Given.NULL)
        if self.entry == null:
            self._write(None)
        elif self._is_group and self.entry is not None:
            pass  # with what was filled in: it is removed first
        elif self.field.nullable or free:
            self._write(null)

    def on_text_area_changed(self, event: Message) -> None:
        event.stop()
        before = self._entry
        if self.entry is not before:
            if self.has_focus_within:
                self.suggest()
            self._form.row_edited(self)

    on_choice_field_changed = on_text_area_changed
    on_several_field_changed = on_text_area_changed

    def complain(self, problems: Sequence[Problem]) -> None:
        """Shows the problems of the field below it."""
        inner = [each if len(each.path) > len(self.field.path) else each.text for each in problems]
        self._problem.display = bool(problems)
        self._problem.set_class(all(each.advisory for each in problems), "-advisory")
        self._problem.update(Content(_sentence(inner)))

    # -- suggestions -----------------------------------------------------------------------------------------

    def offer(self, choices: Sequence[FieldChoice]) -> None:
        """Offers other values for the current text."""
        self._offered = choices
        if self.has_focus_within:
            self._suggestions.offer(choices)

    def suggest(self) -> None:
        """Lists the offered values that contain the text."""
        if self.field.kind is not FieldKind.TEXT:
            return
        text = self.control.text
        wanted = text.strip().casefold()
        found = [each for each in self._offered if wanted in f"{each.label}\n{each.title}".casefold()]
        self._suggestions.offer([] if [each.label for each in found] == [text] else found)

    def action_hide_suggestions(self) -> None:
        """Closes the list of suggestions."""
        self._suggestions.offer([])

    def on_option_list_option_selected(self, event: Suggestions.OptionSelected) -> None:
        event.stop()
        self._take()

    def _take(self) -> None:
        """Uses the suggestion under the cursor."""
        chosen = self._suggestions.chosen
        if chosen is not None:
            self._write(FieldEntry(Given.TEXT, chosen))
        self.action_hide_suggestions()

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is available: in lists and JSON enter is a new line; esc closes only an open list."""
        match action:
            case "take":
                return not self._has_lines
            case "turn":
                return isinstance(self.control, ToggleField | SeveralField | GroupField)
            case "hide_suggestions":
                listed = self._suggestions
                return listed.display and (listed.chosen is not None or bool(self.control.text))
            case _:
                return True

    def action_next(self) -> None:
        """Uses the suggestion under the cursor and goes to the next field."""
        self._take()
        self.screen.focus_next()

    def action_take(self) -> None:
        """Adds an object or an item; elsewhere the same."""
        if self._is_group and not self.field.is_item and self.entry != ADDED:
            self._form.regroup(self, "added")
        else:
            self.action_next()

    def action_previous(self) -> None:
        self.screen.focus_previous()

    def action_newline(self) -> None:
        if isinstance(self.control, TextField):
            self.control.insert("\n")

    def action_turn(self) -> None:
        if isinstance(self.control, SeveralField):
            self.control.action_select()
        elif isinstance(self.control, GroupField):
            self.action_take()
        else:
            self._write(FieldEntry(Given.TEXT, "false" if self.control.text == "true" else "true"))


class Form(Vertical):
    """Fields for a schema whose value is an object. Posts :class:`Changed` when the content changes.

    Args:
        schema: the schema as a server sent it.
        values: the initial arguments, instead of the defaults.
        filled: the content of an earlier form of the same schema, instead of both.
        formats: whether a broken ``format`` is an error, and not only a warning.
        masks: whether texts that seem to be secrets are hidden while they are typed.
        completer: makes the object that completes texts while they are typed; it gets :meth:`offer`.
        vacant: the sentence if there is nothing to fill in.
    """

    BINDINGS = bindings(FORM)

    class Changed(Message):
        """The content changed."""

    def __init__(
        self,
        schema: Json,
        values: dict[str, Json] | None = None,
        *,
        filled: Draft | None = None,
        formats: bool = False,
        masks: bool = False,
        completer: Callable[[ShowCompletions], Completer] | None = None,
        vacant: SafeText = _NO_ARGUMENTS,
    ) -> None:
        super().__init__()
        self.layout_ = FormLayout(schema)
        self._formats = formats
        self.masks = masks
        self._vacant = vacant
        self._completer = None if completer is None else completer(self.offer)
        self._rows: list[FieldRow] = []
        self._draft: Draft = {}
        self._submitted = ""
        self._list = VerticalScroll(can_focus=False)
        self._secret = {each.name for each in self.layout_.fields if each.secret}
        veil = partial(veiled, is_secret=self._is_secret) if masks else None
        self.editor = Editor(line_numbers=True, veil=veil)
        self._about = Static(markup=False, classes="-about")
        self._wrong = Static(markup=False, classes="-wrong")
        self._show(filled or (self._started() if values is None else self._filled_with(values)))

    def limit(self, lines: int) -> None:
        """Limits the height to ``lines`` lines, without the description of a field."""
        for widget in (self._list, self.editor):
            widget.styles.max_height = max(3, lines)

    def build(self) -> None:
        """Mounts the fields; at once if the form was just mounted, because keys typed ahead are meant for them."""
        if self.is_attached and not self.children:
            self.mount(self._list, self.editor, self._about, self._wrong)
            self._lay_out()

    on_mount = build

    def on_unmount(self) -> None:
        if self._completer is not None:
            self._completer.stop()

    def _lay_out(self) -> None:
        """Makes the rows for the draft; before the form is mounted, the draft itself is its content."""
        if not self._list.is_attached:
            return
        self._list.remove_children()
        defaults = self.layout_.started(self._draft) or {}
        choice = self.layout_.choice
        fields = self.layout_.fields_of(self._draft)
        fields = fields if choice is None else (choice, *fields)
        labels = (_named(each) for each in fields if not each.fixed)
        label = min(LABEL_CELLS, max(map(width, labels), default=0)) + 2
        shown: list[Widget] = []
        for each in fields:
            if each.fixed:
                shown.append(_label(each, style="bold"))
            else:
                entry, default = self._draft.get(each.path), defaults.get(each.path)
                shown.append(FieldRow(each, entry, default, form=self, label=label))
        if not shown and not self.as_json:
            shown.append(Static(Content.styled(self._vacant, "$text-muted")))
        self._list.mount(*shown)
        self._rows = [each for each in shown if isinstance(each, FieldRow)]
        for row in self._rows:
            row.put()

    # -- the content -----------------------------------------------------------------------------------------

    @property
    def as_json(self) -> bool:
        """Whether all arguments are typed as JSON."""
        return self.has_class("-json")

    @property
    def filled(self) -> Draft:
        """The content, for opening another form with it."""
        if self.as_json:
            return _as_json(self._draft, self.editor.text)
        if not self._rows:
            return self._draft
        entries = ((row.field.path, row.entry) for row in self._rows)
        return {path: entry for path, entry in entries if entry is not None}

    def arguments(self) -> dict[str, Json]:
        """Returns the arguments, as far as the content can be read (:meth:`errors`)."""
        return self.layout_.read(self.filled)[0]

    def _is_secret(self, name: str) -> bool:
        return name in self._secret or is_secret_name(name)

    def copyable(self) -> dict[str, Json]:
        """Returns the arguments without the hidden values."""
        arguments = self.arguments()
        return masked_members(arguments, self._is_secret) if self.masks else arguments

    def errors(self) -> list[Problem]:
        """Returns the problems of the content; an ``advisory`` one does not prevent sending."""
        found = self.layout_.problems(self.filled)
        return [replace(each, advisory=each.advisory and not self._formats) for each in found]

    def fill(self, arguments: dict[str, Json]) -> None:
        """Replaces the content by other arguments."""
        filled = self._filled_with(arguments)
        self.restore(_as_json(filled, self._written(arguments)) if self.as_json else filled)

    def restore(self, filled: Draft) -> None:
        """Replaces the content by earlier content of this form, or of another one with its schema."""
        self._complain([])
        self._show(filled)
        self.post_message(self.Changed())

    def _started(self) -> Draft:
        """Returns the content of a new form."""
        draft = None if self.layout_.whole else self.layout_.started()
        return self._in_json({}, self.layout_.defaults()) if draft is None else draft

    def _filled_with(self, arguments: dict[str, Json]) -> Draft:
        """Returns the content for arguments: as JSON if the fields cannot represent them."""
        draft = None if self.layout_.whole else self.layout_.spread(arguments)
        return _as_json({}, self._written(arguments)) if draft is None else draft

    def _in_json(self, draft: Draft, arguments: dict[str, Json]) -> Draft:
        """Returns the content as JSON; that of branches begins with the names of missing required members."""
        return _as_json(draft, self._written({**arguments, **self._blanks(draft)}))

    def _blanks(self, draft: Draft) -> dict[str, Json]:
        layout = self.layout_
        return layout.missing(draft) if layout.choice is not None or layout.whole else {}

    def _written(self, arguments: dict[str, Json]) -> str:
        try:
            return editable(arguments)
        except ValueError as error:
            self._say_wrong(brief(str(error), 400))
            return "{}"

    def _show(self, filled: Draft) -> None:
        """Shows other content, in new rows or as JSON; the focus stays on its field."""
        focused = self.row
        self._draft = filled
        self.set_class(ALL_ARGUMENTS in filled, "-json")
        if ALL_ARGUMENTS not in filled:
            self._lay_out()
        else:
            with self.editor.prevent(TextArea.Changed):
                self.editor.text = filled[ALL_ARGUMENTS].text
            self.editor.move_cursor((0, 1))
        if focused is not None:
            same = (row for row in self._rows if row.field.path == focused.field.path and not self.as_json)
            row = next(same, None)
            self.screen.set_focus(self.first if row is None else row.control)

    # -- fields or JSON --------------------------------------------------------------------------------------

    def action_json(self) -> None:
        """Switches between fields and JSON; content that fields cannot represent stays JSON, with the reason."""
        filled = self.filled
        draft, made = self._made(filled)
        if not self.as_json:
            self._show(made)
            self.post_message(self.Changed())
            self.screen.set_focus(self.editor)
            return
        why = self.layout_.whole
        if self.editor.text != made[ALL_ARGUMENTS].text and not why:
            arguments, wrong = self.layout_.read(filled)
            if wrong:
                self._say_wrong(_sentence(wrong))
                return
            blanks = self._blanks(draft)
            # A null that is there only because the member is required is not a value.
            given = {
                name: value for name, value in arguments.items() if value is not None or name not in blanks
            }
            spread = self.layout_.spread(given)
            draft, why = spread or {}, "" if spread is not None else "some arguments have no field"
        if why:
            self._say_wrong(safe("Only JSON here: {}", clean(why)))
        else:
            self.restore(draft)
            self.focus_first()

    def _made(self, filled: Draft) -> tuple[Draft, Draft]:
        """Returns the content of the fields, and the same as JSON."""
        draft = {path: entry for path, entry in filled.items() if path != ALL_ARGUMENTS}
        return draft, self._in_json(draft, self.layout_.read(draft)[0])

    @property
    def json(self) -> str:
        """The content as JSON, perhaps unfinished."""
        filled = self.filled
        return (filled if self.as_json else self._made(filled)[1])[ALL_ARGUMENTS].text

    def take_json(self, text: str) -> None:
        """Replaces the content by JSON that was edited elsewhere, and shows its problems.

        Text that is not JSON, or does not fit into the fields, stays as JSON.
        """
        in_fields = not self.as_json
        if text == self.json:
            return
        self.restore(_as_json(self._made(self.filled)[0], text))
        if in_fields:
            self.action_json()
        if self.errors():
            self.submit()

    # -- fields ----------------------------------------------------------------------------------------------

    @property
    def row(self) -> FieldRow | None:
        """The row with the focus."""
        return next((row for row in self._rows if row.has_focus_within), None)

    @property
    def first(self) -> Widget | None:
        """The control to focus first: of the first required field that is not set, else of the first field.

        ``None`` if there is nothing to fill in.
        """
        if self.as_json:
            return self.editor
        required = (row for row in self._rows if row.field.required and row.entry is None)
        row = next(chain(required, self._rows), None)
        return None if row is None else row.control

    def focus_first(self) -> None:
        """Moves the focus to :attr:`first`."""
        self.build()
        if self.is_attached and self.first is not None:
            self.screen.set_focus(self.first)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = self.row
        if row is not None:
            self._about.update(Content.assemble(*about(row.field, row.entry)))
            row.suggest()
            self._complete(row)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        row = next((row for row in self._rows if row in event.widget.ancestors), None)
        if row is not None and not row.has_focus_within:
            row.action_hide_suggestions()
            # Checked when a field is left, not at each key: a schema may be hostile, and slow to apply.
            if row.entry is not None and not self.as_json:
                row.complain(self._by_row(self.errors())[row])

    def row_edited(self, row: FieldRow) -> None:
        """Handles a change of a row by a person."""
        if row.field.path == BRANCH and row.entry != self._draft.get(BRANCH):
            self.restore(self.layout_.turned(self.filled, before=self._draft))
            return
        if row.has_focus_within:
            self._about.update(Content.assemble(*about(row.field, row.entry)))
        self._complete(row)
        row.complain([])
        self._say_wrong(NOTHING)
        self.post_message(self.Changed())

    def regroup(self, row: FieldRow, way: Literal["added", "removed"]) -> None:
        """Adds or removes an object or an item, and moves the focus to the first field in it, or to what is left."""
        field, draft = row.field, self.filled
        adds = way == "added"
        if adds and len(self._rows) + len(field.inner) > 2 * FORM_FIELDS:
            self._say_wrong(hint("Too many fields. {form.json} edits all of them as JSON."))
            return
        number = field.count(draft)
        self.restore(self.layout_.added(draft, field) if adds else self.layout_.removed(draft, field))
        place = (*field.path, str(number)) if adds and field.kind is FieldKind.ITEMS else field.path
        inside = (
            each for each in self._rows if adds and each.field.path[: len(place)] == place != each.field.path
        )
        there = (each for each in self._rows if each.field.path == place[: len(each.field.path)])
        found = next(inside, None) or max(there, key=lambda each: len(each.field.path), default=None)
        if found is not None:
            self.screen.set_focus(found.control)
            self._about.update(Content.assemble(*about(found.field, found.entry)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        # The message of an edit may arrive after the sending, and must not remove the problems that it found.
        if self.as_json and event.text_area is self.editor and self.editor.text != self._submitted:
            self._say_wrong(NOTHING)
            self.post_message(self.Changed())

    def _complete(self, row: FieldRow) -> None:
        """Asks for completions of the text in a row."""
        name = row.field.name
        if self._completer is not None and row.field.kind is FieldKind.TEXT and row.field.path == (name,):
            given = {other: text for other, text in self.arguments().items() if isinstance(text, str)}
            given.pop(name, None)
            self._completer.ask(name, row.control.text, given)

    def offer(self, name: str, values: Sequence[str]) -> None:
        """Offers values for the text of a field."""
        choices = [FieldChoice(value, value) for value in values if len(value.splitlines()) == 1]
        for row in self._rows:
            if row.field.path == (name,):
                row.offer(choices)

    # -- problems --------------------------------------------------------------------------------------------

    def submit(self) -> dict[str, Json] | None:
        """Returns the arguments; or ``None``, and shows the problems next to the fields."""
        self._submitted = self.editor.text
        found = self.errors()
        self._complain(found)
        wrong = [self._row_about(each) for each in found if not each.advisory]
        if not wrong:
            return self.arguments()
        row = next((row for row in self._rows if row in wrong), None)
        if self.as_json:
            self.screen.set_focus(self.editor)
        elif row is not None:
            self.screen.set_focus(row.control)
        return None

    def _complain(self, problems: list[Problem]) -> None:
        """Shows each problem next to its field, or below all of them."""
        by_row = self._by_row(problems)
        for row in self._rows if not self.as_json else ():
            row.complain(by_row[row])
        self._say_wrong(_sentence(problems if self.as_json else by_row[None]))

    def _by_row(self, problems: Iterable[Problem]) -> defaultdict[FieldRow | None, list[Problem]]:
        """Returns the problems of each row; those of the whole have the key ``None``."""
        by_row: defaultdict[FieldRow | None, list[Problem]] = defaultdict(list)
        for each in problems:
            by_row[self._row_about(each)].append(each)
        return by_row

    def _row_about(self, problem: Problem) -> FieldRow | None:
        """Returns the row of a problem: that of its field, or of the nearest field around or in it."""
        path = tuple(str(part) for part in problem.path)
        above = [row for row in self._rows if path[: len(row.field.path)] == row.field.path]
        below = (row for row in self._rows if path and row.field.path[: len(path)] == path)
        return max(above, key=lambda row: len(row.field.path), default=None) or next(below, None)

    def _say_wrong(self, text: SafeText) -> None:
        self._wrong.display = bool(text)
        self._wrong.update(Content(text))
