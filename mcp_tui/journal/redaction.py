"""Secrets, taken out of what is written to a file.

A frame is redacted as bytes, in place, and never encoded anew: what is no secret stays as it came. What is found:

- values under names of secrets in JSON, and in JSON in its strings, to any depth;
- secrets that are known (``-e``, headers, the URL, what was sent before under the name of one), wherever they stand and
  however JSON or a URL escapes them;
- passwords in URLs, secret parameters and OAuth codes in their queries, bearer tokens, and DPoP proofs.

Each becomes ``‹redacted:ab12cd›``: a hash under a salt that is drawn for the :class:`Redactor` and kept nowhere, so
equal secrets stay comparable within a session and cannot be guessed from the file.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import Final, NamedTuple

from mcp_tui.protocol.patterns import possessive

# -- which names stand for secrets -----------------------------------------------------------------------------
#
# Names of JSON members, headers, options, environment variables and query parameters. A name is taken apart into words
# (``apiKey``, ``api-key``, ``API_KEY``), so that ``keywords`` and ``monkey`` are no keys, and ``token_type`` and
# ``authorization_endpoint`` are not what they are about.

HINTS: Final = (
    "token", "key", "secret", "pass", "pwd", "cred", "cookie", "auth", "jwt", "bearer", "otp", "verifier", "session", "pin",
    "pat", "sk",
)  # fmt: skip
"""Each secret name has one of these in its lower case: a search for them finds every candidate."""

_PROTOCOL: Final = frozenset({"progresstoken", "nextcursor", "cursor", "requeststate"})

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET: Final = re.compile(
    r".*(?:token|secret|password|passwd|passphrase|passcode|credential|cookie)s?"
    r"|pass|.*pwd|authori[sz]ation|auth|keys?|jwts?|bearer|t?otp|creds?|pat|pin|sk"
    r"|(?:access|account|api|app|auth|client|encryption|license|master|private|secret|service|session|shared"
    r"|signing|ssh|storage|subscription|user)keys?"
)
"""Words that make a name one of a secret."""

_PAIRS: Final = frozenset({("session", "id"), ("code", "verifier")})
"""Two words that only together make the name of a secret."""

_OPEN_KEYS: Final = frozenset(
    {"cache", "foreign", "group", "hot", "idempotency", "partition", "primary", "public", "short", "sort"}
)
"""A key of these kinds is no secret."""

_ABOUT: Final = frozenset(
    {
        "alg", "algorithm", "budget", "count", "counts", "endpoint", "enabled", "expires", "expiry", "field", "hint",
        "label", "length", "limit", "limits", "method", "methods", "name", "names", "policy", "required", "server",
        "servers", "size", "supported", "type", "types", "usage",
    }
)  # fmt: skip
"""Last words of names that tell something about a secret, but are none."""

_STRONG: Final = re.compile(r"pass|pwd|secret|credential", re.IGNORECASE)


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Whether a value under this name is to be redacted."""
    if len(name) > 128 or name.lower() in _PROTOCOL:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if len(words) > 1 and (words[-2], words[-1]) in _PAIRS:
        return True
    return any(
        _SECRET.fullmatch(word) and not (word in {"key", "keys"} and before in _OPEN_KEYS)
        for before, word in zip(["", *words], words, strict=False)
    )


def is_strong_name(name: str) -> bool:
    """Whether even a number under this name is a secret: a password or the like, and no count of tokens."""
    return _STRONG.search(name) is not None


# -- what is looked for ----------------------------------------------------------------------------------------

MASK: Final = "‹redacted›"
"""What stands for a secret where nobody compares."""

PIECE: Final = 256 * 1024
"""Bytes of a long frame that are looked at in one go."""

_ANYWHERE: Final = 8
"""Characters from which on a known secret is found inside of words too."""

_LEARNED: Final = 500
"""Known secrets from which on no more are learned: each is looked for in every frame."""

_SHORTEST: Final = 4
"""Characters below which a known value is taken for no secret: it would be found everywhere."""


def _lazy(pattern: bytes, flags: int = 0) -> Callable[[], re.Pattern[bytes]]:
    """A pattern that is compiled when it is first needed: all of them cost a start more than the rest of the module."""
    return cache(lambda: possessive(pattern, flags))


_MEMBER: Final = _lazy(rb'([\w.\- ]{0,64}+)(\\*+)"(?:[ \t\r\n]|\\+[nrt])*+:(?:[ \t\r\n]|\\+[nrt])*+')
"""From a hint inside the name of a member to its value: the rest of the name, the backslashes of its quote, the colon."""

