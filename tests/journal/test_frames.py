from __future__ import annotations

from mcp_tui.journal.frames import FrameHead, Frames


def head(seq: int) -> FrameHead:
    return FrameHead(seq, seq / 2, "out" if seq % 2 else "in", f"m/{seq % 3}", seq * 7, 100 + seq, seq % 5)


def test_heads_come_back_as_they_were() -> None:
    frames = Frames()
    expected = [head(seq) for seq in range(1, 50)]
    for each in expected:
        frames.append(each)
    assert list(frames) == expected
    assert frames[0] == expected[0]
    assert frames[-1] == expected[-1]
    assert frames[3:9] == expected[3:9]
    assert frames[::-1] == expected[::-1]
    assert list(reversed(frames)) == expected[::-1]


def test_the_oldest_are_let_go_and_counted() -> None:
    frames = Frames(100)
    for seq in range(1, 1001):
        frames.append(head(seq))
        assert len(frames) + frames.hidden == seq
        assert len(frames) == seq or 100 <= len(frames) < 113
        assert frames[-1] == head(seq)
    assert frames[0] == head(frames.hidden + 1)


def test_a_frame_is_found_by_its_number_while_it_is_kept() -> None:
    frames = Frames(100)
    for seq in range(1, 1001):
        frames.append(head(seq))
    for seq in range(frames.hidden + 1, 1001):
        index = frames.find(seq)
        assert index is not None
        assert frames[index].seq == seq
    assert [frames.find(seq) for seq in (0, 1, frames.hidden, 1001)] == [None] * 4
    assert Frames().find(1) is None
