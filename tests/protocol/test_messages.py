from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tui.protocol.messages import (
    MISSING,
    Batch,
    Frame,
    MalformedFrame,
    NotificationFrame,
    PollutionFrame,
    RequestFrame,
    ResponseFrame,
    RpcError,
    encode,
    is_request_id,
    json_type,
    parse,
    read_json,
    salvage,
    storable_id,
    text,
    writable,
)
from mcp_tui.protocol.states import Limits
from tests.cases import cases


def parsed(**members: Any) -> Frame | Batch:
    return parse(json.dumps({"jsonrpc": "2.0", **members}).encode())


def malformed(raw: bytes) -> MalformedFrame:
    frame = parse(raw)
    assert isinstance(frame, MalformedFrame), frame
    assert frame.size == len(raw.removeprefix(b"\xef\xbb\xbf"))
    assert frame.detail
    return frame


def pollution(raw: bytes) -> PollutionFrame:
    frame = parse(raw)
    assert isinstance(frame, PollutionFrame), frame
    assert frame.size == len(raw)
    return frame


# -- what is well formed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", [1, 0, -5, 10**30, "1", "", "a b", "ü"], ids=repr)
def test_a_request(id_: int | str) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping", "params": {"a": [1]}}).encode()
    assert parse(raw) == RequestFrame(id=id_, method="ping", params={"a": [1]}, size=len(raw))


def test_a_result_and_an_error() -> None:
    raw = b'{"result":{"a":null},"jsonrpc":"2.0","id":7}'
    assert parse(raw) == ResponseFrame(id=7, outline={"a": None}, size=len(raw))
    raw = b'{"jsonrpc":"2.0","id":"7","error":{"code":-32601,"message":"no","data":[1]}}'
    error = RpcError(code=-32601, message="no", data=[1])
    assert parse(raw) == ResponseFrame(id="7", error=error, size=len(raw))


def test_a_batch_keeps_its_order_and_its_broken_members() -> None:
    frame = parse(b'[{"jsonrpc":"2.0","id":1,"result":{}},7,{"a":1},{"jsonrpc":"2.0","method":"x"}]')
    assert isinstance(frame, Batch)
    assert [type(each) for each in frame.frames] == [
        ResponseFrame,
        MalformedFrame,
        MalformedFrame,
        NotificationFrame,
    ]


# -- wrong types of every member -------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", [None, True, False, 1.5, 1.0, [], [1], {}, {"id": 1}], ids=repr)
def test_an_id_of_a_request_that_is_no_string_or_integer(id_: Any) -> None:
    frame = parsed(id=id_, method="x")
    assert isinstance(frame, MalformedFrame)
    assert (frame.id, frame.method) == (MISSING, "x")


def test_a_response_without_id_is_not_one_with_null() -> None:
    none, null = parsed(result={}), parsed(id=None, result={})
    assert isinstance(none, ResponseFrame)
    assert none.id is MISSING
    assert isinstance(null, ResponseFrame)
    assert null.id is None


@pytest.mark.parametrize("result", [None, True, 1, "x", []], ids=repr)
def test_a_result_that_is_no_object_is_flagged_and_is_no_success(result: Any) -> None:
    frame = parsed(id=1, result=result)
    assert isinstance(frame, ResponseFrame)
    assert frame.error == RpcError(code=None, message="a result that is not an object", data=result)
    assert frame.defect == "a result that is not an object"


def test_both_result_and_error_is_an_error_and_flagged() -> None:
    frame = parsed(id=1, result={}, error={"code": 1, "message": "m"})
    assert isinstance(frame, ResponseFrame)
    assert (frame.error, frame.defect) == (RpcError(code=1, message="m"), "both a result and an error")
    assert isinstance(parsed(id=1, result={}, error=None), ResponseFrame)


@cases("value", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_has_no_word_for_is_not_json(value: str) -> None:
    frame = parse(b'{"jsonrpc":"2.0","id":1,"result":{"a":%s}}' % value.encode())
    assert isinstance(frame, MalformedFrame)
    assert (frame.id, frame.answers) == (1, True)


@cases(
    ("raw", "repeated"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":{"c":1,"c":2}}}', "c"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', "id"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\":","a":2}}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":1},{"b":1}],"c":"\\":"}}', ""),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a" :1,"a" :2}}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2,"b" :3}}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\u0022:","b":1,"b":2}}', "b"),
    ],
)
def test_a_member_that_stands_twice_is_found_and_the_last_counts(raw: bytes, repeated: str) -> None:
    frame = parse(raw)
    assert isinstance(frame, ResponseFrame)
    assert frame.repeats == repeated
    assert frame.id == json.loads(raw)["id"]
    assert frame.result == json.loads(raw)["result"]