_CANDIDATE: Final = r"(?:[\w.\- ]{0,64}+\\*+\"|[\w.\-]{0,64}+ ?[=:])"
"""What must follow a hint, in Latin-1 and lower case, for it to be part of a name with a value."""

_PARAMETER: Final = _lazy(rb"(?:[^&\s\"'\\<>#]|\\+/)++")
_PARAMETER_TAIL: Final = _lazy(rb"([\w.\-]{0,64}+)=")
_PARAMETER_HEAD: Final = _lazy(rb"(?:[?&#;]|\\u0026)([\w.\-]{0,64})\Z")
_ASSIGNMENT: Final = _lazy(
    rb"([\w.\-]{0,64}+)(?:[ \t]?=[ \t]?|:[ \t]{1,8})(?:'|\\*\")?(?:(?:bearer|basic|digest|dpop|token) +)?"
    rb"((?:[^\s\"'\\<>,;()\[\]{}`|&#]|\\+/){4,})",
    re.IGNORECASE,
)
"""From a hint inside a name in running text to the end of its value: ``password=…``, ``api_key: …``."""

_NAME_HEAD: Final = _lazy(rb"(?:\\+[bfnrt]|\\+u[0-9A-Fa-f]{4}|\A|[^\w.\-])([\w.\-]{0,64})\Z")
_COOKIES: Final = _lazy(rb"((?:set-)?cookie): *([^\r\n\"\\]{4,})", re.IGNORECASE)
_DRAWN: Final = _lazy(rb"(?=[^A-Za-z]*[A-Za-z])(?=\D*[0-9]).{8}|.{20}")
"""A value that may have been drawn: where the name alone does not tell, as of ``key=len``."""

_PLACEHOLDER: Final = _lazy(
    rb"(?:[$%*.\-<{\xe2].*|true|false|null|none|nil|undefined|yes|no|not|must|should|required|optional|missing|invalid"
    rb"|expired|empty|unknown|incorrect|wrong|string|str|bytes|hidden|redacted|unset|given|changed|accepted|rejected"
    rb"|and|the|for|[0-9.]{1,5})\W*",
    re.IGNORECASE,
)
"""A word that is no value but says something of it."""

# The password in a URL, or the name where there is no password.
_USERINFO: Final = _lazy(rb":\\*+/\\*+/(?:[^\s/?#\"\\<>@:]*+:)?([^\s/?#\"\\<>]*)@")
_BEARER: Final = _lazy(rb"bearer +(?=[^\s\"\\]*[0-9])((?:[\w.~+/=\-]|\\+/){8,})", re.IGNORECASE)
_PROOF: Final = _lazy(rb"([\w.\-]++)")
_SCHEME: Final = _lazy(rb"(?:bearer|basic|digest|dpop|token) +(?=\S)", re.IGNORECASE)
_NUMBER: Final = _lazy(rb"-?[0-9][0-9.eE+\-]*")
_BRACKET: Final = _lazy(rb'["\[\]{}]')
_SCHEMA: Final = _lazy(
    rb'"(?:(?:\$ref|anyOf|oneOf|allOf|enum|const|properties)\\*"\s*:'
    rb'|type\\*"\s*:\s*(?:\[|\\*"(?:string|number|integer|boolean|array|object|null)\\*"))'
)
"""What makes an object under the name of a secret the JSON Schema of one, which is none."""

_SCHEMA_HEAD: Final = 2048
"""Bytes at the beginning of an object in which that must stand."""

_SPARED: Final = 500
"""Schemas of secrets in one piece, at most."""

_ESCAPE: Final = _lazy(rb"\\+(?:u[0-9A-Fa-f]{0,3})?\Z")
_WORD_START: Final = rb"(?:(?<![0-9A-Za-z])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"

_MARK: Final = _lazy("‹redacted(?::[0-9a-f]{6})?›".encode())


_PLAIN: Final = {
    "bearer ": _BEARER,
    "eyj0exaioijkcg9wk2p3dci": _PROOF,  # {"typ":"dpop+jwt", in Base64 and lower case
    "://": _USERINFO,
    ":\\/\\/": _USERINFO,
}
"""What needs no name in front of it: what it begins with, and its pattern with the secret as the first group."""

SIGNATURES: Final = frozenset({"code", "sig", "signature"})
"""Parameters of a URL, by the last word of their names, that let whoever has them in."""


