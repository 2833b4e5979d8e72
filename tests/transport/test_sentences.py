"""What keeps a server from being reached is said alike everywhere: it stands behind ``mcp-tui:`` or within a sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcp_tui.client
import mcp_tui.transport

ERRORS = {"ConnectError", "NoCommonRevision", "TransportError", "Unauthorized", "Refused"}


def literals(call: ast.Call) -> tuple[str, str] | None:
    """How the text of an error begins and ends, as far as it stands in the source."""
    match call.args[:1]:
        case [ast.Constant(value=str(text))]:
            return text, text
        case [ast.JoinedStr(values=[first, *_] as parts)]:
            ends = [each.value if isinstance(each, ast.Constant) else "" for each in (first, parts[-1])]
            return str(ends[0]), str(ends[1])
        case _:
            return None


def raised() -> Iterator[tuple[str, str, str]]:
    for package in (mcp_tui.client, mcp_tui.transport):
        for path in sorted(Path(str(package.__file__)).parent.glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                    if name in ERRORS and (found := literals(node)) is not None:
                        yield f"{path.name}:{node.lineno}", *found


SENTENCES = list(raised())


def test_they_are_found():
    assert len(SENTENCES) > 20


@pytest.mark.parametrize(("where", "begins", "ends"), SENTENCES, ids=[where for where, *_ in SENTENCES])
def test_each_begins_with_a_small_letter_and_has_no_full_stop(where: str, begins: str, ends: str):
    assert not begins[:1].isupper(), where
    assert not ends.endswith("."), where
