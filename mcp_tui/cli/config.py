"""``config``: shows the locations of files, and the settings with the origin of each value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, out, show, table, warn
from mcp_tui.cli.target import loaded
from mcp_tui.config import files
from mcp_tui.config.settings import KNOBS, Loaded, every_value
from mcp_tui.journal.index import CACHE_NAME as INDEX
from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.view.text import SafeText, clean

DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"


SettingInForce = tuple[str, object, str]
"""A key, its active value, and its origin: ``default``, ``file:line``, a variable, or ``command line``."""


def run(_name: str, given: Words) -> int:
    """Runs the command and returns the exit status."""
    options = given.options
    if options.example:
        out(example(), end="")
        return Exit.COMPLETED
    if options.keys:
        return _keys(as_json=options.json)
    found = loaded()
    values = _values(found, given)
    wrong, problems = list(found.wrong), [*found.problems, *_key_problems(found)]
    whole = {
        "places": {word: {"path": str(path), "exists": path.exists()} for word, path in _places(found)},
        "values": {key: {"value": value, "from": origin} for key, value, origin in values},
        "problems": [*wrong, *problems],
    }
    show(whole, _lines(found, values), as_json=options.json)
    for sentence in (*wrong, *problems):
        warn(sentence)
    return Exit.USAGE if wrong else Exit.COMPLETED


def example() -> str:
    """Returns the settings file with every default."""
    return (Path(files.__file__).parent / "example.toml").read_text(encoding="utf-8")


def _lines(found: Loaded, values: list[SettingInForce]) -> Iterator[str]:
    yield from table([(clean(word), clean(_there(path)), clean(str(path))) for word, path in _places(found)])
    yield ""
    yield from table([(clean(key), _shown(value), clean(origin)) for key, value, origin in values])


def _shown(value: object) -> SafeText:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return clean(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))


def _places(found: Loaded) -> Iterator[tuple[str, Path]]:
    yield "settings", found.file
    yield "themes", files.themes_folder()
    yield "saved calls", found.settings.saved_folder
    yield "journals", journal_folder()
    yield "index", journal_folder() / INDEX
    yield "consents", files.consents_folder()
    yield "recent servers", files.recent_file()


def _there(path: Path) -> str:
    try:
        if path.is_dir():
            count = sum(1 for each in path.iterdir() if each.is_file())
            return f"{count} file{'' if count == 1 else 's'}"
    except OSError as error:
        return error.strerror or "unreadable"
    return "found" if path.exists() else "not found"


def _values(found: Loaded, given: Words) -> list[SettingInForce]:
    values, origins = every_value(found.settings), dict(found.origins)
    for knob in KNOBS:
        chosen = getattr(given.options, knob.option.removeprefix("--").replace("-", "_"), None)
        if chosen is not None and chosen is not False:
            values[knob.key] = False if chosen is True else chosen  # the only switch turns the journal off
            origins[knob.key] = COMMAND_LINE
    return [(key, each, origins.get(key, DEFAULT)) for key, each in values.items() if each is not None]


def _key_problems(found: Loaded) -> list[str]:
    """Returns the problems of the user's keys. Textual is loaded only if there are any."""
    if not found.settings.keys:
        return []
    # This loads Textual.
    from mcp_tui.tui.keymap import keymap

    return keymap(found.settings.keys, found.origins)[1]


def _keys(*, as_json: bool) -> int:
    # The table of keys is long, and plain `config` does not print it.
    from mcp_tui.view.keys import FIRST_KEYS, SCOPES, all_shown

    keys = [
        {"id": key.id, "where": scope.title, "keys": key.keys, "does": key.help}
        for scope in SCOPES.values()
        for key in scope.keys
        if key.action != "read_only"
    ]
    rows = [(clean(key.id), all_shown(key.names), clean(key.help)) for key in FIRST_KEYS.values()]
    return show(keys, table(rows), as_json=as_json)
