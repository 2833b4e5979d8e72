"""Redaction of secrets in everything that is written to a file.

A frame is redacted as bytes, without parsing and encoding it, so all other bytes stay unchanged. These secrets are found:

- values with names of secrets in JSON, and in JSON within its strings, to any depth; also if name and value are two
  members (``{"name": "token", "value": …}``) or two items of a list (``["--token", …]``);
- known secrets (``-e``, headers, the URL, values sent earlier with the name of a secret), anywhere, and with any escaping of
  JSON or URLs;
- ``password=…``, ``password is …``, ``--password …`` in running text;
- passwords in URLs, secret parameters and OAuth codes in their queries, bearer tokens, DPoP proofs, and the forms of
  :mod:`mcp_tui.journal.secret_shapes`.

Each secret becomes ``‹redacted:ab12cd›``, a hash with a random salt of the :class:`Redactor`. The salt is not stored. So
equal secrets can be recognised within a session, but cannot be guessed from the file.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import compress
from math import inf
from operator import itemgetter
from typing import Final, NamedTuple

from pydantic_core import SchemaValidator

from mcp_tui.journal.secret_shapes import SHAPES, WORD_START
from mcp_tui.protocol.patterns import late

# -- names of secrets ------------------------------------------------------------------------------------------
#
# Names of JSON members, headers, options, environment variables, and query parameters. A name is split into words
# (``apiKey``, ``api-key``, ``API_KEY``), so that ``keywords`` and ``monkey`` are not keys, and ``token_type`` and
# ``authorization_endpoint`` are not secrets.

HINTS: Final = (
    "token", "key", "secret", "pass", "pwd", "cred", "cookie", "auth", "jwt", "bearer", "otp", "code", "session", "pin",
    "pat", "sk", "ssn", "security", "bank", "cvv", "cvc", "card", "iban", "dsn", "sas", "conn", "hook", "phrase", "mnemonic",
    "signature", "assertion",
)  # fmt: skip
"""Texts of which each name of a secret contains one, in lower case, so that a search for them finds every candidate."""

_PROTOCOL: Final = frozenset({"progresstoken", "nextcursor", "cursor", "requeststate"})

_NAME_WORD: Final = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_SECRET_NAME: Final = late(
    r".*(?:token|secret|password|passwd|passphrase|passcode|credential|cookie)s?"
    r"|pass|.*pwd|authori[sz]ation|auth|keys?|jwts?|bearer|t?otp|creds?|pat|pin|sk|ssn|cvv|cvc|iban|dsn|sas|mnemonic"
    r"|(?:access|account|api|app|auth|client|encryption|license|master|private|secret|service|session|shared"
    r"|signing|ssh|storage|subscription|user)keys?"
)
"""Words in the name of a secret."""

_ENDING: Final = late(
    r"sessionid|codeverifier"
    r"|((?:mfa|2fa|otp|onetime|twofactor|verification|recovery|backup|security|access|login|sms|device)codes?"
    r"|(?:credit|debit|payment|cc|)card(?:number|num|no)|(?:credit|debit)card|socialsecurity(?:number)?"
    r"|bankaccount(?:number)?|conn(?:ection)?str(?:ing)?s?|webhookur[il]s?|(?:seed|recovery)phrase)"
)
"""The joined last words of the name of a secret. The group has names under which even a number is a secret."""

_SHAPED_NAMES: Final = frozenset({"code", "signature", "assertion"})
"""The last words of names under which a value is a secret only if it looks random."""

_OPEN_KEYS: Final = frozenset(
    {
        "cache",
        "foreign",
        "group",
        "hot",
        "idempotency",
        "partition",
        "primary",
        "public",
        "recv",
        "short",
        "sort",
    }
)
"""Words before ``key`` with which the name is not that of a secret."""

_NO_SECRET_WORDS: Final = frozenset(
    {
        "alg", "algorithm", "budget", "count", "counts", "endpoint", "enabled", "expires", "expiry", "field", "hint",
        "label", "length", "limit", "limits", "method", "methods", "name", "names", "policy", "required", "server",
        "servers", "size", "supported", "type", "types", "usage",
    }
)  # fmt: skip
"""The last words of names whose values describe a secret, but are not secret."""

_STRONG: Final = late(r"pass|pwd|secret|credential", re.IGNORECASE)

_NUMBERED: Final = late(r"(?<![a-z])(?:ssn|cvv|cvc|t?otp|pin)(?![a-z])", re.IGNORECASE)


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Whether values under a name are redacted."""
    if len(name) > 128 or name.lower() in _PROTOCOL:
        return False
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    if not words or words[-1] in _NO_SECRET_WORDS:
        return False
    return _secret_ending(name) is not None or any(
        _SECRET_NAME.fullmatch(word) and not (word in {"key", "keys"} and before in _OPEN_KEYS)
        for before, word in zip(["", *words], words, strict=False)
    )


