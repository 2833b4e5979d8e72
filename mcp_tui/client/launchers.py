"""Programs that download a server before they start it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_LAUNCHERS: Final = {
    **dict.fromkeys(("npx", "uvx", "bunx", "pnpx", "dnx"), frozenset[str]()),
    **dict.fromkeys(("docker", "podman"), frozenset({"run"})),
    **dict.fromkeys(("pnpm", "yarn"), frozenset({"dlx"})),
    **dict.fromkeys(("pipx", "go", "deno", "nix"), frozenset({"run"})),
    "npm": frozenset({"exec", "x"}),
    "bun": frozenset({"x"}),
    "uv": frozenset({"run", "tool"}),
}
"""The subcommands of each program that download; none if it always does."""

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})


def launcher(command: Sequence[str]) -> str:
    """Returns the program of a command that may download first, with its subcommand: ``npx``, ``docker run``.

    It is also found after ``env`` and in a command line for a shell. Empty if there is none.
    """
    name = command[0].rpartition("/")[2] if command else ""
    rest = list(command[1:])
    if name == "env":
        while rest and (rest[0].startswith("-") or "=" in rest[0]):
            del rest[0]
        return launcher(rest)
    if name in _SHELLS:
        line = next((word for before, word in pairwise(rest) if _is_line(before)), "")
        try:
            words = shlex.split(line)
        except ValueError:
            return ""
        return launcher(words[words[:1] == ["exec"] :])
    if name not in _LAUNCHERS:
        return ""
    wanted = _LAUNCHERS[name]
    first = next((word for word in rest if not word.startswith("-")), "")
    if not wanted:
        return name
    return f"{name} {first}" if first in wanted else ""


def _is_line(option: str) -> bool:
    """Whether a command line follows this option of a shell: ``-c``, ``-lc``."""
    return option[:1] == "-" and option[1:2] != "-" and option.endswith("c")