# -- what is no JSON, or none that a parser takes --------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":5,"result":{"a":"\xff\xfe"}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"a":"\x00"}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"a":' + b"[" * 600 + b"]" * 600 + b"}}",
        b'{"jsonrpc":"2.0","id":5,"result":{"a":tru',
        b'{"jsonrpc":"2.0","id":5,"result":{"a":"never ends',
        b'{"jsonrpc":"2.0","id":5,"result":{"a":1}}}',
        b'{"jsonrpc":"2.0","id":5,"result":{\'a\':1}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,"result":\xff}',
    ],
    ids=["utf-8", "nul", "deep", "cut", "cut text", "brace", "quotes", "mark"],
)
def test_the_id_of_a_response_that_cannot_be_read_is_saved(raw: bytes) -> None:
    frame = malformed(raw)
    assert (frame.id, frame.method, frame.answers) == (5, None, True)


@pytest.mark.parametrize("sign", [b"", b"-"], ids=["positive", "negative"])
@cases("digits", [4301, 5000, 100_000])
def test_an_id_of_more_digits_than_are_read_is_an_id_and_nobodys(sign: bytes, digits: int) -> None:
    id_ = sign + b"9" * digits
    frame = parse(b'{"jsonrpc":"2.0","id" : ' + id_ + b',"result":{"text":"\\"id\\":' + id_ + b'"}}')
    assert isinstance(frame, ResponseFrame)
    assert not frame.defect
    assert frame.result == {"text": '"id":' + id_.decode()}
    assert frame.size > 2 * digits
    broken = malformed(b'{"jsonrpc":"2.0","id":' + id_ + b',"result":"\xff"}')
    for found in (frame.id, broken.id):
        assert found is not MISSING
        assert not is_request_id(found)
        assert storable_id(found) == "a number out of range"


@cases(
    ("raw", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\uDE00\ud83d x"', "\ufffd\ufffd x"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'["\\ud83d", "\udc00\\"]', ["\\ud83d", "\ufffd\\"]),
        (rb'{"\ud800": 1}', {"\ufffd": 1}),
        (b"[-" + b"9" * 5000 + b', "' + b"9" * 5000 + b'"]', [-math.inf, "9" * 5000]),
        (b"[0." + b"3" * 5000 + b"," + b"9" * 4301 + b".5e3]", [float("0." + "3" * 17), math.inf]),
        (b"[" + b"9" * 4300 + rb',"\ud800"]', [10**4300 - 1, "\ufffd"]),
    ],
)
def test_lone_surrogates_and_long_numbers_are_read(raw: bytes, value: object) -> None:
    assert read_json(raw) == value


def test_deep_values_are_read_and_written() -> None:
    raw = b'[{"a":' * 250 + rb'"\ud800"' + b"}]" * 250
    value = read_json(raw)
    assert text(value).encode() == raw.replace(rb"\ud800", "\ufffd".encode())
    assert json.loads(encode(value)) == writable(value) == value


@cases("named", ["result", "error"])
def test_a_message_with_a_method_and_an_answer_is_the_response_that_it_can_only_be(named: str) -> None:
    frame = parse(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","%s":{"code":1,"message":"no"}}' % named.encode()
    )
    assert isinstance(frame, ResponseFrame)
    assert (frame.id, frame.error is not None) == (5, named == "error")
    assert frame.defect == f"a message with method and {named}"


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":5,"method":"ping","result":null}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","result":{}}',
    ],
    ids=["a request", "a notification"],
)
def test_a_method_beside_an_answer_without_value_or_id_is_read_and_flagged(raw: bytes) -> None:
    frame = parse(raw)
    assert isinstance(frame, RequestFrame | NotificationFrame)
    assert frame.defect == "a message with method and result"


def test_the_messages_of_a_batch_in_a_batch_are_read_behind_what_it_is() -> None:
    answer = b'{"jsonrpc":"2.0","id":5,"result":{}}'
    batch = parse(b"[[%s],[[%s]]]" % (answer, answer))
    assert isinstance(batch, Batch)
    nested = "a batch in a batch; its messages are read"
    read = [each.detail if isinstance(each, MalformedFrame) else each.id for each in batch.frames]  # type: ignore[union-attr]
    assert read == [nested, 5, nested, nested, 5]


