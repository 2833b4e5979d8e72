"""A client for the judge of clients, in a few lines: it obeys every rule, but for the fault that its argument names.

``python judged_client.py FAULT [modern]`` does what ``MCP_EXPERIMENT`` says, over stdio or HTTP, in 2025-11-25 or
2026-07-28. A fault is a rule and what is wrong: ``K-07 dies``. ``judged_client.mjs`` is the same client for Node.
"""

from __future__ import annotations

import http.client
import io
import itertools
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

RULE, _, FAULT = (sys.argv[1] if len(sys.argv) > 1 else "good").partition(" ")
MODERN = "modern" in sys.argv[2:]
EXPERIMENT = os.environ["MCP_EXPERIMENT"]
URL = os.environ.get("MCP_SERVER_URL", "")
TOOL, ARGUMENTS = os.environ["MCP_TOOL"], json.loads(os.environ["MCP_ARGUMENTS"])
LIMIT = float(os.environ["MCP_TIMEOUT"])
MAXIMUM = float(os.environ["MCP_MAX_TIMEOUT"] or "inf")
KEY = "io.modelcontextprotocol/"
INFO = {"name": "judged", "version": "1"}
META: dict[str, Any] = {
    KEY + "protocolVersion": "2026-07-28",
    KEY + "clientInfo": INFO,
    KEY + "clientCapabilities": {"extensions": {KEY + "tasks": {}}},
}
WAITS = 30.0
HARMED_BY = {"K-07": ("limit", "stop"), "K-08": ("late-progress",), "K-09": ("crossing",), "K-10": ("question",),
             "K-11": ("unknown-cancel",)}  # fmt: skip
"""The experiments in which a message of the judge's does harm, by the rule."""
LEAVES = RULE == "K-15" and ((FAULT == "leaves" and EXPERIMENT.startswith("sig")) or FAULT == EXPERIMENT)
"""Whether the server is left behind by the signal of this experiment."""
LOCK = threading.RLock()
NEWS = threading.Condition(LOCK)


class Closing:
    """Closes the connection of a request before it returns, so that what is sent next comes after it."""

    def __init__(self) -> None:
        self.stream: socket.socket | None = None
        self.is_set = False

    def connected(self, stream: socket.socket) -> None:
        with LOCK:
            self.stream = stream
            if self.is_set:
                self.set()

    def set(self) -> None:
        with LOCK, suppress(OSError):
            self.is_set = True
            if self.stream is not None:
                self.stream.shutdown(socket.SHUT_RDWR)


def planted(rule: str, *faults: str) -> bool:
    return rule == RULE and FAULT in faults


class Pipe:
    """The server as a process."""

    def __init__(self, client: Client) -> None:
        words = shlex.split(os.environ["MCP_SERVER_COMMAND"])
        self.process = subprocess.Popen(words, stdin=-1, stdout=-1, bufsize=0, start_new_session=True)
        self.client = client
        if not (
            LEAVES or (RULE == "K-15" and FAULT == "no guard") or (RULE == "K-14" and EXPERIMENT == "exit")
        ):
            self.guard()
        threading.Thread(target=self.read, daemon=True).start()

    def guard(self) -> None:
        """Starts a process that ends the server when this one is gone, whatever ended it."""
        reader, writer = os.pipe()
        if os.fork():
            os.close(reader)
            os.set_inheritable(writer, False)
            return
        os.setsid()
        os.close(writer)
        assert self.process.stdin is not None
        for number in (self.process.stdin.fileno(), 0, 1, 2):
            os.close(number)
        os.read(reader, 1)
        time.sleep(0.3)
        with suppress(OSError):
            os.kill(self.process.pid, signal.SIGKILL)
        os._exit(0)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in io.BufferedReader(self.process.stdout):  # pyright: ignore[reportArgumentType]
            self.client.take(json.loads(line))
        self.client.failed("reset")

    def send(self, message: dict[str, Any], closing: Closing | None = None) -> None:
        assert self.process.stdin is not None
        with LOCK, suppress(BrokenPipeError):  # the server may have ended
            # unbuffered: a signal may come within
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        """Ends the server: its stdin, then by signals."""
        if planted("K-14", "leaves") or LEAVES:
            return
        assert self.process.stdin is not None
        if planted("K-14", "terminates"):
            self.process.terminate()
            time.sleep(0.5)
        if not planted("K-14", "kills"):
            self.process.stdin.close()
            for end in (self.process.terminate, self.process.kill):
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(0.5)
                    return
                end()
        self.process.kill()
        self.process.wait()


