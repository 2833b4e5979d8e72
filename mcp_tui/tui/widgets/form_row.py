"""One field of a form on the screen: its label, the control that takes its value, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mcp_tui.client.forms import ABSENT, TEXT, Field, FieldChoice, FieldEntry, FieldKind, Given
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.keys.panes import FIELD
from mcp_tui.tui.view.forms import Styled, vacant
from mcp_tui.tui.view.text import SafeText, brief, safe, width, words
from mcp_tui.tui.widgets.canvas import styled
from mcp_tui.tui.widgets.controls import (
    ChoiceField,
    Control,
    SeveralField,
    Suggestions,
    TextField,
    ToggleField,
)

LABEL: Final = 22
"""Cells of a label, at most."""


def label_width(field: Field) -> int:
    """Cells of a field's label, with its indent."""
    return min(LABEL, width(brief(field.name, 60)) + 2 * max(0, len(field.path) - 1)) + 2


class FieldRow(Vertical):
    """A field with its label. ``entry`` is its value; nothing typed means not set.

    An object that has fields of its own is a heading, without a control. ``label`` is the width of the label in cells.
    """

    DEFAULT_CSS = """
    FieldRow {
        height: auto;
        & > Horizontal { height: auto; }
        & Static.-label { height: 1; padding-right: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & Static.-problem { height: auto; color: $error; display: none; }
        & Static.-problem.-advisory { color: $warning; }
        & TextField { width: 1fr; height: auto; min-height: 1; max-height: 6; }
        & TextField.-lines { max-height: 12; }
        & ChoiceField, & ToggleField, & SeveralField { width: 1fr; }
    }
    """

    SCOPES = (FIELD,)
    BINDINGS = bindings(*SCOPES)

    class Edited(Message):
        """The value changed; ``typed`` by a person."""

        def __init__(self, row: FieldRow, *, typed: bool) -> None:
            super().__init__()
            self.row = row
            self.typed = typed

    def __init__(self, field: Field, entry: FieldEntry, *, label: int) -> None:
        super().__init__()
        self.field = field
        self._label = label
        self._offered: Sequence[FieldChoice] = field.choices
        self._suggestions = Suggestions()
        self._problem = Static(markup=False, classes="-problem")
        self._problem.styles.padding = self._suggestions.styles.margin = (0, 0, 0, label)
        self._vacant = entry.given
        self._kept = entry.text
        self._fixed = len(entry.text) > TEXT
        self._json = entry.given is Given.JSON
        self._written: str = ""
        self.control = self._control_for("" if self._empty or self._fixed else entry.text)
        self._say_vacant()

    def _control_for(self, text: str) -> Widget:
        """The control for the kind of field, and a text where its value is typed as JSON."""
        self._written = text
        match self.field.kind:
            case FieldKind.BOOLEAN if not self._json:
                return ToggleField(text)
            case FieldKind.CHOICE if not self._json:
                return ChoiceField(self.field.choices, text)
            case FieldKind.SEVERAL if not self._json:
                return SeveralField(self.field.choices, text)
            case _:
                made = TextField(step=self._step)
                made.text = text
                made.read_only = self._fixed
                made.set_class(self.lines, "-lines")
                return made

    def put(self) -> None:
        """Put label and control in place at once: keys typed ahead are meant for them."""
        if not self.is_attached:
            return
        name = safe("{}{}", "  " * max(0, len(self.field.path) - 1), brief(self.field.name, 60) or "other")
        line = Horizontal()
        self.mount(line, self._problem, self._suggestions)
        if self.is_heading:
            note = words("" if self.field.required else "  not set while all fields are empty")
            said: list[Styled] = [(name, "bold"), (note, "$text-muted")]
            line.mount(Static(styled(said), markup=False, classes="-label"))
            return
        bold = "bold" if self.field.required else ""
        label = Static(styled([(name, bold)]), markup=False, classes="-label")
        label.styles.width = self._label
        line.mount(label, self.control)

    @property
    def is_heading(self) -> bool:
        """Whether it stands above the fields of an object."""
        return self.field.kind is FieldKind.OBJECT

    @property
    def lines(self) -> bool:
        """Whether enter makes a new line in it."""
        return self._json or self.field.kind in (FieldKind.LIST, FieldKind.JSON)

    @property
    def has_focus_within(self) -> bool:
        """Whether its control, or a part of that, has the focus."""
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self.control in focused.ancestors_with_self

    # -- the value -------------------------------------------------------------------------------------------

    @property
    def _value(self) -> Control:
        return cast("Control", self.control)

    @property
    def _empty(self) -> bool:
        return self._vacant in (Given.ABSENT, Given.NULL)

    @property
    def entry(self) -> FieldEntry:
        """The value, whatever news of it is still under way."""
        self._catch_up()
        if self._fixed or not self._written:
            return FieldEntry(self._vacant, self._kept)
        json = self._json or self.field.kind is FieldKind.JSON
        return FieldEntry(Given.JSON if json else Given.TEXT, self._written)

    def _catch_up(self) -> bool:
        """Take over what a person typed, and whether anything was: any text is a value, no text is not set."""
        text = self._value.text
        if text == self._written or self._fixed:
            return False
        self._written, self._kept, self._vacant = text, "", Given.ABSENT
        self._json = self._json and bool(text)
        self._say_vacant()
        return True

    def _write(self, entry: FieldEntry) -> None:
        """Set another value, in the same notation as before."""
        self._vacant, self._kept = entry.given, entry.text
        self._written = "" if self._empty or self._fixed else entry.text
        self._value.text = self._written
        self._say_vacant()
        self.post_message(self.Edited(self, typed=False))

    def _say_vacant(self) -> None:
        said: Sequence[Styled] = vacant(self.field, FieldEntry(self._vacant))
        if self._fixed and self._vacant is not Given.ABSENT:
            unset = safe(
                "{:,} characters, sent unchanged · {} unset", len(self._kept), key_of("form.leave-out")
            )
            said = [(unset, "italic")]
        self._value.say(said)

    def action_leave_out(self) -> None:
        """Unset the field; the next time take back what it was, or make it an empty text or list."""
        entry = self.entry
        if entry.given is not Given.ABSENT:
            self._write(FieldEntry(Given.ABSENT, entry.text))
        elif entry.text:
            json = self._json or self.field.kind is FieldKind.JSON
            self._write(FieldEntry(Given.JSON if json else Given.TEXT, entry.text))
        elif self.field.kind in (FieldKind.TEXT, FieldKind.LIST, FieldKind.SEVERAL, FieldKind.ANY):
            self._write(FieldEntry(Given.TEXT))

    def action_nullify(self) -> None:
        """Make it null where the schema permits that, and take it back."""
        if self.entry.given is Given.NULL:
            self._write(ABSENT)
        elif self.field.nullable or (
            self.field.kind in (FieldKind.ANY, FieldKind.JSON) and not self.field.types
        ):
            self._write(FieldEntry(Given.NULL))

    def on_text_area_changed(self, event: Message) -> None:
        event.stop()
        typed = self._catch_up()
        if typed and self.has_focus_within:
            self.suggest()
        self.post_message(self.Edited(self, typed=typed))

    on_select_changed = on_text_area_changed
    on_checkbox_changed = on_text_area_changed
    on_several_field_changed = on_text_area_changed

    def complain(self, text: SafeText, *, advisory: bool = False) -> None:
        """Say below the field what is wrong with it; nothing for an empty text."""
        self._problem.display = bool(text)
        self._problem.set_class(advisory, "-advisory")
        self._problem.update(styled([(text, "")]))

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
        text = self._value.text
        wanted = text.strip().casefold()
        found = [each for each in self._offered if wanted in f"{each.label}\n{each.title}".casefold()]
        self._suggestions.offer([] if [each.label for each in found] == [text] else found)

    def action_hide_suggestions(self) -> None:
        """List no suggestions any more."""
        self._suggestions.offer([])

    def take(self) -> None:
        """Take the suggestion that the cursor was moved to."""
        chosen = self._suggestions.chosen
        if chosen is not None:
            self._write(FieldEntry(Given.TEXT, chosen.label))
        self.action_hide_suggestions()

    def on_option_list_option_selected(self, event: Suggestions.OptionSelected) -> None:
        event.stop()
        self.take()

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key means something here: in lists and JSON enter is a new line, esc closes only a list that is open."""
        match action:
            case "take":
                return not self.lines
            case "newline":
                return isinstance(self.control, TextField)
            case "turn":
                return isinstance(self.control, ToggleField | SeveralField)
            case "hide_suggestions":
                return self._suggestions.display and (
                    self._suggestions.chosen is not None or bool(self._value.text)
                )
            case _:
                return True

    def action_next(self) -> None:
        """To the next field, with the suggestion that the cursor was moved to."""
        self.take()
        self.screen.focus_next()

    action_take = action_next

    def action_previous(self) -> None:
        self.screen.focus_previous()

    def action_newline(self) -> None:
        cast("TextField", self.control).insert("\n")

    def action_turn(self) -> None:
        cast("ToggleField | SeveralField", self.control).turn()

    def _step(self, by: int) -> bool:
        """Move among the suggestions; out of the text to another field."""
        if self._suggestions.step(by):
            return True
        first, last = cast("TextField", self.control).at_edge
        leaves = (by < 0 and first) or (by > 0 and last)
        if leaves:
            self.screen.focus_previous() if by < 0 else self.screen.focus_next()
        return leaves
