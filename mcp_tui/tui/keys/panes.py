"""The keys of the panes, and of fields and pages in dialogs: each works where the focus is in it."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys.key import Key, Scope

# fmt: off
REQUESTS: Final = Scope("requests", "The requests", within=("workbench", "recording"), keys=(
    Key("requests.up", "up,k", "cursor_up", "Up", "the request above", priority=True),
    Key("requests.down", "down,j", "cursor_down", "Down", "the request below", priority=True),
    Key("requests.page-up", "pageup", "page_up", "Page up", "a page up", priority=True),
    Key("requests.page-down", "pagedown", "page_down", "Page down", "a page down", priority=True),
    Key("requests.newest", "home,g", "newest", "Newest", "to the newest", priority=True),
    Key("requests.oldest", "end,G", "oldest", "Oldest", "to the oldest", priority=True),
    Key("requests.activate", "enter", "activate", "Detail", "the detail of the request", priority=True),
))

LINES: Final = Scope("lines", "A list: Catalogue, Cancellations, Log, Wire", within=("workbench", "recording", "probe"), keys=(
    Key("lines.up", "up,k", "cursor_up", "Up", "the line above", priority=True),
    Key("lines.down", "down,j", "cursor_down", "Down", "the line below", priority=True),
    Key("lines.left", "left,h", "shift_left", "Left", "long lines to the left", priority=True),
    Key("lines.right", "right,l", "shift_right", "Right", "long lines to the right", priority=True),
    Key("lines.page-up", "pageup", "page_up", "Page up", "a page up", priority=True),
    Key("lines.page-down", "pagedown", "page_down", "Page down", "a page down", priority=True),
    Key("lines.top", "home,g", "top", "Top", "to the first line", priority=True),
    Key("lines.bottom", "end,G", "bottom", "Bottom", "to the last line", priority=True),
    Key("lines.activate", "enter", "activate", "Open", "open: call tool / go to request / show message", footer=-9, priority=True),
))

DETAIL: Final = Scope("detail", "The pane Detail, and what else is read", within=("workbench", "recording", "probe", "help", "call"), keys=(
    Key("detail.up", "up,k", "line_up", "Up", "a line up"),
    Key("detail.down", "down,j", "line_down", "Down", "a line down"),
    Key("detail.page-up", "pageup", "page_up", "Page up", "a page up"),
    Key("detail.page-down", "pagedown", "page_down", "Page down", "a page down"),
    Key("detail.top", "home,g", "top", "Top", "to the top"),
    Key("detail.bottom", "end,G", "bottom", "Bottom", "to the bottom"),
    Key("detail.open", "enter", "open", "Open", "all of the answer", footer=-9),
    Key("detail.find", "/", "find", "Find", "find a text in it", footer=-8),
    Key("detail.next", "n", "step(1)", "Next match", "next match", footer=-7, others=("detail.previous",), lends=True),
    Key("detail.previous", "N", "step(-1)", "Previous", "previous match", lends=True),
))

TIMELINE: Final = Scope("timeline", "The pane Timeline", within=("workbench", "recording"), keys=(
    Key("timeline.up", "up,k", "cursor_up", "Up", "the bar above"),
    Key("timeline.down", "down,j", "cursor_down", "Down", "the bar below"),
    Key("timeline.page-up", "pageup", "page_up", "Page up", "a page up"),
    Key("timeline.page-down", "pagedown", "page_down", "Page down", "a page down"),
    Key("timeline.earlier", "left,h", "pan(-1)", "Earlier", "what was before", footer=-7),
    Key("timeline.later", "right,l", "pan(1)", "Later", "what came after", footer=-6),
    Key("timeline.now", "home,g", "newest", "Now", "to the present, and follow it"),
    Key("timeline.start", "end,G", "oldest", "Start", "to the first request"),
    Key("timeline.activate", "enter", "activate", "To its row", "to the row of the request", footer=-9),
))

PAGE: Final = Scope("page", "A page of a result", within=("result",), keys=(
    Key("page.up", "up,k", "cursor_up", "Up", "the line above"),
    Key("page.down", "down,j", "cursor_down", "Down", "the line below"),
    Key("page.page-up", "pageup", "page_up", "Page up", "a page up"),
    Key("page.page-down", "pagedown", "page_down", "Page down", "a page down"),
    Key("page.top", "home,g", "top", "Top", "to the top"),
    Key("page.bottom", "end,G", "bottom", "Bottom", "to the bottom"),
    Key("page.open", "enter,space", "activate", "Open", "fold the line, or unfold it; read what a link names"),
    Key("page.find", "/", "find", "Find", "find a text in it"),
    Key("page.next", "n", "step(1)", "Next", "next match"),
    Key("page.previous", "N", "step(-1)", "Previous", "previous match"),
))

TYPING: Final = (
    Key("", "enter", "app.simulate_key('enter')", "Done", "", footer=1),
    Key("app.back", "escape", "app.simulate_key('escape')", "Clear", "", footer=2),
    Key("app.keys", "f1", "app.help", "Help", "", footer=14),
    Key("app.quit", "ctrl+q", "app.quit", "Quit", "", footer=15),
)
"""What the footer names while a filter, or a text to find, is typed: all other characters belong to that."""

FORM: Final = Scope("form", "A form", within=("call", "question"), field=True, keys=(
    Key("form.json", "ctrl+t", "json", "JSON", "the whole as JSON, and back to fields"),
))

FIELD: Final = Scope("field", "A field of a form", within=("form",), field=True, taken=frozenset({"down", "up"}), keys=(
    Key("field.take", "enter", "take", "Accept", "accept; newline in lists and JSON"),
    Key("field.next", "tab", "next", "Next", "next field"),
    Key("field.previous", "shift+tab", "previous", "Previous", "previous field"),
    Key("field.close", "escape", "hide_suggestions", "Close", "close the list of suggestions", lends=True),
    Key("field.newline", "ctrl+j", "newline", "New line", "newline in a text"),
    Key("form.leave-out", "ctrl+o", "leave_out", "Unset", "unset the field; again: an empty text"),
    Key("form.null", "ctrl+n", "nullify", "Null", "make the field null, where the schema permits it"),
    Key("field.turn", "space", "turn", "Toggle", "toggle true or false, or a mark in a list"),
))
# fmt: on
