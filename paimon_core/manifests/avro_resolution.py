"""Avro's schema resolution for metadata: records of a file's schema become values of a `Record`.

A writer can declare the columns of a record in many ways: in any order, each as a union with null, texts as bytes,
moments in other units, types by name, beside columns that only this writer has. Resolution compares the schema of the
file (the writer's) with the record that is wanted (the reader's), and makes two things:

    plain   an Avro schema that decodes the same bytes to plain values: it has no logical types, enums are
            numbers and maps are arrays of pairs. Known columns keep their names, others get the names `x0`, `x1`, …
    read    a function that makes the value of a record from a record that `plain` decodes

Columns are matched by name; as in Java, names of types are ignored. If the file's schema cannot provide a column, the
file is refused at once. If it provides a column only in some records (NULL in a required column, a union with a branch
of another type), the other records are refused. Source: Avro specification, "Schema Resolution".

The plain schema has attributes of its own for `formats.avro.field_offsets`. A field is `skipped` if it is not read. A
field, or the items of an array, are `required` if they must not be NULL. A value of a type that does not resolve is
wrapped in a record `other`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.avro_types import AvroType, UnfamiliarSchemaError, plain_record, plain_schema
from paimon_core.spec.records import Column, Record

Path = tuple[str, ...]
Convert = Callable[[Any], Any]
Resolved = tuple[Any, Convert | None]  # a plain type, and the conversion of its values, if necessary
_OTHER = "other"
_ITEM = ""  # the name of an array's items in a path
_NUMBERS = frozenset(("int", "long"))
_TEXTS = frozenset(("string", "bytes"))
_UNITS = {
    f"{local}timestamp-{unit}": divisor
    for local in ("", "local-")
    for unit, divisor in (("millis", 1), ("micros", 1_000), ("nanos", 1_000_000))
}
_NOT_MOMENTS = frozenset(("date", "time-millis", "time-micros", "decimal", "duration", "uuid"))


@dataclass(frozen=True, slots=True)
class Resolution:
    """The rules to read the records of a file, as the module describes.

    `conversions` are functions from a decoded value to the value of a column, by the column's path, for columns that
    need one. `divisors` are the numbers by which a time column must be divided to get milliseconds."""

    plain: Any
    read: Convert
    conversions: Mapping[Path, Convert]
    divisors: Mapping[Path, int]


def resolve(record: Record[Any], avro: AvroType, extra: Sequence[Column] = ()) -> Resolution:
    """Resolve an Avro type against a record. `extra` are columns of the file that are not part of the values.

    Raises `UnfamiliarSchemaError` naming the column that the type cannot provide."""
    resolver = _Resolver()
    plain, read = resolver.root(record, avro, extra)
    return Resolution(plain, read, resolver.conversions, resolver.divisors)


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a value: its path, and whether NULL is refused in it."""

    path: Path
    required: bool

    def refuse(self, problem: str) -> UnfamiliarSchemaError:
        name = next((n for n in reversed(self.path) if n != _ITEM), None)
        return UnfamiliarSchemaError(f"a record {problem}" if name is None else f"column {name} {problem}")