def test_lone_surrogates_are_written_in_names_and_values() -> None:
    assert encode({"\ud800": ["\udfff", math.inf]}) == rb'{"\ud800":["\udfff","Infinity"]}'
    assert b'"timeout":"Infinity"' in encode({"\ud800": Limits(timeout=math.inf)})


@cases("raw", [rb'"\ud8', rb'"\ud83d', b"9" * 5000 + b"x", b'"\xff"', b"[" * 600 + b"]" * 600])
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"column|recursion"):
        read_json(raw)


def test_what_is_kept_of_an_id_is_bounded() -> None:
    assert storable_id(7) == 7
    assert storable_id("7") == "7"
    assert storable_id(10**30) == 10**30
    assert storable_id(10**4000) == "a number of 13288 bits"
    assert storable_id("7" * 5000) == "7" * 200
    assert storable_id(1.5) == 1.5
    assert storable_id(True) is True
    assert [storable_id(each) for each in (None, MISSING, [7], {"id": 7})] == [None] * 4


def test_ids_that_look_alike_are_told_apart_by_their_type() -> None:
    ids = [MISSING, None, True, "1", 1.0, 1, [1], {"id": 1}]
    kinds = ["missing", "null", "boolean", "string", "number", "integer", "array", "object"]
    assert [json_type(each) for each in ids] == kinds


@cases(
    "raw",
    [
        b"",
        b"Listening on port 3000",
        b"[info] server started",
        b"[2026-01-01 00:00:00] up",
        b"{oops}",
        b"{ method }",
        b"null",
        b"42",
        b'"text"',
        b"true",
        b"[1, 2, 3]",
        b"[[]]",
        b'{"level":"info","msg":"hello"}',
        b'{"level":30,"id":5,"msg":"a row was made"}',
        b'{"method":"GET","path":"/","status":200}',
        b'{"error":"boom"}',
        b'{"id":5}',
        b"\xff\xfe\x00",
        b"id",
    ],
)
def test_what_does_not_speak_json_rpc_is_pollution(raw: bytes) -> None:
    assert pollution(raw).line == raw.decode("utf-8", "backslashreplace")


# One pass over 64 kB takes milliseconds; an expression that goes back takes longer than pytest gives a test.
@pytest.mark.parametrize(
    "raw",
    [
        b'{"' + b'\\"' * 500_000,
        b'{"id"' * 200_000,
        b'{"id":"' + b"\\a" * 500_000 + b"\\",
        b'{"id"' + b" " * 1_000_000,
        b'{"id":' + b"1" * 1_000_000 + b".",
        b'{"jsonrpc":"2.0"' + b',"id"' * 200_000,
        b'{"a":\xff' + b',"id":' * 200_000,
        b"{" * 1_000_000,
        b"[" * 1_000_000,
    ],
)
def test_salvage_looks_at_each_byte_once(raw: bytes) -> None:
    salvage(raw, "")
    salvage(raw[-64 * 1024 :], "")
    parse(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
    JSON | st.just("2.0") | st.integers(0, 3),
)


def written(value: object) -> bytes:
    return json.dumps(value).encode()


@given(st.binary(max_size=200) | st.builds(written, MEMBERS | st.lists(MEMBERS)))
@example(b'[{"jsonrpc":"2.0"}]')
def test_parse_never_raises_and_its_frames_keep_their_promises(raw: bytes) -> None:
    frame = parse(raw)
    for each in frame.frames if isinstance(frame, Batch) else (frame,):
        match each:
            case RequestFrame():
                assert type(each.id) in (int, str)
                assert type(each.method) is str
            case NotificationFrame():
                assert type(each.method) is str
            case ResponseFrame():
                assert each.error is None or (
                    type(each.error.code) in (int, type(None)) and type(each.error.message) is str
                )
            case MalformedFrame():
                assert each.id is MISSING or not isinstance(each.id, bytes)
                assert each.detail
            case PollutionFrame():
                assert len(each.line) <= 2000


# -- small things ----------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=[])) | st.integers()))
def test_what_is_encoded_has_no_line_end_and_can_be_read(message: dict[str, Any]) -> None:
    raw = encode(message)
    assert b"\n" not in raw
    assert json.loads(raw) == message
