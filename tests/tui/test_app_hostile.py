"""A server that sends what no terminal should see: it is shown, and nothing of it is obeyed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcp_tui.client.client_settings import ClientSettings, StdioTarget
from tests.tui.driving import SCRIPTED, driving
from tests.tui.hostile import PAYLOADS, assert_harmless

SERVER = SCRIPTED.with_name("hostile_server.py")


async def test_hostile_text_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(["".join(PAYLOADS.values()), PAYLOADS["rich-close"], PAYLOADS["long"]]))
    target = StdioTarget(command=(sys.executable, "-S", str(SERVER), str(texts)))
    async with driving(target, size=(140, 40), settings=ClientSettings(protocol="2025-11-25")) as driven:
        tools = driven.session.catalogue.tools
        assert len(tools) == 8
        for tool in tools[-4:]:  # one hangs, one fails, the others answer
            id_ = driven.call(tool.name)
            await driven.until(lambda id_=id_: "hang" in driven.row(id_).name or not driven.row(id_).open)
        seen = [driven.text()]
        look = "5 enter 4 3 6 2 down n enter escape escape S escape v escape 1 z end down end down end c escape r"
        for key in look.split():
            await driven.press(key)
            seen.append(driven.text())
        assert any("␛]52;c;" in text for text in seen)
        for text in seen:
            assert_harmless(text.replace("\n", ""))
        assert driven.app.is_running
