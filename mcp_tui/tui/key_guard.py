"""Keys that were not meant for what they would do now: which of them are swallowed, and when a key may act on the world."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Final

from mcp_tui.tui.view.text import SafeText, words

PAUSE: Final = 0.7
"""Seconds without a key after which a person is taken to have seen what the screen says."""

REPEAT: Final = 0.25
"""Seconds between two repetitions of a request by a key that is held down."""

MOVING: Final = 0.3
"""Seconds in which a key that moves the cursor has done so."""


class KeyGuard:
    """Judges keys by what a person can have seen when they pressed them. ``now`` gives monotonic seconds.

    After a refusal, a dialog that closed by itself, or a lost connection, printable keys and enter are swallowed until no
    key came for :data:`PAUSE`: they were typed for something that is not there any more. And a key that acts on the world
    does so only on what stood under the cursor for that long before the first key of its burst. So does a key that decides
    something in a dialog: what is typed ahead into a text there is meant, what is typed ahead of a question is no answer.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.reason: SafeText = words("")
        self._held_until = -inf
        self._last_key = self._burst = self._moved = self._clicked = -inf
        self._moved_by_text = False
        self._target: tuple[object, bool] = None, False
        self._changed = self._repeated = -inf

    # -- what is swallowed -----------------------------------------------------------------------------------

    def hold(self, reason: SafeText) -> None:
        """Swallow what is typed from now on, until there is a pause."""
        self.reason = reason
        self._held_until = self.now() + PAUSE

    def swallows(self, *, text: bool) -> bool:
        """Whether a key that is pressed now is let go. ``text`` is true of printable keys and enter."""
        now = self.now()
        if now - self._last_key >= PAUSE:
            self._burst = now
        self._last_key = now
        if now < self._held_until:
            self._held_until = now + PAUSE
            if text:
                return True
        self._moved, self._moved_by_text = now, text
        return False

    def release(self) -> None:
        """A click is always meant: nothing is swallowed any more, and what it points at was seen."""
        self._held_until = -inf
        self._burst = self._moved = self._clicked = self.now()
        self._moved_by_text = False

    # -- what may be acted on --------------------------------------------------------------------------------

    def watch(self, target: object, *, ended: bool = False) -> None:
        """Note what is under the cursor now, and whether that has ended; called often, and before each key."""
        if (target, ended) == self._target:
            return
        same, self._target = self._target[0] == target, (target, ended)
        if same or self.now() - self._moved > MOVING:
            self._changed = self.now()
        elif not self._moved_by_text:
            self._changed = -inf

    def aim(self, target: object) -> None:
        """The cursor was put on this for the person who asked for it."""
        self._target, self._changed = (target, False), -inf

    @property
    def steady(self) -> bool:
        """Whether what is under the cursor was there, as it is, when the person began to type."""
        return self._changed == -inf or self.stood(self._changed)

    def stood(self, since: float) -> bool:
        """Whether what stands since then could be read before a person began to type, or was clicked on."""
        if self._clicked > self._last_key:
            return True
        now = self.now()
        began = self._burst if now - self._last_key < PAUSE else now
        return began - since >= PAUSE

    def may_repeat(self) -> bool:
        """Whether a request may be repeated by a key now; a key that is held down comes far more often."""
        now = self.now()
        if now - self._repeated < REPEAT:
            return False
        self._repeated = now
        return True
