from __future__ import annotations

import pkgutil
import subprocess
import sys

from mcp_tui.tui import view


def test_what_is_worded_needs_no_textual():
    names = [f"mcp_tui.tui.view.{module.name}" for module in pkgutil.iter_modules(view.__path__)]
    assert "mcp_tui.tui.view.rows" in names
    code = f"import sys, {', '.join(names)}; print('textual' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "False"
