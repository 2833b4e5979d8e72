"""The names of metrics, compared with the modules that are generated from OpenTelemetry's conventions."""

from __future__ import annotations

from importlib import import_module

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from mcp_tui.journal import metric_names as names

# The package has no types.
mcp_metrics = import_module("opentelemetry.semconv._incubating.metrics.mcp_metrics")
CONVENED = [each for each in names.METRICS if each.name.startswith("mcp.")]


@pytest.mark.parametrize("metric", CONVENED, ids=[each.name for each in CONVENED])
def test_a_metric_of_the_conventions_has_their_name_kind_and_unit(metric: names.Metric):
    create = getattr(mcp_metrics, f"create_{metric.name.replace('.', '_')}")
    theirs = create(MeterProvider().get_meter("conventions"))
    assert (metric.kind, metric.name, metric.unit) == ("histogram", theirs.name, theirs.unit)
    assert metric.description == theirs.description.replace("\n", " ")
    # The recommended bounds are in the text of the conventions alone: docs/gen-ai/mcp.md, "ExplicitBucketBoundaries".
    assert metric.buckets == (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


def test_values_of_attributes_are_short_and_unknown_ones_are_left_out():
    attributes = names.request_attributes("tools/call", "x" * 1000)
    assert {name: len(value) for name, value in attributes.items()} == {
        names.METHOD: 10,
        names.TOOL: names.LONGEST_VALUE,
        names.OPERATION: 12,
    }
    assert names.request_attributes("resources/read", "file:///secret") == {names.METHOD: "resources/read"}
    session = names.session_attributes(transport="http", revision="2025-11-25", server="crm 1")
    assert session == {
        names.REVISION: "2025-11-25",
        names.TRANSPORT: "tcp",
        names.PROTOCOL: "http",
        names.SERVER: "crm 1",
    }


def test_names_in_prometheus_end_with_their_unit():
    assert [*map(names.prometheus_name, (names.CLIENT_DURATION, names.RESULT_SIZE, names.CANCELS))] == [
        "mcp_client_operation_duration_seconds",
        "mcp_tui_result_size_bytes",
        "mcp_tui_cancels",
    ]
