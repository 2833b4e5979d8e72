"""``--via`` behind the real ssh and sshd, which talk over pipes: nothing listens."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.cli.running import run
from tests.control import Control
from tests.live.test_via import Machine
from tests.tui.terminal import Terminal

SSHD: Final = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

pytestmark = [
    pytest.mark.real,
    pytest.mark.pty,
    pytest.mark.skipif(not (SSHD and shutil.which("ssh")), reason="needs ssh and sshd (openssh-server)"),
]


@pytest.fixture
def there(tmp_path: Path) -> Machine:
    """A machine behind ssh, whose server is started by the client for each connection."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPermitRootLogin yes\n"
    )
    (tmp_path / "ssh_config").write_text(
        f"Host build1\nProxyCommand {SSHD} -i -f {tmp_path}/sshd_config\nIdentityFile {tmp_path}/user\n"
        "IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    )
    machine = Machine(tmp_path, "machine")
    ssh = f"ssh -F {tmp_path}/ssh_config build1"
    tried = subprocess.run([*ssh.split(), "echo", "in"], capture_output=True, text=True, check=False)
    if tried.stdout != "in\n":
        pytest.skip(f"sshd lets this user not in: {tried.stderr}")
    exports = " ".join(f"{name}={shlex.quote(shlex.quote(value))}" for name, value in machine.env.items())
    machine.via = f"{ssh} env {exports} {sys.executable} -m mcp_tui"
    return machine


def test_a_call_behind_ssh_is_listed_opened_and_cancelled(
    there: Machine, control: Control, terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    with there.calling(control):
        (row,) = there.listed()
        terminal = terminals("attach", row["session"], "--via", there.via)
        terminal.see("count", "in flight", "1 of 1")
        terminal.press("\x11")
        assert terminal.ended() == 0
        terminal.assert_restored()
        reason = "$(touch made); `touch made` \"'\n--allow"
        assert (
            run("cancel", f"{row['session']}/{row['id']}", "--via", there.via, "--reason", reason).status == 0
        )
        control.wait("cancelled", reason=reason)
    assert run("log", "--via", there.via, "--tool", "$(touch made)", "--json").out == "[]\n"
    assert not [*tmp_path.rglob("made")]
    assert not Path.home().joinpath("made").exists()
