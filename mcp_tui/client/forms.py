"""Forms from JSON Schema, without a screen: a schema becomes fields, typed text becomes arguments, and back.

Strings, numbers, booleans, choices, lists of those, nullable values, and two levels of objects and arrays of objects have
fields. Everything else is typed as JSON, for that part or for the whole. A field without an entry is absent, which is
neither empty nor null; so is an object that is not required, until it is added.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from enum import Enum
from itertools import islice
from typing import Final, cast

from mcp_tui.client.parameters import Variant, ways
from mcp_tui.client.schemas import REQUIRED, Problem, Schema, is_of, mistake, parse_json, type_words
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text, in_range, json_type, texts_in
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import frozen


class FieldKind(Enum):
    """The kind of a field's value."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "whole number"
    BOOLEAN = "true or false"
    CHOICE = "one of"
    SEVERAL = "some of"
    LIST = "list"
    ANY = "any"
    OBJECT = "object"
    ITEMS = "list of objects"
    JSON = "JSON"


class Given(Enum):
    """The notation of an entry: null, text in the notation of its field, or JSON."""

    NULL = "null"
    TEXT = "text"
    JSON = "JSON"


@frozen
class FieldEntry:
    """The content of a filled-in field."""

    given: Given
    text: str = ""


FieldPath = tuple[str, ...]
"""The names of the members that lead to a field, and the numbers of items of arrays, from 0."""

Draft = dict[FieldPath, FieldEntry]
"""The entries of all filled-in fields. The entry of :data:`ALL_ARGUMENTS` replaces all others, which stay stored."""

ALL_ARGUMENTS: Final[FieldPath] = ()
"""The path of all arguments together, typed as JSON."""


@frozen
class FieldChoice:
    """A value to choose. ``label`` is unique among the choices of a field; ``title`` says more."""

    value: Json
    label: str
    title: str = ""


@frozen
class Field:
    """One part of the arguments. ``schema`` is its schema with references resolved; texts are the server's and hostile."""

    path: FieldPath
    kind: FieldKind
    schema: dict[str, Json] = field(repr=False)
    required: bool = False
    nullable: bool = False
    types: frozenset[str] = frozenset()
    choices: tuple[FieldChoice, ...] = ()
    item: Field | None = None
    inner: tuple[Field, ...] = ()
    """The members of an object, or of each item of an array of objects."""
    is_item: bool = False

    @property
    def grouped(self) -> bool:
        """Whether the field contains other fields."""
        return self.kind in (FieldKind.OBJECT, FieldKind.ITEMS)

    @property
    def fixed(self) -> bool:
        """Whether the field is an object that is always present."""
        return self.kind is FieldKind.OBJECT and self.required and not self.nullable and not self.is_item

    def count(self, draft: Draft) -> int:
        """Returns the number of items of an array of objects."""
        entry = draft.get(self.path)
        listed = self.kind is FieldKind.ITEMS and entry is not None and entry.given is Given.TEXT
        return int(entry.text) if listed and entry is not None else 0

    def within(self, draft: Draft) -> Iterator[Field]:
        """Yields the present fields in this one; each is decided by the draft at the time when it is yielded."""
        places: list[FieldPath] = []
        if self.kind is FieldKind.OBJECT and (self.fixed or self.is_item or draft.get(self.path) == ADDED):
            places = [self.path]
        for number in range(self.count(draft)):
            places.append((*self.path, str(number)))
        for place in places:
            if self.item is not None:
                yield replace(self.item, path=place, required=True, is_item=True)
            for each in self.inner:
                one = replace(each, path=(*place, each.name))
                yield one
                yield from one.within(draft)

    @property
    def name(self) -> str:
        """The name of the member. Hostile text."""
        return self.path[-1]

    @property
    def secret(self) -> bool:
        """Whether the value seems to be a secret, such as a password, by schema, name, title, or description."""
        if self.kind in _OPEN_KINDS:
            return False
        schema = self.schema
        if schema.get("format") == "password" or schema.get("writeOnly") is True or is_secret_name(self.name):
            return True
        texts = (
            _WORD_BREAKS.sub(" ", self.name),
            as_text(schema.get("title")),
            as_text(schema.get("description")),
        )
        # Full-width letters count as usual ones, and invisible characters within a word do not count.
        seen = (_UNSEEN_IN_TEXT.sub("", unicodedata.normalize("NFKC", text[:2000])) for text in texts)
        return any(_SECRET_FIELD.search(text) for text in seen)


