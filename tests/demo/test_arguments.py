from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from mcp_tui.demo.tools import TOOLS, BadArguments, check_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "number": {"type": "number", "minimum": 0, "maximum": 9, "default": 2},
        "whole": {"type": "integer", "default": 3},
    },
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, '"text" is a required property'),
        ({"text": 1}, 'text: 1 is not of type "string"'),
        ({"text": "x", "number": 9.5}, "number: 9.5 is greater than the maximum of 9"),
        ({"text": "x", "whole": 1.5}, 'whole: 1.5 is not of type "integer"'),
        ({"text": "x", "other": 1}, "'other' was unexpected"),
    ],
)
def test_the_first_that_breaks_the_schema_is_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(BadArguments, match=says):
        check_arguments(arguments, SCHEMA)


@pytest.mark.parametrize("tool", TOOLS)
def test_every_argument_is_described_and_has_a_default_or_is_required(tool: str) -> None:
    schema = TOOLS[tool].offered["inputSchema"]
    jsonschema_rs.validator_for(schema)
    for name, part in schema["properties"].items():
        assert part["description"]
        assert ("default" in part) != (name in schema.get("required", ()))
        if name == "seconds":
            assert part["type"] == "number"
            assert "in seconds" in part["description"]
