"""Reads files of other programs safely, and reads and writes mcp-tui's own small files.

A file under a well-known name may be a pipe that never ends, a device, or a gigabyte long. Reading such a file raises an
error instead of blocking. Only their owner can read mcp-tui's own files.
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
"""The most bytes of a config file. Some tools store their history in the same file as their servers."""


class ConfigError(Exception):
    """A file cannot be used, or has no such entry. The text is one sentence without a full stop, with the place first."""


def closest(word: str, known: Iterable[str]) -> str:
    """Returns the known word that is most similar to ``word``; empty if none is similar."""
    # Imported here, because only error messages need it.
    import difflib

    return next(iter(difflib.get_close_matches(word, known, 1)), "")


def guess(word: str, known: Iterable[str]) -> str:
    """Returns ``Did you mean 'x'?`` after a blank, with the most similar known word; empty if none is similar."""
    close = closest(word, known)
    return f" Did you mean {close!r}?" if close else ""


def at(path: Path, line: int | None, column: int | None = None) -> str:
    """Returns a place in a file in the notation of compilers: ``path:line:column``."""
    return ":".join(str(part) for part in (path, line, column) if part is not None)


def read_bytes(path: Path, most: int = CONFIG_FILE_BYTES) -> bytes:
    """Returns the bytes of a regular file or of a link to one.

    Raises:
        ConfigError: the file cannot be read, is not a regular file, or has more than ``most`` bytes.
    """
    try:
        with open(path, "rb", opener=open_without_waiting) as stream:
            # Checked after the file is open, because the path may lead to another file between a check and the opening.
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ConfigError(f"{path}: not a regular file")
            raw = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read ({why(error)})") from None
    if len(raw) > most:
        raise ConfigError(f"{path}: larger than {_size(most)}")
    return raw


def read_text(path: Path, most: int = CONFIG_FILE_BYTES) -> str:
    """Returns the text of a file, without a byte order mark; see :func:`read_bytes`.

    Raises:
        ConfigError: as for :func:`read_bytes`, or the text is not UTF-8.
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
    """Returns the operating system's message for an error, or else the text of the error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# -- files of mcp-tui ------------------------------------------------------------------------------------------------------


def read_own(path: Path, most: int) -> Any:
    """Returns the JSON in a file of mcp-tui with at most ``most`` bytes; ``None`` if it is missing or invalid."""
    with suppress(ConfigError, ValueError, RecursionError):
        return json.loads(read_text(path, most))
    return None


def write_own(path: Path, value: object) -> None:
    """Replaces the content of a file of mcp-tui by JSON; see :func:`~mcp_tui.journal.state_folder.replace_file`.

    Raises:
        ConfigError: the file cannot be written.
    """
    try:
        replace_file(path, json.dumps(value, indent=2) + "\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({why(error)})") from None


def config_folder() -> Path:
    """Returns the folder of settings, themes, and saved calls (``$XDG_CONFIG_HOME/mcp-tui``)."""
    # Imported here, because the recorder of a tap imports this module and needs no folders.
    from platformdirs import user_config_path

    return user_config_path("mcp-tui", appauthor=False)


def data_folder() -> Path:
    """Returns the folder of consents and recent servers (``$XDG_DATA_HOME/mcp-tui``)."""
    # Imported here for the same reason as in `config_folder`.
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
    """Returns the folder of the themes that ship with mcp-tui, in the installed package or in the checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def consents_folder() -> Path:
    """Returns the folder of consents, which has a file for each consent."""
    return data_folder() / "consents"


def recent_file() -> Path:
    """Returns the file with the recently opened servers."""
    return data_folder() / "recent.json"
