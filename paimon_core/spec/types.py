"""Paimon's data types and their spelling in schema files.

A type is a JSON string (`"DECIMAL(10, 2) NOT NULL"`) or, for nested ones, an object
(`{"type": "ARRAY", "element": …}`). Source: specification, "Schema" and "Data Types".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from reprlib import repr as shortened
from typing import Any, ClassVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError, PaimonError, UnsupportedFeatureError
from paimon_core.lazy import regex
from paimon_core.spec.json_object import node_integer, node_text
from paimon_core.spec.kinds import FLOATS, INTEGERS
from paimon_core.spec.kinds import NESTED_KINDS as NESTED_KINDS
from paimon_core.spec.kinds import Kind as Kind

MAX_LENGTH = 2**31 - 1
MAX_NESTING = 64
# Elements of a column have their own ids in data files: from here upwards, for map keys downwards, with a fixed number
# of ids for each column.
ELEMENT_ID_START, ELEMENT_IDS_PER_FIELD = 2**29 - 1, 1024


VECTOR_ELEMENTS = INTEGERS | FLOATS | {Kind.BOOLEAN}


@dataclass(frozen=True, slots=True)
class DataType:
    """A type and whether it allows NULL. Subclasses have the parameters."""

    kind: Kind
    nullable: bool = True

    def sql(self) -> str:
        """Return the spelling without nullability, as in `DESCRIBE` and error messages."""
        return self.kind.value

    def json(self) -> Any:
        return self.sql() + self._not_null

    @property
    def _not_null(self) -> str:
        return "" if self.nullable else " NOT NULL"

    def with_nullable(self, nullable: bool) -> DataType:
        return replace(self, nullable=nullable)

    def __str__(self) -> str:
        return self.sql() + self._not_null


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """An exact number of `precision` digits, `scale` of them after the point."""

    kind: Kind = Kind.DECIMAL
    nullable: bool = True
    precision: int = 10
    scale: int = 0

    MAX_PRECISION: ClassVar[int] = 38
    MAX_COMPACT_PRECISION: ClassVar[int] = 18

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= self.MAX_PRECISION and 0 <= self.scale <= self.precision):
            raise InvalidSchemaError(
                f"DECIMAL({self.precision}, {self.scale}) is not a type: the precision is 1 to 38, the scale at "
                "most the precision."
            )

    def sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class LengthType(DataType):
    """CHAR, VARCHAR, BINARY or VARBINARY of at most `length` characters or bytes.

    STRING and BYTES have the largest length.
    """

    length: int = MAX_LENGTH

    def __post_init__(self) -> None:
        if not 1 <= self.length <= MAX_LENGTH:
            raise InvalidSchemaError(f"{self.sql()} is not a type: the length is 1 to {MAX_LENGTH}.")

    def sql(self) -> str:
        if self.length == MAX_LENGTH and self.kind is Kind.VARCHAR:
            return "STRING"
        if self.length == MAX_LENGTH and self.kind is Kind.VARBINARY:
            return "BYTES"
        return f"{self.kind.value}({self.length})"


@dataclass(frozen=True, slots=True)
class TimeType(DataType):
    """TIME, TIMESTAMP or TIMESTAMP WITH LOCAL TIME ZONE with `precision` digits of a second."""

    precision: int = 6

    def __post_init__(self) -> None:
        if not 0 <= self.precision <= 9:
            raise InvalidSchemaError(f"{self.kind.value}({self.precision}) is not a type: the precision is 0 to 9.")

    def sql(self) -> str:
        if self.kind is Kind.TIMESTAMP_LTZ:
            return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
        return f"{self.kind.value}({self.precision})"


@dataclass(frozen=True, slots=True)
class StoredTimeType(TimeType):
    """A time of more than 6 digits that is passed on in Parquet's INT96. It can have any year, but cannot be used in
    computations.

    Schemas do not have this type; see `paimon_core.store.data.time_units`."""


@dataclass(frozen=True, slots=True)
class CollectionType(DataType):
    """ARRAY or MULTISET of `element`."""

    element: DataType = DataType(Kind.INT)

    def sql(self) -> str:
        return f"{self.kind.value}<{self.element}>"

    def json(self) -> Any:
        return {"type": self.kind.value + self._not_null, "element": self.element.json()}


@dataclass(frozen=True, slots=True)
class VectorType(CollectionType):
    """VECTOR: an array of `length` elements without NULL.

    Its kind is ARRAY: files, Arrow and Spark hold vectors as they hold arrays. Only writers and changes of schemas
    treat the two differently.
    """

    length: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.length <= MAX_LENGTH:
            raise InvalidSchemaError(f"{self.sql()} is not a type: the length of a vector is 1 to {MAX_LENGTH}.")
        if self.element.kind not in VECTOR_ELEMENTS:
            known = ", ".join(kind.value for kind in Kind if kind in VECTOR_ELEMENTS)
            raise InvalidSchemaError(f"{self.sql()} is not a type: the elements of a vector are {known}.")

    def sql(self) -> str:
        return f"VECTOR<{self.element}, {self.length}>"

    def json(self) -> Any:
        return {"type": "VECTOR" + self._not_null, "element": self.element.json(), "length": self.length}


def element_of(data_type: DataType) -> DataType | None:
    """Return the type of the elements of an ARRAY, None for any other type and for VECTOR."""
    if not isinstance(data_type, CollectionType) or isinstance(data_type, VectorType):
        return None
    return data_type.element if data_type.kind is Kind.ARRAY else None


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """MAP from `key` to `value`."""

    kind: Kind = Kind.MAP
    nullable: bool = True
    key: DataType = DataType(Kind.INT)
    value: DataType = DataType(Kind.INT)

    def sql(self) -> str:
        return f"MAP<{self.key}, {self.value}>"

    def json(self) -> Any:
        return {"type": "MAP" + self._not_null, "key": self.key.json(), "value": self.value.json()}


@dataclass(frozen=True, slots=True)
class RowType(DataType):
    """ROW of named fields."""

    kind: Kind = Kind.ROW
    nullable: bool = True
    fields: tuple[DataField, ...] = ()

    def sql(self) -> str:
        return "ROW<" + ", ".join(f"`{f.name}` {f.type}" for f in self.fields) + ">"

    def json(self) -> Any:
        return {"type": "ROW" + self._not_null, "fields": [f.json() for f in self.fields]}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataField:
    """A column, or a field of a ROW. Its `id` never changes, and readers of files find columns by the id."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None

    def json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"id": self.id, "name": self.name, "type": self.type.json()}
        if self.description is not None:
            out["description"] = self.description
        if self.default is not None:
            out["defaultValue"] = self.default
        return out


