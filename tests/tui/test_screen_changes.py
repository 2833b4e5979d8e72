"""What is written of a frame makes the same screen as the whole frame."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyte.screens import Char
from rich.cells import cell_len

from mcp_tui.tui.terminal.screen_changes import Cells, is_frame, turn

WIDTH, HEIGHT = 12, 4

PLAIN, RED, BOLD, LINE = "", "38;2;200;0;0", "1;38;2;200;0;0;48;2;0;0;90", "4;31"
DIM, TURNED = "1;2;48;2;0;0;90", "3;7;31"


def frame(*pieces: tuple[int, int, str, str], cursor: str = "\x1b[1;1H") -> str:
    """A frame as Textual writes it: pieces at a row and a column, each with a style."""
    return "\n".join(f"\x1b[{y};{x}H{styled(text, style)}" for y, x, text, style in pieces) + cursor


def styled(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


class Twins:
    """A terminal that gets whole frames, and one that gets what they change."""

    def __init__(self) -> None:
        self.whole, self.lean = pyte.Screen(WIDTH, HEIGHT), pyte.Screen(WIDTH, HEIGHT)
        self.cells = Cells()

    def draw(self, text: str) -> str:
        written = self.cells.changes(text, (WIDTH, HEIGHT))
        pyte.Stream(self.whole).feed(text)
        pyte.Stream(self.lean).feed(written)
        return written

    def agree(self) -> bool:
        places = [(y, x) for y in range(HEIGHT) for x in range(WIDTH)]
        same = all(looks(self.whole.buffer[y][x]) == looks(self.lean.buffer[y][x]) for y, x in places)
        cursors = [(each.cursor.y, each.cursor.x) for each in (self.whole, self.lean)]
        return same and cursors[0] == cursors[1]


def looks(cell: Char) -> Char:
    """A cell as one sees it: of a blank the background, unless something is drawn on it."""
    drawn = cell.data != " " or cell.underscore or cell.reverse or cell.strikethrough
    return cell if drawn else cell._replace(fg="default", bold=False, italics=False)


def row(number: int, text: str, style: str) -> tuple[int, int, str, str]:
    """A whole row: a wide character that is overwritten in part is another matter in each terminal."""
    text = text[: WIDTH // 2]
    return number, 1, text + " " * (WIDTH - cell_len(text)), style


ROWS = st.builds(
    row, st.integers(1, HEIGHT), st.text("ab1 ✓─😀é"), st.sampled_from((PLAIN, RED, BOLD, LINE, DIM, TURNED))
)


FRAMES = st.lists(ROWS, min_size=1, unique_by=lambda each: each[0]).map(sorted)


@settings(max_examples=20)
@given(st.lists(FRAMES, min_size=1, max_size=6))
def test_any_frames_end_in_the_same_screen(frames: list[list[tuple[int, int, str, str]]]) -> None:
    twins = Twins()
    for rows in frames:
        twins.draw(frame(*rows))
        assert twins.agree()


@pytest.fixture
def twins() -> Twins:
    twins = Twins()
    twins.draw(frame((1, 1, "row 1  0.1s", BOLD), (2, 1, "row 2", RED)))
    return twins


def test_a_frame_that_changes_nothing_is_not_written(twins: Twins) -> None:
    assert twins.draw(frame((2, 1, "row 2", RED))) == ""


def test_of_a_line_the_cells_that_changed_are_written(twins: Twins) -> None:
    assert twins.draw(frame((1, 1, "row 1  0.2s", BOLD))) == f"\x1b[1;10H\x1b[{BOLD}m2\x1b[0m\x1b[1;1H"
    assert twins.agree()


def test_another_style_alone_is_written(twins: Twins) -> None:
    assert "row 2" in twins.draw(frame((2, 1, "row 2", BOLD)))
    assert twins.agree()


def test_a_colour_that_no_blank_shows_is_not_written(twins: Twins) -> None:
    twins.draw(frame((2, 1, "row 2  ", RED)))
    assert twins.draw(frame((2, 6, "  ", LINE[2:]))) == ""
    line = frame((3, 1, "│", RED), (3, 2, "  a ", "31"), (3, 6, "│", RED))
    assert twins.draw(line) == f"\x1b[3;1H\x1b[{RED}m│  \x1b[31ma \x1b[{RED}m│\x1b[0m\x1b[1;1H"
    assert twins.agree()
    assert "\x1b[4" in twins.draw(frame((2, 6, "  ", LINE)))
    assert twins.agree()


def test_a_cursor_that_moves_alone_is_written(twins: Twins) -> None:
    assert twins.draw(frame((2, 1, "row 2", RED), cursor="\x1b[2;3H")) == "\x1b[2;3H"


def test_a_frame_of_the_whole_screen_is_written_whole_after_others_wrote_or_a_resize(twins: Twins) -> None:
    whole = frame(*((y, 1, f"line {y}", PLAIN) for y in range(1, HEIGHT + 1)))
    twins.draw(whole)
    assert "line 2" not in twins.draw(whole)
    for each in (twins.lean, twins.whole):
        pyte.Stream(each).feed("\x1b[2;2Hothers wrote here")
    twins.cells.forget()
    assert "line 2" in twins.draw(whole)
    assert twins.agree()
    assert "line 2" in twins.cells.changes(whole, (WIDTH + 1, HEIGHT))


@pytest.mark.parametrize("odd", ["ab😀", "\x1b]8;id=1;https://x\x1b\\row\x1b]8;;\x1b\\"])
def test_from_an_emoji_or_a_link_on_a_row_is_written_as_it_comes(twins: Twins, odd: str) -> None:
    drawn = frame((3, 1, odd, PLAIN), (3, 5, "rest", PLAIN))
    twins.draw(drawn)
    assert all(part in twins.draw(drawn) for part in (odd, "rest"))
    assert twins.draw(frame((1, 1, "row 1  0.1s", BOLD))) == ""


def test_modes_and_titles_are_no_frames() -> None:
    assert is_frame(frame((1, 1, "x", PLAIN)))
    assert not any(map(is_frame, ("\x1b[?1049h", "\x1b]2;title\x07", "\x1b[?2026h", "\x07", "\x1b[6n")))


@pytest.mark.parametrize(
    ("before", "after", "turned"),
    [
        (RED, RED, ""),
        (RED, "", "\x1b[0m"),
        (RED, "38;2;0;9;0", "\x1b[38;2;0;9;0m"),
        ("38;5;3;48;5;4", "38;5;3", "\x1b[49m"),
        ("31;41", "41", "\x1b[39m"),
        (RED, BOLD, "\x1b[1;48;2;0;0;90m"),
        (BOLD, RED, "\x1b[22;49m"),
        (DIM, BOLD, "\x1b[22;1;38;2;200;0;0m"),
        ("21;31", "31", "\x1b[0;31m"),
        ("97;107", "97;100", "\x1b[100m"),
    ],
)
def test_a_style_is_turned_by_what_differs(before: str, after: str, turned: str) -> None:
    assert turn(before, after) == turned
