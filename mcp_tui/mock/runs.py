"""The requests of recordings, each as a run: its messages with their times, for a server that does the same again.

Only frames are read, and the events that tell how a stream was closed, so a recording of a tap, or one that somebody wrote
by hand, serves as well as one of a client. A file may hold several sessions, one behind the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.frames import Object, as_list, as_object
from mcp_tui.journal import records
from mcp_tui.journal.files import open_parts
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol.evidence import TRANSIT
from mcp_tui.protocol.inbound import SUBSCRIPTION
from mcp_tui.protocol.messages import Json, number, read_json, text

REDACTED_MARK: Final = "‹redacted"
"""The beginning of what stands in place of a secret."""

CANCEL: Final = "notifications/cancelled"
_ALIKE: Final = 0.1
"""Share by which two runs of one call may differ in length."""


@dataclass(slots=True, eq=False)
class RunStep:
    """One message of a run, ``at`` seconds after the request; without a message, the answer to its question ``asked``."""

    of: Run
    at: float
    frame: Object = field(default_factory=dict[str, Any])
    asked: str = ""

    @property
    def method(self) -> str:
        """The method; empty for a response."""
        return str(self.frame.get("method", ""))

    @property
    def is_answer(self) -> bool:
        """Whether it answers the request."""
        return bool(self.frame) and not self.method

    @property
    def result(self) -> Object:
        """The result of an answer; empty without one."""
        return as_object(self.frame.get("result")) or {}

    @property
    def task(self) -> str:
        """The id of the task that it says the call became; empty for none."""
        handle = (
            self.result if self.result.get("resultType") == "task" else as_object(self.result.get("task"))
        )
        return str((handle or {}).get("taskId", ""))

    @property
    def asks_in_a_round(self) -> bool:
        """Whether it asks for input in its result (2026-07-28)."""
        return self.result.get("resultType") == "input_required"

    @property
    def is_question(self) -> bool:
        """Whether it is a request of the server."""
        return bool(self.method) and "id" in self.frame


@dataclass(slots=True, eq=False)
class Run:
    """One recorded request, or notification, of a client, with what came for it.

    Times are seconds after the request. ``steps`` keep their times, ``replies`` answer its cancel and are timed from that.
    ``until`` is how long it was seen without a cancel, ``cancelled`` when it was cancelled. ``odd``: its cancel
    had a reason that is not a string, which some servers refuse. ``goes_on``: a cancel does not end its progress.
    """

    began: float
    method: str
    params: Object
    id: Json = None
    steps: list[RunStep] = field(default_factory=list[RunStep])
    replies: list[RunStep] = field(default_factory=list[RunStep])
    until: float = math.inf
    cancelled: float | None = None
    odd: bool = False
    goes_on: bool = False

    @property
    def name(self) -> str:
        """The tool, prompt, or resource; empty for other methods."""
        return str(self.params.get("name", self.params.get("uri", "")))

    @property
    def meta(self) -> Object:
        """The ``_meta`` of the request."""
        return as_object(self.params.get("_meta")) or {}

    @property
    def modern(self) -> bool:
        """Whether the request described itself (2026-07-28)."""
        return frames.VERSION_KEY in self.meta

    @property
    def answer(self) -> RunStep | None:
        """The first answer that is none to a cancel."""
        return next((each for each in self.steps if each.is_answer), None)

    @property
    def result(self) -> Object:
        """The result, empty without one."""
        return {} if self.answer is None else self.answer.result

    def timeline(self, spare: Run | None) -> list[RunStep]:
        """Returns the steps without a cancel; beyond what was seen of them, those of ``spare``, which was not cancelled.

        A run that got no answer for longer than ``spare`` took gets none again.
        """
        answer = None if spare is None else spare.answer
        if self.answer is not None or spare is None or answer is None or answer.at < self.until - TRANSIT:
            return self.steps
        seen = [each for each in self.steps if each.at <= self.until]
        last = max((_progress(each) for each in seen), default=-math.inf)
        more = (each for each in spare.steps if each.at > self.until or each.is_answer)
        return seen + [each for each in more if _progress(each) > last or math.isnan(_progress(each))]

    def keeps(self, step: RunStep) -> bool:
        """Whether a call that is cancelled as this one was still sends a step."""
        return self.answer is not None if step.is_answer else self.goes_on


def _progress(step: RunStep) -> float:
    """Returns the progress that a step reports, or not a number."""
    value = number((as_object(step.frame.get("params")) or {}).get("progress"))
    return math.nan if value is None or step.method != "notifications/progress" else value


def key_of(method: str, params: Object) -> str:
    """Returns what two requests must share to be the same: their method and arguments.

    ``_meta`` describes the client, and what a person answers in a round may differ.
    """
    kept = {name: value for name, value in params.items() if name not in {"_meta", "inputResponses"}}
    if method == "initialize":
        kept = {}
    if "task" in kept:  # how long it is kept is the client's choice
        kept["task"] = {}
    if kept.get("arguments") in ({}, None):
        kept.pop("arguments", None)
    return json.dumps([method, _plain(kept)], sort_keys=True, ensure_ascii=False)


def _plain(value: Json) -> Json:
    """Returns a value with 5.0 as 5: in JSON they are equal."""
    if (members := as_object(value)) is not None:
        return {name: _plain(each) for name, each in members.items()}
    if (items := as_list(value)) is not None:
        return [_plain(each) for each in items]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def matches(recorded: Json, given: Json) -> bool:
    """Whether two values are equal, if what is redacted in the recorded one is equal to anything."""
    if isinstance(recorded, str) and REDACTED_MARK in recorded:
        return True
    ours, theirs = as_object(recorded), as_object(given)
    if ours is not None and theirs is not None:
        return ours.keys() == theirs.keys() and all(matches(ours[name], theirs[name]) for name in ours)
    first, second = as_list(recorded), as_list(given)
    if first is not None and second is not None:
        return len(first) == len(second) and all(map(matches, first, second))
    return type(recorded) is type(given) and recorded == given


def is_odd(reason: Json) -> bool:
    """Whether the reason of a cancel is neither left out nor a string."""
    return reason is not None and not isinstance(reason, str)


def redacted(value: Json, path: str = "") -> Iterator[str]:
    """Yields the places of a value where something was redacted."""
    for name, each in (as_object(value) or {}).items():
        yield from redacted(each, f"{path}.{name}" if path else name)
    for each in as_list(value) or ():
        yield from redacted(each, f"{path}[]")
    if isinstance(value, str) and REDACTED_MARK in value:
        yield path


class Runs:
    """All runs of some recordings, in their order. ``damaged`` counts lines that could not be read.

    Raises:
        RecordingError: a file cannot be read, or is not a recording.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.damaged = 0
        sessions = [session for path in paths for session in self._read(path)]
        sessions.sort(key=lambda each: each.wall)
        self.all = [run for session in sessions for run in session.end()]
        self._by_key: dict[str, list[Run]] = {}
        for run in self.all:
            self._by_key.setdefault(key_of(run.method, run.params), []).append(run)
        self._wild = {key: json.loads(key) for key in self._by_key if REDACTED_MARK in key}
        for runs in self._by_key.values():
            for run in runs:
                _part(run, [each for each in runs if each.cancelled is None and each.answer is not None])

    def _read(self, path: Path) -> list[_SessionReader]:
        Recording(path).close()
        sessions = [_SessionReader(records.Header())]
        with open_parts(path) as file:
            for line in file:
                record = records.read_record(line) or {}
                kind = record.get("record")
                if kind == "session" and (header := records.Header.of(record, path)) is not None:
                    if "part" not in record:  # else it goes on in another file
                        sessions.append(_SessionReader(header))
                elif kind == "frame" and (head := records.read_head(record)) is not None:
                    sessions[-1].take(head, records.raw_of(record) or b"")
                elif kind == "event":
                    sessions[-1].event(record)
                elif line.strip():
                    self.damaged += kind != "gap"
        return sessions

    def find(self, method: str, params: Object) -> list[Run]:
        """Returns the runs of a request, in the recorded order."""
        key = key_of(method, params)
        if key in self._by_key:
            return self._by_key[key]
        given = json.loads(key)
        wild = next((wild for wild, value in self._wild.items() if matches(value, given)), None)
        return [] if wild is None else self._by_key[wild]

    def like(self, method: str, name: str) -> list[Run]:
        """Returns the runs of a method and a tool, with any arguments."""
        return [run for run in self.all if (run.method, run.name) == (method, name)]

    def nearest(self, method: str, params: Object) -> list[Run]:
        """Returns the runs of the request that differs least: in its arguments, or else in its tool."""
        same = [run for run in self.all if run.method == method]
        if not same:
            return []
        wanted = _leaves(json.loads(key_of(method, params)))
        best = max(same, key=lambda run: len(wanted & _leaves(json.loads(key_of(method, run.params)))))
        return self.find(method, best.params)

    def names(self, method: str) -> list[str]:
        """Returns the requests of a method, each once, as a person writes them; without any, the methods."""
        same = [run for run in self.all if run.method == method]
        if not same:
            return list(dict.fromkeys(run.method for run in self.all if run.id is not None))
        return list(dict.fromkeys(shown("", run.params) or method for run in same))


