from __future__ import annotations

from pathlib import Path

from tests.fuzz.__main__ import failure, made, shorter
from tests.fuzz.targets import Target, targets


def test_a_failure_is_found_made_shorter_and_made_again_from_its_seed():
    def check(data: bytes) -> None:
        assert b"\x1b" not in data

    target = Target("planted", check, (b"a sound input of some length",))
    seed = next(each for each in range(1000) if failure(target, made(target, each)))
    data = made(target, seed)
    wrong = failure(target, data)
    assert wrong.startswith("AssertionError at test_fuzz.py:")
    assert shorter(target, data, wrong) == b"\x1b"
    assert made(target, seed) == data != made(target, seed + 1)


def test_every_target_takes_what_it_begins_from(tmp_path: Path):
    found = list(targets(tmp_path))
    assert len(found) >= 11
    for target in found:
        for data in target.sound:
            assert failure(target, data) == "", target.name


def test_what_is_refused_is_no_failure_and_what_is_not_is():
    def check(data: bytes) -> None:
        raise ValueError

    assert failure(Target("typed", check, (b"x",), refuses=(ValueError,)), b"x") == ""
    assert failure(Target("untyped", check, (b"x",)), b"x").startswith("ValueError")
