"""``python -m tests.tui.snapshots --write [NAME …]`` makes the snapshots anew."""

from __future__ import annotations

import sys

from tests.tui.snapshots.scenes import main

sys.exit(main(sys.argv[1:]))
