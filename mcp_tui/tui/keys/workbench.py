"""The keys of the workbench, those of a recording, and those that work everywhere."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys.key import Key, Scope

# fmt: off
EVERYWHERE: Final = Scope("everywhere", "Everywhere", keys=(
    Key("app.palette", "ctrl+p", "command_palette", "Palette", "every command, by name", footer=13, hidden=True, priority=True),
    Key("app.keys", "f1", "help", "Keys", "the keys of where you are", hidden=True, priority=True),
    Key("app.interrupt", "ctrl+c", "help_quit", "Cancel, copy or quit", "copy selected text; else cancel the selected request, or close the dialog; else quit", hidden=True),
    Key("app.suspend", "ctrl+z", "suspend", "Suspend", "back to the shell; fg returns (in a text it is undo)"),
    Key("app.quit", "ctrl+q", "quit", "Quit", "quit (confirms if requests are running)", priority=True),
))
"""The keys of the app itself."""

_PANES: Final = ("view.pane-2", "view.pane-3", "view.pane-4", "view.pane-5", "view.pane-6")

WORKBENCH: Final = Scope("workbench", "The workbench", within=("everywhere",), keys=(
    Key("request.cancel", "c", "cancel", "Cancel", "cancel the selected request, with a reason", footer=1, priority=True, acts=True),
    Key("request.cancel-now", "C", "cancel_now", "Cancel now", "cancel it at once, with the default reason", footer=2, wide=True, priority=True, acts=True),
    Key("request.cancel-all", "X", "cancel_all", "Cancel all", "cancel all running requests that the filter shows, with a reason", footer=3, wide=True, priority=True, acts=True),
    Key("request.new", "n", "new", "New", "call a tool", footer=4, priority=True, acts=True),
    Key("request.again", "r", "again", "Again", "the same request again, with a new id", footer=5, priority=True, acts=True),
    Key("request.edit", "e", "edit", "Edit", "edit the arguments of the selected call, and send it again", footer=6, priority=True, acts=True),
    Key("request.saved", "b", "saved", "Saved calls", "saved calls: call one, or save the selected one", priority=True, acts=True),
    Key("request.extend", "+", "extend", "+30s", "give it 30 seconds more before its limit", acts=True),
    Key("question.answer", "a", "answer", "Answer", "answer what the server asks", footer=6, priority=True, acts=True),
    Key("view.filter", "/", "filter", "Filter", "filter requests or the focused list: state:late -name:poll id:7 /text/ words", footer=7, priority=True),
    Key("view.follow", "F", "follow", "Follow", "follow newest request on/off", footer=8, wide=True),
    Key("view.newest", "g", "newest", "Newest", "to the newest request"),
    Key("view.oldest", "G", "oldest", "Oldest", "to the oldest request"),
    Key("view.internal", "o", "internal", "Own requests", "show/hide internal requests"),
    Key("view.sort", "s", "sort", "Sort", "change sort order"),
    Key("view.unfold", "u", "unfold", "Expand", "expand/collapse related messages (rounds, polls, server requests)"),
    Key("view.open", "right", "unfold('open')", "Expand it", "in the requests: show what belongs to the request", hidden=True),
    Key("view.close", "left", "unfold('close')", "Collapse it", "in the requests: hide it again", hidden=True),
    Key("request.mark", "space,m", "mark", "Mark", "mark/unmark; cancel, repeat, and export then apply to all marked"),
    Key("request.mark-all", "M", "mark_all", "Mark all", "mark all requests that the filter shows, or clear all marks"),
    Key("request.export", "E", "export", "Export", "write marked or selected requests to a file (JSON lines or Markdown)"),
    Key("wire.request", "W", "wire_of", "Messages", "wire: only selected request on/off"),
    Key("view.zoom", "z", "zoom", "Zoom", "zoom focused pane", footer=9, wide=True),
    Key("request.copy", "y", "copy", "Copy result", "copy the result, without secrets", footer=10, wide=True),
    Key("request.copy-both", "Y", "copy(True)", "Copy request and result", "copy the request and its answer as JSON, without secrets"),
    Key("request.save", "w", "save", "Save", "write request and answer to a file"),
    Key("view.pane-1", "1", "pane('detail')", "Pane", "the pane Detail", footer=11, priority=True, others=_PANES),
    Key("view.pane-2", "2", "pane('catalogue')", "Catalogue", "the pane Catalogue: what can be called", priority=True),
    Key("view.pane-3", "3", "pane('cancellations')", "Cancellations", "the pane Cancellations", priority=True),
    Key("view.pane-4", "4", "pane('log')", "Log", "the pane Log: stderr, log messages, broken rules", priority=True),
    Key("view.pane-5", "5", "pane('wire')", "Wire", "the pane Wire: every message", priority=True),
    Key("view.pane-6", "6", "pane('timeline')", "Timeline", "the pane Timeline: requests as bars on one clock", priority=True),
    Key("timeline.in", "i", "timeline(1)", "Less time", "the timeline with less time in sight, finer"),
    Key("timeline.out", "I", "timeline(-1)", "More time", "the timeline with more time in sight"),
    Key("view.sides-wider", ")", "size('sides', 1)", "Wider sides", "more room for the panes at the sides, or for the one in use"),
    Key("view.sides-narrower", "(", "size('sides', -1)", "Narrower sides", "less room for them"),
    Key("view.lower-higher", "=", "size('lower', 1)", "Higher panes below", "more room for the panes below the requests"),
    Key("view.lower-lower", "-", "size('lower', -1)", "Lower panes below", "less room for them"),
    Key("server.menu", "S", "server", "Reconnect", "server: reconnect or stop", footer=1, priority=True, acts=True),
    Key("server.sign-in", "L", "sign_in", "Sign in", "sign in to the server", footer=5, priority=True, acts=True),
    Key("server.list", "v", "app.servers", "Servers", "all servers: go to one, add one, close one", priority=True, acts=True),
    Key("server.next", "ctrl+n", "app.next_server", "Next server", "the next of several servers, as it was left", priority=True, acts=True),
    Key("server.probe", "P", "probe", "Probe", "run the cancellation probe", priority=True, acts=True),
    Key("app.help", "?", "help", "Help", "these keys", footer=14, priority=True),
    Key("app.leave", "q", "app.ask_quit", "Quit", "quit; always asks", footer=15, priority=True),
    Key("app.interrupt", "ctrl+c", "interrupt", "Cancel, copy or quit", "copy selected text; else cancel the selected request; else quit", hidden=True),
    Key("app.back", "escape", "back", "Back", "close / back", hidden=True),
))
# fmt: on


# fmt: off
RECORDED: Final = (
    Key("replay.play", "space", "play", "Play", "play/pause", footer=-6),
    Key("replay.next", ".,right", "step(1)", "Step", "the next event; the arrow in the requests only", footer=-5),
    Key("replay.previous", "comma,left", "step(-1)", "Step back", "one event back"),
    Key("replay.next-cancellation", "]", "cancellation(1)", "Cancelled", "to the next cancellation", footer=-4),
    Key("replay.previous-cancellation", "[", "cancellation(-1)", "Cancelled before", "to the cancellation before"),
    Key("replay.start", "{", "start", "Ends", "to the start of the recording", footer=-3, wide=True, others=("replay.end",)),
    Key("replay.end", "}", "end", "End", "to its end"),
    Key("replay.faster", ">", "speed(1)", "Faster", "play twice as fast", footer=-2, wide=True),
    Key("replay.slower", "<", "speed(-1)", "Slower", "play half as fast"),
    Key("replay.find", "f", "find", "Find", "find a text in events and messages", footer=-1, priority=True),
    Key("replay.find-next", "down", "find_on(1)", "Find on", "while finding: next match, as enter does", hidden=True),
    Key("replay.find-previous", "up", "find_on(-1)", "Find back", "while finding: previous match", hidden=True),
)
# fmt: on
"""Keys of a recording alone; in the footer they stand before the others."""

_OWN: Final = frozenset(name for each in RECORDED for name in each.names)

STEPS: Final = frozenset({"view.open", "view.close"})
"""Keys of the workbench, by their ids, that a recording has not: the arrows step."""


def _as_here(key: Key) -> Key:
    """A key of the workbench as it is on a recording, where others may have some of its keys."""
    keys = ",".join(name for name in key.names if name not in _OWN)
    if key.id == "app.back":
        return key._replace(keys=keys, footer=-7)
    if key.acts:
        return key._replace(keys=keys, action="read_only", footer=0, hidden=True, priority=False)
    return key._replace(keys=keys)


RECORDING: Final = Scope(
    "recording",
    "A recording",
    (*RECORDED, *(_as_here(key) for key in WORKBENCH.keys if key.id not in STEPS)),
    within=("everywhere",),
)
