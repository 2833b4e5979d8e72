"""Finds the parts of a list of tools that fail in other clients, rule by rule. The definitions are hostile; nothing is
fetched.

Some rules come from the protocol. Others come from the model APIs of many clients, which reject a whole list of tools
for one name or schema.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Final, cast

from mcp_tui.client.schemas import DATA_KEYWORDS, MAX_SUBSCHEMAS, SCHEMAS_BY_NAME, Path, Schema, path_text
from mcp_tui.protocol.messages import Json, as_object, as_text, shown, texts_in
from mcp_tui.protocol.values import frozen

LINT_RULES: Final = {
    "L-01": "a tool has a name of 1 to 64 letters, digits, _, and -",
    "L-02": "no two tools have the same name",
    "L-03": "a tool has a description",
    "L-04": 'an inputSchema has "type": "object"',
    "L-05": 'an outputSchema has "type": "object" (up to 2025-11-25)',
    "L-06": "a $ref leads to a schema",
    "L-07": "a $ref stays within its schema",
    "L-08": "a schema is valid JSON Schema",
    "L-09": "an argument has a name of 1 to 64 letters, digits, _, ., and -",
    "L-10": "an inputSchema has no anyOf, oneOf, or allOf at its root",
    "L-11": "an array says what its items are",
    "L-12": "a required argument is described",
    "L-13": "the list is whole",
}
"""The rules by id, each in one clause. The ids are a contract and are never reused."""

CUT: Final = frozenset(
    {"repeated-cursor", "malformed-cursor", "endless-list", "malformed-entry", "header-annotation"}
)
"""The violations that may make a list shorter than the server intended."""

FINDINGS: Final = 50
"""The maximum number of findings for one tool."""

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFUSED: Final = re.compile(r"[^A-Za-z0-9_-]")
_ARGUMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_DRAFTS: Final = re.compile(r"https?://json-schema\.org/(draft/20(20-12|19-09)|draft-0[467])/schema#?")
_ROOT: Final = ("anyOf", "oneOf", "allOf")


@frozen
class LintFinding:
    """One broken rule. ``tool`` and ``detail`` quote the server, and are hostile.

    ``tool`` is empty for the whole list. A tool without a name is called by its number in the list: ``#3``.
    """

    rule: str
    tool: str
    path: Path
    detail: str

    def __str__(self) -> str:
        place = path_text(self.path)
        text = f"{place}: {self.detail}" if place else self.detail
        return f"{self.tool}  {text}".lstrip()


def lint(
    tools: list[dict[str, Json]], *, any_output: bool = False, cut: Iterable[str] = ()
) -> list[LintFinding]:
    """Returns the problems of a list of tools, by rule.

    ``any_output`` permits an outputSchema of any type (2026-07-28); ``cut`` has the details of violations of
    :data:`CUT`.
    """
    found = [LintFinding("L-13", "", (), detail) for detail in cut]
    names = Counter(as_text(tool.get("name")) for tool in tools)
    for name, times in names.items():
        if times > 1 and name:
            found.append(LintFinding("L-02", name, (), f"{times} tools have this name"))
    # Claude Code, opencode, and Kilo replace what model APIs refuse, and drop one tool in silence
    # (findings/three-agents-make-one-of-two-tools.sh).
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(_REFUSED.sub("_", name), name)
        if other != name:
            found.append(
                LintFinding("L-02", name, (), f"some agents offer this and {shown(other)} as one tool")
            )
    for number, tool in enumerate(tools, 1):
        found += islice(_of_tool(tool, number, any_output=any_output), FINDINGS)
    return sorted(found, key=lambda each: each.rule)


def _of_tool(tool: dict[str, Json], number: int, *, any_output: bool) -> Iterable[LintFinding]:
    name = as_text(tool.get("name"))
    if not _TOOL_NAME.fullmatch(name):
        why = "many clients refuse this name" if name else "the name is missing"
        name = name or f"#{number}"
        yield LintFinding("L-01", name, (), why)
    if not as_text(tool.get("description")).strip():
        yield LintFinding("L-03", name, (), "the description is missing")
    for member in ("inputSchema", "outputSchema"):
        if member == "inputSchema" or member in tool:
            for rule, path, detail in _of_schema(tool.get(member), member, any_output=any_output):
                yield LintFinding(rule, name, (member, *path), detail)


def _of_schema(raw: Json, member: str, *, any_output: bool) -> Iterable[tuple[str, Path, str]]:
    """Yields the rule, the place, and the detail of each problem of one schema."""
    taken = member == "inputSchema"
    rule = "L-04" if taken else "L-05"
    if not isinstance(raw, dict):
        yield rule, (), "the schema is missing" if raw is None else f"the schema is {shown(raw)}, no object"
        return
    whole = as_object(raw)
    kind = whole.get("type")
    if kind != "object" and (taken or not any_output):
        yield rule, ("type",), "the type is missing" if kind is None else f"the type is {shown(kind)}"
    if Schema(whole).bounded and (wrong := _invalid(whole)):
        yield "L-08", (), wrong
    yield from _references(whole)
    if taken:
        yield from _of_arguments(whole)


def _of_arguments(whole: dict[str, Json]) -> Iterable[tuple[str, Path, str]]:
    for keyword in _ROOT:
        if keyword in whole:
            yield "L-10", (keyword,), "model APIs refuse this at the root"
    for name in as_object(whole.get("properties")):
        if not _ARGUMENT.fullmatch(name):
            yield "L-09", ("properties", name), "model APIs refuse this name"
    described = {name for _, node, _ in _parts(whole) for name in as_object(node.get("properties"))}
    if not whole.get("patternProperties") and not isinstance(whole.get("additionalProperties"), dict):
        for name in texts_in(whole.get("required")):
            if name not in described:
                yield "L-12", ("required",), f"{shown(name)} is in no properties"
    for path, node, _ in _parts(whole):
        kinds = node.get("type")
        listed = "array" in texts_in(kinds if isinstance(kinds, list) else [kinds])
        if listed and not node.keys() & {"items", "prefixItems", "$ref", "contains", *_ROOT}:
            yield "L-11", path, "an array without items is refused by clients"


def _references(whole: dict[str, Json]) -> Iterable[tuple[str, Path, str]]:
    ids = {as_text(node.get("$id")).rstrip("#") for _, node, _ in _parts(whole)}
    for path, node, resource in _parts(whole):
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            if not isinstance(reference, str):
                continue
            if not reference.startswith("#"):
                if reference.partition("#")[0] not in ids:
                    text = f"{shown(reference)} leads outside, and no client may fetch it"
                    yield "L-07", (*path, keyword), text
            elif not isinstance(Schema(resource).target(reference), (dict, bool)):
                yield "L-06", (*path, keyword), f"{shown(reference)} leads nowhere"


def _parts(whole: dict[str, Json]) -> Iterable[tuple[Path, dict[str, Json], dict[str, Json]]]:
    """Yields the schemas in a schema: the place, the schema, and the nearest schema around it with an ``$id``."""
    waiting: list[tuple[Path, Json, dict[str, Json]]] = [((), whole, whole)]
    for _ in range(MAX_SUBSCHEMAS):
        if not waiting:
            return
        path, value, resource = waiting.pop()
        if isinstance(value, list):
            waiting += (((*path, at), each, resource) for at, each in enumerate(cast("list[Json]", value)))
        elif isinstance(value, dict):
            node = cast("dict[str, Json]", value)
            inner = node if "$id" in node else resource
            yield path, node, inner
            for keyword, each in node.items():
                if keyword in SCHEMAS_BY_NAME:
                    below = as_object(each).items()
                    waiting += (((*path, keyword, name), part, inner) for name, part in below)
                elif keyword not in DATA_KEYWORDS:
                    waiting.append(((*path, keyword), each, inner))


def _invalid(whole: dict[str, Json]) -> str:
    """Returns why a schema is not valid by its own draft; empty for an unknown draft, which would have to be fetched."""
    # Imported after the first answer: the validator takes time to load.
    import jsonschema_rs

    draft = whole.get("$schema")
    if draft is not None and not (isinstance(draft, str) and _DRAFTS.fullmatch(draft)):
        return ""
    try:
        jsonschema_rs.meta.validate(whole)
    except jsonschema_rs.ValidationError as error:
        place = path_text(tuple(error.instance_path))
        return f"{place}: {error.message}"[:300] if place else error.message[:300]
    except Exception:  # noqa: BLE001 - whatever a hostile schema does to the validator
        return ""
    return ""
