from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.config.files import ConfigError
from mcp_tui.config.toml import lines, parse

TEXT = '''
theme = "dark"   # a comment with [brackets]

# [not.a.table]
text = """
[neither]
x = 1
"""
list = [
  "a", # [b]
  "c",
]

[limits]
idle = 60
"quoted key" = 1
a.b = { c = 1, d = { e = 2 } }
empty = {}

[servers."my server".tools.slow]
idle = 5

[[many]]
x = 1
'''


def test_each_table_and_key_has_its_line():
    parse(TEXT, Path("x.toml"))
    found = lines(TEXT)
    assert found[("theme",)] == 2
    assert found[("text",)] == 5
    assert found[("list",)] == 9
    assert found[("limits",)] == 14
    assert found[("limits", "idle")] == 15
    assert found[("limits", "quoted key")] == 16
    assert found[("limits", "a", "b", "d", "e")] == 17
    assert found[("limits", "empty")] == 18
    assert found[("servers", "my server", "tools", "slow", "idle")] == 21
    assert found[("many", "x")] == 24
    assert ("neither",) not in found
    assert ("not",) not in found


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = 1\nb = npx\n", "x.toml:2:5: not valid TOML (invalid value)"),
        ("a = 1\na = 2\n", "x.toml:2:6: not valid TOML (cannot overwrite a value)"),
        ("a = [1,\n2", "x.toml:2: not valid TOML ("),
        ("a = " + "[" * 30_000 + "]" * 30_000, "x.toml: nested too deeply"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, where: str):
    with pytest.raises(ConfigError) as raised:
        parse(text, Path("x.toml"))
    assert str(raised.value).startswith(where)
