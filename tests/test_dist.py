"""What a release needs: absolute links on the index's page, a release script that refuses, the probe as a CI step."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from mcp_tui import __version__
from mcp_tui.cli.grammar import read
from mcp_tui.cli.manual import EXAMPLES
from mcp_tui.cli.options import COMMANDS, options_of
from mcp_tui.cli.version import commit_of

ROOT = Path(__file__).resolve().parent.parent


def _hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_absolute_links_once_the_repository_has_an_address():
    text = _hooks().absolute((ROOT / "README.md").read_text(encoding="utf-8"), "https://example.org/o/n")
    assert "![A call is cancelled" in text
    assert "](https://example.org/o/n/raw/main/screenshots/cancel-80x24.svg)" in text
    assert "](https://example.org/o/n/blob/main/docs/reference/json.md)" in text
    assert [link for link in re.findall(r"\]\(([^)]+)", text) if not link.startswith("https://")] == []


def test_the_man_page_has_every_subcommand_and_option():
    text = "\n".join(_hooks().manual("0.1.0", "A client."))
    plain = text.replace("\\-", "-")
    for name in COMMANDS:
        assert f'.SS "{name}' in plain
        assert [
            each for option in options_of(name) for each in option.names if f"\\fB{each}\\fR" not in plain
        ] == []
    for title in ("EXAMPLES", "FILES", "ENVIRONMENT", "SEE ALSO", '"EXIT STATUS"'):
        assert f"\n.SH {title}\n" in plain
    examples = plain[plain.index(".SH EXAMPLES") : plain.index(".SH FILES")].replace("\\(aq", "'")
    shown = [line for lines in EXAMPLES.values() for line in lines]
    assert [line for line in shown if line not in examples.replace("\\(dq", '"')] == []
    if shutil.which("groff") is not None:
        ran = subprocess.run(
            ["groff", "-man", "-ww", "-z"], input=text, capture_output=True, text=True, check=False
        )
        assert ran.stderr == ""


def test_the_version_names_the_commit_unless_a_tag_makes_it_a_release(tmp_path: Path):
    def git(*words: str) -> None:
        person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *person, *words], cwd=tmp_path, check=True, capture_output=True)

    assert commit_of(tmp_path) == ""
    git("init")
    git("commit", "--allow-empty", "-m", "first")
    assert re.fullmatch(r"[0-9a-f]{12}", commit_of(tmp_path))
    git("tag", f"v{__version__}")
    assert commit_of(tmp_path) == ""
    git("commit", "--allow-empty", "-m", "second")
    assert commit_of(tmp_path).startswith(f"v{__version__}-1-g")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
def test_a_release_without_an_address_of_the_repository_is_refused():
    ran = subprocess.run([ROOT / ".ci/release", "v0.1.0"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "The repository has no address. Set 'repository' in pyproject.toml.\n"


def test_each_hook_for_pre_commit_is_a_command_line():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"(?m)^  entry: mcp-tui (.*)\n  args: \[(.*)\]$", text)
    assert len(entries) == text.count("- id: ") == 2
    for entry, args in entries:
        given = read([*entry.split(), *args.split(", ")])
        assert given.command == ["python", "server.py"]


@pytest.mark.slow
@pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about
@pytest.mark.parametrize(("tool", "status"), [("count", 0), ("stubborn", 9)])
def test_the_probe_as_a_ci_step_writes_its_reports_and_the_summary(tmp_path: Path, tool: str, status: int):
    command = tmp_path / "mcp-tui"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_tui "$@"\n')
    command.chmod(0o755)
    env = {
        **os.environ,
        "MCP_TUI": str(command),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "SERVER": f"{sys.executable} -m mcp_tui.demo",
        "OPTIONS": f"--tool {tool} seconds=1",
        "FOLDER": "report",
    }
    ran = subprocess.run(
        ROOT / ".ci/probe-action", cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == status, ran.stderr
    suites = ET.parse(tmp_path / "report" / "probe.xml").getroot()
    assert (suites.tag, int(suites.get("failures", "-1")) > 0) == ("testsuites", status == 9)
    assert json.loads((tmp_path / "report" / "badge.json").read_text())["schemaVersion"] == 1
    summary = (tmp_path / "summary").read_text()
    assert summary == (tmp_path / "report" / "probe.md").read_text() + "\n"
    assert tool in summary
