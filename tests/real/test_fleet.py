"""``contrib/fleet`` with the programs that it is for: Prometheus scrapes two taps; a call that hangs raises the alert."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.control import Control
from tests.real.install import FLEET_SCHEMAS, PROMETHEUS, Part, prometheus_program, python_of
from tests.real.registry import free_port
from tests.tap.test_tap import Client, tap
from tests.test_fleet import DASHBOARD, FLEET
from tests.waiting import HANG, wait

pytestmark = pytest.mark.real

SECONDS = 2
"""The age of a request, in seconds, that raises the alert in the test, in place of 60."""


def _needs(part: Part) -> None:
    if reason := part.missing():
        pytest.skip(reason)


def _checked(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=FLEET, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    ["check config prometheus.yml", "check rules rules.yml", "test rules rules_test.yml"],
)
def test_promtool_accepts(words: str):
    _needs(PROMETHEUS)
    _checked(prometheus_program("promtool"), *words.split())


def test_compose_file_and_manifest_fit_their_schemas():
    _needs(FLEET_SCHEMAS)
    programs = python_of(FLEET_SCHEMAS.folder).parent
    _checked(programs / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    _checked(programs / "kubernetes-validate", "--strict", "kubernetes.yaml")


READ_BACK = """
import json, sys
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
plugins.register_default_plugins()
given = json.load(open(sys.argv[1]))
read = json.loads(JSONEncoder().encode(Dashboard.from_json(given)))
def missing(one, other, place):
    if isinstance(one, dict):
        for name in one:
            yield from missing(one[name], (other or {}).get(name), f"{place}.{name}")
    elif isinstance(one, list):
        for number, each in enumerate(one):
            yield from missing(each, other[number] if number < len(other or ()) else None, f"{place}[{number}]")
    elif one != other:
        yield f"{place}: {one} is read as {other}"
sys.exit("\\n".join(missing(given, read, "")) or None)
"""


def test_grafanas_own_types_know_every_member_of_the_dashboard():
    _needs(FLEET_SCHEMAS)
    _checked(python_of(FLEET_SCHEMAS.folder), "-c", READ_BACK, DASHBOARD)


@contextmanager
def _exporter() -> Generator[str]:
    """A ``mcp-tui metrics``; gives its HOST:PORT."""
    command = [*tap()[:3], "metrics", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split("/")[2]
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def _prometheus(folder: Path, target: str) -> Generator[str]:
    """A Prometheus with our configuration and rules, which scrapes each second; gives its URL."""
    config = (FLEET / "prometheus.yml").read_text().replace("15s", "1s")
    config = config.replace('"metrics-a:9464", "metrics-b:9464"', f'"{target}"')
    rules = (FLEET / "rules.yml").read_text().replace("> 60", f"> {SECONDS}")
    (folder / "prometheus.yml").write_text(config)
    (folder / "rules.yml").write_text(rules)
    port = free_port()
    command = [
        prometheus_program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)


def _asked(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=HANG) as answer:
            return json.load(answer)["data"]
    except OSError:
        return {}


def _firing(url: str) -> dict[str, str]:
    """The tools of the alerts that fire, by their names."""
    alerts = _asked(f"{url}/api/v1/alerts").get("alerts", [])
    return {
        each["labels"]["alertname"]: each["labels"].get("gen_ai_tool_name", "")
        for each in alerts
        if each["state"] == "firing"
    }


def _value(url: str, query: str) -> float:
    found = _asked(f"{url}/api/v1/query?query={query}").get("result", [])
    return float(found[0]["value"][1]) if found else 0.0


def test_a_call_that_hangs_raises_the_alert_until_it_is_cancelled_from_afar(control: Control, tmp_path: Path):
    _needs(PROMETHEUS)
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    with ExitStack() as stack:
        target = stack.enter_context(_exporter())
        url = stack.enter_context(_prometheus(tmp_path, target))
        clients: list[Client] = []
        for name in ("one", "two"):
            client = Client(tap("--name", name), env=os.environ | control.env)
            stack.callback(client.process.__exit__, None, None, None)
            stack.callback(client.process.kill)
            client.connect()
            clients.append(client)
        hanging, other = clients
        other.call(1, "echo", text="hi")
        assert other.read()["id"] == 1
        hanging.call(7, "silent")

        wait(lambda: _value(url, "sum(mcp_tui_sessions)") == 2)
        wait(lambda: _firing(url) == {"McpRequestHangs": "silent"}, lambda: str(_firing(url)))

        via = ["--via", f"env {sys.executable} -m mcp_tui"]
        (row,) = json.loads(run("ps", *via, "--json").out)
        named = f"{row['session']}/{row['id']}"
        ran = run("cancel", named, *via, "--reason", "it hangs")
        assert ran.status == 0, ran
        assert hanging.read()["id"] == 7
        wait(lambda: not _firing(url), lambda: str(_firing(url)))
        wait(lambda: _value(url, 'mcp_tui_cancels_total{gen_ai_tool_name="silent"}') == 1)

        # The server ends with the call, its session with the server, and a scrape later the alert is there.
        control.release("crash")
        hanging.call(8, "crash", seconds=0)
        wait(lambda: _firing(url) == {"McpRequestLost": "crash"}, lambda: str(_firing(url)))
