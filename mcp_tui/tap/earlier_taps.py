"""The calls of ended taps whose outcome their client does not know, for the next tap with the same command.

A client that starts its server again, after a timeout or a crash, starts the tap again too. What it sends then may repeat a
call of the earlier tap. A file for each command has those calls while they can be repeated: no arguments, only digests of
them with a random key. Of two taps that end at the same moment, the calls of one may be lost.
"""

from __future__ import annotations

import json
import os
from _blake2 import blake2b  # hashlib would load OpenSSL into each recorder
from contextlib import suppress
from time import monotonic
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.state_folder import replace_file, state_folder
from mcp_tui.protocol.json_values import as_list, as_object
from mcp_tui.protocol.messages import is_request_id
from mcp_tui.protocol.repeats import WINDOW_SECONDS, EarlierCall, Repeats
from mcp_tui.protocol.requests import Requests

MOST: Final = 1000
"""The maximum number of calls in a file; the newest are kept."""


class EarlierTaps:
    """The calls of the taps that were started with the same server command in the same folder as this one."""

    def __init__(self, command: tuple[str, ...], name: str, folder: str) -> None:
        self._path = state_folder() / "unknown-outcomes" / f"{_digest(repr((command, name, folder)))}.json"
        self._salt = ""
        self._calls: dict[str, EarlierCall] | None = None
        self._repeated: set[str] = set()

    def repeated(self, client: str, identity: bytes, at: float) -> EarlierCall | None:
        """Returns an equal call of the same client, and forgets it: what follows repeats its repeat.

        The file is read at the first call, because an earlier tap may still be ending when this one starts.
        """
        if self._calls is None:
            self._calls = self._read()
        key = self._key(client, identity) if self._calls else ""
        found = self._calls.pop(key, None)
        if found is None or at - found.ended_at > WINDOW_SECONDS:
            return None
        self._repeated.add(key)
        return found

    def keep(self, repeats: Repeats, requests: Requests, session: str, at: float) -> None:
        """Adds the calls of a session that has ended, and removes those that it repeated."""
        found = repeats.given_up(requests, session, at)
        if not (found or self._repeated):
            return
        left = {key: call for key, call in self._read().items() if key not in self._repeated}
        self._salt = self._salt or os.urandom(16).hex()
        every = {self._key(client, identity): call for client, identity, call in found} | left
        newest = sorted(every.items(), key=lambda each: each[1].ended_at)[-MOST:]
        with suppress(OSError):  # the recording has the calls as well
            replace_file(self._path, json.dumps({"salt": self._salt, "calls": dict(newest)}), durable=False)
            for each in self._path.parent.glob("*.json"):
                if clock.wall() - each.stat().st_mtime > WINDOW_SECONDS:
                    each.unlink()

    def _key(self, client: str, identity: bytes) -> str:
        return _digest(client + identity.hex(), self._salt)

    def _read(self) -> dict[str, EarlierCall]:
        """Returns the calls that can still be repeated; sets the salt of their digests."""
        found: dict[str, EarlierCall] = {}
        now = monotonic()
        with suppress(OSError, ValueError):
            file = as_object(json.loads(self._path.read_bytes()))
            self._salt = str(file.get("salt", ""))[:64]
            for key, value in as_object(file.get("calls")).items():
                match as_list(value):
                    # After a restart of the machine, times are in the future, or by chance in the past.
                    case [str(session), id_, float(ended_at), str(outcome), None | float() as after]:
                        if is_request_id(id_) and 0 <= now - ended_at <= WINDOW_SECONDS:
                            found[key] = EarlierCall(session, id_, ended_at, outcome, after)
                    case _:
                        continue
        return found


def _digest(text: str, salt: str = "") -> str:
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16, key=salt.encode()).hexdigest()
