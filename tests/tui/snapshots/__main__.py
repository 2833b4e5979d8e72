"""``python -m tests.tui.snapshots --write`` makes the snapshots anew, with the fixtures of the test that compares them."""

from __future__ import annotations

import os
import sys

import pytest

from tests.tui.snapshots.text import FOLDER, WRITE

if sys.argv[1:] != ["--write"]:
    sys.exit("usage: python -m tests.tui.snapshots --write")
for file in FOLDER.glob("*.txt"):
    file.unlink()
os.environ[WRITE] = "1"
sys.exit(pytest.main(["-q", "-n", "2", "tests/tui/test_snapshots.py"]))
