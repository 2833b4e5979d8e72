"""Everything the app is started with: settings, the last look of the screen, and options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from mcp_tui.config.settings import DEFAULTS, Settings
from mcp_tui.protocol.values import fact

if TYPE_CHECKING:
    from mcp_tui.client.settings import Target
    from mcp_tui.config.definitions import Definition
    from mcp_tui.protocol.states import Limits
    from mcp_tui.tui.look import Look

ASK: Final = 10.0
"""Seconds between the timeout of a request and its cancel, in which a person is asked."""


@fact
class Preferences:
    """The settings with their ``origins`` (a place or variable for each dotted key), and ``problems`` to show once.

    ``look`` is the last look of the screen. ``limits`` gives those of a server's tool. ``first`` is a server that was named
    and needs consent; ``complete`` makes the target of a definition from the answers to its inputs.
    """

    settings: Settings = DEFAULTS
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()
    look: Look | None = None
    limits: Callable[[Target, str], Limits] | None = None
    first: Definition | None = None
    complete: Callable[[Definition, Mapping[str, str]], Target] | None = None


PLAIN = Preferences()