def is_strong_name(name: str) -> bool:
    """Whether even a number with this name is a secret, such as a password, but not a count of tokens."""
    return _STRONG.search(name) is not None or _is_numbered(name)


def _is_numbered(name: str) -> bool:
    """Whether secrets with this name are usually numbers."""
    ending = _secret_ending(name)
    return _NUMBERED.search(name) is not None or (ending is not None and ending[1] is not None)


@lru_cache(maxsize=2048)
def _secret_ending(name: str) -> re.Match[str] | None:
    """Returns the match of the last words of a name in :data:`_ENDING`; ``None`` without a match."""
    words = [word.lower() for word in _NAME_WORD.findall(name[-128:])]
    return next(filter(None, (_ENDING.fullmatch("".join(words[-count:])) for count in (1, 2, 3))), None)


# -- patterns --------------------------------------------------------------------------------------------------

MASK: Final = "‹redacted›"
"""The replacement of a secret without a hash."""

REDACTED_BYTES: Final = 256 * 1024
"""The size of the pieces in which a long frame is redacted, in bytes."""

_ANYWHERE_CHARACTERS: Final = 8
"""The minimum length of a known secret that is also found within words, in characters."""

_LEARNED: Final = 500
"""The maximum number of known secrets, because each is searched in every frame."""

_SHORT_CHARACTERS: Final = 64
"""The maximum length of a short text, in characters."""

_SHORT_TEXTS: Final = 1000
"""The maximum number of short texts that are remembered as harmless."""

_MANY_SEARCHES: Final = 400
"""The number of searches after which a faster check of all texts is worth its preparation."""

_SHORTEST_CHARACTERS: Final = 4
"""The minimum length of a known secret, in characters, because a shorter one would be found everywhere."""

_MEMBER: Final = late(rb'([\w.\- ]{0,64}+)(\\*+)"(?:[ \t\r\n]|\\+[nrt])*+:(?:[ \t\r\n]|\\+[nrt])*+')
"""The text from a hint in the name of a member to its value: the rest of the name, the quotation mark, and the colon."""

_CANDIDATE: Final = r"(?:[\w.\- ]{0,64}+\\*+\"|[\w.\-]{0,64}+(?: \w{1,16})?(?: ?[=:]| (?:is|was)[: ]))"
"""The text after a hint that is part of a name with a value, in Latin-1 and lower case."""

_PARAMETER: Final = late(rb"(?:[^&\s\"'\\<>#]|\\+/)++")
_PARAMETER_TAIL: Final = late(rb"([\w.\-]{0,64}+)=")
_PARAMETER_MARK: Final = late(rb"(?:[?&#;]|\\u0026)\Z")
_ASSIGNMENT: Final = late(
    rb"([\w.\-]{0,64}+(?: (?!is\b|was\b)\w{1,16})?)(?:[ \t]?=[ \t]?|:[ \t]{1,8}|(:(?![/:])| (?:is|was):? ))('|\\*\")?"
    rb"(?:(?:bearer|basic|digest|dpop|token) +)?",
    re.IGNORECASE,
)
"""The text from a hint in a name in running text to the value: ``password=…``, ``api_key: …``, ``token is …``."""

