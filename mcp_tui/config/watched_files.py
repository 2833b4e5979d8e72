"""The files that ``--watch`` watches: the named ones, or else the source files of the server."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.files import ConfigError
from mcp_tui.protocol.values import frozen

SOURCES: Final = frozenset(
    (
        *(".cjs", ".cts", ".js", ".jsx", ".mjs", ".mts", ".ts", ".tsx"),
        *(".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".kt", ".rs", ".scala", ".swift"),
        *(".ex", ".exs", ".lua", ".php", ".pl", ".py", ".pyi", ".rb", ".sh"),
        *(".toml", ".yaml", ".yml"),
    )
)
"""Suffixes of files that restart a server if no path was named. Files that the server writes must not restart it."""


MARKED_FILES: Final = 20_000
"""The most files whose content is compared; for other files, each change counts."""

COMPARED_BYTES: Final = 1 << 20
"""The most bytes of a file whose content is compared. For a larger file, size and modification time are compared."""


@frozen
class Watched:
    """Watched files and folders with their content. With ``sources``, only changes of source files count."""

    paths: tuple[Path, ...]
    sources: bool

    def counts(self, path: str) -> bool:
        """Returns whether a change of a file restarts the server."""
        return not self.sources or Path(path).suffix in SOURCES


def watched(target: StdioTarget, paths: Sequence[str]) -> Watched:
    """Returns the files to watch for a server: ``paths``, else the folder of its script, else its working directory.

    Raises:
        ConfigError: a path does not exist, or the folder is the home folder or the root.
    """
    for each in paths:
        if not Path(each).exists():
            raise ConfigError(f"Path not found: {each} (--watch).")
    if paths:
        return Watched(tuple(Path(each).resolve() for each in paths), sources=False)
    base = (target.cwd or Path.cwd()).resolve()
    files = (base / word for word in target.command if Path(word).suffix in SOURCES)
    script = next((each for each in files if each.is_file()), None)
    folder = base if script is None else script.resolve().parent
    if folder in (Path.home().resolve(), Path(folder.anchor)):
        raise ConfigError(f"Not watching all of {folder}. Name what to watch: --watch PATH.")
    return Watched((folder,), sources=True)


PathTest = Callable[[str], bool]


class WatchedContents:
    """The contents of the watched files at the last check.

    A file that was written again with the same content did not change. ``counts`` returns whether a file is watched, and
    ``enters`` whether a folder is searched.
    """

    def __init__(self, paths: Sequence[Path], counts: PathTest, enters: PathTest) -> None:
        self._paths = paths
        self._counts = counts
        self._enters = enters
        self._marks: dict[str, bytes] = {}
        self.look()

    def look(self) -> list[str]:
        """Reads all files again; returns the paths of those that changed."""
        known, self._marks = self._marks, dict(_marked(islice(self._files(), MARKED_FILES)))
        paths = self._marks.keys() | known.keys()
        return [path for path in paths if self._marks.get(path) != known.get(path)]

    def changed(self, paths: Collection[str]) -> list[str]:
        """Reads the given files again; returns the paths of those that changed."""
        marks = {path: dict(_marked((path,))).get(path) for path in paths}
        found = [path for path, mark in marks.items() if mark != self._marks.get(path)]
        for path in found:
            if (mark := marks[path]) is None:
                del self._marks[path]
            else:
                self._marks[path] = mark
        return found

    def _files(self) -> Iterator[str]:
        for each in self._paths:
            if each.is_file():
                yield str(each)
            for folder, folders, names in os.walk(each):
                folders[:] = [name for name in folders if self._enters(f"{folder}{os.sep}{name}")]
                yield from filter(self._counts, (f"{folder}{os.sep}{name}" for name in names))


def _marked(paths: Collection[str] | Iterator[str]) -> Iterator[tuple[str, bytes]]:
    """Yields each file that can be read, with a mark that differs if the content does."""
    for path in paths:
        try:
            found = Path(path).stat()
            if found.st_size > COMPARED_BYTES:
                yield path, f"{found.st_size} {found.st_mtime_ns}".encode()
            elif Path(path).is_file():
                yield path, hashlib.blake2b(Path(path).read_bytes()).digest()
        except OSError:
            continue
