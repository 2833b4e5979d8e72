"""The monkey runs, and what it is to find it finds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.tui.screens.workbench import Workbench
from tests.monkey.run import Failure, both, live
from tests.monkey.steps import Step, steps

pytestmark = pytest.mark.sends_anything  # calls with whatever arguments were typed

CONNECTED = (Step("connect"), Step("wait", seconds=0.5))


def test_a_seed_types_the_same_each_time() -> None:
    assert list(itertools.islice(steps(7), 200)) == list(itertools.islice(steps(7), 200))


@pytest.mark.slow
async def test_the_monkey_finds_nothing() -> None:
    await both(11, (80, 24), list(itertools.islice(steps(11), 60)), [])


def _calls(bench: Workbench) -> None:
    bench.session.client.call_tool("quick", {})


def _writes(bench: Workbench) -> None:
    Path("left.txt").write_text("here")


def _fails(bench: Workbench) -> None:
    raise IndexError(bench)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (_calls, "called tools/call quick"),
        pytest.param(_writes, "wrote", marks=pytest.mark.slow),
        pytest.param(_fails, "IndexError", marks=pytest.mark.slow),
    ],
)
async def test_what_no_key_explains_is_found(
    fault: Callable[[Workbench], None], found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Workbench, "action_follow", fault)
    with pytest.raises((Failure, IndexError)) as failure:
        await live(tmp_path, 3, (80, 24), [*CONNECTED, Step("press", ("F",))], [])
    assert found in repr(failure.value)


async def test_letters_of_a_text_decide_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def typed(bench: Workbench) -> None:
        bench.run_worker(_later(bench), exit_on_error=True)

    async def _later(bench: Workbench) -> None:
        await asyncio.sleep(0.2)
        _calls(bench)

    monkeypatch.setattr(Workbench, "action_follow", typed)
    said = [Step("press", ("F", "slash")), Step("type", ("r", "y")), Step("wait", seconds=0.5)]
    with pytest.raises(Failure, match="called tools/call quick"):
        await live(tmp_path, 3, (80, 24), [*CONNECTED, *said], [])
