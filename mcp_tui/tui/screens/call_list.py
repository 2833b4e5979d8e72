"""The list of what can be called, filtered while one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual import events
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.bindings import bindings, means
from mcp_tui.tui.keys.dialogs import CHOOSE
from mcp_tui.tui.screens.dialog import Dialog, place
from mcp_tui.tui.view.text import SafeText, brief, clip, fit, width, words
from mcp_tui.tui.view.tools import Tool, found, tools
from mcp_tui.tui.widgets.handing import handed_on

LISTED: Final = 200
"""Tools that are listed at once; the rest is counted."""

Call = tuple[str, dict[str, Json]]
"""A tool's name, as the server wrote it, and its arguments."""


class Filter(Input):
    """The filter above the list. Keys that come behind the one that opened the form are handed on to it."""

    def __init__(self, chosen: Callable[[], None]) -> None:
        super().__init__(
            placeholder="type to filter", compact=True, select_on_focus=False, max_length=200, id="filter"
        )
        self.cursor_blink = False
        self._chosen = chosen

    async def _on_key(self, event: events.Key) -> None:
        if handed_on(self, event):
            return
        if means("call.arguments", event.key):
            event.stop()
            event.prevent_default()
            self._chosen()


class Listing(Dialog[Call | None]):
    """The half of the call screen that lists tools."""

    DEFAULT_CSS = """
    Listing {
        & #list OptionList {
            height: 1fr;
            margin-top: 1;
            background: $surface;
            scrollbar-size-vertical: 1;
            & > .option-list--option-highlighted {
                background: $block-cursor-background;
                color: $block-cursor-foreground;
            }
        }
        & #about { height: 2; margin-top: 1; color: $text-muted; }
        & #filter { padding: 0; }
    }
    """

    SCOPES = (CHOOSE,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, tools: list[Tool]) -> None:
        super().__init__()
        self._tools = tools
        self._found: list[Tool] = []
        self._filtered = ""
        self._filter = Filter(self._open_highlighted)
        self._options = OptionList(markup=False, compact=True)
        self._options.can_focus = False
        self._about = place("about")

    def open_tool(self, tool: Tool) -> None:
        """Open the arguments of a tool."""
        raise NotImplementedError

    def offer(self, offered: list[dict[str, Json]]) -> None:
        """List other tools: those of a server that was not connected yet."""
        self._tools = tools(offered)
        self.fill()

    def fill(self) -> None:
        """List what the filter finds."""
        at = self._options.highlighted
        chosen = self._found[at] if at is not None and at < len(self._found) else None
        self._filtered = self._filter.value
        self._found = found(self._tools, self._filtered)
        self._box.border_subtitle = Content(SafeText(f"{len(self._found):,} of {len(self._tools):,}"))
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
            pieces = (
                (fit(label, names), "bold"),
                SafeText(f"  {fit(tool.arguments, hints)}"),
                (SafeText(f"  {clip(tool.summary, rest)}"), "$text-muted"),
            )
            options.append(Option(self.written(*pieces)))
        if len(self._found) > len(shown):
            more = SafeText(f"… {len(self._found) - len(shown):,} more: type to filter")
            options.append(Option(self.written((more, "$text-muted")), disabled=True))
        return options

    def _tell(self) -> None:
        """Say more of the tool under the cursor."""
        tool = self.highlighted()
        if tool is not None:
            claims = SafeText(f"\nunverified: {tool.claims}") if tool.claims else words("")
            cells = self._about.size.width or 72
            self.say(self._about, clip(tool.summary or tool.arguments, cells), (claims, "italic"))
        elif self._tools:
            self.say(self._about, words("No tool has that in its name, arguments or description."))
        else:
            self.say(self._about, words("The server has no tools, or they have not been listed yet."))

    def highlighted(self) -> Tool | None:
        """The tool under the cursor of the list."""
        at = self._options.highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def catch_up(self) -> None:
        """List what the filter says now: a key may come before the news of what was typed ahead of it."""
        if self._filtered != self._filter.value:
            self._options.highlighted = None
            self.fill()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._tell()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open_highlighted()

    def _open_highlighted(self) -> None:
        self.catch_up()
        tool = self.highlighted()
        if tool is not None:
            self.open_tool(tool)

    def action_choose(self, step: str) -> None:
        if self._found and self._filter.has_focus:
            getattr(self._options, f"action_{step}")()
