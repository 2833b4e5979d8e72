"""The controls of a form: Textual's own, each with its value as text.

``text`` is the value in the notation of its field (:mod:`mcp_tui.client.forms`), empty for none; ``say`` shows what
no value means there. Labels and titles are the server's words, and never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.client.forms import FieldChoice
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.line_input import InOrder
from mcp_tui.view.form_text import Styled, dots
from mcp_tui.view.text import brief, safe, words

LISTED_SUGGESTIONS: Final = 200
"""The maximum number of suggestions that are listed at once; typing finds the others."""


LISTED_LINES: Final = 12
"""The maximum number of lines of an open list with its border."""

LEAST_LINES: Final = 6
"""The minimum number of lines of an open list, unless it is shorter."""


def labelled(choice: FieldChoice) -> Content:
    """Returns the label of a choice, and its title if that says more."""
    titled = choice.title and choice.title != choice.label
    title = safe("  {}", brief(choice.title, 60)) if titled else words("")
    return Content.assemble(brief(choice.label, 80), (title, "$text-muted"))


class TextField(Editor):
    """A text, a number, JSON, or a list with one item per line.

    ``step`` gets the cursor keys first: -1 for up, 1 for down; it returns whether it used them. ``masked`` hides the
    text. ``replaced`` returns whether typing replaces the text when the field gets the focus, as for a default.
    ``takes`` gets pasted text first, and returns whether it accepted it.
    """

    def __init__(
        self,
        step: Callable[[int], bool],
        replaced: Callable[[], bool],
        takes: Callable[[str], bool],
        *,
        masked: bool = False,
    ) -> None:
        super().__init__(veil=dots if masked else None)
        self._step = step
        self._replaced = replaced
        self._takes = takes

    def on_focus(self, event: events.Focus) -> None:
        # In its own queue, so before any key that is typed after the focus moved here.
        if not event.from_app_focus and self._replaced():
            self.offer()

    def put_pasted(self, text: str) -> None:
        if not self._takes(text):
            super().put_pasted(text)

    def say(self, vacant: Sequence[Styled]) -> None:
        self.placeholder = Content.assemble(*vacant)

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


class ChoiceField(InOrder, Widget, can_focus=True):
    """One of several choices. Letters choose the first one that begins with them, or else contains them.

    Textual's own moves the focus to its list and back by messages: keys that are typed fast would miss it.
    """

    OPENS: ClassVar[Collection[str]] = ("enter", "space", "up", "down")
    """The keys that open the list."""

    class Changed(Message):
        """Another choice was made."""

    def __init__(self, choices: Sequence[FieldChoice], value: str) -> None:
        super().__init__()
        self._choices = {each.label: each for each in choices}
        self._text = value if value in self._choices else ""
        self._vacant: Sequence[Styled] = ()
        self._typed = ""
        self._list = OptionList(*(labelled(each) for each in choices), markup=False, compact=True)
        self._list.can_focus = False
        self._list.display = False

    def compose(self) -> ComposeResult:
        yield self._list

    def render(self) -> Content:
        chosen = self._choices.get(self._text)
        vacant = Content.assemble(*self._vacant).stylize_before("$text-muted")
        sentence = vacant if chosen is None else labelled(chosen)
        arrow = "▲" if self.listed else "▼"
        return Content.assemble(
            sentence.truncate(max(1, self.size.width - 3), ellipsis=True, pad=True), " ", arrow
        )

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text
        self.refresh()
        self.post_message(self.Changed())

    def say(self, vacant: Sequence[Styled]) -> None:
        self._vacant = vacant
        self.refresh()

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return character is not None and character.isprintable() and character != " "

    async def _on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self or not (self._find(event) or self._in_list(event.key)):
            return
        event.stop()
        event.prevent_default()

    def _find(self, event: events.Key) -> bool:
        """Chooses by a letter; returns false if the key is not one."""
        if not self.check_consume_key(event.key, event.character):
            self._typed = ""
            return False
        typed = (event.character or "").casefold()
        for wanted in (self._typed + typed, typed):
            fields = {label: f"{label} {each.title}".casefold() for label, each in self._choices.items()}
            places = [(at, label) for label, text in fields.items() if (at := text.find(wanted)) >= 0]
            if places:
                self._typed, self.text = wanted, min(places, key=lambda place: place[0] > 0)[1]
                self._point()
                break
        return True

    # -- the list --------------------------------------------------------------------------------------------

    @property
    def listed(self) -> bool:
        """Whether the list is open."""
        return self._list.display

    def _in_list(self, key: str) -> bool:
        """Opens the list, or moves in it; returns whether the key was for it."""
        if not self.listed:
            if key in self.OPENS:
                self._open()
            return key in self.OPENS
        if key in ("enter", "space"):
            self._choose()
        elif key in ("up", "down"):
            getattr(self._list, f"action_cursor_{key}")()
        elif key in ("pageup", "pagedown"):
            getattr(self._list, f"action_page_{key[4:]}")()
        elif key == "escape":
            self._close()
        else:
            return False
        return True

    def _open(self) -> None:
        """Opens the list below or above the field, in the nearest part of the dialog with room for it."""
        wanted = len(self._choices) + 2
        below = above = 0
        for around in self.ancestors:
            if isinstance(around, Widget):
                below = around.region.bottom - self.region.bottom
                above = self.region.y - around.region.y
                if max(below, above) >= min(wanted, LEAST_LINES):
                    break
        over = below < min(wanted, LISTED_LINES) and above > below
        height = min(wanted, LISTED_LINES, above if over else below)
        self._list.styles.height = height
        self._list.styles.offset = (0, -height if over else 1)
        self._list.display = True
        self._point()
        self.refresh()

    def _point(self) -> None:
        """Puts the cursor of the list on the choice; on the first one if there is none."""
        self._list.highlighted = list(self._choices).index(self._text) if self._text else 0

    def _choose(self) -> None:
        at = self._list.highlighted
        self._close()
        if at is not None:
            self.text = list(self._choices)[at]

    def _close(self) -> None:
        self._list.display = False
        self.refresh()

    on_blur = _close

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self._close() if self.listed else self._open()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose()


class ToggleField(ChoiceField):
    """True, false, or neither; its row handles the keys."""

    OPENS = ()

    def __init__(self, value: str) -> None:
        super().__init__([FieldChoice(True, "true"), FieldChoice(False, "false")], value)


class GroupField(ChoiceField):
    """An object, an array of objects, or an item of one: its row has the keys that add and remove it."""

    OPENS = ()

    def __init__(self, value: str) -> None:
        super().__init__((), "")
        self._text = value

    def render(self) -> Content:
        return Content.assemble(*self._vacant).truncate(max(1, self.size.width), ellipsis=True)


class SeveralField(InOrder, OptionList):
    """Several of many choices, each with a mark. The line on top shows the number.

    Textual's own list of selections distinguishes marks only by colour.
    """

    class Changed(Message):
        """The marks changed."""

    def __init__(self, choices: Sequence[FieldChoice], value: str) -> None:
        super().__init__(markup=False, compact=True)
        self._choices = choices
        self._vacant: Sequence[Styled] = ()
        self._text = value
        self.add_options([Option("", disabled=True), *(Option("") for _ in choices)])
        self.highlighted = 1 if choices else None

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text = text
        self.say(self._vacant)
        self.post_message(self.Changed())

    @property
    def _chosen(self) -> set[str]:
        return set(self._text.split("\n")) if self._text else set()

    def say(self, vacant: Sequence[Styled]) -> None:
        self._vacant = vacant
        chosen = self._chosen
        count = safe("{:,} of {:,}", len(chosen), len(self._choices))
        lines = [Content.assemble(*([(count, "$text-muted")] if chosen else vacant))]
        for each in self._choices:
            mark = words("[x] ") if each.label in chosen else words("[ ] ")
            lines.append(Content.assemble(mark, labelled(each)))
        for at, line in enumerate(lines):
            self.replace_option_prompt_at_index(at, line)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Marks the choice under the cursor, or unmarks it."""
        event.stop()
        chosen = self._chosen ^ {self._choices[event.option_index - 1].label}
        self.text = "\n".join(each.label for each in self._choices if each.label in chosen)


