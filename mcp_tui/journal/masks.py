"""Finds and masks secrets in command lines, variables, headers, and URLs that the user gave for a server."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, cast

from mcp_tui.journal.records import parse_json
from mcp_tui.journal.redaction import MASK, Redactor, Span, is_secret_name, is_strong_name, replace_spans
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.patterns import late
from mcp_tui.transport.targets import HttpTarget, StdioTarget

_AUTH_SCHEME: Final = r"(?:(?:bearer|basic|digest|dpop|token) +(?=\S))?"
_SECRET_VALUE: Final = late(rf"{_AUTH_SCHEME}(.+)", re.IGNORECASE | re.DOTALL)
_NAMED_VALUE: Final = late(
    rf"-{{0,2}}([A-Za-z_][\w.\-]*)(?:=|:(?!//)[ \t]*){_AUTH_SCHEME}(?!\Z)".encode(), re.IGNORECASE
)
"""The start of ``NAME=VALUE``, ``--name=value``, or ``Name: value``, up to the value."""
_OPTION: Final = late(r"--?([A-Za-z][\w\-]*)")
_COOKIE: Final = late(r"=([^;]+)")
_AFTER_SCHEME: Final = late(rb"://\S*")
_RANDOM: Final = late(
    rb"(?:(?<=/)(?<!://)|(?<==))(?=[\w\-]*[0-9])(?=[\w\-]*[A-Za-z])[\w\-]{20,}={0,2}(?=[/?&#;]|\Z)"
)
"""A part of a URL that looks random: long, with letters and digits."""
_MIXED: Final = late(r"(?<!\S)(?=\S*[0-9])(?=\S*[A-Za-z])\S{8}")
"""A value that may be random. It counts as a secret only if its name suggests one."""
_SEARCHED_LEVELS: Final = 32
"""The most levels of a message that are searched."""


HIDDEN_CHARACTERS: Final = 8
"""The least characters of a given value that is hidden everywhere. In its own field, a value of any length is hidden."""

_HARMLESS: Final = late(
    r"[-+.\d:]*|true|false|yes|no|on|off|none|null|trace|debug|info|notice|warn(?:ing)?|error|critical|fatal|silent|verbose"
    r"|production|development|staging|testing?|local(?:host)?|utf-?8|[a-z]{2}_[A-Z]{2}(?:\.utf-?8)?"
    r"|[a-z]+/[a-z0-9.+*\-]+(?:[,;][ \w./*=\-]*)*|\w+://[^\s?#]*",
    re.IGNORECASE,
)
"""Values that are not secret: numbers, switches, log levels, locales, media types, and URLs.

Secret parts of URLs are found separately.
"""


def is_harmless(value: str) -> bool:
    """Whether a value that the user gave for a server is clearly not a secret."""
    return bool(_HARMLESS.fullmatch(value)) or (value[:1] in "/.~" and Path(value).expanduser().exists())


def mask_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Masks the values of headers that may be secret; a scheme such as ``Bearer`` stays."""
    masked: dict[str, str] = {}
    for name, value in headers.items():
        secret = _SECRET_VALUE.fullmatch(value) if is_secret_name(name) else None
        masked[name] = mask_given(name, value) if secret is None else f"{value[: secret.start(1)]}{MASK}"
    return masked


def mask_given(name: str, value: str) -> str:
    """Masks a value that the user gave for a server, unless it is clearly not secret; URLs keep their other parts."""
    return mask_url(value) if is_harmless(value) and not is_secret_name(name) else MASK


def mask_command(argv: Iterable[str]) -> list[str]:
    """Masks the secrets in a command line, in options, assignments, headers, URLs, and JSON."""
    return [MASK if secret else mask_url(word) for word, secret in _in_command(argv)]


def mask_url(url: str) -> str:
    """Masks the password of a URL, secrets in its query, and parts of its path that look random."""
    raw = url.encode("utf-8", "surrogatepass")
    return replace_spans(raw, _spans(raw), 0, len(raw))[0].decode("utf-8", "surrogatepass")


