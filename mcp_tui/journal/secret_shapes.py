"""Patterns of secrets without a name: private keys, tokens with a prefix, JWTs, webhook URLs, passwords of commands.

Each is found by a text that it always contains, in lower case, and then by a pattern whose first group is the secret.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_tui.protocol.patterns import late

WORD_START: Final = rb"(?:(?<![0-9A-Za-z])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
"""The start of a word, or a word after an escape in JSON."""

_RANDOM: Final = rb"(?=(?:(?:[A-Za-z_\-]|[0-9](?![A-Za-z])){0,64}[0-9][A-Za-z]){%d})"
"""A lookahead for text in which a letter follows a digit a number of times, unlike in words and numbers."""

_MIXED: Final = _RANDOM % 3 + rb"[\w\-]{16,}"
_LONG: Final = rb"[A-Za-z0-9]{20,}"
_SLASH: Final = rb"\\*+/"

# The password in a URL, or the user name if there is no password.
_USERINFO: Final = late(rb":\\*+/\\*+/(?:[^\s/?#\"\\<>@:]*+:)?([^\s/?#\"\\<>]*)@")

# The URL of a webhook is a secret: those of Slack, Zapier, Teams, Discord, and any with a part that looks random.
_WEBHOOK: Final = late(
    (
        rb"hook(?:s?\.(?:slack|zapier|office)\.com/[\w\-]{1,40}/|s/(?=[0-9]{16}))(?:[\w\-]{1,15}/)*((?:[\w\-@.]|/)+)"
    ).replace(b"/", _SLASH)
)
_RANDOM_WEBHOOK: Final = late(rb"hook(?:[^\s\"\\<>?#]|\\+/){0,120}?/(" + _MIXED + rb")")

# Up to the last line of the key or, if it is truncated, to the end of the text.
_PEM: Final = late(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"((?:[A-Za-z0-9+/=:,.() \s]|\\+(?:[nrt/]|u00[0-9A-Fa-f]{2})|-(?!----))++)"
)

_BEARER: Final = late(rb"bearer +(?=[^\s\"\\]*[0-9])((?:[\w.~+/=\-]|\\+/){8,})", re.IGNORECASE)
_JWT: Final = late(rb"(eyJ[\w\-]{8,}+\.(?:eyJ[\w\-]{4,}+|[\w\-]{8,}+\.[\w\-]{8,}+)[\w\-.]*+)")
_SHORT_OPTION: Final = late(
    rb"(?:(?<![\w\-])|(?<=\\[bfnrt]))-p(" + _RANDOM % 2 + rb"[\w\-!@#$%^&*+=]{8,})(?![\w./:])"
)


def _token(prefix: bytes, body: bytes) -> re.Pattern[bytes]:
    return late(WORD_START + b"(" + prefix + body + rb")(?![A-Za-z0-9])")


def _password(option: bytes) -> re.Pattern[bytes]:
    """Returns the pattern of a command with the password in one of its options."""
    return late(
        rb"[\w\-]+ (?:(?:[^\"|;&<>]|(?<=\\)\"){0,200}? )?" + option + rb"(?:'|\\+\")?([^\s\"'\\|;&<>`]+)"
    )


SHAPES: Final[tuple[tuple[str, re.Pattern[bytes]], ...]] = (
    ("://", _USERINFO),
    (":\\/\\/", _USERINFO),
    ("hook", _WEBHOOK),
    ("hook", _RANDOM_WEBHOOK),
    ("-----begin ", _PEM),
    ("bearer ", _BEARER),
    ("eyj", _JWT),
    ("-p", _SHORT_OPTION),
    ("akia", _token(b"AKIA", b"[A-Z0-9]{16}")),
    ("asia", _token(b"ASIA", b"[A-Z0-9]{16}")),
    ("sg.", _token(rb"SG\.", rb"[\w\-]{16,}\.[\w\-]{16,}")),
    ("xox", _token(b"xox[a-z]-", rb"[\w\-]{10,}")),
    ("aiza", _token(b"AIza", rb"[\w\-]{24,}")),
    (":aa", late(rb"(?<=[0-9]{8}):(AA[\w\-]{30,})")),  # of a Telegram bot
    ("_pat_", late(rb"_pat_(" + _MIXED + b")")),
    ("k_live_", late(rb"k_live_(" + _LONG + b")")),
    ("k_test_", late(rb"k_test_(" + _LONG + b")")),
    *(
        (prefix, _token(re.escape(prefix.encode()), _LONG))
        for prefix in (
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "npm_",
            "hf_",
            "gsk_",
            "r8_",
            "shpat_",
            "dop_v1_",
        )
    ),
    *(
        (prefix, _token(re.escape(prefix.encode()), _MIXED))
        for prefix in ("sk-", "glpat-", "whsec_", "pypi-", "xapp-", "lin_api_", "nvapi-", "hvs.", "ya29.")
    ),
    ("mysql", _password(b"-p")),
    ("mariadb", _password(b"-p")),
    ("sshpass", _password(b"-p ?")),
    ("login ", _password(b"-p +")),
    ("redis-cli", _password(b"-a +")),
    ("curl ", _password(rb"(?:-u|--user)[ =]?(?:'|\\+\")?[^\s:\"'\\]+:")),
)
"""Texts in lower case, each with the pattern that matches at such a text."""
