"""The shell command that does the same as a request of the workbench. What it shows leaves clean: secrets masked."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast
from urllib.parse import urlsplit, urlunsplit

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.tui.view.text import SafeText, clean

MASK: Final = "***"

_SECRET: Final = re.compile(r"token|secret|key|passw|authorization|cookie|credential", re.IGNORECASE)
_PROTOCOL: Final = frozenset({"progressToken", "cursor", "nextCursor"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION: Final = re.compile(r"--?(?P<name>[^=]+)(?P<equals>=)?")


def secret(name: str) -> bool:
    """Whether what has this name is masked. The protocol's own fields never are."""
    return name not in _PROTOCOL and _SECRET.search(name) is not None


def masked(value: object) -> object:
    """A JSON value with everything masked that stands under a name of a secret."""
    match value:
        case dict():
            members = cast("Mapping[str, object]", value)
            return {name: MASK if secret(name) else masked(member) for name, member in members.items()}
        case list() | tuple():
            return [masked(item) for item in cast("Sequence[object]", value)]
        case _:
            return value


def headless_command(method: str, params: object, target: Target) -> SafeText:
    """``mcp-tui call slow_sql query='…' -- COMMAND``, ready for a POSIX shell.

    It runs as it is shown: whatever would have to be cleaned for the screen is written as JSON escapes in its stead.
    ``_meta`` is left out, since the command makes its own.
    """
    given = _members(masked(params))
    plain = {name: value for name, value in given.items() if name != "_meta"}
    tokens = ["mcp-tui", *_request(method, plain), *_target(target)]
    return clean(" ".join(_quoted(token) for token in tokens))


def _members(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _request(method: str, params: dict[str, object]) -> list[str]:
    name, arguments = params.get("name"), params.get("arguments", {})
    callable_ = (
        method == "tools/call" and isinstance(arguments, dict) and params.keys() <= {"name", "arguments"}
    )
    if not callable_ or not isinstance(name, str) or not _clean(name) or name.startswith("-"):
        return ["request", method, *(["--params", json.dumps(params)] if params else [])]
    members = _members(cast("object", arguments))
    if all(_IDENTIFIER.fullmatch(key) and _plain(value) for key, value in members.items()):
        return ["call", name, *(f"{key}={_word(value)}" for key, value in members.items())]
    return ["call", name, "--args", json.dumps(members)]


def _plain(value: object) -> bool:
    """Whether ``NAME=VALUE`` can say it."""
    if isinstance(value, str):
        return _clean(value)
    return isinstance(value, bool | int | float)


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _clean(text: str) -> bool:
    return clean(text) == text


def _quoted(token: str) -> str:
    """``token`` for the shell; ``NAME=`` stays outside the quotes, as people write it."""
    name, equals, value = token.partition("=")
    if equals and _IDENTIFIER.fullmatch(name):
        return f"{name}={shlex.quote(value) if value else ''}"
    return shlex.quote(token)


def _target(target: Target) -> Iterable[str]:
    match target:
        case StdioTarget():
            for name, value in target.env.items():
                yield from ("-e", f"{name}={MASK if secret(name) else value}")
            if target.cwd is not None:
                yield from ("--cwd", str(target.cwd))
            if target.inherit_env:
                yield "--inherit-env"
            yield "--"
            yield from _arguments(target.command)
        case HttpTarget():
            for name, value in target.headers.items():
                yield from ("-H", f"{name}: {MASK if secret(name) else value}")
            if target.transport != "auto":
                yield from ("--transport", target.transport)
            if target.insecure:
                yield "--insecure"
            yield _url(target.url)


def _arguments(command: Sequence[str]) -> Iterable[str]:
    """A server's command line; the value of an option with the name of a secret is masked."""
    mask_next = False
    for token in command:
        option = _OPTION.match(token)
        if mask_next and option is None:
            yield MASK
            mask_next = False
        elif option is not None and secret(option["name"]):
            mask_next = option["equals"] is None
            yield token if mask_next else f"{token[: option.end()]}{MASK}"
        else:
            mask_next = False
            yield token


def _url(url: str) -> str:
    """``url`` without its password and the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    place = parts.netloc
    if "@" in place:
        place = f"{MASK}@{place.rpartition('@')[2]}"
    query = "&".join(
        f"{name}={MASK}" if equals else name
        for name, equals, _ in (pair.partition("=") for pair in parts.query.split("&"))
    )
    return urlunsplit((parts.scheme, place, parts.path, query, ""))
