"""Reads files that others wrote, with care, and writes our own small ones, for their owner only.

A file under a well-known name may be anything: a pipe that never ends, a device, a gigabyte. Nothing waits for it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mcp_tui.journal.state_folder import open_without_waiting, replace_file

CONFIG_FILE_BYTES: Final = 32 * 1024 * 1024
"""A file above this size is not read: some tools keep their history beside their servers, but not more than this."""


class ConfigError(Exception):
    """A file cannot be used, or lacks what is looked for. The text is one sentence without a full stop, its place first."""


def closest(word: str, known: Iterable[str]) -> str:
    """Returns the closest of the known words; empty if none is close."""
    # Only for the words about a mistake.
    import difflib

    return next(iter(difflib.get_close_matches(word, known, 1)), "")


def guess(word: str, known: Iterable[str]) -> str:
    """Returns ``Did you mean 'x'?`` after a blank, with the closest of the known words; empty if none is close."""
    close = closest(word, known)
    return f" Did you mean {close!r}?" if close else ""


def at(path: Path, line: int | None, column: int | None = None) -> str:
    """Returns a place in a file as editors and compilers write it: ``path:line:column``."""
    return ":".join(str(part) for part in (path, line, column) if part is not None)


def read_bytes(path: Path, most: int = CONFIG_FILE_BYTES) -> bytes:
    """Returns the bytes of a regular file, also through a symbolic link.

    Raises:
        ConfigError: it cannot be read, is not a regular file, or has more than ``most`` bytes.
    """
    try:
        with open(path, "rb", opener=open_without_waiting) as stream:
            # Looked at once it is open: what a name means may change between a look and the opening.
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ConfigError(f"{path}: not a regular file")
            raw = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read ({why(error)})") from None
    if len(raw) > most:
        raise ConfigError(f"{path}: larger than {_size(most)}")
    return raw


def read_text(path: Path, most: int = CONFIG_FILE_BYTES) -> str:
    """Returns the text of a file without a byte order mark, as :func:`read_bytes`.

    Raises:
        ConfigError: also when it is not UTF-8.
    """
    raw = read_bytes(path, most)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{at(path, line)}: not UTF-8") from None


def _size(count: int) -> str:
    return f"{count // 1024 // 1024} MB" if count >= 1024 * 1024 else f"{count // 1024} kB"


def why(error: Exception) -> str:
    """Returns the system's words for a failure."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# -- ours ------------------------------------------------------------------------------------------------------


def read_own(path: Path, most: int) -> Any:
    """Returns the JSON in a file of ours with at most ``most`` bytes; ``None`` if there is none that can be read."""
    with suppress(ConfigError, ValueError, RecursionError):
        return json.loads(read_text(path, most))
    return None


def write_own(path: Path, value: object) -> None:
    """Replaces a file of ours with a value as JSON, as :func:`~mcp_tui.journal.state_folder.replace_file` does.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        replace_file(path, json.dumps(value, indent=2) + "\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({why(error)})") from None


def config_folder() -> Path:
    """Returns the folder of settings, themes, and saved calls (``$XDG_CONFIG_HOME/mcp-tui``)."""
    # The environment names the folders in most tests, and for the recorder of a tap.
    from platformdirs import user_config_path

    return user_config_path("mcp-tui", appauthor=False)


def data_folder() -> Path:
    """Returns the folder of consents and recent servers (``$XDG_DATA_HOME/mcp-tui``)."""
    # The same.
    from platformdirs import user_data_path

    return user_data_path("mcp-tui", appauthor=False)


def settings_file() -> Path:
    """Returns ``$MCP_TUI_CONFIG``, or ``config.toml`` in :func:`config_folder`."""
    named = os.environ.get("MCP_TUI_CONFIG")
    return Path(named).expanduser() if named else config_folder() / "config.toml"


def themes_folder() -> Path:
    """Returns the folder of the user's own themes."""
    return config_folder() / "themes"


def shipped_folder() -> Path:
    """Returns the folder of the themes that ship with mcp-tui: inside an installed package, or the checkout's."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def consents_folder() -> Path:
    """Returns the folder of consents, a file each."""
    return data_folder() / "consents"


def recent_file() -> Path:
    """Returns the file with the servers that were opened last."""
    return data_folder() / "recent.json"
