"""The app: owns the connection, the themes and the way out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.app import App, SystemCommand
from textual.screen import Screen

from mcp_tui.client.client import Client
from mcp_tui.client.settings import Target
from mcp_tui.tui.commands import Commands
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.session import Session
from mcp_tui.tui.themes import FIRST, all_themes, first_theme
from mcp_tui.tui.view.listing import listed, plural
from mcp_tui.tui.view.text import SafeText, brief, words


class WorkbenchApp(App[int]):
    """The workbench on one server.

    ``client`` makes a client for a target when the loop runs; ``target`` is ``None`` to let a person pick one.
    ``themes`` is the folder of the person's own themes. Exits with the status of the process.
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
    ) -> None:
        super().__init__()
        self.ascii = ascii_only
        self.session: Session | None = None
        self._target = target
        self._client = client
        self._leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._themes = themes
        self.theme_names: list[str] = []
        first = first_theme()
        if first is not None:
            self.register_theme(first)
            self.theme = FIRST

    def get_system_commands(self, screen: Screen[object]) -> list[SystemCommand]:
        return []

    # -- the way in ------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._target is not None:
            self.open(self._target)
        else:
            self.pick()
        self.set_timer(0.5, self.load_themes)

    def load_themes(self) -> None:
        """Register every theme; of broken files it is told once."""
        found, problems = all_themes(self._themes)
        self.theme_names = [theme.name for theme in found]
        for theme in found:
            if theme.name != self.theme:
                self.register_theme(theme)
        if problems:
            said = "\n".join(brief(problem, 300) for problem in problems[:5])
            self.notify(said, severity="warning", markup=False)

    def pick(self) -> None:
        """Ask for a server."""
        from mcp_tui.tui.screens.picker import PickerScreen

        def picked(target: Target | None) -> None:
            if target is None:
                self.exit(0)
            else:
                self.open(target)

        self.push_screen(PickerScreen(), picked)

    def open(self, target: Target) -> None:
        """Open the workbench on a server; it connects after its first frame."""
        self.session = Session(self._client(target))
        screen = Workbench(self.session, ascii_only=self.ascii)
        self.push_screen(screen)
        screen.call_after_refresh(screen.connect)

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
