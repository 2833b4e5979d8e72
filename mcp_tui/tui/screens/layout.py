"""The layout of the requests and the panes on a screen; the first screen has nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, LiteralString, TypeVar, cast

from textual import events, getters
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import ModalScreen, Screen
from textual.signal import Signal
from textual.strip import Strip
from textual.widget import Widget

from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.tui.host import Host
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.widgets.bars import KeyBar, ServerBar
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.view.keys import CANCEL_PROMPTS, key_of, keys, names_in
from mcp_tui.view.pane_sizes import Border, Shares
from mcp_tui.view.server_bar import ServerFacts, title
from mcp_tui.view.text import SafeText, join, safe, words

Result = TypeVar("Result")

TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
    "timeline": words("Timeline"),
}
"""The panes in the order of their keys and tabs."""

FRAME_CELLS: Final = 6
"""The cells of a border next to its title."""

WIDE_CELLS: Final = 170
"""The width in cells from which the catalogue has its own column; on a narrower screen it is one of the tabs."""

BESIDE_CELLS: Final = 100
"""The width in cells from which the detail is next to the tabs; on a narrower screen it is one of them."""

STEP: Final = 0.02
"""The share of the screen by which a key moves a border."""


class LayoutScreen(Screen[None]):
    """A bar above and one below, and between them ``#body``, a grid with ``#requests`` and :attr:`panes`."""

    app = getters.app(Host)
    ESCAPE_TO_MINIMIZE = False  # esc closes the newest thing first: a filter before the zoom
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (BESIDE_CELLS, "-beside"), (WIDE_CELLS, "-wide")]

    panes: dict[str, Canvas]
    """The widgets of the panes by name."""

    def __init__(self) -> None:
        super().__init__()
        self.bar = ServerBar(id="server")
        self.keys = KeyBar()
        self.body = Container(id="body")
        self.pane = "catalogue"
        self.chosen = False
        """Whether a person chose the pane."""
        self.shares = Shares()
        self._recent = ["detail", "catalogue", "timeline", "wire", "log", "cancellations"]
        self._columns = 0
        self._grid: tuple[str, str] = "", ""
        self._dragged: Border | None = None
        self.tab_titles = TabTitles(self)

    def on_mount(self) -> None:
        self.set_class(self.app.ascii, "-ascii")
        laid_out = cast("Signal[Any]", self.screen_layout_refresh_signal)  # pyright: ignore[reportUnknownMemberType]
        laid_out.subscribe(self, self.tab_titles.caption, immediate=True)

    def before_key(self) -> None:
        """Called before a key is handled, while no other screen covers this one."""

    def after_key(self) -> None:
        """Called after a key was handled, while no other screen covers this one."""

    # -- for the parts ---------------------------------------------------------------------------------------

    @property
    def on_top(self) -> bool:
        """Whether no other screen covers this one."""
        return self.app.screen is self

    def show_message(self, text: SafeText, tone: str = "warning", *, seconds: float = 6.0) -> None:
        """Shows a sentence instead of the keys for a while."""
        self.keys.show_message(text, tone, seconds=seconds)

    def refuse(self, text: SafeText, tone: str = "warning", *, again: str = "") -> None:
        """Says why a key did nothing, and ignores the next keys, except those that open a prompt to cancel and those of
        the id ``again``.
        """
        self.show_message(text, tone)
        self.app.guard.block(text, names_in((*CANCEL_PROMPTS, again) if again else CANCEL_PROMPTS))

    def steady(self) -> bool:
        """Whether a key may act on the line under the cursor; says so if not."""
        if self.app.guard.steady:
            return True
        self.refuse(words("This changed just now. Press the key again."))
        return False

    async def ask(
        self,
        screen: ModalScreen[Result] | ModalScreen[Result | None],
        then: Callable[[Result], object] | None = None,
    ) -> None:
        """Opens a dialog over this screen; a second one requested before the first is open is ignored.

        ``then`` gets the result, unless that is ``None``: the dialog was closed without an answer.
        """

        def answered(result: Result | None) -> None:
            if then is not None and result is not None:
                then(result)

        if self.on_top:
            await self.app.open_over(cast("ModalScreen[Result | None]", screen), answered)

    def look(self, *, lists: bool = True) -> None:
        """Draws the changes; ``lists`` includes those in the lists."""

    def forget(self) -> None:
        """Draws every pane again."""

    # -- places ----------------------------------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        """Whether the catalogue has a column of its own."""
        return self._columns == 3

    @property
    def beside(self) -> bool:
        """Whether the detail has its own place."""
        return self._columns > 1

    @property
    def sharing(self) -> tuple[str, ...]:
        """The panes that share one place as tabs."""
        return tuple(TABS)[self._columns - 1 :]

    def place(self, width: int) -> None:
        """Sets the number of columns before the first layout, so that there is only one."""
        self._columns = _columns(width)
        self.add_class(("-narrow", "-beside", "-wide")[self._columns - 1])

    def placed(self, table: Widget) -> list[Widget]:
        """Returns the requests and the panes in the order of the grid."""
        detail, catalogue, *others = self.panes.values()
        if self.wide:
            return [catalogue, table, detail, *others]
        return [table, detail, catalogue, *others]

    def on_resize(self, event: events.Resize) -> None:
        columns = _columns(event.size.width)
        if columns != self._columns:
            self._columns = columns
            self.body.sort_children(key=self.placed(self.query_one("#requests")).index)
            self.show_pane(self.pane)
        self.fit()

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.tab_titles.caption)  # the very first layout sends no signal

    # -- sizes -----------------------------------------------------------------------------------------------

    def needs(self) -> tuple[int, int]:
        """Returns the lines that the requests need, and the cells that the catalogue needs, with their borders."""
        return 0, 0

    def fit(self) -> None:
        """Gives each pane the room that it needs, or that a person chose."""
        width, height = self.app.size
        lines, cells = self.needs()
        rows = f"{self.shares.height(height, lines, narrow=not self.beside)} 1fr"
        if self.wide:
            catalogue = self.shares.catalogue_width(width, cells)
            columns = f"{catalogue} 1fr {self.shares.tabs_width(width, catalogue)}"
        else:
            columns = f"1fr {self.shares.tabs_width(width)}" if self.beside else "1fr"
        if (rows, columns) != self._grid:
            self._grid = rows, columns
            styles = self.body.styles
            styles.grid_rows, styles.grid_columns = rows, columns

    @property
    def _in_front(self) -> str:
        """The tab that is shown."""
        return next(each for each in reversed(self._recent) if each in self.sharing)

    def share_out(self, shares: Shares) -> None:
        """Lays out the panes with other shares."""
        self.shares = shares
        self.fit()

    def action_size(self, border: str, steps: int) -> None:
        """Moves a border by a key: ``lower`` is the border above the lower panes; ``beside`` widens the focused pane."""
        width, height = self.app.size
        if border == "lower":
            lines = self.query_one("#requests").outer_size.height
            self.share_out(self.shares.moved("requests", (lines - steps * _step(height)) / height))
        elif not self.beside:
            self.show_message(words("No border to move: at this width all panes are tabs of one place."))
        else:
            focused = "" if self.focused is None else str(self.focused.id)
            moved: Border = "catalogue" if self.wide and focused == "catalogue" else "tabs"
            side = focused if moved == "catalogue" else self._in_front
            cells = self.panes[side].outer_size.width
            cells += (steps if focused == side else -steps) * _step(width)
            self.share_out(self.shares.moved(moved, cells / width))

    # -- dragging a border -------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = self._border_at(event.screen_x, event.screen_y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged is None or not event.button:
            self._dragged = None
            return
        width, height = self.app.size
        if self._dragged == "requests":
            to = (event.screen_y + 1 - self.body.region.y) / height
        else:
            to = (event.screen_x + 1 if self._dragged == "catalogue" else width - event.screen_x) / width
        # Textual treats the same drag as a selection of text.
        self.clear_selection()
        self.share_out(self.shares.moved(self._dragged, to))

    def on_mouse_up(self) -> None:
        self._dragged = None

    def _border_at(self, x: int, y: int) -> Border | None:
        """Returns the border at a place on the screen; ``None`` for none."""
        if self.maximized is not None:
            return None
        requests = self.query_one("#requests").region
        if requests.x < x < requests.right - 1 and y in (requests.bottom - 1, requests.bottom):
            return "requests"
        if self.wide and x in (requests.x - 1, requests.x):
            return "catalogue"
        edge = self.panes["detail"].region.right
        return "tabs" if self.beside and x in (edge - 1, edge) and y >= requests.bottom else None

    def show_pane(self, name: str) -> None:
        """Shows a pane; among tabs, the last one that was requested."""
        self.pane = name
        self._recent.remove(name)
        self._recent.append(name)
        shown = self._in_front
        for each, widget in self.panes.items():
            widget.display = each not in self.sharing or each == shown
        self.tab_titles.caption()
        self.fit()

    def choose_pane(self, name: str) -> None:
        """Shows a pane because a person chose it."""
        self.chosen = True
        self.show_pane(name)


