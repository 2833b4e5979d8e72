"""Stores sign-ins: tokens and registrations, each for one server, issuer, and resource.

The secrets are in the system's keyring if there is one (extra ``keyring``). Otherwise they are in a file that only
its owner can read, and the person who signs in is told so. The other data (server, expiry) is always in that file.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from mcp_tui.client.auth.discovery import scopes_in
from mcp_tui.client.auth.token_endpoint import AUTHORIZATION_CODE, ClientRegistration, Token
from mcp_tui.journal.journal_files import make_private, read_start
from mcp_tui.journal.state_folder import is_alone, remove_unfinished, replace_file, state_folder
from mcp_tui.protocol.errors import McpError
from mcp_tui.protocol.messages import Json, as_object, read_json
from mcp_tui.protocol.values import fact

STORE_NAME: Final = "sign-ins.json"
SERVICE: Final = "mcp-tui"
"""The name of our secrets in a keyring."""

RENEWAL_SECONDS: Final = 30.0
"""Seconds for which another mcp-tui may renew a token before this one does so too."""

_CREDENTIAL_BYTES: Final = 8 * 1024 * 1024

_SECRETS: Final = {
    "registration": ("client_secret", "private_key", "idp_client_secret"),
    "token": ("access", "refresh", "proof_key"),
}
"""The fields of :class:`Credentials` with secrets."""


class StorageError(McpError):
    """Storing failed. The text is one sentence for a person."""


@fact
class Credentials:
    """The result of a sign-in.

    ``server`` is its URL; the other fields belong only to ``issuer`` and ``resource``. All are empty if nobody signed
    in.
    """

    server: str = ""
    issuer: str = ""
    resource: str = ""
    registration: ClientRegistration = field(default_factory=ClientRegistration)
    token: Token = field(default_factory=Token)

    @property
    def renews(self) -> bool:
        """Whether a new token needs no person."""
        return bool(self.token.refresh) or self.registration.grant != AUTHORIZATION_CODE

    def secrets(self) -> dict[str, str]:
        """Returns its secrets by name."""
        return {
            name: getattr(getattr(self, part), name) for part, names in _SECRETS.items() for name in names
        }


def system_keyring() -> Any:
    """Returns the system's keyring (a ``keyring.backend.KeyringBackend``); ``None`` without the extra or a backend."""
    with suppress(Exception):  # any exception of a backend means that it cannot be used
        # The extra may be missing.
        import keyring

        backend = keyring.get_keyring()
        # By keyring's own measure: it recommends no backend below 1; those fail or store plain text.
        return backend if backend.priority >= 1 else None
    return None


