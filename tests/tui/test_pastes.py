"""Pastes, as they come from a terminal: whole, however they are cut, and whatever is in them."""

from __future__ import annotations

from textual.events import Key, Paste

from mcp_tui.tui.terminal.pastes import END, START, UNENDED_SECONDS, Pastes
from tests.cases import cases

CONTROLS = [*map(chr, (*range(0x20), *range(0x7F, 0xA0)))]


def sorted_out(*reads: str, pastes: Pastes | None = None) -> list[str]:
    """What becomes of reads, after each of which but the last more is there at once: typed text, and ``<pasted>``."""
    pastes = pastes or Pastes(now=lambda: 0.0)
    found: list[str] = []
    for read in (*reads, ""):
        for piece in pastes.sort(read):
            if isinstance(piece, Paste):
                found.append(f"<{piece.text}>")
            elif isinstance(piece, Key):
                found.append(piece.key)
            else:
                found.append(piece)
    return found


@cases(
    ("sent", "taken"),
    [
        (f"{START}a{END}", ["<a>"]),
        (f"x{START}a{END}y\r", ["x", "<a>", "y\r"]),
        (f"{START}a{END}{START}b{END}", ["<a>", "<b>"]),
        (f"{START}{START}a{END}", [f"<{START}a>"]),
        (f"{START}a{END}y{END}", [f"<a{END}y>"]),  # an end marker in the text itself
        (f"{START}a{END}y{START}b{END}", [f"<a{END}y{START}b>"]),  # and both
        *(
            (f"{START}a{each}y{END}", [f"<a{each}y>"])
            for each in (*CONTROLS, "\x1b[I", "\x1b[24~", "\x1b[<0;1;1M")
        ),
    ],
)
def test_a_paste_is_whole_wherever_it_is_cut(sent: str, taken: list[str]):
    for cut in range(1, len(sent)):
        assert "".join(sorted_out(sent[:cut], sent[cut:])) == "".join(taken), cut
    assert sorted_out(sent) == taken
    assert "".join(sorted_out(*sent)) == "".join(taken)


def test_keys_are_handed_on_at_once_but_for_one_that_may_begin_a_paste():
    pastes = Pastes(now=lambda: 0.0)
    assert [*pastes.sort("ab\x1b[A")] == ["ab\x1b[A"]
    assert sorted_out("\x1b", pastes=pastes) == ["escape"]
    assert sorted_out("\x1b[", pastes=pastes) == ["\x1b["]
    assert sorted_out("\x1b[2", pastes=pastes) == []  # nobody types this
    assert sorted_out("4~", pastes=pastes) == ["\x1b[24~"]


def test_a_paste_without_an_end_is_taken_after_a_while_and_a_person_can_type_again():
    now = 0.0
    pastes = Pastes(now=lambda: now)
    assert sorted_out(f"{START}first", pastes=pastes) == []
    now += UNENDED_SECONDS
    assert sorted_out(pastes=pastes) == ["<first>"]
    assert sorted_out("y\rmore", pastes=pastes) == []  # it stood still: no person types so fast
    now += UNENDED_SECONDS
    assert sorted_out(pastes=pastes) == ["<y\rmore>"]
    assert sorted_out("y", "\x1b[B", pastes=pastes) == ["y", "\x1b[B"]
    assert sorted_out(f"{START}x{END}", pastes=pastes) == ["<x>"]
