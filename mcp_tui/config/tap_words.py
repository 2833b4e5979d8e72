"""The words of a tap: where its options end and the server's command begins.

Imports nothing of ours: it is read at each start of a server behind a tap.
"""

from __future__ import annotations

VALUED = frozenset(
    (
        "--timeout",
        "--max-timeout",
        "--name",
        "--record",
        "--otlp",
        "--http",
        "--client-cert",
        "--client-key",
        "--allow-origin",
        "--allow-host",
    )
)
"""The options of a tap that take a value."""

SWITCHES = frozenset(("--keep-secrets", "--insecure"))
"""The others."""

RESERVED = frozenset(("install", "uninstall", "status"))
"""Programs that a tap starts only behind ``--``."""


def command_start(words: list[str]) -> int:
    """Returns where the server's command begins in the words behind ``tap``; the number of words if there is none.

    The command begins behind ``--``, or with the first word that is neither an option, nor its value, nor a URL: some
    clients drop the ``--``. Whatever is behind its first word is its own. Behind an unknown option only ``--`` counts,
    because the next word may be the option's value.
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if word[:1] == "-":
            name, equals, _ = word.partition("=")
            if name not in VALUED and name not in SWITCHES:
                return words.index("--") + 1 if "--" in words else len(words)
            at += name in VALUED and not equals
        elif word[:8].lower().startswith(("http://", "https://")):
            pass
        else:
            return len(words) if word in RESERVED else at
        at += 1
    return len(words)
