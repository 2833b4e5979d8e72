"""The app: owns the connection, the themes and the way out."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App, SystemCommand
from textual.screen import Screen

from mcp_tui.client.client import Client
from mcp_tui.client.settings import Target
from mcp_tui.config.recent import remember
from mcp_tui.tui.bindings import remap
from mcp_tui.tui.commands import Commands
from mcp_tui.tui.preferences import PLAIN, Preferences
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.session import Session
from mcp_tui.tui.themes import FIRST, all_themes, first_theme, stamp
from mcp_tui.tui.view.listing import listed, plural
from mcp_tui.tui.view.text import SafeText, brief, words

if TYPE_CHECKING:
    from mcp_tui.journal.replay import Replay


def collect_again() -> None:
    """Collect garbage again where the start has turned that off; what was loaded until now is left out for ever."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class WorkbenchApp(App[int]):
    """The workbench on one server.

    ``client`` makes a client for a target when the loop runs; ``target`` is ``None`` to let a person pick one.
    ``themes`` is the folder of the person's own themes, ``preferences`` what they set. Exits with the status of the process.
    """

    TITLE = "mcp-tui"
    CSS_PATH = "app.tcss"
    COMMANDS = {Commands}
    ENABLE_COMMAND_PALETTE = True
    NOTIFICATION_TIMEOUT = 8

    def __init__(
        self,
        target: Target | None,
        client: Callable[[Target], Client],
        *,
        ascii_only: bool = False,
        themes: Path | None = None,
        preferences: Preferences = PLAIN,
    ) -> None:
        super().__init__()
        self.preferences = preferences
        self.timers = preferences.timers
        self.ascii = ascii_only
        self.session: Session | None = None
        self.defect: Exception | None = None
        self._target = target
        self._client = client
        self._leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._themes = themes
        self.theme_names: list[str] = []
        self._stamp = stamp(themes)
        first = first_theme(preferences.theme or FIRST, themes)
        if first is not None:
            self.register_theme(first)
            self.theme = first.name

    def get_system_commands(self, screen: Screen[object]) -> list[SystemCommand]:
        return []

    # -- the way in ------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.call_after_refresh(collect_again)
        if self._target is not None:
            self.open(self._target)
        else:
            self.pick()
        problems = [*self.preferences.problems, *self._use_keys()]
        self.set_timer(0.5, lambda: self.load_themes(problems))
        if self._themes is not None:
            self.set_interval(2, self._look_at_themes)

    def _use_keys(self) -> list[str]:
        """Use the person's own keys; what cannot be had of them."""
        if not self.preferences.keys:
            return []
        from mcp_tui.tui.keymap import keymap, shown

        chosen, problems = keymap(self.preferences.keys)
        self.set_keymap(chosen)
        remap({id_: shown(names) for id_, names in chosen.items()})
        return [f"[keys] {problem}" for problem in problems]

    def load_themes(self, problems: Sequence[str] = ()) -> None:
        """Register every theme; of broken files, and of other ``problems``, it is told in one toast."""
        found, broken = all_themes(self._themes)
        self.theme_names = [theme.name for theme in found]
        for theme in found:
            if theme.name != self.theme or theme != self.get_theme(theme.name):
                self.register_theme(theme)
        wanted = self.preferences.theme
        if wanted and wanted not in self.theme_names:
            broken.append(f"There is no theme {wanted}; there are {', '.join(self.theme_names)}.")
        if problems or broken:
            told = [brief(problem, 300) for problem in (*problems, *broken)]
            more = [f"… and {len(told) - 5} more: mcp-tui config lists them"] if len(told) > 5 else []
            self.notify("\n".join((*told[:5], *more)), severity="warning", markup=False)

    def _look_at_themes(self) -> None:
        """Load the themes again when a file in the person's folder changed."""
        now = stamp(self._themes)
        if now != self._stamp:
            self._stamp = now
            self.load_themes()
            self.refresh_css(animate=False)

    def pick(self) -> None:
        """Ask for a server."""
        from mcp_tui.tui.screens.picker import PickerScreen

        def picked(target: Target | None) -> None:
            if target is None:
                self.exit(0)
            else:
                self.open(target)

        wished = self.preferences
        self.push_screen(PickerScreen(first=wished.first, complete=wished.complete), picked)

    def open(self, target: Target) -> None:
        """Open the workbench on a server; it connects after its first frame."""
        remember(target)
        limits = self.preferences.limits
        self.session = Session(self._client(target), None if limits is None else partial(limits, target))
        self.session.consent(self.preferences.consents)
        screen = Workbench(self.session, ascii_only=self.ascii)
        self.push_screen(screen)
        screen.call_after_refresh(screen.connect)

    def show_recording(self, replay: Replay, *, speed: float | None = None) -> None:
        """Open a recording over what is open: at its end, or playing from its start."""
        from mcp_tui.tui.screens.replay import ReplayScreen

        self.push_screen(ReplayScreen(replay, speed=speed, ascii_only=self.ascii))

    async def action_recordings(self) -> None:
        """Let a person choose one of the sessions that were kept."""
        from mcp_tui.journal.folder import journal_folder
        from mcp_tui.journal.recording import RecordingError
        from mcp_tui.journal.replay import Replay
        from mcp_tui.tui.screens.recordings import RecordingsScreen

        def chosen(path: Path | None) -> None:
            if path is None:
                return
            try:
                self.show_recording(Replay(path))
            except RecordingError as error:
                self.notify(brief(str(error), 400), severity="error", markup=False)

        writers = () if self.session is None else self.session.client.store.writers
        await self.push_screen(
            RecordingsScreen(journal_folder(), current=[writer.path for writer in writers]), chosen
        )

    # -- defects ---------------------------------------------------------------------------------------------

    def _handle_exception(self, error: Exception) -> None:
        """End the app and leave the error in :attr:`defect`: what Textual would print has local variables in it."""
        self.defect = self.defect or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    # -- the way out -----------------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Quit; asks once while requests are in flight, and the second time goes at once."""
        from mcp_tui.tui.screens.confirm import ConfirmScreen

        running = [] if self.session is None else [row for row in self.session.running if not row.own]
        asked = isinstance(self.screen, ConfirmScreen) and self.screen.id == "quit"
        if not running or asked or self._leaving:
            self.leave(0)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.leave(0)

        title = SafeText(f"{plural(len(running))} in flight")
        screen = ConfirmScreen(title, listed(running), yes="cancel them and quit", no="stay")
        screen.id = "quit"
        await self.push_screen(screen, answered)

    def action_help_quit(self) -> None:
        """ctrl+c where nothing else took it."""
        self.run_worker(self.action_quit(), exit_on_error=True)

    def leave(self, status: int) -> None:
        """Cancel what is in flight, end the connection and exit with ``status``; the second time exit at once."""
        if self._leaving or self.session is None:
            self.exit(status, return_code=status)
            return
        self._leaving = True
        if isinstance(self.screen, Workbench):
            self.screen.keys.tell(words("leaving …"), "muted", seconds=60)
        self.run_worker(self._leave(self.session, status), group="leaving", exit_on_error=False)

    async def _leave(self, session: Session, status: int) -> None:
        try:
            for worker in self.workers:
                if worker.group == "connection":
                    worker.cancel()
            await session.client.close()
        finally:
            self.exit(status, return_code=status)

    def leave_soon(self, status: int) -> bool:
        """:meth:`leave` from a signal; false where no loop runs that could do it."""
        loop = self._loop
        if loop is None or not loop.is_running() or not self.is_running:
            return False
        loop.call_soon_threadsafe(self.leave, status)
        return True
