"""Errors of connections in words, regardless of the library that made the connection."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final, cast

from mcp_tui.transport.unreachable import readable

REFUSED: Final = "connection refused"
RESET: Final = "connection reset by the server"

_TRUST: Final = "To trust it, name a file with the certificate of its authority in SSL_CERT_FILE; --insecure skips the check"


def network_cause(error: BaseException) -> str:
    """Returns the cause of an error in a few words if it is an error of TLS or the system; otherwise an empty text."""
    links = list(chain(error))
    # TLS errors are checked first, because they are OSErrors too, and more specific.
    for link in links:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"{readable(link.verify_message)} (TLS). {_TRUST}"
        # asyncio's waits for TLS are errors too; the real error was raised while they were handled.
        if isinstance(link, ssl.SSLError) and not isinstance(
            link, (ssl.SSLWantReadError, ssl.SSLWantWriteError)
        ):
            reason = (link.reason or str(link)).replace("_", " ").lower()
            return f"TLS failed: {readable(reason)}{_tls_hint(link.reason or reason)}"
    for link in links:
        if isinstance(link, socket.gaierror):
            return "unknown host name"
        if isinstance(link, ConnectionRefusedError):
            return REFUSED
        if isinstance(link, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
            return RESET
        if isinstance(link, OSError) and link.errno is not None:
            return os.strerror(link.errno).lower() if link.errno in errno.errorcode else readable(str(link))
    return ""


def _tls_hint(reason: str) -> str:
    """Returns the advice about a TLS error other than an untrusted certificate; empty for none."""
    reason, certificate = reason.upper().replace(" ", "_"), "--client-cert FILE --client-key FILE"
    if any(each in reason for each in ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "BAD_CERTIFICATE")):
        return f". If the server requires a client certificate: {certificate}"
    if "EOF" in reason:
        return f". Does it speak TLS? If so, it may require a client certificate: {certificate}"
    plain = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH")
    return ". Does it speak TLS? If not, use http://" if any(each in reason for each in plain) else ""


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and all its causes, the nearest first."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", link).exceptions
        waiting += [link.__cause__, link.__context__]
