"""Convert frozen values to Avro records and JSON, and back. A list of columns per record drives all conversions.

Manifests and manifest lists are files of Avro records (`manifests.record_files`), and each record starts with
`_VERSION`. Readers find columns by name, and return `None` for a nullable column that an older writer did not have. A
record without another column is refused, as in Java (`FieldReaderFactory.RowReader` returns NULL, which the serializers
refuse).
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from reprlib import repr as shortened
from typing import Any, Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnsupportedFeatureError

T = TypeVar("T")
_JSON_TYPES = {"string": str, "boolean": bool}  # the JSON type of every other type is int


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its Avro name and type, the attribute of the value, and the nested record, if any.

    A nested record can be `optional` (None if it is missing), or `repeated`: a tuple of records, None if missing.
    """

    name: str
    attribute: str
    avro: Any = None
    record: Record[Any] | None = None
    optional: bool = False
    repeated: bool = False

    @property
    def required(self) -> bool:
        """Return whether every record must have the column."""
        return not isinstance(self.avro, list) and not self.optional and not self.repeated

    def to_avro(self, value: Any) -> Any:
        if self.record is not None:
            return self._nested(self.record.to_avro, value)
        # fastavro reads a tuple in a union as (branch name, value)
        return list(value) if isinstance(value, tuple) else value

    def from_avro(self, node: Any) -> Any:
        return self._nested(self.record.from_avro, node, tuple) if self.record else node

    def to_json(self, value: Any) -> Any:
        return self._nested(self.record.to_json, value) if self.record else _to_json(value)

    def from_json(self, node: Any) -> Any:
        if self.record is None:
            return _from_json(self.avro, node)
        return self._nested(self.record.from_json, _typed(node, list) if self.repeated else node, tuple)

    def _nested(self, convert: Callable[[Any], Any], value: Any, collect: Callable[[Iterable[Any]], Any] = list) -> Any:
        if value is None and (self.optional or self.repeated):
            return None
        return collect(convert(v) for v in value) if self.repeated else convert(value)


@dataclass(frozen=True, slots=True, eq=False)
class Record(Generic[T]):
    """A record type. `build` creates the value from attributes passed by name.

    `unread` are columns of later versions that change the meaning of other columns: a record with a value in such a
    column is refused.
    """

    name: str
    build: Callable[..., T]
    columns: tuple[Column, ...]
    unread: tuple[str, ...] = ()
    plural: str = "records"

    def avro(self) -> dict[str, Any]:
        return {"type": "record", "name": self.name, "fields": [_avro_field(self.name, c) for c in self.columns]}

    def to_avro(self, value: T) -> dict[str, Any]:
        return {c.name: c.to_avro(getattr(value, c.attribute)) for c in self.columns}

    def check_unread(self, found: Iterable[str]) -> None:
        """Raise `UnsupportedFeatureError` for columns with values that change the meaning of other columns."""
        for name in found:
            raise UnsupportedFeatureError(
                f"Metadata has a value in {name}, which a later version of Paimon wrote and this version cannot read: "
                "upgrade this package, or read the table with the engine that wrote it."
            )

    def from_avro(self, node: dict[str, Any]) -> T:
        self.check_unread(name for name in self.unread if node.get(name) is not None)
        return self.build(**{c.attribute: c.from_avro(node[c.name]) for c in self.columns if c.name in node})

    def to_json(self, value: T) -> dict[str, Any]:
        """Return the value for JSON, without missing fields. Bytes are in base64, moments in epoch milliseconds."""
        given = ((c, getattr(value, c.attribute)) for c in self.columns)
        return {c.name: c.to_json(v) for c, v in given if v is not None}

    def from_json(self, node: Any) -> T:
        """Reverse `to_json`. Raises `ValueError`, `TypeError` or `OverflowError` for a node that is not a record."""
        if not isinstance(node, dict):
            raise TypeError(f"{shortened(node)} is not an object")
        for c in self.columns:
            if c.name not in node and (c.required or (c.repeated and not c.optional)):
                raise ValueError(f"it has no {c.name!r}")
        return self.build(**{c.attribute: c.from_json(node[c.name]) for c in self.columns if c.name in node})

    def encode(self, value: T) -> str:
        """Return the value as one JSON text for transport between the driver and its tasks."""
        return json.dumps(self.to_json(value))

    def decode(self, text: str | bytes) -> T:
        """Return the value of a JSON text from `encode`. Raises `CorruptFileError`."""
        try:
            return self.from_json(json.loads(text))
        except (ValueError, TypeError, OverflowError, RecursionError) as e:
            raise CorruptFileError(f"<{self.name}>", f"it does not decode ({e})", "run the statement again") from e


def nullable(avro: Any) -> list[Any]:
    """Return the Avro type that also allows null."""
    return ["null", avro]


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return list(value) if isinstance(value, tuple) else value


def _from_json(avro: Any, value: Any) -> Any:
    kind = avro[1] if isinstance(avro, list) else avro
    if isinstance(kind, dict) and kind["type"] == "array":
        return [None if v is None else _from_json(kind["items"], v) for v in _typed(value, list)]
    if kind == "bytes":
        return b64decode(_typed(value, str), validate=True)
    return _typed(value, _JSON_TYPES.get(kind, int) if isinstance(kind, str) else int)


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{shortened(value)} is not of type {kind.__name__}")
    return value


def _avro_field(parent: str, column: Column) -> dict[str, Any]:
    if column.record is not None:
        # Avro allows a record name once per schema: nested names carry the path
        nested: Any = Record(f"{parent}_{column.name}", column.record.build, column.record.columns).avro()
        if column.repeated:
            nested = {"type": "array", "items": nullable(nested)}
        if not column.optional and not column.repeated:
            return {"name": column.name, "type": nested}
        return {"name": column.name, "type": nullable(nested), "default": None}
    field = {"name": column.name, "type": column.avro}
    return {**field, "default": None} if isinstance(column.avro, list) else field
