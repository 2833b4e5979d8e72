"""A demo server for a test, by transport and revision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.demo.official import MODERN
from tests.demo.peers import Frame, HttpPeer, Peer, StdioPeer

Make = Callable[..., Peer]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Make]:
    """``connect(transport, revision, *options, capabilities)``: a peer whose conversation is open."""
    with ExitStack() as stack:

        def make(transport: str, revision: str, *options: object, capabilities: Frame | None = None) -> Peer:
            kind = StdioPeer if transport == "stdio" else HttpPeer
            log = tmp_path / f"{transport}-{revision}.jsonl"
            return stack.enter_context(kind(revision, log, *options, capabilities=capabilities)).open()

        yield make


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpPeer]:
    """One over HTTP in the modern era, for all tests of a module: nothing that they do is kept there."""
    with HttpPeer(MODERN, tmp_path_factory.mktemp("modern") / "log") as peer:
        yield peer
