"""One line of a form: a label, what is typed, and below it what may be chosen and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import OptionList, Static

from mcp_tui.client.fields import ABSENT, TEXT, Choice, Entry, Field, Given, Kind
from mcp_tui.tui.bindings import meaning
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.keys.panes import FIELD
from mcp_tui.tui.view.forms import vacant
from mcp_tui.tui.view.text import SafeText, brief, clean, safe, words
from mcp_tui.tui.widgets.choices import Choices, styled
from mcp_tui.tui.widgets.typed_field import Typing

OFFERED: Final = 200
"""Choices that are listed at once; typing finds the others."""

_STRICT: Final = (Kind.BOOLEAN, Kind.CHOICE)
"""Kinds that take what is listed and nothing else."""


class Row(Vertical):
    """A field with its label. ``entry`` is what stands in it; ``move`` takes the focus to the row after (1) or before (-1).

    Nothing typed means left out; ``ctrl+o`` makes an empty text or list of it, ``ctrl+n`` null where the schema permits it.
    """

    DEFAULT_CSS = """
    Row {
        height: auto;
        & > Horizontal { height: auto; }
        & Static.-label { height: 1; padding-right: 1; }
        & Static.-problem { height: auto; color: $error; display: none; }
        & Static.-problem.-advisory { color: $warning; }
        & Typing { width: 1fr; height: auto; min-height: 1; max-height: 6; }
        &.-lines Typing { max-height: 12; }
        &.-object { margin-top: 0; }
    }
    """

    class Edited(Message):
        """Something else stands in the row. ``typed`` where a person typed it."""

        def __init__(self, row: Row, *, typed: bool) -> None:
            super().__init__()
            self.row = row
            self.typed = typed

    def __init__(
        self,
        field: Field,
        entry: Entry,
        *,
        label: int,
        move: Callable[[Row, int], None],
        ascii_only: bool = False,
    ) -> None:
        super().__init__()
        self._move = move
        self.field = field
        self.ascii = ascii_only
        self._label = label
        self._given = entry.given
        self._kept = entry.text
        self._too_long = len(entry.text) > TEXT
        self._mine = ""
        self._choices: Choices | None = None
        self._problem: Static | None = None
        self._offered: tuple[Choice, ...] = field.choices
        self._listed: list[Choice] = []
        self._moved = self._edited = self._entered = False
        self._listed_for: str | None = None
        self.typing = Typing(self.takes)
        self.set_class(field.lines or entry.given is Given.JSON, "-lines")
        self._write(entry)

    def put(self) -> None:
        """Put label and editor in place, at once: keys typed ahead are meant for them."""
        if self.children:
            return
        line = Horizontal()
        self.mount(line)
        depth = max(0, len(self.field.path) - 1)
        name = brief(self.field.name, 60) or words("other")
        if self.field.kind is Kind.OBJECT:
            note = words("") if self.field.required else words("  left out while nothing stands in it")
            said = styled(
                [(clean("  " * depth + name), "bold"), (note, "$text-muted")], ascii_only=self.ascii
            )
            line.mount(Static(said, markup=False, classes="-label"))
            return
        label = Static(
            styled(
                [(clean("  " * depth + name), "bold" if self.field.required else "")],
                ascii_only=self.ascii,
            ),
            markup=False,
            classes="-label",
        )
        label.styles.width = self._label
        label.styles.text_wrap = "nowrap"
        label.styles.text_overflow = "ellipsis"
        line.mount(label, self.typing)

    # -- what stands here ------------------------------------------------------------------------------------

    @property
    def entry(self) -> Entry:
        """What stands in the field, whatever news of it is still under way."""
        self._catch_up()
        if self._given in (Given.ABSENT, Given.NULL):
            return Entry(self._given, self._kept)
        return Entry(self._given, self._kept if self._too_long else self.typing.text)

    def fill(self, entry: Entry) -> None:
        """Put another entry in place."""
        self._given, self._kept = entry.given, entry.text
        self._too_long = len(entry.text) > TEXT
        self.set_class(self.field.lines or entry.given is Given.JSON, "-lines")
        self._write(entry)
        self.post_message(self.Edited(self, typed=False))

    def _write(self, entry: Entry) -> None:
        shown = entry.text if entry.given in (Given.TEXT, Given.JSON) and not self._too_long else ""
        self._mine = shown
        self.typing.read_only = self._too_long or self.field.kind is Kind.SEVERAL
        if self.typing.text != shown:
            self.typing.text = shown
            last = shown.split("\n")[-1]
            self.typing.move_cursor((shown.count("\n"), len(last)))
        self._say_vacant()

    def _catch_up(self) -> None:
        """Take over what was typed: nothing is left out again, anything is text."""
        text = self.typing.text
        if text == self._mine or self._too_long:
            return
        self._mine = text
        self._edited = True
        if text:
            if self._given is not Given.JSON or self.field.kind is Kind.JSON:
                self._given = Given.JSON if self.field.kind is Kind.JSON else Given.TEXT
        else:
            self._given, self._kept = Given.ABSENT, ""
        self._say_vacant()

    def _say_vacant(self) -> None:
        if self._too_long and self._given is not Given.ABSENT:
            said = [
                (
                    safe(
                        "{:,} characters, sent as they are · {} leaves them out",
                        len(self._kept),
                        key_of("form.leave-out"),
                    ),
                    "italic",
                )
            ]
        else:
            said = vacant(self.field, Entry(self._given))
        self.typing.placeholder = styled(said, ascii_only=self.ascii)

    def on_text_area_changed(self, event: object) -> None:
        cast("Message", event).stop()
        typed = self.typing.text != self._mine
        self._catch_up()
        if typed:
            self.post_message(self.Edited(self, typed=True))
            if self.typing.has_focus:
                self.open()

    def leave_out(self) -> None:
        """Leave the field out, and the next time take back what stood there, or make it empty."""
        entry = self.entry
        if entry.given is not Given.ABSENT:
            self.fill(Entry(Given.ABSENT, entry.text))
        elif entry.text:
            self.fill(Entry(Given.JSON if self.field.kind is Kind.JSON else Given.TEXT, entry.text))
        elif self.field.kind in (Kind.TEXT, Kind.LIST, Kind.SEVERAL, Kind.ANY):
            self.fill(Entry(Given.TEXT))

    def nullify(self) -> None:
        """Make it null, where the schema permits that, and take it back."""
        if self._given is Given.NULL:
            self.fill(ABSENT)
        elif self.field.nullable or (self.field.kind in (Kind.ANY, Kind.JSON) and not self.field.types):
            self.fill(Entry(Given.NULL))

    # -- what is wrong ---------------------------------------------------------------------------------------

    def complain(self, text: SafeText, *, advisory: bool = False) -> None:
        """Say beside the field what is wrong with it; nothing for an empty text."""
        if self._problem is None:
            if not text:
                return
            self._problem = Static(markup=False, classes="-problem")
            self._problem.styles.padding = (0, 0, 0, self._label)
            self.mount(self._problem, after=0)
        self._problem.display = bool(text)
        self._problem.set_class(advisory, "-advisory")
        self._problem.update(styled([(text, "")], ascii_only=self.ascii))

    # -- choosing --------------------------------------------------------------------------------------------

    def offer(self, choices: Sequence[Choice]) -> None:
        """Offer other choices, for what is typed here now. One that was gone to keeps the cursor, if it is among them."""
        self._offered = tuple(choices)
        if not self.typing.has_focus:
            return
        at = self._choices.highlighted if self.listing and self._moved and self._choices is not None else None
        gone_to = None if at is None else self._listed[at]
        self.open(everything=True)
        if self.listing and self._choices is not None and gone_to in self._listed:
            self._choices.highlighted = self._listed.index(gone_to)

    @property
    def listing(self) -> bool:
        """Whether choices are listed."""
        return self._choices is not None and self._choices.display

    def enter(self) -> None:
        """The focus came. Keys may be there before the news of it."""
        if self._entered:
            return
        self._entered = True
        self._edited = self._moved = False
        settled = self.field.kind is Kind.BOOLEAN and bool(self.typing.text)
        if self.field.choices and not settled:  # the list hides what stands below, and space turns it over
            self.open(everything=True)

    def leave(self) -> None:
        """The focus went."""
        self._entered = False
        self.close()

    def open(self, *, everything: bool = False) -> None:
        """List what may be chosen: what was typed narrows it, if anything has that in it."""
        self._listed_for = self.typing.text
        if not self._offered:
            self.close()
            return
        wanted = "" if everything or self.field.kind is Kind.SEVERAL else self.typing.text.strip().casefold()
        found = [
            each
            for each in self._offered
            if wanted in each.label.casefold() or wanted in each.title.casefold()
        ]
        if self.field.kind in _STRICT and not found:
            found = list(self._offered)
        self._listed = found[:OFFERED]
        if not self._listed or (len(found) == 1 and found[0].label == self.typing.text):
            self.close()
            return
        if self._choices is None:
            self._choices = Choices(ascii_only=self.ascii)
            self._choices.styles.margin = (0, 0, 0, self._label)
            self.mount(self._choices)
        at = self._choices.highlighted if self.field.kind is Kind.SEVERAL else None
        labels = [each.label for each in self._listed]
        text = self.typing.text
        if text in labels:
            at = labels.index(text)
        elif self.field.kind is Kind.SEVERAL or (
            self.field.kind in _STRICT and (text or self.field.required)
        ):
            at = at or 0
        chosen = None
        if self.field.kind is Kind.SEVERAL:
            chosen = set(text.split("\n")) if self._given is Given.TEXT and text else set[str]()
        self._choices.put(self._listed, at, chosen=chosen, more=len(found) - len(self._listed))

    def close(self) -> None:
        """List nothing any more."""
        if self._choices is not None:
            self._choices.display = False

    def take(self, number: int) -> None:
        """Take a choice of those listed."""
        if not 0 <= number < len(self._listed):
            return
        label = self._listed[number].label
        if self.field.kind is not Kind.SEVERAL:
            self.fill(Entry(Given.TEXT, label))
            self.close()
            return
        chosen = self.typing.text.split("\n") if self._given is Given.TEXT and self.typing.text else []
        chosen = [each for each in chosen if each != label] if label in chosen else [*chosen, label]
        order = [choice.label for choice in self.field.choices]
        self.fill(Entry(Given.TEXT, "\n".join(sorted(chosen, key=order.index))) if chosen else ABSENT)
        self.open(everything=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.take(event.option_index)
        self.typing.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()

    # -- keys ------------------------------------------------------------------------------------------------

    def takes(self, key: str, character: str | None) -> bool:
        """Whether a key is the row's and not the editor's; then it was obeyed."""
        self.enter()
        self._catch_up()
        if self._edited and self._offered and self._listed_for != self.typing.text:
            self.open()
        match meaning(FIELD, key):
            case "field.up":
                return self._up_or_down(-1)
            case "field.down":
                return self._up_or_down(1)
            case "field.take":
                return self._enter()
            case "field.next":
                if self._edited or self._moved:
                    self._take_highlighted()
                self._move(self, 1)
                return True
            case "field.previous":
                self._move(self, -1)
                return True
            case "field.close" if (
                self.listing and self.field.kind is not Kind.BOOLEAN and (self._moved or self._edited)
            ):
                self.close()
                self._edited = self._moved = False
                return True
            case "field.newline" if self.field.kind in (Kind.TEXT, Kind.ANY):
                self.typing.insert("\n")
                return True
            case "field.turn" if self.field.kind is Kind.SEVERAL:
                return self._enter()
            case "field.turn" if self.field.kind is Kind.BOOLEAN:
                self.fill(Entry(Given.TEXT, "false" if self.typing.text == "true" else "true"))
                self.open(everything=True)
                return True
            case _:
                return self.field.kind is Kind.SEVERAL and character is not None and character.isprintable()

    def _up_or_down(self, step: int) -> bool:
        choices = self._choices
        if self.listing and choices is not None:
            at = -1 if choices.highlighted is None else choices.highlighted
            edge = at + step
            if 0 <= edge < len(self._listed):
                choices.highlighted = edge
                self._moved = True
            elif (self.field.kind is not Kind.SEVERAL and not self._moved) or self.field.kind is Kind.SEVERAL:
                self._move(self, step)
            return True
        row = self.typing.cursor_location[0]
        if (step < 0 and row == 0) or (step > 0 and row == self.typing.document.line_count - 1):
            self._move(self, step)
            return True
        return False

    def _enter(self) -> bool:
        if self.field.kind is Kind.SEVERAL and self.listing and self._choices is not None:
            self.take(self._choices.highlighted or 0)
            return True
        if self.field.kind in (Kind.LIST, Kind.JSON) or self._given is Given.JSON:
            return False
        self._take_highlighted()
        self._move(self, 1)
        return True

    def _take_highlighted(self) -> None:
        """Take the choice under the cursor: where nothing else can stand there, or where it was gone to."""
        choices = self._choices
        if (
            self.field.kind is Kind.SEVERAL
            or not self.listing
            or choices is None
            or choices.highlighted is None
        ):
            return
        exact = any(each.label == self.typing.text for each in self._offered)
        if self._moved or (self.field.kind in _STRICT and not exact):
            self.take(choices.highlighted)
