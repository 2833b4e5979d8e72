"""The tool ``ask``: the server asks, in the way of each revision, only what the client can do, and takes it back."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.demo.conftest import Make
from tests.demo.official import MODERN
from tests.demo.peers import Exchange, Frame, Peer

ABLE: Frame = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
FILLED: Frame = {"name": "Ada", "place": "garden", "dog": True}
SAMPLE: Frame = {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "They cross."}}
IMAGE: Frame = {**SAMPLE, "content": {"type": "image", "data": "", "mimeType": "image/png"}}
ANSWERS: dict[str, list[Frame]] = {
    "form": [
        {"action": "accept", "content": FILLED},
        {"action": "accept", "content": {"name": "Ö", "place": "bar"}},
        {"action": "decline"},
        {"action": "cancel"},
    ],
    "sampling": [SAMPLE, IMAGE],
    "roots": [{"roots": []}, {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}],
}
NONSENSE: list[Frame] = [
    {},
    {"action": "perhaps"},
    {"action": "accept"},
    {"action": "accept", "content": {"name": "Ada"}},
    {"action": "accept", "content": {**FILLED, "place": "roof"}},
    {"action": "accept", "content": {**FILLED, "dog": "yes"}},
]
HANDSHAKE = [*product(("stdio", "http"), ("2025-06-18", "2025-11-25"))]


def round_(peer: Peer, first: Exchange, answer: Frame | None, **changed: Any) -> Exchange:
    """Call again with an answer to an input-required result."""
    result = first.result()
    assert result["resultType"] == "input_required"
    (key,) = result["inputRequests"]
    responses: Frame = {} if answer is None else {"inputResponses": {key: answer}}
    params: Frame = {"name": "ask", "arguments": {}, "requestState": result["requestState"], **responses}
    return peer.request("tools/call", {**params, **changed})


@pytest.fixture(params=[*HANDSHAKE, ("stdio", MODERN), ("http", MODERN)], ids="-".join)
def able(request: pytest.FixtureRequest, connect: Make) -> Peer:
    return connect(*request.param, capabilities=ABLE)


@pytest.mark.parametrize("what", ANSWERS)
def test_what_is_answered_stands_in_the_result(able: Peer, what: str) -> None:
    for count, answer in enumerate(ANSWERS[what], 1):
        call = able.call("ask", what=what)
        if able.modern:
            call = round_(able, call, answer, arguments={"what": what})
        else:
            able.reply(able.question(count), result=answer)
        assert call.text() == f"You answered: {json.dumps(answer, ensure_ascii=False)}"
    assert all(frame["method"] != "notifications/cancelled" for frame in able.asked)


def test_an_answer_that_is_none_is_an_error(able: Peer) -> None:
    for count, answer in enumerate(NONSENSE, 1):
        call = able.call("ask")
        if able.modern:
            call = round_(able, call, answer)
        else:
            able.reply(able.question(count), result=answer)
        assert call.error()["code"] == -32602
    assert able.call("echo", text="x").text() == "x"


@pytest.mark.parametrize(("transport", "revision"), HANDSHAKE)
def test_a_cancel_takes_the_question_back(connect: Make, transport: str, revision: str) -> None:
    peer = connect(transport, revision, capabilities=ABLE)
    call = peer.call("ask")
    question = peer.question()
    call.cancel()
    assert peer.withdrawn() == {"requestId": question["id"], "reason": "the call of ask was cancelled"}
    peer.logged("stopped", call.id)
    peer.reply(question, result={"action": "decline"})  # it crossed
    assert peer.call("echo", text="x").text() == "x"
    assert call.responses == []


@pytest.mark.parametrize(
    ("revision", "capabilities", "may"),
    [
        ("2024-11-05", {"elicitation": {}}, False),
        ("2025-03-26", {"elicitation": {}}, False),
        ("2025-06-18", {}, False),
        ("2025-06-18", {"elicitation": {}}, True),
        ("2025-06-18", {"elicitation": []}, False),
        ("2025-11-25", {"elicitation": {}}, True),
        ("2025-11-25", {"elicitation": {"url": {}}}, False),
        ("2025-11-25", {"elicitation": {"form": {}, "url": {}}}, True),
        (MODERN, {}, False),
        (MODERN, {"elicitation": {"url": {}}}, False),
        (MODERN, {"elicitation": {}}, True),
    ],
)
def test_only_who_can_show_a_form_is_asked_to(
    connect: Make, revision: str, capabilities: Frame, may: bool
) -> None:
    peer = connect("http", revision, capabilities=capabilities)
    call = peer.call("ask")
    if may and not peer.modern:
        assert peer.question()["method"] == "elicitation/create"
        call.cancel()
    elif may:
        assert call.result()["resultType"] == "input_required"
    elif peer.modern:
        error = call.error()
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        assert call.status == 400
    else:
        assert call.result()["isError"] is True
        assert "does not declare elicitation" in call.result()["content"][0]["text"]
        assert peer.asked == []
