"""The call form: a tool, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from time import perf_counter
from typing import Final

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.client.argument_completion import Completer, ShowCompletions
from mcp_tui.client.forms import Draft
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import ConfirmScreen, Dialog, Hint, KeyButton
from mcp_tui.tui.widgets.detail_pane import Detail, wrapped_lines
from mcp_tui.tui.widgets.form import Form
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view.catalogue_entries import VERBS, Entry
from mcp_tui.view.detail import Section
from mcp_tui.view.keys import CALL, CHOOSE
from mcp_tui.view.list_filters import Search
from mcp_tui.view.rows import counted
from mcp_tui.view.text import SafeText, brief, clean, clip, fit, join, safe, width, words

LISTED_TOOLS: Final = 200
"""The maximum number of tools that are listed at once; the rest is counted."""

STEP_SECONDS: Final = 0.012
"""The length of one step of a search in seconds; keys and cancels are handled between two steps."""

SHOW_SECONDS: Final = 0.2
"""Seconds after which more results of an unfinished search are shown."""

LIST_CELLS: Final = 30, 22
"""The maximum widths of a tool's name and of its arguments in the list, in cells."""

ABOUT_LINES: Final = 4, 9
"""The lines of the description below the list: those that a long list leaves to it, and the maximum."""

LINE_CELLS: Final = 66
"""The estimated width of its lines in cells: the dialog is as high as the longest description needs."""


