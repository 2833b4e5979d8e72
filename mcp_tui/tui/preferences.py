"""The preferences of the app: settings, the state of the screen from last time, and options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mcp_tui.config.files import ConfigError, read_own, themes_folder, write_own
from mcp_tui.config.settings import DEFAULTS, Settings
from mcp_tui.protocol.values import fact
from mcp_tui.view.pane_sizes import Shares, shares

if TYPE_CHECKING:
    from mcp_tui.client.client import Client
    from mcp_tui.client.client_settings import Target
    from mcp_tui.config.definitions import Definition
    from mcp_tui.config.watched_files import Watched
    from mcp_tui.live.serving import ClientControlSocket
    from mcp_tui.protocol.states import Limits

ASK_SECONDS: Final = 10.0
"""Seconds between the timeout of a request and its cancel, while a person is asked."""

RECENT_COMMANDS: Final = 20
"""The number of remembered commands of the palette."""

MORE_SECONDS: Final = 30.0
"""Seconds by which ``+`` and *Wait 30 s more* extend a timeout."""


@dataclass(slots=True)
class Look:
    """The choices that a person makes with keys, stored in a small file for the next start.

    ``pane`` and ``theme`` are empty if none was chosen. ``recent`` has the names of commands run from the palette,
    the latest first. ``copied`` is the kind of the last copy. ``path`` is the file, ``None`` for none. ``themed``:
    the settings name a theme, so none is stored.
    """

    shares: Shares = field(default_factory=Shares)
    pane: str = ""
    theme: str = ""
    follow: bool = True
    internal: bool = False
    recent: tuple[str, ...] = ()
    copied: str = "result"
    path: Path | None = None
    themed: bool = False

    @classmethod
    def read(cls, path: Path) -> Look:
        """Reads a file; returns the defaults if it is missing, and for values that we did not write."""
        stored: object = read_own(path, 65_536)
        members = cast("dict[str, object]", stored) if isinstance(stored, dict) else {}
        placed, ran = members.get("shares"), members.get("recent")
        recent = cast("list[object]", ran if isinstance(ran, list) else [])
        return cls(
            shares=shares(cast("dict[str, object]", placed) if isinstance(placed, dict) else {}),
            pane=_word(members.get("pane")),
            theme=_word(members.get("theme")),
            follow=members.get("follow") is not False,
            internal=members.get("own") is True,
            recent=tuple(name for each in recent if (name := _word(each)))[:RECENT_COMMANDS],
            copied=_word(members.get("copied")) or "result",
            path=path,
        )

    def remember(self, command: str) -> None:
        """Adds a command that was run from the palette."""
        self.recent = (command, *(each for each in self.recent if each != command))[:RECENT_COMMANDS]

    def keep(self, shares: Shares, pane: str) -> None:
        """Writes the layout of a screen that closes; ``pane`` is empty if nobody chose one."""
        self.shares, self.pane = shares, pane or self.pane
        if self.path is None:
            return
        kept = asdict(self)
        kept["own"] = kept.pop("internal")
        del kept["path"], kept["themed"]
        with suppress(ConfigError):  # a failed write is no reason to stop
            write_own(self.path, kept)


def _word(said: object) -> str:
    return said if isinstance(said, str) and said.isprintable() and len(said) <= 80 else ""


@fact
class Preferences:
    """The settings with their ``origins`` (a place or variable for each dotted key), and ``problems`` to show once.

    ``look`` has the choices from last time, ``themes`` is the folder of the person's own themes. ``limits`` returns
    the limits of a server's tool. ``first`` is a named server that needs consent; ``complete`` makes the target of a
    definition from the answers to its inputs, or raises an exception with one sentence. ``config`` is the only config
    file to read. ``watched`` has the files that restart the first server. ``explain`` describes any exception for a
    person. ``control_socket`` opens the socket by which other processes reach a client.
    """

    settings: Settings = DEFAULTS
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()
    look: Look = field(default_factory=Look)
    themes: Path = field(default_factory=themes_folder)
    limits: Callable[[Target, str], Limits] | None = None
    first: Definition | None = None
    config: Path | None = None
    watched: Watched | None = None
    complete: Callable[[Definition, Mapping[str, str]], Target] | None = None
    explain: Callable[[Exception], str] = str
    control_socket: Callable[[Client], ClientControlSocket] | None = None
