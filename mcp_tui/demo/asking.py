"""What the tool ``ask`` asks, what it makes of an answer, and what it gives a client to keep meanwhile."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mcp_tui.demo.arguments import BadArguments, check_arguments
from mcp_tui.demo.frames import INVALID_PARAMS, DemoRefusal, Object, as_list, as_object

_PLACES: Final = ["inside", "garden", "bar"]
_FORM: Final[Object] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Who is coming"},
        "place": {"type": "string", "title": "Place", "description": "Where to sit", "enum": _PLACES},
        "dog": {"type": "boolean", "title": "Dog", "description": "A dog comes along", "default": False},
    },
    "required": ["name", "place"],
}
_PROMPT: Final = "Say in one sentence why a cancelled request may still be answered."

_PATIENCE: Final = 3600.0  # seconds in which a question of 2026-07-28 is to be answered
_SECRET: Final = os.urandom(32)


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A request to the client: its method and params, what the client must declare for it, and what an answer says.

    ``told`` makes a sentence of a result, and raises `DemoRefusal` where that is no result of the method.
    """

    method: str
    needs: Object
    told: Callable[[Object], str]
    params: Object = field(default_factory=dict[str, object])

    @property
    def capability(self) -> str:
        """The name of what the client must declare."""
        return next(iter(self.needs))

    def params_for(self, revision: str) -> Object:
        """The params as a revision knows them: the mode of elicitation is from 2025-11-25."""
        return {
            name: value for name, value in self.params.items() if name != "mode" or revision >= "2025-11-25"
        }


def _malformed(why: object) -> DemoRefusal:
    return DemoRefusal(INVALID_PARAMS, f"Invalid params: what came is no answer: {why}")


def _told_form(result: Object) -> str:
    match result.get("action"), as_object(result.get("content")):
        case "accept", dict() as content:
            try:
                filled = check_arguments(content, _FORM)
            except BadArguments as error:
                raise _malformed(error) from error
            return f"You accepted: {json.dumps(filled, ensure_ascii=False)}"
        case "decline", _:
            return "You declined."
        case "cancel", _:
            return "You closed the question without an answer."
        case _:
            raise _malformed("neither accepted with a content, nor declined, nor cancelled")


def _told_sample(result: Object) -> str:
    content, model = result.get("content"), result.get("model")
    blocks = [as_object(block) or {} for block in as_list(content) or [content]]
    said = " ".join(str(block["text"]) for block in blocks if isinstance(block.get("text"), str))
    if not isinstance(model, str) or not any("type" in block for block in blocks):
        raise _malformed("a message needs a model and a content")
    return f"{model} said: {said or 'something that is no text'}"


def _told_roots(result: Object) -> str:
    roots = as_list(result.get("roots"))
    if roots is None:
        raise _malformed("roots must be a list")
    uris = [str((as_object(root) or {}).get("uri")) for root in roots]
    return f"You named {len(uris)} folders: {', '.join(uris)}" if uris else "You named no folders."


QUESTIONS: Final = {
    "form": DemoQuestion(
        "elicitation/create",
        {"elicitation": {"form": {}}},
        _told_form,
        {"mode": "form", "message": "A table for tonight: for whom, and where?", "requestedSchema": _FORM},
    ),
    "sampling": DemoQuestion(
        "sampling/createMessage",
        {"sampling": {}},
        _told_sample,
        {"messages": [{"role": "user", "content": {"type": "text", "text": _PROMPT}}], "maxTokens": 100},
    ),
    "roots": DemoQuestion("roots/list", {"roots": {}}, _told_roots),
}
"""By the argument of ``ask``."""


def sealed(about: Object, now: float) -> str:
    """A ``requestState`` that only this process makes, for a request with these params, and for an hour.

    It comes back by way of the client, who could have changed it (multi round-trip requests, "Server Requirements").
    """
    until = int(now + _PATIENCE)
    return f"{until}.{_mark(about, until)}"


def check_seal(state: object, about: Object, now: float) -> None:
    """Raise `DemoRefusal` unless `state` was given out for such a request, not long ago."""
    until, _, mark = state.partition(".") if isinstance(state, str) else ("", "", "")
    if not (
        until.isascii()
        and until.isdigit()
        and hmac.compare_digest(mark.encode(), _mark(about, int(until)).encode())
    ):
        raise DemoRefusal(
            INVALID_PARAMS, "Invalid params: this requestState was not given out for this request"
        )
    if now > int(until):
        raise DemoRefusal(INVALID_PARAMS, "Invalid params: this requestState has expired")


def _mark(about: Object, until: int) -> str:
    asked = json.dumps([until, about.get("name"), about.get("arguments", {})], sort_keys=True)
    return hmac.new(_SECRET, asked.encode(), hashlib.sha256).hexdigest()