class FilterInput(LineInput):
    """The filter above the list. The screen handles enter: keys typed after it are for the form that it opens."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "submit"


class ToolList(Vertical):
    """A list of tools with a filter above and a description below."""

    def __init__(self, tools: Sequence[Entry]) -> None:
        self.tools = tools
        self.filter = FilterInput(
            placeholder="type to filter", compact=True, select_on_focus=False, max_length=200, id="filter"
        )
        self._search = Search((), "")
        self._found: list[Entry] = []
        self._shown_at = 0.0
        self._options = OptionList(markup=False, compact=True)
        self._options.can_focus = False
        self._about = Static(markup=False, id="about")
        self._about_lines = ABOUT_LINES[0]
        super().__init__(self.filter, self._options, self._about, id="list")

    def size_for(self, space: int) -> None:
        """Divides ``space`` lines: first for all tools, regardless of the filter, then for the description of one."""
        lines = min(len(self.tools), LISTED_TOOLS) + (len(self.tools) > LISTED_TOOLS)
        most = max((tool.described_lines(LINE_CELLS) for tool in self.tools[:LISTED_TOOLS]), default=0)
        least = min(ABOUT_LINES[0], most)
        lines = max(1, min(lines, space - 4 - least))
        self._options.styles.height = lines + 2
        self._about_lines = max(2, min(most, ABOUT_LINES[1], space - 4 - lines))
        self._about.styles.height = self._about_lines

    class Counted(Message):
        """The number of tools that pass the filter, in words."""

        def __init__(self, text: SafeText) -> None:
            super().__init__()
            self.text = text

    def fill(self) -> None:
        """Lists the tools that pass the filter: those that are found at once, and the others later.

        Without a new filter the cursor stays on its tool.
        """
        before, text = self._search, self.filter.value
        if before.among is not self.tools or before.wanted.text != text.strip():
            self._search = Search(self.tools, text, before)
            self._search.step(STEP_SECONDS)
            self._show(None)
            self._continue_search_later()
        else:
            self._show(self.highlighted)

    def _continue_search_later(self) -> None:
        """Continues the search between the keys that arrive."""
        if not self._search.done:
            self.set_timer(STEP_SECONDS / 2, partial(self._continue_search, self._search))

    def _continue_search(self, search: Search) -> None:
        if search is self._search and not search.done:
            if search.step(STEP_SECONDS) or perf_counter() - self._shown_at > SHOW_SECONDS:
                self._show(self.highlighted)
            self._continue_search_later()

    def _show(self, chosen: Entry | None) -> None:
        self._found = self._search.found
        shown = self._found[:LISTED_TOOLS]
        self._options.clear_options()
        self._options.add_options(self._options_of(shown))
        if shown:
            self._options.highlighted = shown.index(chosen) if chosen in shown else 0
        self._describe()
        text = counted(len(self._found), len(self.tools), "tool")
        self.post_message(self.Counted(text if self._search.done else safe("{} …", text)))
        self._shown_at = perf_counter()

    def _options_of(self, shown: list[Entry]) -> list[Option]:
        labels = [brief(tool.name, 200) for tool in shown]
        names = min(LIST_CELLS[0], max(map(width, labels), default=0))
        hints = min(LIST_CELLS[1], max((width(tool.arguments) for tool in shown), default=0))
        options: list[Option] = []
        for tool, label in zip(shown, labels, strict=True):
            given = safe("  {}", fit(tool.arguments, hints))
            summary = safe("  {}", clip(tool.summary, 200)), "$text-muted"
            shown_name = fit(label, max(names, width(label)))  # a longer one uses the next column
            options.append(Option(Content.assemble((shown_name, "bold"), given, summary)))
        if len(self._found) > len(shown):
            more = safe("… {:,} more (type to filter)", len(self._found) - len(shown))
            options.append(Option(Content.styled(more, "$text-muted"), disabled=True))
        return options

    def _describe(self) -> None:
        """Describes the tool under the cursor."""
        tool = self.highlighted
        if tool is None:
            sentence = words("No matching tool.") if self.tools else words("No tools, or not listed yet.")
            sentence = sentence if self._search.done else words("Searching …")
            problem = self._search.wanted.problem
            self._about.update(Content.styled(problem, "$warning") if problem else Content(sentence))
            return
        space = self._about.size.width or 72
        hidden = width(tool.arguments) > LIST_CELLS[1] or width(brief(tool.name)) > LIST_CELLS[0]
        first = [clip(tool.arguments, space)] if hidden or not tool.summary else []
        claims = [safe("server claims: {} (unverified)", tool.claims)] if tool.claims else []
        body = tool.described()[: -1 if claims else None]
        lines = [join(text for text, _ in each) for each in wrapped_lines(Section(words(""), body), space)]
        left = max(1, self._about_lines - len(first) - len(claims))
        if len(lines) > left:
            lines[left - 1 :] = [clip(safe("{} …", clip(lines[left - 1], space - 2)), space)]
        self._about.update(Content(join((*first, *lines, *claims), "\n")))

    on_option_list_option_highlighted = _describe

    @property
    def highlighted(self) -> Entry | None:
        """The tool under the cursor."""
        at = self._options.highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    @property
    def chosen(self) -> Entry | None:
        """The tool under the cursor after all typed keys, even if their messages are still queued."""
        moved = self.highlighted is not None and self._options.highlighted != 0
        self.fill()
        if not self._search.done:
            self._search.step(inf, until_sure=True)
            self._show(self.highlighted if moved else None)
        return self.highlighted

    def move(self, step: str) -> None:
        """Moves the cursor by a step of the list: ``cursor_up``, ``page_down``."""
        if self._found:
            getattr(self._options, f"action_{step}")()


DESCRIPTION_LINES: Final = 9
"""The maximum number of lines of a tool's description."""

DIALOG_LINES: Final = 36
"""The maximum number of lines of the dialog."""

WIDE_CELLS: Final = 120
"""The width of a terminal in cells from which the dialog is wider."""

SHORT_LINES: Final = 30
"""The height of a terminal in lines below which a field's description has two lines, not three."""

NamedCall = tuple[str, dict[str, Json]]
"""A tool's name, as the server wrote it, and its arguments."""


