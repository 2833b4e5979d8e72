from __future__ import annotations

from mcp_tui.tui.view.lines import Ring, line
from mcp_tui.tui.view.text import SafeText, words


def test_a_line_is_pieces_with_styles_and_what_it_is_about():
    made = line((words("12:04"), "muted"), words(" hello"), key=7)
    assert made.text == "12:04 hello"
    assert made.segments == (("12:04", "muted"), (" hello", ""))
    assert made.key == 7


def test_a_ring_lets_the_oldest_go_and_keeps_their_numbers_free():
    ring = Ring(3)
    for number in range(5):
        ring.append(line(SafeText(str(number))))
    assert (ring.start, ring.end) == (2, 5)
    assert [ring.line(number).text for number in range(ring.start, ring.end)] == ["2", "3", "4"]


def test_a_cleared_ring_goes_on_counting():
    ring = Ring(3)
    ring.append(line(words("a")))
    ring.clear()
    assert (ring.start, ring.end, ring.version) == (1, 1, 1)
    ring.append(line(words("b")))
    assert ring.line(1).text == "b"
