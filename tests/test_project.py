"""The project as a whole: what is built from it, what its tools enforce, what its README promises."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import distributions
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.specifiers import SpecifierSet

import mcp_tui
from mcp_tui.demo.demo_tools import TOOLS
from mcp_tui.view import keys

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
PACKAGE = ROOT / "mcp_tui"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(built)


def _run(*command: str | Path, cwd: Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )


# -- the wheel -----------------------------------------------------------------------------------------


def test_the_wheel_holds_the_package_the_themes_and_nothing_else(wheel: Path):
    package = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "mcp_tui").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    themes = {f"mcp_tui/themes/{file.name}" for file in (ROOT / "themes").glob("*.toml")}
    names = set(zipfile.ZipFile(wheel).namelist())
    more = {name for name in names if ".dist-info/" not in name} - package - themes
    data = f"mcp_tui_client-{mcp_tui.__version__}.data"
    beside = {f"{data}/data/share/man/man1/mcp-tui.1", f"{data}/scripts/mcp-tui"}
    assert more - {"mcp_tui/COMMIT"} == beside
    assert package | themes < names
    assert "mcp_tui/py.typed" in names


def test_the_wheel_s_metadata_say_what_the_package_says(wheel: Path):
    archive = zipfile.ZipFile(wheel)
    folder = f"mcp_tui_client-{mcp_tui.__version__}.dist-info"
    metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    assert metadata["Name"] == "mcp-tui-client"
    assert metadata["Version"] == mcp_tui.__version__
    assert metadata["License-Expression"] == "MIT AND Apache-2.0"
    assert b"Permission is hereby granted" in archive.read(f"{folder}/licenses/LICENSE")
    assert f"{folder}/licenses/mcp_tui/protocol/schemas/NOTICE" in archive.namelist()
    scripts = archive.read(f"{folder}/entry_points.txt").decode().splitlines()
    assert [each for each in scripts if "__main__" in each] == ["mcp-tui-client = mcp_tui.__main__:run"]
    assert str(metadata.get_payload()).startswith("# mcp-tui\n")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_installs_into_an_empty_environment(wheel: Path, tmp_path: Path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    installed = _run(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path
    )
    assert installed.returncode == 0, installed.stderr
    version = _run(tmp_path / "venv" / "bin" / "mcp-tui", "--version", cwd=tmp_path)
    assert version.returncode == 0
    assert re.fullmatch(
        rf"mcp-tui {re.escape(mcp_tui.__version__)}( \(commit \S+, Python [\d.]+\S*\))?\n", version.stdout
    )
    assert (
        (tmp_path / "venv" / "share" / "man" / "man1" / "mcp-tui.1").read_text().startswith(".TH MCP\\-TUI 1")
    )
    themes = _run(
        python,
        "-c",
        "from mcp_tui.tui.themes import *; found, bad = load_themes(Path('absent')); print(bad, len(found))",
    )
    assert themes.stdout == f"[] {len(list((ROOT / 'themes').glob('*.toml')))}\n"


# -- what is pinned ------------------------------------------------------------------------------------


def test_the_changelog_tells_of_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert headings[0] in {"Unreleased", mcp_tui.__version__}


def test_a_change_is_one_sentence_in_a_file_of_its_kind():
    changes = [path for path in (ROOT / "changes").iterdir() if path.name != ".gitignore"]
    kinds = "|".join(PROJECT["tool"]["towncrier"]["fragment"])
    assert [
        path.name for path in changes if not re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md", path.name)
    ] == []
    assert [
        path.name for path in changes if not re.fullmatch(r"[A-Z`].{20,240}\.\n", path.read_text("utf-8"))
    ] == []


# -- what the tools enforce ----------------------------------------------------------------------------

BANNED = {
    "import asyncio\n\nasyncio.create_task(work())": ("mcp_tui/transport/base.py",),
    "import time\n\ntime.time()": ("mcp_tui/clock.py",),
    "import datetime\n\ndatetime.datetime.now(zone)": ("mcp_tui/clock.py",),
    "from datetime import datetime\n\ndatetime.now(zone)": ("mcp_tui/clock.py",),
}


@pytest.mark.parametrize(("code", "allowed"), BANNED.items(), ids=lambda value: str(value).splitlines()[-1])
def test_background_tasks_and_the_wall_clock_are_banned_outside_their_modules(
    code: str, allowed: tuple[str, ...]
):
    def verdict(file: str) -> int:
        ruff = Path(sys.executable).parent / "ruff"
        options = ("check", "--select", "TID251", "--no-cache", "--stdin-filename", file, "-")
        return _run(ruff, *options, stdin=code + "\n").returncode

    assert verdict("mcp_tui/client/client.py") == 1
    assert verdict("tests/test_anything.py") == 1
    assert [verdict(file) for file in allowed] == [0] * len(allowed)


def test_a_class_has_two_bases_of_ours_at_most():
    head = re.compile(r"^ *(class \w+(?:\([^:]*\))?:)", re.MULTILINE)
    heads = [each for path in PACKAGE.rglob("*.py") for each in head.findall(path.read_text("utf-8"))]
    classes = [
        node for each in heads for node in ast.parse(f"{each} ...").body if isinstance(node, ast.ClassDef)
    ]
    named = {each.name: [ast.unparse(base).partition("[")[0] for base in each.bases] for each in classes}

    def above(name: str) -> set[str]:
        return {found for base in named[name] if base in named for found in (base, *above(base))}

    may_have_three = above("AttachScreen") | {"AttachScreen", "McpError"}
    many = {name: above(name) for name in named if len(above(name)) > 2}
    assert {name for name, bases in many.items() if not (bases | {name}) & may_have_three} == set()
    assert all(len(bases) == 3 for bases in many.values())


def test_versions_are_compared_in_their_table_and_in_the_demo_server_alone():
    compared = re.compile(
        r"""(?:[<>]=?|[!=]=|\bin) *\(?["']20\d\d-\d\d-\d\d|["']20\d\d-\d\d-\d\d["'] *(?:[<>]=?|[!=]=)"""
    )
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if compared.search(path.read_text(encoding="utf-8"))
    }
    assert {each for each in found if not each.startswith("demo/")} <= {"protocol/revisions.py"}


# -- make ----------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout in which nothing was made yet, as far as make can see."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "mcp_tui/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@needs_make
def test_make_run_installs_no_development_tools(fresh: Path):
    plan = _run("make", "--dry-run", "run", cwd=fresh)
    assert plan.returncode == 0, plan.stderr
    assert "-m venv" in plan.stdout
    assert "--group dev" not in plan.stdout.split("else")[1]
    assert plan.stdout.splitlines()[-1] == ".venv/bin/mcp-tui --demo"


@needs_make
def test_make_test_and_make_test_all_part_the_tests_without_overlap(fresh: Path):
    plan = _run("make", "--dry-run", "test", "test-all", cwd=fresh)
    runs = [line for line in plan.stdout.splitlines() if "-m pytest" in line]
    less, more = (re.findall(r"pytest .*-m '([^']+)'", run)[0] for run in runs)
    assert less == f"not ({more})"
    marks = {re.split(r"[:(]", mark)[0] for mark in PROJECT["tool"]["pytest"]["markers"]}
    assert set(more.split(" or ")) == marks - {"sends_anything"}


@needs_make
def test_make_refuses_a_python_that_is_too_old_in_one_sentence(fresh: Path):
    old = fresh / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    refused = _run("make", "test", f"PYTHON={old}", cwd=fresh)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[0] == (
        f"mcp-tui needs Python 3.11 or newer with its venv module; looked for: {old}. "
        "Install one, or name it: make PYTHON=/path/to/python3"
    )
    assert not (fresh / ".venv").exists()


# -- the recipes ---------------------------------------------------------------------------------------

RECIPES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Recipes")[1].split("\n**")[1:]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.split("**")[0].strip("."))
def test_a_recipe_names_what_the_files_that_it_names_have(recipe: str):
    names = re.findall(r"`(_?[A-Z][A-Z_]+|_[a-z_]+)`", recipe)
    files = re.findall(r"[\w/]+\.py", recipe)
    paths = [folder / name for name in files for folder in (ROOT / "mcp_tui", ROOT)]
    assert [
        name
        for name in files
        if "/" in name and not any((each / name).is_file() for each in (ROOT / "mcp_tui", ROOT))
    ] == []
    code = "\n".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())
    assert [name for name in names if not re.search(rf"\b{name}\b", code)] == []
    of_self = {*re.findall(r"\bself\.(\w+)", recipe)} - {*re.findall(r"\bself\.(\w+) = ", recipe)}
    modules = (path for folder in ("mcp_tui", "tests/servers") for path in (ROOT / folder).rglob("*.py"))
    every = "\n".join(path.read_text(encoding="utf-8") for path in modules) if of_self else ""
    assert [name for name in of_self if not re.search(rf"\b(?:def |self\.){name}\b", every)] == []


def test_the_keys_that_a_recipe_calls_free_are_free():
    (recipe,) = (each for each in RECIPES if each.startswith("A key."))
    (free,) = re.findall(r"must be free there and in the panes, as (.+?) are", recipe)
    scopes = (keys.EVERYWHERE, keys.WORKBENCH, keys.REQUESTS, keys.LINES, keys.DETAIL, keys.TIMELINE)
    taken = {each for scope in scopes for key in scope.keys for each in key.keys.split(",")}
    assert set(re.findall(r"`(.)`", free)) & taken == set()


# -- the README ----------------------------------------------------------------------------------------

COMMANDS = [
    line.strip().removeprefix("$ ")
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def test_the_readme_names_only_targets_that_make_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", "\n".join([*COMMANDS, *re.findall(r"`([^`\n]+)`", README)])))
    assert {"run", "test", "test-all"} <= named
    assert named - targets == set()


def test_the_exercise_of_the_readme_lasts_as_long_as_it_says():
    (said,) = re.findall(r"works for (\d+) seconds", README)
    assert TOOLS["stubborn"].offered["inputSchema"]["properties"]["seconds"]["default"] == int(said) >= 20


def test_a_page_links_only_to_files_that_exist():
    assert len(PAGES) > 20
    broken = [
        (str(page.relative_to(ROOT)), link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []


def test_what_is_pinned_can_be_installed_on_the_oldest_python():
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    installed = {f"{each.name}=={each.version}": each for each in distributions()}
    needs: dict[str, str] = {}
    for each in filter(installed.__contains__, pinned):
        about = installed[each].metadata
        needs[each] = about["Requires-Python"] if "Requires-Python" in about else ""  # noqa: SIM401 - no get before 3.12
    assert needs, "ruff and pyright are of the pinned version, whatever else is installed"
    assert [name for name, need in needs.items() if not SpecifierSet(need).contains("3.11.0")] == []
