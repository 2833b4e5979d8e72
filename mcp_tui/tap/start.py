"""The start of a tap over stdio: the server runs before anything is imported that this does not need.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

from mcp_tui.config.tap_words import split
from mcp_tui.tap.started_server import StartedServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from mcp_tui.config.tap_words import TapOptions


def serve(found: TapOptions, command: list[str]) -> NoReturn:
    """Runs a tap; ends this process with the server's exit code or signal."""
    try:
        server = StartedServer(command)
        from mcp_tui.tap.relay import Relay, leave  # Imported while the server starts.

        relay = Relay(server, found)
    except OSError as error:
        # Only for an error.
        from mcp_tui.tap.pipes import cannot_start

        cannot_start(error)
    leave(relay.run())


# -- the command line ------------------------------------------------------------------------------------------


def quick(words: list[str]) -> tuple[TapOptions, list[str]] | None:
    """Returns options and command of ``tap OPTIONS [--] COMMAND``, without what reads any command line (0.1 s)."""
    start, found = split(words[1:])
    if words[:1] != ["tap"] or found is None or start + 1 >= len(words):
        return None
    return found, words[start + 1 :]  # pyright: ignore[reportReturnType] - its members are checked by their kinds
