"""A request leaves a few bytes in what the panes and the bar know of it, whatever came of it and whoever looked."""

from __future__ import annotations

import gc
import sys
from types import FunctionType, ModuleType

import pytest

from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.sources.live_session import Counters
from mcp_tui.view.cancellations import FITTED_CANCELLATIONS, Cancellations
from mcp_tui.view.outline import Outline
from mcp_tui.view.timeline import RequestSpans
from tests.tui.making import cancelled, completed, late, started

MANY = 9 * FITTED_CANCELLATIONS


def size(*roots: object, but: object) -> int:
    """The bytes of all that these objects refer to, but for one and what is the program's own."""
    gc.collect()
    known, todo, found = {id(but)}, list(roots), 0
    while todo:
        each = todo.pop()
        if id(each) not in known and not isinstance(each, (type, ModuleType, FunctionType)):
            known.add(id(each))
            found += sys.getsizeof(each)
            todo += gc.get_referents(each)
    return found


@pytest.mark.slow
def test_what_the_panes_know_takes_at_most_fifty_bytes_a_request():
    requests = Requests(keep=100)
    log, counters = Cancellations(requests, origin=0.0, now=lambda: 0.0), Counters(requests)
    spans, table = RequestSpans(requests, Frames(), origin=0.0), Outline(requests)
    sizes: list[int] = []
    for id in range(1, 2 * MANY + 1):
        at = float(id)
        lost = ev.Unwatched(at=at + 3, id=id, detail="it exited", disconnected=True)
        given_up = cancelled(id=id, at=at + 1, settled="")
        how = ([completed(id=id, at=at + 1)], [*given_up, late(id=id, at=at + 2)], [*given_up, lost])[id % 3]
        for event in (*started(id, at=at), *how):
            requests.apply(event)
            counters.note(event)
        if id % 100 == 0:
            counters.counts(at)
            spans.update()
            table.update()
        if id % MANY == 0:
            sizes.append(size(log, counters, spans, table, but=requests))
    assert len(log.numbers) == 4 * MANY // 3
    assert (sizes[1] - sizes[0]) / MANY < 50
