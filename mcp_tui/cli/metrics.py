"""``metrics``: answers the scrapes of a Prometheus about all running sessions of this user (extra ``prometheus``).

A gauge is what the sessions say now. A counter counts since this process began, and never goes backwards: sessions report
how they ended (:data:`mcp_tui.live.sockets.ENDS`), and their counts stay. Texts of clients and servers are label values,
cleaned, cut, and limited in number.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from itertools import accumulate
from math import inf
from socket import AF_INET6
from socketserver import TCPServer
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any, Final, cast

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, end_by_signal, out, warn
from mcp_tui.journal import metric_names as names
from mcp_tui.journal.metric_names import Metric
from mcp_tui.live import control
from mcp_tui.live.control import Problem, Summary
from mcp_tui.live.counts import COUNTED, Counted, Values, total_of
from mcp_tui.live.running import Unknown, sessions
from mcp_tui.live.sockets import ENDS, ListeningSocket, reported_ends
from mcp_tui.protocol.http_access import host_of
from mcp_tui.view.text import clean

try:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
    from prometheus_client.metrics_core import Metric as Family
except ImportError:
    raise Failure("metrics needs prometheus_client. Install mcp-tui-client[prometheus].") from None

MOST_SETS: Final = 5000
"""The number of sets of labels of all counters together, and of all gauges; further sets become ``_OTHER``."""

MOST_SCRAPES: Final = 8
"""The number of requests that are answered at once."""

IDLE_SECONDS: Final = 5.0
"""Seconds after which a connection without a whole request is closed."""

SESSIONS: Final = Metric(
    "mcp_tui.sessions",
    "updowncounter",
    "{session}",
    "Running sessions that answer.",
    (KIND := "mcp_tui.session.kind",),
)
UNKNOWN: Final = Metric(
    "mcp_tui.sessions.not_answering",
    "updowncounter",
    "{session}",
    "Running sessions whose requests are not known, because they gave no answer in time, or none that can be read.",
    (PROBLEM := "mcp_tui.problem",),
)
_GAUGES: Final = (SESSIONS, UNKNOWN, names.IN_FLIGHT, names.OLDEST)


def run(_name: str, given: Words) -> int:
    """Answers scrapes until a signal ends it; returns the exit status."""
    host, port = _address(given.options.listen)
    try:
        server = _Server(host, port)
    except OSError as error:
        raise Failure(
            f"Cannot listen at {given.options.listen}: {error.strerror}. Choose another address or port."
        ) from None
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_by_signal)
    with server, closing(server.totals):
        shown = f"[{host}]" if ":" in host else host
        if not server.is_local:
            warn(
                f"{shown} is not a loopback address: whoever reaches it reads the names of your tools and servers."
            )
        out(f"http://{shown}:{server.server_address[1]}/metrics", flush=True)
        server.serve_forever()
    return Exit.COMPLETED


def _address(text: str) -> tuple[str, int]:
    """Returns the host and the port of ``--listen``."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and colon and port.isascii() and port.isdecimal() and int(port) < 65536):
        raise Failure(f"--listen {text!r} is not HOST:PORT. Write for example 127.0.0.1:9464.")
    return host, int(port)


# -- HTTP ------------------------------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    """Answers ``GET /metrics``, at most :data:`MOST_SCRAPES` requests at once."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        super().__init__((host, port), _Handler)
        self.free = BoundedSemaphore(MOST_SCRAPES)
        self.totals = Totals()
        self.is_local = ip_address(self.socket.getsockname()[0]).is_loopback

    def server_bind(self) -> None:
        """Binds the socket, and asks no DNS for its name."""
        TCPServer.server_bind(self)

    def service_actions(self) -> None:
        """Twice a second: takes the reports of ended sessions."""
        self.totals.take_ends()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in another thread; closes what is too much."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error."""


