"""The shell command that repeats a request of the workbench, without the secrets that the journal masks."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from typing import Final, cast

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.journal.masks import known_secrets, mask_command, mask_given, mask_headers, mask_url
from mcp_tui.journal.redaction import MASK, Member, Redactor
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.patterns import late
from mcp_tui.view.text import SafeText, clean

_IDENTIFIER: Final = late(r"[A-Za-z_][A-Za-z0-9_]*")

_ESCAPED_MASK: Final = json.dumps(MASK)[1:-1]


def recorded_target(text: str) -> Target | None:
    """Returns the server that a recording names, by its URL or its command line; ``None`` for an empty text."""
    if not text:
        return None
    if re.match(r"https?://", text, re.IGNORECASE):
        return HttpTarget(url=text)
    try:
        command = shlex.split(text)
    except ValueError:  # old recordings did not quote the words
        command = text.split(" ")
    return StdioTarget(command=tuple(command))


def redactor(target: Target | None, learned: Iterable[str] = (), hidden: Iterable[Member] = ()) -> Redactor:
    """Returns a redactor for the secrets of ``target``, the ``learned`` secrets, and the ``hidden`` members."""
    known = set[str]() if target is None else known_secrets(target)
    made = Redactor(known.union(learned), tagged=False)
    made.hide(hidden)
    return made


def headless_command(method: str, params: object, target: Target, secrets: Redactor) -> SafeText:
    """Returns a command for a POSIX shell: ``mcp-tui call slow_sql query='…' -- COMMAND``.

    Text that is not safe to show is written with JSON escapes, so the command works exactly as it is shown. ``_meta`` is
    left out, because ``mcp-tui call`` creates it.
    """
    members = {name: value for name, value in hidden(params, secrets).items() if name != "_meta"}
    tokens = ["mcp-tui", *_request(method, members), *_target(target, secrets)]
    return clean(" ".join(_quoted(token) for token in tokens))


def hidden(params: object, secrets: Redactor) -> dict[str, object]:
    """Returns parameters for the screen, without the secrets that the journal masks."""
    return {**as_object(json.loads(secrets.redact(json.dumps(params).encode())))}


def _request(method: str, params: dict[str, object]) -> list[str]:
    name, arguments = params.get("name"), params.get("arguments", {})
    callable_ = (
        method == "tools/call" and isinstance(arguments, dict) and params.keys() <= {"name", "arguments"}
    )
    if not callable_ or not isinstance(name, str) or clean(name) != name or name.startswith("-"):
        return ["request", method, *(["--params", _json(params)] if params else [])]
    members = as_object(cast("Json", arguments))
    if all(_IDENTIFIER.fullmatch(key) and _is_plain(value) for key, value in members.items()):
        words = (
            (key, value if isinstance(value, str) else json.dumps(value)) for key, value in members.items()
        )
        return ["call", name, *(f"{key}={word}" for key, word in words)]
    return ["call", name, "--args", _json(members)]


def _json(value: object) -> str:
    """Returns JSON in ASCII; only the mask stays readable."""
    return json.dumps(value).replace(_ESCAPED_MASK, MASK)


def _is_plain(value: object) -> bool:
    """Returns whether ``NAME=VALUE`` can express a value."""
    return clean(value) == value if isinstance(value, str) else isinstance(value, bool | int | float)


def _quoted(token: str) -> str:
    """Quotes ``token`` for the shell; ``NAME=`` stays outside the quotes, for readability."""
    name, equals, value = token.partition("=")
    if equals and _IDENTIFIER.fullmatch(name):
        return f"{name}={shlex.quote(value) if value else ''}"
    return shlex.quote(token)


def _target(target: Target, secrets: Redactor) -> Iterable[str]:
    match target:
        case StdioTarget():
            for name, value in target.env.items():
                yield from ("-e", f"{name}={secrets.text(mask_given(name, value))}")
            if target.cwd is not None:
                yield from ("--cwd", str(target.cwd))
            if target.inherit_env:
                yield "--inherit-env"
            yield "--"
            yield from mask_command(target.command)
        case HttpTarget():
            for name, value in mask_headers(target.headers).items():
                yield from ("-H", f"{name}: {value}")
            for name, value in target.repeated:
                yield from ("-H", f"{name}: {mask_headers({name: value})[name]}")
            if target.client_cert:
                yield from ("--client-cert", target.client_cert)
            if target.client_key:
                yield from ("--client-key", target.client_key)
            if target.transport != "auto":
                yield from ("--transport", target.transport)
            if target.insecure:
                yield "--insecure"
            yield mask_url(target.url)
