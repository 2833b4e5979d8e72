from __future__ import annotations

import random
from pathlib import Path

import pytest

from mcp_tui.protocol.requests import State
from tests.soak.__main__ import ran


@pytest.mark.clock("ten requests a second for half a minute")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["headless", "workbench"])
async def test_rows_journal_and_the_servers_log_agree_after_half_a_minute(name: str, tmp_path: Path):
    seed = random.SystemRandom().randrange(1 << 32)
    soak = await ran(name, 30.0, seed, tmp_path)
    log, journal = tmp_path / "log", tmp_path / "journal.jsonl"
    assert soak.judge(log, journal) == [], seed
    row = next(
        row for row in soak.client.requests.order if row.state is State.COMPLETED and row.name == "soak"
    )
    log.write_text(log.read_text().replace(f"answered {row.id}\n", ""))
    assert soak.judge(log, journal) == [f"{row.id} is completed, and the server never answered it"]
