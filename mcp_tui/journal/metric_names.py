"""The metrics of sessions: their names, kinds, units, and attributes.

Metrics named ``mcp.`` are those of OpenTelemetry's conventions for MCP; the others, named ``mcp_tui.``, have no
convention. The version of the conventions is :data:`CONVENTIONS`. ``mcp.server.session.duration`` is left out, because
only a server observes it.

No attribute is an argument, an id, or an address of one request: each set of values makes a time series.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

CONVENTIONS: Final = "semantic-conventions-genai 0.1.0"
"""The version of OpenTelemetry's conventions for MCP that the names follow."""

LONGEST_VALUE: Final = 128
"""The most characters of the value of an attribute; a server may name a tool with megabytes."""

SECONDS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""The upper bounds of the buckets for durations, as the conventions recommend."""

BYTES: Final = (256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864)
"""The upper bounds of the buckets for sizes."""

METHOD: Final = "mcp.method.name"
TOOL: Final = "gen_ai.tool.name"
PROMPT: Final = "gen_ai.prompt.name"
OPERATION: Final = "gen_ai.operation.name"
ERROR: Final = "error.type"
STATUS: Final = "rpc.response.status_code"
REVISION: Final = "mcp.protocol.version"
TRANSPORT: Final = "network.transport"
PROTOCOL: Final = "network.protocol.name"
SERVER: Final = "mcp_tui.server"
"""The name and version that the server gives."""
CLIENT: Final = "mcp_tui.client"
"""The name and version that the client gives."""
CAUSE: Final = "mcp_tui.cancel.cause"
OUTCOME: Final = "mcp_tui.cancel.outcome"
KIND: Final = "mcp_tui.late.kind"
FIRST_OUTCOME: Final = "mcp_tui.first_outcome"

CLIENT_ENDED: Final = "client_ended"
"""The error of a request whose client ended the connection while it waited: nobody else lost it."""

SESSION: Final = (REVISION, TRANSPORT, PROTOCOL, SERVER, CLIENT)
"""The attributes of a session; each metric has them."""

REQUEST: Final = (METHOD, TOOL, PROMPT, OPERATION)
"""The attributes of a request."""


class Metric(NamedTuple):
    """A metric. ``attributes`` are in addition to :data:`SESSION`; ``buckets`` are the bounds of a histogram."""

    name: str
    kind: Literal["histogram", "counter", "gauge", "updowncounter"]
    unit: str
    description: str
    attributes: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


CLIENT_DURATION: Final = Metric(
    "mcp.client.operation.duration",
    "histogram",
    "s",
    "The duration of the MCP request or notification as observed on the sender from the time it was sent until the"
    " response or ack is received.",
    (*REQUEST, ERROR, STATUS),
    SECONDS,
)
SERVER_DURATION: Final = Metric(
    "mcp.server.operation.duration",
    "histogram",
    "s",
    "MCP request or notification duration as observed on the receiver from the time it was received until the result or"
    " ack is sent.",
    (*REQUEST, ERROR, STATUS),
    SECONDS,
)
SESSION_DURATION: Final = Metric(
    "mcp.client.session.duration",
    "histogram",
    "s",
    "The duration of the MCP session as observed on the MCP client.",
    (ERROR,),
    SECONDS,
)
IN_FLIGHT: Final = Metric(
    "mcp_tui.requests.in_flight",
    "updowncounter",
    "{request}",
    "Requests that wait for their response.",
    REQUEST,
)
OLDEST: Final = Metric(
    "mcp_tui.requests.oldest.age",
    "gauge",
    "s",
    "The age of the oldest request in flight.",
    REQUEST,
)
CANCELS: Final = Metric(
    "mcp_tui.cancels",
    "counter",
    "{cancel}",
    "Cancelled and timed out requests, counted when watching for late messages ends.",
    (*REQUEST, CAUSE, OUTCOME),
)
LATE: Final = Metric(
    "mcp_tui.late.delay",
    "histogram",
    "s",
    "The time from a cancel to an answer that arrived nevertheless.",
    (*REQUEST, KIND),
    SECONDS,
)
REPEATS: Final = Metric(
    "mcp_tui.repeats",
    "counter",
    "{request}",
    "Calls that repeat another call whose outcome the client does not know.",
    (*REQUEST, FIRST_OUTCOME),
)
RESULT_SIZE: Final = Metric(
    "mcp_tui.result.size", "histogram", "By", "The size of responses with a result.", REQUEST, BYTES
)
METRICS: Final = (
    CLIENT_DURATION,
    SERVER_DURATION,
    SESSION_DURATION,
    IN_FLIGHT,
    OLDEST,
    CANCELS,
    LATE,
    REPEATS,
    RESULT_SIZE,
)


def session_attributes(*, transport: str, revision: str, server: str, client: str = "") -> dict[str, str]:
    """Returns the attributes of a session; unknown ones are left out. ``transport`` is empty if it is unknown."""
    return _short(
        {
            REVISION: revision,
            TRANSPORT: transport and ("pipe" if transport == "stdio" else "tcp"),
            PROTOCOL: "" if transport in ("", "stdio") else "http",
            SERVER: server,
            CLIENT: client,
        }
    )


def request_attributes(method: str, name: str) -> dict[str, str]:
    """Returns the attributes of a request; ``name`` is the name of its tool or prompt, and ignored for other methods."""
    is_call = method == "tools/call"
    return _short(
        {
            METHOD: method,
            TOOL: name if is_call else "",
            PROMPT: name if method == "prompts/get" else "",
            OPERATION: "execute_tool" if is_call else "",
        }
    )


def failure_attributes(error: str, code: int | None) -> dict[str, str]:
    """Returns the attributes of a failed request: the kind of the error, and the code of an error response."""
    return _short({ERROR: error, STATUS: "" if code is None else str(code)})


def prometheus_name(metric: Metric) -> str:
    """Returns the name that a metric has in Prometheus, by OpenTelemetry's rules for it.

    The clients of Prometheus append ``_total`` to the name of a counter themselves.
    """
    unit = {"s": "_seconds", "By": "_bytes"}.get(metric.unit, "")
    return metric.name.replace(".", "_") + unit


def _short(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: value[:LONGEST_VALUE] for name, value in attributes.items() if value}