class _Span(NamedTuple):
    """Bytes to leave out, and what to write instead."""

    start: int
    end: int
    instead: bytes


class _Known(NamedTuple):
    """A secret whose value is known.

    ``anchor`` is its longest run of characters that nothing escapes, in lower case. Only where that is found,
    ``pattern`` looks for the whole, with every other character escaped or not. ``reach`` is the most bytes it takes.
    """

    value: bytes
    anchor: str
    pattern: re.Pattern[bytes]
    reach: int


_Find = Callable[[bytes, int], _Span | None]


class _Finder(NamedTuple):
    """How a kind of secret is found: by a needle, then by a pattern around it, then by looking at the place.

    Needle and pattern are for text in lower case.
    """

    needle: str
    candidate: re.Pattern[str]
    find: _Find


class Redactor:
    """Takes secrets out of bytes and texts. ``values`` are those that are known, in any order.

    Known values of less than four characters are left alone, those of less than eight are found as whole words only.
    ``tagged=False`` leaves the hash out: for what is shown and not compared.
    """

    def __init__(self, values: Iterable[str] = (), *, tagged: bool = True) -> None:
        self._salt = os.urandom(16)
        self._tagged = tagged
        self._spared = 0
        self._values: set[str] = set()
        self._known: tuple[_Known, ...] = ()
        self._finders: tuple[_Finder, ...] = (
            *(_Finder(hint, re.compile(_hinted(hint) + _CANDIDATE), self._named) for hint in HINTS),
            *(_Finder(name, re.compile(name), self._parameter) for name in ("code=", "sig=", "signature=")),
            *(
                _Finder(needle, re.compile(re.escape(needle)), partial(self._found, pattern))
                for needle, pattern in _PLAIN.items()
            ),
        )
        self._know(values, _SHORTEST)

    def learn(self, values: Iterable[str]) -> None:
        """Know these too from now on; not those of less than eight characters, and not without end."""
        if len(self._values) < _LEARNED:
            self._know(values, _ANYWHERE)

    def _know(self, values: Iterable[str], shortest: int) -> None:
        bare = {value.rstrip("\\") for value in values}  # a backslash may be half of an escape that follows
        new = {value for value in bare if len(value) >= shortest} - self._values
        self._values |= new
        self._known += tuple(map(_known, new))
        self._reach = max((known.reach for known in self._known), default=0) + 256
        self._needles = (
            *(finder.needle for finder in self._finders),
            *(known.anchor for known in self._known),
        )

    def redact(self, raw: bytes) -> bytes:
        """``raw`` without its secrets; the same object when there are none."""
        if len(raw) <= PIECE:
            return self._piece(raw, 0, len(raw))[0]
        return b"".join(self.pieces(raw))

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """The same in pieces of about 256 kB, so that other work can go on between them."""
        at = 0
        while at < len(raw):
            piece, at = self._piece(raw, at, min(at + PIECE, len(raw)))
            yield piece

    def text(self, text: str) -> str:
        """``text`` without its secrets."""
        lower = text.lower()
        for needle in self._needles:
            if needle in lower:
                break
        else:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        clean = self.redact(raw)
        return text if clean is raw else clean.decode("utf-8", "surrogatepass")

    def mark(self, secret: bytes) -> bytes:
        """What stands for a secret: the same for the same one, escaped or not."""
        if not self._tagged:
            return MASK.encode()
        from hashlib import blake2b

        tag = blake2b(secret.replace(b"\\", b""), key=self._salt, digest_size=3).hexdigest()
        return f"‹redacted:{tag}›".encode()

    # -- one piece -------------------------------------------------------------------------------------------

    def _piece(self, raw: bytes, start: int, end: int) -> tuple[bytes, int]:
        """The secrets that begin in ``raw[start:end]`` replaced, and where the next piece begins."""
        spans = self._spans(raw, start, end)
        if not spans:
            return raw[start:end], end
        spans.sort(key=lambda span: (span.start, -span.end))
        parts: list[bytes] = []
        at = start
        for span in spans:
            if span.end > at:
                parts += (raw[at : span.start], span.instead)
                at = span.end
        if at < end:
            parts.append(raw[at:end])
            at = end
        return b"".join(parts), at

    def _spans(self, raw: bytes, start: int, end: int) -> list[_Span]:
        spans: list[_Span] = []
        lower = raw[start : end + self._reach].lower().decode("latin-1")  # str is searched faster than bytes
        size = end - start
        places: list[tuple[int, _Find]] = []
        for needle, candidate, find in self._finders:
            if needle in lower:  # many times as fast as the pattern
                places += ((match.start(), find) for match in candidate.finditer(lower))
        if places:
            places.sort(key=itemgetter(0))
            self._spared = 0
            at = 0
            for place, find in places:
                if at <= place < size:  # what stands in a secret is gone with it: each byte is looked at once
                    span = find(raw, start + place)
                    if span is not None:
                        spans.append(span)
                        at = span.end - start
        for known in self._known:
            if known.anchor in lower:
                mark = self.mark(known.value)
                spans += (
                    _Span(_escape_start(raw, match.start()), match.end(), mark)
                    for match in known.pattern.finditer(raw, start, end + self._reach)
                    if match.start() < end
                )
        return spans

    # -- what a needle may be part of ------------------------------------------------------------------------

    def _named(self, raw: bytes, at: int) -> _Span | None:
        """A member of an object, or a parameter of a query, whose name has a hint at ``at``."""
        if raw.startswith(b'Token":', at) and raw.endswith(b'"progress', 0, at):
            return None  # in nearly every frame, and no secret
        member = _MEMBER().match(raw, at)
        if member is None:
            return self._parameter(raw, at) or self._assignment(raw, at)
        quote = raw.rfind(b'"', max(0, at - 64), at)
        name = raw[quote + 1 : member.end(1)].decode("ascii", "replace")
        backslashes = member[2]
        if quote < 0 or len(backslashes) & (len(backslashes) + 1) or not is_secret_name(name):
            return None
        return self._value(raw, member.end(), backslashes + b'"', is_strong_name(name))

    def _value(self, raw: bytes, at: int, quote: bytes, strong: bool) -> _Span | None:
        """The JSON value at ``at`` as a secret. ``quote`` is a quotation mark at the depth of this JSON in strings."""
        if raw.startswith(quote, at):
            start = at + len(quote)
            end = _string_end(raw, start, quote)
            scheme = _SCHEME().match(raw, start, end)
            return self._span(raw, start if scheme is None else scheme.end(), end)
        if raw[at : at + 1] in {b"{", b"["}:
            if raw[at] == ord("{") and self._is_schema(raw[at : at + _SCHEMA_HEAD], quote):
                return None
            end = _container_end(raw, at, quote)
            if end - at <= 2 or (not strong and raw.find(b'"', at, end) < 0):
                return None
            return _Span(at, end, quote + self.mark(raw[at:end]) + quote)
        number = _NUMBER().match(raw, at) if strong else None
        return None if number is None else _Span(at, number.end(), quote + self.mark(number[0]) + quote)

    def _is_schema(self, head: bytes, quote: bytes) -> bool:
        """Whether an object, of which ``head`` is the beginning, is the JSON Schema of a secret.

        Looking costs more than leaving it out, so in one piece only so many are spared.
        """
        if self._spared >= _SPARED:
            return False
        is_schema = _SCHEMA().search(head, 0, _container_end(head, 0, quote)) is not None
        self._spared += is_schema
        return is_schema

    def _parameter(self, raw: bytes, at: int) -> _Span | None:
        """A parameter of a query, such as ``?code=…``."""
        tail = _PARAMETER_TAIL().match(raw, at)
        head = None if tail is None else _PARAMETER_HEAD().search(raw[max(0, at - 70) : at])
        if tail is None or head is None:
            return None
        name = (head[1] + tail[1]).decode("ascii", "replace")
        if name.lower().rpartition("-")[2] not in SIGNATURES and not is_secret_name(name):
            return None
        value = _PARAMETER().match(raw, tail.end())
        return None if value is None else self._span(raw, *value.span())

    def _assignment(self, raw: bytes, at: int) -> _Span | None:
        """A name and a value in running text: what a server prints of its environment, or of a header."""
        cookies = _COOKIES().match(raw, at)
        if cookies is not None:
            return self._span(raw, *cookies.span(2))
        found = _ASSIGNMENT().match(raw, at)
        head = None if found is None else _NAME_HEAD().search(raw[max(0, at - 65) : at])
        if found is None or head is None:
            return None
        name = (head[1] + found[1]).decode("ascii", "replace")
        if not is_secret_name(name) or _PLACEHOLDER().fullmatch(found[2]):
            return None
        sure = is_strong_name(name) or (name.isupper() and len(name) > 3)
        return self._span(raw, *found.span(2)) if sure or _DRAWN().match(found[2]) else None

    def _found(self, pattern: Callable[[], re.Pattern[bytes]], raw: bytes, at: int) -> _Span | None:
        """The first group of a pattern."""
        found = pattern().match(raw, at)
        return None if found is None else self._span(raw, *found.span(1))

    def _span(self, raw: bytes, start: int, end: int) -> _Span | None:
        secret = raw[start:end]
        return _Span(start, end, self.mark(secret)) if secret and not _MARK().fullmatch(secret) else None


