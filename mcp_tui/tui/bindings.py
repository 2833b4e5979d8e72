"""Every key of the workbench, once: bindings, footer, palette and help are made from this list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, LiteralString, cast

from textual.binding import Binding, BindingType

from mcp_tui.tui.view.text import SafeText, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. ``id`` is what a keymap names it by; ``footer`` is its place in the footer, 0 for none there.

    ``wide`` keeps it out of a footer below 120 cells; ``hidden`` out of the palette. Keys that open something have
    ``priority``: they work before the next key is looked at, so that what is typed ahead reaches what they open.
    """

    id: LiteralString
    keys: LiteralString
    shown: LiteralString
    action: LiteralString
    label: LiteralString
    help: LiteralString
    footer: int = 0
    wide: bool = False
    hidden: bool = False
    priority: bool = False


KEYS: Final = (
    Key(
        id="request.cancel",
        keys="c",
        shown="c",
        action="cancel",
        label="Cancel",
        help="cancel the selected request, with a reason",
        footer=1,
        priority=True,
    ),
    Key(
        id="request.cancel-now",
        keys="C",
        shown="C",
        action="cancel_now",
        label="Cancel now",
        help="cancel it at once, with the default reason",
        footer=2,
        priority=True,
    ),
    Key(
        id="request.cancel-all",
        keys="X",
        shown="X",
        action="cancel_all",
        label="Cancel all",
        help="cancel everything in flight, asked once",
        footer=3,
        wide=True,
        priority=True,
    ),
    Key(
        id="request.new",
        keys="n",
        shown="n",
        action="new",
        label="New",
        help="call a tool",
        footer=4,
        priority=True,
    ),
    Key(
        id="request.again",
        keys="r",
        shown="r",
        action="again",
        label="Again",
        help="the same request again, with a new id",
        footer=5,
        priority=True,
    ),
    Key(
        id="request.extend",
        keys="+",
        shown="+",
        action="extend",
        label="+30s",
        help="give it 30 seconds more before its limit",
    ),
    Key(
        id="question.answer",
        keys="a",
        shown="a",
        action="answer",
        label="Answer",
        help="answer what the server asks",
        footer=6,
        priority=True,
    ),
    Key(
        id="view.filter",
        keys="/",
        shown="/",
        action="filter",
        label="Filter",
        help="filter the requests, or the focused list: state:late -name:poll id:7 /text/ words",
        footer=7,
        priority=True,
    ),
    Key(
        id="view.follow",
        keys="F",
        shown="F",
        action="follow",
        label="Follow",
        help="keep the newest request in sight, or not",
        footer=8,
        wide=True,
    ),
    Key(
        id="view.newest",
        keys="g",
        shown="g",
        action="newest",
        label="Newest",
        help="to the newest request (in a pane: to its top)",
    ),
    Key(
        id="view.oldest",
        keys="G",
        shown="G",
        action="oldest",
        label="Oldest",
        help="to the oldest request (in a pane: to its bottom)",
    ),
    Key(
        id="view.own",
        keys="o",
        shown="o",
        action="own",
        label="Own requests",
        help="show requests that mcp-tui made for itself, or not",
    ),
    Key(
        id="view.sort",
        keys="s",
        shown="s",
        action="sort",
        label="Sort",
        help="the next order: newest, elapsed, state, name (in Cancellations: outcome, lag, name)",
    ),
    Key(
        id="view.unfold",
        keys="e",
        shown="e",
        action="unfold",
        label="Expand",
        help="what belongs to a request under it, or not: legs, polls, the server's requests",
    ),
    Key(
        id="view.open",
        keys="right",
        shown="→",
        action="unfold('open')",
        label="Expand it",
        help="in the requests: show what belongs to the request",
        hidden=True,
    ),
    Key(
        id="view.close",
        keys="left",
        shown="←",
        action="unfold('close')",
        label="Collapse it",
        help="in the requests: hide it again",
        hidden=True,
    ),
    Key(
        id="request.mark",
        keys="space,m",
        shown="space",
        action="mark",
        label="Mark",
        help="mark the request, or not (m as well): c, C, r and E act on all marked; esc clears the marks",
    ),
    Key(
        id="request.export",
        keys="E",
        shown="E",
        action="export",
        label="Export",
        help="write the marked requests, or the selected one, to a file: JSON lines or Markdown",
    ),
    Key(
        id="wire.request",
        keys="W",
        shown="W",
        action="wire_of",
        label="Its frames",
        help="the frames of the selected request alone, or of all again; enter opens a frame",
    ),
    Key(
        id="view.zoom",
        keys="z",
        shown="z",
        action="zoom",
        label="Zoom",
        help="the focused pane alone, and back",
        footer=9,
        wide=True,
    ),
    Key(
        id="request.copy",
        keys="y",
        shown="y",
        action="copy",
        label="Copy",
        help="copy the request and its answer as JSON, without secrets",
        footer=10,
        wide=True,
    ),
    Key(
        id="request.save",
        keys="w",
        shown="w",
        action="save",
        label="Save",
        help="write the same to a file",
    ),
    Key(
        id="view.pane-1",
        keys="1",
        shown="1-6",
        action="pane('detail')",
        label="Pane",
        help="the pane Detail",
        footer=11,
    ),
    Key(
        id="view.pane-2",
        keys="2",
        shown="2",
        action="pane('catalogue')",
        label="Catalogue",
        help="the pane Catalogue; enter on a tool calls it",
    ),
    Key(
        id="view.pane-3",
        keys="3",
        shown="3",
        action="pane('cancellations')",
        label="Cancellations",
        help="the pane Cancellations",
    ),
    Key(
        id="view.pane-4",
        keys="4",
        shown="4",
        action="pane('log')",
        label="Log",
        help="the pane Log: stderr, log messages, broken rules",
    ),
    Key(
        id="view.pane-5",
        keys="5",
        shown="5",
        action="pane('wire')",
        label="Wire",
        help="the pane Wire: every frame",
    ),
    Key(
        id="view.pane-6",
        keys="6",
        shown="6",
        action="pane('timeline')",
        label="Timeline",
        help="the pane Timeline: requests as bars on one clock; ← → pan, enter goes to the row",
    ),
    Key(
        id="timeline.in",
        keys="i",
        shown="i",
        action="timeline(1)",
        label="Less time",
        help="the timeline with less time in sight, finer",
    ),
    Key(
        id="timeline.out",
        keys="I",
        shown="I",
        action="timeline(-1)",
        label="More time",
        help="the timeline with more time in sight",
    ),
    Key(
        id="view.sides-wider",
        keys="right_parenthesis",
        shown=")",
        action="size('sides', 1)",
        label="Wider sides",
        help="more room for the panes at the sides, or for the one in use; borders can be dragged too",
    ),
    Key(
        id="view.sides-narrower",
        keys="left_parenthesis",
        shown="(",
        action="size('sides', -1)",
        label="Narrower sides",
        help="less room for them",
    ),
    Key(
        id="view.lower-higher",
        keys="equals_sign",
        shown="=",
        action="size('lower', 1)",
        label="Higher panes below",
        help="more room for the panes below the requests",
    ),
    Key(
        id="view.lower-lower",
        keys="minus",
        shown="-",
        action="size('lower', -1)",
        label="Lower panes below",
        help="less room for them",
    ),
    Key(
        id="server.menu",
        keys="S",
        shown="S",
        action="server",
        label="Server",
        help="server: reconnect or stop",
        footer=12,
        wide=True,
        priority=True,
    ),
    Key(
        id="server.list",
        keys="v",
        shown="v",
        action="servers",
        label="Servers",
        help="all servers: go to one, add one, close one",
        priority=True,
    ),
    Key(
        id="server.next",
        keys="ctrl+n",
        shown="^n",
        action="next_server",
        label="Next server",
        help="the next of several servers, as it was left",
        priority=True,
    ),
    Key(
        id="server.probe",
        keys="P",
        shown="P",
        action="probe",
        label="Probe",
        help="does the server stop when told to? cancels a slow tool in every way",
        priority=True,
    ),
    Key(
        id="app.palette",
        keys="ctrl+p",
        shown="^p",
        action="app.command_palette",
        label="Palette",
        help="every command, by name",
        footer=13,
        hidden=True,
    ),
    Key(
        id="app.help",
        keys="?",
        shown="?",
        action="help",
        label="Help",
        help="these keys",
        footer=14,
        priority=True,
    ),
    Key(
        id="app.interrupt",
        keys="ctrl+c",
        shown="^c",
        action="interrupt",
        label="Cancel, copy or quit",
        help="copies selected text; else cancels the selected request in flight; else quits",
        hidden=True,
    ),
    Key(
        id="app.back",
        keys="escape",
        shown="esc",
        action="back",
        label="Back",
        help="closes what was opened last; never leaves mcp-tui",
        hidden=True,
    ),
    Key(
        id="app.quit",
        keys="ctrl+q",
        shown="^q",
        action="app.quit",
        label="Quit",
        help="quit; asks once while requests are in flight, the second time it goes at once",
        footer=15,
        wide=True,
        priority=True,
    ),
)


