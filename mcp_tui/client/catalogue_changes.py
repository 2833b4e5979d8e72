"""Finds and ranks the differences between two catalogues in their normal form: breaking, risky, or additive.

*Breaking* can fail for a working caller: a tool is gone, an argument is required, a formerly valid value is rejected,
a result may have new values. *Additive* is the opposite. *Risky* is what no schema judges: texts that a model reads,
hints that a client trusts. Libraries that compare schemas say whether one accepts less than another, but not where,
so the comparison is made here. What it does not understand counts as breaking or risky, never as nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from itertools import chain
from typing import Final, cast

from mcp_tui.client.constraints import (
    ALTERNATIVES,
    COMPARED,
    DEFINITIONS,
    INNER,
    LOWER,
    OPAQUE,
    TYPE_SET,
    UPPER,
    Constraints,
    Discriminators,
    Placed,
    matches,
    types_of,
    values_of,
)
from mcp_tui.client.normal_form import ANNOTATIONS, KEYS, canonical
from mcp_tui.client.schemas import REFERENCE_HOPS, SCHEMA_DEPTH, Path, Schema, path_text
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text, number, objects_in, shown, texts_in
from mcp_tui.protocol.values import frozen

Catalogue = Mapping[str, Mapping[str, dict[str, Json]]]

COMPARED_PAIRS: Final = 5_000
"""The maximum number of pairs of schemas in one comparison; each alternative has a comparison of its own."""

ALL_PAIRS: Final = 50_000
"""The maximum number of pairs in all comparisons of two schemas together."""


class Rank(Enum):
    """The rank of a difference, the worst first."""

    BREAKING = "breaking"
    RISKY = "risky"
    ADDITIVE = "additive"


@frozen
class Change:
    """One difference of an entry. ``name``, ``path``, and ``detail`` quote the server, and are hostile."""

    rank: Rank
    kind: str
    name: str
    path: Path
    detail: str

    def fields(self) -> dict[str, Json]:
        """The difference as JSON."""
        return {
            "rank": self.rank.value,
            "kind": self.kind,
            "name": self.name,
            "path": path_text(self.path),
            "detail": self.detail,
        }


class Effect(Enum):
    """The effect of a change in a schema on the values that it accepts, or no effect."""

    NARROWER = "narrower"
    WIDER = "wider"
    OTHER = "other"
    REMOVED = "gone"
    NEW = "new"
    TEXT = "text"


_Found = tuple[Effect, Path, str]

_FOR_INPUT: Final = {
    Effect.NARROWER: Rank.BREAKING,
    Effect.WIDER: Rank.ADDITIVE,
    Effect.OTHER: Rank.BREAKING,
    Effect.REMOVED: Rank.BREAKING,
    Effect.NEW: Rank.ADDITIVE,
    Effect.TEXT: Rank.RISKY,
}
_FOR_OUTPUT: Final = _FOR_INPUT | {Effect.NARROWER: Rank.ADDITIVE, Effect.WIDER: Rank.BREAKING}
"""The rank of an effect in arguments, and in results, where a caller must understand every possible value."""

_REFUSES: Final = frozenset({Effect.NARROWER, Effect.OTHER, Effect.REMOVED})
_PERMITS: Final = frozenset({Effect.WIDER, Effect.OTHER, Effect.NEW})


def changes(old: Catalogue, new: Catalogue) -> list[Change]:
    """Returns the differences, the worst first, then by list and name."""
    found: list[Change] = []
    for kind in KEYS:
        before, after = old.get(kind, {}), new.get(kind, {})
        added = after.keys() - before.keys()
        found += (
            Change(Rank.BREAKING, kind, name, (), _removed(before[name], after, added))
            for name in before.keys() - after.keys()
        )
        found += (Change(Rank.ADDITIVE, kind, name, (), "added") for name in added)
        for name in before.keys() & after.keys():
            found += (
                Change(rank, kind, name, path, detail)
                for rank, path, detail in _of_entry(before[name], after[name])
            )
    ranks, kinds = list(Rank), list(KEYS)
    return sorted(
        found,
        key=lambda each: (ranks.index(each.rank), kinds.index(each.kind), each.name, path_text(each.path)),
    )


def _removed(entry: dict[str, Json], after: Mapping[str, dict[str, Json]], added: Iterable[str]) -> str:
    def body(of: dict[str, Json]) -> dict[str, Json]:
        return {key: value for key, value in of.items() if key not in ("name", "title", "uri", "uriTemplate")}

    renamed = [name for name in sorted(added) if body(after[name]) == body(entry)]
    return f"removed; {shown(renamed[0])} has all the rest of it" if len(renamed) == 1 else "removed"


def _of_entry(old: dict[str, Json], new: dict[str, Json]) -> Iterator[tuple[Rank, Path, str]]:
    for member in sorted(old.keys() | new.keys()):
        before, after = old.get(member), new.get(member)
        if before == after:
            continue
        match member:
            case "inputSchema":
                yield from _of_schemas(member, before, after, _FOR_INPUT)
            case "outputSchema":
                if before is None:
                    yield Rank.ADDITIVE, (member,), "added"
                elif after is None:
                    yield Rank.BREAKING, (member,), "removed"
                else:
                    yield from _of_schemas(member, before, after, _FOR_OUTPUT)
            case "arguments":
                yield from _of_arguments(objects_in(before), objects_in(after))
            case "execution":
                yield from _of_execution(as_object(before), as_object(after))
            case "annotations":
                yield from _members((member,), as_object(before), as_object(after))
            case _:
                yield Rank.RISKY, (member,), _changed(before, after)


def _of_schemas(
    member: str, old: Json, new: Json, ranks: Mapping[Effect, Rank]
) -> Iterator[tuple[Rank, Path, str]]:
    found = list(dict.fromkeys(SchemaComparison(old, new).compare(old, new, (member,))))
    for effect, path, detail in found:
        yield ranks[effect], path, detail
    if not found:
        yield Rank.RISKY, (member,), "written differently"


def _of_arguments(old: list[dict[str, Json]], new: list[dict[str, Json]]) -> Iterator[tuple[Rank, Path, str]]:
    """Compares the arguments of a prompt."""
    before = {as_text(each.get("name")): each for each in old}
    after = {as_text(each.get("name")): each for each in new}
    for name in sorted(before.keys() | after.keys()):
        path: Path = ("arguments", name)
        was, now = before.get(name), after.get(name)
        required = now is not None and now.get("required") is True
        if now is None:
            yield Rank.BREAKING, path, "removed"
        elif was is None:
            yield (Rank.BREAKING, path, "new, and required") if required else (Rank.ADDITIVE, path, "added")
        else:
            if required != (was.get("required") is True):
                rank = Rank.BREAKING if required else Rank.ADDITIVE
                yield rank, (*path, "required"), "is required now" if required else "is optional now"
            others = ({k: v for k, v in each.items() if k != "required"} for each in (was, now))
            yield from _members(path, *others)


def _of_execution(old: dict[str, Json], new: dict[str, Json]) -> Iterator[tuple[Rank, Path, str]]:
    """Compares how a tool runs as a task: removing a way to call it is breaking."""
    ways = {"forbidden": {"call"}, "optional": {"call", "task"}, "required": {"task"}}
    was, now = (as_text(each.get("taskSupport")) or "forbidden" for each in (old, new))
    if was != now:
        fewer = ways.get(was, set()) - ways.get(now, set())
        yield Rank.BREAKING if fewer else Rank.ADDITIVE, ("execution", "taskSupport"), f"{was} became {now}"
    rest = ({k: v for k, v in each.items() if k != "taskSupport"} for each in (old, new))
    yield from _members(("execution",), *rest)


def _members(path: Path, old: dict[str, Json], new: dict[str, Json]) -> Iterator[tuple[Rank, Path, str]]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield Rank.RISKY, (*path, name), _changed(old.get(name), new.get(name))


def _changed(old: Json, new: Json) -> str:
    if old is None:
        return f"added: {_quoted(new)}"
    return f"removed: {_quoted(old)}" if new is None else f"changed from {_quoted(old)} to {_quoted(new)}"


def _quoted(value: Json) -> str:
    text = value if isinstance(value, str) else canonical(value)
    text = text if len(text) <= QUOTED_CHARACTERS else f"{text[: QUOTED_CHARACTERS - 1]}…"
    return repr(text) if isinstance(value, str) else text


QUOTED_CHARACTERS: Final = 120
"""The maximum number of characters of a value that a difference quotes."""


# -- schemas ---------------------------------------------------------------------------------------------------


class SchemaComparison:
    """Compares two schemas in their normal form: what does the newer one accept that the older did not, and what no
    longer?
    """

    def __init__(self, old: Json, new: Json) -> None:
        self._schemas = Schema(old), Schema(new)
        self._constraints = Constraints()
        self._discriminators = tuple(Discriminators(partial(self._resolved, each)) for each in self._schemas)
        self._left, self._left_of_all = COMPARED_PAIRS, ALL_PAIRS
        self._searches = False
        """Whether a search for a matching alternative is running. Then alternatives within it have no budget of their
        own.
        """
        self._cuts = 0
        self._active: set[tuple[int, int]] = set()

    def compare(self, old: Json, new: Json, path: Path) -> Iterator[_Found]:
        """Yields the effect, the place, and the words of each difference."""
        if self._constraints.of(old) == self._constraints.of(new):
            for place, was, now in self._constraints.texts(old, new, path):
                yield Effect.TEXT, place, _changed(was, now)
            return
        self._left -= 1
        self._left_of_all -= 1
        if self._is_spent or len(path) > 2 * SCHEMA_DEPTH:
            self._cuts += 1
            yield Effect.OTHER, path, "changed, and too large to compare"
            return
        yield from self._definitions(as_object(old), as_object(new), path)
        old, new = (self._resolved(*each) for each in zip(self._schemas, (old, new), strict=True))
        pair = id(old), id(new)
        # A schema may refer to itself: a pair that is being compared already adds no further differences.
        if pair in self._active or old == new:
            return
        if old is False or new is False:
            effect = Effect.NARROWER if new is False else Effect.WIDER
            yield effect, path, "no longer accepted" if new is False else "accepted now"
            return
        self._active.add(pair)
        try:
            yield from self._members(as_object(old), as_object(new), path)
        finally:
            self._active.discard(pair)

    @property
    def _is_spent(self) -> bool:
        return self._left < 0 or self._left_of_all < 0

    def _alone(self, old: Json, new: Json, path: Path) -> Iterator[_Found]:
        """Compares two schemas with a separate budget."""
        left = self._left
        if not self._searches:
            self._left = COMPARED_PAIRS
        try:
            yield from self.compare(old, new, path)
        finally:
            if not self._searches:
                self._left = left

    @staticmethod
    def _resolved(schema: Schema, node: Json) -> Json:
        for _ in range(REFERENCE_HOPS):
            reference = as_object(node).get("$ref")
            target = schema.target(reference)
            if not isinstance(target, (dict, bool)):
                break
            node = cast("Json", target)
        return node

    def _members(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        choices = self._choices(old, new)
        if choices is not None:
            keyword, before, after, old, new = choices
            yield from self._alternatives(before, after, (*path, keyword))
        else:
            for keyword in ALTERNATIVES:
                if keyword in old and keyword in new:
                    before, after = as_list(old[keyword]), as_list(new[keyword])
                    yield from self._alternatives(before, after, (*path, keyword))
                else:
                    yield from self._opaque(keyword, old, new, path)
        types = list(self._types(old, new, path))
        yield from types
        # Without a common type, all other keywords are about different values.
        if any(effect is Effect.OTHER for effect, _, _ in types):
            return
        yield from self._values(old, new, path)
        yield from self._bounds(old, new, path)
        yield from self._object(old, new, path)
        for keyword in INNER:
            yield from self.compare(old.get(keyword, True), new.get(keyword, True), (*path, keyword))
        yield from self._all_of(as_list(old.get("allOf")), as_list(new.get("allOf")), (*path, "allOf"))
        before, after = as_list(old.get("prefixItems")), as_list(new.get("prefixItems"))
        yield from self._in_order(before, after, (*path, "prefixItems"))
        for keyword in sorted((old.keys() | new.keys()) - COMPARED):
            if keyword in OPAQUE:
                yield from self._opaque(keyword, old, new, path)
            elif old.get(keyword) != new.get(keyword):
                yield Effect.TEXT, (*path, keyword), _changed(old.get(keyword), new.get(keyword))

    def _opaque(
        self, keyword: str, old: dict[str, Json], new: dict[str, Json], path: Path
    ) -> Iterator[_Found]:
        before, after, place = old.get(keyword) or None, new.get(keyword) or None, (*path, keyword)
        of = self._constraints.of_keyword
        if before is not None and after is not None and of(keyword, before) == of(keyword, after):
            for at, was, now in self._constraints.texts_of_keyword(keyword, before, after, place):
                yield Effect.TEXT, at, _changed(was, now)
        elif before != after:
            effect = Effect.NARROWER if before is None else Effect.WIDER if after is None else Effect.OTHER
            yield effect, place, _changed(before, after)

    def _types(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        before, after = types_of(old), types_of(new)
        place = (*path, "type")
        if not before & after:
            yield Effect.OTHER, place, f"{_named(before)} became {_named(after)}"
        else:
            if removed := before - after:
                only = before == TYPE_SET
                words = f"only {_named(after)} now" if only else f"no longer {_named(removed)}"
                yield Effect.NARROWER, place, words
            if more := after - before:
                yield Effect.WIDER, place, "any type now" if after == TYPE_SET else f"also {_named(more)}"

    def _values(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        (word, before), (now, after) = values_of(old), values_of(new)
        place = (*path, now or word)
        if before is None or after is None:
            if before is not after:
                effect = Effect.NARROWER if before is None else Effect.WIDER
                yield effect, place, "only some values now" if before is None else "any value now"
            return
        olds, news = set(before), set(after)
        if removed := [each for each in before if each not in news]:
            yield Effect.NARROWER, place, f"no longer {_some(removed)}"
        if more := [each for each in after if each not in olds]:
            yield Effect.WIDER, place, f"also {_some(more)}"

    def _bounds(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        for keyword in (*LOWER, *UPPER):
            before, after = old.get(keyword), new.get(keyword)
            if before == after:
                continue
            was, now = number(before), number(after)
            if (was is None) != (before is None) or (now is None) != (after is None):
                effect = Effect.OTHER
            elif was is None or now is None:
                effect = Effect.NARROWER if was is None else Effect.WIDER
            else:
                effect = Effect.NARROWER if (now > was) == (keyword in LOWER) else Effect.WIDER
            yield effect, (*path, keyword), _changed(before, after)

    def _object(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        before, after = as_object(old.get("properties")), as_object(new.get("properties"))
        needed, needs = set(texts_in(old.get("required"))), set(texts_in(new.get("required")))
        for name in sorted(before.keys() | after.keys()):
            place = (*path, "properties", name)
            if name not in after:
                yield Effect.REMOVED, place, "removed"
            elif name not in before and name in needs:
                yield Effect.NARROWER, place, "new, and required"
            elif name not in before:
                yield Effect.NEW, place, "added"
            else:
                yield from self.compare(before[name], after[name], place)
        both = (before.keys() & after.keys()) | (needed | needs) - before.keys() - after.keys()
        for name in sorted((needs ^ needed) & both):
            more = name in needs
            words = f"{shown(name)} is {'required' if more else 'optional'} now"
            yield Effect.NARROWER if more else Effect.WIDER, (*path, "required"), words
        patterns = as_object(old.get("patternProperties")), as_object(new.get("patternProperties"))
        for name in sorted(patterns[0].keys() | patterns[1].keys()):
            was, now = (each.get(name, True) for each in patterns)
            yield from self.compare(was, now, (*path, "patternProperties", name))

    def _in_order(self, old: list[Json], new: list[Json], path: Path) -> Iterator[_Found]:
        for at in range(max(len(old), len(new))):
            was, now = (each[at] if at < len(each) else True for each in (old, new))
            yield from self.compare(was, now, (*path, at))

    def _all_of(self, old: list[Json], new: list[Json], path: Path) -> Iterator[_Found]:
        pairs, before, after = self._constraints.pairs(old, new)
        if len(before) == len(after):
            pairs, before, after = [*pairs, *zip(before, after, strict=True)], [], []
        for (_, was), (at, now) in pairs:
            yield from self._alone(was, now, (*path, at))
        for at, now in after:
            yield Effect.NARROWER, (*path, at), _changed(None, now)
        for at, was in before:
            yield Effect.WIDER, (*path, at), _changed(was, None)

    # -- alternatives ----------------------------------------------------------------------------------------

    def _choices(
        self, old: dict[str, Json], new: dict[str, Json]
    ) -> tuple[str, list[Json], list[Json], dict[str, Json], dict[str, Json]] | None:
        """Returns the alternatives of both, and the keywords next to them; ``None`` if these cannot be separated.

        A schema without alternatives counts as the only alternative if the other has no keywords next to its own.
        """
        words = [next((each for each in ALTERNATIVES if each in node), "") for node in (old, new)]
        if not any(words) or any({"anyOf", "oneOf"} <= node.keys() for node in (old, new)):
            return None
        lists: list[list[Json]] = []
        rests: list[dict[str, Json]] = []
        for word, node in zip(words, (old, new), strict=True):
            rest = {name: value for name, value in node.items() if name != word}
            if word:
                lists.append(as_list(node[word]))
                if not all(words) and rest.keys() - ANNOTATIONS:
                    return None
            else:
                lists.append(_split({name: value for name, value in rest.items() if name not in ANNOTATIONS}))
                rest = {name: value for name, value in rest.items() if name in ANNOTATIONS}
            rests.append(rest)
        return words[1] or words[0], *lists, *rests  # pyright: ignore[reportReturnType] - two of each

    def _alternatives(self, old: list[Json], new: list[Json], path: Path) -> Iterator[_Found]:
        pairs, before, after = self._constraints.pairs(old, new)
        if before and after:
            by_tag, before, after = self._tagged(old, new, before, after)
            pairs += by_tag
        for (_, was), (at, now) in pairs:
            yield from self._alone(was, now, (*path, at))
        olds, news, left = list(enumerate(old)), list(enumerate(new)), dict(after)
        removed: list[Placed] = []
        more: list[Placed] = []
        cut = [0, 0]
        for at, was in before:
            taking = self._first(at, news, partial(self._accepts_all, was))
            if taking is None:
                cut[0] += 1
            elif not taking:
                removed.append((at, was))
            else:
                place, now = taking[0]
                if place in left and self._accepts_no_more(was, now):  # only a text may have changed
                    yield from self._alone(was, now, (*path, place))
        for at, now in after:
            giving = self._first(at, olds, lambda was, now=now: self._accepts_no_more(was, now))
            if giving is None:
                cut[1] += 1
            elif not giving:
                more.append((at, now))
        if any(cut):
            self._cuts += 1
            words = f"{max(cut):,} of {len(new):,} changed, and too many to compare"
            yield Effect.OTHER, path, words
        elif len(removed) == len(more) == 1 and len(old) == len(new):
            yield from self._alone(removed[0][1], more[0][1], (*path, more[0][0]))
            return
        for at, was in removed:
            yield Effect.NARROWER, (*path, at), f"no longer {_quoted(was)}"
        for at, now in more:
            yield Effect.WIDER, (*path, at), f"also {_quoted(now)}"

    def _tagged(
        self, old: list[Json], new: list[Json], before: list[Placed], after: list[Placed]
    ) -> tuple[list[tuple[Placed, Placed]], list[Placed], list[Placed]]:
        """Pairs alternatives by a property whose values distinguish all of them.

        Returns the pairs, and the rest of both lists.
        """
        was, now = self._discriminators
        match, left = matches(was.owners(old), now.owners(new)), dict(after)
        pairs = [((at, was), (match[at], left.pop(match[at]))) for at, was in before if match.get(at) in left]
        paired = {was[0] for was, _ in pairs}
        return pairs, [each for each in before if each[0] not in paired], list(left.items())

    def _first(
        self, at: int, schemas: list[Placed], fits: Callable[[Json], bool]
    ) -> tuple[Placed, ...] | None:
        """Returns the first schema that fits an alternative, if any; ``None`` if the search was too large.

        The schema at the same position is tried first.
        """
        left, cuts, searches = self._left, self._cuts, self._searches
        if not searches:
            self._left = COMPARED_PAIRS + 4 * len(schemas)  # most pairs differ at once
        self._searches = True
        try:
            for each in chain(schemas[at : at + 1], schemas):
                if fits(each[1]):
                    return (each,)
                if self._is_spent:
                    break
            return None if self._cuts > cuts or self._is_spent else ()
        finally:
            self._searches = searches
            if not searches:
                self._left = left

    def _accepts_all(self, old: Json, new: Json) -> bool:
        """Whether a schema accepts everything that an older one did."""
        return not any(effect in _REFUSES for effect, _, _ in self.compare(old, new, ()))

    def _accepts_no_more(self, old: Json, new: Json) -> bool:
        """Whether a schema accepts nothing that the older one did not."""
        return not any(effect in _PERMITS for effect, _, _ in self.compare(old, new, ()))

    def _definitions(self, old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[_Found]:
        """Compares the definitions that still have references: a change within one appears at no other place."""
        for keyword in DEFINITIONS:
            before, after = as_object(old.get(keyword)), as_object(new.get(keyword))
            for name in sorted(before.keys() & after.keys()):
                yield from self._alone(before[name], after[name], (*path, keyword, name))
            if before.keys() != after.keys():
                removed, more = len(before.keys() - after.keys()), len(after.keys() - before.keys())
                yield Effect.TEXT, (*path, keyword), f"{more:,} added, {removed:,} removed"


def _split(node: dict[str, Json]) -> list[Json]:
    """Returns a schema with several types as one schema for each."""
    kinds = texts_in(node.get("type"))
    return [cast("Json", node | {"type": kind}) for kind in kinds] if len(kinds) > 1 else [node]


def _named(types: frozenset[str]) -> str:
    named = types - {"integer"} if "number" in types else types
    return "any type" if types == TYPE_SET else " or ".join(sorted(named)) or "no type"


def _some(values: list[str]) -> str:
    more = f" and {len(values) - 10} more" if len(values) > 10 else ""
    return ", ".join(each[:QUOTED_CHARACTERS] for each in values[:10]) + more
