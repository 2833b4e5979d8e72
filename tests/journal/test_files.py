from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.journal.journal_files import open_parts, part_header, part_path, parts_of

HEADER = b'{"record":"session","v":1,"id":"abc"}\n'


def write(path: Path, number: int, rest: bytes = b"", header: bytes = HEADER) -> Path:
    made = part_path(path, number)
    made.write_bytes(part_header(header, number) + rest)
    return made


def test_what_is_only_named_like_a_part_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 1)
    write(path, 2, header=HEADER.replace(b"abc", b"other"))
    part_path(path, 3).write_bytes(HEADER)
    part_path(path, 4).write_bytes(b"no header\n")
    part_path(path, 5).write_bytes(b"[]\n")
    part_path(path, 6).mkdir()
    part_path(path, 7).symlink_to(write(tmp_path / "b.jsonl", 7))
    part_path(path, 8).write_bytes(b"")
    os.mkfifo(part_path(path, 9))
    before = len([*Path("/dev/fd").iterdir()])
    assert parts_of(path) == [path]
    assert parts_of(part_path(path, 6)) == [part_path(path, 6)]  # a folder
    assert len([*Path("/dev/fd").iterdir()]) == before
    with open_parts(path) as file:
        assert file.read() == HEADER


@given(
    sizes=st.lists(st.integers(0, 400), min_size=2, max_size=5), at=st.lists(st.integers(0, 2500), max_size=5)
)
def test_parts_are_read_as_one_file(sizes: list[int], at: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        rests = [b"%d" % (number % 10) * size + b"\n" for number, size in enumerate(sizes)]
        whole = b"".join(write(path, number, rest).read_bytes() for number, rest in enumerate(rests, 1))
        with open_parts(path) as file:
            assert list(file) == whole.splitlines(keepends=True)
            assert file.tell() == len(whole)
            for offset in at:
                file.seek(offset)
                assert file.readline() == whole[offset:].partition(b"\n")[0] + (
                    b"\n" if offset < len(whole) else b""
                )
            assert file.seek(0, os.SEEK_END) == len(whole)


def test_what_is_appended_meanwhile_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 1)
    last = write(path, 2)
    with open_parts(path) as file:
        file.read()
        with last.open("ab") as more:
            more.write(b"more\n")
        assert file.readline() == b"more\n"
        third = write(path, 3, b"third\n")
        assert file.read() == third.read_bytes()
        size = file.seek(0, os.SEEK_END)
        fourth = write(path, 4)
        assert file.seek(0, os.SEEK_END) == size + fourth.stat().st_size
