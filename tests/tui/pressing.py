"""A key and what it is seen to do: what is looked for is not there before the key is pressed, and is there after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.pilot import Pilot

from mcp_tui.view.keys import Key
from tests.waiting import until

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Check(Generic[S]):
    """``first`` are keys that come before; either ``sees`` becomes true by the key, or ``changes`` another value.

    ``row`` is the row of the played story under the cursor. ``spoils``: after it no other key can be tried there.
    """

    sees: Callable[[S], object] | None = None
    changes: Callable[[S], object] | None = None
    first: tuple[str, ...] = ()
    row: str = "in flight"
    spoils: bool = False


async def press_and_see(pilot: Pilot[Any], key: str, check: Check[S], stage: S) -> None:
    """Press one key and wait for its effect."""
    if check.first:
        await pilot.press(*check.first)
    await pilot.pause()
    looked = check.sees or check.changes
    assert looked is not None
    before = looked(stage)
    if check.sees is not None:
        assert not before, f"what {key} does is there before it is pressed"
    await pilot.press(key)
    await pilot.pause()
    await until(
        lambda: looked(stage) if check.sees is not None else looked(stage) != before,
        lambda: f"{key} does nothing that is seen",
    )


async def press_all(
    keys: Iterable[Key],
    check_of: Callable[[str, str], Check[S]],
    staged: Callable[[], AbstractAsyncContextManager[S]],
    ready: Callable[[S, Check[S]], Awaitable[Pilot[Any]]],
) -> None:
    """Press every key by each of its names, on as few stages as can be: ``ready`` gets one ready for the next key.

    A key waits for the next stage where this one is spoilt, or shows already what the key should bring about.
    """
    left = [(key.id, name, check_of(key.id, name)) for key in keys for name in key.names]
    left.sort(key=lambda each: each[2].spoils)
    while left:
        waiting: list[tuple[str, str, Check[S]]] = []
        async with staged() as stage:
            for number, (id_, name, check) in enumerate(left):
                pilot = await ready(stage, check)
                if len(waiting) < number and check.sees is not None and check.sees(stage):
                    waiting.append((id_, name, check))
                    continue
                await press_and_see(pilot, name, check, stage)
                if check.spoils:
                    waiting += left[number + 1 :]
                    break
        left = waiting
