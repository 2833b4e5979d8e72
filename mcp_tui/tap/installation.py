"""Puts a tap into a client's config file, and removes it.

Only the bytes of one server's ``command`` and ``args`` change: the command becomes the path of mcp-tui, and what stood there
moves, as it is written, in front of the arguments, behind ``tap`` and its options. So the entry itself holds what is needed
to put every byte back, regardless of other changes in the file. Before anything is written, the new text is read
again: it must mean the old one with exactly that change, or nothing is written.
"""

from __future__ import annotations

import codecs
import difflib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import field
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from mcp_tui import clock
from mcp_tui.config.definitions import Definition, behind_tap, form_of
from mcp_tui.config.documents import LANGUAGES, Document, Language, is_script
from mcp_tui.config.files import ConfigError, data_folder, read_bytes, why
from mcp_tui.config.own_program import vanishing
from mcp_tui.config.sources import REGISTRY, Form
from mcp_tui.config.yaml import Member, Way
from mcp_tui.journal.state_folder import replace_file
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.launching import OWN_NAMES

CONTEXT_CHARACTERS: Final = 60
"""The number of characters shown around a change in a long line."""


COPIES_READ: Final = 20
"""Copies of a file, the newest first, in which is looked how it was before."""


def _copies() -> Path:
    """Returns the folder with the files as they were."""
    return data_folder() / "backups"


class NotEditable(ConfigError):
    """A file cannot be edited safely. ``lines`` are what a person can put there instead."""

    def __init__(self, text: str, lines: list[str]) -> None:
        super().__init__(text)
        self.lines = lines


@frozen
class Edit:
    """A change of a file that was not written yet: ``spans`` of the old text, from start to end, and what replaces each."""

    file: Path
    old: bytes
    text: str
    spans: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    @property
    def new(self) -> str:
        """The whole new text, without a byte order mark."""
        made, end = "", 0
        for start, stop, instead in sorted(self.spans):
            made += self.text[end:start] + instead
            end = stop
        return made + self.text[end:]

    def diff(self) -> Iterator[str]:
        """Yields the change as lines, the place first. Of a long line only the part around the change is shown."""
        text, new = self.text, self.new
        start, end = min(self.spans)[0], max(stop for _, stop, _ in self.spans)
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        last = len(text) if last < 0 else last
        begin, stop = max(first, start - CONTEXT_CHARACTERS), min(last, end + CONTEXT_CHARACTERS)
        yield f"{self.file}:{text.count(chr(10), 0, start) + 1}"
        cut = "…" * (begin > first), "…" * (stop < last)
        old, now = (
            f"{cut[0]}{each}{cut[1]}".splitlines()
            for each in (text[begin:stop], new[begin : len(new) - (len(text) - stop)])
        )
        for line in difflib.ndiff(old, now):
            if not line.startswith("?"):
                yield line.rstrip()

    def write(self) -> Path:
        """Writes the file in place of the old one, which is kept; returns the path of that copy.

        Raises:
            ConfigError: it cannot be written, or somebody else has changed it.
        """
        file = self.file.resolve()
        bom = codecs.BOM_UTF8 if self.old.startswith(codecs.BOM_UTF8) else b""
        stamp = clock.utc_stamp(clock.wall()).replace(":", "")
        kept = _copies() / f"{stamp}-{file.name.lstrip('.')}"
        try:
            if file.exists() and not os.access(file, os.W_OK):
                raise ConfigError(f"{file}: cannot be written (read-only)")
            # The copy first: whether the file has changed meanwhile is checked right before it is replaced.
            replace_file(kept, self.old)
            if read_bytes(file) != self.old:
                raise ConfigError(f"{file}: changed meanwhile; nothing was written")
            replace_file(file, bom + self.new.encode(), like=file.stat())
        except OSError as error:
            raise ConfigError(f"{error.filename or file}: cannot be written ({why(error)})") from None
        return kept