ADDED: Final = FieldEntry(Given.TEXT)
"""The entry of a present object; the entry of an array of objects is the number of its items."""

_OPEN_KINDS: Final = {
    FieldKind.BOOLEAN,
    FieldKind.CHOICE,
    FieldKind.SEVERAL,
    FieldKind.OBJECT,
    FieldKind.ITEMS,
}
"""The kinds whose values the server knows already, or that have fields of their own."""

_BREAKS_OF_LINES: Final = late(r"\s+")

_WORD_BREAKS: Final = late(r"[_\-.]+|(?<=[a-z])(?=[A-Z])")

_SECRET_FIELD: Final = late(
    r"\b(?:pass[ -]?(?:words?|wd|phrases?|codes?|keys?)|pwd|(?-i:PIN)|pin[ -](?:codes?|numbers?)|otp|cv[cv]2?|secrets?"
    r"|credentials?|bearer|token|credit card|card number|seed phrase"
    r"|(?:api|access|secret|private|signing|recovery|ssh)[ -]?keys?"
    r"|(?:access|api|auth|security|one[ -]time|verification|recovery|2fa|mfa)[ -]?(?:tokens?|codes?|pins?)"
    r"|\w*(?:passw(?:or|ör)t|kennwort|geheimnis|zugriffstoken|sicherheitscode|passord|lösenord|adgangskode|wachtwoord)\w*"
    r"|(?:api|geheim\w*|private\w*|zugangs?)[ -]?schlüssel"
    r"|contraseña|clave (?:secreta|de acceso|api)|código de (?:verificación|seguridad)|mot de passe|clé (?:api|secrète)"
    r"|jeton|code secret|senha|chiave (?:api|segreta)|parola d'ordine|hasło|heslo|heslá|salasana|şifre\w*|jelszó"
    r"|парол\w*|токен|mật khẩu|kata sandi|κωδικός|סיסמה|كلمة المرور)\b"
    # languages without spaces between words
    r"|パスワード|パスフレーズ|パスコード|暗証番号|認証コード|合言葉|トークン(?!数)|シークレット|秘密鍵|(?:api|アクセス)\s?キー"
    r"|密码|密碼|口令|令牌|密钥|密鑰|验证码|驗證碼|비밀번호|암호|토큰(?! ?수)|인증번호|पासवर्ड|รหัสผ่าน",
    re.IGNORECASE,
)
"""The words for secrets in texts of a server."""

_UNSEEN_IN_TEXT: Final = late(
    r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+"
)


class Unreadable(ValueError):
    """The text of an entry is not a value of the field's kind. The message is one sentence."""


def read(field: Field, entry: FieldEntry) -> Json:
    """Returns the value of an entry.

    Raises:
        Unreadable: the text is not a value of the field's kind.
    """
    text = entry.text
    if entry.given is Given.NULL:
        return None
    if entry.given is Given.JSON or field.kind is FieldKind.JSON:
        return _json(text)
    match field.kind:
        case FieldKind.TEXT:
            return text
        case FieldKind.CHOICE:
            return next((choice.value for choice in field.choices if choice.label == text), text)
        case FieldKind.LIST | FieldKind.SEVERAL if field.item is not None:
            return _listed(field.item, text)
        case _:
            return _any(field, text)


