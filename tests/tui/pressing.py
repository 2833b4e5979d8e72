"""A key and what it is seen to do: what is looked for is not there before the key is pressed, and is there after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.pilot import Pilot

from tests.waiting import until

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Check(Generic[S]):
    """``first`` are keys that come before; either ``sees`` becomes true by the key, or ``changes`` another value.

    ``row`` is the row of the played story under the cursor, ``scene`` a name for what else has to be there.
    """

    sees: Callable[[S], object] | None = None
    changes: Callable[[S], object] | None = None
    first: tuple[str, ...] = ()
    row: str = "in flight"
    scene: str = ""


async def press_and_see(pilot: Pilot[Any], key: str, check: Check[S], stage: S) -> None:
    """Press one key and wait for its effect."""
    if check.first:
        await pilot.press(*check.first)
    await pilot.pause()
    looked = check.sees or check.changes
    assert looked is not None
    before = looked(stage)
    if check.sees is not None:
        assert not before, "it is there before the key is pressed"
    await pilot.press(key)
    await pilot.pause()
    await until(
        lambda: looked(stage) if check.sees is not None else looked(stage) != before,
        lambda: f"{key} does nothing that is seen",
    )
