from __future__ import annotations

from mcp_tui.config import saved
from mcp_tui.config.saved import SavedCall, SavedServer
from mcp_tui.config.settings import DEFAULTS
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.dialog import ConfirmScreen, InputsScreen, MenuScreen
from tests.tui.driving import Driven, driving


async def palette(driven: Driven, text: str) -> None:
    await driven.press("ctrl+p")
    await driven.type(text)
    await driven.until(lambda: text.lower() in driven.text().lower())
    await driven.pilot.pause()
    await driven.press("enter")


async def test_a_call_is_saved_from_the_palette_and_run_again_from_the_list_of_its_key():
    async with driving() as driven:
        await driven.press("b")
        assert "No saved calls yet." in driven.inside("keys")
        id_ = driven.call("echo", text="kept")
        await driven.until(lambda: driven.row(id_).state is State.COMPLETED)
        await palette(driven, f"Save call {id_}")
        await driven.until(lambda: isinstance(driven.top, InputsScreen))
        await driven.type("echo-mine")
        await driven.press("enter")
        await driven.until(lambda: "Saved. Run it with: mcp-tui call --saved echo-mine" in driven.text())
        (call,) = saved.load(DEFAULTS.saved_folder)[0]
        assert call == SavedCall(
            name="echo-mine", tool="echo", arguments={"text": "kept"}, server=SavedServer(name="demo")
        )
        before = len(driven.session.client.requests.order)
        await driven.press("b")
        assert isinstance(driven.top, MenuScreen)
        assert "Saved call: echo-mine" in driven.text()
        await driven.press("down", "enter")
        await driven.until(lambda: len(driven.session.client.requests.order) == before + 1)
        again = driven.session.client.requests.order[-1]
        await driven.until(lambda: again.state is State.COMPLETED)
        assert driven.bench.payloads.params(again) == {"name": "echo", "arguments": {"text": "kept"}}


async def test_arguments_that_look_like_secrets_are_saved_only_when_confirmed():
    async with driving() as driven:
        id_ = driven.call("echo", text="x", api_key="hunter22")
        await driven.until(lambda: not driven.row(id_).open)
        for answer, count in (("n", 0), ("y", 1)):
            await palette(driven, f"Save call {id_}")
            await driven.until(lambda: isinstance(driven.top, InputsScreen))
            await driven.press("enter")
            await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
            assert "api_key" in driven.text()
            assert "hunter22" not in driven.text()
            await driven.press(answer)
            await driven.until(lambda: driven.top is driven.bench)
            assert len(saved.load(DEFAULTS.saved_folder)[0]) == count


async def test_calls_of_other_servers_are_not_offered():
    for server in ("demo", "other"):
        call = SavedCall(name=f"of {server}", tool="echo", server=SavedServer(name=server))
        saved.save(DEFAULTS.saved_folder, call)
    async with driving() as driven:
        offered = [str(each.name) for each in driven.bench.calling.saved_offers()]
        assert [title for title in offered if title.startswith("Saved")] == ["Saved call: of demo"]
