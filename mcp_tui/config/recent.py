"""The servers that were opened last, newest first: by the name that config files have for them, or as they were typed.

What has a secret in it, or was given variables or headers, is not remembered: it could not be opened again.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mcp_tui.client.settings import Target
from mcp_tui.config import files
from mcp_tui.config.files import ConfigError, read_text, write_private
from mcp_tui.config.saved import server_of
from mcp_tui.protocol.messages import as_list, as_object

MOST: Final = 12
"""Servers that are remembered."""


@dataclass(frozen=True, slots=True)
class Recent:
    """One of them: the name of a ``server``, or the ``line`` that was typed; the other is empty."""

    server: str = ""
    line: str = ""


def of(target: Target) -> Recent | None:
    """How a target is remembered; ``None`` where it is not."""
    server = server_of(target)
    if server.env or server.headers or server.cwd or not server.found:
        return None
    return Recent(server.name, server.url or shlex.join(server.command))


def load() -> list[Recent]:
    """Those that are remembered; none where the file cannot be read."""
    with suppress(ConfigError, ValueError, RecursionError):
        entries = (
            as_object(each) for each in as_list(json.loads(read_text(files.recent_file(), 256 * 1024)))
        )
        found = (Recent(_text(each.get("server")), _text(each.get("line"))) for each in entries)
        return [each for each in found if each.server or each.line][:MOST]
    return []


def remember(target: Target) -> None:
    """Put a target first. That it cannot be written is no reason to stop."""
    made = of(target)
    if made is None:
        return
    entries = [made, *(each for each in load() if each != made)][:MOST]
    kept = [{"server": each.server} if each.server else {"line": each.line} for each in entries]
    with suppress(ConfigError):
        write_private(files.recent_file(), json.dumps(kept, indent=1) + "\n")


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 4000 else ""
