"""The requests of recordings as runs: their messages with times, for a server that replays them.

Only frames are read, and the events about closed streams. So recordings of a tap and recordings written by hand work as well
as those of a client. A file may contain several sessions, one after the other.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from mcp_tui.demo import frames
from mcp_tui.demo.frames import Object
from mcp_tui.journal import records
from mcp_tui.journal.journal_files import open_parts
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol.inbound import SUBSCRIPTION
from mcp_tui.protocol.json_values import as_list, as_object, list_or_none, object_or_none
from mcp_tui.protocol.messages import Json, encode, number, read_json, text
from mcp_tui.protocol.states import TRANSIT

REDACTED_MARK: Final = "‹redacted"
"""The start of the mark in place of a secret."""

ANY_MARK: Final = "‹any›"
"""The wildcard that a user writes into a recording, as a value or within a text."""

CANCEL: Final = "notifications/cancelled"
_MARKED: Final = b"redacted"
"""A part of the redaction mark that is in the bytes of a message even if the mark is escaped."""

_ALIKE: Final = 0.1
"""The share by which the lengths of two runs of the same call may differ."""


@dataclass(eq=False)
class RunStep:
    """One message of a run, ``at`` seconds after the request. A step without a message is the client's answer to ``asked``.

    ``method`` is empty for a response. ``asked`` is the id of a request from the server, as JSON. The message is parsed
    when it is needed, because a recording may have thousands.
    """

    of: Run
    at: float
    raw: bytes = b""
    method: str = ""
    asked: str = ""

    @cached_property
    def frame(self) -> Object:
        """The message."""
        try:
            return as_object(read_json(self.raw))
        except ValueError:  # no message, or an edited one
            return {}

    @property
    def is_answer(self) -> bool:
        """Whether the message answers the request."""
        return bool(self.raw) and not self.method

    @property
    def result(self) -> Object:
        """The result of an answer; empty without one."""
        return as_object(self.frame.get("result"))

    @property
    def task(self) -> str:
        """The id of the task that the answer creates; empty for none."""
        if b"taskId" not in self.raw:
            return ""
        inner = as_object(self.result.get("task"))
        handle = self.result if self.result.get("resultType") == "task" else inner
        return str(handle.get("taskId", ""))

    @property
    def asks_in_a_round(self) -> bool:
        """Whether the result asks for input (2026-07-28)."""
        return self.result.get("resultType") == "input_required"

    @property
    def is_question(self) -> bool:
        """Whether the message is a request from the server."""
        return bool(self.method) and "id" in self.frame


@dataclass(slots=True, eq=False)
class Run:
    """One recorded request or notification of a client, with the server's messages about it.

    Times are in seconds after the request, except ``began``, which is in monotonic seconds.

    Attributes:
        began: the time of the request.
        method: the method of the request.
        params: its parameters.
        id: its id; ``None`` for a notification.
        steps: the server's messages, apart from ``replies``.
        replies: the reactions to its cancel, with times in seconds after the cancel.
        until: the time until which the run was observed without a cancel.
        cancelled: the time of its cancel.
        odd: whether the reason of the cancel was not a string, which some servers refuse.
        continues: whether messages such as progress continued after the cancel.
        marked: whether it may contain redacted text.
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
    continues: bool = False
    marked: bool = False

    @property
    def name(self) -> str:
        """The tool, prompt, or resource; empty for other methods."""
        return str(self.params.get("name", self.params.get("uri", "")))

    @property
    def meta(self) -> Object:
        """The ``_meta`` of the request."""
        return as_object(self.params.get("_meta"))

    @property
    def modern(self) -> bool:
        """Whether the request has its protocol version in ``_meta`` (2026-07-28)."""
        return frames.VERSION_KEY in self.meta

    @property
    def answer(self) -> RunStep | None:
        """The first answer that is not a reaction to a cancel; ``None`` without one."""
        return next((each for each in self.steps if each.is_answer), None)

    @property
    def result(self) -> Object:
        """The result; empty without one."""
        return {} if self.answer is None else self.answer.result

    def timeline(self, spare: Run | None) -> list[RunStep]:
        """Returns the steps as if there had been no cancel; after :attr:`until`, those of the uncancelled run ``spare``.

        If the run was observed for longer than ``spare`` took, and had no answer, the result has no answer either.
        """
        answer = None if spare is None else spare.answer
        if self.answer is not None or spare is None or answer is None or answer.at < self.until - TRANSIT:
            return self.steps
        seen = [each for each in self.steps if each.at <= self.until]
        last = max((_progress(each) for each in seen), default=-math.inf)
        more = (each for each in spare.steps if each.at > self.until or each.is_answer)
        return seen + [each for each in more if _progress(each) > last or math.isnan(_progress(each))]

    def still_sends(self, step: RunStep) -> bool:
        """Whether a call that is cancelled like this run still sends a step."""
        return self.answer is not None if step.is_answer else self.continues