BOOLEAN, TINYINT, SMALLINT = DataType(Kind.BOOLEAN), DataType(Kind.TINYINT), DataType(Kind.SMALLINT)
INT, BIGINT, FLOAT, DOUBLE = DataType(Kind.INT), DataType(Kind.BIGINT), DataType(Kind.FLOAT), DataType(Kind.DOUBLE)
DATE, VARIANT = DataType(Kind.DATE), DataType(Kind.VARIANT)
STRING, BYTES = LengthType(Kind.VARCHAR), LengthType(Kind.VARBINARY)

_ALIASES = {
    "INTEGER": INT,
    "DOUBLE PRECISION": DOUBLE,
    "STRING": STRING,
    "BYTES": BYTES,
}
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")
_LENGTHS = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_TIMES = {
    "TIME": Kind.TIME,
    "TIME WITHOUT TIME ZONE": Kind.TIME,
    "TIMESTAMP": Kind.TIMESTAMP,
    "TIMESTAMP WITHOUT TIME ZONE": Kind.TIMESTAMP,
    "TIMESTAMP WITH LOCAL TIME ZONE": Kind.TIMESTAMP_LTZ,
    "TIMESTAMP_LTZ": Kind.TIMESTAMP_LTZ,
}
_NESTED = ("ARRAY", "MAP", "MULTISET", "ROW", "VECTOR")
# pypaimon 2 also writes a MAP's key and value into its name; only the members `key` and `value` are used.
_NESTED_SPELLING = regex(rf"(?P<name>{'|'.join(_NESTED)}) ?(?:<.*>)? ?(?P<null>NOT NULL|NULL)?")
_KNOWN = {*Kind.__members__, *_ALIASES, *_DECIMALS}
# This pattern expects capitals and single blanks.
_SPELLING = regex(
    r"(?P<name>[A-Z_]++(?: PRECISION)?) ?(?:\( ?(?P<p>[0-9]{1,10}) ?(?:, ?(?P<s>[0-9]{1,10}) ?)?\))?"
    r" ?(?P<zone>WITH LOCAL TIME ZONE|WITHOUT TIME ZONE)? ?(?P<null>NOT NULL|NULL)?"
)


