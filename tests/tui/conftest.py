"""Terminals for tests that need real ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

import pexpect
import pytest

from tests.tui.terminal import Terminal


@pytest.fixture
def terminals() -> Generator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_(*words: str, **given: Any) -> Terminal:
        opened.append(Terminal(*words, **given))
        return opened[-1]

    yield open_
    for terminal in opened:
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            terminal.process.close(force=True)