def own_path() -> str:
    """Returns the absolute path of mcp-tui: clients start servers with a short ``PATH``.

    Raises:
        ConfigError: it has none, or will be deleted from there.
    """
    own = Path(sys.executable).parent / "mcp-tui"
    started = Path(sys.argv[0])
    named = started.absolute() if started.name in OWN_NAMES else own
    # mcp-tui-client starts with the Python variables of a server, which may end it
    tried = [named.with_name("mcp-tui"), own, named]
    if elsewhere := shutil.which("mcp-tui"):
        tried.append(Path(os.path.abspath(elsewhere)))  # noqa: PTH100 - a link to it stays as it is
    program = next((each for each in tried if os.access(each, os.X_OK) and not each.is_dir()), None)
    if program is None:
        said = f"mcp-tui runs from {started}, which is not a program that a client could start"
    else:
        for each in (program, program.resolve()):  # A link may be removed before its file.
            if not vanishing(each):
                return str(each)
        said = f"{program} is in {vanishing(program)}: a client could not start it once it is deleted there"
    raise ConfigError(f"{said}. Run {_own_installation()}, then this command again.")


def _own_installation() -> str:
    """Returns the command that installs mcp-tui permanently, from the source of this installation."""
    package = "mcp-tui-client"
    with suppress(metadata.PackageNotFoundError, ValueError):
        came = as_object(json.loads(metadata.distribution(package).read_text("direct_url.json") or "{}"))
        url = as_text(came.get("url"))
        if url.startswith("file://"):
            package = shlex.quote(unquote(url.removeprefix("file://")))
    return f"uv tool install {package} (or pipx install {package})"


def options(timeout: float | None, max_timeout: float | None, name: str) -> list[str]:
    """Returns the options of a tap. A name that a client might fill in, or that is no plain text, is left out."""
    limits = {"--timeout": timeout, "--max-timeout": max_timeout}
    given = [word for key, value in limits.items() if value is not None for word in (key, f"{value:.15g}")]
    return [*given, f"--name={name}"] if name.isprintable() and "$" not in name else given


