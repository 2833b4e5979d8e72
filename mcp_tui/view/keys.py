"""The table of keys: their names, actions, and texts, the scopes in which they work, and the user's own keys."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, LiteralString, NamedTuple

from mcp_tui.view.text import SafeText, clean, safe, words


class Key(NamedTuple):
    """One key, or several with the same action.

    Attributes:
        id: the name in the settings. Keys with the same id in several scopes are the same key.
        keys: Textual's names of the default keys, separated by commas; a printable key may be its character.
        action: the action, as Textual writes it.
        label: the text in the footer and, without a ``title``, in the palette.
        help: the effect of the key, for the help screen.
        title: the text in the palette, if the label is too short to be understood there.
        footer: the position in the footer, the lowest first; 0 for keys that are not in the footer.
        wide: the key is the first to be left out of a narrow footer.
        hidden: the key is not in the palette.
        priority: the action runs before the next key is handled, so that keys typed ahead reach the screen that it opens.
        others: ids of keys that a narrow footer shows together with this one.
        lends: the surrounding screen may use the same key. This key takes precedence, but only while it has an effect.
        acts: the key acts on a server, so it has no effect on a recording.
    """

    id: str
    keys: str
    action: str
    label: LiteralString
    help: LiteralString
    title: LiteralString = ""
    footer: int = 0
    wide: bool = False
    hidden: bool = False
    priority: bool = False
    others: tuple[LiteralString, ...] = ()
    lends: bool = False
    acts: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys in force: the user's own keys, or else the default keys."""
        return names_of(_OWN_KEYS.get(self.id, self.keys))

    @property
    def shown(self) -> SafeText:
        """The first of the keys, as the footer shows it: ``^p``, ``f1``, ``?``."""
        return shown_as(self.names[0])


class Scope(NamedTuple):
    """Keys that work in one place.

    Attributes:
        name: the name in the code.
        title: the heading of the scope in the help screen and in the documentation.
        keys: the keys.
        within: the names of the scopes that may surround this one, one at a time; their keys work in this scope too.
        field: whether text is typed in this scope, so that characters and editing keys belong to the field.
        taken: names of keys that Textual's own widgets in this scope use, such as a list or a row of buttons.
    """

    name: LiteralString
    title: LiteralString
    keys: tuple[Key, ...]
    within: tuple[LiteralString, ...] = ()
    field: bool = False
    taken: frozenset[str] = frozenset()


_OWN_KEYS: Final[dict[str, str]] = {}
"""The user's own keys by id."""

