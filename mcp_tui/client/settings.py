"""Where a server is, and how to talk to it. Plain values; whoever reads a config file or a command line makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp_tui.client.offers import Offers
from mcp_tui.protocol.states import DEFAULT_LIMITS, GRACE, Limits

DEFAULT_OFFERS: Final = Offers()


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioTarget:
    """A server that is started as a process. ``env`` comes on top of the short list of variables that it gets."""

    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    inherit_env: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """A server behind a URL. ``transport`` is ``auto``, ``http`` or ``sse``."""

    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    transport: str = "auto"
    insecure: bool = False
    name: str = ""


Target = StdioTarget | HttpTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a client behaves. Times in seconds, sizes in bytes.

    ``protocol`` is ``auto`` or a revision. ``limits`` hold for requests that bring none of their own. ``grace`` is how long
    a cancelled request is watched before it is settled. ``log_level`` is asked for with each request of
    2026-07-28, where a server may log nothing otherwise; empty asks for none. ``offers`` is what the server is told that
    this client can do for it. ``trace`` sends a trace context with each request (``traceparent``, SEP-414).
    """

    protocol: str = "auto"
    connect_timeout: float = 30.0
    limits: Limits = DEFAULT_LIMITS
    grace: float = GRACE
    log_level: str = "info"
    max_message: int = 128 * 1024 * 1024
    offers: Offers = DEFAULT_OFFERS
    trace: bool = False
