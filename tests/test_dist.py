"""What a release needs: absolute links on the index's page, a release script that refuses, the probe as a CI step."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _absolute(text: str, repository: str) -> str:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.absolute(text, repository)


def test_the_readme_has_absolute_links_once_the_repository_has_an_address():
    text = _absolute((ROOT / "README.md").read_text(encoding="utf-8"), "https://example.org/o/n")
    assert "![The workbench" in text
    assert "](https://example.org/o/n/raw/main/screenshots/workbench-140x40.png)" in text
    assert "](https://example.org/o/n/blob/main/docs/cli.md)" in text
    assert [link for link in re.findall(r"\]\(([^)]+)", text) if not link.startswith("https://")] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
def test_a_release_without_an_address_of_the_repository_is_refused():
    ran = subprocess.run([ROOT / ".ci/release", "v0.1.0"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "The repository has no address. Set 'repository' in pyproject.toml.\n"


@pytest.mark.slow
@pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about
@pytest.mark.parametrize(("tool", "status"), [("count", 0), ("stubborn", 9)])
def test_the_probe_as_a_ci_step_writes_its_reports_and_the_summary(tmp_path: Path, tool: str, status: int):
    command = tmp_path / "mcp-tui"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_tui "$@"\n')
    command.chmod(0o755)
    env = {**os.environ, "MCP_TUI": str(command), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    words = ["report", "--tool", tool, "seconds=1", "--", sys.executable, "-m", "mcp_tui.demo"]
    ran = subprocess.run(
        [ROOT / ".ci/probe-action", *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == status, ran.stderr
    assert ET.parse(tmp_path / "report" / "probe.xml").getroot().tag == "testsuites"
    assert (tmp_path / "report" / "badge.json").exists()
    assert (tmp_path / "summary").read_text() == (tmp_path / "report" / "probe.md").read_text()
