"""The schema inside an Avro file, as a value with each name replaced by its type.

A file contains the schema it was written with, and this schema decodes it. It may be hostile. A type that contains
itself could exhaust the stack, and an array of items without bytes the memory. Records that use other records by name
could do the same: 30 records, each with two fields of the record before, make a billion values without bytes. So
recursive types are refused, and names may repeat at most `_MOST_REPEATED` types. Source: Avro specification, "Schema
Declaration", "Names".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import reason

_LEAST_BYTES = {"null": 0} | dict.fromkeys(("boolean", "int", "long", "bytes", "string"), 1) | {"float": 4, "double": 8}
_MOST_REPEATED = 2**16


class UnfamiliarSchemaError(ValueError):
    """An Avro schema, or a value, that may be legal but does not resolve to the required type."""


@dataclass(frozen=True, slots=True, eq=False)
class AvroType:
    """An Avro type.

    `parts` are the types of a record's fields (with their `names`), the branches of a union, the items of an array or
    the values of a map. `size` is the number of bytes of a fixed. `digits` are a decimal's precision and scale."""

    kind: str
    logical: str = ""
    parts: tuple[AvroType, ...] = ()
    names: tuple[str, ...] = ()
    size: int = 0
    digits: tuple[int, int] | None = None
    least: int = 0  # the fewest bytes of a value
    types: int = 1  # the number of types in this type

    def __str__(self) -> str:
        """Return the type in a few words, without nested parts."""
        if self.kind == "union":
            return f"union of {', '.join(p.kind for p in self.parts[:9])}"
        if self.kind in ("array", "map"):
            return f"{self.kind} of {self.parts[0].kind}"
        return f"{self.kind} ({self.logical[:40]})" if self.logical else self.kind

    @property
    def branches(self) -> tuple[AvroType, ...]:
        """Return the branches of a union. Any other type is its own only branch."""
        return self.parts if self.kind == "union" else (self,)


_PRIMITIVES = {kind: AvroType(kind, least=least) for kind, least in _LEAST_BYTES.items()}


def parse_type(avro: Any) -> AvroType:
    """Parse an Avro schema, which is JSON.

    Raises `ValueError` for an invalid schema, and `UnfamiliarSchemaError` for a schema in which a few bytes could have
    values without limit."""
    try:
        return _Parser().parse(avro, "")
    except RecursionError as e:
        raise ValueError("its schema is nested too deeply") from e
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"its schema is not an Avro schema ({reason(e)})") from e


def plain_schema(avro: AvroType, names: count[int] | None = None) -> Any:
    """Return an Avro schema that decodes the same bytes to plain values.

    Fields have the names `f0`, `f1`, … by index, maps are arrays of records (f0: key, f1: value), and enums are
    numbers. `names` numbers the types that must have a name."""
    names = count() if names is None else names
    match avro.kind:
        case "union":
            return [plain_schema(t, names) for t in avro.parts]
        case "record":
            return plain_record([(f"f{i}", plain_schema(t, names)) for i, t in enumerate(avro.parts)], names)
        case "array":
            return {"type": "array", "items": plain_schema(avro.parts[0], names)}
        case "map":
            pair = plain_record([("f0", "string"), ("f1", plain_schema(avro.parts[0], names))], names)
            return {"type": "array", "items": pair}
        case "fixed":
            return {"type": "fixed", "name": f"n{next(names)}", "size": avro.size}
        case "enum":
            return "int"
    return avro.kind


def plain_record(fields: Sequence[tuple[str, Any]], names: count[int]) -> dict[str, Any]:
    """Return a record of plain fields, with a unique name."""
    name = f"n{next(names)}"
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


class _Parser:
    """Parses one schema. It stores named types by name; it stores None for a type that is still being parsed."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}
        self._definitions: dict[str, Any] = {}
        self._repeated = 0

    def parse(self, avro: Any, namespace: str) -> AvroType:
        if isinstance(avro, list):
            parts = tuple(self.parse(t, namespace) for t in avro)
            least = 1 + min((p.least for p in parts), default=0)
            return _composed("union", parts, least)
        if isinstance(avro, str):
            return _PRIMITIVES.get(avro) or self._reference(avro, namespace)
        if not isinstance(avro, dict):
            raise TypeError(f"{str(avro)[:40]} is not a type")
        match avro["type"]:
            case "record":
                return self._record(avro, namespace)
            case "array" | "map" as kind:
                items = self.parse(avro["items" if kind == "array" else "values"], namespace)
                if kind == "array" and not items.least:
                    raise UnfamiliarSchemaError("the items of an array take no bytes")
                return _composed(kind, (items,), 1)
            case "fixed":
                size = max(0, int(avro["size"]))
                made = AvroType("fixed", _logical(avro), size=size, digits=_digits(avro), least=size)
                return self._define(avro, namespace, made)
            case "enum":
                return self._define(avro, namespace, AvroType("enum", least=1))
            case str() as kind if kind in _LEAST_BYTES:
                return AvroType(kind, _logical(avro), digits=_digits(avro), least=_LEAST_BYTES[kind])
            case inner:
                return self.parse(inner, namespace)

    def _record(self, avro: Any, namespace: str) -> AvroType:
        full = _full_name(avro, namespace)
        inner = namespace if full is None else full.rpartition(".")[0]
        if full is not None:
            self._named.setdefault(full, None)
        names = tuple(f["name"] for f in avro["fields"])
        if not all(isinstance(name, str) for name in names):
            raise TypeError("a field without a name")
        parts = tuple(self.parse(f["type"], inner) for f in avro["fields"])
        least = sum(p.least for p in parts)
        types = 1 + sum(p.types for p in parts)
        return self._define(avro, namespace, AvroType("record", "", parts, names, least=least, types=types))

    def _define(self, avro: Any, namespace: str, made: AvroType) -> AvroType:
        full = _full_name(avro, namespace)
        if full is not None:
            same = self._definitions.setdefault(full, avro) == avro
            self._named[full] = made if same else None  # a name with two definitions is ambiguous
        return made

    def _reference(self, name: str, namespace: str) -> AvroType:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._named else name  # Java also searches names without a namespace
        found = self._named.get(full)
        if found is None:
            problem = "contains itself, or has two definitions" if full in self._named else "is not defined"
            raise UnfamiliarSchemaError(f"type {name[:80]!r} of its schema {problem}")
        self._repeated += found.types
        if self._repeated > _MOST_REPEATED:
            raise UnfamiliarSchemaError(f"its schema repeats more than {_MOST_REPEATED} types by their names")
        return found


def _composed(kind: str, parts: tuple[AvroType, ...], least: int) -> AvroType:
    return AvroType(kind, "", parts, least=least, types=1 + sum(p.types for p in parts))


def _full_name(avro: Any, namespace: str) -> str | None:
    """Return the name of a definition with its namespace, or None if it has no name, as in some data files."""
    name, own = avro.get("name"), avro.get("namespace")
    if not isinstance(name, str):
        return None
    space = own if isinstance(own, str) else namespace
    return name if "." in name or not space else f"{space}.{name}"


def _logical(avro: Any) -> str:
    logical = avro.get("logicalType", "")
    if not isinstance(logical, str):
        raise TypeError("a logical type that is not a text")
    return logical


def _digits(avro: Any) -> tuple[int, int] | None:
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if type(precision) is int and type(scale) is int:
        return precision, scale
    return None
