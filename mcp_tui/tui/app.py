"""The app: owns the servers and the themes, and ends the program."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cached_property, partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.app import SuspendNotSupported
from textual.screen import Screen
from textual.theme import Theme
from textual.timer import Timer

from mcp_tui.transport.unreachable import sentence
from mcp_tui.tui.bindings import bindings, scopes_of
from mcp_tui.tui.garbage import Collector
from mcp_tui.tui.host import FRAME_STYLES, STYLES, Host, Offer
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.layout import LayoutScreen, OpeningScreen
from mcp_tui.tui.terminal.background import Background
from mcp_tui.tui.terminal.driver import stop_group
from mcp_tui.tui.themes import AUTO, first_theme, load_themes, shown, stamp
from mcp_tui.view.keys import CANCELS, EVERYWHERE, hint, names_in, use
from mcp_tui.view.server_bar import title
from mcp_tui.view.text import SafeText, brief, join, safe, words

if TYPE_CHECKING:
    from mcp_tui.client.client import Client
    from mcp_tui.client.client_settings import Target
    from mcp_tui.journal.index import Logged, RecordedSession
    from mcp_tui.protocol.events import RequestId
    from mcp_tui.protocol.requests import Request
    from mcp_tui.tui.screens.workbench import Workbench
    from mcp_tui.tui.sources.live_session import Servers, Session
    from mcp_tui.tui.terminal.driver import TerminalDriver


# Imports that the first screen does not need are inside functions: client and workbench take as long as Textual to
# load.


TENDED_SECONDS: Final = 3600.0
"""Seconds between two checks of journals without new records."""

AIMED: Final = 64
"""The number of keys whose screen is remembered: more than can be in transit at once."""

QUIT_SECONDS: Final = 0.5
"""Seconds that the servers have after the second press of the quit key: cancels are sent first, the guards do the rest."""

SIGNAL_SECONDS: Final = 2.5
"""Seconds that the servers have after a signal: two to end themselves, and a moment after SIGTERM."""

EMPTY_MODE: Final = "empty"
"""The name of the screen mode without a server."""


class WorkbenchApp(Host, inherit_bindings=False):
    """A workbench on each of several servers, one of them on the screen.

    Keys typed before the first screen is ready wait for it. The app exits with the status of the process.

    Args:
        target: the first server; ``None`` to let a person pick one.
        client: makes a client for a target, once the loop runs.
        preferences: the person's settings.
        opening: makes another first screen, for a recording.
    """

    TITLE = "mcp-tui"
    BINDINGS = bindings(EVERYWHERE)
    ENABLE_COMMAND_PALETTE = False  # Textual's palette; ours is a dialog like the others
    DEFAULT_MODE = "server-1"  # the mode of the first server, so that none has to be switched for it
    MODES = {EMPTY_MODE: Screen}  # pyright: ignore[reportUnknownVariableType] - a screen of whatever result
    NOTIFICATION_TIMEOUT = 8

    def __init__(
        self,
        target: Target | None,
        client: Callable[[Target], Client] | None = None,
        preferences: Preferences | None = None,
        *,
        opening: Callable[[], Screen[None]] | None = None,
    ) -> None:
        # A workbench has few styles. Parsing all of them takes a fifth of the time to its first screen.
        super().__init__(preferences or Preferences(), None if target is None else [FRAME_STYLES])
        self.defect: Exception | None = None
        self.benches: dict[Session, Workbench] = {}
        """The workbenches of the open servers, and of closed servers whose connections are still ending."""
        self._ahead: list[events.Event] | None = None
        self._aimed: deque[tuple[events.Event, Screen[Any]]] = deque(maxlen=AIMED)
        self._target = target
        self._client = client
        self._opening = opening
        self._leaving = False
        self._asks_to_quit: Screen[bool] | None = None
        self._typed = ""
        self._watch: Timer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stamp = stamp(self.preferences.themes)
        first = first_theme(self.suiting(self.preferences.settings.theme), self.preferences.themes)
        if first is not None:
            self._add_theme(first)
            self.theme = first.name
            # it has the variables of Textual's own theme
            self.stylesheet.set_variables(self.get_css_variables())
        self._problems = [*self.preferences.problems, *self._use_keys()]

    # -- start -----------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[None]:
        """Returns the first screen: the empty panes of the workbench, shown while the rest is loaded."""
        if self._target is None:
            return Screen()
        return OpeningScreen(self._target, self.preferences)

    def on_mount(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._target is None:
            self.pick() if self._opening is None else self.push_screen(self._opening())
            self._load_rest()
        else:
            self._ahead = []
        self.set_interval(2, self._check_themes)
        self.set_interval(TENDED_SECONDS, self._shorten_journals)

    async def on_ready(self) -> None:
        """Replaces the first screen with the workbench as soon as it was drawn."""
        if self._target is not None:
            await self._begin(self._target)

    def refresh_css(self, animate: bool = True) -> None:
        """Updates the styles of all screens. Before there is a screen, the theme of the start would parse all styles
        twice.
        """
        if self.screen_stack:
            super().refresh_css(animate)

    async def _begin(self, target: Target) -> None:
        """Opens the first server; then handles the keys that waited for it."""
        self.screen_change_signal.subscribe(self, self._style, immediate=True)  # pyright: ignore[reportUnknownMemberType]
        if not self._leaving:
            with self.batch_update():
                opened = self.open(target)
                if opened is not None:
                    await opened
                if self._bench is not None:
                    self._bench.look()
        ahead, self._ahead = self._ahead or [], None
        for event in ahead:
            await self.on_event(event)
        self._load_rest()

    def _load_rest(self) -> None:
        """Loads, when nothing waits for it, what the first screens do not need: all themes, and the styles of dialogs."""
        self.call_after_refresh(Collector().begin, self)
        self.set_timer(0.5, lambda: (self._style(), self.load_themes(self._problems)))

    def _style(self, screen: Screen[Any] | None = None) -> None:
        """Reads the styles of all screens except workbenches, at the latest before the first of these screens."""
        if screen not in self.benches.values() and not self.stylesheet.has_source(str(STYLES)):
            self.stylesheet.read(STYLES)
            self.stylesheet.parse()
            if screen is not None:
                self.stylesheet.apply(screen)  # pyright: ignore[reportUnknownMemberType]

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.MouseDown):
            self.guard.release()
        if isinstance(event, events.Key) and not event.is_forwarded and self._swallows(event):
            return
        if not isinstance(event, events.InputEvent | events.Paste):
            await super().on_event(event)
        elif self._ahead is not None:
            self._ahead.append(event)
        elif event.is_forwarded:
            if isinstance(event, events.Paste):
                self._show_message(words("Pasted text ignored. No text field has the focus."))
            elif all(screen is self.screen for aimed, screen in self._aimed if aimed is event):
                await self._handle(event)  # otherwise it bubbles up from a removed screen
        # A key must not reach a screen before its widgets exist, nor the app through a screen that was removed
        # meanwhile: both ended the workbench. So the key waits here, and its screen is remembered for when the key
        # bubbles up again as forwarded.
        elif await self.arrived(self.screen):
            self._aimed.append((event, self.screen))
            await self._handle(event)

    async def _handle(self, event: events.Event) -> None:
        """Handles a key, a click, or a paste; reports to the guard where a key moved the cursor."""
        screen = self.screen
        await super().on_event(event)
        if isinstance(event, events.Key) and screen is self.screen and isinstance(screen, LayoutScreen):
            screen.after_key()

    def _swallows(self, event: events.Key) -> bool:
        """Whether a key was typed for something that is gone; says so in the bar."""
        benches = self._layouts
        if benches and benches[-1] is self.screen:
            benches[-1].before_key()
        text = event.is_printable or event.key == "enter"
        cancels = benches[-1:] == [self.screen] and event.key in names_in(CANCELS)
        if not self.guard.swallows(event.key, text=text, cancels=cancels):
            if benches:
                benches[-1].keys.hush()  # the message in the bar is about an earlier key
            return False
        way = words("press it again, or pause") if cancels else words("pause for a second")
        self._show_message(safe("Keys ignored: {} · {}", way, self.guard.reason))
        return True

    @property
    def _layouts(self) -> list[LayoutScreen]:
        """The screens with a key bar; the last one may be below a dialog."""
        return [screen for screen in self.screen_stack if isinstance(screen, LayoutScreen)]

    def _show_message(self, text: SafeText) -> None:
        """Says in the key bar why input does nothing."""
        for screen in self._layouts[-1:]:
            screen.keys.show_message(text)

    def _use_keys(self) -> list[str]:
        """Applies the person's own keys; returns a sentence for each that cannot be used."""
        keys = self.preferences.settings.keys
        if not keys:
            return []
        # Imported late: few people have keys of their own.
        from mcp_tui.tui.keymap import keymap

        chosen, problems = keymap(keys, self.preferences.origins)
        self.set_keymap(chosen)
        use(chosen)
        return problems

    async def action_palette(self) -> None:
        """Opens the list of commands for the current screen; pressed again, closes it."""
        # Imported after the first screen.
        from mcp_tui.tui.commands import Commands
        from mcp_tui.tui.screens.help import HelpScreen
        from mcp_tui.tui.screens.palette import PaletteScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.action_close()
        if isinstance(self.screen, PaletteScreen):
            self.screen.action_close()
            return
        commands = Commands(self, self.screen)

        async def chosen(offer: Offer | None) -> None:
            # The theme under the cursor was only a preview: the previous one is restored before any command runs.
            self.theme, self.chosen_theme = self.chosen_theme or self.theme, ""
            if offer is not None:
                if commands.lasting(offer):
                    self.preferences.look.remember(offer.name)
                done = offer.run()
                if isawaitable(done):
                    await done

        await self.open_over(PaletteScreen(commands.find), chosen)

    async def action_help(self) -> None:
        """Shows the keys of the focused place, or closes them."""
        # Imported after the first screen.
        from mcp_tui.tui.screens.help import HelpScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            screen.action_close()
        else:
            nodes = (screen.focused or screen).ancestors_with_self
            await self.open_over(HelpScreen(scopes_of(nodes)))

    def load_themes(self, problems: Sequence[str] = ()) -> None:
        """Registers every theme; reports broken files, and other ``problems``, in one toast."""
        broken = self._register_all()
        wanted = self.preferences.settings.theme
        if wanted not in (AUTO, *self.theme_names):
            broken.append(f"Unknown theme {wanted!r}. Choose from: {', '.join(self.theme_names)}.")
        if problems or broken:
            sentences = [brief(problem, 300) for problem in (*problems, *broken)]
            more = (
                [f"… and {len(sentences) - 5} more (mcp-tui config lists them)"] if len(sentences) > 5 else []
            )
            self.notify("\n".join((*sentences[:5], *more)), severity="warning", markup=False)

    def _register_all(self) -> list[str]:
        """Registers every theme; returns a sentence for each broken file."""
        found, broken = load_themes(self.preferences.themes)
        self.theme_names = [theme.name for theme in found]
        for theme in found:
            self._add_theme(theme)
        return broken

    def _add_theme(self, theme: Theme) -> None:
        """Registers a theme as the terminal can show it, if it is new or changed."""
        theme = shown(theme, self.console.color_system, light=self.light)
        if theme != self.get_theme(theme.name):
            self.register_theme(theme)

    def on_background(self, told: Background) -> None:
        """Uses the theme that suits the terminal's background, unless a person chose one."""
        if told.light == self.light:
            return
        self.light = told.light
        self._register_all()
        if self.automatic and self.chosen_theme:
            self.chosen_theme = self.suiting(AUTO)
        elif self.automatic:
            self.theme = self.suiting(AUTO)
        else:
            self.refresh_css(animate=False)

    def _check_themes(self) -> None:
        """Loads the themes again if a file in the person's folder changed."""
        now = stamp(self.preferences.themes)
        if now != self._stamp:
            self._stamp = now
            self.load_themes()
            self.refresh_css(animate=False)

    def _shorten_journals(self) -> None:
        """Shortens old journals, also those without new records."""
        for each in self.servers.all:
            each.client.store.tend()

    def pick(self) -> None:
        """Asks for a server: the first one, or another one."""
        # Imported after the first screen.
        from mcp_tui.tui.screens.picker import PickerScreen

        def picked(target: Target | None) -> None:
            self._typed = "" if target is not None else screen.unsent
            if target is not None:
                self.open(target)
            elif not self.servers.all:
                self.exit(0)

        screen = PickerScreen(back=bool(self.servers.all), text=self._typed)
        self.push_screen(screen, picked)

    def open(self, target: Target) -> Awaitable[None] | None:
        """Opens a workbench on a server and connects it; or says why not, and asks for another server."""
        limits = self.preferences.limits
        assert self._client is not None  # without it, no server can be picked
        try:
            client = self._client(target)
            # The server's process starts while these are loaded.
            from mcp_tui.config.saved import remember
            from mcp_tui.tui.screens.workbench import Workbench
            from mcp_tui.tui.sources.live_session import Session

            remember(target)
            session = Session(client, None if limits is None else partial(limits, target))
            session.apply(self.preferences.settings)
            if self.preferences.control_socket is not None:
                session.control_socket = self.preferences.control_socket(session.client)
            screen = Workbench(session, self.preferences.watched if target is self._target else None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other servers go on
            why = brief(sentence(self.preferences.explain(error)), 400)
            self.notify(safe("Cannot open {}. {}", title(target), why), severity="error", markup=False)
            self.pick()
            return None
        # Nothing after this fails: a listed server has a session, a screen, and a place in the app.
        self.servers.add(session)
        if not self.benches and self.terminal is not None:
            self._watch_calls(self.terminal)
        self.benches[session] = screen
        self.add_mode(session.mode, Screen)  # pyright: ignore[reportUnknownMemberType] - a screen of whatever result
        self.show(session)
        opened = self.push_screen(screen)
        screen.connection.connect()
        return opened

    def _watch_calls(self, terminal: TerminalDriver) -> None:
        """Makes the terminal report long calls from now on."""
        # Imported after the first screen.
        from mcp_tui.tui.attention import Attention, kind

        settings = self.preferences.settings
        notify = kind(settings.notify, os.environ)
        attention = Attention(
            lambda: self.servers.all,
            self._is_watched,
            notify=notify,
            title=settings.title,
            ascii_only=self.ascii,
        )
        self.set_interval(0.5, partial(attention.look, terminal))

    def _is_watched(self, session: Session, row: Request) -> bool:
        """Whether a person can see a request: in its table, or in the detail."""
        bench = self.benches.get(session)
        if bench is None or self.screen is not bench or not self.app_focus:
            return False
        selected = bench.table.selected
        return selected is not None and selected.id == row.id and bench.focused in (bench.table, bench.detail)

    # -- several servers -------------------------------------------------------------------------------------

    @cached_property
    def servers(self) -> Servers:
        """The open servers."""
        # Imported after the first screen.
        from mcp_tui.tui.sources.live_session import Servers

        return Servers()

    @property
    def session(self) -> Session | None:
        """The session of the workbench that is on the screen."""
        return self.servers.current

    @property
    def _bench(self) -> Workbench | None:
        """The workbench that is on the screen, perhaps below a dialog."""
        return None if self.session is None else self.benches[self.session]

    @property
    def server_name(self) -> SafeText:
        return words("") if self.session is None else self.session.around.server_name

    def offers(self) -> Iterator[Offer]:
        # Imported after the first screen.
        from mcp_tui.view.rows import plural

        servers = self.servers
        for server in servers.all if len(servers.all) > 1 else ():
            name = servers.name(server)
            running = safe("{}, {} in flight", server.link.value, plural(len(server.calls)))
            if not server.shown:
                yield Offer(safe("Server: {}", name), running, partial(self.show, server))
            yield Offer(safe("Close server {}", name), running, partial(self.close_server, server))
        yield Offer(words("Add a server…"), words("connect to one more server"), self.pick)

    def offers_elsewhere(self, query: str) -> Iterator[Offer]:
        # Imported after the first screen.
        from mcp_tui.tui.commands import narrowed, row_text
        from mcp_tui.view.rows import request

        for server in self.servers.all:
            for row in narrowed([] if server.shown else server.calls[::-1], row_text, query):
                text = safe("Cancel {} {} at {}", row.id, request(row), self.servers.name(server))
                run = partial(self._cancel_at, server, row)
                yield Offer(text, words("go there and ask for a reason"), run)

    async def _cancel_at(self, server: Session, row: Request) -> None:
        self.show(server)
        await self.benches[server].cancelling.ask_reason(row)

    def show(self, server: Session) -> None:
        """Shows the workbench of a server as it was left; the others keep running without being drawn."""
        self.servers.show(server)
        self.switch_mode(server.mode)
        self.benches[server].look()
        if self._watch is None and len(self.servers.all) > 1:
            self._watch = self.set_interval(0.25, self._show_news)

    def action_next_server(self) -> None:
        """Goes to the next server in the list."""
        server = self.servers.next()
        if server is not None:
            self.show(server)
        elif isinstance(self.screen, LayoutScreen):
            self.screen.keys.show_message(hint("No other server. {server.list} adds one."))

    async def action_servers(self) -> None:
        """Opens the list of servers."""
        # Imported after the first screen.
        from mcp_tui.tui.screens.open_servers import ServerPick, ServersScreen

        def chosen(what: ServerPick | None) -> None:
            do, server = what or ("", None)
            if do == "add":
                self.pick()
            elif server is not None and do == "close":
                self.close_server(server)
            elif server is not None:
                self.show(server)
                if do == "menu":
                    bench = self.benches[server]
                    bench.run_worker(bench.server_menu.open, exit_on_error=True)

        if self._bench is not None:
            await self._bench.ask(ServersScreen(self.servers), chosen)

    def _show_news(self) -> None:
        """Reports the news of the servers that are not on the screen."""
        for text in self.servers.news():
            self.notify(text, severity="warning", markup=False)

    def close_server(self, server: Session) -> None:
        """Closes one server; confirms if requests are in flight there."""
        # Imported after the first screen.
        from mcp_tui.tui.screens.dialog import ConfirmScreen
        from mcp_tui.view.rows import listed, plural

        running = server.calls
        if not running:
            self._close_server(server)
            return
        title = safe("Close {}? {} in flight", self.servers.name(server), plural(len(running)))
        screen = ConfirmScreen(title, listed(running), yes="Cancel and close", no="Stay")
        self.push_screen(screen, lambda yes: self._close_server(server) if yes else None)

    def _close_server(self, server: Session) -> None:
        if server not in self.servers.all:
            return
        seen = server.shown
        following = self.servers.remove(server)
        if seen and following is not None:
            self.show(following)
        elif seen:
            self.switch_mode(EMPTY_MODE)
            self.pick()
        # A worker of the app: a worker of the screen would end with the screen, and its error would end the app.
        self.run_worker(partial(self._end, server), group="closing", exit_on_error=False)

    async def _end(self, server: Session) -> None:
        """Ends a server that was closed: its requests, its connection, and its screens."""
        # No attempt to connect may run during the closing, and no other process may use the server. The store is
        # closed last, because it records the closing.
        self.workers.cancel_group(self.benches[server], "connection")  # pyright: ignore[reportUnknownMemberType] - any result
        if server.control_socket is not None:
            server.control_socket.close()
        try:
            await server.client.close()
        finally:
            server.client.store.close()
            del self.benches[server]
            if not self._leaving:
                await self.remove_mode(server.mode)

    def _open_recording(self, path: str, cancel: RequestId | None = None) -> None:
        """Opens a recording, at its end or at the cancel of ``cancel``; or says why it cannot be read."""
        # Imported after the first screen.
        from mcp_tui.journal.recording import Recording
        from mcp_tui.journal.records import RecordingError
        from mcp_tui.tui.screens.replay import ReplayScreen

        try:
            self.push_screen(ReplayScreen(Recording(Path(path)), cancel=cancel))
        except RecordingError as error:
            self.notify(brief(str(error), 400), severity="error", markup=False)

    async def action_recordings(self) -> None:
        """Lets a person choose a recording, and opens it."""
        # Imported after the first screen.
        from mcp_tui.journal.journal_files import journal_folder
        from mcp_tui.tui.screens.recordings import RecordingsScreen

        current = [writer.path for each in self.servers.all for writer in each.client.store.writers]

        def chosen(session: RecordedSession | None) -> None:
            if session is not None:
                self._open_recording(session.path)

        await self.open_over(RecordingsScreen(journal_folder(), current=current), chosen)

    async def action_history(self) -> None:
        """Lets a person choose a cancellation of any session, and opens its recording there."""
        # Imported after the first screen.
        from mcp_tui.journal.index import LoggedCancellation
        from mcp_tui.journal.journal_files import journal_folder
        from mcp_tui.tui.screens.recordings import HistoryScreen

        def chosen(entry: Logged | None) -> None:
            if entry is not None:
                # a violation may have no request, or one that was never cancelled
                cancelled = entry.id if isinstance(entry, LoggedCancellation) else None
                self._open_recording(entry.session.path, cancelled)

        await self.open_over(HistoryScreen(journal_folder()), chosen)

    # -- internal errors -------------------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """Ends the app and keeps the error in :attr:`defect`: the report of Textual would print local variables."""
        self.defect = self.defect or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def action_redraw(self) -> None:
        """Draws the whole screen again, over the output of other programs: usually only changed cells are written."""
        if forget := getattr(self._driver, "forget", None):
            forget()
        self.refresh()

    # -- exit ------------------------------------------------------------------------------------------------

    def action_suspend(self) -> None:
        """Returns to the shell until it continues the process; requests and their timeouts keep running."""
        stopped = False
        with contextlib.suppress(SuspendNotSupported), self.suspend():
            stopped = stop_group()
        if not stopped:
            self.notify("This terminal cannot suspend mcp-tui.", severity="warning", markup=False)

    async def action_quit(self) -> None:
        """Quits; confirms if requests are in flight. Pressed again, it quits at once."""
        # Imported after the first screen.
        from mcp_tui.tui.screens.dialog import ConfirmScreen
        from mcp_tui.view.rows import listed, plural

        running = [(server, server.calls) for server in self.servers.all if server.calls]
        asked = self._asks_to_quit is not None and self._asks_to_quit in self.screen_stack
        if not running or asked or self._leaving:
            self.leave(0, patience=QUIT_SECONDS if asked else None)
            return

        title = safe("Quit? {} in flight", plural(sum((len(rows) for _, rows in running))))
        lines = [
            join((line, each.around.server_name), "  · ") for each, rows in running for line in listed(rows)
        ]
        screen = self._asks_to_quit = ConfirmScreen(
            title, lines, yes="Cancel and quit", no="Stay", interrupt=True
        )
        await self.open_over(screen, lambda yes: self.leave(0) if yes else None)

    def leave(self, status: int, patience: float | None = None) -> None:
        """Cancels all requests, ends every connection, and exits with ``status``; called again, it exits at once.

        Servers that have not ended after ``patience`` seconds are left to their guards.
        """
        again, self._leaving = self._leaving, True
        if again or not (self.benches or self.programs.running):
            self.exit(status, return_code=status)
            return
        if isinstance(self.screen, LayoutScreen):
            self.screen.keys.show_message(words("leaving …"), "muted", seconds=60)
        self.run_worker(partial(self._leave, status, patience), group="leaving", exit_on_error=False)

    async def _leave(self, status: int, patience: float | None) -> None:
        try:
            for bench in self.benches.values():
                self.workers.cancel_group(bench, "connection")  # pyright: ignore[reportUnknownMemberType] - any result
            # all at once: together they take no longer than the slowest
            closing = (each.client.close() for each in self.benches)
            ends = asyncio.gather(self.programs.end(), *closing, return_exceptions=True)
            await asyncio.wait((ends,), timeout=patience)
        finally:
            self.exit(status, return_code=status)

    def leave_soon(self, status: int) -> bool:
        """Calls :meth:`leave` from a signal handler; returns false if no event loop runs."""
        loop = self._loop
        if loop is None or not loop.is_running() or not self.is_running:
            return False
        loop.call_soon_threadsafe(self.leave, status, SIGNAL_SECONDS)
        return True
