"""JSON: one object per line, with values by the names of the columns.

This library writes texts, arrays and objects. Other tools also write numbers and booleans, which are read as texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.text.lines import Malformed, some_text, text_lines
from paimon_core.options import Option, TableOptions, boolean, one_of
from paimon_core.spec.types import DataField, Kind, nested_types

DELIMITER = Option("json.line-delimiter", some_text, "\n", "Text after each line of JSON files.")
IGNORE_ERRORS = Option("json.ignore-parse-errors", boolean, False, "Read bad values as NULL, leave bad rows out.")
# This option has no effect: neither Spark's maps nor JSON objects can have NULL keys.
NULL_KEY_MODE = Option(
    "json.map-null-key-mode", one_of("fail", "drop", "literal"), "fail", "How NULL keys are written."
)
_LINES = 20_000
_BOOLEANS = {True: "true", False: "false"}
T = TypeVar("T")


class JsonLayout:
    """The `TextLayout` of JSON. Keys of maps are texts."""

    name = "json"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        _ = options[DELIMITER], options[IGNORE_ERRORS], options[NULL_KEY_MODE]  # raises where a value does not parse
        for field in fields:
            if any(t.kind in (Kind.VARIANT, Kind.MULTISET) for t in nested_types(field.type)):
                raise UnsupportedFeatureError(f"Column {field.name!r}: JSON files cannot hold {field.type}.")

    def malformed(self, options: TableOptions) -> Malformed:
        return Malformed.NULL if options[IGNORE_ERRORS] else Malformed.ERROR

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        encode, end = partial(json.dumps, ensure_ascii=False, separators=(",", ":")), options[DELIMITER]
        return "".join(f"{line}{end}" for line in map(encode, batch.to_pylist(maps_as_pydicts="strict"))).encode()

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        return b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        row_type, ignores = pa.struct(list(schema)), options[IGNORE_ERRORS]
        for lines in text_lines(stream, options[DELIMITER]):
            for part in (lines[start : start + _LINES] for start in range(0, len(lines), _LINES)):
                rows = _but_failing(_objects, part) if ignores else _objects(part)
                yield pa.RecordBatch.from_struct_array(_array(rows, row_type, ignores=ignores))


def _objects(lines: Sequence[bytes]) -> list[Any]:
    """Parse lines to JSON objects. Raises `ValueError`."""
    rows: list[Any] = json.loads(f"[{b','.join(lines).decode()}]", parse_int=str, parse_float=str, parse_constant=str)
    if len(rows) != len(lines) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("a line is not a JSON object")
    return rows


def _but_failing(parse: Callable[[Sequence[bytes]], list[T]], lines: Sequence[bytes]) -> list[T]:
    """Parse lines, except lines that do not parse. These are found by halving."""
    try:
        return parse(lines)
    except (ValueError, RecursionError):
        middle = len(lines) // 2
        return [] if middle == 0 else [*_but_failing(parse, lines[:middle]), *_but_failing(parse, lines[middle:])]


def _array(rows: list[Any], row_type: pa.StructType, *, ignores: bool) -> pa.StructArray:
    try:
        return pa.array(rows, row_type)
    except (pa.ArrowException, TypeError):  # values that are not texts
        return pa.array([_fitted(row, row_type, ignores) for row in rows], row_type)


def _fitted(value: Any, wanted: pa.DataType, ignores: bool) -> Any:
    """Convert a JSON value to the shape of a nested type with texts as leaves.

    Raises `ValueError` for another shape.
    """
    if value is None:
        return None
    if pa.types.is_string(wanted):
        return value if isinstance(value, str) else _BOOLEANS.get(value, "") if isinstance(value, bool) else ""
    if isinstance(value, list) and pa.types.is_list(wanted):
        return [_fitted(v, wanted.value_type, ignores) for v in value]
    if isinstance(value, dict) and pa.types.is_map(wanted):
        return [(k, _fitted(v, wanted.item_type, ignores)) for k, v in value.items()]
    if isinstance(value, dict) and pa.types.is_struct(wanted):
        return {f.name: _fitted(value.get(f.name), f.type, ignores) for f in wanted}
    if not ignores:
        raise ValueError(f"a value is {type(value).__name__} instead of {wanted}")
    return None
