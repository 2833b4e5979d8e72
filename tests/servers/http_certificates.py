"""A certificate for 127.0.0.1, self-signed, with a key that guards nothing: for tests of TLS alone."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

KEY: Final = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgD875by9qL+NkNVN4
+DY9XdMkEIHVN5kUMS8mRtFlYtOhRANCAAR73B0vTHCiw8Y2syBCjmG1tV5g7uoL
dhO5CxA67UIVtfLDtofI9xNkE5rJuw9CzAXJaBzr0UW8mLJ71wxu7mrH
-----END PRIVATE KEY-----
"""

VALID: Final = """\
-----BEGIN CERTIFICATE-----
MIIBaTCCAQ+gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAkxMjcuMC4w
LjEwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CTEyNy4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHvcHS9McKLDxjaz
IEKOYbW1XmDu6gt2E7kLEDrtQhW18sO2h8j3E2QTmsm7D0LMBcloHOvRRbyYsnvX
DG7uasejUDBOMA8GA1UdEQQIMAaHBH8AAAEwDwYDVR0TAQH/BAUwAwEB/zALBgNV
HQ8EBAMCAYYwHQYDVR0OBBYEFDLXn+CnXoWcyVLL6RcSxJEGkFscMAoGCCqGSM49
BAMCA0gAMEUCIFymmC3jbIB1vo8BsUNVya1w7MoKgYAUam3VbzuI087jAiEAyul1
rXPCytaX+sZM+bpTznE+vZokcjzD9+LjGWdsc/Q=
-----END CERTIFICATE-----
"""


def server_context(folder: Path) -> ssl.SSLContext:
    """What a server needs to show its certificate; written to `folder`, since ssl reads files alone."""
    file = folder / "server.pem"
    file.write_text(KEY + VALID)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
