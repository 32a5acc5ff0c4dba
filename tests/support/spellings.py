"""Legal Avro spellings of a record type: schemas that another writer could declare for the same values.

A spelling draws the order of columns, unions with NULL in either order, wider numbers, texts as bytes, the units of
timestamps, names and namespaces, types by name, defaults, aliases, unknown columns and columns that are left out.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

import fastavro
from hypothesis import strategies as st

from paimon_core.formats.avro.codecs import CODECS
from paimon_core.formats.avro.container import ContainerWriter
from paimon_core.spec.manifest import epoch_millis
from paimon_core.spec.records import Record

Encode = Callable[[Any], Any]
_INT = 2**31
_UNKNOWN: list[tuple[Any, Any]] = [
    ("null", None),
    ("boolean", True),
    ("double", 1.5),
    ("float", 0.5),
    (["null", "string"], "later"),
    (["string", "null", "long"], 7),
    ({"type": "map", "values": ["null", "int"]}, {"a": 1, "b": None}),
    ({"type": "array", "items": {"type": "map", "values": "string"}}, [{"k": "v"}, {}]),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, b"\x01"),
]


@dataclass
class Spelling:
    """The choices of one file. With `steady`, only choices are drawn for which a manifest is decoded by columns."""

    draw: st.DrawFn
    steady: bool
    names: count[int] = field(default_factory=count)

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def record(self, avro: Any, values: Sequence[Any], namespace: str) -> tuple[Any, Encode]:
        """Return a record type, and a function that makes its value from our dictionary."""
        own = self.choose(namespace, "other.space")
        made, encoders = list[dict[str, Any]](), dict[str, Encode]()
        for column in avro["fields"]:
            inner = [v[column["name"]] for v in values]
            if isinstance(column["type"], list) and all(v is None for v in inner) and self.choose(True, False):
                continue  # as writers older than the column write it
            made_type, encoders[column["name"]] = self.column(column, inner, own)
            made.append({"name": column["name"], "type": made_type, **self.extras(made_type)})
        unknown = dict[str, Any]()
        for _ in range(self.choose(0, 0, 1, 2)):
            kind, unknown[f"_LATER_{next(self.names)}"] = self.choose(*_UNKNOWN, *self.named())
            made.append({"name": [*unknown][-1], "type": kind})
        if self.choose(True, False):
            first = 3 if self.steady and avro["fields"][0]["name"] == "_VERSION" else 0
            made[first:] = self.draw(st.permutations(made[first:]))
        schema = {"type": "record", "name": f"r{next(self.names)}", "namespace": own, "fields": made}
        return schema, lambda value: unknown | {name: encode(value[name]) for name, encode in encoders.items()}

    def named(self) -> list[tuple[Any, Any]]:
        enum = {"type": "enum", "name": f"e{next(self.names)}", "symbols": ["A", "B"]}
        return [(enum, "B"), ({"type": "fixed", "name": f"f{next(self.names)}", "size": 3}, b"abc")]

    def extras(self, avro: Any) -> dict[str, Any]:
        default = {"default": None} if isinstance(avro, list) and avro[0] == "null" else {}
        return default | self.choose({}, {"aliases": ["_FORMER"]}, {"doc": "a column"}, {"order": "ignore"})

    def column(self, column: Any, values: Sequence[Any], namespace: str) -> tuple[Any, Encode]:
        avro = column["type"]
        nullable = isinstance(avro, list)
        made, encode = self.type(avro[1] if nullable else avro, [v for v in values if v is not None], namespace)
        null = nullable or self.choose(True, False)
        if null:
            made = self.choose(["null", made], [made, "null"])
            if not self.steady and self.choose(True, False):
                made = [*made, {"type": "fixed", "name": f"o{next(self.names)}", "size": 1}]
        return made, lambda value: None if value is None else encode(value)

    def type(self, avro: Any, values: Sequence[Any], namespace: str) -> tuple[Any, Encode]:
        if avro in ("int", "long"):
            small = all(-_INT <= v < _INT for v in values)
            return self.choose("long", "int") if small else "long", int
        if avro == "string":
            return self.choose(("string", str), ({"type": "string", "logicalType": "new"}, str), ("bytes", str.encode))
        if avro == "bytes":
            return self.choose(("bytes", bytes), ("string", bytes.decode)) if are_texts(values) else ("bytes", bytes)
        if avro["type"] == "array":
            inner = [v for value in values for v in value]
            items, encode = self.column({"type": avro["items"]}, inner, namespace)
            return {"type": "array", "items": items}, lambda value: [encode(v) for v in value]
        if avro["type"] == "record":
            return self.record(avro, values, namespace)
        unit, factor = self.choose(("millis", 1), ("micros", 1000), ("nanos", 1_000_000))
        logical = self.choose({}, {"logicalType": f"timestamp-{unit}"}, {"logicalType": f"local-timestamp-{unit}"})
        return {"type": "long", **logical}, lambda value: value * (factor if logical else 1)


def are_texts(values: Sequence[bytes]) -> bool:
    try:
        return all(v.decode() or True for v in values)
    except UnicodeDecodeError:
        return False


def plain(value: Any) -> Any:
    """Return a value of ours with timestamps as milliseconds."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return epoch_millis(value) if isinstance(value, datetime) else value


@st.composite
def spelled(draw: st.DrawFn, record: Record[Any], version: int, values: Sequence[Any], *, steady: bool) -> bytes:
    """A file of the values as another writer could write it."""
    spelling = Spelling(draw, steady)
    schema = record.avro()
    schema["fields"] = [{"name": "_VERSION", "type": "int"}, *schema["fields"]]
    rows = [{"_VERSION": version, **plain(record.to_avro(v))} for v in values]
    made, encode = spelling.record(schema, rows, "org.space")
    made = spelling.choose(made, ["null", made], [made, "null"])
    parsed = fastavro.parse_schema(made)
    sink, codec = io.BytesIO(), spelling.choose(*CODECS)
    writer = ContainerWriter(sink, made, codec, 3)
    for start in range(0, len(rows), step := spelling.choose(1, 3, 1000)):
        if spelling.choose(True, False, False):
            writer.write(0, b"")
        block = [encode(r) for r in rows[start : start + step]]
        writer.write(len(block), coded(parsed, block))
    return sink.getvalue()


def coded(parsed: Any, rows: Sequence[Any]) -> bytes:
    out = io.BytesIO()
    for row in rows:
        fastavro.schemaless_writer(out, parsed, row)
    return out.getvalue()
