"""Answer a form that the server sends during a call: ``python answer.py [COMMAND…]``."""

import asyncio
import sys

from mcp_tui.client import Answer, Client, ClientSettings, Inquiry, Offers, Refusal, StdioTarget

SERVER = sys.argv[1:] or [sys.executable, "-m", "mcp_tui.demo"]
SETTINGS = ClientSettings(offers=Offers(elicitation=frozenset({"form"})))


async def respond(inquiry: Inquiry) -> Answer:
    if inquiry.method != "elicitation/create":
        return Refusal("only forms are answered here")
    print("asked:", inquiry.params["message"])
    return {"action": "accept", "content": {"name": "Ada", "place": "garden"}}


async def main() -> None:
    client = Client(StdioTarget(command=tuple(SERVER)), SETTINGS, respond=respond)
    await client.connect()
    answer = await client.request("tools/call", {"name": "ask", "arguments": {"what": "form"}})
    assert answer is not None  # nobody cancelled the call
    print("answer:", answer.result["content"][0]["text"])
    await client.close()


asyncio.run(main())
