"""Looking at a session or a recording: one timer that draws what changed, and the keys that only change what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, cast

from textual.app import App
from textual.screen import ModalScreen
from textual.timer import Timer

from mcp_tui.client.results import free, save
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import about
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.bindings import is_typed, scopes_of
from mcp_tui.tui.keys.key import Scope
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.payloads import Payloads
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.searching import Searching
from mcp_tui.tui.view import detail
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.entry import sections
from mcp_tui.tui.view.index import RowIndex
from mcp_tui.tui.view.listing import safe_name
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, words
from mcp_tui.tui.widgets.key_bar import KeyBar
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import YOUNG, RequestTable
from mcp_tui.tui.widgets.timeline import Timeline

Answer = TypeVar("Answer")

TICK: Final = 0.1
"""Seconds between two looks at what happened."""

RECENT: Final = 500
"""Requests among which is looked for the last reading of a resource."""

HOPS: Final = 50
"""Steps of the event loop in which a screen that was opened comes to hear keys."""


class Looking(Searching):
    """A scene on the screen. Nothing here sends or writes, but for a file that a person asks for."""

    SCOPES: tuple[Scope, ...] = ()

    def __init__(self, scene: Scene, *, index: RowIndex | None = None, ascii_only: bool = False) -> None:
        super().__init__(scene, index=index, ascii_only=ascii_only)
        self.payloads = Payloads(scene.payload, scene.target, promised=scene.catalogue.promised)
        self.narrow_lists()
        self._looks: Timer | None = None
        self._seen: tuple[object, ...] = ()
        self._ticks = 0
        self._told = 0

    def on_mount(self) -> None:
        self.filter_input.display = False
        self.show_pane(self.pane)
        self.table.timers = self.timeline.timers = getattr(self.host, "timers", "live")
        self._looks = self.set_interval(TICK, self.look)
        self.look()

    def rest(self) -> None:
        """Look no more while this is out of sight: what happens goes on, and nothing is drawn."""
        if self._looks is not None:
            self._looks.pause()

    def wake(self) -> None:
        """Look again, from now on."""
        if self._looks is not None:
            self._looks.resume()
        self.look()

    @property
    def host(self) -> App[object]:
        """The app."""
        return cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its result open

    async def ask(
        self, screen: ModalScreen[Answer], answered: Callable[[Answer | None], None] | None = None
    ) -> None:
        """Open a screen over this one and wait until it hears keys; what was typed ahead is meant for it.

        Of two that are asked for before the first one stands, the second is let go.
        """
        if self.host.screen is not self:
            return
        await self.host.push_screen(screen, answered)
        for _ in range(HOPS):
            if screen.focused is not None:
                break
            await asyncio.sleep(0)

    # -- looking at what happened ----------------------------------------------------------------------------

    def look(self) -> None:
        """Draw what changed since the last look; nothing where nothing did."""
        if not self.is_mounted or not self.table.is_mounted:
            return
        now = self.scene.now()
        self._ticks += 1
        self.keys.show(self.idle())
        self.table.refresh_rows()
        if self.table.item is None and not self.table.filter and self.table.shown:
            self.table.action_newest()
        item = self.table.item
        seen = (self.scene.stamp(), self.pane, item and item.key, self.entry())
        if seen != self._seen:
            self._seen = seen
            self._draw(now)
        elif self.table.timers != "off" and self._ticks % (1 if self._young(now) else 10) == 0:
            self._show_detail(now)
            if self.scene.ticking:
                self.bar.show(self.scene.facts(now))
        self.refresh_lists(all_=False)
        if self.timeline.display:
            self.timeline.refresh_spans()

    def forget(self) -> None:
        self._seen = ()
        self.look()

    def _draw(self, now: float) -> None:
        self.bar.show(self.scene.facts(now))
        self.table.empty = self.scene.none()
        self.drawing()
        self._recount()
        if self.catalogue.display:
            self.catalogue.refresh_source()
        self.refresh_lists()
        self._show_detail(now)
        for problem in self.scene.problems[self._told :]:
            self._told += 1
            self.keys.tell(brief(problem, 400), "error")

    def drawing(self) -> None:
        """Called before panes are drawn anew."""

    def _recount(self) -> None:
        """Say in the tabs how much there is."""
        counts = {
            "catalogue": self.scene.catalogue.count,
            "cancellations": len(self.scene.cancellations.numbers),
        }
        if counts != self._counts:
            self._counts = counts
            self._caption()

    def _young(self, now: float) -> bool:
        row = self.table.selected
        return self.table.timers == "live" and row is not None and row.open and row.elapsed(now) < YOUNG

    def _show_detail(self, now: float) -> None:
        if not self.detail.display:
            return
        if self.show_frame():
            return
        entry = self.entry()
        if entry is not None and self.wide:
            shown = [*sections(entry), *self._held(entry)]
            self.detail.show(brief(entry.name, 80), shown, key=(entry.kind, entry.name))
            return
        row = self.detailed()
        if row is None:
            if self.show_asked(now):
                return
            self.detail.empty = words("Nothing selected.")
            title = words("Detail") if self.wide else self._title_of("detail")
            self.detail.show(title, self.scene.about())
            return
        payloads, command = self.payloads.of(row)
        title = (
            SafeText(f"{brief(str(row.id), 40)} {brief(row.name) or request(row)}")
            if self.wide
            else self._title_of("detail")
        )
        shown = detail.sections(
            row, now, payloads, command=command, advice=self.advice(row), server_requests=self.family(row)[1]
        )
        self.detail.show(title, shown, key=(type(row.id), row.id))

    def _held(self, entry: Entry) -> list[Section]:
        """What a resource held when it was read last, if that is not long ago."""
        if entry.kind != "resources":
            return []
        uri = entry.raw.get("uri")
        for row in islice(reversed(self.scene.book.order), RECENT):
            if row.method == "resources/read" and row.name == uri and row.state is State.COMPLETED:
                return self.payloads.held(row)
        return []

    def detailed(self) -> Request | None:
        """The request that the detail is about; ``None`` where it tells of the connection."""
        return self.table.selected

    def advice(self, row: Request) -> SafeText:
        """What a person can do about a request beyond the keys at the bottom; empty for nothing."""
        return words("")

    def entry(self) -> Entry | None:
        """What the server offers under the cursor, while the catalogue has the focus."""
        line = self.catalogue.selected if self.focused is self.catalogue else None
        return line.key if line is not None and isinstance(line.key, Entry) else None

    def idle(self) -> frozenset[str]:
        """Keys that would do nothing now, by id."""
        return frozenset()

    # -- keys of the view ------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Show and focus a pane; the key of the focused one leads back to the requests."""
        self._chosen = True
        if self.focused is self.panes[name]:
            self.set_focus(self.table)
            return
        self.show_pane(name)
        self.set_focus(self.panes[name])

    def action_zoom(self) -> None:
        """The focused widget alone, and back."""
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)

    def action_follow(self) -> None:
        """Keep the newest in sight, or not: of the focused list, else of the table."""
        focused = self.focused
        target: LineList | Timeline | RequestTable = self.table
        if isinstance(focused, LineList | Timeline) and focused is not self.catalogue:
            target = focused
        target.follow = not target.follow
        if target is self.table and self._look is not None:
            self._look.follow = target.follow
        self.keys.tell(
            words("following the newest") if target.follow else words("not following"), "muted", seconds=2
        )

    def action_timeline(self, steps: int) -> None:
        """Less time in the timeline, or more; it is opened for that where it is not in sight."""
        if self.timeline.display and self.timeline.is_attached:
            self.timeline.zoom(steps)
        else:
            self.action_pane("timeline")

    def action_newest(self) -> None:
        self.table.action_newest()

    def action_oldest(self) -> None:
        self.table.action_oldest()

    def action_internal(self) -> None:
        """Show the client's own requests too, or not."""
        self.table.show_internal = not self.table.show_internal
        shown = (
            words("own requests are shown") if self.table.show_internal else words("own requests are hidden")
        )
        self.keys.tell(shown, "muted", seconds=2)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the filter is typed, letters are letters."""
        typing = self.filter_input.has_focus and is_typed(action, *self.SCOPES)
        return not typing and not self.detail.claims(action)

    def action_back(self) -> None:
        """Close what was opened last; never the app."""
        if self.step_back():
            return
        if self.maximized is not None:
            self.minimize()
        elif self.selections:
            self.clear_selection()
        elif self.focused is not self.table:
            self.set_focus(self.table)

    def on_request_table_selected(self, event: RequestTable.Selected) -> None:
        self.timeline.select(event.id)
        self.leave_frame(event.id)
        self.look()

    def on_timeline_selected(self, event: Timeline.Selected) -> None:
        self.table.select(event.id)

    def on_timeline_activated(self, event: Timeline.Activated) -> None:
        self.table.select(event.id)
        self.minimize()
        self.set_focus(self.table)

    def on_request_table_activated(self, event: RequestTable.Activated) -> None:
        self.action_pane("detail")

    async def on_detail_opened(self) -> None:
        """Show all of the selected request's answer."""
        from mcp_tui.tui.screens.result import ResultScreen

        row = self.table.selected
        raw = None if row is None else self.payloads.answer(row)
        if row is None or raw is None:
            self.keys.tell(words("there is no answer to open"))
            return
        title = SafeText(f"{brief(str(row.id), 40)} {request(row)}")
        screen = ResultScreen(raw, title=title, broken=self.payloads.broken(row), follow=self.follows)
        await self.ask(screen, self.follow)

    @property
    def follows(self) -> bool:
        """Whether links in results can be read."""
        return False

    def follow(self, uri: str | None) -> None:
        """Read what a link in a result names."""

    async def on_line_list_activated(self, event: LineList.Activated) -> None:
        if event.lines is self.cancellations and isinstance(event.key, (int, str)):
            self.go_to(event.key)
        elif event.lines is self.wire and isinstance(event.key, int):
            self.open_frame(event.key)
        elif isinstance(event.key, ev.Event) and (id_ := about(event.key)) is not None:
            self.go_to(id_)

    def go_to(self, id: RequestId) -> None:
        """Put the cursor on a request and show its detail."""
        if not self.table.select(id) and self.table.filter:
            self.clear_filter("requests")
        if self.table.select(id):
            self.show_pane("detail")
            self.set_focus(self.table)

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        self.run_worker(self.run_action(event.key.action), exit_on_error=True)

    async def action_help(self) -> None:
        """Show the keys."""
        from mcp_tui.tui.screens.help import HelpScreen

        await self.ask(
            HelpScreen(scopes_of((self.focused or self).ancestors_with_self), ascii_only=self.ascii)
        )

    # -- copying ---------------------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the selected text; without any the selected request and its answer, as JSON."""
        text, row = self.get_selected_text(), self.table.selected
        if text:
            self.copy_text(text, words("the text"))
        elif row is None:
            self.keys.tell(words("no request is selected"))
        else:
            self.copy_text(self.payloads.export(row), brief(str(row.id), 40))

    def copy_text(self, text: str, what: SafeText) -> None:
        """Ask the terminal to take a text (OSC 52). Whether it does is not to be known, so the other way is named too."""
        self.host.copy_to_clipboard(text)
        said = SafeText(
            f"{what} is copied, if your terminal lets programs copy; {key_of('request.save')} saves it to a file"
        )
        self.keys.tell(said, "muted", seconds=4)

    def action_save(self) -> None:
        """Write the same to a file in the folder that mcp-tui was started in."""
        text, row = self.get_selected_text(), self.table.selected
        if text:
            self.save_text(free(Path(), "mcp-tui-selection.txt"), text)
        elif row is None:
            self.keys.tell(words("no request is selected"))
        else:
            self.save_text(free(Path(), f"mcp-tui-{safe_name(str(row.id))}.json"), self.payloads.export(row))

    def save_text(self, path: Path, text: str) -> None:
        """Write a text to a new file, and say where it is."""
        try:
            save(path, f"{text}\n".encode(errors="backslashreplace"))
        except OSError as error:
            self.keys.tell(
                SafeText(f"{path} cannot be written: {brief(error.strerror or str(error))}"), "error"
            )
            return
        self.keys.tell(SafeText(f"written to {path}"), "success")