def _step(cells: int) -> int:
    return max(1, round(STEP * cells))


def _columns(width: int) -> int:
    return 1 + (width >= BESIDE_CELLS) + (width >= WIDE_CELLS)


class TabTitles:
    """The titles of a screen's panes."""

    def __init__(self, screen: LayoutScreen) -> None:
        self._screen = screen
        self._counts: dict[str, int] = {}
        self._widths: dict[tuple[str, ...], int] = {}

    def count(self, counts: dict[str, int]) -> None:
        """Sets the counts in the tabs."""
        if counts != self._counts:
            self._counts = counts
            self.caption()

    def caption(self, _screen: object = None) -> None:
        """Sets the titles of the visible panes; after the layout, the pane of a place determines its width."""
        panes = self._screen.panes
        for name, widget in panes.items():
            if widget.display and widget.region:  # a hidden pane still has its old size
                self._widths[self._sharing(name)] = widget.region.width
        for name, widget in panes.items():
            if widget.display:
                labels, between = self._labels(name)
                widget.set_class(bool(labels), "-tabs")
                title = join(labels.values(), between) if labels else TABS[name]
                start = title.index(labels[name]) if labels else 0
                widget.retitle(title, (start, start + len(labels[name])) if labels else None)

    def at(self, event: events.Click) -> str:
        """Returns the pane whose tab was clicked in a border; empty if none was."""
        widget = event.widget
        if widget not in self._screen.panes.values() or widget is None or event.screen_y != widget.region.y:
            return ""
        at = event.screen_x - widget.region.x - 2
        labels, between = self._labels(str(widget.id))
        for name, label in labels.items():
            if 0 <= at < len(label):
                return name
            at -= len(label) + len(between)
        return ""

    def _labels(self, active: str) -> tuple[dict[str, SafeText], LiteralString]:
        """Returns the tabs in the place of a pane, with blanks around the visible one, and the text between two tabs.

        Without enough room the tabs become shorter: without counts, closer together, with a short name, then with
        keys as names.
        """
        names = self._sharing(active)
        space = self._widths.get(names, 0) - FRAME_CELLS
        labels: dict[str, SafeText] = {}
        between: LiteralString = " "
        by_key = {name: key_of(f"view.pane-{place}") for place, name in enumerate(TABS, 1)}
        short = {**TABS, "cancellations": words("Cancels")}
        forms: tuple[tuple[dict[str, SafeText], dict[str, int], LiteralString], ...] = (
            (TABS, self._counts, "  "),
            (TABS, {}, "  "),
            (TABS, {}, " "),
            (short, {}, " "),
            ({**by_key, active: TABS[active]}, {}, " "),
        )
        for known, counts, between in forms:
            labels = {name: _tab(known[name], counts.get(name, 0), chosen=name == active) for name in names}
            if space <= 0 or len(join(labels.values(), between)) <= space:
                break
        return labels, between

    def _sharing(self, name: str) -> tuple[str, ...]:
        """Returns the tabs in the place of a pane."""
        sharing = self._screen.sharing
        return sharing if name in sharing else ()


