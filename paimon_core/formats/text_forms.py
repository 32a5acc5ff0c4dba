"""How rows become lines of text and lines rows, for JSON and plain text; see `csv_form` for CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import Option, TableOptions
from paimon_core.spec.types import DataField, Kind, nested_types

JSON_DELIMITER = Option("json.line-delimiter", str, "\n", "What stands behind a line of JSON files.")
TEXT_DELIMITER = Option("text.line-delimiter", str, "\n", "What stands behind a line of text files.")
_LINES = 20_000
_TEXT_TYPES = (Kind.CHAR, Kind.VARCHAR)


class TextForm(Protocol):
    """How rows become lines and lines rows."""

    @property
    def name(self) -> str:
        """The format's name, and what files end with."""

    def check(self, fields: Sequence[DataField]) -> None:
        """Raises `UnsupportedFeatureError` for columns that such files cannot hold."""

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        """Lines of columns of texts."""

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        """What a file begins with."""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        """Columns of texts from lines."""


class JsonForm:
    """Objects of texts, arrays and objects; keys of maps are texts."""

    name = "json"

    def check(self, fields: Sequence[DataField]) -> None:
        for field in fields:
            if any(t.kind in (Kind.VARIANT, Kind.MULTISET) for t in nested_types(field.type)):
                raise UnsupportedFeatureError(f"Column {field.name!r}: JSON files hold no {field.type}.")

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        encode, end = partial(json.dumps, ensure_ascii=False, separators=(",", ":")), options[JSON_DELIMITER]
        return "".join(f"{line}{end}" for line in map(encode, batch.to_pylist(maps_as_pydicts="strict"))).encode()

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        return b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        row_type, lines = pa.struct(list(schema)), _lines(stream, options[JSON_DELIMITER])
        for start in range(0, len(lines), _LINES):
            text = f"[{','.join(lines[start : start + _LINES])}]"
            rows = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
            if len(rows) != len(lines[start : start + _LINES]):
                raise ValueError("a line is no row")
            yield pa.RecordBatch.from_struct_array(pa.array(rows, row_type))


class LinesForm:
    """One column of texts, a line each; NULL is an empty line, which is an empty text."""

    name = "text"

    def check(self, fields: Sequence[DataField]) -> None:
        if len(fields) != 1 or fields[0].type.kind not in _TEXT_TYPES:
            raise UnsupportedFeatureError(
                f"Text files hold one column of type STRING, not ({', '.join(f.name for f in fields)})."
            )

    def encode(self, batch: pa.RecordBatch, options: TableOptions) -> bytes:
        return joined(pc.binary_join_element_wise(batch.column(0).fill_null(""), "", options[TEXT_DELIMITER]))

    def header(self, names: Sequence[str], options: TableOptions) -> bytes:
        return b""

    def decode(self, stream: pa.NativeFile, schema: pa.Schema, options: TableOptions) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays([pa.array(_lines(stream, options[TEXT_DELIMITER]))], schema=schema)


def joined(lines: pa.StringArray) -> bytes:
    """The texts of a column, one after the other."""
    return bytes(
        pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "")[0].as_buffer()
    )


def _lines(stream: pa.NativeFile, delimiter: str) -> list[str]:
    lines: list[str] = stream.read().decode().split(delimiter)
    if lines[-1] == "":
        lines.pop()
    return lines
