"""The programs of ``examples/`` run against the demo server, and print what the Python API promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"

PRINTED = {
    "answer": [
        "asked: A table for tonight: for whom, and where?",
        'answer: You answered: {"action": "accept", "content": {"name": "Ada", "place": "garden"}}',
    ],
    "cancel": ["cancelled · reason delivered", "last: result"],
    "events": [
        "Called",
        "Sent",
        *(f"Progress step {step} of 3" for step in (1, 2, 3)),
        "Completed",
        "counted to 3",
    ],
    "timeouts": ["add: completed"] * 3 + ["silent: cancel_requested (timeout)"],
}


def test_every_example_has_its_lines_here():
    assert sorted(PRINTED) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints(name: str, tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.stderr == ""
    assert [line.rstrip() for line in ran.stdout.splitlines()][: len(PRINTED[name])] == PRINTED[name]
