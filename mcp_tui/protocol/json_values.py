"""Narrows JSON values from outside to the types that the code expects. It imports little, because the demo server uses
it.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from mcp_tui.protocol.states import RequestId

Json = Any
"""A JSON value as the parser returns it: dict, list, str, int, float, bool, or None."""


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Whether a JSON value is a valid request id: a string or an integer, not a boolean."""
    # In Python a bool is an int, so isinstance would accept true as an id.
    kind = type(value)
    return kind is int or kind is str


def as_object(value: Json) -> dict[str, Json]:
    """Returns the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - a cast is a call


def as_list(value: Json) -> list[Json]:
    """Returns the value if it is a JSON array, else an empty array."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - a cast is a call


def object_or_none(value: Json) -> dict[str, Json] | None:
    """Returns the value if it is a JSON object, else ``None``."""
    return as_object(value) if isinstance(value, dict) else None


def list_or_none(value: Json) -> list[Json] | None:
    """Returns the value if it is a JSON array, else ``None``."""
    return as_list(value) if isinstance(value, list) else None


def as_text(value: Json) -> str:
    """Returns the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""
