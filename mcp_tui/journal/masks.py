"""Secrets in what a person gives on a command line: found there, and masked where it is shown again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from mcp_tui.journal.records import parse_json
from mcp_tui.journal.redaction import MASK, SIGNATURES, Redactor, is_secret_name, is_strong_name
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.transport.targets import HttpTarget, StdioTarget

_Range = tuple[int, int]

_ASSIGNMENT: Final = re.compile(r"(-{0,2})([A-Za-z_][\w.\-]*)=(.+)", re.DOTALL)
_OPTION: Final = re.compile(r"--?([A-Za-z][\w\-]*)")
_HEADER: Final = re.compile(r"([A-Za-z][\w\-]*):[ \t]*(.+)", re.DOTALL)
_SCHEME: Final = re.compile(r"(?:bearer|basic|digest|dpop|token) +", re.IGNORECASE)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://(?:([^\s/?#@]*)@)?([^\s?#]*)(\?[^\s#]*)?(#\S*)?")
_PARAMETER: Final = re.compile(r"[?&#;]([^=&#;]*)=([^&#;]*)")
_COOKIE: Final = re.compile(r"=([^;]+)")
_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w\-]{20,}={0,2}")
"""What is long and has letters and digits in one run looks like it was drawn, and not chosen."""
_MIXED: Final = re.compile(r"(?=\S*[0-9])(?=\S*[A-Za-z])\S{8}")
"""What may have been drawn, where a name says so."""
_DEPTH: Final = 32
"""Levels of a message that are looked through."""


KNOWN: Final = 8
"""Characters from which on a value that was given is hidden wherever it is said again; its own field hides any."""

_HARMLESS: Final = re.compile(
    r"[-+.\d:]*|true|false|yes|no|on|off|none|null|trace|debug|info|notice|warn(?:ing)?|error|critical|fatal|silent|verbose"
    r"|production|development|staging|testing?|local(?:host)?|utf-?8|[a-z]{2}_[A-Z]{2}(?:\.utf-?8)?"
    r"|[a-z]+/[a-z0-9.+*\-]+(?:[,;][ \w./*=\-]*)*|\w+://[^\s?#]*",
    re.IGNORECASE,
)
"""Numbers, switches, log levels, locales, media types, and URLs, whose secret parts are found for themselves."""


def is_harmless(value: str) -> bool:
    """Whether a value that a person gave for a server is plainly no secret."""
    return bool(_HARMLESS.fullmatch(value)) or (value[:1] in "/.~" and Path(value).expanduser().exists())


def mask_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their values masked, unless they are plainly no secret; a scheme (``Bearer``) stays."""
    return {
        name: _masked(value, _in_header(name, value)) if is_secret_name(name) else mask_given(name, value)
        for name, value in headers.items()
    }


def mask_given(name: str, value: str) -> str:
    """A value that a person gave for a server, in its own field: hidden, unless it is plainly no secret."""
    return mask_url(value) if is_harmless(value) and not is_secret_name(name) else MASK


def mask_command(argv: Iterable[str]) -> list[str]:
    """A command line, word for word, with the secrets of options, assignments, headers, URLs and JSON masked."""
    plain = Redactor(tagged=False)
    return [plain.text(_masked(word, ranges)) for word, ranges in _in_command(argv)]


def mask_url(url: str) -> str:
    """A URL without its password, the secrets of its query, and parts of its path that look drawn by chance."""
    return _masked(url, _in_url(url))


def known_secrets(target: HttpTarget | StdioTarget) -> set[str]:
    """The secrets that go to a server, for a :class:`~mcp_tui.journal.redaction.Redactor`.

    Of the environment it is what was given for the server (``-e``), not that of mcp-tui.
    """
    found: set[str] = set()
    if isinstance(target, HttpTarget):
        for name, value in target.headers.items():
            for start, end in _in_header(name, value):
                found.add(value[start:end])
                found.update(_inside(name, value[start:end]))
            if not is_secret_name(name) and len(value) >= KNOWN and not is_harmless(value):
                found.add(value)
        found.update(target.url[start:end] for start, end in _in_url(target.url))
        return _with_lines(found)
    for name, value in target.env.items():
        whole = is_secret_name(name) or (len(value) >= KNOWN and not is_harmless(value))
        found.update(value[start:end] for start, end in ([(0, len(value))] if whole else _in_text(value)))
    for word, ranges in _in_command(target.command):
        found.update(word[start:end] for start, end in ranges)
        found.update(secrets_in(_parsed(word)))
    return _with_lines(found)