class CallScreen(Dialog[NamedCall | None]):
    """Dismisses with the call to send, or ``None``.

    First it shows a list with a filter, then a form for the arguments of the chosen entry. ctrl+s sends from both;
    from the list only a tool without required arguments. A form whose arguments break the schema shows that and stays
    open. esc goes back to the list, where drafts are kept, then closes. A tool that is marked as destructive needs a
    confirmation, once for each of its definitions.

    Args:
        tools: the tools to list.
        preset: opens the form of this entry at once, even if it is not listed; esc then closes.
        preset_arguments: the arguments in that form, instead of the defaults.
        earlier: returns earlier arguments of a tool, the latest first.
        asked: the definitions of confirmed tools; the screen adds to it.
        drafts: the typed and unsent arguments, by the definitions of tools; the screen adds to it.
        completer: makes the object that completes arguments; it gets the form's ``offer``.
        preview: returns a text to show while arguments are typed: the URI of a template.
    """

    BINDINGS = bindings(CHOOSE, CALL)

    AUTO_FOCUS = ""

    def __init__(
        self,
        tools: Sequence[Entry],
        *,
        preset: Entry | None = None,
        preset_arguments: dict[str, Json] | None = None,
        earlier: Callable[[str], list[dict[str, Json]]] | None = None,
        asked: set[str] | None = None,
        drafts: dict[str, Draft] | None = None,
        completer: Callable[[ShowCompletions], Completer] | None = None,
        preview: Callable[[dict[str, Json]], SafeText] | None = None,
    ) -> None:
        self.tool_list = ToolList(tools)
        self._help = Detail()
        self._pane = Vertical(self._help, id="form")
        self._verb = clean(VERBS["tools" if preset is None else preset.kind])
        super().__init__(self.tool_list, self._pane, buttons=[KeyButton("call.send", self._verb, "call")])
        self._tool: Entry | None = None
        self._drafts: dict[str, Draft] = {} if drafts is None else drafts
        self._preset = preset
        self._preset_arguments = preset_arguments
        self._earlier = earlier
        self._asked = set[str]() if asked is None else asked
        self._completer = completer
        self._preview = preview
        self._known: list[dict[str, Json]] = []
        self._at = 0
        """The number of the earlier arguments in the form, from 1; 0 for the typed ones."""
        self._typed: Draft = {}
        self._form: Form | None = None
        self._described = Section(words(""), ())

    def heading(self) -> SafeText:
        if self._tool is None:
            return words("Call a tool")
        return self.fitted(safe("{} ", self._verb), brief(self._tool.name), words(""))

    def hints(self) -> Sequence[Hint | None]:
        form = self._form
        if form is None:
            return [
                ("choose.up choose.down", "Choose"),
                ("call.arguments", "Arguments"),
                ("app.back", "Close"),
            ]
        fields: Hint | None = None if form.layout_.whole else ("form.json", "Fields")
        return [
            ("field.next", "Next") if form.first else None,
            ("form.leave-out", "Unset") if form.first and not form.as_json else None,
            fields if form.as_json else ("form.json", "JSON"),
            ("call.earlier", "Earlier") if self._known else None,
            ("call.editor", "Editor") if form.first else None,
            ("app.back", "Close" if self._preset else "Back"),
        ]

    def on_mount(self) -> None:
        # set before the first drawing, so that it is drawn once
        self.set_class(self.app.size.width >= WIDE_CELLS, "-wide")
        if self._preset is None:
            self._show_list()
        else:
            self.open_tool(self._preset, self._preset_arguments)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE_CELLS, "-wide")
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        if self._form is None:
            self._fill()
        else:
            self._size_form(self._form)

    @property
    def _lines_left(self) -> int:
        """The maximum number of lines between the frame and the keys."""
        return min(DIALOG_LINES, self.size.height - 2) - 5

    # -- the list --------------------------------------------------------------------------------------------

    def _show_list(self) -> None:
        self._tool = None
        self.remove_class("-form")
        if self._form is not None:
            self._form.remove()
            self._form = None
        self.set_focus(self.tool_list.filter)
        self._fill()
        self.tick()

    def _fill(self) -> None:
        self.tool_list.size_for(self._lines_left)
        self.tool_list.fill()

    def on_tool_list_counted(self, event: ToolList.Counted) -> None:
        if self._tool is None:
            self._box.border_subtitle = Content(event.text)

    def offer(self, tools: Sequence[Entry]) -> None:
        """Lists new tools, when a server has connected."""
        self.tool_list.tools = tools
        self._fill()

    def on_input_changed(self) -> None:
        if self._tool is None:
            self._fill()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the keys of the list while the form is shown."""
        return self._tool is None or action not in ("choose", "arguments")

    def action_choose(self, step: str) -> None:
        self.tool_list.move(step)

    def action_arguments(self) -> None:
        tool = self.tool_list.chosen
        if tool is not None:
            self.open_tool(tool)

    on_option_list_option_selected = action_arguments

    # -- the arguments ---------------------------------------------------------------------------------------

    def open_tool(self, tool: Entry, arguments: dict[str, Json] | None = None) -> None:
        self._tool = tool
        self.add_class("-form")
        self._box.border_subtitle = Content("")
        filled = None if arguments is not None else self._drafts.get(tool.definition)
        form = self._form = Form(tool.schema, arguments, filled=filled, completer=self._completer)
        self._pane.mount(form)
        form.build()
        self._known = [] if self._earlier is None else self._earlier(tool.name)
        self._at = 0
        self._described = Section(words(""), tool.described())
        self._help.show(words(""), [self._described], key=id(tool.raw))
        self._size_form(form)
        self.tick()
        self.set_focus(form.first or self.query_one("#call"))

    def _size_form(self, form: Form) -> None:
        """Divides the lines between the description, the fields, and the description of a field."""
        short = self.size.height < SHORT_LINES
        self.set_class(short, "-short")
        # The pane knows its lines only after its layout, which is one frame too late.
        lines = len(wrapped_lines(self._described, (self._box.size.width or 72) - 1))
        lines = max(1, min(DESCRIPTION_LINES, self._lines_left // 4, lines))
        self._help.styles.height = lines
        self._help.display = bool(self._described.lines)
        space = self._lines_left - (lines + 1 if self._help.display else 0) - (5 if short else 7)
        form.limit(space)

    def on_form_changed(self) -> None:
        self.tick()
        if self._preview is not None and self._form is not None:
            text = clip(self._preview(self._form.arguments()), max(8, self._box.size.width - 6))
            self._box.border_subtitle = Content(text)

    # -- earlier arguments -----------------------------------------------------------------------------------

    def action_recall(self) -> None:
        """Puts the next earlier arguments into the form; after the oldest, those that were typed."""
        form, known = self._form, self._known
        if form is None or not known:
            return
        if not self._at:
            self._typed = form.filled
        self._at = (self._at + 1) % (len(known) + 1)
        if self._at:
            form.fill(known[self._at - 1])
            self._box.border_subtitle = Content(safe("history {} of {}", self._at, len(known)))
        else:
            form.restore(self._typed)
            self._box.border_subtitle = Content("")

    # -- keys ------------------------------------------------------------------------------------------------

    def action_send(self) -> None:
        """Sends the call or shows its problems; from the list, opens the form if arguments are required."""
        tool = self._tool or self.tool_list.chosen
        if tool is None:
            return
        form = self._form or Form(tool.schema)
        arguments = None if self._form is None and tool.needs_arguments else form.submit()
        if arguments is not None:
            self._send(tool, arguments)
        elif self._form is None:
            self.open_tool(tool)
            if not tool.needs_arguments:
                self.action_send()  # it shows the problems of the defaults

    def action_json(self) -> None:
        if self._form is not None:
            self._form.action_json()

    def action_editor(self) -> None:
        if self._form is not None:
            self.app.run_worker(partial(self._edit, self._form), group="program", exit_on_error=True)

    async def _edit(self, form: Form) -> None:
        """Lets a person edit the arguments as JSON in another program, and shows their problems."""
        text = await self.app.programs.edit(form.json)
        if text is not None and form.is_attached:
            form.take_json(text)

    def _send(self, tool: Entry, arguments: dict[str, Json]) -> None:
        """Dismisses with the call; a destructive tool needs a confirmation first."""
        if not tool.destructive or tool.definition in self._asked:
            self._drafts.pop(tool.definition, None)
            self.dismiss((tool.name, arguments))
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._asked.add(tool.definition)
                self._send(tool, arguments)

        lines = [
            safe("The server marks this tool as: {} (unverified).", tool.claims),
            words("You will not be asked again for this tool."),
        ]
        title = safe("Call {}?", brief(tool.name, 40))
        self.app.push_screen(ConfirmScreen(title, lines, yes="Call", no="Back"), answered)

    def action_close(self) -> None:
        """Goes back to the list, and from there closes; typed text is kept."""
        tool, form = self._tool, self._form
        if tool is not None and form is not None:
            self._drafts[tool.definition] = form.filled
        if tool is None or self._preset is not None:
            self.dismiss(None)
        else:
            self._show_list()
