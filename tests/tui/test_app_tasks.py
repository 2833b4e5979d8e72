"""Tasks of a server that cannot cancel them: the workbench says so, and nobody has to wait for one."""

from __future__ import annotations

import pytest

from mcp_tui.client.client_settings import ClientSettings
from mcp_tui.protocol.requests import State
from tests.client.connected import scripted
from tests.tui.driving import driving

HANDSHAKE = ClientSettings(protocol="2025-11-25")


@pytest.mark.parametrize(
    ("mode", "state"), [("task-no-cancel", State.TASK), ("task-no-handle", State.IN_FLIGHT)]
)
async def test_c85_a_cancel_is_refused_in_words_and_the_row_stays(mode: str, state: State) -> None:
    async with driving(scripted(mode), size=(120, 36), settings=HANDSHAKE) as driven:
        id_ = driven.call("odd")
        await driven.until(lambda: driven.row(id_).state is state)
        driven.bench.table.select(id_)
        await driven.press("C")
        assert "This server cannot cancel tasks" in driven.inside("keys")
        assert driven.row(id_).cause is None
        assert driven.row(id_).state is state


async def test_c86_to_stop_waiting_is_another_word_in_the_palette_and_the_row_says_that_the_task_goes_on() -> (
    None
):
    async with driving(scripted("task-no-cancel"), size=(140, 40), settings=HANDSHAKE) as driven:
        id_ = driven.call("odd")
        await driven.until(lambda: driven.row(id_).state is State.TASK)
        await driven.press("ctrl+p")
        await driven.type("stop waiting")
        await driven.until(lambda: f"Stop waiting for {id_}" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: driven.row(id_).state is State.CANCELLED)
        assert "task keeps running on the server" in driven.inside("keys")
        assert "stopped waiting" in driven.text()
        assert driven.row(id_).settled == "stopped waiting; the task keeps running"
