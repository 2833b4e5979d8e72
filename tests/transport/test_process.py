"""What a start does where the operating system refuses it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers.recorder import Item, recorder
from tests.servers.stdio_scripted import over_stdio


class Refusing:
    """The operating system, refusing the next starts."""

    def __init__(self, number: int, times: int) -> None:
        self.number, self.times, self.asked = number, times, 0
        self._popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    def __call__(self, *words: Any, **how: Any) -> subprocess.Popen[bytes]:
        self.asked += 1
        if self.asked <= self.times:
            raise OSError(self.number, os.strerror(self.number))
        return self._popen(*words, **how)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EFAULT])
async def test_a_start_that_is_refused_for_the_moment_is_tried_once_more(
    number: int, monkeypatch: pytest.MonkeyPatch
):
    refusing = Refusing(number, 1)
    monkeypatch.setattr(subprocess, "Popen", refusing)
    transport = over_stdio([sys.executable, "-S", "-c", "input()"])
    items: list[Item] = []
    await transport.open(recorder(items.append))
    assert transport.pid
    assert refusing.asked == 2
    await transport.close()
