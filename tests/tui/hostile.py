"""Text that a server may send and no terminal may see, and the rule that all shown text keeps."""

from __future__ import annotations

import re

PAYLOADS = {
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "title": "\x1b]0;pwned\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "c1-csi": "\x9b2J\x9d0;t\x9c",
    "nul-bel": "a\x00b\x07c\x08\x7f",
    "line-ends": "one\ntwo\rthree\x0b\x0c\x85\u2028four\u2029five",
    "rich-close": "[/foo] [/] [bold",
    "click": "[@click=app.quit]quit[/]",
    "link": "[link=https://evil.example]here[/link] \x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
    "bidi": "user\u202e\u2066// admin\u2069\u2066",
    "zero-width": "pay\u200bpal\u200d\u2060\ufeff\u00ad",
    "tags": "hi\U000e0041\U000e0042\U000e007f",
    "selectors": "a\ufe00\ufe01\U000e0100\U000e01ef❤\ufe0f\ufe0f",
    "surrogates": "\ud800x\udfff",
    "zalgo": "Z" + "\u0301\u0316\u0489" * 40,
    "marks-first": "\u0301\u20e3 leading",
    "blanks": "\u3164\u2800\uffa0\u115f",
    "private": "\ue0b0\U000f0000\U0010ffff\ufdd0\uffff",
    "wide": "漢字かな한글" * 20,
    "emoji": "👩\u200d💻👍🏽🇩🇪1\ufe0f\u20e3",
    "tab": "a\tb\t\tc",
    "long": "x" * 5000,
}

PACKED = [
    "".join(PAYLOADS[name] for name in names.split())
    for names in ("clear c1-csi nul-bel", "rich-close click", "bidi zero-width surrogates blanks", "long")
]
"""One of each kind, so short that a line of a dialog shows them: all pass one function, and ``test_text.py`` tests that."""

FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ud800-\udfff"
    "\ue000-\uf8ff\u3164\u2800\uffa0\u115f\ufdd0-\ufdef\uffff\U000e0000-\U0010ffff]"
)


def assert_harmless(text: str) -> None:
    found = FORBIDDEN.search(text)
    assert found is None, f"{found[0]!a} in {text!a}"
