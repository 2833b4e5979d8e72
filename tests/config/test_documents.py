from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.config.definitions import read_env
from mcp_tui.config.documents import Document, member_places, parse_json, parse_toml, plain, toml_lines
from mcp_tui.config.files import ConfigError
from tests.cases import cases

HERE = Path("file.json")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_plain_json_means_what_it_means(value: object, indent: int | str | None):
    assert parse_json(json.dumps(value, indent=indent, ensure_ascii=False), HERE)[1] == value


@given(st.text())
def test_comments_take_no_place_away_and_add_no_line(text: str):
    bare = plain(text)
    assert len(bare) == len(text)
    assert bare.count("\n") == text.count("\n")


@cases(
    ("text", "value"),
    [
        ('{"a": 1, // one\n}', {"a": 1}),
        ('{"a": [1, 2, /* , */ ], }', {"a": [1, 2]}),
        ('{"url": "http://x//y", "b": "/* no */ ,}"}', {"url": "http://x//y", "b": "/* no */ ,}"}),
        ('{"a": "\\"//", "b": "\\\\"}', {"a": '"//', "b": "\\"}),
        ("// nothing\n", None),
        ("\n  \n", None),
        ('/**/{/*\n*/"a"/**/:/**/1/**/}//', {"a": 1}),
    ],
)
def test_comments_and_trailing_commas_are_left_out(text: str, value: object):
    assert parse_json(text, HERE)[1] == value


@pytest.mark.parametrize("piece", ["/* ", '\\"', ", ", "//"])
def test_a_text_of_one_sign_again_and_again_is_read_once(piece: str):
    text = piece * 300_000
    assert len(plain(text)) == len(text)  # a search from each sign to the end took minutes


def test_the_first_of_members_of_one_name_is_named_among_many():
    members = [f'"{number}": 1' for number in range(20_000)]
    text = f'{{"a": {{"7": 0, "7": 1,\n{", ".join(members)}}}}}'
    assert Document.parse(text, HERE).repeated("a") == {"7": 1}


@cases(
    ("text", "where"),
    [
        ('{\n  /* a\n  b */ "a": 1\n  "b": 2\n}', "file.json:4:3"),
        ('{"a": 1,,}', "file.json:1:9"),
        ("{'a': 1}", "file.json:1:2"),
        ('{"a": /* open', "file.json:1:7"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_column_in_the_file(text: str, where: str):
    with pytest.raises(ConfigError) as raised:
        parse_json(text, HERE)
    assert str(raised.value).startswith(f"{where}: not valid JSON (")


def test_the_line_of_each_member_is_found_on_a_way_that_passes_others():
    text = (
        '{\n "before": {"servers": {"no": 1}},\n "deep": {"/a b": {\n\n   "servers": {"one": {"x": [1]}, // c\n'
        '\n    "two": {},\n "t\\u0068ree": 3 } } }\n}'
    )
    text = plain(text)
    assert dict(member_places(text, "deep", "/a b", "servers")) == {"one": 5, "two": 7, "three": 8}
    assert dict(member_places(text, "deep", "absent")) == {}
    assert dict(member_places(text)) == {"before": 2, "deep": 3}


# -- TOML ---------------------------------------------------------------------------------------------

TOML = '''
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
    parse_toml(TOML, Path("x.toml"))
    found = toml_lines(TOML)
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


@cases(
    ("text", "where"),
    [
        ("a = 1\nb = npx\n", "x.toml:2:5: not valid TOML (invalid value)"),
        ("a = 1\na = 2\n", "x.toml:2:6: not valid TOML (cannot overwrite a value)"),
        ("a = [1,\n2", "x.toml:2: not valid TOML ("),
        ("a = " + "[" * 30_000 + "]" * 30_000, "x.toml: nested too deeply"),
    ],
)
def test_a_mistake_in_toml_is_told_with_its_line(text: str, where: str):
    with pytest.raises(ConfigError) as raised:
        parse_toml(text, Path("x.toml"))
    assert str(raised.value).startswith(where)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = 'x y' # c", "x y"),
        ('A="a\\tb" # c', "a\tb"),
        ("A=#c", "#c"),
        ("A= #c", ""),
        ("A=x #c", "x"),
        ("A='a'b", "'a'b"),
        (f"A=x{' ' * 200_000}y", f"x{' ' * 200_000}y"),
    ],
)
def test_a_variable_of_a_file_has_its_value(tmp_path: Path, line: str, value: str):
    file = tmp_path / ".env"
    file.write_text(line)
    assert read_env(file) == {"A": value}