class _Resolver:
    """Resolves one schema, and collects the conversions and divisors of its columns."""

    def __init__(self) -> None:
        self.conversions: dict[Path, Convert] = {}
        self.divisors: dict[Path, int] = {}
        self._names = count()

    def root(self, record: Record[Any], avro: AvroType, extra: Sequence[Column]) -> tuple[Any, Convert]:
        found = [t for t in avro.branches if t.kind == "record"]
        if len(found) != 1:
            raise UnfamiliarSchemaError(f"its schema is of type {avro}, and must be a record")
        plain, read = self._fields(record, found[0], (), extra)
        return self._union(avro, {found[0]: plain}), _checked(read, avro, _Place((), required=True), found) or read

    def _fields(
        self, record: Record[Any], avro: AvroType, path: Path, extra: Sequence[Column] = ()
    ) -> tuple[Any, Convert]:
        """Resolve the fields of a record."""
        columns = {c.name: c for c in (*record.columns, *extra)}
        fields, sources = list[dict[str, Any]](), dict[str, tuple[str, Convert | None]]()
        for i, (name, part) in enumerate(zip(avro.names, avro.parts, strict=True)):
            if name in sources:
                raise UnfamiliarSchemaError(f"column {name[:80]} exists twice")
            if name in columns:
                column = columns[name]
                plain, convert = self._column(column, part, _Place((*path, name), column.required))
                fields.append({"name": name, "type": plain, "required": column.required})
                sources[name] = column.attribute, convert
            elif name in record.unread:
                fields.append({"name": name, "type": plain_schema(part, self._names)})
            else:
                fields.append({"name": f"x{i}", "type": plain_schema(part, self._names), "skipped": True})
        for column in columns.values():
            if column.required and column.name not in sources:
                raise UnfamiliarSchemaError(f"column {column.name} is missing")
        plain = {"type": "record", "name": f"n{next(self._names)}", "fields": fields}
        own = [(c.name, *sources[c.name]) for c in record.columns if c.name in sources]
        return plain, _builder(record, own, [n for n in record.unread if n in avro.names])

    def _column(self, column: Column, avro: AvroType, place: _Place) -> Resolved:
        wanted: Any = column.record or _without_null(column.avro)
        if column.repeated:
            wanted = {"type": "array", "items": wanted}
        plain, convert = self._value(wanted, avro, place)
        if convert is not None:
            self.conversions[place.path] = convert
        return plain, convert

    def _value(self, wanted: Any, avro: AvroType, place: _Place) -> Resolved:
        """Resolve a type against the wanted type, a `Record` or an Avro type.

        A union is resolved by the branches that can be resolved.
        """
        plains, converts = dict[AvroType, Any](), list[Convert]()
        for branch in avro.branches:
            resolved = self._branch(wanted, branch, place)
            if resolved is not None:
                plains[branch], convert = resolved
                converts += [] if convert is None else [convert]
        has_null = any(t.kind == "null" for t in avro.branches)
        if not plains and (place.required or not has_null):
            raise place.refuse(f"is of type {avro}, and must be {_in_words(wanted)}")
        if len(plains) > 1 and (converts or not _are_alike(plains)):
            raise place.refuse(f"is of type {avro}, with several kinds of {_in_words(wanted)}")
        convert = converts[0] if converts else None
        return self._union(avro, plains), _checked(convert, avro, place, plains)

    def _branch(self, wanted: Any, avro: AvroType, place: _Place) -> Resolved | None:
        """Resolve a type that is not a union, like `_value`. Return None if that is not possible."""
        if isinstance(wanted, Record):
            return self._fields(wanted, avro, place.path) if avro.kind == "record" else None
        if isinstance(wanted, dict) and wanted["type"] == "array":
            return self._array(wanted["items"], avro.parts[0], place) if avro.kind == "array" else None
        if isinstance(wanted, dict):
            return self._moment(avro, place)
        if wanted in _NUMBERS:
            return (avro.kind, None) if avro.kind in _NUMBERS else None
        # Texts and bytes have the same encoding, so the wanted type can decode both.
        return (wanted, None) if avro.kind in _TEXTS else None

    def _array(self, wanted: Any, items: AvroType, place: _Place) -> Resolved:
        inner = _Place((*place.path, _ITEM), required=not isinstance(wanted, list))
        plain, convert = self._value(_without_null(wanted), items, inner)
        array = {"type": "array", "items": plain, "required": inner.required}
        return array, _each(convert, tuple if isinstance(wanted, Record) else list)

    def _moment(self, avro: AvroType, place: _Place) -> Resolved | None:
        if avro.kind not in _NUMBERS or avro.logical in _NOT_MOMENTS:
            return None
        divisor = _UNITS.get(avro.logical, 1)
        if divisor == 1:
            return avro.kind, None
        self.divisors[place.path] = divisor
        return avro.kind, lambda number: number // divisor

    def _union(self, avro: AvroType, plains: Mapping[AvroType, Any]) -> Any:
        """Return the plain type of a union, from the plain types of its branches.

        Branches without a plain type become records.
        """
        branches = []
        for branch in avro.branches:
            if branch in plains or branch.kind == "null":
                branches.append(plains.get(branch, "null"))
            else:
                other = plain_record([(_OTHER, plain_schema(branch, self._names))], self._names)
                branches.append(other | {_OTHER: True})
        return branches if avro.kind == "union" else branches[0]


def _without_null(avro: Any) -> Any:
    """Return one of our types without NULL, which is its first branch."""
    return avro[1] if isinstance(avro, list) else avro


def _are_alike(types: Iterable[AvroType]) -> bool:
    kinds = {t.kind for t in types}
    return kinds <= _NUMBERS or kinds <= _TEXTS


def _in_words(wanted: Any) -> str:
    if isinstance(wanted, Record):
        return "record"
    return str(wanted["type"] if isinstance(wanted, dict) else wanted)


def _checked(convert: Convert | None, avro: AvroType, place: _Place, resolved: Collection[AvroType]) -> Convert | None:
    """Return a conversion that also refuses NULL and values of unresolved branches, if the type allows such values."""
    has_null = any(t.kind == "null" for t in avro.branches)
    has_other = any(t.kind != "null" and t not in resolved for t in avro.branches)
    if not has_other and (not has_null or (convert is None and not place.required)):
        return convert

    def checked(value: Any) -> Any:
        if value is None:
            if place.required:
                raise place.refuse("is NULL")
            return None
        if isinstance(value, dict) and _OTHER in value:
            raise place.refuse("has a value of another type")
        return value if convert is None else convert(value)

    return checked


def _each(convert: Convert | None, collect: Convert) -> Convert | None:
    return None if convert is None else lambda values: collect(convert(v) for v in values)


def _builder(record: Record[Any], sources: Sequence[tuple[str, str, Convert | None]], unread: Sequence[str]) -> Convert:
    """Return a function that builds the value of a record.

    `sources` are names, attributes and conversions of its columns. `unread` are the columns in the file that
    `Record.unread` lists."""

    def build(node: Any) -> Any:
        record.check_unread(name for name in unread if node[name] is not None)
        given = {attribute: node[name] if c is None else c(node[name]) for name, attribute, c in sources}
        return record.build(**given)

    return build
