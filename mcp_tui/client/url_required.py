"""Handles error -32042 of 2025-11-25: a person must open a URL before the request is sent again.

The questions are those of an elicitation in URL mode (elicitation, "URL Elicitation Required Error"), but they are in
an error and need no answer. Nothing is opened or repeated unless a person accepts each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.error_codes import URL_REQUIRED
from mcp_tui.protocol.messages import Json, RequestFrame, ResponseFrame, as_object, as_text, objects_in, parse
from mcp_tui.transport.base import spawn

MAX_URLS: Final = 10
"""The maximum number of URLs of one error."""

_OWN: Final = frozenset({"_meta", "inputResponses", "requestState"})
"""The params that belong to one message only."""


def required_urls(data: Json) -> list[dict[str, Json]]:
    """Returns the elicitations with a URL in the data of such an error."""
    found = objects_in(as_object(data).get("elicitations"))
    usable = (each for each in found if as_text(each.get("url")) and each.get("mode", "url") == "url")
    return list(islice(usable, MAX_URLS))


def shown_origin(url: str) -> str:
    """Returns the scheme, host, and port of a URL; empty unless it is a plain http or https URL."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises an error if the port is not valid
    except ValueError:
        return ""
    plain = url.isascii() and url.isprintable() and not {" ", "\\"} & {*url}
    if not (plain and parts.scheme in ("http", "https") and parts.hostname):
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def ask_for_urls(client: Client, call: Callable[[str, dict[str, Json]], object]) -> None:
    """Asks the person to open the URLs that their request needs; ``call`` then sends it again with a new id."""

    def take(event: ev.Event) -> None:
        match event:
            case ev.Failed(code=code) if code == URL_REQUIRED and "url" in client.ledger.negotiated.modes:
                row = client.requests.get(event.id)
                answer = parse(client.store.payload(event.seq) or b"")
                sent = None if row is None else parse(client.store.payload(row.request_seq) or b"")
                error = answer.error if isinstance(answer, ResponseFrame) else None
                if row is None or row.internal or error is None:
                    return
                urls = required_urls(error.data)
                if urls and isinstance(sent, RequestFrame):
                    members = as_object(sent.params).items()
                    params = {name: value for name, value in members if name not in _OWN}
                    spawn(ask(row.id, urls, row.method, params), name=f"URLs for {row.id}")
            case ev.Disconnected():
                client.interactions.close_url_prompts("the connection ended")
            case _:
                pass

    async def ask(
        id_: ev.RequestId, urls: list[dict[str, Json]], method: str, params: dict[str, Json]
    ) -> None:
        if await client.interactions.ask_to_open(id_, urls):
            client.note(f"{id_} is sent again: its URLs were accepted")
            call(method, params)

    client.listen(take)
