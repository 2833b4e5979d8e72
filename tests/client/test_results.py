"""Results in parts, held to what was promised, and saved where nothing is lost."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from mcp_tui.client.forms import FormLayout
from mcp_tui.client.results import (
    FILE_NAME_CHARACTERS,
    Part,
    PartKind,
    content,
    differences,
    file_name,
    free,
    harmless,
    parts,
    save,
)
from mcp_tui.client.schemas import Schema
from mcp_tui.protocol.messages import Json, read_json, text
from tests.cases import cases
from tests.tui.hostile import PAYLOADS

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def test_the_parts_of_a_tools_result():
    result: Json = {
        "content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
            {"type": "audio", "mimeType": "audio/wav", "data": PNG},
            {"type": "resource_link", "uri": "file:///a/b.txt", "name": "b", "title": "The b"},
            {"type": "resource", "resource": {"uri": "x://y", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x://z", "mimeType": "application/zip", "blob": PNG}},
            {"type": "hologram", "beams": 3},
            "odd",
        ],
        "structuredContent": {"n": 1},
    }
    found = parts(result)
    assert [part.sort for part in found] == [
        PartKind.TEXT,
        PartKind.IMAGE,
        PartKind.AUDIO,
        PartKind.LINK,
        PartKind.TEXT,
        PartKind.BLOB,
        PartKind.WHOLE,
        PartKind.STRUCTURED,
        PartKind.WHOLE,
    ]
    assert found[1].size == 8
    assert (found[3].uri, found[3].name) == ("file:///a/b.txt", "The b")
    assert (found[4].uri, found[4].text) == ("x://y", "inside")
    assert found[6].value == {"type": "hologram", "beams": 3}
    assert found[-1].value is result


def test_the_parts_of_a_prompt_and_of_a_resource():
    prompt: Json = {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "a"}},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
        ]
    }
    assert [(part.role, part.text) for part in parts(prompt)[:-1]] == [
        ("user", "a"),
        ("assistant", "b"),
        ("assistant", "c"),
    ]
    resource: Json = {"contents": [{"uri": "x://a.png", "mimeType": "image/png", "blob": PNG}]}
    assert parts(resource)[0].sort is PartKind.IMAGE


SCHEMA: Json = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


@cases(
    ("result", "said"),
    [
        ({"structuredContent": {"sum": 3}}, []),
        ({"structuredContent": {"sum": "3"}}, ['sum: "3" is not of type "number"']),
        ({"structuredContent": {}}, ["sum is required"]),
        ({"content": []}, ["no structured content, though the tool has an output schema"]),
        ({"content": [], "isError": True}, []),
    ],
)
def test_structured_content_is_held_to_the_schema_that_was_promised(result: Json, said: list[str]):
    assert [str(each) for each in differences(SCHEMA, result)] == said


def test_a_number_out_of_range_breaks_no_schema_and_none_is_made_of_it():
    """``1e400`` is JSON. It is read as infinity, which a validator takes for null, and which nobody sent."""
    huge = read_json(b'{"sum": 1e400}')
    assert differences(SCHEMA, {"structuredContent": huge}) == []
    bounded = read_json(b'{"properties": {"sum": {"const": -1e400, "default": 1e400}}, "required": ["sum"]}')
    assert not Schema(bounded).usable
    layout = FormLayout(bounded)
    assert (layout.defaults(), layout.fields[0].choices) == ({}, ())
    assert text(huge) == '{"sum":"a number out of range"}'
    assert json.loads(content(Part(PartKind.WHOLE, value=huge))) == {"sum": "a number out of range"}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (Part(PartKind.TEXT, uri="file:///etc/../passwd"), "passwd.txt"),
        (Part(PartKind.TEXT, uri="x://a/b.md?x=/../y#/z"), "b.md"),
        (Part(PartKind.TEXT, uri="x://..\\..\\evil.exe"), "evil.exe"),
        (Part(PartKind.TEXT, uri="x://host/.bashrc"), "bashrc.txt"),
        (Part(PartKind.TEXT, uri="x://host/-rf"), "rf.txt"),
        (Part(PartKind.TEXT, uri="x://"), "result.txt"),
        (Part(PartKind.IMAGE, mime="image/png"), "result.png"),
        (Part(PartKind.IMAGE, mime="IMAGE/JPEG; q=1"), "result.jpg"),
        (Part(PartKind.AUDIO, mime="nonsense"), "result.bin"),
        (Part(PartKind.WHOLE), "result.json"),
        (Part(PartKind.LINK, name="../../a b"), "a-b.txt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_of_a_file_is_one_harmless_piece(part: Part, name: str):
    assert file_name(part) == name


@cases("name", PAYLOADS)
def test_hostile_names_of_files_are_harmless(name: str):
    made = file_name(Part(PartKind.TEXT, uri=f"x://{PAYLOADS[name]}"))
    assert made.isascii()
    assert made.isprintable()
    assert not set(made) & set("/\\:*?\"<>| '$`;&")
    assert 0 < len(made) <= FILE_NAME_CHARACTERS + 10
    assert not made.startswith((".", "-"))
    assert harmless("/" * 100) == ""


def test_a_file_is_its_owners_and_nothing_is_overwritten_unasked(tmp_path: Path):
    first = free(tmp_path, "a.tar.gz")
    assert first == tmp_path / "a.tar.gz"
    save(first, b"one")
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert free(tmp_path, "a.tar.gz") == tmp_path / "a-1.tar.gz"
    with pytest.raises(FileExistsError):
        save(first, b"two")
    assert first.read_bytes() == b"one"
    save(first, b"2", over=True)
    assert first.read_bytes() == b"2"


def test_a_link_is_never_written_through(tmp_path: Path):
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert free(tmp_path, "link") == tmp_path / "link-1"
    for over in (False, True):
        with pytest.raises(OSError, match=r"File exists|symbolic links"):
            save(link, b"theirs", over=over)
    assert target.read_bytes() == b"mine"