def _progress(step: RunStep) -> float:
    """Returns the progress in a step; NaN if the step is no progress notification."""
    value = number(as_object(step.frame.get("params")).get("progress"))
    return math.nan if value is None or step.method != "notifications/progress" else value


def key_of(method: str, params: Object, schema: Object | None = None, any_of: Collection[str] = ()) -> str:
    """Returns a key that is equal for requests with the same method and arguments.

    The key ignores ``_meta``, the answers of the user in a round, arguments that equal their defaults in the tool's
    ``schema``, and members in ``any_of``.
    """
    kept = {name: value for name, value in params.items() if name not in {"_meta", "inputResponses"}}
    if method == "initialize":
        kept = {}
    if "task" in kept:  # the client may choose any lifetime
        kept["task"] = {}
    if schema and "arguments" in kept:
        kept["arguments"] = _without_defaults(kept["arguments"], schema)
    if any_of:
        kept = {"name": kept.get("name"), **as_object(_without(kept, any_of))}
    if kept.get("arguments") in ({}, None):
        kept.pop("arguments", None)
    return _written([method, kept])


def _written(value: Json) -> str:
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _without_defaults(value: Json, schema: Json) -> Json:
    """Returns a value without the members that equal the defaults of a schema's properties."""
    members, properties = object_or_none(value), object_or_none(as_object(schema).get("properties"))
    if members is None or properties is None:
        return value
    kept: Object = {}
    for name, each in members.items():
        schema = as_object(properties.get(name))
        made = _without_defaults(each, schema)
        if "default" in schema and _written(_without_defaults(schema["default"], schema)) == _written(made):
            continue
        kept[name] = made
    return kept


def _without(value: Json, names: Collection[str]) -> Json:
    """Returns a value without the members that have one of some names, at any depth."""
    if (members := object_or_none(value)) is not None:
        return {name: _without(each, names) for name, each in members.items() if name not in names}
    if (items := list_or_none(value)) is not None:
        return [_without(each, names) for each in items]
    return value


def _plain(value: Json) -> Json:
    """Returns a value with whole floats as integers, since 5.0 and 5 are equal in JSON."""
    if (members := object_or_none(value)) is not None:
        return {name: _plain(each) for name, each in members.items()}
    if (items := list_or_none(value)) is not None:
        return [_plain(each) for each in items]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def matches(recorded: Json, sent: Json) -> bool:
    """Whether two values are equal; redacted texts and wildcards in the recorded one equal any value."""
    if isinstance(recorded, str) and (REDACTED_MARK in recorded or recorded == ANY_MARK):
        return True
    if isinstance(recorded, str) and isinstance(sent, str):
        parts = map(re.escape, recorded.split(ANY_MARK))
        return re.fullmatch(".*".join(parts), sent, re.DOTALL) is not None
    ours, theirs = object_or_none(recorded), object_or_none(sent)
    if ours is not None and theirs is not None:
        return ours.keys() == theirs.keys() and all(matches(ours[name], theirs[name]) for name in ours)
    first, second = list_or_none(recorded), list_or_none(sent)
    if first is not None and second is not None:
        return len(first) == len(second) and all(map(matches, first, second))
    return type(recorded) is type(sent) and recorded == sent


def is_odd(reason: Json) -> bool:
    """Whether the reason of a cancel is present but not a string."""
    return reason is not None and not isinstance(reason, str)