def shown(method: str, params: Object) -> str:
    """Returns a request in a line: ``tools/call count {"seconds":2}``."""
    name = str(params.get("name", params.get("uri", "")))
    rest = {key: value for key, value in params.items() if key not in {"name", "uri", "_meta", "arguments"}}
    given = params.get("arguments") or rest
    return " ".join(filter(None, (method, name, text(given)[:200] if given else "")))


def _leaves(value: Json, path: str = "") -> set[str]:
    """Returns the places of a value with what stands there."""
    if (members := as_object(value)) is not None:
        return {leaf for name, each in members.items() for leaf in _leaves(each, f"{path}/{name}")}
    if (items := as_list(value)) is not None:
        return {leaf for place, each in enumerate(items) for leaf in _leaves(each, f"{path}/{place}")}
    # a tool of the same name is nearer than any number of equal arguments
    weight = 100 if path == "/1/name" else 1
    return {f"{path}={value!r}#{count}" for count in range(weight)}


def _part(run: Run, others: Sequence[Run]) -> None:
    """Parts what answers the cancel of a run from what would have come anyway, by its runs that were not cancelled."""
    cancelled = run.cancelled
    if cancelled is None:
        return
    after = [each for each in run.steps if each.at > cancelled]
    more = [each for each in after if each.method and each.method != CANCEL and each.at > cancelled + TRANSIT]
    run.goes_on = bool(more)
    replies = [
        each
        for each in after
        if each.method == CANCEL or (each.is_answer and _answers_cancel(each, each.at - cancelled, others))
    ]
    run.steps = [each for each in run.steps if each not in replies]
    run.replies = [replace(each, at=each.at - cancelled) for each in replies]