def secrets_in(value: Json) -> set[str]:
    """The secrets in a message that we send, so that they are known where the server says them back in other words.

    What stands under the name of a secret is one if it is a password by its name, or looks like it was drawn.
    """
    return _with_lines(_within(value, "", _DEPTH))


def _within(value: Json, name: str, depth: int) -> Iterator[str]:
    """Secrets in a value under ``name``, empty where that is none of a secret; also in JSON that is text."""
    match value:
        case dict() if depth:
            for key, member in as_object(value).items():
                yield from _within(member, key if is_secret_name(key) else name, depth - 1)
        case list() if depth:
            for member in cast("list[Json]", value):
                yield from _within(member, name, depth - 1)
        case str():
            if name and (is_strong_name(name) or _MIXED.search(value)):
                yield value
            yield from (value[start:end] for start, end in _in_text(value))
            yield from _within(_parsed(value), "", depth - 1) if depth else ()
        case _:
            pass


def _parsed(text: str) -> Json:
    """What a text is as JSON: an object or an array, else nothing."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    found = parse_json(text.encode("utf-8", "surrogatepass"))
    return cast("Json", found) if isinstance(found, (dict, list)) else None


def _with_lines(secrets: Iterable[str]) -> set[str]:
    """Secrets, and the lines of those that have some, such as a key in PEM: stderr is told line by line."""
    found: set[str] = set()
    for secret in secrets:
        found.add(secret)
        first, *more = secret.splitlines() or [""]
        if more:
            found.update(line for line in (first, *more) if len(line) >= 8 and not line.startswith("-----"))
    return found - {""}


def _masked(text: str, ranges: Iterable[_Range]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in ranges:
        parts += (text[at:start], MASK)
        at = end
    return "".join((*parts, text[at:]))


# -- where they are: ranges in order, never overlapping --------------------------------------------------------


def _in_command(argv: Iterable[str]) -> Iterator[tuple[str, list[_Range]]]:
    awaited = False
    for word in argv:
        option = _OPTION.fullmatch(word)
        if awaited and option is None:
            yield word, [(0, len(word))]
        else:
            yield word, _in_text(word)
        awaited = option is not None and is_secret_name(option[1])


def _in_text(word: str, at: int = 0) -> list[_Range]:
    """In one word of a command line, or one value: ``NAME=VALUE``, ``--name=value``, ``Name: value``, or a URL."""
    assignment = _ASSIGNMENT.fullmatch(word, at)
    if assignment is not None:
        whole = is_secret_name(assignment[2])
        return [assignment.span(3)] if whole else _in_text(word, assignment.start(3))
    header = _HEADER.fullmatch(word, at)
    if header is not None and not header[2].startswith("//"):
        return _in_header(header[1], word, header.start(2))
    return _in_url(word, at)


def _in_header(name: str, value: str, at: int = 0) -> list[_Range]:
    if not is_secret_name(name):
        return _in_url(value, at)
    scheme = _SCHEME.match(value, at)
    start = at if scheme is None or scheme.end() == len(value) else scheme.end()
    return [(start, len(value))] if start < len(value) else []


def _inside(name: str, secret: str) -> Iterator[str]:
    """What is itself secret inside the secret of a header: each cookie, and the password of basic authorization."""
    if "cookie" in name.lower():
        yield from (match[1].strip() for match in _COOKIE.finditer(secret))
    elif "authorization" in name.lower():
        import base64
        import binascii

        try:
            user, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return
        if user and colon:
            yield password


def _in_url(text: str, at: int = 0) -> list[_Range]:
    ranges: list[_Range] = []
    for url in _URL.finditer(text, at):
        if url[1]:
            colon = url[1].find(":")
            ranges.append((url.start(1) + colon + 1, url.end(1)))
        path = url.start(2)
        for part in url[2].split("/")[1:]:
            path = text.index("/", path) + 1
            if _RANDOM.fullmatch(part):
                ranges.append((path, path + len(part)))
        for group in (3, 4):
            if url[group]:
                ranges += (
                    parameter.span(2)
                    for parameter in _PARAMETER.finditer(text, *url.span(group))
                    if _is_secret_parameter(parameter[1], parameter[2])
                )
    return [(start, end) for start, end in ranges if start < end]


def _is_secret_parameter(name: str, value: str) -> bool:
    return (
        name.lower().rpartition("-")[2] in SIGNATURES
        or is_secret_name(name)
        or bool(_RANDOM.fullmatch(value))
    )