def redacted(value: Json, path: str = "") -> Iterator[str]:
    """Yields the paths of redacted texts in a value."""
    for name, each in as_object(value).items():
        yield from redacted(each, f"{path}.{name}" if path else name)
    for each in as_list(value):
        yield from redacted(each, f"{path}[]")
    if isinstance(value, str) and REDACTED_MARK in value:
        yield path


class Runs:
    """All runs of some recordings, in recorded order.

    ``damaged`` counts lines that could not be read. Members of requests with a name in ``any_of`` may have any value.

    Raises:
        RecordingError: a file cannot be read, or is not a recording.
    """

    def __init__(self, paths: Iterable[Path], *, any_of: Collection[str] = ()) -> None:
        self.damaged = 0
        self._any_of = frozenset(any_of)
        sessions = [session for path in paths for session in self._read(path)]
        sessions.sort(key=lambda each: each.wall)
        self.all = [run for session in sessions for run in session.end()]
        self.makes_tasks = any(each.task for run in self.all for each in run.steps)
        self._schemas: dict[str, Object] = {}
        """The input schemas by the names of tools, from the newest list."""
        for run in self.all:
            for tool in as_list(run.result.get("tools")) if run.method == "tools/list" else ():
                members = as_object(tool)
                self._schemas[str(members.get("name"))] = as_object(members.get("inputSchema"))
        self._by_key: dict[str, list[Run]] = {}
        for run in self.all:
            self._by_key.setdefault(self.key(run.method, run.params), []).append(run)
        self._wild = {key: json.loads(key) for key in self._by_key if REDACTED_MARK in key or ANY_MARK in key}
        for runs in self._by_key.values():
            if any(each.cancelled is not None for each in runs):
                usual = UsualAnswers(each.answer for each in runs if each.cancelled is None)
                for run in runs:
                    _part(run, usual)

    def key(self, method: str, params: Object) -> str:
        """Returns the key of a request; see :func:`key_of`."""
        schema = self._schemas.get(str(params.get("name"))) if method == "tools/call" else None
        return key_of(method, params, schema, self._any_of)

    def _read(self, path: Path) -> list[_SessionReader]:
        Recording(path).close()
        sessions = [_SessionReader(records.Header())]
        with open_parts(path) as file:
            for line in file:
                record = records.read_record(line) or {}
                kind = record.get("record")
                if kind == "session" and (header := records.Header.of(record, path)) is not None:
                    if "part" not in record:  # a later part continues the session
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
        key = self.key(method, params)
        if key in self._by_key:
            return self._by_key[key]
        request = json.loads(key)
        wild = next((wild for wild, value in self._wild.items() if matches(value, request)), None)
        return [] if wild is None else self._by_key[wild]

    def like(self, method: str, name: str) -> list[Run]:
        """Returns the runs of a method and of a tool, prompt, or resource, with any arguments."""
        return [run for run in self.all if (run.method, run.name) == (method, name)]

    def nearest(self, method: str, params: Object) -> list[Run]:
        """Returns the runs of the request with the same method and name whose arguments differ least."""

        def leaves(of: Object) -> set[str]:
            return _leaves(json.loads(self.key(method, of)))

        wanted, name = leaves(params), params.get("name")
        alike = (runs for runs in self._by_key.values() if runs[0].method == method)
        same = [runs for runs in alike if runs[0].params.get("name") == name]
        return max(same, key=lambda runs: len(wanted & leaves(runs[0].params)), default=list[Run]())

    def names(self, method: str) -> list[str]:
        """Returns the recorded requests of a method as texts, each once; if there are none, the recorded methods."""
        same = [run for run in self.all if run.method == method]
        if not same:
            return list(dict.fromkeys(run.method for run in self.all if run.id is not None))
        return list(dict.fromkeys(shown("", run.params) or method for run in same))


def shown(method: str, params: Object) -> str:
    """Returns a request in one line: ``tools/call count {"seconds":2}``."""
    name = str(params.get("name", params.get("uri", "")))
    rest = {key: value for key, value in params.items() if key not in {"name", "uri", "_meta", "arguments"}}
    arguments = params.get("arguments") or rest
    return " ".join(filter(None, (method, name, text(arguments)[:200] if arguments else "")))