LIST: Final = frozenset({"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "enter"})
"""The keys of Textual's ``OptionList``."""

BUTTONS: Final = frozenset({"enter"})
"""The key of Textual's buttons."""

_KEY_CHARACTERS: Final = {
    "at": "@",
    "backslash": "\\",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "minus": "-",
    "plus": "+",
    "slash": "/",
    "underscore": "_",
}
"""Characters for which Textual has another name than Unicode."""

_NAME_OF_CHARACTER: Final = {each: name for name, each in _KEY_CHARACTERS.items()}

_SHOWN_KEYS: Final = {
    "delete": "del",
    "down": "↓",
    "escape": "esc",
    "left": "←",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "right": "→",
    "space": "space",
    "up": "↑",
}


def character(name: str) -> str:
    """Returns the character that the key with this name types; empty if the key types none."""
    if len(name) == 1:
        return name
    if "+" in name:
        return ""
    try:
        found = _KEY_CHARACTERS.get(name) or unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return ""
    return found if len(found) == 1 and found.isprintable() else ""


@cache
def names_of(keys: str) -> tuple[str, ...]:
    """Returns Textual's names of keys separated by commas; a printable key may be given as its character."""
    return tuple(_named(key.strip()) for key in keys.split(","))


def _named(key: str) -> str:
    if len(key) != 1 or key.isalnum():
        return key
    return _NAME_OF_CHARACTER.get(key) or unicodedata.name(key, key).lower().replace("-", "_").replace(
        " ", "_"
    )


@cache
def shown_as(name: str) -> SafeText:
    """Returns the text for the key with this name: ``^p`` for ``ctrl+p``, ``?`` for ``question_mark``."""
    *modifiers, base = name.split("+") if len(name) > 1 else [name]
    base = _SHOWN_KEYS.get(base) or character(base) or base
    if modifiers == ["ctrl"] and len(base) == 1:
        return safe("^{}", base)
    return clean("+".join((*modifiers, base)))


def all_shown(names: Iterable[str]) -> SafeText:
    """Returns the texts for the keys with these names."""
    return clean(" ".join(map(shown_as, names)))


# -- everywhere, the workbench, a recording --------------------------------------------------------------------

# fmt: off
EVERYWHERE: Final = Scope("everywhere", "Everywhere", keys=(
    Key("app.palette", "ctrl+p", "palette", "Palette", "find and run any command", footer=13, hidden=True, priority=True),
    Key("app.keys", "f1,ctrl+underscore", "app.help", "Keys", "show the keys that work here", hidden=True, priority=True),
    Key("app.interrupt", "ctrl+c", "quit", "Cancel, copy or quit", "copy selected text; else cancel the selected request, or close the dialog; else quit", hidden=True),
    Key("app.redraw", "ctrl+l", "redraw", "Redraw", "redraw the screen"),
    Key("app.suspend", "ctrl+z", "suspend", "Suspend", "suspend (fg resumes); in a text field: undo"),
    Key("app.quit", "ctrl+q", "quit", "Quit", "quit (confirms if requests are running)", priority=True),
))
"""The keys of the app itself."""

_PANES: Final = ("view.pane-1", "view.pane-2", "view.pane-3", "view.pane-4", "view.pane-5", "view.pane-6")

WORKBENCH: Final = Scope("workbench", "The workbench", within=("everywhere",), keys=(
    Key("request.cancel", "c", "cancel", "Cancel", "cancel the selected request, with a reason", title="Cancel the request", footer=1, priority=True, acts=True),
    Key("request.cancel-now", "C", "cancel_now", "Cancel now", "cancel the selected request now, with the default reason", title="Cancel the request now", footer=2, wide=True, priority=True, acts=True),
    Key("request.cancel-all", "X", "cancel_all", "Cancel all", "cancel all running requests that the filter shows, with a reason", title="Cancel all running requests", footer=3, wide=True, priority=True, acts=True),
    Key("request.new", "n", "new", "New", "call a tool", title="Call a tool", footer=4, priority=True, acts=True),
    Key("request.again", "r", "again", "Again", "repeat the request, with a new id", title="Repeat", footer=5, priority=True, acts=True),
    Key("request.repeat", "R", "repeat", "Repeat n times", "repeat N times in parallel; show median, worst, failures, late", title="Repeat several times", priority=True, acts=True),
    Key("request.edit", "e", "edit", "Edit", "edit the arguments of the selected call, and send it again", title="Edit the arguments and send again", footer=6, priority=True, acts=True),
    Key("request.saved", "b", "saved", "Saved calls", "saved calls: call one, or save the selected one", priority=True, acts=True),
    Key("watch.pin", "W", "pin", "Repeat on change", "with --watch: repeat the selected request after each change of the server's files", title="Repeat the request after each change", priority=True, acts=True),
    Key("request.extend", "+", "extend", "+30s", "extend the timeout of the request by 30 seconds", title="Extend timeout by 30 s", acts=True),
    Key("question.answer", "a", "answer", "Answer", "answer the server's question", title="Answer the server's question", footer=6, priority=True, acts=True),
    Key("view.filter", "/", "filter", "Filter", "filter the focused list: state:late -name:poll id:7 /text/ words", title="Filter the list", footer=7, priority=True),
    Key("view.follow", "F", "follow", "Follow", "follow newest request on/off", title="Follow the newest request on/off", footer=8, wide=True),
    Key("view.newest", "g", "newest", "Newest", "go to the newest request", title="Go to the newest request"),
    Key("view.oldest", "G", "oldest", "Oldest", "go to the oldest request", title="Go to the oldest request"),
    Key("view.internal", "o", "internal", "Own requests", "show/hide internal requests", title="Show or hide internal requests"),
    Key("view.sort", "s", "sort", "Sort", "change sort order", title="Change the sort order"),
    Key("view.unfold", "u", "unfold", "Expand", "expand/collapse related messages (rounds, polls, server requests)", title="Expand or collapse related messages"),
    Key("view.open", "right", "unfold('open')", "Expand it", "in the requests: expand the request", hidden=True),
    Key("view.close", "left", "unfold('close')", "Collapse it", "in the requests: collapse the request", hidden=True),
    Key("request.mark", "space,m", "mark", "Mark", "mark/unmark; cancel, repeat, and export then apply to all marked", title="Mark the request"),
    Key("request.mark-all", "M", "mark_all", "Mark all", "mark all requests that the filter shows, or clear all marks", title="Mark all requests"),
    Key("request.compare", "d", "compare", "Compare", "compare two marked requests, or the selected one with the previous call of the same tool", title="Compare two requests"),
    Key("request.export", "E", "export", "Export", "export marked or selected requests to a file (JSON lines or Markdown)", title="Export requests to a file"),
    Key("wire.request", "t", "wire_of", "Messages", "wire: only selected request on/off; in the catalogue: raw schemas on/off", title="Show only the messages of the request"),
    Key("view.zoom", "z", "zoom", "Zoom", "zoom focused pane", title="Zoom the pane", footer=9, wide=True),
    Key("request.copy", "y", "copy", "Copy", "copy the result, a command line, JSON-RPC, or an issue block; without secrets", title="Copy the result, a command, or an issue", footer=10, wide=True),
    Key("request.copy-again", "Y", "copy_again", "Copy same", "copy the same kind as last time (at first the result)", title="Copy the same kind again"),
    Key("request.save", "w", "save", "Save", "save request and answer to a file", title="Save request and answer to a file"),
    Key("view.pager", "p", "pager", "Pager", "read the answer, or what Detail shows, in $PAGER; without secrets", title="Read the answer in the pager"),
    Key("view.pane-0", "0", "pane('requests')", "Pane", "go to the table of requests", title="Requests", footer=11, priority=True, others=_PANES),
    Key("view.pane-1", "1", "pane('detail')", "Detail", "show the detail", priority=True),
    Key("view.pane-2", "2", "pane('catalogue')", "Catalogue", "show the catalogue: tools, resources, and prompts", priority=True),
    Key("view.pane-3", "3", "pane('cancellations')", "Cancellations", "show the cancellations", priority=True),
    Key("view.pane-4", "4", "pane('log')", "Log", "show the log: stderr, log messages, protocol violations", priority=True),
    Key("view.pane-5", "5", "pane('wire')", "Wire", "show the wire: every message", priority=True),
    Key("view.pane-6", "6", "pane('timeline')", "Timeline", "show the timeline: requests as bars on one time axis", priority=True),
    Key("timeline.in", "i", "timeline(1)", "Zoom in", "timeline: zoom in", title="Zoom in on the timeline"),
    Key("timeline.out", "I", "timeline(-1)", "Zoom out", "timeline: zoom out", title="Zoom out of the timeline"),
    Key("view.sides-wider", ")", "size('beside', 1)", "Wider pane", "widen the focused pane (from the requests: the detail)"),
    Key("view.sides-narrower", "(", "size('beside', -1)", "Narrower pane", "narrow the focused pane"),
    Key("view.lower-higher", "=", "size('lower', 1)", "Taller lower panes", "make the panes below the requests taller"),
    Key("view.lower-lower", "-", "size('lower', -1)", "Shorter lower panes", "make the panes below the requests shorter"),
    Key("server.menu", "S", "server", "Reconnect", "server: reconnect, stop, protocol version, sampling, timeouts, roots, environment", title="Reconnect or set up the server", footer=1, priority=True, acts=True),
    Key("server.sign-in", "L", "sign_in", "Sign in", "sign in to the server", footer=5, priority=True, acts=True),
    Key("server.list", "v", "app.servers", "Servers", "servers: switch, add, close", title="Switch, add, or close servers", priority=True, acts=True),
    Key("server.next", "ctrl+n", "app.next_server", "Next server", "next server", priority=True, acts=True),
    Key("server.probe", "P", "probe", "Probe", "run the cancellation probe", title="Run the cancellation probe", priority=True, acts=True),
    Key("app.help", "?", "app.help", "Help", "these keys", footer=14, priority=True),
    Key("app.leave", "q", "app.quit", "Quit", "quit (confirms if requests are running)", footer=15, priority=True),
    Key("app.interrupt", "ctrl+c", "interrupt", "Cancel, copy or quit", "copy selected text; else cancel the selected request; else quit", hidden=True),
    Key("app.back", "escape", "back", "Back", "close / back", hidden=True),
))

RECORDED: Final = (
    Key("replay.play", "space", "play", "Play", "play/pause", footer=-6),
    Key("replay.next", ".,right", "step(1)", "Step", "next event (the arrow: in the requests only)", footer=-5),
    Key("replay.previous", "comma,left", "step(-1)", "Step back", "previous event"),
    Key("replay.next-cancellation", "n,]", "cancellation(1)", "Cancelled", "go to the next cancellation", title="Go to the next cancellation", footer=-4),
    Key("replay.previous-cancellation", "N,[", "cancellation(-1)", "Previous cancelled", "go to the previous cancellation", title="Go to the previous cancellation"),
    Key("replay.start", "b,{", "start", "Ends", "go to the start of the recording", title="Go to the start of the recording", footer=-3, wide=True, others=("replay.end",)),
    Key("replay.end", "e,}", "end", "End", "go to the end of the recording", title="Go to the end of the recording"),
    Key("replay.faster", ">", "speed(1)", "Faster", "play twice as fast", title="Play faster", footer=-2, wide=True),
    Key("replay.slower", "<", "speed(-1)", "Slower", "play half as fast", title="Play slower"),
    Key("replay.find", "f", "find", "Find", "find a text in events and messages", title="Find in the recording", footer=-1, priority=True),
    Key("replay.find-next", "down", "find_on(1)", "Next match", "while finding: next match, as enter does", hidden=True),
    Key("replay.find-previous", "up", "find_on(-1)", "Previous match", "while finding: previous match", hidden=True),
)
# fmt: on
"""The keys that only recordings have; they come first in the footer."""

_OF_RECORDED: Final = frozenset(name for each in RECORDED for name in each.keys.split(","))

STEPPING: Final = frozenset({"view.open", "view.close"})
"""Ids of keys of the workbench that recordings do not have, because the arrow keys step through the events there."""


_REPLACED: Final = {key.id for key in WORKBENCH.keys if _OF_RECORDED.issuperset(key.keys.split(","))}
"""Ids of keys of the workbench that have another meaning on a recording."""


def _as_here(key: Key) -> Key:
    """Returns a key of the workbench for recordings, without the key names that recordings use for something else."""
    here = key._replace(keys=",".join(name for name in key.keys.split(",") if name not in _OF_RECORDED))
    if key.id == "app.back":
        return here._replace(footer=-7)
    return here._replace(action="read_only", footer=0, hidden=True, priority=False) if key.acts else here


RECORDING: Final = Scope(
    "recording",
    "A recording",
    (*RECORDED, *(_as_here(key) for key in WORKBENCH.keys if key.id not in STEPPING | _REPLACED)),
    within=("everywhere",),
)


CANCEL_PROMPTS: Final = ("request.cancel", "request.cancel-all")
"""Ids of the keys that open a prompt to cancel."""

CANCELS: Final = (*CANCEL_PROMPTS, "request.cancel-now")
"""Ids of the keys that cancel."""

# fmt: off
ATTACHED: Final = Scope("attached", "A running session of another process", within=("everywhere",), keys=(
    *(each._replace(footer=each.footer - 20) for each in WORKBENCH.keys if each.id in CANCELS),
    Key("request.allow", "A", "allow", "Allow", "let one call through that is equal to the selected one, which tap --once refused", acts=True),
))
# fmt: on
"""The keys that act on an attached session; the other keys are those of a recording."""


# -- panes, and fields and pages in dialogs --------------------------------------------------------------------


def _moves(scope: str, line: LiteralString, *, priority: bool = False) -> tuple[Key, ...]:
    """Returns the keys that move the cursor of a list."""
    return (
        Key(f"{scope}.up", "up,k", "cursor_up", "Up", f"the {line} above", priority=priority),
        Key(f"{scope}.down", "down,j", "cursor_down", "Down", f"the {line} below", priority=priority),
        Key(f"{scope}.page-up", "pageup", "page_up", "Page up", "a page up", priority=priority),
        Key(f"{scope}.page-down", "pagedown", "page_down", "Page down", "a page down", priority=priority),
    )


# fmt: off
REQUESTS: Final = Scope("requests", "The requests", within=("workbench", "recording"), keys=(
    *_moves("requests", "request", priority=True),
    Key("requests.newest", "home,g", "newest", "Newest", "to the newest", priority=True),
    Key("requests.oldest", "end,G", "oldest", "Oldest", "to the oldest", priority=True),
    Key("requests.activate", "enter", "activate", "Detail", "the detail of the request", priority=True),
))

LINES: Final = Scope("lines", "A list: Catalogue, Cancellations, Log, Wire", within=("workbench", "recording", "probe"), keys=(
    *_moves("lines", "line", priority=True),
    Key("lines.left", "left,h", "shift_left", "Left", "scroll to the left", priority=True),
    Key("lines.right", "right,l", "shift_right", "Right", "scroll to the right", priority=True),
    Key("lines.top", "home,g", "top", "Top", "to the first line", priority=True),
    Key("lines.bottom", "end,G", "bottom", "Bottom", "to the last line", priority=True),
    Key("lines.activate", "enter", "activate", "Open", "open: call tool / go to request / show message", footer=-9, priority=True),
))

DETAIL: Final = Scope("detail", "The pane Detail, and what else is read", within=("workbench", "recording", "probe", "help", "call"), keys=(
    Key("detail.up", "up,k", "go('up')", "Up", "a line up"),
    Key("detail.down", "down,j", "go('down')", "Down", "a line down"),
    Key("detail.page-up", "pageup", "go('page_up')", "Page up", "a page up"),
    Key("detail.page-down", "pagedown", "go('page_down')", "Page down", "a page down"),
    Key("detail.top", "home,g", "go('home')", "Top", "to the top"),
    Key("detail.bottom", "end,G", "go('end')", "Bottom", "to the bottom"),
    Key("detail.open", "enter", "open", "Open", "open the whole answer", footer=-9),
    Key("detail.find", "/", "find", "Find", "find text", footer=-8),
    Key("detail.next", "n", "step(1)", "Next match", "next match", footer=-7, others=("detail.previous",), lends=True),
    Key("detail.previous", "N", "step(-1)", "Previous", "previous match", lends=True),
))

TIMELINE: Final = Scope("timeline", "The pane Timeline", within=("workbench", "recording"), keys=(
    *_moves("timeline", "bar"),
    Key("timeline.earlier", "left,h", "pan(-1)", "Earlier", "scroll to earlier requests", footer=-7),
    Key("timeline.later", "right,l", "pan(1)", "Later", "scroll to later requests", footer=-6),
    Key("timeline.now", "home,g", "newest", "Now", "go to the present, and follow"),
    Key("timeline.start", "end,G", "oldest", "Start", "to the first request"),
    Key("timeline.activate", "enter", "activate", "Go to request", "go to the row of the request", footer=-9),
))

PAGE: Final = Scope("page", "A page of a result", within=("result",), keys=(
    *_moves("page", "line"),
    Key("page.top", "home,g", "top", "Top", "to the top"),
    Key("page.bottom", "end,G", "bottom", "Bottom", "to the bottom"),
    Key("page.open", "enter,space", "activate", "Open", "fold/unfold; open a link"),
    Key("page.find", "/", "find", "Find", "find text"),
    Key("page.next", "n", "step(1)", "Next", "next match"),
    Key("page.previous", "N", "step(-1)", "Previous", "previous match"),
))

TYPING: Final = (
    Key("", "enter", "app.simulate_key('enter')", "Done", "", footer=1),
    Key("app.back", "escape", "app.simulate_key('escape')", "Clear", "", footer=2),
    Key("app.keys", "f1,ctrl+underscore", "app.help", "Help", "", footer=14),
    Key("app.quit", "ctrl+q", "app.quit", "Quit", "", footer=15),
)
"""The footer while a filter or a search text is typed; all other keys belong to the text."""

FORM: Final = Scope("form", "A form", within=("call", "question"), field=True, keys=(
    Key("form.json", "ctrl+t", "json", "JSON", "edit as JSON or as fields"),
))

FIELD: Final = Scope("field", "A field of a form", within=("form",), field=True, taken=frozenset({"down", "up"}), keys=(
    Key("field.take", "enter", "take", "Accept", "accept; newline in lists and JSON; on an object or array: add it, or an item"),
    Key("field.next", "tab", "next", "Next", "next field"),
    Key("field.previous", "shift+tab", "previous", "Previous", "previous field"),
    Key("field.close", "escape", "hide_suggestions", "Close", "close the list of suggestions", lends=True),
    Key("field.newline", "ctrl+j", "newline", "New line", "newline in a text"),
    Key("form.leave-out", "ctrl+o", "leave_out", "Unset", "unset the field, remove an object or an item; again: an empty text or list"),
    Key("form.null", "ctrl+n", "nullify", "Null", "make the field null, where the schema permits it"),
    Key("field.turn", "space", "turn", "Toggle", "toggle true or false, or a mark in a list"),
))
# fmt: on


# -- dialogs, and screens that are not a session ---------------------------------------------------------------

# fmt: off
DIALOG: Final = Scope("dialog", "Every dialog", within=("everywhere",), field=True, keys=(
    Key("app.back", "escape", "close", "Back", "close, without losing your text"),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy or close", "copy selected text, or else close"),
))

REASON: Final = Scope("reason", "The reason of a cancel", within=("dialog",), field=True, keys=(
    Key("reason.cancel", "enter", "cancel", "Cancel it", "cancel with this reason", priority=True),
    Key("app.interrupt", "ctrl+c", "cancel", "Cancel it", "cancel with this reason", priority=True),
    Key("reason.earlier", "up", "recall(1)", "Recent reason", "a recent reason"),
    Key("reason.later", "down", "recall(-1)", "Later reason", "the next reason"),
))

OVERDUE_REQUESTS: Final = Scope("overdue", "Overdue requests", within=("dialog",), field=True, keys=(
    Key("overdue.cancel", "enter", "take", "Cancel now", "cancel now, or press the focused button", priority=True),
    Key("app.interrupt", "ctrl+c", "choose('cancel_now')", "Cancel now", "cancel now", priority=True),
    Key("overdue.wait", "f2,+", "choose('wait_30')", "Wait 30 s more", "wait 30 seconds more (+ only outside the reason)"),
    Key("overdue.wait-on", "f3,w", "choose('wait_forever')", "No limit", "wait without a limit"),
    Key("overdue.next", "down,right", "move(1)", "Next", "the next button"),
    Key("overdue.previous", "left", "move(-1)", "Previous", "the button before"),
    Key("overdue.reason", "up", "edit", "Reason", "edit the reason"),
))

ANSWER: Final = Scope("answer", "A question with two answers: confirm, consent", within=("dialog",), taken=BUTTONS, keys=(
    Key("answer.yes", "y", "answer(True)", "Yes", "yes"),
    Key("answer.no", "n", "answer(False)", "No", "no"),
    Key("answer.previous", "left", "move(-1)", "Previous", "the button before"),
    Key("answer.next", "right", "move(1)", "Next", "the next button"),
    Key("answer.up", "up", "scroll(-1)", "Up", "scroll the details up"),
    Key("answer.down", "down", "scroll(1)", "Down", "scroll the details down"),
))

CHOOSE: Final = Scope("choose", "A list below a field: commands, servers, tools, cancellations of all sessions", within=("dialog", "picker", "call"), field=True, keys=(
    Key("choose.up", "up", "choose('cursor_up')", "Up", "the line above"),
    Key("choose.down", "down", "choose('cursor_down')", "Down", "the line below"),
    Key("choose.page-up", "pageup", "choose('page_up')", "Page up", "a page up"),
    Key("choose.page-down", "pagedown", "choose('page_down')", "Page down", "a page down"),
))

PICKER: Final = Scope("picker", "Which server?", within=("everywhere",), field=True, keys=(
    Key("app.back", "escape", "close", "Back", "clear the text, or else go back"),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy or quit", "copy selected text, or else go back or quit"),
))

CALL: Final = Scope("call", "A call", within=("dialog",), field=True, keys=(
    Key("call.arguments", "enter", "arguments", "Arguments", "in the list: edit the arguments of the tool"),
    Key("call.send", "ctrl+s", "send", "Send", "send the call"),
    Key("call.earlier", "ctrl+r", "recall", "Earlier arguments", "arguments of earlier calls"),
    Key("call.editor", "ctrl+g", "editor", "Editor", "edit the arguments as JSON in $VISUAL or $EDITOR"),
    Key("form.json", "ctrl+t", "json", "JSON", "edit as JSON or as fields"),
))

QUESTION: Final = Scope("question", "A question of the server's", within=("dialog",), field=True, keys=(
    # No priority: the characters typed before ctrl+s must reach the field first.
    Key("question.send", "ctrl+s", "accept", "Send", "send the answer"),
    Key("question.decline", "ctrl+d", "decline", "Decline", "say no", priority=True),
    Key("question.cancel", "ctrl+x", "cancel_question", "Dismiss", 'dismiss without deciding (MCP "cancel")', priority=True),
    Key("question.copy", "ctrl+y", "copy_draft", "Copy", "copy what was typed, or the URL", priority=True),
    Key("question.back", "pageup", "scroll_words(-1)", "Back", "scroll the text up", priority=True),
    Key("question.on", "pagedown", "scroll_words(1)", "On", "scroll the text down", priority=True),
))

LINK: Final = Scope("link", "A question that leads to a URL", within=("question",), taken=BUTTONS, keys=(
    Key("link.open", "o", "open", "Open", "open the URL in a browser, and accept"),
    Key("link.copy", "y", "copy_draft", "Copy", "copy the URL"),
))

SIGN_IN: Final = Scope("sign-in", "A sign-in", within=("dialog",), field=True, keys=(
    Key("sign-in.open", "enter", "open", "Open", "open the URL in a browser, or use the URL that was pasted"),
    Key("sign-in.copy", "ctrl+y", "copy_url", "Copy", "copy the URL", priority=True),
    Key("sign-in.decline", "ctrl+d", "decline", "Do not sign in", "do not sign in; waiting requests fail", priority=True),
))

RESULT: Final = Scope("result", "A result", within=("dialog",), keys=(
    Key("result.next", "tab,right", "part(1)", "Next part", "the next part"),
    Key("result.previous", "shift+tab,left", "part(-1)", "Previous part", "the part before"),
    Key("result.switch", "t", "switch", "Text or tree", "show JSON as a tree or as raw text"),
    Key("result.copy", "y", "copy", "Copy", "copy the result"),
    Key("result.save", "w", "save", "Save", "write the part under the cursor to a file"),
    Key("view.pager", "p", "pager", "Pager", "read all of it in $PAGER; without secrets"),
))

MENU: Final = Scope("menu", "A menu, and the list of recordings", within=("dialog",), taken=LIST, keys=(
    Key("menu.close", "q", "close", "Back", "close"),
))

_NTH: Final = "show the first server; each has its digit", "the second", "the third", "the fourth", "the fifth", "the sixth", "the seventh", "the eighth", "the ninth"

SERVERS: Final = Scope("servers", "The list of servers", within=("dialog",), taken=LIST, keys=(
    Key("servers.close-list", "q,v", "close", "Back", "close the list"),
    Key("servers.add", "a", "choose('add')", "Add", "add a server"),
    Key("servers.close", "x,delete", "choose('close')", "Close it", "close the server"),
    Key("servers.menu", "S", "choose('menu')", "Its menu", "open the menu of the server: reconnect, stop, and its settings"),
    *(Key(f"servers.{at}", at, f"number({at})", "Show it", nth) for at, nth in zip("123456789", _NTH, strict=True)),
))

PROBE: Final = Scope("probe", "The probe", within=("everywhere",), keys=(
    Key("probe.start", "enter", "start", "Start", "start the probe", footer=1, priority=True),
    Key("probe.again", "r", "again", "Again", "run the probe again", footer=2),
    Key("probe.copy", "y", "copy", "Copy as Markdown", "copy the report as Markdown", footer=3),
    Key("probe.save", "w", "save", "Save", "save the report to a file", footer=4),
    Key("probe.other", "tab,shift+tab", "other_pane", "Next pane", "switch between rules and evidence"),
    Key("app.help", "?", "app.help", "Help", "these keys", footer=6),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy, stop or back", "copy selected text, or else stop the probe or go back"),
    Key("app.back", "escape", "close", "Back", "back (asks for a second press while the probe runs)", footer=5),
))

HELP: Final = Scope("help", "This help", within=("dialog",), keys=(
    Key("help.close", "q,?", "close", "Back", "close"),
    Key("view.pager", "p", "pager", "Pager", "read it in $PAGER"),
))
# fmt: on


# -- all of them, and the keys in force ------------------------------------------------------------------------

SCOPES: Final = {each.name: each for each in [*globals().values()] if isinstance(each, Scope)}
"""All scopes by name, in the order of the documentation."""

FIRST_KEYS: Final[dict[str, Key]] = {}
"""The first key with each id; of the keys with one id, its help is the most general."""

for _scope in SCOPES.values():
    for _key in _scope.keys:
        FIRST_KEYS.setdefault(_key.id, _key)


_ID: Final = re.compile(r"\{([a-z-]+\.[a-z0-9-]+)\}")


def use(own: Mapping[str, str]) -> None:
    """Sets the user's own keys, by id, for all texts; Textual's keymap makes the keys work."""
    _OWN_KEYS.clear()
    _OWN_KEYS.update(own)


def in_footer(key: Key) -> SafeText:
    """Returns a key as the footer shows it; ``1-7`` stands for several keys that have their default names."""
    if not key.others or not _OWN_KEYS.keys().isdisjoint((key.id, *key.others)):
        return key.shown
    last = key_of(key.others[-1])
    return safe("{}-{}", key.shown, last) if len(key.others) > 1 else safe("{} {}", key.shown, last)


def names_in(ids: Iterable[str]) -> frozenset[str]:
    """Returns Textual's names of the keys in force for several ids."""
    return frozenset(name for id_ in ids for name in FIRST_KEYS[id_].names)


def key_of(id_: str) -> SafeText:
    """Returns the key of an id, for a sentence: ``r``, ``^p``."""
    return FIRST_KEYS[id_].shown


def hint(text: LiteralString) -> SafeText:
    """Replaces ids in braces by their keys: ``Press {server.menu} to reconnect``."""
    return clean(_ID.sub(lambda found: key_of(found[1]), text))


# -- footer, palette, help ---------------------------------------------------------------------------


def keys(*scopes: Scope) -> list[Key]:
    """Returns the keys that have an effect in some scopes, each id once; by default those of the workbench."""
    found: dict[str, Key] = {}
    for scope in scopes or (WORKBENCH, EVERYWHERE):
        for key in scope.keys:
            if key.action != "read_only":
                found.setdefault(key.id, key)
    return list(found.values())


def help_texts(scopes: Sequence[Scope]) -> list[tuple[SafeText, list[tuple[SafeText, SafeText]]]]:
    """Returns the title of each scope with its keys and their help.

    ``scopes`` starts with the innermost one. A scope is listed without the keys that a scope before it uses.
    """
    sections: list[tuple[SafeText, list[tuple[SafeText, SafeText]]]] = []
    taken: set[str] = set()
    for scope in scopes:
        lines: list[tuple[SafeText, SafeText]] = []
        scope_names: set[str] = set()
        for key in keys(scope):
            names = [name for name in key.names if name not in taken]
            if names:
                scope_names.update([] if key.lends else names)
                lines.append((all_shown(names), words(key.help)))
        taken |= scope_names
        if lines:
            sections.append((words(scope.title), lines))
    return sections