def _hinted(hint: str) -> str:
    """A pattern for a hint. Short ones are in so many words that they must stand alone."""
    if hint == "session":
        return "session[_-]?id"
    return (
        rf"(?:(?<![a-z])|(?<=\\[bfnrt])){hint}(?![a-z])"
        if len(hint) < 4 and hint not in {"key", "pwd", "jwt"}
        else hint
    )


# -- JSON inside strings of JSON -------------------------------------------------------------------------------
#
# At depth d (0: not inside any string) a quotation mark of the JSON stands behind n = 2**d - 1 backslashes; they and it
# are the ``quote`` below. A backslash in a string of that depth takes 2 (n + 1) of them. So where backslashes stand before
# a mark, their number in binary ends in as many ones as the mark is deep. A mark of an outer string ends this one, too.


def _own_backslashes(raw: bytes, mark: int, start: int) -> int:
    """How many of the backslashes in front of a quotation mark belong to it, looking back to ``start`` at most."""
    before = mark
    while before > start and raw[before - 1] == 0x5C:
        before -= 1
    run = mark - before
    return (run ^ (run + 1)) >> 1


def _string_end(raw: bytes, start: int, quote: bytes) -> int:
    """Where the text of a string that begins at ``start`` ends, in front of its closing ``quote`` or an outer one."""
    at = raw.find(b'"', start)
    while at >= 0:
        own = _own_backslashes(raw, at, start)
        if own < len(quote):
            return at - own
        at = raw.find(b'"', at + 1)
    return len(raw)