_OPTION: Final = late(rb" ?--?([A-Za-z][\w\-]{1,64})( +)('|\\*\")?")
"""An option in running text."""

_WORD: Final = late(
    rb"[0-9]{4}(?: [0-9]{1,7}){2,4}|[0-9]{3}(?![\w.\-])|(?:[^\s\"'\\<>,;()\[\]{}`|&#]|\\+/){4,}"
)
_WORD_BYTES: Final = 64
"""The number of bytes at the start of a word that decide whether it is a secret."""

_NAME_BYTES: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_WORDS_BEFORE: Final = late(rb"(?:(?<!\w)\w{1,16} ){1,2}\Z")
_COOKIES: Final = late(rb"((?:set-)?cookie): *([^\r\n\"\\]{4,})", re.IGNORECASE)
_DRAWN: Final = late(rb"(?=[^A-Za-z]*[A-Za-z])(?=\D*[0-9]).{8}|.{20}")
"""A value that looks random. It is required if the name alone is not enough, as in ``key=len``."""

_PLACEHOLDER: Final = late(
    rb"(?:[$%*.\-<{\xe2].*|true|false|null|none|nil|undefined|yes|no|not|must|should|required|optional|missing|invalid"
    rb"|expired|empty|unknown|incorrect|wrong|string|str|bytes|hidden|redacted|unset|given|changed|accepted|rejected"
    rb"|and|the|for|[0-9.]{1,5})\W*",
    re.IGNORECASE,
)
"""A word that describes a value, but is not a value."""

_SCHEME_BYTES: Final = late(rb"(?:bearer|basic|digest|dpop|token) +(?=\S)", re.IGNORECASE)
_DIGITS: Final = late(rb"[0-9][0-9 \-]{2,}")
_LISTED: Final = late(rb'([\w\-]{0,64}+)(\\*+")(?:[ \t\r\n]|\\+[nrt])*+,(?:[ \t\r\n]|\\+[nrt])*+\2(?!-)')
_LISTED_HEAD: Final = late(rb'"--?([\w\-]{0,64})\Z')
_PAIR_NAME: Final = late(
    rb'"(?:name|key|id|header|field|label|var(?:iable)?|env|param(?:eter)?|option|property|attribute)(\\*+")'
    rb"(?:[ \t\r\n]|\\+[nrt])*+:(?:[ \t\r\n]|\\+[nrt])*+\1([\w.\- ]{1,64}+)\1",
    re.IGNORECASE,
)
"""A member with the name for the value in the member ``value`` of the same object."""

_SIBLING_BYTES: Final = 256
"""The number of bytes before and after a member in which such a member is searched."""

_BRACE: Final = late(rb"[{}]")
_RANDOM_VALUE: Final = late(
    rb"\\*+\"((?=(?:(?:[^\s0-9\"\\]|[0-9](?![A-Za-z])){0,64}[0-9][A-Za-z]){3})(?:[\w\-.~+=:]|\\*/){12,})\\*+\""
)
"""A text in JSON that looks random: a letter follows a digit at least three times, and there are no blanks."""

_NUMBER: Final = late(rb"-?[0-9][0-9.eE+\-]{2,}")
"""A number that may be a secret, with at least three digits."""
_BRACKET: Final = late(rb'["\[\]{}]')
_SCHEMA: Final = late(
    rb'"(?:(?:\$ref|anyOf|oneOf|allOf|enum|const|properties)\\*"\s*:'
    rb'|type\\*"\s*:\s*(?:\[|\\*"(?:string|number|integer|boolean|array|object|null)\\*"))'
)
"""Members that show that an object with the name of a secret is the JSON Schema of a secret, which is not secret."""

_SCHEMA_HEAD_BYTES: Final = 2048
"""The number of bytes at the start of an object in which such a member is searched."""

_SPARED: Final = 500
"""The maximum number of schemas of secrets that are recognised in one piece."""

