"""The folders that a client offers to servers as roots. Only their paths are sent, never their contents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp_tui.client.client_settings import ROOTS
from mcp_tui.client.interactions import Answer, Inquiry, Refusal, Respond
from mcp_tui.protocol.messages import Json


def root_uri(folder: str) -> str:
    """Returns the URI of a folder; a URI is returned unchanged."""
    return folder if folder.startswith("file:") else Path(folder).expanduser().absolute().as_uri()


def missing_roots(folders: Iterable[str]) -> list[str]:
    """Returns the names that are not a folder on this machine."""
    return [each for each in folders if not _is_folder(root_uri(each))]


def _is_folder(uri: str) -> bool:
    try:
        return Path(unquote(urlsplit(uri).path)).is_dir()
    except (OSError, ValueError):
        return False


def rooted(folders: Iterable[str]) -> Answer:
    """Returns a ``ListRootsResult`` of folders or ``file:`` URIs."""
    uris = [root_uri(each) for each in folders]
    roots: list[Json] = [{"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]} for uri in uris]
    return {"roots": roots}


def sharing(folders: tuple[str, ...]) -> Respond | None:
    """Returns the function that answers a request for roots without a person; ``None`` if no folder is offered."""

    async def respond(inquiry: Inquiry) -> Answer:
        return rooted(folders) if inquiry.method == ROOTS else Refusal()

    return respond if folders else None