def _json(text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError as error:
        raise Unreadable(f"not JSON: {mistake(error)}") from None


def _any(field: Field, text: str) -> Json:
    """Parses JSON of a permitted type; other text is a string, if strings are permitted."""
    value: Json = text
    if text.lstrip()[:1] in ("{", "[", '"'):
        value = _json(text)
    else:
        with suppress(ValueError):
            value = parse_json(text)
    if not field.types or any(is_of(value, kind) for kind in field.types):
        return value
    if "string" in field.types:
        return text
    if value is None and field.nullable:
        return None
    raise Unreadable(f"must be {type_words(field.types)}")


def _listed(item: Field, text: str) -> Json:
    lines = text.removesuffix("\n").split("\n") if text else []
    values: list[Json] = []
    for number, each in enumerate(lines, 1):
        try:
            values.append(read(item, FieldEntry(Given.TEXT, each)))
        except Unreadable as error:
            raise Unreadable(f"line {number}: {error}") from None
    return values


def entry_of(field: Field, value: Json) -> FieldEntry:
    """Returns the entry for a value: in the notation of its field if that is read as the same value, else as JSON."""
    if value is None:
        return FieldEntry(Given.NULL)
    if field.grouped:
        return FieldEntry(Given.JSON, written(value))
    entry = FieldEntry(Given.TEXT, _notation(field, value))
    with suppress(Unreadable):
        if _editable(entry.text) and same(read(field, entry), value):
            return entry
    return FieldEntry(Given.JSON, written(value))


def _notation(field: Field, value: Json) -> str:
    match field.kind:
        case FieldKind.CHOICE:
            labels = (choice.label for choice in field.choices if same(choice.value, value))
            return next(labels, written(value))
        case FieldKind.LIST | FieldKind.SEVERAL if isinstance(value, list) and field.item is not None:
            item = field.item
            return "\n".join(_notation(item, each) for each in cast("list[Json]", value))
        case _:
            return value if isinstance(value, str) else written(value)


def _editable(text: str) -> bool:
    """Whether an editor keeps a text unchanged: only line feeds separate its lines."""
    return all(len(line.splitlines()) <= 1 for line in text.split("\n"))


def written(value: Json) -> str:
    """Returns a value as JSON that an editor keeps unchanged, indented if it is long; empty if it is not JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        indent = None if len(text) <= 60 else 2
        return json.dumps(value, ensure_ascii=not _editable(text), indent=indent)
    except (TypeError, ValueError, RecursionError):
        return ""


def parsed(text: str) -> dict[str, Json]:
    """Returns the arguments in a JSON text; an empty text has none.

    Raises:
        ValueError: not a JSON object, or a name appears twice; :func:`~mcp_tui.client.schemas.mistake` says which.
    """
    value: Json = parse_json(text, once=True) if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("Arguments must be a JSON object: { … }")  # noqa: TRY004 - the text is wrong, no type
    return as_object(value)


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: ``1``, ``1.0``, and ``true`` are three values."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False


BRANCH: Final[FieldPath] = ("",) * 4
"""The path of the choice between branches of a schema: no member has such a long path (:data:`OBJECTS`)."""

FORM_FIELDS: Final = 100
"""The maximum number of fields of a form; a larger schema is typed as JSON."""

CHOICES: Final = 2_000
"""The maximum number of choices; of more, the first are offered."""

OBJECTS: Final = 2
"""The levels of objects with fields of their own."""

_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_STRUCTURE: Final = frozenset({"properties", "items", "prefixItems", "not", "if", "$dynamicRef"})
_OPEN_KEYWORDS: Final = frozenset({"anyOf", "oneOf", "allOf", "patternProperties", "$ref", "if"})
_PLAIN_FIELDS: Final[dict[tuple[str, ...], FieldKind]] = {
    ("boolean",): FieldKind.BOOLEAN,
    ("integer",): FieldKind.INTEGER,
    ("number",): FieldKind.NUMBER,
    ("integer", "number"): FieldKind.NUMBER,
    ("string",): FieldKind.TEXT,
}
"""The kind of a field by its types."""


class FormLayout:
    """The fields of a schema whose value is an object.

    Attributes:
        fields: in the schema's order, each object before its members; empty if the whole is typed as JSON. If the schema
            has branches (``anyOf``, ``oneOf``), these are the fields of all; :meth:`fields_of` returns those of one.
        choice: the field that says which branch is filled in, if there are several.
        whole: the reason why the whole must be typed as JSON, one clause; empty if it has fields, or needs none.
    """

    def __init__(self, schema: Json, *, most: int = FORM_FIELDS) -> None:
        self.schema = Schema(schema)
        self._ways = ways(self.schema)
        self._left = 4 * most
        self._fields = [tuple(self._members(each, (), 1)) for each in self._ways]
        self.choice = self._choice() if len(self._ways) > 1 else None
        self.fields: tuple[Field, ...] = ()
        for fields in self._fields:
            self.fields += tuple(each for each in _all(fields) if each not in self.fields)
        self.whole = "" if any(each.properties for each in self._ways) else self._unnamed()
        leaves = sum(not each.grouped for each in self.fields)
        if leaves > most or self._left <= 0:
            self._fields, self.fields, self.choice = [()], (), None
            self.whole = f"more than {most} arguments"

    def _choice(self) -> Field:
        choices: dict[str, FieldChoice] = {}
        for way in self._ways:
            text = " ".join(filter(None, (_own(way, name) for name in way.properties)))
            label = _BREAKS_OF_LINES.sub(" ", text[:200]).strip() or "nothing more"
            if label in choices:
                label = f"{label} ({len(choices) + 1})"
            choices[label] = FieldChoice(len(choices), label, way.title)
        return Field(BRANCH, FieldKind.CHOICE, {}, required=True, choices=tuple(choices.values()))

    def fields_of(self, draft: Draft) -> tuple[Field, ...]:
        """Returns the fields for a draft: those of its branch or of the first one, without those of absent objects."""
        return tuple(_there(self._fields[self._way(draft)], draft))

    def _way(self, draft: Draft) -> int:
        label = draft[BRANCH].text if BRANCH in draft else ""
        choices = self.choice.choices if self.choice is not None else ()
        return next((at for at, each in enumerate(choices) if each.label == label), 0)

    def _named(self, way: int) -> Draft:
        """Returns the entry that selects a branch, if there are several."""
        choice = self.choice
        return {} if choice is None else {BRANCH: FieldEntry(Given.TEXT, choice.choices[way].label)}

    def _unnamed(self) -> str:
        """Returns why a schema that names no arguments accepts some; empty if it accepts none."""
        whole = self.schema.whole
        kinds = self.schema.types_of(whole)
        if kinds and "object" not in kinds:
            return "the schema is not for an object"
        more = whole.get("additionalProperties")
        free = _OPEN_KEYWORDS & whole.keys() or more is True or isinstance(more, dict)
        return "the schema allows arguments but names none" if free else ""

    # -- filling in a form -----------------------------------------------------------------------------------

    def defaults(self, draft: Draft | None = None) -> dict[str, Json]:
        """Returns the arguments that a schema proposes: defaults and constants, but none in optional objects.

        If it has branches, they are those of the draft's branch, or of the first one. A default of null is left out:
        a server assumes it if nothing is sent, whether or not null may be sent.
        """
        way = self._way(draft or {})
        return self._proposed(_there(self._fields[way], {}), ())

    def _proposed(self, fields: Iterable[Field], root: FieldPath) -> dict[str, Json]:
        defaults: dict[str, Json] = {}
        objects: dict[FieldPath, dict[str, Json]] = {root: defaults}
        for each in fields:
            members = objects.get(each.path[:-1])
            default = each.schema.get("default")
            is_object = each.kind is FieldKind.OBJECT
            if members is None:
                continue
            blank = default is None or (default == {} and is_object and not each.required)
            if not blank and in_range(default):
                members[each.name] = default
            elif each.fixed:
                members[each.name] = objects[each.path] = {}
            elif each.required and each.kind is FieldKind.CHOICE and len(each.choices) == 1:
                members[each.name] = each.choices[0].value
            elif each.required and "const" in each.schema and in_range(each.schema["const"]):
                members[each.name] = each.schema["const"]
        return defaults

    def spread(self, arguments: dict[str, Json]) -> Draft | None:
        """Returns the draft for ``arguments``; ``None`` if the fields cannot represent all of them.

        Of several branches, the best one counts: with the fewest values as JSON, and the fewest missing required
        ones.
        """
        drafts = (self._spread(arguments, way) for way in range(len(self._fields)))
        fitting = [each for each in drafts if each is not None]
        return min(fitting, key=self._misfits, default=None)

    def _spread(self, arguments: dict[str, Json], way: int) -> Draft | None:
        draft = self._named(way)
        self._fill(draft, _there(self._fields[way], draft), {(): arguments})
        return draft if same(self.read(draft)[0], arguments) else None

    def _fill(self, draft: Draft, fields: Iterable[Field], objects: dict[FieldPath, Json]) -> None:
        """Adds the entries of the fields in ``objects``, the values by their paths; a value without fields becomes an
        entry as JSON.
        """
        for each in fields:
            around = objects.get(each.path[:-1])
            if each.is_item:
                objects[each.path] = as_list(around)[int(each.name)]
            elif each.name in (members := as_object(around)):
                value = members[each.name]
                if not (each.fixed or _fits(each, value)):
                    draft[each.path] = entry_of(each, value)
                    continue
                objects[each.path] = value
                if not each.fixed:
                    items = each.kind is FieldKind.ITEMS
                    draft[each.path] = FieldEntry(Given.TEXT, str(len(as_list(value)))) if items else ADDED

    def _misfits(self, draft: Draft) -> tuple[int, int]:
        fields = {each.path: each for each in self.fields_of(draft)}
        odd = (
            fields[path].kind is not FieldKind.JSON
            for path, entry in draft.items()
            if entry.given is Given.JSON and path != BRANCH
        )
        return sum(odd), len(self.missing(draft))

    def started(self, draft: Draft | None = None) -> Draft | None:
        """Returns the draft with the defaults of the branch of ``draft``; without one, of the first or only branch."""
        return self._spread(self.defaults(draft), self._way(draft or {}))

    def turned(self, draft: Draft, *, before: Draft) -> Draft:
        """Returns a draft after the change to another branch: typed text stays if the branches have the same field."""
        way = self._way(draft)
        alike = {each.path for each in self.fields_of(draft) if each in self.fields_of(before)}
        kept = {path: entry for path, entry in draft.items() if path in alike}
        return {**(self._spread(self.defaults(draft), way) or {}), **kept, **self._named(way)}

    def missing(self, draft: Draft) -> dict[str, Json]:
        """Returns the missing required arguments of a draft, with null as a placeholder."""
        way = self._ways[self._way(draft)]
        objects = {each.path for each in self.fields_of(draft) if each.fixed}
        given = {path[:1] for path in draft} | objects
        return {name: None for name in way.properties if name in way.required and (name,) not in given}

    # -- objects and items that are there or not ----------------------------------------------------------------

    def added(self, draft: Draft, field: Field) -> Draft:
        """Returns a draft with an added object, or with one more item of an array, and their defaults."""
        made, place = {**draft, field.path: ADDED}, field.path
        if field.kind is FieldKind.ITEMS:
            number = field.count(draft)
            place = (*field.path, str(number))
            made[field.path] = FieldEntry(Given.TEXT, str(number + 1))
        fields = [each for each in field.within(made) if each.path[: len(place)] == place != each.path]
        self._fill(made, fields, {place: cast("Json", self._proposed(fields, place))})
        return made

    def removed(self, draft: Draft, field: Field) -> Draft:
        """Returns a draft without an object, an array, or an item; later items move up, and an empty array becomes
        absent.
        """
        *around, last = field.path
        listed = tuple(around)
        made: Draft = {}
        for path, entry in draft.items():
            within = field.is_item and len(path) > len(listed) and path[: len(listed)] == listed
            number = int(path[len(listed)]) if within else -1
            if path[: len(field.path)] == field.path:
                continue
            if within and number > int(last):
                path = (*listed, str(number - 1), *path[len(field.path) :])
            made[path] = entry
        if field.is_item and (left := int(draft[listed].text) - 1):
            made[listed] = FieldEntry(Given.TEXT, str(left))
        elif field.is_item:
            del made[listed]
        return made

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, draft: Draft) -> tuple[dict[str, Json], list[Problem]]:
        """Returns the arguments of a draft, and the fields that cannot be read, whose text is in the arguments."""
        if ALL_ARGUMENTS in draft:
            try:
                return parsed(draft[ALL_ARGUMENTS].text), []
            except ValueError as error:
                return {}, [Problem(ALL_ARGUMENTS, mistake(error))]
        wrong: list[Problem] = []
        arguments: dict[str, Json] = {}
        lists: dict[FieldPath, list[Json]] = {}
        objects: dict[FieldPath, dict[str, Json]] = {(): arguments}
        for each in self.fields_of(draft):
            entry = draft.get(each.path)
            if each.is_item:
                objects[each.path] = {}
                lists[each.path[:-1]].append(cast("Json", objects[each.path]))
                continue
            members = objects[each.path[:-1]]
            if each.fixed or (each.kind is FieldKind.OBJECT and entry == ADDED):
                members[each.name] = objects[each.path] = {}
            elif each.kind is FieldKind.ITEMS and entry is not None and entry.given is Given.TEXT:
                members[each.name] = lists[each.path] = []
            elif entry is not None:
                try:
                    members[each.name] = read(each, entry)
                except Unreadable as error:
                    members[each.name] = entry.text
                    wrong.append(Problem(each.path, str(error)))
        return arguments, wrong

    def problems(self, draft: Draft) -> list[Problem]:
        """Returns the problems of a draft: unreadable fields, else the violations of the schema."""
        arguments, wrong = self.read(draft)
        if wrong and ALL_ARGUMENTS in draft:
            return wrong
        if self.choice is not None and ALL_ARGUMENTS not in draft and (missing := self.missing(draft)):
            # With branches, a validator only says that none fits.
            return [*wrong, *(Problem((name,), REQUIRED) for name in missing)]
        found = self.schema.problems(arguments)
        return [*wrong, *(each for each in found if each.text == REQUIRED)] if wrong else found

    # -- from a schema to fields -----------------------------------------------------------------------------

    def _members(self, way: Variant, path: FieldPath, level: int) -> Iterable[Field]:
        for name, property_ in islice(way.properties.items(), max(0, self._left)):
            made = self.field((*path, name), property_, required=name in way.required, level=level)
            self._left -= 1
            holder = made.item if made.kind is FieldKind.ITEMS else made
            if made.grouped and holder is not None:
                properties = as_object(holder.schema.get("properties"))
                needed = frozenset(texts_in(holder.schema.get("required")))
                inner = tuple(self._members(Variant(properties, needed), made.path, level + 1))
                made = replace(made, inner=inner)
            yield made

    def field(
        self, path: FieldPath, node: Json, *, required: bool = False, is_item: bool = False, level: int = 1
    ) -> Field:
        """Returns the field of one part of the schema, without the fields in it; ``level`` is the level of nested
        objects.
        """
        resolved = self.schema.resolved(node)
        described = self._without_null(resolved)
        types = self.schema.types_of(described)
        nullable = "null" in types or any(_null(as_object(each)) for each in _alternatives(resolved))
        made = Field(path, FieldKind.JSON, described, required, nullable, types - {"null"})
        if "$ref" in described or len(as_list(described.get("allOf"))) > 1:
            return made
        choices = tuple(each for each in _distinct(self._values(described)) if each.value is not None)
        if choices and all(json_type(choice.value) in _SCALARS for choice in choices):
            return replace(made, kind=FieldKind.CHOICE, choices=choices)
        branches = _alternatives(described)
        kinds = tuple(sorted(made.types))
        if not branches and kinds == ("array",):
            return made if is_item else self._list_of(made, level)
        if not branches and kinds == ("object",) and level <= OBJECTS:
            closed = not isinstance(described.get("patternProperties"), dict)
            named = as_object(described.get("properties"))
            return replace(made, kind=FieldKind.OBJECT) if named and closed else made
        kind = _PLAIN_FIELDS.get(kinds)
        if kind is FieldKind.TEXT:
            offered = [choice for each in branches for choice in self._values(as_object(each))]
            return replace(made, kind=kind, choices=_distinct(offered))
        mixed = "string" in kinds or (kinds and made.types <= _SCALARS)
        free = not kinds and not branches and not _STRUCTURE & described.keys()
        return replace(made, kind=kind or FieldKind.ANY) if mixed or free else made

    def _list_of(self, made: Field, level: int) -> Field:
        items = made.schema.get("items")
        if not isinstance(items, dict) or "prefixItems" in made.schema:
            return made
        item = self.field(made.path, items, required=True, is_item=True, level=level)
        if item.kind is FieldKind.OBJECT and not item.nullable:
            return replace(made, kind=FieldKind.ITEMS, item=item)
        if item.nullable or item.kind not in (*_PLAIN_FIELDS.values(), FieldKind.CHOICE):
            return made
        kind = FieldKind.SEVERAL if item.kind is FieldKind.CHOICE else FieldKind.LIST
        return replace(made, kind=kind, item=item, choices=item.choices)

    def _without_null(self, described: dict[str, Json]) -> dict[str, Json]:
        """Replaces a choice between a schema and ``null``, or of one schema, by that schema."""
        for keyword in ("anyOf", "oneOf"):
            branches = as_list(described.get(keyword))
            rest = [each for each in branches if not _null(as_object(each))]
            if len(branches) <= 2 and len(rest) == 1:
                beside = {name: value for name, value in described.items() if name != keyword}
                return {**self.schema.resolved(rest[0]), **beside}
        return described

    def _values(self, described: dict[str, Json], depth: int = 3) -> list[FieldChoice]:
        """Returns the only values that a schema permits, with their titles; none if it permits others."""
        if "const" in described:
            return [_choice(described["const"], described.get("title"))]
        values = as_list(described.get("enum"))
        if values:
            titles = as_list(described.get("enumNames"))
            padded = [*titles, *[None] * len(values)]
            return [_choice(value, title) for value, title in zip(values[:CHOICES], padded, strict=False)]
        branches = _alternatives(described)
        if not depth or len(branches) > CHOICES:
            return []
        found: list[FieldChoice] = []
        for each in branches:
            branch = self.schema.resolved(each)
            choices = [_choice(None)] if _null(branch) else self._values(branch, depth - 1)
            if not choices:
                return []
            found.extend(choices)
        return found


def secret_members(schema: Json, arguments: dict[str, Json]) -> Iterable[tuple[str, Json]]:
    """Yields the names and values of all arguments that seem to be secrets by their schema, at any depth."""
    secret = {each.name for each in FormLayout(schema).fields if each.secret}
    waiting: list[Json] = [arguments]
    while waiting:
        value = waiting.pop()
        members = as_object(value)
        yield from ((name, members[name]) for name in members if name in secret)
        waiting += [*members.values(), *as_list(value)]


def _there(fields: Iterable[Field], draft: Draft) -> Iterator[Field]:
    """Yields fields, each followed by the present fields in it."""
    for each in fields:
        yield each
        yield from each.within(draft)


def _all(fields: Iterable[Field]) -> Iterator[Field]:
    """Yields fields, each followed by all fields that it may contain."""
    for each in fields:
        yield each
        yield from _all(each.inner)


def _fits(field: Field, value: Json) -> bool:
    """Whether all members of an object, or of the items of an array, have fields."""
    if field.kind is FieldKind.ITEMS:
        items = as_list(value)
        few = isinstance(value, list) and len(items) * len([*_all(field.inner)]) <= FORM_FIELDS
        return few and all(_fits(replace(field, kind=FieldKind.OBJECT), each) for each in items)
    members = as_object(value)
    within = {each.name: each for each in field.inner}
    return (
        field.kind is FieldKind.OBJECT
        and isinstance(value, dict)
        and members.keys() <= within.keys()
        and all(_fits(each, members[name]) for name, each in within.items() if each.fixed and name in members)
    )


def _own(way: Variant, name: str) -> str:
    """Returns the name of a member of a branch, in brackets if it is optional, or with its constant; empty outside of
    branches.
    """
    const = as_object(way.properties[name]).get("const")
    if isinstance(const, str | int):
        return f"{name}={const}"
    return "" if name in way.common else name if name in way.required else f"[{name}]"


def _alternatives(schema: dict[str, Json]) -> list[Json]:
    return as_list(schema.get("oneOf")) or as_list(schema.get("anyOf"))


def _null(schema: dict[str, Json]) -> bool:
    return schema.get("type") == "null" or ("const" in schema and schema["const"] is None)


def _choice(value: Json, title: Json = None) -> FieldChoice:
    text = value if isinstance(value, str) else written(value)
    return FieldChoice(value, text, as_text(title))


def _distinct(choices: list[FieldChoice]) -> tuple[FieldChoice, ...]:
    """Returns the choices, each with a unique label of one line: as JSON if it equals another label or is blank."""
    seen = Counter(choice.label for choice in choices)
    made: dict[str, FieldChoice] = {}
    for choice in (each for each in choices if in_range(each.value)):
        plain = seen[choice.label] == 1 and choice.label.strip() and len(choice.label.splitlines()) == 1
        label = choice.label if plain else json.dumps(choice.value)
        made.setdefault(label, replace(choice, label=label))
    return tuple(made.values())