class Http:
    """The server behind a URL."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.host, _, self.path = URL.removeprefix("http://").partition("/")
        self.session = ""

    def send(self, message: dict[str, Any], closing: Closing | None = None) -> None:
        if "method" in message and "id" in message:
            threading.Thread(target=self.post, args=(message, closing), daemon=True).start()
        else:
            self.post(message)

    def headers(self, message: dict[str, Any]) -> dict[str, str]:
        params = message.get("params", {})
        told = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if MODERN:
            name = params.get("taskId", params.get("name", ""))
            told |= {
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": message.get("method", ""),
                "Mcp-Name": name,
            }
        elif self.session:
            told |= {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": self.session}
        return told

    def post(self, message: dict[str, Any], closing: Closing | None = None) -> None:
        connection = http.client.HTTPConnection(self.host)
        fault = "reset"
        with suppress(OSError, http.client.HTTPException, ValueError):
            connection.request("POST", f"/{self.path}", json.dumps(message), self.headers(message))
            if closing is not None and (stream := connection.sock) is not None:
                closing.connected(stream)
            answer = connection.getresponse()
            fault = {404: "session", 502: "gateway", 503: "gateway", 504: "gateway"}.get(answer.status, "cut")
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            if answer.headers.get("Content-Type") == "text/event-stream":
                for line in answer:
                    if line.startswith(b"data:"):
                        self.client.take(json.loads(line[5:]))
            elif (body := answer.read()) and answer.status == 200:
                self.client.take(json.loads(body))
        connection.close()
        id = message.get("id")
        if id in self.client.open and id not in self.client.given_up and message["method"] == "tools/call":
            self.client.failed(fault)

    def end(self) -> None:
        if MODERN or planted("K-14", "leaves", "kills"):
            return
        connection = http.client.HTTPConnection(self.host)
        session = "another" if planted("K-14", "terminates") else self.session
        connection.request("DELETE", f"/{self.path}", headers={"Mcp-Session-Id": session})
        connection.getresponse().read()


class Client:
    def __init__(self) -> None:
        self.ids = itertools.count(0 if RULE == "good" else 1)
        self.answers: dict[Any, dict[str, Any]] = {}
        self.open: dict[Any, Closing] = {}
        self.given_up: list[Any] = []
        self.asked: list[Any] = []
        self.taken_back: list[Any] = []
        self.progress_at: dict[Any, float] = {}
        self.deaf = False
        self.poison = False
        self.mistaken = False
        self.fault = ""
        self.transport: Pipe | Http = Http(self) if URL else Pipe(self)

    # -- what the server sends ---------------------------------------------------------------------------------

    def take(self, message: dict[str, Any]) -> None:
        if self.deaf:
            return
        with NEWS:
            if "method" in message and "id" in message:
                self.asked.append(message["id"])
                threading.Thread(target=self.question, args=(message["id"],), daemon=True).start()
            elif message.get("method") == "notifications/cancelled":
                named = message["params"]["requestId"]
                self.taken_back.append(named)
                self.disturbed("K-10" if named in self.asked else "K-11", message)
            elif message.get("method") == "notifications/progress":
                token = message["params"]["progressToken"]
                self.progress_at[token] = time.monotonic()
                if token in [f"token {each}" for each in self.given_up]:
                    self.disturbed("K-08", message)
            elif message.get("id") in self.given_up:
                if FAULT == "cancels too late" and {"K-01": "limit", "K-02": "stop"}[RULE] == EXPERIMENT:
                    late = {"requestId": message["id"]}
                    threading.Thread(target=self.notify, args=("notifications/cancelled", late)).start()
                self.disturbed("K-09" if EXPERIMENT == "crossing" else "K-07", message)
            else:
                self.answers[message.get("id")] = message
                self.open.pop(message.get("id"), None)
            NEWS.notify_all()

    def failed(self, fault: str) -> None:
        """Takes the end of a call that was not answered, or of its server."""
        with NEWS:
            self.fault = fault
            NEWS.notify_all()

    def disturbed(self, rule: str, message: dict[str, Any]) -> None:
        """Takes a message that is to do no harm."""
        if rule != RULE or EXPERIMENT not in HARMED_BY[rule]:
            return
        if FAULT == "dies":
            os._exit(1)
        if FAULT == "dies quietly":
            os._exit(0)
        if FAULT == "crashes":
            os.kill(os.getpid(), signal.SIGKILL)
        if FAULT == "hangs":
            self.deaf = True
        if FAULT == "complains":
            print("Error: nobody waits for this", file=sys.stderr, flush=True)
        if FAULT == "fails later":
            self.poison = True
        if FAULT == "mistakes it":  # for the answer that it waits for
            self.mistaken = True
        if FAULT == "answers it":
            id = message.get("id", message.get("params", {}).get("requestId"))
            error = {"code": -32600, "message": "unexpected"}
            threading.Thread(
                target=self.transport.send, args=({"jsonrpc": "2.0", "id": id, "error": error},)
            ).start()
        if FAULT == "starts again":
            threading.Thread(target=self.start_again).start()
        if FAULT == "aborts its call" and self.open:
            self.mistaken = True

    def start_again(self) -> None:
        self.transport = Http(self) if URL else Pipe(self)
        self.connect()

    def question(self, id: object) -> None:
        if planted("K-03", "cancels the question"):
            self.notify("notifications/cancelled", {"requestId": id, "reason": "no time"})
        for _ in range(15):
            time.sleep(0.1)
            if id in self.taken_back and planted("K-10", "answers at once"):
                break
            if id in self.taken_back and planted("K-10", "answers with an error"):
                error = {"code": 0, "message": "cancelled"}
                self.transport.send({"jsonrpc": "2.0", "id": id, "error": error})
                return
        second = len(self.asked) > 1 and id == self.asked[1]
        ignores = planted("K-10", "answers", "answers at once") or (
            planted("K-10", "answers the second") and second
        )
        if id not in self.taken_back or ignores:
            self.transport.send({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}})
            if planted("K-03", "cancels what it answered"):
                self.notify("notifications/cancelled", {"requestId": id, "reason": "no time"})

    # -- what it sends -----------------------------------------------------------------------------------------

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.transport.send(
            {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        )

    def send(self, id: Any, method: str, params: dict[str, Any], token: Any = None) -> Closing:
        meta: dict[str, Any] = dict(META) if MODERN else {}
        if token is not None:
            meta["progressToken"] = token
        self.open[id] = closing = Closing()
        params = {**params, **({"_meta": meta} if meta else {})}
        self.transport.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, closing)
        return closing

    def next_id(self, method: str) -> Any:
        if planted("K-12", "reuses an id") and EXPERIMENT == "ids" and method == "tools/call":
            return 1
        if (
            planted("K-12", "reuses the id of a cancelled call")
            and EXPERIMENT == "late-progress"
            and self.given_up
        ):
            return self.given_up.pop()
        return next(self.ids)

    def request(
        self, method: str, params: dict[str, Any], limit: float = WAITS, **more: Any
    ) -> dict[str, Any] | None:
        """The response; ``None`` where a limit was reached or it was stopped. Progress resets the limit."""
        id = self.next_id(method)
        self.send(id, method, params, more.pop("token", None) and f"token {id}")
        return self.wait(id, limit, **more)

    def wait(
        self, id: Any, limit: float, maximum: float = float("inf"), stop: float = float("inf"), rule: str = ""
    ) -> Any:
        began = time.monotonic()
        if RULE == "K-13":
            maximum *= 2 if FAULT == "late maximum" else float("inf") if FAULT == "no maximum" else 1
        with NEWS:
            while id not in self.answers and not self.mistaken and not (rule == "once" and self.fault):
                last = max(began, self.progress_at.get(f"token {id}", began))
                most = began + maximum + (0.8 * (last - began) if planted("K-13", "pushed back") else 0)
                left = min(last + limit, most, began + stop) - time.monotonic()
                if left <= 0:
                    break
                NEWS.wait(left)
            if id in self.answers or self.mistaken:
                self.mistaken = False
                self.open.pop(id, None)
                return self.answers.pop(id, {})
            self.given_up.append(id)
        if RULE == "mute":
            os._exit(0)
        if rule == "once" and (self.fault or planted("K-18", "limit")):
            return None
        if rule:
            self.cancel(id, rule)
        if not planted(rule, "tells nobody") and rule != "once":
            print("gave up", flush=True)
        return None

    def cancel(self, id: Any, rule: str) -> None:
        """Cancels a call; ``rule`` is what this cancel is for."""
        closing = self.open.pop(id, None)
        if planted(rule, "sends nothing", "tells nobody", "cancels too late"):
            return
        reason: Any = "it took too long"
        if RULE == "K-17":
            reason = {
                "an error": "McpError: -32001",
                "an object": {"code": 1},
                "no words": "[object Object]",
            }[FAULT]
        named: Any = id
        if RULE == "K-04":
            named = {"a string": str(id), "another": id + 100, "a fraction": float(id), "nothing": None}.get(
                FAULT, id
            )
        params = {"requestId": named, "reason": reason}
        if planted("K-03", "another kind too", "another kind"):
            self.notify("notifications/canceled", params)
        if planted("K-03", "a request", "a task"):
            method, key = (
                ("tools/cancel", "requestId") if FAULT == "a request" else ("tasks/cancel", "taskId")
            )
            self.send(next(self.ids), method, {key: str(id)})
        if planted("K-03", "another kind", "a request", "a task"):
            return
        if MODERN and URL and not planted("K-03", "a notification"):
            assert closing is not None
            closing.set()
            if not planted("K-03", "both"):
                return
        self.notify("notifications/cancelled", params)
        if planted("K-04", "twice"):
            self.notify("notifications/cancelled", params)

    # -- what it does ------------------------------------------------------------------------------------------

    def connect(self) -> None:
        limit = LIMIT if EXPERIMENT == "initialize" else 60.0
        if MODERN:
            self.request("server/discover", {}, limit)
            return
        told: dict[str, Any] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": INFO,
        }
        id = self.next_id("initialize")
        self.send(id, "initialize", told)
        if self.wait(id, limit) is None:
            if RULE == "K-05":
                reason = {"reason": "no answer"} if FAULT == "with a reason" else {}
                self.notify("notifications/cancelled", {"requestId": id, **reason})
            time.sleep(
                0 if planted("K-05", "and ends") else 1.5
            )  # what it sent last is not lost with its connection
            self.transport.end()
            os._exit(4)
        self.notify("notifications/initialized")

    def call(self, limit: float, **more: Any) -> dict[str, Any] | None:
        return self.request("tools/call", {"name": TOOL, "arguments": ARGUMENTS}, limit, **more)

    def once(self) -> None:
        """Calls the tool, and sends the call again only where the specification asks for it, or where its fault says so."""
        again = {"session"}
        if RULE == "K-18":
            again |= {{"same id": "reset", "asks again": "limit", "cancels": "limit"}.get(FAULT, FAULT)}
            if FAULT == "in parallel":
                self.send(next(self.ids), "tools/call", {"name": TOOL, "arguments": ARGUMENTS})
        fault = ""
        for _ in range(3):
            self.failed("")
            answer = self.call(LIMIT, rule="once")
            fault = self.fault or "limit"
            if answer is not None or fault not in again:
                break
            if FAULT == "asks again":  # its caller does, some time after it was told
                print("gave up", flush=True)
                time.sleep(0.6)
            if fault in ("reset", "session"):
                if FAULT == "same id":
                    self.ids, self.given_up = itertools.count(1), []
                self.start_again()
        print("gave up", flush=True)
        if fault == "limit":
            self.add()

    def add(self) -> None:
        if self.poison:
            os._exit(1)
        id = self.next_id("tools/call")
        token = "same" if planted("K-12", "reuses a token") and EXPERIMENT == "ids" else None
        called = {"name": "add", "arguments": {"a": 1, "b": 2}}
        self.send(id, "tools/call", called, token)
        if token:
            self.send(other := self.next_id("tools/call"), "tools/call", called, token)
            self.wait(other, WAITS)
        self.wait(id, WAITS, rule="add")
        if planted("K-04", "what was answered"):
            self.notify("notifications/cancelled", {"requestId": id})

    def as_task(self) -> None:
        answer = self.request(
            "tools/call", {"name": TOOL, "arguments": ARGUMENTS, **({} if MODERN else {"task": {}})}
        )
        assert answer is not None
        result = answer["result"]
        name = result["taskId"] if MODERN else result["task"]["taskId"]
        if planted("K-06", "a notification", "both"):
            self.notify("notifications/cancelled", {"requestId": answer["id"]})
        if planted("K-06", "its name"):
            self.notify("notifications/cancelled", {"requestId": name})
        if RULE != "K-06" or FAULT in ("both", "another"):
            self.request("tasks/cancel", {"taskId": "another" if planted("K-06", "another") else name})

    def run(self) -> None:
        self.connect()
        if EXPERIMENT == "task":
            self.as_task()
        elif EXPERIMENT == "stop":
            self.call(60.0, stop=0.3, rule="K-02")
        elif EXPERIMENT == "repeat":
            self.once()
            self.end()
            os._exit(0)
        elif EXPERIMENT in ("limit", "crossing"):
            self.call(LIMIT, rule="K-01" if EXPERIMENT == "limit" else "cancel")
        elif EXPERIMENT in ("late-progress", "progress"):
            self.call(LIMIT, maximum=MAXIMUM, token=True, rule="cancel")
        elif EXPERIMENT in ("question", "unknown-cancel"):
            self.call(WAITS, rule="cancel")
        elif EXPERIMENT.startswith("sig"):
            self.call(60.0)
        for _ in range(20 if EXPERIMENT == "ids" else 1):
            self.add()
        if EXPERIMENT == "crossing":
            self.call(LIMIT, rule="cancel")
            self.add()
        self.end()
        os._exit(0)

    def end(self) -> None:
        self.transport.end()

    def interrupted(self, number: int) -> None:
        name = signal.Signals(number).name
        if RULE == "K-16" and FAULT in (name, "forgets"):
            if FAULT == "forgets":
                self.add()
        else:
            for id in list(self.open):
                self.cancel(id, "cancel")
        self.transport.end()
        os._exit(128 + number)


def ignore(number: int, frame: object) -> None:
    """Lets a signal wake the thread that handles it, and nothing else."""


def main() -> None:
    client = Client()
    # A handler would run within whatever this thread does just then, the start of another one included.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ignore)
    threading.Thread(target=lambda: client.interrupted(os.read(woken, 1)[0]), daemon=True).start()
    client.run()


main()
