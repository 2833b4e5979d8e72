"""The list of what can be called, filtered while one types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.tui.view.forms import Styled
from mcp_tui.tui.view.text import SafeText, brief, clip, fit, safe, width, words
from mcp_tui.tui.view.tools import Tool, found
from mcp_tui.tui.widgets.controls import styled
from mcp_tui.tui.widgets.handing import InOrder

LISTED: Final = 200
"""Tools that are listed at once; the rest is counted."""


class FilterInput(InOrder, Input):
    """The filter above the list. Keys that come behind enter belong to the form that it opens."""

    def __init__(self, submit: Callable[[], None]) -> None:
        super().__init__(
            placeholder="type to filter", compact=True, select_on_focus=False, max_length=200, id="filter"
        )
        self.cursor_blink = False
        self._submit = submit

    async def action_submit(self) -> None:
        self._submit()


class ToolList(Vertical):
    """Tools with a filter above and a description below. ``choose`` is called with the one chosen."""

    DEFAULT_CSS = """
    ToolList {
        height: 1fr;
        & OptionList, & OptionList:focus { height: 1fr; max-height: 100%; margin-top: 1; }
        & OptionList > .option-list--option-highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
        & #about { height: 2; margin-top: 1; color: $text-muted; }
        & #filter { padding: 0; }
    }
    """

    def __init__(self, tools: list[Tool], choose: Callable[[Tool], None]) -> None:
        super().__init__(id="list")
        self.ascii = False
        self.tools = tools
        self.filter = FilterInput(self.open_highlighted)
        self._choose = choose
        self._found: list[Tool] = []
        self._filtered = ""
        self._options = OptionList(markup=False, compact=True)
        self._options.can_focus = False
        self._about = Static(markup=False, id="about")

    def compose(self) -> ComposeResult:
        yield self.filter
        yield self._options
        yield self._about

    @property
    def counted(self) -> SafeText:
        """How many the filter finds: ``3 of 19``."""
        return safe("{:,} of {:,}", len(self._found), len(self.tools))

    def fill(self) -> None:
        """List what the filter finds."""
        chosen = self.highlighted
        self._filtered = self.filter.value
        self._found = found(self.tools, self._filtered)
        shown = self._found[:LISTED]
        self._options.clear_options()
        self._options.add_options(self._options_of(shown))
        if shown:
            self._options.highlighted = shown.index(chosen) if chosen in shown else 0
        self._tell()

    def _options_of(self, shown: list[Tool]) -> list[Option]:
        cells = max(40, (self._options.scrollable_content_region.width or 72) - 1)
        labels = [brief(tool.name, 200) for tool in shown]
        names = min(24, max(map(width, labels), default=0))
        hints = min(22, max((width(tool.arguments) for tool in shown), default=0))
        rest = max(0, cells - names - hints - 4)
        options: list[Option] = []
        for tool, label in zip(shown, labels, strict=True):
            pieces: list[Styled] = [
                (fit(label, names), "bold"),
                (safe("  {}", fit(tool.arguments, hints)), ""),
                (safe("  {}", clip(tool.summary, rest)), "$text-muted"),
            ]
            options.append(Option(styled(pieces, ascii_only=self.ascii)))
        if len(self._found) > len(shown):
            more = safe("… {:,} more: type to filter", len(self._found) - len(shown))
            options.append(Option(styled([(more, "$text-muted")], ascii_only=self.ascii), disabled=True))
        return options

    def _tell(self) -> None:
        """Say more of the tool under the cursor."""
        tool = self.highlighted
        said: Sequence[Styled]
        if tool is not None:
            cells = self._about.size.width or 72
            said = [(clip(tool.summary or tool.arguments, cells), "")]
            if tool.claims:
                said += [(words("\n"), ""), (safe("server claims: {} (unverified)", tool.claims), "italic")]
        elif self.tools:
            said = [(words("No matching tool."), "")]
        else:
            said = [(words("The server has no tools, or they have not been listed yet."), "")]
        self._about.update(styled(said, ascii_only=self.ascii))

    @property
    def highlighted(self) -> Tool | None:
        """The tool under the cursor, for what the filter says now."""
        at = self._options.highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    def catch_up(self) -> None:
        """List what the filter says now: a key may come before the news of what was typed ahead of it."""
        if self._filtered != self.filter.value:
            self._options.highlighted = None
            self.fill()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._tell()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.open_highlighted()

    def open_highlighted(self) -> None:
        """Choose the tool under the cursor."""
        self.catch_up()
        if self.highlighted is not None:
            self._choose(self.highlighted)

    def move(self, step: str) -> None:
        """Move the cursor by one of the steps of the list: ``cursor_up``, ``page_down``."""
        if self._found:
            getattr(self._options, f"action_{step}")()
