"""The words of a tap: where its options end and the server's command begins.

Imports nothing of ours: it is read at each start of a server behind a tap.
"""

from __future__ import annotations

OPTIONS = {
    "--timeout": "number",
    "--max-timeout": "number",
    "--name": "text",
    "--record": "text",
    "--otlp": "other",
    "--http": "other",
    "--client-cert": "other",
    "--client-key": "other",
    "--allow-origin": "other",
    "--allow-host": "other",
    "--once": "list",
    "--keep-secrets": "switch",
    "--insecure": "switch",
}
"""The options of a tap, each with the kind of its value. Those with a ``number``, a ``text``, or a ``list`` are read here;
a list stands behind ``=``, or is empty."""

RESERVED = frozenset(("install", "uninstall", "status"))
"""Programs that a tap starts only behind ``--``."""


def split(words: list[str]) -> tuple[int, dict[str, float | str] | None]:
    """Returns where the server's command begins in the words behind ``tap``, and the options before it.

    The place is the number of words if there is no command; the options are ``None`` if the whole command line must be read.

    The command begins behind ``--``, or with the first word that is neither an option, nor its value, nor a URL: some
    clients drop the ``--``. Whatever is behind its first word is its own. Behind an unknown option only ``--`` counts,
    because the next word may be the option's value.
    """
    at = 0
    found: dict[str, float | str] | None = {}
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1, found
        if word[:1] == "-":
            name, equals, value = word.partition("=")
            kind = OPTIONS.get(name)
            if kind is None:
                return words.index("--") + 1 if "--" in words else len(words), None
            if kind not in ("switch", "list") and not equals:
                at += 1
                value = words[at] if at < len(words) and words[at][:1] != "-" else None
            made = _made(kind, value)
            found = None if found is None or made is None else {**found, name[2:].replace("-", "_"): made}
        elif word[:8].lower().startswith(("http://", "https://")):
            found = None
        else:
            return len(words) if word in RESERVED else at, found
        at += 1
    return len(words), found


def _made(kind: str, value: str | None) -> float | str | None:
    """Returns the value of an option; ``None`` if it is wrong, or not read here."""
    if kind in ("text", "list") or value is None:
        return value
    try:
        number = float(value) if kind == "number" else -1.0
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
