"""A large message that is read in pieces means what it means when it is read whole."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol import large_messages, messages
from mcp_tui.protocol.framing import LineFramer
from mcp_tui.protocol.large_messages import LARGE_BYTES, MessageOutline
from mcp_tui.protocol.messages import ResponseFrame, parse

TEXT = st.text('ab"\\/\n\tü€😀,:[]{} 0', max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=30,
)
RESULTS = st.fixed_dictionaries(
    {"content": st.lists(VALUES, max_size=8)},
    optional={"isError": VALUES, "structuredContent": VALUES, "_meta": VALUES, "": VALUES},
)
MESSAGES = st.fixed_dictionaries(
    {"result": RESULTS | VALUES, "id": st.integers() | TEXT | VALUES},
    optional={"jsonrpc": st.just("2.0"), "method": VALUES, "error": VALUES, "params": VALUES},
)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_messages, "LARGE_BYTES", 0)
    monkeypatch.setattr(messages, "LARGE_BYTES", 0)


def written(value: Any, random: Random) -> str:
    """JSON in one of the many ways to write it."""

    def join(parts: list[str], start: str, end: str) -> str:
        parts = [random.choice(("", "", " ", "\n")) + part + random.choice(("", "", "\t")) for part in parts]
        if parts and not random.randrange(3):
            random.shuffle(parts)
        return start + ",".join(parts) + end

    match value:
        case dict():
            parts = [f"{written(str(key), random)}:{written(each, random)}" for key, each in value.items()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return join(parts, "{", "}")
        case list():
            return "[" + ", ".join(written(each, random) for each in value) + "]"  # pyright: ignore[reportUnknownVariableType]
        case str() if random.randrange(4):
            return json.dumps(value, ensure_ascii=bool(random.randrange(2)))
        case str():
            units = value.encode("utf-16-be").hex()
            return '"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"'
        case _:
            return json.dumps(value)


def mutated(raw: bytes, random: Random) -> bytes:
    at = random.randrange(len(raw) + 1)
    byte = bytes([random.choice(b',,""[]{}\\:0u \x00\xc3\xff')])
    return random.choice(
        (raw[:at] + raw[at + 1 :], raw[:at] + byte + raw[at:], raw[:at] + byte + raw[at + 1 :])
    )


def outlined(raw: bytes, random: Random) -> bytes:
    made = MessageOutline()
    rest = raw
    while rest:
        size = random.choice((1, 7, 50, 1000))
        made.feed(rest[:size])
        rest = rest[size:]
    return made.close() or b""


def is_outline(part: Any, whole: Any, level: int = 0) -> bool:
    """Whether one is the other without some of what is below the second level."""
    match part, whole:
        case dict(), dict():
            names = part.keys() - {""}  # pyright: ignore[reportUnknownVariableType]
            same = part.keys() == whole.keys() if not level else names <= whole.keys()
            return same and all(is_outline(part[name], whole[name], level + 1) for name in names)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list(), list():
            return bool(part) == bool(whole) and len(part) <= len(whole)  # pyright: ignore[reportUnknownArgumentType]
        case str(), str():
            return len(part) <= len(whole) and part[:1] == whole[:1] and part[-1:] == whole[-1:]
        case _:
            return part == whole and type(part) is type(whole)  # pyright: ignore[reportUnknownArgumentType]


def check(raw: bytes, random: Random) -> bool:
    """Whether it was read in pieces; either way it means the same."""
    outline = outlined(raw, random)
    frame, whole = parse(raw, outline), parse(raw, b"")
    if not isinstance(frame, ResponseFrame) or not frame.raw:
        assert repr(frame) == repr(whole)
        return False
    assert isinstance(whole, ResponseFrame)
    assert repr(frame.id) == repr(whole.id)
    assert (frame.error, frame.size, frame.defect) == (None, whole.size, whole.defect)
    assert frame.result == whole.outline
    assert is_outline(frame.outline, whole.outline), (frame.outline, whole.outline)
    summary = messages.summary(frame)
    # A structured value alone is not summed up: of its pieces only the outline is known.
    is_structured = not summary and "structuredContent" in messages.as_object(whole.outline)
    assert is_structured or summary == messages.summary(whole)
    return True


@given(MESSAGES, st.sampled_from((8, 20, 64, 200)), st.booleans(), st.randoms(use_true_random=False))
def test_pieces_and_the_whole_mean_the_same(message: Any, size: int, broken: bool, random: Random):
    raw = written(message, random).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_messages, "PIECE_BYTES", size)
        check(mutated(raw, random) if broken else raw, random)


@pytest.mark.parametrize(
    "items",
    [
        b"[1,2,]", b"[,1]", b"[1,,2]", b"[1 ,[ , 2]]", b"[1,{,}]", b'[1,{"a":1,}]', b"[1]},{", b"[1,]", b"[1}",
        b'["a","b" "c"]', b"[1,2},3]", b'["\\ud83d,\\ude00"]', b'["\\u00,e9"]', b"[NaN,1]", b"[01,2]",
        b'{"a",1}', b'{"a":1,2}', b'[1,"\n"]', b'["\xc3,\xa9"]', b"[" * 300 + b"1,1" + b"]" * 300,
    ],
)  # fmt: skip
def test_what_is_not_json_is_not_made_so_by_a_cut(items: bytes, monkeypatch: pytest.MonkeyPatch):
    for size in range(2, 40):
        monkeypatch.setattr(large_messages, "PIECE_BYTES", size)
        assert not check(b'{"id":1,"jsonrpc":"2.0","result":{"content":' + items + b"}}", Random(size))


@pytest.mark.parametrize(
    "text",
    [
        "x", "\\u4e2d", "\\ud83d\\ude00", "é", "中", "😀", '\\"', "\\n", ",", '","', "{[", "ab\\\\", "0123456789abcdef",
        '"],["', '",{"a":[],"c":["b"]},"', '"],[1,[],"',
    ],
)  # fmt: skip
def test_whatever_is_long_is_read_in_pieces(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(large_messages, "PIECE_BYTES", 1000)
    start = b'{"result":{"isError":true,"content":[{"text":"first"},["a",["'
    raw = start + (text * 20_000).encode() + b'"]]],"_meta":{"a":1}},"jsonrpc":"2.0","id":"last"}'
    made = outlined(raw, Random(0))
    assert 0 < len(made) < 6000
    frame = parse(raw, made)
    assert isinstance(frame, ResponseFrame)
    assert frame.id == "last"
    outline: Any = frame.outline
    assert (outline["isError"], outline["_meta"], outline["content"][0]) == (
        True,
        {"a": 1},
        {"text": "first"},
    )
    assert frame.result == json.loads(raw)["result"]


def test_a_line_that_comes_in_pieces_has_its_outline_and_the_next_one_has_none(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.undo()
    large = json.dumps({"id": 1, "result": {"content": ["some text"] * (LARGE_BYTES // 3)}}).encode()
    framer = LineFramer(1 << 23, outlined=True)
    for at in range(0, len(large), 50_000):
        assert framer.feed(large[at : at + 50_000]) == []
        assert framer.outline is None
    assert framer.feed(b'\r\n{"id":2}\n{') == [large, b'{"id":2}']
    assert framer.outline
    assert len(framer.outline) < len(large)
    frame = parse(large, framer.outline)
    assert isinstance(frame, ResponseFrame)
    assert frame.raw is large
    assert framer.feed(b"}\n") == [b"{}"]
    assert framer.outline is None