_ESCAPE: Final = late(rb"\\(?:[bfnrt]|u[0-9A-Fa-f]{4})")
_KEY_LINE: Final = late(r"(?=.*[0-9+/])[A-Za-z0-9+/]{20,}={0,2}")
_HALF_ESCAPE: Final = late(rb"\\+(?:u[0-9A-Fa-f]{0,3})?\Z")

MARK: Final = late("‹redacted(?::[0-9a-f]{6})?›".encode())


SIGNATURES: Final = frozenset({"code", "sig", "signature"})
"""The last words of the names of parameters of URLs that are secret."""


class Span(NamedTuple):
    """Bytes to remove, and the replacement."""

    start: int
    end: int
    instead: bytes


class _Known(NamedTuple):
    """A secret whose value is known.

    ``anchor`` is its longest run of characters that are never escaped, in lower case. If the anchor is found, ``pattern``
    searches for the whole secret, with other characters escaped or not. ``reach`` is the maximum size of a match, in bytes.
    """

    value: bytes
    anchor: str
    pattern: re.Pattern[bytes]
    reach: int


Member = tuple[bytes, bytes]
"""A member of an object as JSON: its name with the colon, and its value."""

_Find = Callable[[bytes, int], Span | None]


class _SecretFinder(NamedTuple):
    """The search for a kind of secret: by a text, then by a pattern around it, both in lower case, then by a function."""

    needle: str
    candidate: re.Pattern[str]
    find: _Find


