"""What a person set for the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from mcp_tui.client.settings import Offers
from mcp_tui.protocol.values import fact

if TYPE_CHECKING:
    from mcp_tui.client.settings import Target
    from mcp_tui.config.definitions import Definition
    from mcp_tui.protocol.states import Limits
    from mcp_tui.tui.look import Look


@fact
class Consents:
    """What a person lets servers ask. ``sampling`` is ``off``, ``ask`` or ``command``; ``command`` drafts an answer.

    ``roots`` are the folders that are proposed; the folder mcp-tui was started in where there are none.
    """

    sampling: str = "off"
    command: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()

    def offers(self) -> Offers:
        """What a server is told."""
        return Offers(
            elicitation=frozenset({"form", "url"}), sampling=self.sampling != "off", roots=True, tasks=True
        )

    def proposed(self) -> list[str]:
        """The roots that are proposed, as URIs."""
        return [uri_of(each) for each in self.roots] or [Path.cwd().as_uri()]


def uri_of(folder: str) -> str:
    """A folder as a URI; one that is a ``file:`` URI already as it is."""
    return folder if folder.startswith("file:") else Path(folder).expanduser().absolute().as_uri()


Timers = Literal["live", "slow", "off"]

ASK: Final = 10.0
"""Seconds between the idle limit of a request and its cancel, in which a person is asked."""


@fact
class Preferences:
    """``keys`` is as in the settings, unchecked; ``origins`` has where each value stands, by its dotted key.

    ``limits`` gives those of a server's tool; ``problems`` are told once.

    ``saved`` is the folder of saved calls, ``None`` for the usual one. ``first`` is a server that was named and needs
    consent; ``complete`` makes the target of a definition, with the answers to what it asks for. ``look`` is how
    the screen looked the last time.
    """

    theme: str = ""
    timers: Timers = "live"
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Callable[[Target, str], Limits] | None = None
    consents: Consents = field(default_factory=Consents)
    problems: tuple[str, ...] = ()
    saved: Path | None = None
    first: Definition | None = None
    complete: Callable[[Definition, Mapping[str, str]], Target] | None = None
    look: Look | None = None


PLAIN = Preferences()
"""Nothing was set."""