def _tab(label: SafeText, count: int, *, chosen: bool) -> SafeText:
    if chosen:
        return safe(" {} ", label)
    return safe("{} {:,}", label, count) if count else label


NOT_YET: Final = frozenset(
    {
        "question.answer",
        "request.again",
        "request.cancel-all",
        "request.cancel-now",
        "request.copy",
        "request.edit",
        "server.menu",
        "server.sign-in",
    }
)
"""The keys of the footer that do nothing before there is a connection."""


class EmptyPane(Canvas):
    """An empty pane, with an optional sentence from its second line on."""

    said: SafeText = words("")

    def placed(self) -> None:
        self.caption(self.title, words(""))

    def render_line(self, y: int) -> Strip:
        return self.say_at(y - 1, self.said, indent=3) if y and self.said else self.blank()


class OpeningScreen(LayoutScreen):
    """The empty workbench while a server is being connected, with the layout of last time."""

    AUTO_FOCUS = "#requests"

    def __init__(self, target: Target, preferences: Preferences) -> None:
        super().__init__()
        name, limits, pane = title(target), preferences.limits, preferences.look.pane
        self.table = EmptyPane(id="requests")
        self.table.retitle(words("Requests"))
        self.table.said = safe("Connecting to {} … ({} stops)", name, key_of("request.cancel"))
        # All panes, including hidden ones: this screen stays under the workbench, and is resized with it.
        self.panes: dict[str, Canvas] = {each: EmptyPane(id=each) for each in TABS}
        self.bar.show(
            ServerFacts(
                name=name,
                transport=words("stdio" if isinstance(target, StdioTarget) else "http"),
                limits=None if limits is None else limits(target, ""),
            )
        )
        self.keys.show(keys(), NOT_YET)
        if pane in TABS:
            self.pane = pane

    def compose(self) -> ComposeResult:
        self.place(self.app.size.width)
        self.show_pane(self.pane)
        yield self.bar
        with self.body:
            yield from self.placed(self.table)
        yield self.keys

    def on_mount(self) -> None:
        self.share_out(self.app.preferences.look.shares)