def _leaves(value: Json, path: str = "") -> set[str]:
    """Returns the paths in a value, each with the value there."""
    if (members := object_or_none(value)) is not None:
        return {leaf for name, each in members.items() for leaf in _leaves(each, f"{path}/{name}")}
    if (items := list_or_none(value)) is not None:
        return {leaf for place, each in enumerate(items) for leaf in _leaves(each, f"{path}/{place}")}
    return {f"{path}={value!r}"}


class UsualAnswers:
    """The answers of uncancelled calls, by kind: a result, an error, or the error of a tool."""

    def __init__(self, answers: Iterable[RunStep | None]) -> None:
        self._times: dict[str, list[float]] = {}
        self._contents: dict[str, set[str]] = {}
        for each in answers:
            if each is not None:
                kind, content = self._parts(each)
                self._times.setdefault(kind, []).append(each.at)
                self._contents.setdefault(kind, set()).add(content)
        for times in self._times.values():
            times.sort()

    def __bool__(self) -> bool:
        return bool(self._times)

    def include(self, step: RunStep) -> bool:
        """Whether an answer is usual: by its content, or by its time."""
        kind, content = self._parts(step)
        # Two times are alike if they differ by less than the time in transit, or by less than a share of the length.
        low = min(step.at - TRANSIT, step.at / (1 + _ALIKE))
        high = max(step.at + TRANSIT, step.at / (1 - _ALIKE))
        times = self._times.get(kind, [])
        known = content in self._contents.get(kind, ())
        return known or bisect_right(times, low) < bisect_left(times, high)

    @staticmethod
    def _parts(step: RunStep) -> tuple[str, str]:
        frame = step.frame
        kind = _written(["result" in frame, step.result.get("isError", False)])
        return kind, _written([frame.get("result"), frame.get("error")])


def _part(run: Run, usual: UsualAnswers) -> None:
    """Separates the reactions to the cancel of a run from its other steps, by comparison with uncancelled runs."""
    cancelled = run.cancelled
    if cancelled is None:
        return
    after = [each for each in run.steps if each.at > cancelled]
    more = [each for each in after if each.method and each.method != CANCEL and each.at > cancelled + TRANSIT]
    run.continues = bool(more)
    replies = [
        each
        for each in after
        if each.method == CANCEL or (each.is_answer and _answers_cancel(each, each.at - cancelled, usual))
    ]
    run.steps = [each for each in run.steps if each not in replies]
    run.replies = [replace(each, at=each.at - cancelled) for each in replies]


def _answers_cancel(step: RunStep, lag: float, usual: UsualAnswers) -> bool:
    """Whether an answer, ``lag`` seconds after a cancel, is a reaction to the cancel."""
    if usual:
        return not usual.include(step)
    return "result" not in step.frame or step.result.get("isError") is True or lag < TRANSIT