class Redactor:
    """Removes secrets from bytes and text. ``values`` has the known secrets.

    Known secrets of fewer than four characters are ignored. Those of fewer than eight are only found as whole words.
    ``tagged=False`` omits the hash, for text that is shown.
    """

    def __init__(self, values: Iterable[str] = (), *, tagged: bool = True) -> None:
        self._salt = os.urandom(16)
        self._tagged = tagged
        self._spared = 0
        self._in_key = False
        self._values: set[str] = set()
        self._harmless: set[str] = set()
        """Short texts without a secret, such as names of methods and levels, which are in every message."""
        self._known: tuple[_Known, ...] = ()
        self._searches = 0.0
        """The number of searches so far; minus infinity if each one must look for all texts."""
        self._hint: SchemaValidator | None = None
        self._finders: tuple[_SecretFinder, ...] = (
            *(_SecretFinder(hint, late(_hinted(hint) + _CANDIDATE), self._named) for hint in HINTS),
            *(_SecretFinder(name, late(name), self._parameter) for name in ("code=", "sig=", "signature=")),
            *(
                _SecretFinder(needle, late(re.escape(needle)), partial(self._found, pattern))
                for needle, pattern in SHAPES
            ),
            _SecretFinder("val", late(r'val(?<="val)(?:ue)?(?=\\*")'), self._paired),
            _SecretFinder("--", late(_at_start("--", r"\w\-") + "[a-z]"), self._option),
            _SecretFinder(" -", late(" -[a-z]"), self._option),
        )
        self._know(values, _SHORTEST_CHARACTERS)

    @property
    def known(self) -> frozenset[str]:
        """The values that are redacted everywhere."""
        return frozenset(self._values)

    def learn(self, values: Iterable[str]) -> None:
        """Adds known secrets of at least eight characters, until there are :data:`_LEARNED`."""
        if len(self._values) < _LEARNED:
            self._know(values, _ANYWHERE_CHARACTERS)

    def _know(self, values: Iterable[str], shortest: int) -> None:
        self._harmless.clear()  # a harmless text may contain a new secret
        bare = {value.rstrip("\\") for value in values}  # a last backslash may belong to a following escape
        new = {value for value in bare if len(value) >= shortest} - self._values
        self._values |= new
        self._known += tuple(map(_known, new))
        needles = (len(finder.needle) for finder in self._finders)
        self._reach = max((*needles, *(known.reach for known in self._known))) + 256
        self._needles = (
            *(finder.needle for finder in self._finders),
            *(known.anchor for known in self._known),
        )

    def hide(self, members: Iterable[Member]) -> None:
        """Redacts the values of JSON members of any length, if name and value have exactly this form."""
        for name, value in members:
            needle = (name + value).lower().decode("latin-1")
            ended = late(re.escape(needle) + r"(?=[,}\s]|\Z)")
            self._searches = -inf
            self._finders += (_SecretFinder(needle, ended, partial(self._member, (name, value))),)
            # A text is found everywhere. A number is not searched everywhere, because that would break other JSON.
            self._know([json.loads(value)] if value.startswith(b'"') else (), _SHORTEST_CHARACTERS)

    def redact(self, raw: bytes) -> bytes:
        """Removes the secrets from bytes; returns the same object if there are none."""
        if len(raw) > REDACTED_BYTES:
            return b"".join(self.pieces(raw))
        spans = self.spans(raw, 0, len(raw))
        return replace_spans(raw, spans, 0, len(raw))[0] if spans else raw

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Removes the secrets from bytes; yields pieces of about 256 kB, so that other work can run between them."""
        at = 0
        while at < len(raw):
            end = min(at + REDACTED_BYTES, len(raw))
            piece, at = replace_spans(raw, self.spans(raw, at, end), at, end)
            yield piece

    def text(self, text: str) -> str:
        """Removes the secrets from a text, including consecutive lines of a private key."""
        if self._in_key and _KEY_LINE.fullmatch(text):
            return self.mark(text.encode()).decode()
        if text in self._harmless:
            return text
        # Nearly every text returns here, because searching for texts is much faster than for patterns.
        if not any(map(text.lower().__contains__, self._needles)):
            if len(text) <= _SHORT_CHARACTERS:
                self._harmless.add(text)
                if len(self._harmless) > _SHORT_TEXTS:
                    self._harmless.clear()
            return text
        raw = text.encode("utf-8", "surrogatepass")
        clean = self.redact(raw)
        if "PRIVATE KEY" in text:
            self._in_key = text.rfind("-----BEGIN ") > text.rfind("-----END ")
        return text if clean is raw else clean.decode("utf-8", "surrogatepass")

    def mark(self, secret: bytes) -> bytes:
        """Returns the replacement of a secret, which does not depend on its escaping."""
        if not self._tagged:
            return MASK.encode()
        # Imported here, because text that is shown needs no hash.
        from hashlib import blake2b

        tag = blake2b(secret.replace(b"\\", b""), key=self._salt, digest_size=3).hexdigest()
        return f"‹redacted:{tag}›".encode()

    def spans(self, raw: bytes, start: int, end: int) -> list[Span]:
        """Returns the secrets that start in ``raw[start:end]``. They may overlap."""
        spans: list[Span] = []
        lower = raw[start : end + self._reach].lower().decode("latin-1")  # str is searched faster than bytes
        size = end - start
        places: list[tuple[int, _Find]] = []
        # Searching for texts is much faster than for patterns, and map() searches for all of them without Python bytecode.
        if self._has_hint(lower):
            for _, candidate, find in compress(self._finders, map(lower.__contains__, self._needles)):
                places += ((match.start(), find) for match in candidate.finditer(lower))
        if places:
            places.sort(key=itemgetter(0))
            self._spared = 0
            at = 0
            for place, find in places:
                if at <= place < size:  # candidates within the last secret are removed with it
                    span = find(raw, start + place)
                    if span is not None:
                        spans.append(span)
                        at = span.end - start
        for known in self._known:
            if known.anchor in lower:
                mark = self.mark(known.value)
                spans += (
                    Span(_escape_start(raw, match.start()), match.end(), mark)
                    for match in known.pattern.finditer(raw, start, end + self._reach)
                    if match.start() < end
                )
        return spans

    def _has_hint(self, lower: str) -> bool:
        """Whether a text in lower case may have the text of a finder."""
        self._searches += 1
        if self._searches < _MANY_SEARCHES:
            return True
        if self._hint is None:
            # pydantic's matcher looks for all texts at once, in a seventh of the time, but takes 0.7 ms to make.
            texts = "|".join(re.escape(finder.needle) for finder in self._finders)
            self._hint = SchemaValidator({"type": "str", "pattern": texts, "regex_engine": "rust-regex"})
        # This name is in nearly every frame, and is not that of a secret.
        return self._hint.isinstance_python(lower.replace('"progresstoken"', '""'))

    # -- secrets around a text -------------------------------------------------------------------------------------

    def _named(self, raw: bytes, at: int) -> Span | None:
        """Finds a member, a parameter, or an assignment whose name has a hint at ``at``."""
        if raw.startswith(b'Token":', at) and raw.endswith(b'"progress', 0, at):
            return None  # progressToken is in nearly every frame, and is not a secret
        member = _MEMBER.match(raw, at)
        if member is None:
            return self._parameter(raw, at) or self._assignment(raw, at) or self._listed(raw, at)
        quote = raw.rfind(b'"', max(0, at - 64), at)
        name = raw[quote + 1 : member.end(1)].decode("ascii", "replace")
        backslashes = member[2]
        if quote < 0 or len(backslashes) & (len(backslashes) + 1):
            return None
        return self._under(name, raw, member.end(), backslashes + b'"')

    def _under(self, name: str, raw: bytes, at: int, quote: bytes) -> Span | None:
        """Finds the secret in the JSON value at ``at``; ``name`` is the name of the value."""
        if is_secret_name(name):
            return self._value(raw, at, quote, is_strong_name(name))
        words = _NAME_WORD.findall(name)
        random = _RANDOM_VALUE.match(raw, at) if words and words[-1].lower() in _SHAPED_NAMES else None
        return None if random is None else self._span(raw, *random.span(1))

    def _member(self, member: Member, raw: bytes, at: int) -> Span | None:
        """Returns the span of the value of a hidden member."""
        name, value = member
        start, end = at + len(name), at + len(name) + len(value)
        return Span(start, end, b'"%b"' % self.mark(value)) if raw[at:end] == name + value else None

    def _value(self, raw: bytes, at: int, quote: bytes, strong: bool) -> Span | None:
        """Returns the span of the JSON value at ``at``. ``quote`` is the quotation mark with its escapes at this depth."""
        if raw.startswith(quote, at):
            start = at + len(quote)
            end = _string_end(raw, start, quote)
            scheme = _SCHEME_BYTES.match(raw, start, end)
            return self._span(raw, start if scheme is None else scheme.end(), end)
        if raw[at : at + 1] in {b"{", b"["}:
            if raw[at] == ord("{") and self._is_schema(raw[at : at + _SCHEMA_HEAD_BYTES], quote):
                return None
            end = _container_end(raw, at, quote)
            if end - at <= 2 or (not strong and raw.find(b'"', at, end) < 0):
                return None
            return Span(at, end, quote + self.mark(raw[at:end]) + quote)
        number = _NUMBER.match(raw, at) if strong else None
        return None if number is None else Span(at, number.end(), quote + self.mark(number[0]) + quote)

    def _is_schema(self, head: bytes, quote: bytes) -> bool:
        """Whether an object that starts with ``head`` is the JSON Schema of a secret.

        The check is expensive, so the number of schemas in one piece is limited.
        """
        if self._spared >= _SPARED:
            return False
        is_schema = _SCHEMA.search(head, 0, _container_end(head, 0, quote)) is not None
        self._spared += is_schema
        return is_schema

    def _parameter(self, raw: bytes, at: int) -> Span | None:
        """Finds a parameter of a query, such as ``?code=…``."""
        tail = _PARAMETER_TAIL.match(raw, at)
        start = _name_start(raw, at)
        if tail is None or not _PARAMETER_MARK.search(raw[max(0, start - 6) : start]):
            return None
        name = (raw[start:at] + tail[1]).decode("ascii", "replace")
        if name.lower().rpartition("-")[2] not in SIGNATURES and not is_secret_name(name):
            return None
        value = _PARAMETER.match(raw, tail.end())
        return None if value is None else self._span(raw, *value.span())

    def _assignment(self, raw: bytes, at: int) -> Span | None:
        """Finds a name and a value in running text, such as an environment variable or a header that a server prints."""
        cookies = _COOKIES.match(raw, at)
        if cookies is not None:
            return self._span(raw, *cookies.span(2))
        found = _ASSIGNMENT.match(raw, at)
        if found is None:
            return None
        start = _name_start(raw, at)
        name = (raw[start:at] + found[1]).decode("ascii", "replace")
        if " " in name or not is_secret_name(name):  # several words must form a known name together
            words = _WORDS_BEFORE.search(raw[max(0, start - 34) : start])
            name = name if words is None else words[0].decode("ascii", "replace") + name
            if _secret_ending(name) is None:
                return None
        return self._word(raw, found, name)

    def _option(self, raw: bytes, at: int) -> Span | None:
        """Finds ``--password …`` in running text."""
        found = _OPTION.match(raw, at)
        is_secret = found is not None and is_secret_name(found[1].decode())
        return self._word(raw, found, found[1].decode()) if found is not None and is_secret else None

    def _word(self, raw: bytes, found: re.Match[bytes], name: str) -> Span | None:
        """Finds the value after the name of a secret. Without assignment or quotes, it may be a word of the sentence."""
        start = found.end()
        value = _WORD.match(raw, start, start + _WORD_BYTES)
        if value is None:
            return None
        numbered, has_digit = _is_numbered(name), any(byte in b"0123456789" for byte in value[0])
        if not (numbered and _DIGITS.fullmatch(value[0])):
            assigned = found[2] is None or found[3] is not None
            if _PLACEHOLDER.fullmatch(value[0]) or ((numbered or not assigned) and not has_digit):
                return None
            strong = is_strong_name(name) or (name.isupper() and len(name) > 3)
            if not (strong or _DRAWN.match(value[0])):
                return None
        whole = _WORD.match(raw, start) or value
        return self._span(raw, *whole.span())

    def _listed(self, raw: bytes, at: int) -> Span | None:
        """Finds the value after the name of an option in a list, as in ``["--token", …]``."""
        found = _LISTED.match(raw, at)
        head = None if found is None else _LISTED_HEAD.search(raw[max(0, at - 70) : at])
        name = "" if found is None or head is None else (head[1] + found[1]).decode()
        if found is None or not is_secret_name(name):
            return None
        end = _string_end(raw, found.end(), found[2])
        value = raw[found.end() : min(end, found.end() + _WORD_BYTES)]
        is_name = raw[end : end + 70].removeprefix(found[2]).lstrip().startswith(b":")
        is_sentence = b" " in value and not is_strong_name(name)
        return (
            None
            if is_name or is_sentence or _PLACEHOLDER.fullmatch(value)
            else self._span(raw, found.end(), end)
        )

    def _paired(self, raw: bytes, at: int) -> Span | None:
        """Finds the member ``value`` at ``at``, if another member of the object has the name of a secret."""
        member = _MEMBER.match(raw, at)
        if member is None:
            return None
        quote, start = member[2] + b'"', member.end()
        before = raw[max(0, at - _SIBLING_BYTES) : at]
        before = before[max(before.rfind(b"{"), before.rfind(b"}")) + 1 :]
        after = raw[start : start + _SIBLING_BYTES]
        if after.startswith(quote):
            after = after[_string_end(after, len(quote), quote) :]
        brace = _BRACE.search(after)
        after = after if brace is None else after[: brace.start()]
        for sibling in (*_PAIR_NAME.finditer(before), *_PAIR_NAME.finditer(after)):
            span = self._under(sibling[2].decode("ascii", "replace"), raw, start, quote)
            if sibling[1] == quote and span is not None:
                return span
        return None

    def _found(self, pattern: re.Pattern[bytes], raw: bytes, at: int) -> Span | None:
        """Finds the first group of a pattern that matches at ``at``."""
        found = pattern.match(raw, at)
        return None if found is None else self._span(raw, *found.span(1))

    def _span(self, raw: bytes, start: int, end: int) -> Span | None:
        secret = raw[start:end]
        return Span(start, end, self.mark(secret)) if secret and not MARK.fullmatch(secret) else None


class Unredacted(Redactor):
    """A redactor that removes nothing, for a recording that the user wants with its secrets."""

    def text(self, text: str) -> str:
        return text

    def spans(self, raw: bytes, start: int, end: int) -> list[Span]:
        return []


def _name_start(raw: bytes, at: int) -> int:
    """Returns the start of the name around ``at`` in running text, after a JSON escape if there is one."""
    before = raw[max(0, at - 70) : at]
    start = at - len(before) + len(before.rstrip(_NAME_BYTES))
    escape = _ESCAPE.match(raw, start - 1) if raw[start - 1 : start] == b"\\" else None
    return start if escape is None else escape.end()


def replace_spans(raw: bytes, spans: Iterable[Span], start: int, end: int) -> tuple[bytes, int]:
    """Returns ``raw[start:end]`` with spans replaced, and the end of the last span or ``end``, whichever is later."""
    parts: list[bytes] = []
    at = start
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end > at:
            parts += (raw[at : span.start], span.instead)
            at = span.end
    return b"".join((*parts, raw[at:end])), max(at, end)


def _hinted(hint: str) -> str:
    """Returns the pattern of a hint. Short hints are parts of many words, so they must be whole words."""
    if hint == "session":
        return "session[_-]?id"
    short = len(hint) < 4 and hint not in {"key", "pwd", "jwt"}
    return _at_start(hint, "a-z") + "(?![a-z])" if short else hint


def _at_start(text: str, word: str) -> str:
    """Returns the pattern of a text at the start of a word. It starts with the text itself, which is found faster."""
    return rf"{text}(?:(?<![{word}]{text})|(?<=\\[bfnrt]{text}))"


# -- JSON inside strings of JSON -------------------------------------------------------------------------------
# At depth d (0 is outside of any string), a quotation mark of the JSON has n = 2**d - 1 backslashes before it; they and the
# mark are the ``quote`` below. A backslash in a string at that depth is written as 2 (n + 1) backslashes. So the number of
# backslashes before a mark ends with d ones in binary. A mark of an outer string also ends the inner one.


def _own_backslashes(raw: bytes, mark: int, start: int) -> int:
    """Returns the number of backslashes after ``start`` that belong to the quotation mark at ``mark``."""
    before = mark
    while before > start and raw[before - 1] == 0x5C:
        before -= 1
    run = mark - before
    return (run ^ (run + 1)) >> 1


def _string_end(raw: bytes, start: int, quote: bytes) -> int:
    """Returns the end of the string that starts at ``start``, before its closing ``quote`` or an outer one."""
    at = raw.find(b'"', start)
    while at >= 0:
        own = _own_backslashes(raw, at, start)
        if own < len(quote):
            return at - own
        at = raw.find(b'"', at + 1)
    return len(raw)


def _container_end(raw: bytes, start: int, quote: bytes) -> int:
    """Returns the end of the object or array that starts at ``start``."""
    depth, at = 0, start
    while bracket := _BRACKET.search(raw, at):
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
    if len(value) < _ANYWHERE_CHARACTERS:
        pattern = WORD_START + pattern + rb"(?![0-9A-Za-z])"
    return _Known(
        value=value.encode("utf-8", "surrogatepass"),
        anchor=max(re.findall(r"[0-9A-Za-z]+", value), key=len, default="").lower(),
        pattern=re.compile(pattern),
        reach=16 * len(value) + 16,
    )


def _escape_start(raw: bytes, at: int) -> int:
    """Returns ``at``, or the start of the JSON escape around it, because half an escape would be invalid."""
    escape = _HALF_ESCAPE.search(raw[max(0, at - 36) : at])
    return at if escape is None else at - len(escape[0])


def _escapable(char: str) -> bytes:
    """Returns the pattern of a character: plain, escaped for JSON at any depth, or escaped for a URL.

    A lone surrogate may stand for a byte of the command line that is not UTF-8, so the pattern also matches that byte.
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
