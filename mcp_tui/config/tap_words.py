"""The command line of a tap: its options, and the start of the server's command.

This module imports nothing of mcp-tui, because it is loaded at each start of a server behind a tap.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class TapOptions(TypedDict, total=False):
        """Those options of a tap that were given. Limits are in seconds, 0 is none."""

        name: str
        timeout: float
        max_timeout: float
        record: str
        keep_secrets: bool
        otlp: str
        once: str  # names of tools, with commas


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
"""The options of a tap, each with the kind of its value.

This module reads options with a ``number``, a ``text``, or a ``list``. A list follows ``=``, or is empty.
"""

RESERVED = frozenset(("install", "uninstall", "status"))
"""Words that are subcommands of ``tap``; a program with such a name is only started after ``--``."""


def split(words: list[str]) -> tuple[int, dict[str, float | str] | None]:
    """Returns the index of the server's command in the words after ``tap``, and the options before it.

    The index is the number of words if there is no command. The options are ``None`` if the full parser must read the
    command line. The command starts after ``--``, or with the first word that is neither an option, nor its value, nor a
    URL, because some clients drop the ``--``. All words after that belong to the command. After an unknown option, only
    ``--`` starts the command, because the next word may be the option's value.
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
    """Returns the value of an option; ``None`` if it is invalid, or if this module does not read the option."""
    if kind in ("text", "list") or value is None:
        return value
    try:
        number = float(value) if kind == "number" else -1.0
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