class _Handler(BaseHTTPRequestHandler):
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        server = cast("_Server", self.server)
        host = host_of(self.headers.get("Host", ""))
        # A website can make its own name resolve to this machine, but then that name is in Host (DNS rebinding).
        if server.is_local and (host is None or not _is_loopback(host[0])):
            self._answer(403, b"Host does not name this machine.\n")
        elif self.path.partition("?")[0] != "/metrics":
            self._answer(404, b"Only /metrics is here.\n")
        else:
            registry = CollectorRegistry(auto_describe=False)
            registry.register(server.totals)
            self._answer(200, generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8")

    def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def __getattr__(self, name: str) -> Any:
        # http.server asks for the method of each verb, and answers 501 without one.
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _refuse(self) -> None:
        self.send_response(405)
        self.send_header("Allow", "GET")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def version_string(self) -> str:
        """Returns the name of the server, without versions."""
        return "mcp-tui"

    def log_message(self, format: str, *args: Any) -> None:
        """A scrape is nothing to report."""


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost"


# -- values ----------------------------------------------------------------------------------------------------


class Totals:
    """The values of a scrape: what the sessions say now, and what they counted since this was made."""

    def __init__(self) -> None:
        since = monotonic()
        self._since = inf
        """When counting began. Whatever is running at the first look is older, however late its answer is read."""
        self._lock = Lock()
        self._ends = ListeningSocket(os.urandom(6).hex(), ENDS)
        self._values: Values = {}
        self._last: dict[str, tuple[str, Values]] = {}
        """The name of each running session and its counts at the last scrape, by the id of these."""
        with self._lock:
            self._scrape()
        self._since = since

    def close(self) -> None:
        """Takes no more reports."""
        self._ends.close()

    def take_ends(self) -> None:
        """Adds what sessions reported when they ended."""
        with self._lock:
            self._take_ends()

    def _take_ends(self) -> None:
        for line in reported_ends(self._ends.socket):
            read = control.read_summary(line)
            if isinstance(read, Summary) and read.counts is not None:
                self._add("", read, read.counts)

    def collect(self) -> Iterator[Family]:
        """Asks all sessions, within two seconds or so; yields the metrics."""
        with self._lock:
            gauges = self._scrape()
            values = {key: list(value) for key, value in self._values.items()}
        yield from _families(_GAUGES, gauges)
        yield from _families(COUNTED.values(), values)

    def _scrape(self) -> Values:
        running, unknown = sessions(counts=True)
        for each in running:
            if each.summary.counts is not None:
                self._add(each.name, each.summary, each.summary.counts)
        # Before a session is forgotten: it reports its end before its socket is gone.
        self._take_ends()
        # A session that does not answer now may answer later, and goes on where it was.
        names_now = {each.name for each in (*running, *unknown)}
        self._last = {id: last for id, last in self._last.items() if last[0] in names_now}
        return _gauges((each.summary for each in running), unknown)

    def _add(self, name: str, summary: Summary, counts: Counted) -> None:
        """Adds what a session counted since the last time."""
        known = self._last.get(counts.id)
        # The counts of a new one from before this process began would be a jump that did not happen now.
        is_older = counts.age > monotonic() - self._since
        before = known[1] if known is not None else counts.values if is_older else {}
        session = _session(*_about(summary))
        for (metric, attributes), value in counts.values.items():
            old = before.get((metric, attributes))
            if known is not None and old == value:
                continue
            labels = sorted((session | _cleaned(attributes)).items())
            total = total_of(self._values, COUNTED[metric], labels, MOST_SETS)
            old = old or [0.0] * len(total)
            total[:] = [each + max(0.0, new - old) for each, new, old in zip(total, value, old, strict=True)]
        self._last[counts.id] = name, counts.values


def _about(summary: Summary) -> tuple[str, str, str, str]:
    """Returns transport, revision, server, and client of a session."""
    counts = summary.counts
    transport, revision = ("", "") if counts is None else (counts.transport, counts.revision)
    return transport, revision, summary.server, summary.client


@lru_cache
def _session(transport: str, revision: str, server: str, client: str) -> dict[str, str]:
    attributes = names.session_attributes(
        transport=transport, revision=revision, server=server, client=client
    )
    return _cleaned(attributes.items())


def _cleaned(attributes: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: clean(text)[: names.LONGEST_VALUE] for name, text in attributes}


def _gauges(running: Iterable[Summary], unknown: Collection[Unknown]) -> Values:
    values: Values = {}
    ages: dict[tuple[tuple[str, str, str, str], str, str], list[float]] = {}
    for summary in running:
        about = _about(summary)
        kind = summary.kind if summary.kind in ("tap", "workbench", "call") else "other"
        labels = sorted((_session(*about) | {KIND: kind}).items())
        total_of(values, SESSIONS, labels, MOST_SETS)[0] += 1
        for row in summary.requests:
            ages.setdefault((about, row.method, row.name), []).append(row.elapsed)
    for (about, method, name), found in ages.items():
        request = _cleaned(names.request_attributes(method, name).items())
        labels = sorted((_session(*about) | request).items())
        total_of(values, names.IN_FLIGHT, labels, MOST_SETS)[0] += len(found)
        oldest = total_of(values, names.OLDEST, labels, MOST_SETS)
        oldest[0] = max(oldest[0], *found)
    problems = Counter(each.problem for each in unknown)
    for problem in (Problem.SILENT, Problem.OTHER_VERSION, Problem.NOT_UNDERSTOOD):
        total_of(values, UNKNOWN, [(PROBLEM, problem.value)], len(values) + 1)[0] = problems[problem]
    return values


def _families(
    metrics: Iterable[Metric], values: Mapping[tuple[str, tuple[tuple[str, str], ...]], list[float]]
) -> Iterator[Family]:
    """Yields metrics as ``prometheus_client`` wants them."""
    for metric in metrics:
        own = () if metric is UNKNOWN else names.SESSION
        attributes = [*own, *metric.attributes]
        name, labels = names.prometheus_name(metric), [each.replace(".", "_") for each in attributes]
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        if metric.buckets:
            kind = HistogramMetricFamily
        family = kind(name, metric.description, labels=labels)
        for (of, known), value in values.items():
            if of != metric.name:
                continue
            texts = [dict(known).get(each, "") for each in attributes]
            if isinstance(family, HistogramMetricFamily):
                bounds = [*map(str, map(float, metric.buckets)), "+Inf"]
                family.add_metric(texts, list(zip(bounds, accumulate(value[1:]), strict=True)), value[0])
            else:
                family.add_metric(texts, value[0])
        yield family
