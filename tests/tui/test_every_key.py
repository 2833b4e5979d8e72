"""One list of keys: nothing is bound beside it, nothing in it is left untried, and all of it is told of."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

from textual.binding import BindingsMap
from textual.dom import DOMNode

import mcp_tui.tui
from mcp_tui.tui.bindings import scopes_of
from mcp_tui.tui.keymap import keymap
from mcp_tui.tui.screens.help import legend
from mcp_tui.view.badges import BADGES
from mcp_tui.view.keys import FIELD, SCOPES, help_texts, keys
from mcp_tui.view.server_bar import COUNTERS, LINK_GLYPHS
from tests.tui import test_attach, test_dialog_keys, test_keys

ROOT = Path(mcp_tui.tui.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
PRESSED = {
    "everywhere": {*test_keys.CHECKS, "app.redraw"},  # which needs a terminal: test_pty.py
    "workbench": test_keys.CHECKS,
    "recording": {**test_keys.CHECKS, **test_keys.OF_RECORDINGS},
    "attached": test_attach.CHECKS | test_attach.ALLOW,
    "probe": test_dialog_keys.PROBE,
    **dict.fromkeys(("requests", "lines", "detail", "timeline"), test_keys.OF_PANES),
    **dict.fromkeys(("form", "field", "page"), test_dialog_keys.OF_PARTS),
}
"""What is seen of the keys of a scope when they are pressed; of dialogs that are not named here, in one place."""


def test_every_key_of_the_list_is_pressed_by_a_test():
    for name, scope in SCOPES.items():
        pressed = PRESSED.get(name, test_dialog_keys.CHECKS)
        assert [key.id for key in scope.keys if key.id not in pressed] == [], name


def test_nothing_is_bound_but_what_the_list_has():
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                assert name != "Binding" or source.name == "bindings.py", f"a key beside the list: {source}"
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BINDINGS":
                assert re.fullmatch(r"bindings\([A-Z_, ]+\)", ast.unparse(node.value)), source


NAMES_A_KEY = re.compile(
    r"\b[Pp]ress [A-Za-z?+/]( |$|\.)|\besc\b|\bctrl\+\w|\^[a-z]\b|\bf[0-9]\b"
    r"|(^|[ ,;:])[A-Za-z] (saves|stops|starts|adds|opens|copies|finds|clears|closes|connects|shows|answers)\b"
)


def test_a_sentence_names_a_key_by_what_it_does_since_it_may_be_another():
    for source in SOURCES:
        if source.name in ("keys.py", "keymap.py"):
            continue
        tree = ast.parse(source.read_text())
        comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in comments:
                assert not NAMES_A_KEY.search(node.value), f"{source}: {node.value}"


def test_every_key_is_explained_where_it_works():
    for scope in SCOPES.values():
        ((_, told),) = help_texts([scope])
        explained = [said for _, said in told]
        assert explained == [key.help for key in scope.keys if key.action != "read_only"]
        assert all(key.help and key.label for key in scope.keys)


def test_the_help_has_a_legend_of_every_state_counter_and_link():
    shown = "\n".join(str(line.text) for section in legend() for line in section.lines)
    for glyph, word in (
        *((each.glyph, each.word) for each in BADGES),
        *((each.badge.glyph, f"3 {each.word}") for each in COUNTERS),
        *((glyph, link.value) for link, (glyph, _) in LINK_GLYPHS.items()),
    ):
        assert f"{glyph} {word}" in shown


def test_a_scope_names_those_around_it_and_an_id_does_not_stand_twice_in_one():
    for scope in SCOPES.values():
        assert set(scope.within) <= SCOPES.keys()
        assert len({key.id for key in scope.keys}) == len(scope.keys)


def test_no_two_keys_of_a_scope_are_the_same():
    for scope in SCOPES.values():
        names = [name for key in scope.keys for name in key.names if key.action != "read_only"]
        assert len(names) == len(set(names)), scope.name


def test_keys_as_they_come_may_be_written_down_as_they_are():
    assert keymap({key.id: key.keys for scope in SCOPES.values() for key in keys(scope)})[1] == []


def test_help_leaves_out_what_a_nearer_pane_takes_and_keeps_what_it_lends():
    told = [
        said
        for _, lines in help_texts([SCOPES[name] for name in ("detail", "workbench")])
        for _, said in lines
    ]
    assert "find text" in told
    assert not [said for said in told if said.startswith("filter the requests")]
    assert "call a tool" in told  # on the key that goes to the next place only while there is one
    told = [
        said for _, lines in help_texts([SCOPES[name] for name in ("field", "dialog")]) for _, said in lines
    ]
    assert "close, without losing your text" in told


def bound() -> list[type[DOMNode]]:
    """Every class of ours that has keys."""
    found: dict[type[DOMNode], None] = {}
    for source in SOURCES:
        module = importlib.import_module(
            ".".join(("mcp_tui.tui", *source.relative_to(ROOT).with_suffix("").parts))
        )
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, DOMNode) and scopes_of([object.__new__(each)]):
                found[each] = None
    return sorted(found, key=lambda each: each.__name__)


def test_each_key_can_be_another_one_wherever_it_is():
    for owner in bound():
        scopes = scopes_of([object.__new__(owner)])
        for key in {key.id: key for scope in scopes[::-1] for key in scope.keys}.values():
            if FIELD in scopes and key in FIELD.keys:  # looked up, and not bound
                continue
            bindings = BindingsMap.from_keys(dict(owner._merged_bindings.key_to_bindings))  # type: ignore[union-attr]
            bindings.apply_keymap({key.id: "f12"})
            assert bindings.key_to_bindings["f12"][0].id == key.id, owner
            assert key.id not in {each.id for name, each in bindings if name != "f12"}, owner
