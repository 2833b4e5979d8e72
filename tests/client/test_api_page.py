"""The page about the Python API says what is true: its programs run, and what they print is what they claim."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANG

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, ["mcp-tui-demo 2026-07-28", "['echo', 'add']", "5"]),
        (1, ["None", "cancelled notification True", "['result']"]),
        (2, []),
    ],
)
def test_a_program_of_the_page(number: int, printed: list[str], tmp_path: Path) -> None:
    assert len(PROGRAMS) == 3
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAMS[number]],
        capture_output=True,
        text=True,
        timeout=HANG,
        cwd=tmp_path,
        check=False,
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == printed
