"""URI templates: the examples of RFC 6570, and what a server may send instead."""

from __future__ import annotations

import pytest

from mcp_tui.client.uri_templates import TemplateError, Value, expand
from tests.cases import cases

VALUES: dict[str, Value] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "nothing": [],
}

BAD = ("", "=a", "|a", "a b", "a..b", "%zz", "a:0", "a:10000", "a:*")

# RFC 6570, sections 1.2 and 3.2
EXAMPLES = [
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("O{undef}X", "OX"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,undef}", "?1024"),
    ("{var:3}", "val"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+base}index", "http://example.com/home/index"),
    ("{+path}/here", "/foo/bar/here"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list*}", "red,green,blue"),
    ("{#hello}", "#Hello%20World!"),
    ("foo{#empty}", "foo#"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path:6}/here", "#/foo/b/here"),
    ("{#list*}", "#red,green,blue"),
    ("{.who,who}", ".fred.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"),
    ("X{.var:3}", "X.val"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.nothing}", "X"),
    ("{/who,who}", "/fred/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var:1,var}", "/v/value"),
    ("{/list*}", "/red/green/blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?var:3}", "?var=val"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&list*}", "&list=red&list=green&list=blue"),
]


@cases(("template", "expected"), EXAMPLES)
def test_the_examples_of_the_rfc(template: str, expected: str):
    assert expand(template, VALUES) == expected


@cases(
    ("template", "said"),
    [
        ("a{b", "unmatched brace at 2"),
        ("a}b", "unmatched brace at 2"),
        ("{a{b}}", "unmatched brace at 1"),
        *((f"{{{bad}}}", f"{bad!r} is not a variable of a URI template") for bad in BAD),
        ("{a,}", "'' is not a variable of a URI template"),
        ("x" * 10_001, "the template has more than 10,000 characters"),
    ],
)
def test_what_is_no_template_is_refused_in_one_sentence(template: str, said: str):
    with pytest.raises(TemplateError) as caught:
        expand(template, VALUES)
    assert str(caught.value) == said


def test_a_prefix_means_nothing_to_a_list():
    assert expand("{list*}{list:3}", VALUES) == "red,green,bluered,green,blue"


def test_long_templates_and_values_take_their_length_and_no_more():
    # what is quadratic does not come to an end before the test's own limit
    assert len(expand("{a}" * 3_000, {"a": "b"})) == 3_000
    assert len(expand("{+a}", {"a": "%" * 2_000_000})) == 6_000_000
    assert len(expand("{?a*}", {"a": ["x"] * 300_000})) == 1_200_000