def known_secrets(target: HttpTarget | StdioTarget) -> set[str]:
    """Returns the secrets given to a server, for a :class:`~mcp_tui.journal.redaction.Redactor`.

    Only variables given for the server (``-e``) are searched, not the environment of mcp-tui.
    """
    found: set[str] = set()
    if isinstance(target, HttpTarget):
        for name, value in (*target.headers.items(), *target.repeated):
            secret = _SECRET_VALUE.fullmatch(value) if is_secret_name(name) else None
            if secret is not None:
                found |= {secret[1], *_inside(name, secret[1])}
            else:
                found.update(_in_text(value))
                found.update([value] if len(value) >= HIDDEN_CHARACTERS and not is_harmless(value) else [])
        return _with_lines(found.union(_in_text(target.url)))
    for name, value in target.env.items():
        whole = is_secret_name(name) or (len(value) >= HIDDEN_CHARACTERS and not is_harmless(value))
        found.update([value] if whole else _in_text(value))
    for word, secret in _in_command(target.command):
        found.update([word] if secret else _within(word, "", _SEARCHED_LEVELS))
    return _with_lines(found)


def secrets_in(value: Json) -> set[str]:
    """Returns the secrets in a message to the server, so that they are also found where the server repeats them.

    A value with the name of a secret counts if the name means a password, or if the value looks random.
    """
    return _with_lines(_within(value, "", _SEARCHED_LEVELS))


def _within(value: Json, name: str, depth: int) -> Iterator[str]:
    """Yields the secrets in a value, also in JSON within a string. ``name`` is the name of a secret, or empty."""
    match value:
        case dict() if depth:
            members = as_object(value)
            # {"name": "token", "value": …}
            named = next(
                (each for each in members.values() if isinstance(each, str) and is_secret_name(each)), name
            )
            for key, member in members.items():
                here = key if is_secret_name(key) else named if key.lower() in {"value", "val"} else name
                yield from _within(member, here, depth - 1)
        case list() if depth:
            items = cast("list[Json]", value)
            yield from (
                word
                for word, secret in _in_command(each for each in items if isinstance(each, str))
                if secret
            )
            for member in items:
                yield from _within(member, name, depth - 1)
        case str():
            if name and (is_strong_name(name) or _MIXED.search(value)):
                yield value
            is_json = depth and value.lstrip().startswith(("{", "["))
            inner = parse_json(value.encode("utf-8", "surrogatepass")) if is_json else None
            yield from _in_text(value) if inner is None else _within(inner, "", depth - 1)
        case _:
            pass


def _with_lines(secrets: Iterable[str]) -> set[str]:
    """Returns secrets and also their lines, for example of a key in PEM, because stderr is redacted line by line."""
    found: set[str] = set()
    for secret in secrets:
        found.add(secret)
        first, *more = secret.splitlines() or [""]
        if more:
            found.update(line for line in (first, *more) if len(line) >= 8 and not line.startswith("-----"))
    return found - {""}


def _in_command(argv: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yields each word of a command line, and whether the word is the value of a secret option."""
    awaited = False
    for word in argv:
        option = _OPTION.fullmatch(word)
        yield word, awaited and option is None
        awaited = option is not None and is_secret_name(option[1])


def _in_text(text: str) -> Iterator[str]:
    """Yields the secrets in a word of a command line, or in a value."""
    raw = text.encode("utf-8", "surrogatepass")
    return (raw[span.start : span.end].decode("utf-8", "surrogatepass") for span in _spans(raw))


def _spans(raw: bytes) -> list[Span]:
    at = 0
    while named := _NAMED_VALUE.match(raw, at):
        if is_secret_name(named[1].decode()):
            return [Span(named.end(), len(raw), MASK.encode())]
        at = named.end()
    random = (part for url in _AFTER_SCHEME.finditer(raw) for part in _RANDOM.finditer(raw, *url.span()))
    return [*_untagged().spans(raw, 0, len(raw)), *(Span(*part.span(), MASK.encode()) for part in random)]


@cache
def _untagged() -> Redactor:
    return Redactor(tagged=False)


def _inside(name: str, secret: str) -> Iterator[str]:
    """Yields the secrets within the value of a header: each cookie, and the password of basic authorization."""
    if "cookie" in name.lower():
        yield from (match[1].strip() for match in _COOKIE.finditer(secret))
    elif "authorization" in name.lower():
        try:
            user, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
        except ValueError:  # not Base64, or the content is not UTF-8
            return
        if user and colon:
            yield password
