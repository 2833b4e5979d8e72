"""The keys of a recording: its own, and the workbench's; of these the ones that would act say that they do not."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys.key import Key, Scope
from mcp_tui.tui.keys.workbench import WORKBENCH

# fmt: off
RECORDED: Final = (
    Key("replay.play", "space", "play", "Play", "play/pause", footer=-6),
    Key("replay.next", ".,right", "step(1)", "Step", "the next event; the arrow in the requests only", footer=-5),
    Key("replay.previous", "comma,left", "step(-1)", "Step back", "one event back"),
    Key("replay.next-cancellation", "]", "cancellation(1)", "Cancelled", "to the next cancellation", footer=-4),
    Key("replay.previous-cancellation", "[", "cancellation(-1)", "Cancelled before", "to the cancellation before"),
    Key("replay.start", "{", "start", "Ends", "to the start of the recording", footer=-3, wide=True, others=("replay.end",)),
    Key("replay.end", "}", "end", "End", "to its end"),
    Key("replay.faster", ">", "speed(1)", "Faster", "play twice as fast", footer=-2, wide=True),
    Key("replay.slower", "<", "speed(-1)", "Slower", "play half as fast"),
    Key("replay.find", "f", "find", "Find", "find a text in events and messages", footer=-1, priority=True),
    Key("replay.find-next", "down", "find_on(1)", "Find on", "while finding: next match, as enter does", hidden=True),
    Key("replay.find-previous", "up", "find_on(-1)", "Find back", "while finding: previous match", hidden=True),
)
# fmt: on
"""Keys of a recording alone; in the footer they stand before the others."""

_OWN: Final = frozenset(name for each in RECORDED for name in each.names)

STEPS: Final = frozenset({"view.open", "view.close"})
"""Keys of the workbench, by their ids, that a recording has not: the arrows step."""


def _as_here(key: Key) -> Key:
    """A key of the workbench as it is on a recording, where others may have some of its keys."""
    keys = ",".join(name for name in key.names if name not in _OWN)
    if key.id == "app.back":
        return key._replace(keys=keys, footer=-7)
    if key.acts:
        return key._replace(keys=keys, action="read_only", footer=0, hidden=True, priority=False)
    return key._replace(keys=keys)


RECORDING: Final = Scope(
    "recording",
    "A recording",
    (*RECORDED, *(_as_here(key) for key in WORKBENCH.keys if key.id not in STEPS)),
    within=("everywhere",),
)
