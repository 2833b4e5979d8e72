from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from mcp_tui.demo.arguments import BadArguments, check_arguments
from mcp_tui.demo.catalogue import input_schema
from mcp_tui.demo.tools import TOOLS

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
VALUES: list[Any] = ["x", "", 0, 1, 1.0, 1.5, 9, 9.5, -1, 10**400, True, None, [], {}]


def test_what_is_missing_has_its_default() -> None:
    assert check_arguments({"text": "x"}, SCHEMA) == {"text": "x", "number": 2, "whole": 3}


def test_an_integer_may_be_written_with_a_point() -> None:
    whole = check_arguments({"text": "x", "whole": 4.0}, SCHEMA)["whole"]
    assert (whole, type(whole)) == (4, int)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "text is missing"),
        ({"text": 1}, "text must be of type string"),
        ({"text": "x", "number": "1"}, "number must be of type number"),
        ({"text": "x", "number": -1}, "number must be at least 0"),
        ({"text": "x", "number": 9.5}, "number must be at most 9"),
        ({"text": "x", "whole": 1.5}, "whole must be of type integer"),
        ({"text": "x", "other": 1}, "there is no argument 'other'"),
    ],
)
def test_the_first_that_breaks_the_schema_is_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(BadArguments, match=says):
        check_arguments(arguments, SCHEMA)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_verdicts_as_a_real_validator(tool: str) -> None:
    schema = input_schema(tool)
    assert schema is not None
    validator = jsonschema_rs.validator_for(schema)
    required = {
        name: 1 if schema["properties"][name]["type"] != "string" else "x"
        for name in schema.get("required", ())
    }
    candidates: list[dict[str, Any]] = [{}, required, {**required, "other": 1}]
    candidates += [{**required, name: value} for name in schema["properties"] for value in VALUES]
    for arguments in candidates:
        try:
            check_arguments(arguments, schema)
        except BadArguments:
            taken = False
        else:
            taken = True
        assert taken == validator.is_valid(arguments), arguments


@pytest.mark.parametrize("tool", TOOLS)
def test_every_argument_is_described_and_has_a_default_or_is_required(tool: str) -> None:
    schema = input_schema(tool)
    assert schema is not None
    jsonschema_rs.validator_for(schema)
    for name, part in schema["properties"].items():
        assert part["description"]
        assert ("default" in part) != (name in schema.get("required", ()))
        if name == "seconds":
            assert part["type"] == "number"
            assert "in seconds" in part["description"]