class Suggestions(OptionList):
    """Values offered for a text, shown over the widgets below its field. The focus stays in the field."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)

    @property
    def chosen(self) -> str | None:
        """The label of the suggestion under the cursor."""
        option = self.highlighted_option if self.display else None
        return None if option is None else option.id

    def offer(self, choices: Sequence[FieldChoice]) -> None:
        """Lists choices; the cursor stays on its choice."""
        before = self.chosen
        listed = {each.label: labelled(each) for each in choices[:LISTED_SUGGESTIONS]}
        self.display = bool(listed)
        self.clear_options()
        self.add_options([Option(sentence, id=label) for label, sentence in listed.items()])
        more = len(choices) - len(listed)
        if more > 0:
            sentence = Content.styled(safe("… {:,} more (type to find)", more), "$text-muted")
            self.add_option(Option(sentence, disabled=True))
        self.highlighted = self.get_option_index(before) if before is not None and before in listed else None

    def step(self, by: int) -> bool:
        """Moves the cursor; returns whether there was anything to move in."""
        if not self.display:
            return False
        at = -1 if self.highlighted is None else self.highlighted
        if at + by < -1:
            return False
        last = sum(not option.disabled for option in self.options) - 1
        self.highlighted = None if at + by < 0 else min(last, at + by)
        return True
