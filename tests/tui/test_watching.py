"""``--watch`` with servers that write source files themselves; ``test_pty_watch.py`` has what a person sees."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_tui.client.client_settings import ClientSettings, StdioTarget
from mcp_tui.config.watched_files import Watched, WatchedContents, watched
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from mcp_tui.tui.preferences import Preferences
from tests.tui.driving import Driven, driving

SERVER = """
import json, pathlib, sys, time
here, mode = pathlib.Path(__file__).parent, sys.argv[1]
(here / "starts.log").open("a").write("start\\n")
if mode == "start":
    (here / "generated.py").write_text(f"# {time.time()}\\n")
for line in sys.stdin:
    message = json.loads(line)
    method, result = message["method"], {"content": []}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "s", "version": "1"}
    elif method == "tools/list":
        result = {"tools": [{"name": "make", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        text = "" if mode == "same" else f"# {time.time()}"
        (here / "made.py").write_text(text)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Project:
    """The folder of a server."""

    def __init__(self, folder: Path) -> None:
        self.server = folder / "server.py"
        self.server.write_text(SERVER)
        self._starts = folder / "starts.log"

    @property
    def starts(self) -> int:
        return len(self._starts.read_text().splitlines())

    def edit(self) -> None:
        with self.server.open("a") as file:
            file.write("# edited\n")


@asynccontextmanager
async def watching(folder: Path, mode: str) -> AsyncGenerator[tuple[Driven, Project]]:
    project = Project(folder)
    target = StdioTarget(command=(sys.executable, "-S", str(project.server), mode))
    found, seen = watched(target, []), set[str]()

    class Seen(Watched):
        def counts(self, path: str) -> bool:
            seen.add(path)
            return super().counts(path)

    preferences = Preferences(watched=Seen(found.paths, found.sources))
    settings = ClientSettings(protocol="2025-11-25")
    async with driving(target, size=(160, 30), settings=settings, preferences=preferences) as driven:
        watch = driven.bench.watching
        await driven.until(lambda: watch.ready)
        probe = folder / "probe.log"

        def is_seen() -> bool:
            probe.write_text("x")
            return str(probe) in seen

        seen.clear()
        await driven.until(is_seen)
        yield driven, project


def notes(driven: Driven) -> str:
    return "\n".join(each.text for each in driven.session.client.store.log if isinstance(each, ev.Note))


async def test_what_a_server_writes_at_its_start_restarts_nothing(tmp_path: Path):
    async with watching(tmp_path, "start") as (driven, project):
        said = "server.py changed: same lists · ignored generated.py, written at the start"
        for count in (2, 3):
            project.edit()
            await driven.until(lambda count=count: project.starts == count)
            await driven.until(lambda count=count: notes(driven).count(said) == count - 1)


async def test_a_file_that_is_written_again_with_the_same_content_restarts_nothing(tmp_path: Path):
    (tmp_path / "made.py").touch()
    async with watching(tmp_path, "same") as (driven, project):
        row = driven.row(driven.call("make"))
        await driven.until(lambda: row.state is State.COMPLETED)
        project.server.write_text(SERVER)
        project.edit()
        await driven.until(lambda: "server.py changed: same lists" in notes(driven))
        assert project.starts == 2


async def test_a_server_that_changes_a_file_after_each_start_is_restarted_three_times_in_a_row(
    tmp_path: Path,
):
    async with watching(tmp_path, "call") as (driven, project):
        row = driven.row(driven.call("make"))
        await driven.until(lambda: row.state is State.COMPLETED)
        driven.bench.table.select(row.id)
        said = (
            "made.py changed after 3 starts in a row, probably by the server: not restarted. S restarts it."
        )
        await driven.press("W")
        project.edit()
        await driven.until(lambda: said in notes(driven))
        starts = project.starts
        newest = driven.session.client.requests.order[-1]
        driven.bench.table.select(row.id)
        await driven.press("d")
        assert f"{row.id} and {newest.id} compared" in driven.text()
        await driven.press("escape")
        project.edit()
        await driven.until(
            lambda: project.starts > starts and notes(driven).rpartition("\n")[2][:11] == "same answer"
        )
        assert project.starts == starts + 1, "made.py changed again, and is known"


def test_the_contents_of_watched_files(tmp_path: Path):
    kept, large = tmp_path / "a.py", tmp_path / "b.py"
    kept.write_text("1")
    large.write_bytes(b"x" * (2 << 20))
    (tmp_path / "skipped").mkdir()
    (tmp_path / "skipped" / "c.py").touch()
    contents = WatchedContents(
        [tmp_path], lambda path: path.endswith(".py"), lambda path: "skipped" not in path
    )
    kept.write_text("1")
    os.utime(kept, (1, 1))
    (tmp_path / "new.txt").touch()
    assert contents.look() == contents.changed([str(kept), str(tmp_path)]) == []
    kept.write_text("2")
    large.write_bytes(b"x" * (2 << 20) + b"y")
    paths = {str(kept), str(large)}
    assert set(contents.changed(paths)) == paths
    assert contents.look() == []
    kept.unlink()
    (tmp_path / "new.py").touch()
    assert set(contents.look()) == {str(kept), str(tmp_path / "new.py")}
