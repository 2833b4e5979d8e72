"""Who ended the server of a tap over stdio: its client, the tap, or the server itself."""

from __future__ import annotations

import signal
from typing import Final

from mcp_tui.transport.unreachable import exit_text

ENDING_SECONDS: Final = 10.0
"""Seconds after a signal or the end of stdin in which any exit of the server counts as the client's doing."""

CROSSING_SECONDS: Final = 1.0
"""Seconds within which a request and a signal of a client may arrive in the wrong order."""

CLOSED_STDIN: Final = "closed stdin"
CLOSED_STDOUT: Final = "closed stdout"


class ServerEnd:
    """The facts about the end of a server, in the order of their records."""

    def __init__(self) -> None:
        self._asked: list[tuple[float, str]] = []
        """How the client asked the server to end, and when."""
        self._codes: set[int] = set()
        """Exit codes that show that a server ended because it was asked to."""
        self._acts: list[str] = []
        """The signals by which the tap ended it."""

    def input_closed(self, at: float) -> None:
        """Notes that the client closed the server's stdin."""
        self._asked.append((at, CLOSED_STDIN))
        self._codes.add(0)

    def output_closed(self, at: float) -> None:
        """Notes that the client does not read any more, so that the server's next message fails."""
        self._asked.append((at, CLOSED_STDOUT))

    def signalled(self, number: int, at: float) -> str:
        """Notes a signal of the client that was passed on to the server; returns its name."""
        name = signal.Signals(number).name
        self._asked.append((at, name))
        self._codes |= {-number, 128 + number}
        return name

    def requested(self, at: float) -> None:
        """Notes a request: a client that sends one did not ask for the end by an earlier signal."""
        if self._asked and not self._input_over:
            late = at - CROSSING_SECONDS
            self._asked = [each for each in self._asked if each[0] > late or each[1] == CLOSED_STDOUT]

    def tap_signalled(self, number: int) -> None:
        """Notes a signal by which the tap ended a server whose client had left."""
        self._acts.append(signal.Signals(number).name)

    @property
    def _input_over(self) -> bool:
        return any(how == CLOSED_STDIN for _, how in self._asked)

    def is_wanted(self, at: float, code: int | None = None) -> bool:
        """Whether what ends at this time, by this exit code if that is known, ends because the client let the server go.

        Long after it was asked, only a server that ends as asked does: by that signal, or with 0 after the end of its stdin.
        """
        if self._acts or not self._asked:
            return bool(self._acts)
        is_soon = at - self._asked[-1][0] <= ENDING_SECONDS
        return is_soon or (self._input_over if code is None else code in self._codes)

    def words(self, at: float, code: int | None) -> tuple[str, bool]:
        """Returns who ended the server, and whether its client wanted that. ``code`` is ``None`` if the tap was killed."""
        killed = "the tap was killed"
        if not self.is_wanted(at, code):
            return killed if code is None else exit_text(code), False
        acts = " and ".join(self._acts)
        if self._asked:
            how = ", ".join(dict.fromkeys(how for _, how in self._asked))
            text = f"the client ended the server ({how})"
            text += f"; it did not exit, so the tap sent {acts}" if acts else ""
        else:
            text = f"the client is gone, so the tap sent {acts}"
        return f"{text}, then {killed}" if code is None else text, True
