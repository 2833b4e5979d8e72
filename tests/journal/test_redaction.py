from __future__ import annotations

import dataclasses
import json
import re
import string
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header, texts_of
from mcp_tui.journal.redaction import REDACTED_BYTES, Redactor
from mcp_tui.protocol import events as ev
from tests.cases import cases
from tests.journal.making import event_classes, events, write
from tests.journal.test_free_text import CANARY, MEMBERS, TEXTS, URLS

MARK = re.compile("‹redacted:[0-9a-f]{6}›")


def redacted(value: Any, *known: str, depth: int = 0, **options: Any) -> Any:
    """``value`` as JSON, ``depth`` strings deep, through a redactor, and back."""
    text = json.dumps(value, **options)
    for _ in range(depth):
        text = json.dumps({"text": text, "after": 1})
    text = Redactor(known).redact(text.encode()).decode()
    for _ in range(depth):
        outer = json.loads(text)
        assert outer["after"] == 1
        text = outer["text"]
    return json.loads(text)


def marks(value: Any) -> Any:
    """The value with every mark as ``*``."""
    return json.loads(MARK.sub("*", json.dumps(value, ensure_ascii=False)))


# -- by name ---------------------------------------------------------------------------------------------------


@cases(("depth", "options"), [(0, {"indent": 2}), (1, {}), (3, {"separators": (",", ":")})])
def test_values_under_names_of_secrets(depth: int, options: dict[str, Any]) -> None:
    secret = {
        "token": "abc",
        "password": 1234,
        "tokens": ["a", "b", ["c"]],
        "apiKey": 'quote" and \\ and \\" in it',
        "credentials": {"user": "x", "more": [{"y": "}]"}]},
    }
    harmless = {"progressToken": "abc", "max_tokens": 1234, "keys": [1, 2], "secret": None, "cookie": ""}
    given_ = {"arguments": {**secret, "user": "bob"}, **harmless, **secret, "last": "here"}
    masked = dict.fromkeys(secret, "*")
    expected = {"arguments": {**masked, "user": "bob"}, **harmless, **masked, "last": "here"}
    assert marks(redacted(given_, depth=depth, **options)) == expected


