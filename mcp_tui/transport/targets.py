"""The servers that a client can connect to, as plain values from config files and command lines."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Final

from mcp_tui.protocol.values import fact


@fact
class StdioTarget:
    """A server that is started as a process. ``command`` has the program and its arguments; no shell is used.

    ``env`` is added to the short list of inherited variables. ``approved`` is the file of the program that the user
    approved, without symbolic links; no other program is started. It is empty if no approval was needed.
    """

    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    inherit_env: bool = False
    name: str = ""
    approved: str = ""


@fact
class Tls:
    """The TLS settings of one origin. ``insecure`` skips the check of certificates; the paths are of PEM files."""

    insecure: bool = False
    client_cert: str = ""
    client_key: str = ""


VERIFIED: Final = Tls()
"""The default TLS settings."""


@fact
class HttpTarget:
    """An HTTP server. ``transport`` is ``auto``, ``http``, or ``sse``. ``insecure`` skips the check of certificates.

    ``repeated`` has further values of headers that are sent more than once. ``client_cert`` and ``client_key`` are the
    paths of PEM files; without ``client_key``, the key is in the file of the certificate.
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
        """The TLS settings of the server."""
        return Tls(insecure=self.insecure, client_cert=self.client_cert, client_key=self.client_key)