def parse_type(node: Any, depth: int = 0, *, of_blobs: bool = False) -> DataType:
    """Parse the type in a JSON node of a schema file. `of_blobs`: it is in a type that may contain BLOBs.

    Raises `InvalidSchemaError`, `UnsupportedFeatureError`."""
    if depth > MAX_NESTING:
        raise InvalidSchemaError(f"Types are nested more than {MAX_NESTING} levels deep. Use a type with fewer levels.")
    if isinstance(node, str):
        found = _parse_atomic(node)
        if depth and found.kind is Kind.BLOB and not of_blobs:
            raise UnsupportedFeatureError(
                "Columns of type BLOB within another type are supported as ARRAY<BLOB> and MAP<…, BLOB> only."
            )
        return found
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise InvalidSchemaError(f"{shortened(node)} is not a data type. Write one of Paimon's types, such as BIGINT.")
    match = _NESTED_SPELLING.fullmatch(" ".join(node["type"].split()))
    if match is None:
        raise _not_a_type(node["type"])
    name, nullable = match["name"], match["null"] != "NOT NULL"
    try:
        if name in ("ARRAY", "MULTISET"):
            return CollectionType(
                Kind[name], nullable, parse_type(node["element"], depth + 1, of_blobs=not depth and name == "ARRAY")
            )
        if name == "VECTOR":
            element = parse_type(node["element"], depth + 1)
            return VectorType(Kind.ARRAY, nullable, element, node_integer(node, "length"))
        if name == "MAP":
            key = parse_type(node["key"], depth + 1)
            value = parse_type(node["value"], depth + 1, of_blobs=not depth)
            return MapType(nullable=nullable, key=key, value=value)
        return RowType(nullable=nullable, fields=tuple(parse_field(f, depth + 1) for f in node["fields"]))
    except (KeyError, TypeError) as e:
        raise InvalidSchemaError(f"{shortened(node)} is not a data type: {e} is missing or malformed.") from e


def holds_blobs(data_type: DataType) -> bool:
    """Return whether a type is BLOB, ARRAY<BLOB> or MAP<…, BLOB>."""
    match data_type:
        case MapType(value=part) | CollectionType(kind=Kind.ARRAY, element=part):
            return part.kind is Kind.BLOB
    return data_type.kind is Kind.BLOB


def parse_field(node: Any, depth: int = 0) -> DataField:
    """Parse the field in a JSON object of a schema file. Raises `InvalidSchemaError`, `UnsupportedFeatureError`."""
    if not isinstance(node, dict):
        raise InvalidSchemaError(f"{shortened(node)} is not a field: it needs an id, a name and a type.")
    try:
        texts = {key: node_text(node, key) for key in ("description", "defaultValue") if node.get(key) is not None}
        field_id, name = node_integer(node, "id"), node_text(node, "name")
    except TypeError as e:
        raise InvalidSchemaError(f"{shortened(node)} is not a field: {e}.") from e
    return DataField(
        id=field_id,
        name=name,
        type=parse_type(node.get("type"), depth),
        description=texts.get("description"),
        default=texts.get("defaultValue"),
    )


def _parse_atomic(text: str) -> DataType:
    match = _SPELLING.fullmatch(" ".join(text.upper().split()))
    if match is None:
        raise _not_a_type(text)
    name = f"{match['name']} {match['zone']}" if match["zone"] else match["name"]
    nullable = match["null"] != "NOT NULL"
    first, second = (int(match[g]) if match[g] else None for g in ("p", "s"))
    if name in _DECIMALS:
        return DecimalType(nullable=nullable, precision=10 if first is None else first, scale=second or 0)
    if name in _LENGTHS and second is None:
        return LengthType(Kind[name], nullable, 1 if first is None else first)
    if name in _TIMES and second is None:
        kind = _TIMES[name]
        return TimeType(kind, nullable, (0 if kind is Kind.TIME else 6) if first is None else first)
    if name in _ALIASES and first is None:
        return _ALIASES[name].with_nullable(nullable)
    if name in Kind.__members__ and name not in _NESTED and first is None:
        return DataType(Kind[name], nullable)
    raise _not_a_type(text)


def _not_a_type(text: str) -> PaimonError:
    word = re.match(r"\s*([A-Z_]+)", text.upper())
    if word and word[1] not in _KNOWN:
        return UnsupportedFeatureError(f"Columns of type {text[:80]} are not supported yet.")
    return InvalidSchemaError(f"{shortened(text)} is not a data type.")


def nested_fields(data_type: DataType) -> Iterator[DataField]:
    """Yield every field below a type, depth first: these fields get numbered field ids."""
    match data_type:
        case RowType(fields=fields):
            for field in fields:
                yield field
                yield from nested_fields(field.type)
        case MapType(key=key, value=value):
            yield from nested_fields(key)
            yield from nested_fields(value)
        case CollectionType(element=element):
            yield from nested_fields(element)


def nested_types(data_type: DataType) -> Iterator[DataType]:
    """Yield a type and every type below it, depth first."""
    yield data_type
    match data_type:
        case RowType(fields=fields):
            for field in fields:
                yield from nested_types(field.type)
        case MapType(key=key, value=value):
            yield from nested_types(key)
            yield from nested_types(value)
        case CollectionType(element=element):
            yield from nested_types(element)


def has_vector(data_type: DataType) -> bool:
    """Return whether a type is a VECTOR, or contains one."""
    return any(isinstance(t, VectorType) for t in nested_types(data_type))


def cheap_field(fields: Iterable[DataField]) -> DataField:
    """Return a column for reads that may choose any column: the first one without vectors, or else the first column."""
    known = tuple(fields)
    return next((f for f in known if not has_vector(f.type)), known[0])
