"""``contrib/fleet``: its files fit together, and name metrics, labels, and options that exist."""

from __future__ import annotations

import json
import re
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mcp_tui.cli.options import COMMANDS
from mcp_tui.journal import metric_names as names
from mcp_tui.protocol.json_values import as_list, as_object

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from mcp_tui.cli.metrics import SESSIONS, UNKNOWN

FLEET = Path(__file__).parents[1] / "contrib" / "fleet"
DASHBOARD = FLEET / "grafana" / "dashboards" / "mcp-tui.json"
EXPORTED = (*names.METRICS, SESSIONS, UNKNOWN)
SERIES = {
    names.prometheus_name(each) + suffix
    for each in EXPORTED
    for suffix in (
        ("_bucket", "_count", "_sum") if each.buckets else ("_total",) if each.kind == "counter" else ("",)
    )
}
LABELS = {
    attribute.replace(".", "_") for each in EXPORTED for attribute in (*names.SESSION, *each.attributes)
}
OTHERS = {"up", "le", "job", "instance", "severity"}
"""Names of Prometheus itself."""


def _yaml(path: Path) -> Any:
    yaml: Any = YAML(typ="safe", pure=True)
    return yaml.load(path.read_text())


def _expressions(value: Any) -> list[str]:
    """The PromQL expressions in a file."""
    members = as_object(value)
    own = [str(members["expr"])] if "expr" in members else []
    return own + [each for member in (*members.values(), *as_list(value)) for each in _expressions(member)]


@pytest.mark.parametrize(
    "path",
    [DASHBOARD, FLEET / "rules.yml", FLEET / "rules_test.yml", FLEET / "README.md"],
    ids=lambda path: path.name,
)
def test_metrics_and_labels_are_those_that_are_exported(path: Path):
    named = set(re.findall(r"\b(?:mcp|gen_ai|error|rpc|network)_(?!tui\b)[a-z_]+", path.read_text()))
    assert named <= SERIES | LABELS, named - SERIES - LABELS
    rules: Any = (
        json.loads(path.read_text())
        if path.suffix == ".json"
        else _yaml(path)
        if path.suffix == ".yml"
        else {}
    )
    for expression in _expressions(rules):
        grouped = re.findall(r"(?:by|without|on) \(([a-z_, ]*)\)", expression)
        matched = re.findall(r"[{,]\s*([a-z_]+)\s*[=!]", expression)
        used = {*matched, *chain.from_iterable(each.split(", ") for each in grouped)}
        assert used <= LABELS | OTHERS, (expression, used)
        # A value that no series can have makes an alert that never comes.
        assert set(re.findall(r'error_type="(\w+)"', expression)) <= {
            "client_ended",
            "lost",
            "timeout",
            "cancelled",
            "tool_error",
        }


def test_every_metric_of_interest_is_on_the_dashboard():
    text = DASHBOARD.read_text()
    assert [each.name for each in EXPORTED if names.prometheus_name(each) not in text] == []


def test_the_dashboard_has_what_grafana_needs():
    board = json.loads(DASHBOARD.read_text())
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= board.keys()
    panels = board["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    places = [each["gridPos"] for each in panels]
    for place in places:
        assert place["x"] + place["w"] <= 24
    for one, other in pairwise(places):
        assert (one["y"], one["x"] + one["w"]) <= (other["y"], other["x"]) or one["y"] + one["h"] <= other[
            "y"
        ]
    assert all(each["targets"] and all(target["expr"] for target in each["targets"]) for each in panels)
    variables = {each["name"] for each in board["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(panels))) <= variables


def test_the_compose_file_mounts_what_is_there_and_scrapes_what_it_starts():
    compose = _yaml(FLEET / "compose.yaml")
    services = compose["services"]
    for service in services.values():
        assert service.get("image")
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (FLEET / source).exists() if source.startswith(".") else source in compose["volumes"]
        # What people open is for this machine alone.
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    (job,) = _yaml(FLEET / "prometheus.yml")["scrape_configs"]
    (static,) = job["static_configs"]
    for target in static["targets"]:
        name, port = target.split(":")
        assert services[name]["entrypoint"][:2] == ["mcp-tui", "metrics"]
        assert services[name]["entrypoint"][-1].endswith(f":{port}")
        agent = services[name.replace("metrics", "agent")]
        assert agent["volumes"] == services[name]["volumes"]
    assert job["job_name"] == "mcp-tui"
    assert 'job="mcp-tui"' in (FLEET / "rules.yml").read_text()


def test_agent_and_sidecar_share_the_users_folder():
    pod = _yaml(FLEET / "kubernetes.yaml")["spec"]["template"]["spec"]
    (sidecar,), (agent,) = pod["initContainers"], pod["containers"]
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["volumeMounts"] == agent["volumeMounts"]
    volumes = {each["name"] for each in pod["volumes"]}
    assert {each["name"] for each in sidecar["volumeMounts"]} == volumes
    user = pod["securityContext"]["runAsUser"]
    image = (FLEET / "Dockerfile").read_text()
    assert f"USER {user}\n" in image
    folder = re.findall(r"^VOLUME (.*)$", image, re.MULTILINE)
    assert [each["mountPath"] for each in agent["volumeMounts"]] == folder
    assert folder == [
        f"{home}/.local/state/mcp-tui" for home in re.findall(r"^ENV HOME=(.*)$", image, re.MULTILINE)
    ]
    for service in _yaml(FLEET / "compose.yaml")["services"].values():
        if service["image"] == "mcp-tui":
            assert [each.partition(":")[2] for each in service["volumes"]] == folder


def test_commands_and_options_exist():
    text = "\n".join(path.read_text() for path in FLEET.rglob("*") if path.is_file())
    for name, rest in re.findall(r"mcp-tui ((?:[a-z-]+))((?: [^\n`|]*)?)", text):
        if name not in COMMANDS:
            continue
        known = {
            each for group in COMMANDS[name].options() for option in group.options for each in option.names
        }
        given = set(re.findall(r"(?<= )--[a-z][a-z-]+", rest.partition(" -- ")[0].partition("'")[0]))
        assert given <= known, (name, rest, given - known)