def _container_end(raw: bytes, start: int, quote: bytes) -> int:
    """Where the object or array that begins at ``start`` ends."""
    depth, at = 0, start
    while bracket := _BRACKET().search(raw, at):
        at = bracket.end()
        if bracket[0] == b'"':
            own = _own_backslashes(raw, at - 1, start)
            if own < len(quote) - 1:
                return at - 1 - own
            at = _string_end(raw, at, quote)
            if not raw.startswith(quote, at):
                return at
            at += len(quote)
        else:
            depth += 1 if bracket[0] in b"[{" else -1
            if depth == 0:
                return at
    return len(raw)


# -- known values ----------------------------------------------------------------------------------------------


def _known(value: str) -> _Known:
    pattern = b"".join(map(_escapable, value))
    if len(value) < _ANYWHERE:
        pattern = _WORD_START + pattern + rb"(?![0-9A-Za-z])"
    return _Known(
        value=value.encode("utf-8", "surrogatepass"),
        anchor=max(re.findall(r"[0-9A-Za-z]+", value), key=len, default="").lower(),
        pattern=re.compile(pattern),
        reach=16 * len(value) + 16,
    )


def _escape_start(raw: bytes, at: int) -> int:
    """``at``, or where the escape begins of which ``at`` is the middle: the half of one would be no JSON."""
    escape = _ESCAPE().search(raw[max(0, at - 36) : at])
    return at if escape is None else at - len(escape[0])


def _escapable(char: str) -> bytes:
    """A pattern for a character: as it is, escaped as in JSON at any depth, or as in a URL.

    A lone surrogate may stand for a byte of the command line that is not UTF-8: then it is that byte, too.
    """
    raw = char.encode("utf-8", "surrogatepass")
    if char.isascii() and char.isalnum():
        return raw
    units = array("H", char.encode("utf-16", "surrogatepass")[2:])
    hexed = "".join(f"\\\\{{1,31}}u{unit:04x}" for unit in units).encode()
    percent = b"".join(b"%%%02x" % byte for byte in raw)
    ways = [rb"\\{0,31}" + re.escape(raw), hexed, percent]
    if "\udc80" <= char <= "\udcff":
        ways.append(re.escape(char.encode("utf-8", "surrogateescape")))
    if char < " ":
        ways.append(rb"\\{1,31}" + json.dumps(char)[1:-1].lstrip("\\").encode())
    return rb"(?i:" + b"|".join(ways) + rb")"
