"""The controls that fields of a form are filled in with: Textual's own, each with its value as text.

``text`` is the value in the notation of its field (:mod:`mcp_tui.client.forms`), empty where there is none; ``say`` tells
what no value means there. Labels and titles are the server's words, and never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rich.text import Text
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Checkbox, OptionList, Select
from textual.widgets.option_list import Option

from mcp_tui.client.forms import FieldChoice
from mcp_tui.tui.view.forms import Styled
from mcp_tui.tui.view.text import brief, safe, words
from mcp_tui.tui.widgets.canvas import styled
from mcp_tui.tui.widgets.editor import Editor, InOrder

LISTED: Final = 8
"""Lines of suggestions in sight."""

OFFERED: Final = 200
"""Suggestions that are listed at once; typing finds the others."""


def labelled(choice: FieldChoice) -> list[Styled]:
    """The label of a choice, and its title where that says more."""
    titled = choice.title and choice.title != choice.label
    title = safe("  {}", brief(choice.title, 60)) if titled else words("")
    return [(brief(choice.label, 80), ""), (title, "$text-muted")]


class TextField(Editor):
    """A text, a number, JSON, or a list with an item a line.

    ``step`` is asked first where the cursor keys leave the text: -1 above its first line, 1 below its last.
    """

    def __init__(self, step: Callable[[int], bool]) -> None:
        super().__init__()
        self._step = step

    def say(self, vacant: Sequence[Styled]) -> None:
        self.placeholder = styled(vacant)

    def load_text(self, text: str) -> None:
        super().load_text(text)
        self.move_cursor(self.document.end)

    def action_cursor_up(self, select: bool = False) -> None:
        if self._step(-1):
            return
        if self.cursor_location[0] == 0:
            self.screen.focus_previous()
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if self._step(1):
            return
        if self.cursor_location[0] == self.document.line_count - 1:
            self.screen.focus_next()
        else:
            super().action_cursor_down(select)


class ChoiceField(InOrder, Select[str]):
    """One of several. Letters choose the first that begins with them, or has them in it."""

    def __init__(self, choices: Sequence[FieldChoice], value: str) -> None:
        self.choices = choices
        self._typed = ""
        options = [(Text(styled(labelled(each)).plain, no_wrap=True), each.label) for each in choices]
        known = any(each.label == value for each in choices)
        super().__init__(options, compact=True)
        # At once: given to Select it would hold only when mounted.
        self.value = value if known else Select.NULL

    def on_mount(self, event: events.Mount) -> None:
        if self.children:
            self.set_reactive(ChoiceField.value, Select.NULL)  # Select draws only a value that changes
        else:
            event.prevent_default()  # it was removed before it was mounted: Select would look for its parts

    @property
    def text(self) -> str:
        return self.selection or ""

    @text.setter
    def text(self, text: str) -> None:
        self.value = text or Select.NULL

    def say(self, vacant: Sequence[Styled]) -> None:
        if self.is_mounted and not self.children:
            return
        said = "".join(text for text, _ in vacant)
        # Textual reads markup in a prompt: where it could find any, the first words have to do.
        said = said.partition(" ·")[0] if {"[", "\\"} & set(said) else said
        self.prompt = said

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return character is not None and character.isprintable() and character != " "

    async def _on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:
            return
        if not self.check_consume_key(event.key, event.character):
            self._typed = ""
            return
        event.stop()
        event.prevent_default()
        typed = (event.character or "").casefold()
        for wanted in (self._typed + typed, typed):
            found = self._beginning(wanted)
            if found is not None:
                self._typed, self.text = wanted, found.label
                return

    def _beginning(self, wanted: str) -> FieldChoice | None:
        told = [(each, f"{each.label} {each.title}".casefold()) for each in self.choices]
        begins = (each for each, said in told if said.startswith(wanted))
        return next(begins, None) or next((each for each, said in told if wanted in said), None)


class ToggleField(InOrder, Checkbox, inherit_bindings=False):
    """True or false, or neither: space turns it over, and at first makes it true."""

    BUTTON_LEFT = BUTTON_RIGHT = ""  # they have the colour of the background: the brackets are within

    def __init__(self, value: str) -> None:
        super().__init__(compact=True)
        self._text = ""
        self._vacant: Sequence[Styled] = ()
        with self.prevent(Checkbox.Changed):
            self.text = value

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        changed, self._text = text != self._text, text
        self.BUTTON_INNER = "[x]" if text == "true" else "[ ]"
        said: Sequence[Styled] = [(words("true") if text == "true" else words("false"), "")]
        self.label = styled(said if text else self._vacant)
        self.set_reactive(Checkbox.value, text == "true")
        self.set_class(text == "true", "-on")
        if changed:
            self.post_message(self.Changed(self, self.value))

    def say(self, vacant: Sequence[Styled]) -> None:
        self._vacant = vacant
        self.text = self._text

    def toggle(self) -> ToggleField:
        """Make it true, or what it is not."""
        self.text = "false" if self._text == "true" else "true"
        return self


class SeveralField(InOrder, OptionList):
    """Some of several, each marked: space turns a mark over. The line on top says how many."""

    class Changed(Message):
        """Another choice is marked."""

    def __init__(self, choices: Sequence[FieldChoice], value: str) -> None:
        super().__init__(markup=False, compact=True)
        self._choices = choices
        self._vacant: Sequence[Styled] = [(words(""), "")]
        self._chosen: set[str] = set(value.split("\n")) if value else set()
        self.add_options([Option("", disabled=True), *(Option(self._line(each)) for each in choices)])
        self.highlighted = 1 if choices else None

    @property
    def text(self) -> str:
        return "\n".join(each.label for each in self._choices if each.label in self._chosen)

    @text.setter
    def text(self, text: str) -> None:
        self._chosen = set(text.split("\n")) if text else set()
        for at, each in enumerate(self._choices, 1):
            self.replace_option_prompt_at_index(at, self._line(each))
        self.say(self._vacant)
        self.post_message(self.Changed())

    def say(self, vacant: Sequence[Styled]) -> None:
        self._vacant = vacant
        count = [(safe("{:,} of {:,}", len(self._chosen), len(self._choices)), "$text-muted")]
        said = styled(count if self._chosen else vacant)
        self.replace_option_prompt_at_index(0, said)

    def _line(self, choice: FieldChoice) -> Content:
        mark = words("[x] ") if choice.label in self._chosen else words("[ ] ")
        return styled([(mark, ""), *labelled(choice)])

    def toggle(self) -> None:
        """Mark the choice under the cursor, or no more."""
        if self.highlighted:
            self._chosen ^= {self._choices[self.highlighted - 1].label}
            self.text = self.text

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.toggle()


class Suggestions(OptionList):
    """Values offered for a text, over what lies below its field. The focus stays in the field."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)

    @property
    def chosen(self) -> str | None:
        """The label of the suggestion that the cursor was moved to."""
        option = self.highlighted_option if self.display else None
        return None if option is None else option.id

    def offer(self, choices: Sequence[FieldChoice]) -> None:
        """List choices; the one that the cursor was moved to keeps it."""
        before = self.chosen
        listed = {each.label: styled(labelled(each)) for each in choices[:OFFERED]}
        self.display = bool(listed)
        self.clear_options()
        self.add_options([Option(said, id=label) for label, said in listed.items()])
        more = len(choices) - len(listed)
        if more > 0:
            said = Content.styled(safe("… {:,} more (type to find)", more), "$text-muted")
            self.add_option(Option(said, disabled=True))
        self.highlighted = self.get_option_index(before) if before is not None and before in listed else None
        cells = [each.cell_length for each in listed.values()]
        self.styles.height = self.styles.max_height = min(LISTED, self.option_count)
        self.styles.width = max(16, min(60, max(cells, default=0) + 4))

    def step(self, by: int) -> bool:
        """Move the cursor; whether there was anything to move in."""
        if not self.display:
            return False
        at = -1 if self.highlighted is None else self.highlighted
        if at + by < -1:
            return False
        last = sum(not option.disabled for option in self.options) - 1
        self.highlighted = None if at + by < 0 else min(last, at + by)
        return True
