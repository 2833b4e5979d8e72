"""The call form: which tool, and with what arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, OptionList, TextArea
from textual.widgets.option_list import Option

from mcp_tui.client.arguments import check, prefilled
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.screens.dialog import Dialog, button, place
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.text import SafeText, brief, clean, clip, fit, width, words
from mcp_tui.tui.view.tools import NotArguments, Tool, editable, found, parsed, tools
from mcp_tui.tui.widgets.detail import Detail, wrapped_lines

LISTED: Final = 200
"""Tools that are listed at once; the rest is counted."""

HELP: Final = 9
"""Lines of a tool's description that are in sight, at most."""

CHECKED: Final = 20_000
"""Characters up to which arguments are checked again while they are typed."""

Call = tuple[str, dict[str, Json]]
"""A tool's name, as the server wrote it, and its arguments."""


class JsonEditor(TextArea):
    """Plain text in which each character takes a cell that can be seen, whatever was pasted."""

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index)
        if not (line.isascii() and line.isprintable()):
            line = "".join(each if each == "\t" or clean(each) == each else "·" for each in line)
        return Text(line, end="", no_wrap=True)


class CallScreen(Dialog[Call | None]):
    """Dismisses what to call, or ``None``.

    First a list that is filtered while one types, then the arguments of the entry chosen, in a JSON editor. ctrl+s
    sends from both; from the list only what needs no arguments to be given. Nothing is dismissed that is no JSON object
    or breaks the schema: the form says so and stays. esc goes back to the list, where what was typed is kept, then closes.

    Args:
        tools: as the server sent them; those without a name are left out.
        preset_name: opens the arguments of this tool at once, whether or not it is listed; esc then closes.
        preset_arguments: what stands in the editor then, in place of the defaults.
    """

    DEFAULT_CSS = """
    CallScreen {
        & > #dialog { width: 76; height: 92%; max-height: 30; }

        & #list, & #form { height: 1fr; }
        & #form { display: none; }
        &.-form #list { display: none; }
        &.-form #form { display: block; }

        & OptionList {
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

        & Detail { height: 1; border: none; background: $surface; }
        & Detail:focus { border: none; background-tint: $foreground 5%; }
        & JsonEditor {
            height: 1fr;
            min-height: 3;
            margin-top: 1;
            padding: 0;
            border: none;
            background: $surface;
            background-tint: $foreground 6%;
            scrollbar-size-vertical: 1;
            &:focus { border: none; }
        }
        & #wrong { max-height: 3; color: $error; }
        & #keys { margin-top: 0; }
        & #buttons Static { width: 1fr; margin: 0; }
    }
    """

    BINDINGS = [
        Binding("escape,ctrl+c", "back", "Back", show=False),
        # no priority: what was typed before it has to reach its field first
        Binding("ctrl+s", "send", "Send", show=False),
        Binding("up", "move('cursor_up')", "Up", show=False),
        Binding("down", "move('cursor_down')", "Down", show=False),
        Binding("pageup", "move('page_up')", "Page up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", show=False),
    ]

    AUTO_FOCUS = ""

    def __init__(
        self,
        tools_: Sequence[dict[str, Json]],
        *,
        preset_name: str = "",
        preset_arguments: dict[str, Json] | None = None,
    ) -> None:
        super().__init__()
        self._tools = tools(list(tools_))
        self._found: list[Tool] = []
        self._filtered = ""
        self._tool: Tool | None = None
        self._drafts: dict[int, str] = {}
        self._preset_name = preset_name
        self._preset_arguments = preset_arguments
        self._filled = ""
        self._judged = ""
        self._described = Section(words(""), ())
        self._filter = Input(
            placeholder="type to filter", compact=True, select_on_focus=False, max_length=200, id="filter"
        )
        self._filter.cursor_blink = False
        self._options = OptionList(markup=False, compact=True)
        self._options.can_focus = False
        self._about = place("about")
        self._help = Detail()
        self._editor = JsonEditor(compact=True, highlight_cursor_line=False, show_line_numbers=True)
        self._editor.cursor_blink = False
        self._wrong = place("wrong")
        self._list_keys = place("keys")
        self._form_keys = place()

    def content(self) -> ComposeResult:
        with Vertical(id="list"):
            yield self._filter
            yield self._options
            yield self._about
            yield self._list_keys
        with Vertical(id="form"):
            yield self._help
            yield self._editor
            yield self._wrong
            with Horizontal(id="buttons"):
                yield button("^s", words("Call"), "call")
                yield self._form_keys

    def on_mount(self) -> None:
        super().on_mount()
        self._help.ascii = self.ascii
        self.say(
            self._list_keys,
            *self.keys([("↑↓", "choose"), ("enter", "arguments"), ("ctrl+s", "call"), ("esc", "close")]),
        )
        if self._preset_name:
            self._open_preset()
        else:
            self._show_list()

    def on_resize(self) -> None:
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        if self._tool is None:
            self._fill()
        else:
            self._size_help()

    # -- the list --------------------------------------------------------------------------------------------

    def _show_list(self) -> None:
        self._tool = None
        self.remove_class("-form")
        self.caption(words("Call a tool"))
        self.set_focus(self._filter)
        self._fill()

    def _fill(self) -> None:
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
        tool = self._highlighted()
        if tool is not None:
            claims = SafeText(f"\nunverified: {tool.claims}") if tool.claims else words("")
            cells = self._about.size.width or 72
            self.say(self._about, clip(tool.summary or tool.arguments, cells), (claims, "italic"))
        elif self._tools:
            self.say(self._about, words("No tool has that in its name, arguments or description."))
        else:
            self.say(self._about, words("The server has no tools, or they have not been listed yet."))

    def _highlighted(self) -> Tool | None:
        at = self._options.highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._catch_up()

    def _catch_up(self) -> None:
        """List what the filter says now: a key may come before the news of what was typed ahead of it."""
        if self._filtered != self._filter.value:
            self._options.highlighted = None
            self._fill()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._tell()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._open_highlighted()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._open_highlighted()

    def _open_highlighted(self) -> None:
        self._catch_up()
        tool = self._highlighted()
        if tool is not None:
            self._open(tool)

    def action_move(self, step: str) -> None:
        if self._tool is None and self._found:
            getattr(self._options, f"action_{step}")()

    # -- the arguments ---------------------------------------------------------------------------------------

    def _open_preset(self) -> None:
        listed = (tool for tool in self._tools if tool.name == self._preset_name)
        self._open(next(listed, Tool({"name": self._preset_name})), self._preset_arguments)

    def _open(self, tool: Tool, arguments: dict[str, Json] | None = None, problem: str = "") -> None:
        self._tool = tool
        self.add_class("-form")
        self.caption(self.fitted(words("Call "), brief(tool.name), words("")))
        self._box.border_subtitle = Content("")
        text = ""
        try:
            text = editable(prefilled(tool.schema) if arguments is None else arguments)
        except NotArguments as error:
            text, problem = "{}", str(error)
        self._filled = text
        self._editor.text = self._drafts.get(id(tool.raw), text)
        self._editor.move_cursor(_first_value(self._editor.text))
        self._described = Section(words(""), tuple(tool.described()))
        self._help.show(words(""), [self._described], key=id(tool.raw))
        self._size_help()
        self._complain(problem)
        self.say(
            self._form_keys, *self.keys([("tab", "next"), ("esc", "close" if self._preset_name else "back")])
        )
        self.set_focus(self._editor)

    def _size_help(self) -> None:
        # The pane knows its lines only after it was laid out, which is one frame too late.
        lines = len(wrapped_lines(self._described, (self._box.size.width or 72) - 1))
        room = max(2, (self._box.size.height or 19) - 10)
        self._help.styles.height = max(1, min(HELP, room, lines))

    def _complain(self, problem: str) -> None:
        self._judged = self._editor.text
        self._wrong.display = bool(problem)
        self.say(self._wrong, brief(problem, 400))

    def _wrong_with(self, tool: Tool) -> tuple[str, dict[str, Json]]:
        """What is wrong with the text in the editor, and the arguments where nothing is."""
        try:
            arguments = parsed(self._editor.text)
        except NotArguments as error:
            if error.line and not self._wrong.display:
                self._editor.move_cursor((error.line - 1, error.column - 1))
            return str(error), {}
        return check(tool.schema, arguments), arguments

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Once something was wrong, look at every keystroke whether it still is."""
        event.stop()
        text = self._editor.text
        if self._tool is not None and self._wrong.display and text != self._judged and len(text) <= CHECKED:
            self._complain(self._wrong_with(self._tool)[0])

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_send()

    # -- keys ------------------------------------------------------------------------------------------------

    def action_send(self) -> None:
        """Call the tool, or say why that cannot be."""
        tool = self._tool
        if tool is None:
            self._send_from_list()
            return
        self._complain("")
        problem, arguments = self._wrong_with(tool)
        if problem:
            self._complain(problem)
            self._editor.focus()
        else:
            self.dismiss((tool.name, arguments))

    def _send_from_list(self) -> None:
        self._catch_up()
        tool = self._highlighted()
        if tool is None:
            return
        arguments = prefilled(tool.schema)
        problem = "" if tool.required else check(tool.schema, arguments)
        if tool.required or problem:
            self._open(tool, problem=problem)
        else:
            self.dismiss((tool.name, arguments))

    def action_back(self) -> None:
        """Back to the list with what was typed kept, and from there out."""
        tool = self._tool
        if tool is None or self._preset_name:
            self.dismiss(None)
            return
        if self._editor.text == self._filled:
            self._drafts.pop(id(tool.raw), None)
        else:
            self._drafts[id(tool.raw)] = self._editor.text
        self._show_list()


def _first_value(text: str) -> tuple[int, int]:
    """Where the first value of an object begins: row and column, within the quotes of an empty string."""
    lines = text.split("\n")
    if len(lines) < 2 or '": ' not in lines[1]:
        return 0, len(lines[0])
    column = lines[1].index('": ') + 3
    return 1, column + (1 if lines[1].startswith('""', column) else 0)
