"""The questions of a server that wait for the person at the screen."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from mcp_tui.client.interactions import Answer, Inquiry, Refusal
from mcp_tui.client.settings import ROOTS, SAMPLE
from mcp_tui.protocol.inbound import ELICIT
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.tui.preferences import uri_of
from mcp_tui.tui.view.text import SafeText, words

PATIENCE: Final = 120.0
"""Seconds that the person's command for sampling may take."""

OUTPUT: Final = 1_000_000
"""Bytes of it that are read."""


_WANTS: Final = {SAMPLE: words("asks for a model response"), ROOTS: words("asks for your roots")}


class Question:
    """One inquiry at the screen. ``draft`` is what was typed by the time it was put aside."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.draft: object = None
        self.shown = False

    @property
    def wants(self) -> SafeText:
        """What the server wants with it, after the server's name."""
        return _WANTS.get(self.inquiry.method, words("asks for input"))

    @property
    def over(self) -> str:
        """Why no answer is needed any more; empty while one is."""
        return self.inquiry.over.result() if self.inquiry.over.done() else ""

    def answer(self, answer: Answer) -> bool:
        """Give the answer; false where none is needed any more."""
        if self.over or self.answered.done():
            return False
        self.answered.set_result(answer)
        return True


class Questions:
    """All of them, oldest first, and behind them those that were put aside. ``version`` grows when one comes or goes."""

    def __init__(self) -> None:
        self.waiting: list[Question] = []
        self.version = 0

    async def respond(self, inquiry: Inquiry) -> Answer:
        """Wait for the person's answer; this is what a client is given."""
        question = Question(inquiry)
        self.waiting.append(question)
        self.version += 1
        try:
            await asyncio.wait({question.answered, inquiry.over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.waiting.remove(question)
            self.version += 1
        return question.answered.result() if question.answered.done() else Refusal("withdrawn")

    def aside(self, question: Question) -> None:
        """Put a question behind the others."""
        if question in self.waiting:
            self.waiting.remove(question)
            self.waiting.append(question)


# -- answers ---------------------------------------------------------------------------------------------------


def elicited(action: str, content: dict[str, Json] | None = None) -> Answer:
    """An ``ElicitResult``: ``accept`` with what was filled in, ``decline`` or ``cancel``."""
    return {"action": action} if content is None else {"action": action, "content": content}


def sampled(text: str, model: str = "a person") -> Answer:
    """A ``CreateMessageResult`` of one text."""
    content: dict[str, Json] = {"type": "text", "text": text}
    return {"role": "assistant", "content": content, "model": model, "stopReason": "endTurn"}


def rooted(lines: Sequence[str]) -> Answer:
    """A ``ListRootsResult`` of folders or ``file:`` URIs, one a line."""
    roots: list[Json] = []
    for line in lines:
        if line.strip():
            uri = uri_of(line.strip())
            roots.append({"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]})
    return {"roots": roots}


def declined(method: str) -> Answer:
    """No, in the words that the method has for it."""
    if method == ELICIT:
        return elicited("decline")
    if method == SAMPLE:
        return Refusal("User rejected sampling request")
    return Refusal("User declined to share roots" if method == ROOTS else "User declined")


async def drafted(command: Sequence[str], params: dict[str, Json]) -> tuple[str, str]:
    """What the person's command answers to a sampling request, as a draft, and what went wrong.

    It gets the request's ``params`` as JSON on stdin and prints the text. It runs without a shell.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return "", f"{command[0]} cannot be started: {error}"
    try:
        async with asyncio.timeout(PATIENCE):
            out, _ = await process.communicate(json.dumps(params).encode())
    except TimeoutError:
        return "", f"{command[0]} said nothing for {PATIENCE:g} s"
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()
    if process.returncode:
        return "", f"{command[0]} ended with {process.returncode}"
    return out[:OUTPUT].decode("utf-8", "replace").strip(), ""


def _end(process: asyncio.subprocess.Process) -> None:
    """End a command that is not waited for any more, with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def texts(params: dict[str, Json]) -> list[tuple[str, str]]:
    """The messages of a sampling request: who says what; what is no text by its type."""
    said: list[tuple[str, str]] = []
    for message in as_list(params.get("messages")):
        if not isinstance(message, dict):
            continue
        fields = as_object(message)
        content = fields.get("content")
        for part in as_list(content) if isinstance(content, list) else [content]:
            each = as_object(part)
            text = each.get("text")
            shown = text if isinstance(text, str) else f"[{each.get('type') or 'nothing'}]"
            said.append((str(fields.get("role", "")), shown))
    return said
