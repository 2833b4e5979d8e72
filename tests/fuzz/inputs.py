"""Inputs: sound ones with something done to them."""

# ruff: noqa: E501 - lists
# pyright: basic
from __future__ import annotations

import json
import random
from typing import Any

ODD = (
    b"\x00", b"\x1b[2J", b"\x1b]52;c;AAAA\x07", b"\x9b31m", b"\xc2\x9b", b"\xff\xfe", b"\xed\xa0\xbd", b"\xef\xbb\xbf",
    "\u202e\u200b\U000e0041".encode(), "e\u0301\u0301\u0301\u0301\u0301\u0301".encode(), "\ufdfa\U0001f3f3\ufe0f\u200d\U0001f308".encode(),
    b'"\\ud83d"', b"\\ud83d\\ud83d", b"\\u0000", b"\\", b'"', b"'", b"\n", b"\r", b"\r\n\r\n", b"\t", b" ", b"\xe2\x80\xa8",
    b"NaN", b"-Infinity", b"1e999", b"-0", b"1.0", b"9" * 5000, b"0" * 400, b"null", b"true", b"false", b"{}", b"[]", b"[[", b"{{", b"}}",
    b"}", b"]", b"{", b"[", b",", b":", b"/*", b"*/", b"//", b"#", b"=", b"[" * 300, b'{"a":' * 300, b"[" * 60, b"\\x1b", b"\\n",
    b'{"$ref":"#"}', b'{"$ref":"#/properties/a"}', b'"$ref":"http://127.0.0.1/"', b'"pattern":"(a+)+$"', b'"default":{}', b'"enum":[]',
    b'"type":["null","string"]', b'"allOf":[{}]', b"[/foo]", b"[@click=app.quit]x[/]", b"[link=x]", b"%zz", b"%00", b"{?a*}", b"{+a:3}",
    b"{a,b,", b"retry: 99999999999", b"id: \x00", b"data:", b"event: x", b": ping", b"\n\n", b'"id":1', b'"id":null', b'"id":[]', b'"jsonrpc":"2.0"',
    b'"method":1', b'"error":{}', b'"result":0', b"ctrl+shift+f99", b"a,,b", b"1979-05-27T07:32:00Z", b"+inf", b"'''", b'"""', b"[[x]]", b"[x.y]",
)  # fmt: skip
"""Pieces that readers have fallen over."""


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to six changes, or none in one of twenty."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 6)) if rng.random() < 0.95 else 0):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 2, 4, 8, 30, 200)))
        match rng.randrange(7):
            case 0:
                data = data[:at] + rng.choice(ODD) + data[at:]
            case 1:
                data = data[:at] + rng.choice(ODD) + data[to:]
            case 2:
                data = data[:at] + data[to:]
            case 3:
                data = data[:to] + data[at:]
            case 4:
                data = data[:at] + rng.randbytes(rng.randrange(4)) + data[to:]
            case 5:
                there = rng.randrange(len(data) + 1)
                data = data[:at] + data[there : there + 40] + data[at:]
            case _:
                data = data[:at]
    return data


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**400, 2**63, "", "x", "#", "#/$defs/n", "#/properties/a", "http://127.0.0.1/x", "\ud83d", "\x1b[2J",
    "[/foo]", "(a+)+$", "[", "object", "array", "integer", ["string", "null"], [], {}, [[]], {"": {}}, {"$ref": "#"}, [None, None], {"type": []},
    {"$dynamicRef": "#x"}, {"const": {}}, {"not": {}}, {"enum": [[], {}]}, {"format": "regex"}, {"minimum": "x"}, {"items": [{}]}, {"if": True},
)  # fmt: skip
"""Values where others are awaited."""

NAMES = (
    "a", "", "$ref", "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "enum", "const", "default", "pattern", "format",
    "minLength", "additionalProperties", "title", "description", "$defs", "$id", "$anchor", "$schema", "x-mcp-header", "password", "e\u202e",
)  # fmt: skip


def _changed(rng: random.Random, value: Any, depth: int = 6) -> Any:
    """A value with one thing in it changed."""
    if not depth or not isinstance(value, (dict, list)) or not value or rng.random() < 0.15:
        return rng.choice(VALUES)
    found: Any = value.copy()
    at = rng.choice([*value]) if isinstance(value, dict) else rng.randrange(len(value))
    if isinstance(found, dict) and rng.random() < 0.3:
        found[rng.choice(NAMES)] = rng.choice((*VALUES, value, value[at]))
    elif rng.random() < 0.2:
        del found[at]
    else:
        found[at] = _changed(rng, value[at], depth - 1)
    return found


def mutated_json(rng: random.Random, data: bytes) -> bytes:
    """Sound JSON that means something else."""
    value = json.loads(data)
    for _ in range(rng.randrange(1, 8)):
        value = _changed(rng, value)
    return json.dumps(value).encode()
