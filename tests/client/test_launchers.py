"""The programs that are known to download a server before they start it."""

from __future__ import annotations

import shlex

from mcp_tui.client.launchers import launcher
from tests.cases import cases


@cases(
    ("command", "named"),
    [
        ("npx -y some-server", "npx"),
        ("/opt/homebrew/bin/uvx --from x y", "uvx"),
        ("npm --yes exec some-server", "npm exec"),
        ("npm start", ""),
        ("uv run server.py", "uv run"),
        ("uv pip list", ""),
        ("docker run -i --rm mcp/x", "docker run"),
        ("docker exec -i box run", ""),
        ("env -i A=b npx x", "npx"),
        ("bash -lc 'exec npx -y x'", "npx"),
        ('sh -c "it\'s"', ""),
        ("sh server.sh", ""),
        ("env", ""),
        ("python npx", ""),
    ],
)
def test_a_launcher_is_known_by_its_program_and_subcommand(command: str, named: str):
    assert launcher(shlex.split(command)) == named
