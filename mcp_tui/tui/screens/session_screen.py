"""The screen of a session or a recording: its panes, the timer that draws changes, and the keys that send nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, LiteralString

from textual import events
from textual.app import ComposeResult

from mcp_tui.journal.payloads import SearchedMessages
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import about
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.base import Turn
from mcp_tui.tui.bindings import footer_keys
from mcp_tui.tui.screens.layout import TABS, LayoutScreen
from mcp_tui.tui.screens.parts.copying import Copying
from mcp_tui.tui.screens.parts.details import Details, Messages, Payloads
from mcp_tui.tui.screens.parts.filtering import FilterLine
from mcp_tui.tui.sources.scene import Scene
from mcp_tui.tui.widgets.canvas import Canvas, ListCanvas
from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.tui.widgets.timeline_pane import Timeline
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import TYPING, Key, key_of, keys
from mcp_tui.view.outline import row_key
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import NOTHING, SafeText, brief, words

TICK_SECONDS: Final = 0.1
"""Seconds between two checks for changes."""

DETAIL_SECONDS: Final = 0.9
"""Seconds for which the times in an otherwise unchanged detail are not updated."""

RESTING_SECONDS: Final = 0.25
"""Seconds between two checks whether a screen on which nothing changed still shows all."""

SECOND: Final = 0.9
"""Seconds after which the times that change once a second are drawn, at the next check."""

TYPING_SECONDS: Final = 1.0
"""Seconds after a key in which each check draws the changes; otherwise consecutive changes wait for the next check."""

BENEATH_TICKS: Final = 50
"""The number of checks between two frames beneath a dialog. Those are drawn as a whole, so a key of the dialog waits for
them; the dialog itself shows the state of its request.
"""

ENDED: Final = frozenset({State.COMPLETED, State.FAILED, State.LOST})
"""The states that a request reaches without a key."""


class SessionScreen(LayoutScreen):
    """The panes of one scene. It sends nothing, and writes only files that a person asks for."""

    ALLOW_IN_MAXIMIZED_VIEW = "ServerBar, KeyBar, FilterLine"
    AUTO_FOCUS = "RequestTable"

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self.scene = scene
        self.table = RequestTable(scene.requests, now=scene.now, id="requests")
        self.table.messages = SearchedMessages(scene.payload)
        self.detail = Detail(id="detail")
        self.catalogue = LineList(
            scene.catalogue,
            title="Catalogue",
            what="item",
            from_top=True,
            count=lambda: scene.catalogue.matching,
            total=lambda: scene.catalogue.count,
            empty="Nothing listed so far.",
            id="catalogue",
        )
        self.cancellations = LineList(
            scene.cancellations,
            title="Cancellations",
            what="cancellation",
            newest_first=True,
            empty=f"No cancellations yet. Press {key_of('request.cancel')} on a running request.",
            id="cancellations",
        )
        self.log_list = LineList(scene.log, title="Log", empty="No log output yet.", id="log")
        self.wire = LineList(scene.wire, title="Wire", what="message", empty="No messages yet.", id="wire")
        self.timeline = Timeline(scene.spans, self.table.outline, now=scene.now, id="timeline")
        lists = (self.catalogue, self.cancellations, self.log_list, self.wire)
        self.panes: dict[str, Canvas] = {str(each.id): each for each in (self.detail, *lists, self.timeline)}
        self.payloads = Payloads(scene)
        self.messages = Messages(scene, self.table)
        self.filtering = FilterLine(self, scene, self.table, self.messages)
        self.details = Details(self, scene, self.table, self.payloads, self.messages, self.detail)
        self.copying = Copying(self, scene, self.table, self.payloads, self.filtering)
        self._drawn: tuple[object, ...] = ()
        self._ticks = 0
        self.resting = False  # whether changes are looked for less often
        self._second_at = 0.0  # when the times of the screen were last drawn
        self._detailed: tuple[object, float] = None, 0.0
        self._moving = False  # whether the last check found changes
        self._fast = False  # whether a timer moved ten times a second then
        self._behind = False  # whether the lists lack the newest changes
        self._problems = 0
        self._from_catalogue = False  # whether the catalogue had the focus last, besides the detail

    def compose(self) -> ComposeResult:
        self.place(self.app.size.width)
        yield self.bar
        with self.body:
            yield from (each for each in self.placed(self.table) if each is not self.timeline)
        yield self.filtering
        yield self.keys

    def on_mount(self) -> None:
        self.keys.show(self.footer_offers())
        self.show_pane(self.pane)
        self.table.timers = self.timeline.timers = self.app.timers
        self._ticking = self.set_interval(TICK_SECONDS, self._tick)
        self.set_interval(RESTING_SECONDS, self._wake)
        look = self.app.preferences.look
        self.share_out(look.shares)
        self.table.follow = look.follow
        self.table.refilter(show_internal=look.internal)
        if look.pane in TABS:
            self.choose_pane(look.pane)
        self.look()

    def on_unmount(self) -> None:
        if self._drawn:  # otherwise it was never on the screen
            look = self.app.preferences.look
            look.internal = self.table.outline.show_internal
            look.keep(self.shares, self.pane if self.chosen else "")

    def offered(self) -> list[Key]:
        """Returns the keys for palette and help."""
        return keys()

    def footer_offers(self) -> list[Key]:
        """Returns the keys of the footer."""
        if self.typing:
            (done, closed), (enter, escape, *others) = self.typing, TYPING
            escape = escape._replace(id="", keys=",".join(escape.names), label=closed)
            return [enter._replace(label=done), escape, *others]
        return footer_keys(self.focused, self.offered(), lends=bool(self.detail.finder.places))

    @property
    def typing(self) -> tuple[LiteralString, LiteralString] | None:
        """The labels of enter and esc while a filter or a search text is typed; ``None`` otherwise."""
        return (
            ("Done", "Clear") if self.focused is self.filtering.input or self.detail.finder.typing else None
        )

    # -- drawing -----------------------------------------------------------------------------------------------

    def before_key(self) -> None:
        """Reports the item under the cursor to the key guard."""
        row = self.table.selected
        ended = self.entry() is None and row is not None and row.state in ENDED
        self.app.guard.watch(self._target(), ended=ended)

    def after_key(self) -> None:
        self._act()
        self.app.guard.moved(self._target())

    def _target(self) -> object:
        """Returns the item under the cursor for the key guard: an entry, or else the request."""
        entry, row = self.entry(), self.table.selected
        if entry is not None:
            return entry.kind, entry.name
        return None if row is None else row_key(row)

    def _tick(self) -> None:
        if self not in self.app.screen_stack:
            return  # another server is on the screen
        self._ticks += 1
        typing = time.monotonic() - Turn.pressed < TYPING_SECONDS
        if not typing and not self._moving and not self._behind and self.rests():
            self.resting = True
            self._ticking.pause()
            return
        # A change more than five times a second cannot be read, and is half of the work for a steady log.
        lists = self._ticks % (2 if self.on_top else BENEATH_TICKS) == 0
        if lists or not self._moving or self.table.runs_fast or typing:
            self.look(lists=lists)

    def _wake(self) -> None:
        """Ends a rest if something has changed, and looks once a second."""
        if not self.rests():
            self._act()
        elif time.monotonic() - self._second_at >= SECOND and self in self.app.screen_stack:
            self.look(lists=self.on_top)

    def _act(self) -> None:
        self.resting = False
        self._ticking.resume()

    def rests(self) -> bool:
        """Whether nothing has changed since the last look, and no timer moves ten times a second."""
        return not self._fast and self._state() == self._drawn

    def _state(self) -> tuple[object, ...]:
        """Returns a value that stays equal until the screen must be drawn again."""
        item = self.table.item
        return self.scene.stamp(), self.pane, item and item.key, self.entry(), self.focused

    def look(self, *, lists: bool = True) -> None:
        if not self.is_mounted or not self.table.is_mounted:
            return
        if not (lists or self.on_top):
            return
        now, second = self.scene.now(), time.monotonic() - self._second_at >= SECOND
        if second:
            self._second_at = time.monotonic()
        self.table.refresh_rows()
        self.keys.show(self.footer_offers(), self.idle())
        if self.table.item is None and not self.table.wanted and len(self.table.outline):
            self.table.action_newest()
        # Also without a key: the guard must know since when this row is under the cursor.
        if self.on_top:
            self.before_key()
        drawn = self._state()
        self._moving, self._fast = drawn != self._drawn, self.table.runs_fast
        if self._moving:
            self._drawn = drawn
            self._draw(now)
        elif self.table.timers != "off" and (second or self.table.is_fast(self.table.selected)):
            self._show_detail(now)
            self.bar.show(self.scene.facts(now))
        if lists:
            self.filtering.refresh_lists(all_=self._behind)
            self._behind = False
        if self.timeline.display:
            self.timeline.refresh_spans()
        elif second:
            # while the requests are unpacked: old ones would have to be unpacked again
            self.scene.spans.update()

    def forget(self) -> None:
        self._drawn = ()
        self.look()

    def _draw(self, now: float) -> None:
        facts = self.scene.facts(now)
        self.bar.show(facts)
        self.table.set_loss(facts.detail if facts.link is Link.LOST else NOTHING)
        empty = self.scene.empty_text()
        if empty != self.table.empty:
            self.table.empty = empty
            self.table.refresh()
        self.drawing()
        entries, cancellations = self.scene.catalogue.count, len(self.scene.cancellations.numbers)
        self.tab_titles.count({"catalogue": entries, "cancellations": cancellations})
        if self.catalogue.display:
            self.catalogue.refresh_source()
        self._behind = True
        self.fit()
        self._show_detail(now)
        for problem in self.scene.problems[self._problems :]:
            self._problems += 1
            self.show_message(brief(problem, 400), "error")

    def drawing(self) -> None:
        """Called before the panes are drawn again."""

    def needs(self) -> tuple[int, int]:
        border, indent, scrollbar = 2, 2, 1
        lines = self.table.header + max(2, len(self.table.outline))
        return lines + border, self.scene.catalogue.widest + indent + scrollbar + border

    def _show_detail(self, now: float) -> None:
        row = self.table.selected
        shown, at = row and (row_key(row), row.version), self._detailed[1]
        same = row is not None and shown == self._detailed[0]
        if same and now - at <= DETAIL_SECONDS and not self.table.is_fast(row):
            now = at  # not every notification changes a time in tenths of a second
        self._detailed = shown, now
        self.details.show(now, self.entry(), *self.detailed())

    def detailed(self) -> tuple[Request | None, SafeText]:
        """Returns the request of the detail, if it shows one, and advice beyond the keys at the bottom."""
        return self.table.selected, NOTHING

    def entry(self) -> Entry | None:
        """Returns the entry under the cursor while the catalogue has the focus, or the detail was entered from it."""
        entered = self.focused is self.detail and self._from_catalogue
        line = self.catalogue.selected if entered or self.focused is self.catalogue else None
        return line.key if line is not None and isinstance(line.key, Entry) else None

    def idle(self) -> frozenset[str]:
        """Returns the ids of the footer's keys that would do nothing now."""
        return frozenset()

    # -- panes -------------------------------------------------------------------------------------------------

    def show_pane(self, name: str) -> None:
        super().show_pane(name)
        if name == "timeline" and not self.timeline.is_attached:
            # Mounted when it is first shown, which most sessions never do.
            self.body.mount(self.timeline)
        self.forget()

    def action_pane(self, name: str) -> None:
        """Shows and focuses a pane, or the requests; the key of the focused pane goes back to the requests."""
        self.minimize()  # otherwise the focused pane could be hidden
        if name == "requests" or self.focused is self.panes[name]:
            self.set_focus(self.table)
            return
        self.chosen = True
        self._from_catalogue = self.entry() is not None
        self.show_pane(name)
        self.set_focus(self.panes[name])

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if (
            event.widget is self.focused is not self.detail
        ):  # not one that only had it while the catalogue was hidden
            self._from_catalogue = event.widget is self.catalogue

    def on_click(self, event: events.Click) -> None:
        """Handles a click on a tab in the border of a pane."""
        name = self.tab_titles.at(event)
        if name:
            self.action_pane(name)

    def on_list_canvas_selected(self, event: ListCanvas.Selected) -> None:
        if event.lines is self.table:
            self.timeline.select(event.about)
            self.details.leave_message(event.about)
            self.look()
        elif event.lines is self.timeline:
            self.table.select(event.about)
        elif event.lines is self.wire and event.about is not None:
            self.details.point_at_message(event.about)

    async def on_list_canvas_activated(self, event: ListCanvas.Activated) -> None:
        if event.lines is self.table:
            self.action_pane("detail")
        elif event.lines is self.timeline:
            self.table.select(event.about)
            self.minimize()
            self.set_focus(self.table)
        elif isinstance(event.about, Entry):
            await self.activate(event.about)
        elif event.lines is self.cancellations and event.about is not None:
            self.filtering.go_to(event.about)
        elif event.lines is self.wire and event.about is not None:
            self.details.open_message(event.about)
        elif isinstance(event.about, ev.Event) and (id_ := about(event.about)) is not None:
            self.filtering.go_to(id_)

    async def activate(self, entry: Entry) -> None:
        """Calls an entry of the catalogue."""

    async def on_detail_opened(self) -> None:
        if (entry := self.entry()) is not None:
            await self.activate(entry)
        else:
            await self.details.open_result(self.follower())

    def follower(self) -> Callable[[str], None] | None:
        """Returns the function that reads a linked resource; ``None`` if none can be read."""
        return None

    # -- keys of the view --------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.filtering.open_input()

    def action_sort(self) -> None:
        self.filtering.sort()

    def action_wire_of(self) -> None:
        """Shows only the messages of the selected request, or the raw schemas of an entry of the catalogue."""
        if self.entry() is None:
            self.filtering.messages_of_selected()
        else:
            self.details.raw_schemas = not self.details.raw_schemas
            self.forget()

    def action_mark(self) -> None:
        self.copying.mark()

    def action_mark_all(self) -> None:
        self.copying.mark_all()

    async def action_copy(self) -> None:
        await self.copying.copy()

    def action_copy_again(self) -> None:
        self.copying.copy_again()

    async def action_export(self) -> None:
        await self.copying.export()

    async def action_compare(self) -> None:
        await self.copying.compare()

    def action_newest(self) -> None:
        self.table.action_newest()

    def action_oldest(self) -> None:
        self.table.action_oldest()

    def action_zoom(self) -> None:
        """Zooms the focused widget in or out."""
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)

    def action_follow(self) -> None:
        """Turns following the newest line on or off, in the focused list or else the table."""
        focused = self.focused
        target: LineList | Timeline | RequestTable = self.table
        if isinstance(focused, LineList | Timeline) and focused is not self.catalogue:
            target = focused
        target.follow = not target.follow
        if target is self.table:
            self.app.preferences.look.follow = target.follow
        self.show_message(
            words("Follow newest on" if target.follow else "Follow newest off"), "muted", seconds=2
        )

    def action_timeline(self, steps: int) -> None:
        """Zooms the timeline; opens it if it is hidden."""
        if self.timeline.display and self.timeline.is_attached:
            self.timeline.zoom(steps)
        else:
            self.action_pane("timeline")

    def action_internal(self) -> None:
        """Shows or hides internal requests."""
        self.table.refilter(show_internal=not self.table.outline.show_internal)
        shown = "Internal requests shown" if self.table.outline.show_internal else "Internal requests hidden"
        self.show_message(words(shown), "muted", seconds=2)

    def action_unfold(self, way: str = "") -> None:
        """Expands (``open``), collapses (``close``), or toggles the related messages of the selected row."""
        if self.focused is not self.table and way:
            return
        expanded = None if not way else way == "open"
        if not self.table.unfold(expanded=expanded) and not way:
            self.show_message(words("No related messages (rounds, polls, server requests)"))
        self.forget()

    def action_back(self) -> None:
        """Closes the newest thing first; never the app."""
        if self.focused is self.filtering.input:
            self.filtering.close_input()
        elif self.details.message is not None:
            self.details.close_message()
        elif self.table.marks and self.focused is self.table:
            self.table.unmark()
        # Before the zoom: a filter of a zoomed pane goes first, and the pane stays on the screen.
        elif self.filtering.clear_focused():
            pass
        elif self.maximized is not None:
            self.action_zoom()
        elif self.selections:
            self.clear_selection()
        elif self.focused is not self.table:
            self.set_focus(self.table)

    def action_save(self) -> None:
        self.copying.save()

    def action_pager(self) -> None:
        self.app.page(self.details.text() if self.entry() is None else self.detail.text)
