"""The parameters of an entry of the catalogue: the schema of its arguments, and the variants of filling it in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, product
from typing import Final

from mcp_tui.client.schemas import Schema
from mcp_tui.client.uri_templates import Expression, parse
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text, objects_in, texts_in
from mcp_tui.protocol.values import frozen

VARIANTS: Final = 12
"""The maximum number of distinguished variants of one schema: nested alternatives multiply."""

USAGE_NAME_CHARACTERS: Final = 40
"""The maximum number of characters of a name in :func:`usage`."""


@frozen
class Variant:
    """One variant of a schema: its members by name, and which are required. Names and title are hostile.

    ``common`` has the names that do not come from a branch of ``anyOf`` or ``oneOf``.
    """

    properties: dict[str, Json]
    required: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    title: str = ""

    def __or__(self, other: Variant) -> Variant:
        """Returns both variants combined, for a value that fits both."""
        both = self.properties.keys() & other.properties.keys()
        properties = {**self.properties, **other.properties}
        for name in both:
            properties[name] = {**as_object(self.properties[name]), **as_object(other.properties[name])}
        common, required = self.common | other.common, self.required | other.required
        return Variant(properties, required, common, other.title or self.title)

    def written(self, names: frozenset[str]) -> str:
        """Returns some of the names, optional ones in brackets."""
        most = USAGE_NAME_CHARACTERS
        wanted = [name for name in self.properties if name in names]
        short = [name if len(name) <= most else f"{name[: most - 1]}…" for name in wanted]
        shown = zip(wanted, short, strict=True)
        return " ".join(each if name in self.required else f"[{each}]" for name, each in shown)


def variants(schema: Schema) -> list[Variant]:
    """Returns the variants of an object of this schema, at least one.

    Branches of ``anyOf`` and ``oneOf`` are separate variants. Members that a condition adds (``then``, ``else``,
    ``dependentSchemas``) are optional in each of them.
    """
    return _variants(schema, schema.raw, 6)


def _variants(schema: Schema, node: Json, depth: int) -> list[Variant]:
    described = schema.resolved(node)
    properties = as_object(described.get("properties"))
    required = frozenset(texts_in(described.get("required")))
    made = [Variant(properties, required, frozenset(properties))]
    if not depth:
        return made
    for each in as_list(described.get("allOf")):
        made = _both(made, _variants(schema, each, depth - 1))
    for keyword in ("anyOf", "oneOf"):
        ways = list(islice(_branches(schema, as_list(described.get(keyword)), depth - 1), VARIANTS))
        if ways:
            made = _both(made, ways)
    for each in schema.conditional(described):
        for way in _variants(schema, each, depth - 1):
            made = _both(made, [Variant(way.properties, common=frozenset(way.properties))])
    return made


def _branches(schema: Schema, branches: list[Json], depth: int) -> Iterable[Variant]:
    """Yields the variants of several alternatives; an alternative of ``null`` has none."""
    for each in branches:
        if as_object(each).get("type") != "null":
            title = as_text(schema.resolved(each).get("title"))
            for way in _variants(schema, each, depth):
                yield Variant(way.properties, way.required, title=way.title or title)


def _both(some: list[Variant], others: list[Variant]) -> list[Variant]:
    return [one | other for one, other in product(some, others)][:VARIANTS]


def ways(schema: Schema, node: Json = None) -> list[Variant]:
    """Returns the variants of a schema or a part of it, without those that differ only in required members."""
    made: list[Variant] = []
    for each in variants(schema) if node is None else _variants(schema, node, 6):
        alike = next((at for at, other in enumerate(made) if other.properties == each.properties), None)
        if alike is None:
            made.append(each)
        else:
            made[alike] = replace(made[alike], required=made[alike].required & each.required)
    return made


def usage(schema: Json) -> str:
    """Returns the names of the arguments: ``query [limit]``, ``kind address | kind phone``, ``text (file | url)``."""
    found = variants(Schema(schema, most=2_000))
    first = found[0]
    # A name that a branch requires is already there.
    common = frozenset(name for name in first.common if len({name in each.required for each in found}) == 1)
    head = first.written(common)
    texts = dict.fromkeys(each.written(frozenset(each.properties) - common) for each in found)
    some = [text for text in texts if text]
    if not some:
        return head
    tail = " | ".join(some)
    if "" in texts:
        return f"{head} [{tail}]".lstrip()
    return f"{head} ({tail})" if head and len(some) > 1 else f"{head} {tail}".lstrip()


# -- prompts and templates -------------------------------------------------------------------------------------


def schema_of(kind: str, raw: dict[str, Json]) -> dict[str, Json]:
    """Returns the schema of the arguments of a tool, or one made for a prompt or a resource template; else an empty one.

    Raises:
        TemplateError: the URI template is not valid.
    """
    match kind:
        case "tools":
            return as_object(raw.get("inputSchema"))
        case "prompts":
            return _prompt_schema(raw)
        case "templates":
            return template_schema(as_text(raw.get("uriTemplate")))
        case _:
            return {}


def _prompt_schema(raw: dict[str, Json]) -> dict[str, Json]:
    """Returns a schema for the arguments of a prompt, which are strings (prompts, 2024-11-05)."""
    properties: dict[str, Json] = {}
    needed: list[Json] = []
    for argument in objects_in(raw.get("arguments")):
        name = argument.get("name")
        if isinstance(name, str):
            fields = {member: argument[member] for member in ("title", "description") if member in argument}
            properties[name] = {**fields, "type": "string"}
            if argument.get("required") is True:
                needed.append(name)
    return {"type": "object", "properties": properties, "required": needed}


def template_schema(template: str) -> dict[str, Json]:
    """Returns a schema for the variables of a URI template: strings, or lists if they explode.

    Variables outside of a query are required here, although RFC 6570 makes every variable optional.

    Raises:
        TemplateError: it is not valid.
    """
    properties: dict[str, Json] = {}
    needed: list[Json] = []
    for part in parse(template):
        if not isinstance(part, Expression):
            continue
        for each in part.variables:
            listed = {"type": "array", "items": {"type": "string"}}
            properties.setdefault(each.name, listed if each.explode else {"type": "string"})
            if part.operator not in ("?", "&") and each.name not in needed:
                needed.append(each.name)
    return {"type": "object", "properties": properties, "required": needed}
