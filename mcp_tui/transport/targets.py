"""The targets that a client can connect to, as plain values, made from config files and command lines."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Final

from mcp_tui.protocol.values import fact


@fact
class StdioTarget:
    """A server that is started as a process: ``command`` is the program and its arguments, never a shell's line.

    ``env`` comes on top of the short list of variables that it gets. ``approved`` is the file of the program that a person
    approved, without symbolic links: nothing else is started in its place; empty if nobody was asked.
    """

    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    inherit_env: bool = False
    name: str = ""
    approved: str = ""


@fact
class Tls:
    """The TLS of one origin: ``insecure`` checks no certificate of it; the paths of the client's own are PEM files."""

    insecure: bool = False
    client_cert: str = ""
    client_key: str = ""


VERIFIED: Final = Tls()
"""TLS without settings of a person."""


@fact
class HttpTarget:
    """A server behind a URL. ``transport`` is ``auto``, ``http`` or ``sse``. ``insecure`` checks no certificates.

    ``repeated`` are further values of headers that are sent more than once. ``client_cert`` and ``client_key`` are the
    paths of PEM files; without a key it is in the file of the certificate.
    """

    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    transport: str = "auto"
    insecure: bool = False
    repeated: tuple[tuple[str, str], ...] = ()
    client_cert: str = ""
    client_key: str = ""
    name: str = ""

    @property
    def tls(self) -> Tls:
        """The TLS of its origin."""
        return Tls(insecure=self.insecure, client_cert=self.client_cert, client_key=self.client_key)
