"""A busy table in a real terminal, event by event: no column moves, and each word of a state is a filter."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.snapshots.scenes import staged
from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]


def header(terminal: Terminal) -> str:
    """The titles of the columns, without the scrollbar at their end."""
    return next(line[:-2] for line in terminal.screen.display if "State" in line and "Elapsed" in line)


def states(terminal: Terminal) -> list[str]:
    """The words in the column State, from the top."""
    head = header(terminal)
    column = slice(head.index("State"), head.index(" Id ") + 3)
    found = (re.fullmatch(r"(\S.*?) +\d+", line[column].strip()) for line in terminal.screen.display)
    return [each[1] for each in found if each is not None]


async def test_no_column_moves_and_each_word_of_a_state_is_a_filter(
    terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    path, size = tmp_path / "busy.jsonl", (100, 30)
    async with staged(size, path=path) as stage:
        stage.session.client.store.flush()
    terminal = terminals("replay", str(path), columns=size[0], lines=size[1])

    def position() -> list[int]:
        """The number of the event, and of all."""
        return [
            int(each) for found in re.findall(r"event +(\d+) of (\d+)", terminal.text()) for each in found
        ]

    terminal.until(lambda: position()[-1:] > [0] and position()[0] == position()[1])  # all of it is read
    last = position()[1]
    terminal.press("b")
    terminal.until(lambda: position()[:1] == [0])
    terminal.press("-" * 12)  # room for all rows
    heads, tried = set[str](), set[str]()
    for number in range(1, last + 1):
        terminal.press(".")
        terminal.until(lambda number=number: position()[:1] == [number])
        before = states(terminal)
        heads |= {header(terminal)} if "crawl" in terminal.text() else set()  # from the first call on
        for word in {*before} - tried:
            tried.add(word)
            wanted = f'state:"{word}"'
            terminal.press(f"/{wanted}\r")
            terminal.see(wanted, f" of {len(before)}")
            assert "Unknown" not in terminal.text()
            terminal.until(
                lambda word=word, before=before: states(terminal).count(word) == before.count(word)
            )
            heads |= {header(terminal)} if heads else set()
            terminal.press("\x1b")
            terminal.until(lambda wanted=wanted: wanted not in terminal.text())
            terminal.until(lambda before=before: states(terminal) == before)
    assert len(heads) == 1, "\n".join(heads)
    assert tried >= {"queued", "in flight", "cancelling", "timed out", "late", "progressing", "completed"}
    assert tried >= {"tool error", "failed", "lost"}