class ConfigEntry:
    """The entry of a stdio server in a config file; ``after`` is a change of that file that comes first.

    Raises:
        NotEditable: there is none that a tap can stand in front of.
    """

    def __init__(self, server: Definition, after: Edit | None = None) -> None:
        self.server = server
        launch = server.launch
        if launch is None or server.source is REGISTRY:
            said = server.problem or "it describes a package, and no client reads it"
            raise NotEditable(f"Cannot edit server {server.name!r} ({server.place}): {said}.", [])
        self.form = form_of(server.source, server.fields)
        if launch.transport != "stdio":
            raise self._has_url(server.shown(launch.url))
        self.raw = read_bytes(server.file) if after is None else after.old
        try:
            self.text = self.raw.decode("utf-8-sig") if after is None else after.new
        except UnicodeDecodeError:
            raise ConfigError(f"{server.file}: not UTF-8") from None
        self.document = Document.parse(self.text, server.file)
        base = (*server.way, self.form.inner) if self.form.inner else server.way
        self.command_way = (*base, self.form.command)
        ways = ((*base, self.form.args), (*server.way, self.form.args))
        self.args_way = next((each for each in ways if self.document.member(*each)), ways[0])
        self.command = self.document.member(*self.command_way)
        self.args = self.document.member(*self.args_way)

    def _has_url(self, url: str) -> NotEditable:
        server, inner = self.server, as_object(self.server.fields.get(self.form.inner))
        member = next(each for each in self.form.urls if {**server.fields, **inner}.get(each))
        path = url.partition("://")[2].partition("?")[0].partition("/")[2]
        return NotEditable(
            f"Server {server.name!r} ({server.place}) has a URL. Start a tap, and put its address there:",
            [
                f"mcp-tui tap --http 7000 {shlex.quote(url)}",
                member_line(server.file, member, json.dumps(f"http://127.0.0.1:7000/{path}")),
            ],
        )

    @property
    def repeated(self) -> list[str]:
        """The members above the command that the file defines twice, in words. JSON readers use the last one."""
        found: list[str] = []
        ways = dict.fromkeys(
            (*(self.command_way[: end + 1] for end in range(len(self.command_way))), self.args_way)
        )
        for *above, name in ways:
            first = self.document.repeated(*above).get(name)
            if first is not None:
                last = self.document.lines(*above)[name]
                place = ".".join(map(str, (*above, name)))
                found.append(f"{place} is defined in line {first} and again in line {last}")
        return found

    def install(self, program: str, given: list[str]) -> Edit:
        """Returns the change that puts a tap with the options ``given`` in front of the server's command.

        Raises:
            NotEditable: that cannot be done safely.
        """
        words = ["tap", *given, "--"]
        edit = Edit(self.server.file, self.raw, self.text)
        command = self.command
        if command is not None and self.form.is_list:
            edit.spans.append(self._inserted(command, [*map(literal, (program, *words))]))
        elif command is not None:
            literals = [*map(literal, words), self.text[command.value : command.end]]
            edit.spans.append((command.value, command.end, literal(program)))
            if self.args is None:
                edit.spans.append((command.key, command.key, self._new_args(command, literals)))
            else:
                edit.spans.append(self._inserted(self.args, literals))
        return self._checked(edit, [program, *words, *self._words()])

    def _inserted(self, words: Member, literals: list[str]) -> tuple[int, int, str]:
        """Returns the change that puts more words in front of those of a list."""
        items = self.document.items(*self.args_way)
        if not items:  # A comment in an empty list stays, after the new words.
            return words.value + 1, words.value + 1, ", ".join(literals)
        at = items[0][0]
        if self._is_block(words):
            begun = self._break + self.text[self.text.rfind("\n", 0, at) + 1 : at]
            return at, at, begun.join((*literals, ""))
        return at, at, ", ".join((*literals, ""))

    def _is_block(self, words: Member) -> bool:
        """Whether a list is a YAML block, with a line and a dash for each item."""
        return self.document.language is Language.YAML and self.text[words.value] == "-"

    @property
    def _break(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _new_args(self, command: Member, literals: list[str]) -> str:
        """Returns the arguments of a server that had none, in front of its command.

        The blank behind the bracket tells them from a list that was there and was empty.
        """
        line = self.text[self.text.rfind("\n", 0, command.key) + 1 : command.key]
        key = self.text[command.key : command.value]
        alone = not line.strip()
        comma = ""
        match self.document.language:
            case Language.TOML:
                name, _, _ = key.rpartition("=")
                key = re.sub(r"""(command|["']command["'])\s*\Z""", "args", name) + " = "
            case Language.YAML:
                key = f"{self.form.args}: "
                if alone := not line.strip(" -"):  # The first member of an item follows its dash.
                    line = " " * len(line)
            case Language.JSON:
                key, comma = f'"{self.form.args}": ', ","
        behind = f"{comma}{self._break}{line}" if alone else ", "
        return f"{key}[ {', '.join(literals)} ]{behind}"

    def uninstall(self) -> Edit:
        """Returns the change that takes every tap in front of the server's command out again.

        Raises:
            NotEditable: that cannot be done safely.
        """
        edit = Edit(self.server.file, self.raw, self.text)
        command, args, text = self.command, self.args, self.text
        old = self._words()
        count = behind_tap([str(each) for each in old])
        if command is None or args is None or not count:
            return self._checked(edit, old)
        items = self.document.items(*self.args_way)
        literals = [text[start:end] for start, end in items]
        if not self.form.is_list:
            edit.spans.append((command.value, command.end, literals[count - 1]))
            made = self._new_args(command, literals)
            if count == len(items) and text[: command.key].endswith(made):
                edit.spans.append((command.key - len(made), command.key, ""))
                return self._checked(edit, old[count:], has_args=False)
            if count == len(items) and not self._had_args(
                old[count]
            ):  # somebody else has written the file anew
                without = Edit(
                    edit.file,
                    edit.old,
                    text,
                    [*edit.spans, self._without(args, items[-1][1] if self._is_block(args) else args.end)],
                )
                with suppress(NotEditable):
                    return self._checked(without, old[count:], has_args=False)
        start, end, instead, between = self._removed(args, items, count)
        edit.spans.append((start, end, instead))
        for each in literals[:count]:
            between = between.replace(each, "", 1)
        if between.strip(" \t\r\n,-"):  # a comment
            edit.spans.clear()
        return self._checked(edit, old[count:])

    def _had_args(self, command: Json) -> bool:
        """Whether the entry had a list of arguments before the tap, by the newest copy of the file that has it."""
        name = f"-{self.server.file.resolve().name.lstrip('.')}"
        with suppress(OSError):
            copies = [each for each in _copies().iterdir() if each.name.endswith(name)]
            for copy in sorted(copies, reverse=True)[:COPIES_READ]:
                with suppress(ConfigError, LookupError, TypeError):
                    whole = Document.read(copy).whole
                    if self._fields(whole, self.command_way)[self.form.command] == command:
                        return self.form.args in self._fields(whole, self.args_way)
        return True

    def _without(self, args: Member, end: int) -> tuple[int, int, str]:
        """Returns the change that removes the member with the arguments, which end at ``end``."""
        text = self.text
        if self.document.language is not Language.JSON:
            behind = text.find("\n", end)
            return text.rfind("\n", 0, args.key) + 1, behind + 1 or len(text), ""
        if comma := re.compile(r"\s*,\s*").match(text, args.end):
            return args.key, comma.end(), ""
        before = re.search(r",\s*\Z", text[: args.key])
        return (before.start() if before else args.key), args.end, ""

    def _removed(self, args: Member, items: list[tuple[int, int]], count: int) -> tuple[int, int, str, str]:
        """Returns the change that removes the first items of a list, and what stood there."""
        text = self.text
        (start, _), (_, end) = items[0], items[count - 1]
        if count < len(items):
            end = items[count][0]
        elif self._is_block(args):  # there is no empty list in this form
            colon = args.key + text[args.key : args.value].rindex(":") + 1
            return colon, end, " []", text[args.value : end]
        elif not (rest := text[args.value + 1 : start] + text[end : args.end - 1]).strip(" \t\r\n,") and (
            start > args.value + 1 or "," in rest
        ):
            start, end = args.value + 1, args.end - 1  # somebody else has changed its layout
        return start, end, "", text[start:end]

    def _fields(self, whole: Any, way: Way) -> dict[str, Any]:
        for step in way[:-1]:
            whole = whole[step]
        return whole

    def _words(self) -> list[Json]:
        """Returns command and arguments as they are in the file."""
        whole = self.document.whole
        try:
            command = self._fields(whole, self.command_way)[str(self.command_way[-1])]
            args = self._fields(whole, self.args_way).get(self.form.args)
        except (LookupError, TypeError):
            raise ConfigError(f"{self.server.file}: changed meanwhile; nothing was written") from None
        return as_list(command) if self.form.is_list else [command, *as_list(args)]

    def _checked(self, edit: Edit, words: list[Json], *, has_args: bool = True) -> Edit:
        """Returns a change that makes ``words`` the command line."""
        wanted = deepcopy(self.document.whole)
        fields = self._fields(wanted, self.args_way)
        if self.form.is_list:
            fields[self.form.command] = words
        else:
            self._fields(wanted, self.command_way)[self.form.command] = words[0]
            fields.pop(self.form.args, None)
            if has_args:
                fields[self.form.args] = words[1:]
        try:
            if edit.spans and Document.parse(edit.new, self.server.file).whole == wanted:
                return edit
        except ConfigError:
            pass
        text = f"Cannot edit {self.server.place} safely. Write this into {self.server.name!r}:"
        raise NotEditable(text, command_lines(self.server.file, self.form, words))


def literal(word: Json) -> str:
    """Returns a text as a literal that JSON, TOML, and YAML read."""
    return json.dumps(word, ensure_ascii=not str(word).isprintable())


def member_line(file: Path, name: str, value: str) -> str:
    """Returns a member for a person to put into a file, in the language of that file."""
    match LANGUAGES.get(file.suffix):
        case Language.TOML:
            return f"{name} = {value}"
        case Language.YAML:
            return f"{name}: {value}"
        case _:
            return f'"{name}": {value}'


def command_lines(file: Path, form: Form, words: list[Json]) -> list[str]:
    """Returns the members of an entry that start a command line, likewise; for a shell script its words."""
    if is_script(file):
        return [shlex.join(map(str, words))]
    command, *args = map(literal, words)
    if form.is_list:
        return [member_line(file, form.command, f"[{', '.join((command, *args))}]")]
    comma = "," * (file.suffix not in LANGUAGES)
    lines = (
        member_line(file, form.command, command) + comma,
        member_line(file, form.args, f"[{', '.join(args)}]"),
    )
    return list(lines)
