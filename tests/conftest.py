"""What holds for every test: a home of its own, an environment without surprises, loopback without a proxy."""

from __future__ import annotations

import asyncio
import compileall
import gc
import inspect
import itertools
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import settings

import mcp_tui
from mcp_tui.journal.store import Store
from mcp_tui.transport import launching
from tests.control import Control
from tests.forking import start_guard
from tests.frames_sent import Sent, journals
from tests.waiting import until

# Time is not what property tests are about, and a loaded machine must not fail one. The fuzzer takes many more inputs.
settings.register_profile("mcp-tui", settings.get_profile("default"), deadline=None, max_examples=25)
settings.load_profile("mcp-tui")

# Tests start processes from several threads at a time. A child that shares the memory of its parent until it is another
# program (vfork) was seen to fail for that, on some kernels: EFAULT.
subprocess._USE_VFORK = False  # pyright: ignore[reportPrivateUsage]

# What is started in the background, or by nohup, ignores these, and so would every process that a test starts.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

_UNWANTED = {
    "ARGS",
    "COLORFGBG",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "NO_COLOR",
    "SSL_CERT_FILE",
}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the package, once. A process whose files may not grow would leave half a module to all others."""
    gc.disable()  # what is collected stays
    if not hasattr(session.config, "workerinput"):
        compileall.compile_dir(Path(mcp_tui.__file__).parent, quiet=1)


def pytest_itemcollected(item: pytest.Item) -> None:
    mark = item.get_closest_marker("clock")
    if mark is not None and not mark.args:
        raise pytest.UsageError(
            f"{item.nodeid}: clock says why, as in clock('measures the timeout of a process')"
        )


def pytest_collection_finish() -> None:
    """Collect less often: what was imported stays, and a seventh of all time was spent on looking through it."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of home folders, one a test."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _environment_of_its_own(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]
) -> None:
    """No test reads or writes the files of the person who runs it, nor obeys their environment.

    A guard and a server start without loading Python, but where their start is what a test is about.
    """
    if request.path.parent.name != "transport":
        monkeypatch.setattr(launching, "_start_guard", start_guard)
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        decides = name.startswith(("GITHUB_", "MCP_TUI_", "PYTHON", "TEXTUAL", "XDG_"))
        if decides or name in _UNWANTED or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "NO_PROXY": "127.0.0.1,localhost",
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def _work_that_ends() -> AsyncIterator[None]:
    yield
    own = asyncio.current_task()
    await until(
        lambda: asyncio.all_tasks() == {own},
        lambda: "\n".join(sorted(map(repr, asyncio.all_tasks() - {own}))),
    )


@pytest.fixture(autouse=True)
def _no_work_is_left(request: pytest.FixtureRequest, _environment_of_its_own: None) -> None:
    """What a test began in its loop ends before the loop does, so that no server of one test is left to another."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("_work_that_ends")


@pytest.fixture
def control() -> Iterator[Control]:
    """The time of the servers that are started with ``control.env``."""
    with Control() as control:
        yield control


@pytest.fixture(autouse=True)
def _every_frame_is_valid(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _environment_of_its_own: None
) -> Iterator[None]:
    """What is sent breaks no official schema; see ``frames_sent.py``."""
    if request.node.get_closest_marker("sends_anything"):  # pyright: ignore[reportUnknownMemberType]
        yield
        return
    stores: WeakKeyDictionary[Store, Sent] = WeakKeyDictionary()
    sessions: list[Sent] = []
    keep = Store.frame

    def frame(self: Store, direction: Any, raw: bytes, **more: Any) -> int:
        sent = stores.get(self)
        if sent is None:
            sent = stores[self] = Sent()
            sessions.append(sent)
        sent.frame(direction, raw)
        return keep(self, direction, raw, **more)

    monkeypatch.setattr(Store, "frame", frame)
    folder = Path(os.environ["XDG_STATE_HOME"])
    yield
    sessions.extend(journals(folder))
    problems = [problem for sent in sessions for problem in sent.problems]
    assert not problems, "\n".join(problems[:5])
