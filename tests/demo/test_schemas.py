from __future__ import annotations

from typing import Any, cast

import jsonschema_rs
import pytest

from tests.demo.official import REVISIONS, schema

NEW = {
    "2024-11-05": "CallToolResult",
    "2025-03-26": "JSONRPCBatchRequest",
    "2025-06-18": "ElicitRequest",
    "2025-11-25": "GetTaskResult",
    "2026-07-28": "DiscoverResult",
}
"""A definition that came with each revision."""


def references(value: object) -> set[str]:
    match value:
        case dict():
            parts = cast("dict[str, Any]", value)
            own: set[str] = {parts["$ref"]} if isinstance(parts.get("$ref"), str) else set()
            return own.union(*map(references, parts.values()))
        case list():
            return set[str]().union(*map(references, cast("list[object]", value)))
        case _:
            return set()


@pytest.mark.parametrize("revision", REVISIONS)
def test_each_is_that_of_its_revision_and_refers_to_nothing_outside(revision: str) -> None:
    whole = schema(revision)
    jsonschema_rs.validator_for(whole)
    definitions = whole.get("definitions") or whole["$defs"]
    assert NEW[revision] in definitions
    assert not any(NEW[later] in definitions for later in REVISIONS if later > revision)
    assert all(reference.startswith("#/") for reference in references(whole))
