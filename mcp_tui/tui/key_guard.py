"""Guards against keys that a person typed for something else: decides which are ignored, and when a key may act."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from math import inf
from typing import Final

from mcp_tui.view.text import SafeText, words

READ_SECONDS: Final = 0.7
"""Seconds without a key after which a person has seen the screen."""

REPEAT_SECONDS: Final = 0.25
"""The minimum number of seconds between two repetitions of a request by a held key."""

MOVING_SECONDS: Final = 0.3
"""Seconds within which a move of the cursor counts as the effect of a key."""


class KeyGuard:
    """Judges keys by what a person can have seen when they pressed them. ``now`` returns monotonic seconds.

    After a refusal, a dialog that closed automatically, or a lost connection, printable keys and enter are ignored
    until there is no key for :data:`READ_SECONDS`: they were typed for something that is gone. But a person can
    always stop something. After a refusal, the keys that open a prompt to cancel still work: the prompt shows the
    request and ignores the rest of the burst. And any key that cancels works when it is pressed twice in a row: stray
    text that does this can at most open such a prompt.

    A key that acts on a server works only if the row under the cursor was there for that time before the first key of
    the burst. The same holds for a key that decides something in a dialog. A key that cancels is never refused for
    that; it acts on :attr:`aimed`. Text that is typed ahead into a dialog is meant for it; a key that is typed ahead
    of a question is not an answer.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.reason: SafeText = words("")
        self._blocked_until = -inf
        self._last_key = self._burst = self._moved = self._clicked = -inf
        self._moved_by_text = False
        self._target: tuple[object, bool] = None, False
        self._changed = self._repeated = -inf
        self._spared: Collection[str] = ()
        self._swallowed = ""
        self.aimed: object = None
        """The item under the cursor when the burst began, or the item to which a person moved the cursor since."""

    # -- swallowing --------------------------------------------------------------------------------------------

    def block(self, reason: SafeText, spared: Collection[str] = ()) -> None:
        """Ignores keys from now on until there is a pause, except for the first one with a name in ``spared``."""
        self.reason = reason
        self._spared = spared
        self._swallowed = ""
        self._blocked_until = self.now() + READ_SECONDS

    def block_burst(self, reason: SafeText) -> None:
        """Ignores the remaining keys of the current burst, because something opened automatically during it."""
        if self.now() - self._last_key < READ_SECONDS:
            self.block(reason)

    def swallows(self, key: str = "", *, text: bool, cancels: bool = False) -> bool:
        """Whether a key pressed now is ignored.

        ``text`` is true for printable keys and enter, ``cancels`` for keys that cancel requests where they are
        pressed.
        """
        now = self.now()
        if now - self._last_key >= READ_SECONDS:
            self._burst = now
            self.aimed = self._target[0]
        self._last_key = now
        if now < self._blocked_until:
            self._blocked_until = now + READ_SECONDS
            # Each press restarts the pause, so an impatient person could never cancel.
            if cancels and (key in self._spared or key == self._swallowed):
                self._spared, self._swallowed = (), ""
            elif text:
                self._swallowed = key
                return True
        self._moved, self._moved_by_text = now, text
        return False

    def release(self) -> None:
        """Notes a click, which is always intended: no key is ignored any more, and its target was seen."""
        self._blocked_until = self._last_key = -inf
        self._burst = self._moved = self._clicked = self.now()
        self._moved_by_text = False

    # -- acting ------------------------------------------------------------------------------------------------

    def watch(self, target: object, *, ended: bool = False) -> None:
        """Notes the item under the cursor, and whether it has ended; called often, and before each key."""
        if (target, ended) == self._target:
            return
        same, self._target = self._target[0] == target, (target, ended)
        if same or self.now() - self._moved > MOVING_SECONDS:
            self._changed = self.now()
        # An arrow key shows that the person saw the new place of the cursor. A letter, such as one that filters, does
        # not.
        elif not self._moved_by_text:
            self._changed = -inf

    def aim(self, target: object) -> None:
        """Notes that a person put the cursor on this item."""
        self._target, self._changed, self.aimed = (target, False), -inf, target

    def moved(self, target: object) -> None:
        """Notes the item under the cursor after a key: if it changed, the key moved the cursor."""
        if target != self._target[0]:
            self.aimed = target

    @property
    def steady(self) -> bool:
        """Whether the target under the cursor was there, unchanged, when the person began to type."""
        return self._changed == -inf or self.was_readable(self._changed)

    def was_readable(self, since: float) -> bool:
        """Whether a person could read something shown since then before they began to type, or clicked it."""
        if self._clicked > self._last_key:
            return True
        now = self.now()
        began = self._burst if now - self._last_key < READ_SECONDS else now
        return began - since >= READ_SECONDS

    def may_repeat(self) -> bool:
        """Whether a key may repeat a request now; a held key repeats far more often."""
        now = self.now()
        if now - self._repeated < REPEAT_SECONDS:
            return False
        self._repeated = now
        return True