class _SessionReader:
    """Reads one session of a recording, record by record."""

    def __init__(self, header: records.Header) -> None:
        self.wall = header.wall
        self._is_probe = header.purpose == "probe"
        self._over_http = header.target.startswith(("http://", "https://"))
        self._runs: list[Run] = []
        self._by_id = _RunNames()
        self._tokens = _RunNames()
        self._waiting: dict[str, Run] = {}
        self._questions: dict[str, Run] = {}
        self._tasks: dict[str, Run] = {}
        self._at = 0.0

    def take(self, head: records.FrameHead, raw: bytes) -> None:
        """Reads a frame. Messages that a tap itself wrote to the client are not from the server, and are ignored."""
        if head.direction == "in" and (head.own or (head.id is not None and not head.method)):
            self._at = max(self._at, head.at)
            if not head.own:  # an answer, which may be large
                self._add(self._by_id.find(head.id), head.at, raw)
            return
        try:
            message = read_json(raw)
        except ValueError:
            return  # not a message: a server's debug output, for example
        self._at = max(self._at, head.at)
        batch = list_or_none(message)
        for each in batch or [message]:
            frame = object_or_none(each)
            if frame is None:
                continue
            part = raw if batch is None else encode(frame)
            if head.direction == "out":
                self._sent(frame, head.at, part)
            else:
                self._came(frame, head.at, head.stream, part)

    def event(self, record: dict[str, Json]) -> None:
        """Reads an event that no frame shows: a closed stream, or the end of the observation."""
        at, name = number(record.get("mono")), record.get("event")
        run = self._by_id.exact.get(_id_text(record.get("id")))
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
        """Returns the runs after the last record."""
        for run in self._runs:
            if run.cancelled is not None:
                run.until = run.cancelled
            elif run.answer is None:
                run.until = min(run.until, self._at - run.began)
                if self._over_http and self._is_probe:
                    # The probe closed the stream without an event, so the last step is the last certain time.
                    run.until = run.steps[-1].at if run.steps else 0.0
        return self._runs

    def _sent(self, frame: Object, at: float, raw: bytes) -> None:
        method = frame.get("method")
        params = as_object(frame.get("params"))
        if not isinstance(method, str):
            self._answered(_id_text(frame.get("id")), at)
        elif method == CANCEL:
            self._cancel(params.get("requestId"), at, odd=is_odd(params.get("reason")))
        else:
            run = Run(at, method, params, frame.get("id"), marked=_MARKED in raw)
            self._runs.append(run)
            if "id" in frame:
                key = _id_text(run.id)
                self._by_id.put(key, run)
                self._waiting.pop(key, None)
                self._waiting[key] = run
                if "progressToken" in run.meta:
                    self._tokens.put(_id_text(run.meta["progressToken"]), run)

    def _cancel(self, id_: Json, at: float, *, odd: bool = False) -> None:
        run = self._by_id.exact.get(_id_text(id_))
        if run is not None and run.answer is None and run.cancelled is None:
            run.cancelled, run.odd = at - run.began, odd
            self._waiting.pop(_id_text(id_), None)

    def _answered(self, id_: str, at: float) -> None:
        run = self._questions.pop(id_, None)
        if run is not None:
            run.steps.append(RunStep(run, at - run.began, asked=id_))

    def _came(self, frame: Object, at: float, stream: Json, raw: bytes) -> None:
        method = frame.get("method", "")
        run = self._owner(frame, stream)
        self._add(run, at, raw, str(method))
        if method and run is not None and "id" in frame:
            self._questions[_id_text(frame["id"])] = run

    def _add(self, run: Run | None, at: float, raw: bytes, method: str = "") -> None:
        if run is None:
            return
        step = RunStep(run, at - run.began, raw, method)
        run.steps.append(step)
        run.marked |= _MARKED in raw
        if not method:
            self._waiting.pop(_id_text(run.id), None)
        if step.task:
            self._tasks[step.task] = run

    def _owner(self, frame: Object, stream: Json) -> Run | None:
        """Returns the run of a message: the run that the message names, else the newest waiting run, else the last run."""
        if "method" not in frame:
            return self._by_id.find(frame.get("id"))
        params = as_object(frame.get("params"))
        token, meta = params.get("progressToken"), as_object(params.get("_meta"))
        named = self._tasks.get(str(params.get("taskId"))) or self._tokens.find(token)
        named = named or self._by_id.find(meta.get(SUBSCRIPTION))
        if named is None and frame["method"] == CANCEL:
            named = self._questions.pop(_id_text(params.get("requestId")), None)
        last = self._runs[-1] if self._runs else None
        return named or self._by_id.find(stream) or next(reversed(self._waiting.values()), last)


def _id_text(id_: Json) -> str:
    """Returns the JSON of an id or a token."""
    return str(id_) if type(id_) is int else text(id_)


class _RunNames:
    """The newest runs by id, or by token."""

    def __init__(self) -> None:
        self.exact: dict[str, Run] = {}
        self._loose: dict[str, Run] = {}

    def put(self, key: str, run: Run) -> None:
        """Adds a run under the JSON of its id or token."""
        self.exact[key] = self._loose[key.strip('"')] = run

    def find(self, id_: Json) -> Run | None:
        """Returns the run of an id or a token, even if the server wrote ``"4"`` for 4; ``None`` if there is none."""
        if id_ is None:
            return None
        return self.exact.get(_id_text(id_)) or self._loose.get(str(id_))