class CredentialStore:
    """The sign-ins on disk. ``storage`` is ``auto``, ``keyring``, or ``file``."""

    def __init__(self, folder: Path | None = None, *, storage: str = "auto") -> None:
        self.path = (folder or state_folder()) / STORE_NAME
        self._storage = storage

    @cached_property
    def keyring(self) -> Any:
        """The keyring for new secrets; ``None`` for the file."""
        return None if self._storage == "file" else system_keyring()

    @property
    def place(self) -> str:
        """The place of new secrets, in words."""
        return self._place(in_keyring=self.keyring is not None)

    def _place(self, *, in_keyring: bool) -> str:
        return "the system keyring" if in_keyring else f"{self.path} (readable only by you, not encrypted)"

    def load(self, server: str) -> Credentials:
        """Returns the sign-in of a server; empty if none can be read."""
        entry = as_object(self._entries().get(server))
        hidden = entry.get("secrets")
        if entry and hidden is None and self.keyring is not None:
            with suppress(Exception):  # locked, or not our data
                hidden = read_json(self.keyring.get_password(SERVICE, server) or "{}")
        try:
            return _credentials(server, entry, as_object(hidden))
        except (KeyError, TypeError, ValueError, OverflowError):
            return Credentials()

    def servers(self) -> list[str]:
        """Returns the servers with a stored sign-in, readable or not, sorted."""
        return sorted(self._entries())

    def every(self) -> list[Credentials]:
        """Returns all sign-ins that can be read, by server."""
        return [found for server in self.servers() if (found := self.load(server)).server]

    def save(self, credentials: Credentials) -> str:
        """Stores a sign-in instead of an earlier one for its server; returns the place of its secrets in words.

        Raises:
            StorageError: it cannot be written.
        """
        kept, in_keyring = credentials.secrets(), False
        if self.keyring is not None:
            with suppress(Exception):  # locked, refused, or gone: the file is used instead
                self.keyring.set_password(SERVICE, credentials.server, json.dumps(kept))
                in_keyring = True
        if self._storage == "keyring" and not in_keyring:
            raise StorageError("The system keyring cannot be used, and storage is set to keyring.")
        with self._locked():
            entries = self._entries()
            entry = asdict(credentials)
            for part, names in _SECRETS.items():
                for name in names:
                    del entry[part][name]
            entries[credentials.server] = {**entry, "secrets": None if in_keyring else kept}
            self._write(entries)
        return self._place(in_keyring=in_keyring)

    def delete(self, server: str) -> bool:
        """Deletes a server's sign-in; false if there is none.

        Raises:
            StorageError: the file cannot be written.
        """
        self.remove_unfinished()
        with self._locked():
            entries = self._entries()
            entry = entries.pop(server, None)
            if entry is None:
                return False
            self._write(entries)
        if as_object(entry).get("secrets") is None and self.keyring is not None:
            with suppress(Exception):  # the secret or the keyring is gone
                self.keyring.delete_password(SERVICE, server)
        return True

    def remove_unfinished(self) -> int:
        """Deletes the copies of the file that killed processes left; returns their number."""
        return remove_unfinished(self.path.parent)

    @asynccontextmanager
    async def renewing(self) -> AsyncGenerator[None]:
        """Prevents every other mcp-tui from renewing a token, for at most :data:`RENEWAL_SECONDS` seconds.

        A refresh token can be used once. A server may take its second use as theft and revoke all tokens (RFC 9700,
        4.14.2).
        """
        with ExitStack() as stack:
            with suppress(OSError):
                # A TimeoutError is an OSError too: a lock that is held longer is ignored.
                lock = stack.enter_context(self._lock_file(".renewing")).fileno()
                async with asyncio.timeout(RENEWAL_SECONDS):
                    while not is_alone(lock):  # noqa: ASYNC110 - another process tells nothing
                        await asyncio.sleep(0.05)
            yield

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Prevents every other mcp-tui from writing between our read and our write, if the file system has locks."""
        with ExitStack() as stack:
            with suppress(OSError):
                fcntl.flock(stack.enter_context(self._lock_file(".lock")), fcntl.LOCK_EX)
            yield

    def _lock_file(self, suffix: str) -> BinaryIO:
        make_private(self.path.parent)
        # A separate file: the store is replaced as a whole, so a lock on it would be on a file that no longer exists.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.fdopen(os.open(self.path.with_suffix(suffix), flags, 0o600), "r+b", buffering=0)

    def _entries(self) -> dict[str, Json]:
        try:
            return as_object(read_json(read_start(self.path, _CREDENTIAL_BYTES)))
        except (OSError, ValueError):
            return {}

    def _write(self, entries: dict[str, Json]) -> None:
        """Replaces the file in one step; at no time can anyone else read it."""
        try:
            make_private(self.path.parent)
            replace_file(self.path, json.dumps(entries, indent=1))
        except OSError as error:
            raise StorageError(f"Cannot save the sign-in in {self.path}: {error.strerror}.") from None


def _credentials(server: str, entry: dict[str, Json], hidden: dict[str, Json]) -> Credentials:
    parts: dict[str, dict[str, Any]] = {}
    for part, names in _SECRETS.items():
        parts[part] = {**as_object(entry[part]), **{name: str(hidden.get(name, "")) for name in names}}
    token, client = Token(**parts["token"]), ClientRegistration(**parts["registration"])
    scopes, asked = (scopes_in(list(each)) for each in (token.scopes, token.asked))
    token = replace(token, scopes=scopes, asked=asked, expires_at=float(token.expires_at))
    for made, sound in ((asdict(token), asdict(Token())), (asdict(client), asdict(ClientRegistration()))):
        if any(type(value) is not type(sound[name]) for name, value in made.items()):
            raise TypeError
    issuer, resource = str(entry["issuer"]), str(entry["resource"])
    return Credentials(server=server, issuer=issuer, resource=resource, registration=client, token=token)