RECORDED: Final = (
    Key(
        id="replay.play",
        keys="space",
        shown="space",
        action="play",
        label="Play",
        help="play, or stand still",
        footer=1,
    ),
    Key(
        id="replay.next",
        keys="full_stop,right",
        shown=".",
        action="step(1)",
        label="Step",
        help="the next event; in the requests → as well",
        footer=2,
    ),
    Key(
        id="replay.previous",
        keys="comma,left",
        shown=",",
        action="step(-1)",
        label="Step back",
        help="one event back; in the requests ← as well",
    ),
    Key(
        id="replay.next-cancellation",
        keys="right_square_bracket",
        shown="]",
        action="cancellation(1)",
        label="Cancelled",
        help="to the next cancellation",
        footer=3,
    ),
    Key(
        id="replay.previous-cancellation",
        keys="left_square_bracket",
        shown="[",
        action="cancellation(-1)",
        label="Cancelled before",
        help="to the cancellation before",
    ),
    Key(
        id="replay.start",
        keys="left_curly_bracket",
        shown="{ }",
        action="start",
        label="Ends",
        help="to the start of the recording",
        footer=4,
        wide=True,
    ),
    Key(
        id="replay.end",
        keys="right_curly_bracket",
        shown="}",
        action="end",
        label="End",
        help="to its end",
    ),
    Key(
        id="replay.faster",
        keys="greater_than_sign",
        shown=">",
        action="speed(1)",
        label="Faster",
        help="play twice as fast",
        footer=5,
        wide=True,
    ),
    Key(
        id="replay.slower",
        keys="less_than_sign",
        shown="<",
        action="speed(-1)",
        label="Slower",
        help="play half as fast",
    ),
    Key(
        id="replay.find",
        keys="f",
        shown="f",
        action="find",
        label="Find",
        help="find a text in events and frames; enter, ↑ and ↓ go on from there",
        footer=6,
        priority=True,
    ),
)
"""Keys of a recording alone."""

