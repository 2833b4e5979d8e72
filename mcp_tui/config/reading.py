"""The settings in force: defaults, over them the file, over it the environment. The command line goes before all of them.

Without a file and without variables nothing is loaded and nothing is checked: the defaults are known to be right.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mcp_tui.config import folders, toml
from mcp_tui.config.files import ConfigError, at, read_text
from mcp_tui.config.settings import DEFAULTS, KNOBS, Settings, value_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from mcp_tui.protocol.messages import Json

MAX_BYTES: Final = 256 * 1024
_WORDS: Final = {
    **dict.fromkeys(("on", "yes", "true", "1"), True),
    **dict.fromkeys(("off", "no", "false", "0"), False),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and where each came from.

    ``origins`` has, by dotted key, ``file:line`` or the name of a variable; what is not in it is a default. ``problems``
    are sentences about what was left aside. ``wrong`` are those about values that cannot be: the settings then are
    without them, and whoever is about to use them has to stop.
    """

    settings: Settings
    file: Path
    exists: bool
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def load(env: Mapping[str, str] | None = None, file: Path | None = None) -> Loaded:
    """The settings of ``file`` (:func:`folders.settings_file` by default) and the environment. Raises nothing."""
    env = os.environ if env is None else env
    file = file or folders.settings_file()
    text, wrong = "", list[str]()
    exists = os.path.lexists(file)
    table: dict[str, Json] = {}
    if exists:
        try:
            text = read_text(file, MAX_BYTES)
            table = toml.parse(text, file)
            if isinstance(table.get("keys"), dict):  # with quotes or without, their names have dots in them
                table["keys"] = _joined(table["keys"])
        except ConfigError as error:
            wrong.append(str(error))
    elif env.get("MCP_TUI_CONFIG"):
        wrong.append(f"{file}: there is no such file, but MCP_TUI_CONFIG names it")
    places = _Places(file, text, table)
    for knob in KNOBS:
        if knob.variable and env.get(knob.variable):
            places.overlay(knob.key, knob.variable, env[knob.variable])
    if not places.table:
        return Loaded(DEFAULTS, file, exists, wrong=tuple(wrong))
    settings, problems, more = _checked(places)
    return Loaded(settings, file, exists, places.origins(), tuple(problems), (*wrong, *more))


class _Places:
    """The table of the file with the environment laid over it, and where each key of it stands."""

    def __init__(self, file: Path, text: str, table: dict[str, Json]) -> None:
        self.file, self.table = file, table
        self._text = text
        self._lines: dict[tuple[str, ...], int] | None = None
        self.variables: dict[tuple[str, ...], str] = {}

    def overlay(self, key: str, variable: str, text: str) -> None:
        """Put the text of a variable in place of a value."""
        *above, last = path = tuple(key.split("."))
        table = self.table
        for step in above:
            if not isinstance(table.setdefault(step, {}), dict):
                return  # what is wrong there is told of
            table = table[step]
        table[last] = _value(text, value_of(DEFAULTS, key))
        self.variables[path] = variable

    def place(self, path: tuple[str, ...]) -> str:
        """Where a key stands: a variable, or ``file:line``; that of the nearest one above where it has none."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.variables:
                return self.variables[path[:end]]
            line = self.lines.get(path[:end])
            if line is not None:
                return at(self.file, line)
        return str(self.file)

    @property
    def lines(self) -> dict[tuple[str, ...], int]:
        if self._lines is None:
            self._lines = toml.lines(self._text)
        return self._lines

    def origins(self) -> dict[str, str]:
        """Where each value comes from, by its dotted key."""
        found = {".".join(path): at(self.file, line) for path, line in self.lines.items()}
        return found | {".".join(path): variable for path, variable in self.variables.items()}

    def drop(self, path: tuple[str, ...]) -> None:
        """Leave a key out."""
        from mcp_tui.protocol.messages import as_object

        *above, last = path
        table = self.table
        for step in above:
            table = as_object(table.get(step))
        table.pop(last, None)


def _joined(value: Json, above: str = "") -> dict[str, Json]:
    """A table of tables as one, its keys joined by dots."""
    if not isinstance(value, dict):
        return {above: value}
    table = cast("dict[str, Json]", value)
    parts = (_joined(each, f"{above}.{key}" if above else key) for key, each in table.items())
    return {key: found for part in parts for key, found in part.items()}


def _value(text: str, default: object) -> Json:
    """The value that the text of a variable means, as it would stand in the file without quotes."""
    if default == "auto" or isinstance(default, bool):
        return _WORDS.get(text.lower(), text)
    if isinstance(default, str):
        return text
    try:
        return tomllib.loads(f"value = {text}\n")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text


def _checked(places: _Places) -> tuple[Settings, list[str], list[str]]:
    """The settings, what is unknown in them, and what is wrong; each unknown or wrong key is left out, and told once."""
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(Settings)
    problems: list[str] = []
    wrong: list[str] = []
    while True:
        try:
            # as JSON: there, strict as it is, a table may become a dataclass
            made = adapter.validate_json(json.dumps(places.table, default=str))
            return made, sorted(problems, key=_order), sorted(wrong, key=_order)
        except ValidationError as error:
            told: set[tuple[str, ...]] = set()
            for part in error.errors(include_url=False):
                path = _path(places.table, part["loc"])
                if path in told:
                    continue  # the other side of a union
                told.add(path)
                known = part["type"] in ("unexpected_keyword_argument", "extra_forbidden")
                (problems if known else wrong).append(f"{places.place(path)}: {_sentence(path, part)}")
            for path in told:
                places.drop(path)


def _order(sentence: str) -> tuple[str, int]:
    """By file, then by line."""
    place, _, _ = sentence.partition(": ")
    head, _, line = place.rpartition(":")
    return (head, int(line)) if line.isdigit() else (place, 0)


def _path(table: dict[str, Json], loc: tuple[int | str, ...]) -> tuple[str, ...]:
    """The key that an error is about: as far as the table goes, without what pydantic says of unions."""
    from mcp_tui.protocol.messages import as_object

    path: list[str] = []
    value: Json = table
    for step in loc:
        if not isinstance(step, str) or not isinstance(value, dict) or step not in value:
            break
        path.append(step)
        value = as_object(value)[step]
    return tuple(path) or (str(loc[0]),)


def _sentence(path: tuple[str, ...], part: ErrorDetails) -> str:
    key = ".".join(path)
    if part["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        close = difflib.get_close_matches(path[-1], _siblings(path), 1)
        return f"{key} is no setting" + (f"; did you mean {close[0]}?" if close else "")
    said = part["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    value = part["input"]
    shown = (
        repr(value) if isinstance(value, (str, int, float)) and len(repr(value)) < 60 else "what stands there"
    )
    return f"{key} should be {_kind(key, said)}, not {shown}"


_KINDS: Final = {
    "an object": "a table",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
}


def _kind(key: str, said: str) -> str:
    return "true, false or 'auto'" if key == "ascii" else _KINDS.get(said, said)


def _siblings(path: tuple[str, ...]) -> list[str]:
    """The keys that there are where an unknown one stands."""
    from dataclasses import fields

    from mcp_tui.config import settings

    match path:
        case ("limits", _):
            kind: type = settings.RequestLimits
        case ("journal", _):
            kind = settings.JournalSettings
        case ("sampling", _):
            kind = settings.SamplingSettings
        case ("servers", _, _):
            kind = settings.ServerOverrides
        case ("servers", _, "tools", _, _):
            kind = settings.Overrides
        case _:
            kind = settings.Settings
    return [each.name for each in fields(kind)]
