"""The tools: one coroutine each, with the arguments of its schema. Each ends in one outcome that a client must bear.

A tool returns its `CallOutcome`, raises `DemoRefusal` for an error response, or returns ``None`` and has not answered.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

from mcp_tui.demo.asking import QUESTIONS, DemoQuestion, check_seal, sealed
from mcp_tui.demo.callers import missing
from mcp_tui.demo.calls import Call, CallOutcome
from mcp_tui.demo.frames import REQUEST_CANCELLED, DemoRefusal, Object, as_object

CRASH_STATUS: Final = 3
"""The exit status of the process when `crash` was called."""

_BEAT: Final = 0.25  # seconds between two progress notifications of `chatty`
_RUN_ON: Final = 2.0  # seconds for which `chatty` goes on at least after a cancel
_BREATH: Final = 64  # notifications of `flood` between two looks at what came in
_MEGABYTE: Final = "0123456789" * 100_000
_ANSWER: Final = "answer"  # the key of what `ask` asks for
_STAGES: Final = (
    "looking for sources on {topic}",
    "reading four of them",
    "weighing what they say",
    "writing it up",
)


def _number(value: float) -> str:
    """A number as people write it: ``5``, not ``5.0``."""
    return str(int(value)) if float(value).is_integer() else repr(value)


async def echo(call: Call, *, text: str) -> CallOutcome:
    """Answer with the text."""
    return CallOutcome(text)


async def add(call: Call, *, a: float, b: float) -> CallOutcome:
    """Answer with the sum."""
    total = a + b
    return CallOutcome(_number(total), structured={"sum": total})


async def count(call: Call, *, seconds: float, steps: int) -> CallOutcome | None:
    """Report each step; stop silently when cancelled."""
    began = call.now()
    for step in range(1, steps + 1):
        if await call.until(began + seconds * step / steps):
            return None
        call.progress(step, steps, f"step {step} of {steps}")
    return CallOutcome(f"counted to {steps}")


async def stubborn(call: Call, *, seconds: float) -> CallOutcome:
    """Work to the end whatever comes. No progress after a cancel, only the result."""
    began = call.now()
    for quarter in (1, 2, 3):
        await call.sleep_until(began + seconds * quarter / 4)
        if not call.cancelled.is_set():
            call.progress(quarter, 4, f"{quarter} of 4")
    await call.sleep_until(began + seconds)
    return CallOutcome("finished, whatever was asked meanwhile")


async def grumpy(call: Call, *, seconds: float) -> CallOutcome:
    """Answer a cancel with an error."""
    if await call.until(call.now() + seconds):
        raise DemoRefusal(REQUEST_CANCELLED, "Request cancelled")
    return CallOutcome("nobody cancelled")


async def chatty(call: Call, *, seconds: float) -> CallOutcome | None:
    """Send progress to the end, which a cancel puts off. Its count has no total: not every one has."""
    began = call.now()
    end = began + seconds
    beat = 0
    while call.now() < end:
        beat += 1
        await call.sleep_until(min(began + beat * _BEAT, end))
        call.progress(beat, None, f"still talking, {beat} times now")
        if call.cancelled_at is not None:
            end = max(end, call.cancelled_at + _RUN_ON)
    return None if call.cancelled.is_set() else CallOutcome(f"talked {beat} times")


async def silent(call: Call) -> None:
    """Never answer. Over HTTP it is over when the peer closes the stream."""
    await call.channel.gone.wait()


async def racer(call: Call, *, milliseconds: float) -> CallOutcome:
    """Answer at the time given."""
    await call.sleep_until(call.now() + milliseconds / 1000)
    return CallOutcome(f"answered after {_number(milliseconds)} ms")


async def twice(call: Call, *, seconds: float) -> CallOutcome:
    """Answer, and answer again."""
    await call.sleep_until(call.now() + seconds)
    call.answer(CallOutcome("the first answer"))
    return CallOutcome("the second answer")


async def crash(call: Call, *, seconds: float) -> None:
    """Leave nothing behind but a line on standard error."""
    await call.sleep_until(call.now() + seconds)
    call.exiting(CRASH_STATUS)
    await call.channel.flush()
    sys.stderr.write("demo: the tool crash was called, so this process exits now\n")
    sys.stderr.flush()
    os._exit(CRASH_STATUS)


async def big(call: Call, *, megabytes: float) -> CallOutcome:
    """Answer with as much text as was asked for."""
    whole, part = divmod(round(megabytes * len(_MEGABYTE)), len(_MEGABYTE))
    return CallOutcome(_MEGABYTE * whole + _MEGABYTE[:part])


async def flood(call: Call, *, count: int) -> CallOutcome | None:
    """Send log messages, or progress where they are not wanted; stop silently when cancelled."""
    messages = call.wants_messages("info")
    for number in range(1, count + 1):
        text = f"message {number} of {count}"
        if messages:
            call.message("info", text)
        else:
            call.progress(number, count, text)
        if number % _BREATH == 0:
            await call.breathe()
            if call.cancelled.is_set():
                return None
    return CallOutcome(f"flooded with {count}")


async def ask(call: Call, *, what: str) -> CallOutcome | None:
    """Ask the person: by a request of its own, or in 2026-07-28 by an answer that the client calls again upon."""
    question = QUESTIONS[what]
    if not call.caller.declares(question.capability):
        if call.caller.modern:
            raise missing(question.needs)
        return CallOutcome(
            f"Nobody can be asked: this client declares no {question.capability}.", is_error=True
        )
    params = question.params_for(call.caller.revision)
    if call.caller.modern:
        return _round(call, question, params)
    response = await call.ask(question.method, params)
    if response is None:
        return None
    result, error = as_object(response.get("result")), as_object(response.get("error")) or {}
    if result is None:
        return CallOutcome(f"The question was refused: {error.get('message')} ({error.get('code')})")
    return CallOutcome(question.told(result))


def _round(call: Call, question: DemoQuestion, params: Object) -> CallOutcome | None:
    """One round of an input-required round (multi round-trip requests, 2026-07-28)."""
    now = time.monotonic()
    if "requestState" in call.params:
        check_seal(call.params["requestState"], call.params, now)
        answer = as_object((as_object(call.params.get("inputResponses")) or {}).get(_ANSWER))
        if answer is not None:
            return CallOutcome(question.told(answer))
    asked: Object = {_ANSWER: {"method": question.method, "params": params}}
    state = sealed(call.params, now)
    call.finish({"resultType": "input_required", "inputRequests": asked, "requestState": state})
    return None


async def research(call: Call, *, topic: str, seconds: float, keep: int) -> CallOutcome | None:
    """Go through the stages, saying which; stop silently when cancelled. ``keep`` is the task's affair."""
    began = call.now()
    for number, stage in enumerate(_STAGES):
        call.progress(number, len(_STAGES), stage.format(topic=topic))
        if await call.until(began + seconds * (number + 1) / len(_STAGES)):
            return None
    return CallOutcome(f"Of four sources on {topic} three agree, and one was cancelled.")


Tool = Callable[..., Awaitable[CallOutcome | None]]

TOOLS: Final[dict[str, Tool]] = {
    tool.__name__: tool
    for tool in (
        echo,
        add,
        count,
        stubborn,
        grumpy,
        chatty,
        silent,
        racer,
        twice,
        crash,
        big,
        flood,
        ask,
        research,
    )
}
