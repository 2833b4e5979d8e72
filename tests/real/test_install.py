"""The installation of the real servers, with parts that download nothing."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from tests.real import install
from tests.real.install import Failed, Part
from tests.real.registry import SERVERS_BY_NAME


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Part:
    monkeypatch.setattr(install, "REAL", tmp_path)

    def fill(folder: Path) -> None:
        assert list(folder.iterdir()) == []
        (folder / "package").write_text("here")

    part = Part("some", "package 1", "a package", fill, lambda: None)
    monkeypatch.setattr(install, "PARTS", (part,))
    return part


def broken(folder: Path) -> None:
    (folder / "half").write_text("")
    raise Failed("pip ended with 1: no such package")


def test_a_failure_is_told_and_leaves_nothing_that_passes_for_installed(
    part: Part, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(install, "PARTS", (dataclasses.replace(part, fill=broken),))
    assert install.main() == 1
    assert capsys.readouterr().out == "some (a package): failed: pip ended with 1: no such package\n"
    assert part.missing() is not None
    monkeypatch.setattr(install, "PARTS", (part,))
    assert install.main() == 0


def test_without_npm_its_parts_are_skipped_and_nothing_fails(
    part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(install, "PARTS", (part, install.NPM_PART, install.NODE22_PART))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "installed",
        *["skipped: node is not on the PATH"] * 2,
    ]
    sentence = SERVERS_BY_NAME["sdk1"].missing()
    assert sentence == "sdk1 (npm @modelcontextprotocol/sdk 1.x) is left out: node is not on the PATH."


def test_every_version_is_exact_and_no_registry_is_named():
    manifest = json.loads((install.HERE / "package.json").read_text())
    lock = json.loads((install.HERE / "package-lock.json").read_text())
    assert lock["packages"][""]["dependencies"] == manifest["dependencies"]
    assert [
        version for version in manifest["dependencies"].values() if not re.match(r"\d+\.\d+\.\d+", version)
    ] == []
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    for name in ("mcp1.txt", "mcp2.txt", "fastmcp4.txt"):
        lines = (install.HERE / name).read_text().splitlines()
        assert [line for line in lines if not re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line)] == []
