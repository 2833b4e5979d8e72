"""Connecting on the screen: how far it came, the key that stops it, and why it came to nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_tui.client import connecting
from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.view.server_bar import Link
from tests.client.connected import scripted
from tests.tui.driving import Driven, driving


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe is given up after a fraction of a second."""
    monkeypatch.setattr(connecting, "PROBE_SECONDS", 0.3)


async def shown(driven: Driven, *said: str) -> None:
    """Wait until the detail tells all of it."""
    await driven.until(
        lambda: driven.bench.detail.display and all(each in driven.plain("detail") for each in said)
    )


async def test_a_server_that_hangs_is_told_step_by_step_and_c_stops_it():
    async with driving(scripted("mute"), link=None) as driven:
        await driven.until(lambda: driven.session.slow)
        await shown(
            driven,
            "starting the server",
            "no response to server/discover, trying initialize",
            "waiting for the response to initialize",
            "c stops connecting",
        )
        assert "waiting for the" in driven.inside("server")
        assert "c Cancel" in driven.inside("keys")
        await driven.press("c")
        await driven.until(lambda: driven.session.link is Link.LOST)
        await driven.until(lambda: driven.session.client.transport is None)
        said = "Stopped while waiting for the response to initialize."
        await driven.until(lambda: str(driven.session.trouble) == said)
        await shown(driven, "Connection steps", "starting the server")
        await driven.until(
            lambda: f"Not connected: s{said[1:]} Press S to reconnect." in driven.plain("requests")
        )
        assert driven.text().count("topped while") == 1, "it is said once"
        assert not driven.left


async def test_a_launcher_is_named_with_its_newest_line(tmp_path: Path):
    npx = tmp_path / "npx"
    npx.symlink_to(sys.executable)
    code = "import sys, time; print('fetching [b]left-pad', file=sys.stderr, flush=True); time.sleep(60)"
    target: Target = StdioTarget(command=(str(npx), "-S", "-c", code))
    async with driving(target, size=(140, 40), link=Link.CONNECTING) as driven:
        await shown(driven, "npx may still be", "downloading: fetching", "Server stderr", "[b]left-pad")
        await driven.press("c")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")
async def test_processes_that_the_server_left_running_are_told_when_it_is_stopped():
    async with driving(scripted("starts")) as driven:
        client = driven.session.client
        await client.wait(client.call_tool("odd", {}))
        await driven.session.stop()
        said = "2 processes of the server were still running and were ended."
        told = driven.app._notifications  # pyright: ignore[reportPrivateUsage]
        await driven.until(lambda: any(said in each.message for each in told))


async def test_a_failure_says_why_with_the_last_lines_of_stderr():
    code = "import sys; print('reading config', file=sys.stderr); print('no licence', file=sys.stderr); sys.exit(9)"
    target: Target = StdioTarget(command=(sys.executable, "-S", "-c", code), name="gone")
    async with driving(target, size=(140, 40), link=Link.LOST) as driven:
        await driven.until(lambda: driven.session.trouble)
        await shown(driven, "Connection steps", "reading config", "no licence")
        assert driven.plain("requests").count("exited with code 9. Press S to reconnect.") == 1
        assert "not connected" in driven.inside("server")
        await driven.press("n")
        assert "Not connected. Press S to reconnect." in driven.text()
        await driven.press("S")
        assert "Reconnect" in driven.text()
