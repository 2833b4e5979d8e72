"""The look of the screen, kept in a small file in the state folder from one start to the next."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from mcp_tui.config.files import ConfigError, read_text, write_private
from mcp_tui.tui.view.shares import Shares, shares


@dataclass(slots=True)
class Look:
    """The settings that a person makes with keys. ``pane`` and ``theme`` are empty if none was chosen.

    ``path`` is the file, ``None`` for none. ``themed`` says that the settings name a theme, so that none is kept.
    """

    shares: Shares = field(default_factory=Shares)
    pane: str = ""
    theme: str = ""
    follow: bool = True
    internal: bool = False
    path: Path | None = None
    themed: bool = False

    @classmethod
    def read(cls, path: Path) -> Look:
        """Reads a file; returns the defaults if there is none, or for what we did not write."""
        told: object = None
        with suppress(ConfigError, ValueError, RecursionError):
            told = json.loads(read_text(path, 65_536))
        said = cast("dict[str, object]", told) if isinstance(told, dict) else {}
        placed = said.get("shares")
        return cls(
            shares=shares(cast("dict[str, object]", placed) if isinstance(placed, dict) else {}),
            pane=_word(said.get("pane")),
            theme=_word(said.get("theme")),
            follow=said.get("follow") is not False,
            internal=said.get("own") is True,
            path=path,
        )

    def keep(self, shares: Shares, pane: str, theme: str) -> None:
        """Takes over the look of a screen that closes, and writes it; ``pane`` is empty if nobody chose one."""
        self.shares, self.pane = shares, pane or self.pane
        if not self.themed:
            self.theme = theme
        if self.path is None:
            return
        kept = {
            "shares": asdict(self.shares),
            "pane": self.pane,
            "theme": self.theme,
            "follow": self.follow,
            "own": self.internal,
        }
        with suppress(ConfigError):  # that it cannot be written is no reason to stop
            write_private(self.path, json.dumps(kept, indent=1) + "\n")


def _word(said: object) -> str:
    return said if isinstance(said, str) and said.isprintable() and len(said) <= 80 else ""