WORDLESS = st.text(st.characters(codec="utf-8", exclude_characters=string.ascii_letters))
"""Text in which no name stands by chance."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDLESS,
    lambda of: st.lists(of, max_size=3) | st.dictionaries(WORDLESS, of, max_size=3),
    max_leaves=8,
)


SECRETS = st.text(min_size=1).filter(lambda text: "‹redacted" not in text)
"""Any text but one that is redacted already."""


@given(secret=SECRETS, around=VALUES, depth=st.integers(0, 3), ascii_=st.booleans())
def test_json_stays_json_and_the_rest_as_it_was(secret: str, around: Any, depth: int, ascii_: bool) -> None:
    given_ = [around, {"token": secret, "k": around}, around]
    expected = [around, {"token": "*", "k": around}, around]
    assert marks(redacted(given_, depth=depth, ensure_ascii=ascii_)) == expected


def test_a_schema_of_a_secret_is_none() -> None:
    schema = {
        "properties": {
            "token": {"type": "string", "description": "a token"},
            "apiKey": {"description": "x", "anyOf": [{"type": "string"}]},
            "password": {"title": "P", "type": ["string", "null"]},
        },
        "required": ["token"],
    }
    for depth in range(3):
        assert redacted(schema, depth=depth) == schema


def test_equal_secrets_stay_comparable_and_others_differ() -> None:
    out = redacted(
        {"token": "abcdefgh", "x": {"apiKey": "abcdefgh"}, "secret": "other", "said": "abcdefgh"}, "abcdefgh"
    )
    assert out["token"] == out["x"]["apiKey"] == out["said"] != out["secret"]
    assert redacted({"token": "abcdefgh"}) != redacted({"token": "abcdefgh"})  # another salt


@cases(
    "torn",
    [
        b'{"token":"SECRET',
        b'{"token":"SECRET\\',
        b'{"token":{"a":["SECRET',
        b'{"text":"{\\"token\\":\\"SECRET"}',
        b'{"text":"{\\"token\\":{\\"a\\":[\\"SECRET"}',
        b'{"text":"{\\"token\\":[\\"SECRET","x":1}',
    ],
)
def test_json_that_was_cut_off_is_redacted_to_its_end(torn: bytes) -> None:
    out = Redactor().redact(torn)
    assert b"SECRET" not in out
    if torn.endswith(b"}"):
        json.loads(out)


@given(
    secret=st.text('"\\ab', min_size=1),
    cuts=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    in_list=st.booleans(),
)
def test_json_in_text_that_was_cut_off_leaves_the_rest_json(
    secret: str, cuts: list[int], in_list: bool
) -> None:
    text = json.dumps({"token": [secret] if in_list else secret})
    for cut in cuts:
        text = json.dumps({"text": text[:-cut], "after": 1})
    out = json.loads(Redactor().redact(text.encode()))
    assert out["after"] == 1


# -- known values ----------------------------------------------------------------------------------------------

AWKWARD = 's3/cr"e\\t+vä=l😀ue\t%x'


@cases(("depth", "ascii_"), [(0, False), (1, True), (3, True)])
def test_a_known_value_is_found_however_it_is_escaped(depth: int, ascii_: bool) -> None:
    out = redacted({"said": f"it is {AWKWARD}, really"}, AWKWARD, depth=depth, ensure_ascii=ascii_)
    assert marks(out) == {"said": "it is *, really"}


def test_a_known_value_is_found_in_urls_and_with_other_escapes() -> None:
    redactor = Redactor([AWKWARD, "a/b+c==zz"])
    for text in (f"x={quote(AWKWARD)}", f"x={quote(AWKWARD, safe='').lower()}", AWKWARD):
        assert MARK.search(redactor.text(text)), text
    for raw in (b'"a\\/b+c==zz"', b'"a/b\\u002bc\\u003d\\u003Dzz"', b"a%2Fb%2Bc%3d%3Dzz", b"a/b+c==zz"):
        assert MARK.search(redactor.redact(raw).decode()), raw


@settings(max_examples=100)
@given(
    value=st.text(min_size=8, max_size=40), depth=st.integers(0, 3), before=st.text(), ascii_=st.booleans()
)
def test_any_known_value_is_found(value: str, depth: int, before: str, ascii_: bool) -> None:
    assume(not value.endswith("\\"))
    out = redacted([before + value], value, depth=depth, ensure_ascii=ascii_)
    assert MARK.search(out[0])
    assert value not in out[0]


def test_a_short_known_value_is_found_as_a_word_only() -> None:
    redactor = Redactor(["tool", "abc"])
    found = redactor.text("tool tools/call a.tool! retool abc")
    assert MARK.sub("*", found) == "* tools/call a.*! retool abc"


# -- by shape --------------------------------------------------------------------------------------------------


@cases(
    ("text", "expected"),
    [
        ("postgres://me:pw@host/db", "postgres://me:*@host/db"),
        ("postgres://me:p@w@host/db", "postgres://me:*@host/db"),
        ("https://ghp_abc@github.com", "https://*@github.com"),
        ("https://host/path@2x and a@b", "https://host/path@2x and a@b"),
        ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema#"),
        ("http://127.0.0.1/callback?code=abc&state=xyz", "http://127.0.0.1/callback?code=*&state=xyz"),
        ("https://h/?a=1&access_token=abc#x", "https://h/?a=1&access_token=*#x"),
        ("https://h/#id_token=abc", "https://h/#id_token=*"),
        ("https://h/?a=1\\u0026api_key=abc", "https://h/?a=1\\u0026api_key=*"),
        ("https:\\/\\/me:pw@h\\/?token=a\\/b&x=1", "https:\\/\\/me:*@h\\/?token=*&x=1"),
        ("https://h/?sig=abc&se=1", "https://h/?sig=*&se=1"),
        ("status code=404 key=value token=abc", "status code=404 key=value token=abc"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer *"),
        ("bearer authentication required", "bearer authentication required"),
    ],
)  # fmt: skip
def test_secrets_by_their_shape(text: str, expected: str) -> None:
    assert MARK.sub("*", Redactor().text(text)) == expected
    assert marks(redacted({"x": json.loads(f'"{text}"')})) == {"x": json.loads(f'"{expected}"')}


# -- long frames -----------------------------------------------------------------------------------------------


def test_pieces_make_the_same_as_the_whole_wherever_a_secret_stands() -> None:
    needle = b'"x":"hunter2-hunter2","password":"topsecret\\"more","u":"http://a:b@c?token=ttt"'
    redactor = Redactor(["hunter2-hunter2"])
    clean = redactor.redact(needle)
    assert len(MARK.findall(clean.decode())) == 4
    for at in range(REDACTED_BYTES - len(needle) - 5, REDACTED_BYTES + 5):
        raw = b" " * at + needle + b" " * 100
        assert redactor.redact(raw) == b" " * at + clean + b" " * 100
    pieces = list(redactor.pieces(b'{"text":"' + b"key token " * 200_000 + b'"}'))
    assert len(pieces) >= 7


@pytest.mark.parametrize(
    "hostile",
    [
        b'"token":"' + b"\\" * 500_000,
        b'"token":"' + b'\\"' * 125_000,
        b'{"token":' * 12_500,
        b'{"token":[' * 12_500,
        b"key" * 125_000,
        b"key " * 100_000,
        b"://a:" * 50_000,
        b"?token=" * 50_000,
        b"bearer " * 50_000,
        b"bearer " + b"1" * 250_000,
        b'\\"token\\":' * 25_000,
        b'{"type":"string","token":' * 12_500,
        b"xtoken=" * 50_000,
        b"?xcode=" * 50_000,
        b"hunter/" + b"\\" * 250_000,
    ],
    ids=lambda raw: raw[:24].decode(),
)
def test_hostile_bytes_do_not_hold_it_up(hostile: bytes) -> None:
    """What grows with the square of these would run into the time limit of a test."""
    out = Redactor(["hunter22", "/hunter/"]).redact(hostile)
    assert out == hostile or MARK.search(out.decode())


# -- the file --------------------------------------------------------------------------------------------------


def test_no_planted_secret_leaves_a_trace_in_the_file(tmp_path: Path) -> None:
    said = [text.format(CANARY) for text in (*TEXTS, *URLS)]
    said += [json.dumps({"arguments": [{name: CANARY}, {"deep": [{name: [CANARY]}]}]}) for name in MEMBERS]
    told: list[ev.Event | bytes] = []
    for text in said:
        content = [{"type": "text", "text": text}]
        told += [
            json.dumps({"content": content, "x": json.dumps({"y": text})}).encode(),
            b"\xff " + text.encode(),
        ]
        told += [ev.Stderr(at=1.0, line=text), ev.Log(at=1.0, level="info", data=json.dumps({"z": text}))]
        told += [ev.Completed(at=1.0, id=1, summary=text), ev.Pollution(at=1.0, line=text)]
    path = write(tmp_path / "a.jsonl", *told)
    written = path.read_bytes().decode()
    assert CANARY not in written
    assert written.count("‹redacted:") > 5 * len(said)
    recording = Recording.read(path)
    assert (recording.skipped, recording.frame_count) == (0, 2 * len(said))
    for seq in range(1, recording.frame_count, 2):
        json.loads(recording.payload(seq) or b"")


@settings(max_examples=150)
@given(data=st.data())
def test_no_free_text_of_any_event_leaks_a_known_secret(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    event = data.draw(events(data.draw(st.sampled_from(event_classes()))))
    event = dataclasses.replace(event, **dict.fromkeys(texts_of(event), "so: canary-secret-1"))
    place = tmp_path_factory.mktemp("events")
    path = write(place / "a.jsonl", event, redactor=Redactor(["canary-secret-1"]))
    assert b"canary" not in path.read_bytes()
    assert [type(read) for read in Recording.read(path).events()] == [type(event)]


def test_the_target_in_the_header_has_no_known_secret(tmp_path: Path) -> None:
    header = Header.now("server --x canary-1 http://a:b@c")
    path = write(tmp_path / "a.jsonl", redactor=Redactor(["canary-1"]), header=header)
    target = Recording.read(path).header.target
    assert MARK.sub("*", target) == "server --x * http://a:*@c"


def test_a_hidden_member_loses_its_value_whatever_it_is_and_json_stays_json() -> None:
    made = Redactor()
    made.hide([(b'"pin":', b"1"), (b'"w\xc3\xb6rd":', b'"x"'), (b'"list":', b'["a",1]')])
    frame = '{"a":{"pin":1,"list":["a",1],"wörd":"x"},"id":1,"pin":12,"list":["a"]}'.encode()
    found = MARK.sub("*", made.redact(frame).decode())
    assert found == '{"a":{"pin":"*","list":"*","wörd":"*"},"id":1,"pin":12,"list":["a"]}'