LOOKING: Final = frozenset(
    {
        "app.back",
        "app.help",
        "app.interrupt",
        "app.palette",
        "app.quit",
        "request.copy",
        "request.export",
        "request.mark",
        "request.save",
        "view.filter",
        "view.follow",
        "view.newest",
        "view.oldest",
        "view.own",
        "view.pane-1",
        "view.pane-2",
        "view.pane-3",
        "view.pane-4",
        "view.pane-5",
        "view.pane-6",
        "timeline.in",
        "timeline.out",
        "view.sort",
        "view.unfold",
        "view.zoom",
        "view.sides-wider",
        "view.sides-narrower",
        "view.lower-higher",
        "view.lower-lower",
        "wire.request",
    }
)
"""Keys that only look, by their ids, so that they work on a recording too. Every other would act on a server."""


TYPED: Final = frozenset({*(key.action for key in KEYS if len(key.keys) == 1), "find"})
"""Actions on keys that are also letters of a text."""


_REMAPPED: Final[dict[str, str]] = {}


def remap(shown: Mapping[str, str]) -> None:
    """Show other keys from now on, by the ids of what they do. That they work is the keymap's matter."""
    _REMAPPED.clear()
    _REMAPPED.update(shown)


def keys() -> list[Key]:
    """All keys, as they are shown."""
    return [
        replace(key, shown=cast("LiteralString", _REMAPPED[key.id])) if key.id in _REMAPPED else key
        for key in KEYS
    ]


def replay_keys() -> list[Key]:
    """The keys of a recording, as they are shown: its own, and those that only look."""
    looking = [
        replace(key, footer=key.footer and key.footer + len(RECORDED)) for key in keys() if key.id in LOOKING
    ]
    return [*RECORDED, *looking]


def replay_bindings() -> list[BindingType]:
    """The keys of a recording as Textual takes them; one that would act says that it does not."""
    made: list[BindingType] = []
    for key in (*RECORDED, *KEYS):
        if key.id in {"view.open", "view.close"}:
            continue  # the arrows step
        works = key in RECORDED or key.id in LOOKING
        action = key.action if works else "read_only"
        made.append(
            Binding(key.keys, action, key.label, id=key.id, show=False, priority=key.priority and works)
        )
    return made


def bindings() -> list[BindingType]:
    """The keys as Textual takes them."""
    return [
        Binding(key.keys, key.action, key.label, id=key.id, show=False, priority=key.priority) for key in KEYS
    ]


def footer(cells: int, offered: Iterable[Key] | None = None) -> list[Key]:
    """The keys that a footer of ``cells`` cells shows, in order: of those offered, else of the workbench's."""
    found = (key for key in (keys() if offered is None else offered) if key.footer)
    shown = sorted(found, key=lambda key: key.footer)
    return [key for key in shown if cells >= 120 or not key.wide]


def help_lines(offered: Iterable[Key] | None = None) -> list[tuple[SafeText, SafeText]]:
    """Each key and what it does: of those offered, else of the workbench's."""
    lines = [(words(key.shown), words(key.help)) for key in (keys() if offered is None else offered)]
    # where the footer has no room for two keys that belong together, the first stands for both
    return [(words(_FIRST[shown]) if shown in _FIRST else shown, said) for shown, said in lines]


_FIRST: Final[dict[str, LiteralString]] = {"1-6": "1", "{ }": "{"}