def _answers_cancel(step: RunStep, lag: float, others: Sequence[Run]) -> bool:
    """Whether an answer that came ``lag`` seconds after a cancel is about the cancel."""
    usual = [each.answer for each in others if each.answer is not None]
    if usual:
        return not any(_same_kind(step, each) and _fits(step, each) for each in usual)
    return "result" not in step.frame or step.result.get("isError") is True or lag < TRANSIT


def _same_kind(step: RunStep, other: RunStep) -> bool:
    ours, theirs = (("result" in each.frame, each.result.get("isError", False)) for each in (step, other))
    return ours == theirs


def _fits(step: RunStep, other: RunStep) -> bool:
    same = all(step.frame.get(name) == other.frame.get(name) for name in ("result", "error"))
    return same or abs(step.at - other.at) < max(TRANSIT, _ALIKE * other.at)


class _SessionReader:
    """One session of a recording as it is read."""

    def __init__(self, header: records.Header) -> None:
        self.wall = header.wall
        self._is_probe = header.purpose == "probe"
        self._over_http = header.target.startswith(("http://", "https://"))
        self._runs: list[Run] = []
        self._by_id: dict[str, Run] = {}
        self._tokens: dict[str, Run] = {}
        self._waiting: dict[str, Run] = {}
        self._questions: dict[str, Run] = {}
        self._tasks: dict[str, Run] = {}
        self._at = 0.0

    def take(self, head: records.FrameHead, raw: bytes) -> None:
        """Takes a frame. What a tap wrote to the client itself, the server did not."""
        try:
            message = read_json(raw)
        except ValueError:
            return  # not a message: a server's debug output, for example
        self._at = max(self._at, head.at)
        for each in as_list(message) or [message]:
            frame = as_object(each)
            if frame is None:
                continue
            if head.direction == "out":
                self._sent(frame, head.at)
            elif not head.own:
                self._came(frame, head.at, head.stream)

    def event(self, record: dict[str, Json]) -> None:
        """Takes an event that tells what no frame shows: a stream that was closed, and that nothing more could be seen."""
        at, name, run = (
            number(record.get("mono")),
            record.get("event"),
            self._by_id.get(text(record.get("id"))),
        )
        if name == "connected":
            self._over_http = record.get("transport") == "http"
        elif at is None:
            pass
        elif name == "disconnected":
            for each in self._waiting.values():
                each.until = at - each.began
            self._waiting.clear()
        elif name == "cancel_signalled" and record.get("signal") == "stream_closed":
            self._cancel(record.get("id"), at)
        elif name in {"lost", "unwatched"} and run is not None:
            run.until = at - run.began

    def end(self) -> list[Run]:
        """Returns the runs, when all is taken."""
        for run in self._runs:
            if run.cancelled is not None:
                run.until = run.cancelled
            elif run.answer is None:
                run.until = min(run.until, self._at - run.began)
                if self._over_http and self._is_probe:
                    # the probe closed its stream, and no event says when
                    run.until = run.steps[-1].at if run.steps else 0.0
        return self._runs

    def _sent(self, frame: Object, at: float) -> None:
        method = frame.get("method")
        params = as_object(frame.get("params")) or {}
        if not isinstance(method, str):
            self._answered(text(frame.get("id")), at)
        elif method == CANCEL:
            self._cancel(params.get("requestId"), at, odd=is_odd(params.get("reason")))
        else:
            run = Run(at, method, params, frame.get("id"))
            self._runs.append(run)
            if "id" in frame:
                key = text(run.id)
                self._by_id[key] = run
                self._waiting.pop(key, None)
                self._waiting[key] = run
                if "progressToken" in run.meta:
                    self._tokens[text(run.meta["progressToken"])] = run

    def _cancel(self, id_: Json, at: float, *, odd: bool = False) -> None:
        run = self._by_id.get(text(id_))
        if run is not None and run.answer is None and run.cancelled is None:
            run.cancelled, run.odd = at - run.began, odd
            self._waiting.pop(text(id_), None)

    def _answered(self, id_: str, at: float) -> None:
        run = self._questions.pop(id_, None)
        if run is not None:
            run.steps.append(RunStep(run, at - run.began, asked=id_))

    def _came(self, frame: Object, at: float, stream: Json) -> None:
        run = self._owner(frame, stream)
        if run is None:
            return
        run.steps.append(RunStep(run, at - run.began, frame))
        if "method" not in frame:
            self._waiting.pop(text(run.id), None)
        elif "id" in frame:
            self._questions[text(frame["id"])] = run
        if run.steps[-1].task:
            self._tasks[run.steps[-1].task] = run

    def _owner(self, frame: Object, stream: Json) -> Run | None:
        """Returns the run that a message is for: the one it names, or the newest that waits, or the last of all."""
        if "method" not in frame:
            return _named(self._by_id, frame.get("id"))
        params = as_object(frame.get("params")) or {}
        token, meta = params.get("progressToken"), as_object(params.get("_meta")) or {}
        named = self._tasks.get(str(params.get("taskId"))) or _named(self._tokens, token)
        named = named or _named(self._by_id, meta.get(SUBSCRIPTION))
        if named is None and frame["method"] == CANCEL:
            named = self._questions.pop(text(params.get("requestId")), None)
        last = self._runs[-1] if self._runs else None
        return named or _named(self._by_id, stream) or next(reversed(self._waiting.values()), last)


def _named(runs: dict[str, Run], id_: Json) -> Run | None:
    """Returns the run of an id or a token, also if a server wrote ``"4"`` for 4."""
    if id_ is None:
        return None
    found = runs.get(text(id_))
    return found or next((run for key, run in runs.items() if key.strip('"') == str(id_)), None)
