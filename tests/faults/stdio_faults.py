"""Faults of servers on stdio: what each does (see ``server.py``), and what a person reads of it."""

# ruff: noqa: E501 - one line a fault
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One bad thing. ``says`` must be among the words about it; ``settings`` are those of the client."""

    name: str
    does: str
    says: str
    when: str = "odd"
    state: str = "completed"
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


def _during(*rows: tuple[str, str, str, str]) -> list[Fault]:
    return [Fault(name=name, does=does, state=state, says=says) for name, does, state, says in rows]


def _connecting(*rows: tuple[str, str, str, str]) -> list[Fault]:
    return [Fault(name=name, when=when, does=does, says=says, state="") for name, when, does, says in rows]


SOON = {"timeout": 0.2}
SMALL = {"max_message": 100_000}

LINES = _during(
    ("a log line on stdout", "write(b'starting up\\n')", "completed", "not JSON"),
    ("an empty line", "write(b'\\n\\r\\n')", "completed", "ok"),
    ("a byte order mark", "write(b'\\xef\\xbb\\xbf')", "completed", "ok"),
    ("CRLF line endings", "write(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': text('crlf')}).encode() + b'\\r\\n'); skip()", "completed", "crlf"),
    ("bytes that are not UTF-8", "write(b'{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\\xff\\xfe\"}}\\n')", "completed", "ok"),
    ("a NUL in a line", "write(b'a\\0b\\n')", "completed", "a"),
    ("terminal escapes on stdout", "write(b'\\x1b]0;title\\x07\\x1b[2J\\n')", "completed", "title"),
    ("half a message, then a newline", "write(b'{\"jsonrpc\":\"2.0\",\\n')", "completed", "malformed: EOF"),
    ("a response written in two halves", "raw = json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': text('halves')}).encode(); write(raw[:20]); write(raw[20:] + b'\\n'); skip()", "completed", "halves"),
    ("a JSON number as a message", "write(b'7\\n')", "completed", "7"),
    ("a JSON string as a message", "write(b'\"hello\"\\n')", "completed", "hello"),
    ("an empty JSON array", "write(b'[]\\n')", "completed", "batch"),
    ("a batch in a batch", "write(b'[[' + json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': text('nested')}).encode() + b']]\\n'); skip()", "completed", "a batch in a batch"),
    ("a result nested 300 levels deep", "write(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"deep\"}],\"structuredContent\":' % asked['id'] + b'{\"a\":' * 300 + b'1' + b'}' * 300 + b'}}\\n'); skip()", "completed", "deep"),
    ("a batch of responses", "write(b'[' + json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': text('batched')}).encode() + b']\\n'); skip()", "completed", "batch"),
    ("an empty object", "write(b'{}\\n')", "completed", "{}"),
    ("JSON nested 1,000 levels deep", "write(b'[' * 1000 + b']' * 1000 + b'\\n')", "completed", "["),
    ("an integer with 1,000 digits", "say(method='notifications/message', params={'level': 'info', 'data': 10 ** 999})", "completed", "1000"),
    ("NaN in a result", "write(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[],\"structuredContent\":{\"x\":NaN}}}\\n' % asked['id']); skip()", "", ""),
    ("a lone surrogate in a result", "write(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\\\ud83d\"}]}}\\n' % asked['id']); skip()", "completed", "a"),
    ("a duplicate key in an object", "write(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"id\":%d,\"result\":{}}\\n' % (asked['id'], asked['id'])); skip()", "completed", "duplicate member"),
)  # fmt: skip

ANSWERS = _during(
    ("a response with an unknown id", "answer({}, id=987654)", "completed", "987654"),
    ("a response sent twice", "answer(text('ok'))", "completed", "ok"),
    ("the id as a string", "answer(text('texted'), id=str(asked['id'])); skip()", "completed", "id"),
    ("a null id", "write(b'{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\\n')", "completed", "null"),
    ("a fractional id", "answer({}, id=0.5)", "completed", "0.5"),
    ("the id `true`", "answer({}, id=True)", "completed", "true"),
    ("an object as the id", "answer({}, id={'a': 1})", "completed", "id"),
    ("a huge id", "answer({}, id=10 ** 400)", "completed", "a number of 1329 bits"),
    ("a result and an error", "say(id=asked['id'], result={}, error={'code': 1, 'message': 'no'}); skip()", "failed", "both"),
    ("a method and a result", "say(id=asked['id'], method='tools/call', result=text('both')); skip()", "completed", "a message with method and result"),
    ("neither result nor error", "say(id=asked['id']); skip()", "failed", "neither"),
    ("a result that is a string", "answer('done'); skip()", "failed", "not an object"),
    ("a result that is null", "answer(None); skip()", "failed", "not an object"),
    ("a result that is a list", "answer([1]); skip()", "failed", "not an object"),
    ("content that is a string", "answer({'content': 'hello'}); skip()", "completed", ""),
    ("content of an unknown type", "answer({'content': [{'type': 'hologram', 'data': 1}]}); skip()", "completed", ""),
    ("an image that is not base64", "answer({'content': [{'type': 'image', 'mimeType': 'image/png', 'data': '%%%'}]}); skip()", "completed", ""),
    ("isError that is a string", "answer({**text('x'), 'isError': 'yes'}); skip()", "completed", "not a boolean"),
    ("an error without a code", "say(id=asked['id'], error={'message': 'no code'}); skip()", "failed", "no code"),
    ("an error that is a string", "say(id=asked['id'], error='it broke'); skip()", "failed", "error"),
    ("an error whose code is a string", "error('E1', 'bad'); skip()", "failed", "bad"),
    ("an error whose message is a number", "error(-1, 5); skip()", "failed", "-1"),
    ("an error with terminal escapes", "error(-32000, '\\x1b[31mred\\u202e'); skip()", "failed", "red"),
    ("the wrong jsonrpc version", "write(b'{\"jsonrpc\":\"1.0\",\"id\":%d,\"result\":{}}\\n' % asked['id']); skip()", "", "jsonrpc"),
    ("no jsonrpc member", "write(b'{\"id\":%d,\"result\":{\"content\":[]}}\\n' % asked['id']); skip()", "", "jsonrpc"),
)  # fmt: skip

NOTIFICATIONS = _during(
    ("progress for an unknown token", "note('progress', progressToken='nobody', progress=1)", "completed", "nobody"),
    ("progress for the token as a text", "note('progress', progressToken=str(asked['id']), progress=1)", "completed", "the progress token '"),
    ("progress for the token as a fraction", "note('progress', progressToken=float(asked['id']), progress=1)", "completed", "the progress token "),
    ("progress that decreases", "note('progress', progressToken=asked['id'], progress=2); note('progress', progressToken=asked['id'], progress=1)", "completed", "must increase"),
    ("progress that is a string", "note('progress', progressToken=asked['id'], progress='half')", "completed", "half"),
    ("progress after the response", "answer(text('ok')); note('progress', progressToken=asked['id'], progress=1); skip()", "completed", "ok"),
    ("progress without parameters", "say(method='notifications/progress')", "completed", "token"),
    ("a cancel for an unknown request", "note('cancelled', requestId=4711)", "completed", "cancelled"),
    ("an unknown notification", "note('unheard_of', a=1)", "completed", "unheard_of"),
    ("an unknown log level", "note('message', level='apocalyptic', data='boom')", "completed", "boom"),
    ("a log message without data", "say(method='notifications/message', params=[])", "completed", "ok"),
    ("ten thousand notifications", "[note('message', level='info', data=str(n)) for n in range(10000)]", "completed", "9999"),
    ("an unknown request", "say(id='x', method='server/explode', params={})", "completed", "server/explode"),
    ("two requests with one id", "say(id='x', method='ping'); say(id='x', method='ping')", "completed", "ping"),
    ("a request without parameters", "say(id='s', method='sampling/createMessage')", "completed", "sampling"),
    ("a method that is a number", "say(id='m', method=5)", "completed", "method"),
    ("a list that changes between its pages", "note('tools/list_changed')", "completed", "list_changed"),
)  # fmt: skip

PROCESSES = [
    *_during(
        ("it exits in the middle of a call", "sys.stderr.write('out of cheese\\n'); sys.stderr.flush(); os._exit(3)", "lost", "out of cheese"),
        ("it is killed in the middle of a call", "os.kill(os.getpid(), 9)", "lost", "SIGKILL"),
        ("it closes stdout and keeps running", "os.close(1); import time; time.sleep(60)", "lost", "stdout"),
        ("it exits in the middle of a line", "write(b'{\"jsonrpc\"'); os._exit(0)", "lost", "exited"),
        ("it closes stderr", "os.close(2)", "completed", "ok"),
        ("a flood on stderr", "sys.stderr.write('noise\\n' * 20000); sys.stderr.flush()", "completed", "noise"),
        ("stderr that is not UTF-8", "os.write(2, b'\\xff\\xfe\\n')", "completed", r"\xff\xfe"),
        ("stderr without a newline", "os.write(2, b'x' * 300000)", "completed", "xxx"),
    ),
    Fault(name="it never responds", does="skip()", says="timed out", state="cancel_requested", settings=SOON),
    Fault(
        name="it rejects the cancel without an id", does="sys.stdin.buffer.readline(); say(id=None, error={'code': -32600, 'message': 'what?'}); skip()",
        says="rejected a message without naming it (-32600)", state="cancel_requested", settings=SOON,
    ),
    Fault(
        name="an early error, and progress that goes on",
        does="sys.stdin.buffer.readline(); error(0, 'cancelled'); note('progress', progressToken=asked['id'], progress=1); skip()",
        says="late progress", state="cancel_requested", settings=SOON,
    ),
    Fault(
        name="an answer above the cap", does="answer(text('x' * 300_000)); skip()", says="above the cap", state="failed", settings=SMALL
    ),
    Fault(
        name="a notification above the cap", does="note('message', level='info', data='x' * 300_000)", says="above the cap", settings=SMALL
    ),
    Fault(name="rubbish above the cap", does="write(b'x' * 300_000 + b'\\n')", says="above the cap", settings=SMALL),
]  # fmt: skip

CONNECTING = _connecting(
    ("it exits at once", "start", "sys.exit(3)", "exited with code 3"),
    ("it exits with a stack trace", "start", "raise ValueError('no database')", "ValueError: no database"),
    ("it refuses initialize", "initialize", "error(-32603, 'license expired'); skip()", "license expired"),
    ("it exits during initialize", "initialize", "os._exit(7)", "code 7"),
    ("initialize returns a string", "initialize", "answer('hi'); skip()", "initialize"),
    ("initialize returns no version", "initialize", "answer({'capabilities': {}}); skip()", "protocolVersion"),
    ("a future protocol version", "initialize", "answer({'protocolVersion': '2999-01-01', 'capabilities': {}, 'serverInfo': {'name': 'x', 'version': '1'}}); skip()", "2999-01-01"),
    ("a protocol version that is a number", "initialize", "answer({'protocolVersion': 5, 'capabilities': {}, 'serverInfo': {}}); skip()", "protocolVersion"),
)  # fmt: skip

LISTS = [
    Fault(name=name, when="tools/list", does=does, says=says)
    for name, does, says in (
        ("tools/list returns an error", "error(-32603, 'no tools today'); skip()", "no tools today"),
        ("the list is a string", "answer({'tools': 'many'}); skip()", "tools"),
        ("a list response without the list", "answer({}); skip()", "tools"),
        ("a tool that is a number", "answer({'tools': [5, {'name': 'ok', 'inputSchema': {}}]}); skip()", ""),
        ("a tool without a name", "answer({'tools': [{'inputSchema': {}}]}); skip()", ""),
        ("a tool without a schema", "answer({'tools': [{'name': 'ok'}]}); skip()", ""),
        ("a cursor that never ends", "answer({'tools': [], 'nextCursor': 'again'}); skip()", "cursor"),
        ("a cursor that is a number", "answer({'tools': [], 'nextCursor': 7}); skip()", ""),
        ("a schema that refers to itself", "answer({'tools': [{'name': 'ok', 'inputSchema': {'$ref': '#'}}]}); skip()", ""),
        ("a schema on another host", "answer({'tools': [{'name': 'ok', 'inputSchema': {'$ref': 'http://127.0.0.1:9/x'}}]}); skip()", ""),
    )
]  # fmt: skip

STDIO = [*LINES, *ANSWERS, *NOTIFICATIONS, *PROCESSES, *CONNECTING, *LISTS]
