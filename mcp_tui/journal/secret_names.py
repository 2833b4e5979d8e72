"""Which names stand for secrets: of JSON members, headers, options, environment variables and query parameters.

A name is taken apart into words (``apiKey``, ``api-key``, ``API_KEY``), so that ``keywords`` and ``monkey`` are
no keys, and ``token_type`` and ``authorization_endpoint`` are not what they are about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

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
