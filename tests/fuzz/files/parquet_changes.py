"""Changes of Parquet files that know their structure: any value of the footer, of page headers and page indexes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.formats.parquet.footer import chunk_metadata, column_chunks, file_end, read_footer, row_groups
from paimon_core.formats.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, Fields, Items, decode, encode
from tests.fuzz.files.bytes_changes import ANY, hostile_number

_OFFSET, _DATA_PAGE, _DICTIONARY, _STORED = 2, 9, 11, 7  # ColumnChunk, ColumnMetaData
_INDEXES = (4, 6)  # ColumnChunk: where its offset index and its column index are
_GROUP_START = 5  # RowGroup
_REPEATS = 200
_LONG, _LONG_ROWS = 2**20, 300


def footer(chance: Random, data: bytes) -> bytes:
    """One to three values of the footer changed."""
    found, start = read_footer(pa.BufferReader(data))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change_tree(chance, found)
    return data[:start] + _end(found)


def page_header(chance: Random, data: bytes) -> bytes:
    """Values of the header of a column's first page, or of its dictionary's, changed; all offsets are corrected."""
    found, start = read_footer(pa.BufferReader(data))
    pages = [(chunk, at) for g in row_groups(found) for chunk in column_chunks(g) for at in _pages(chunk)]
    if not pages:
        return data
    chunk, at = chance.choice(pages)
    header = decode(data[at:start])
    old = len(encode(header))
    change_tree(chance, header)
    new = encode(header)
    step, meta = len(new) - old, chunk_metadata(chunk)
    _move(found, at, step)
    meta[_STORED] = I64, meta[_STORED][1] + step
    return data[:at] + new + data[at + old : start] + _end(found)


def page_index(chance: Random, data: bytes) -> bytes:
    """Values of an index of pages changed."""
    found, start = read_footer(pa.BufferReader(data))
    at = [(c, i) for g in row_groups(found) for c in column_chunks(g) for i in _INDEXES if i in c]
    if not at:
        return footer(chance, data)
    chunk, field = chance.choice(at)
    offset, length = chunk[field][1], chunk[field + 1][1]
    index = decode(data[offset : offset + length])
    change_tree(chance, index)
    new = encode(index)
    chunk[field], chunk[field + 1] = (I64, start), (I32, len(new))
    return data[:start] + new + _end(found)


def pages(chance: Random, data: bytes) -> bytes:
    """Bytes of pages changed, headers and all offsets as they were."""
    found, start = read_footer(pa.BufferReader(data))
    chunks = [c for g in row_groups(found) for c in column_chunks(g)]
    if not chunks:
        return data
    meta = chunk_metadata(chance.choice(chunks))
    first = min(at for at in (meta[_DATA_PAGE][1], meta.get(_DICTIONARY, meta[_DATA_PAGE])[1]) if at)
    end = first + meta[_STORED][1]
    new = chance.choice(ANY)(chance, data[first:end])[: end - first].ljust(end - first, b"\0")
    return data[:first] + new + data[end:]


def deep_schema(chance: Random, data: bytes) -> bytes:
    """A footer in which a column is nested thousands of times, or has others as its children."""
    found, start = read_footer(pa.BufferReader(data))
    elements = found[2][1].values
    element = {4: (BINARY, b"deep"), 5: (I32, 1), 3: (I32, chance.randrange(3))}
    elements[1:1] = [dict(element) for _ in range(chance.choice((5, 100, 2000)))]
    return data[:start] + _end(found)


def long_values(chance: Random, data: bytes) -> bytes:
    """A whole file of the same columns that unpacks to hundreds of times its size."""
    return _long_values(pq.read_schema(pa.BufferReader(data)).serialize().to_pybytes(), chance.random() < 0.5)


@cache
def _long_values(serialized: bytes, dictionary: bool) -> bytes:
    schema = pa.ipc.read_schema(pa.py_buffer(serialized))
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=dictionary) as writer:
        columns = [_column(f) for f in schema]
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return sink.getvalue()


def _column(field: pa.Field) -> pa.Array:
    if pa.types.is_string(field.type) or pa.types.is_binary(field.type):
        return pa.array([b"x" * _LONG] * _LONG_ROWS, pa.binary()).cast(field.type)
    if pa.types.is_integer(field.type):
        return pa.array([i % 100 for i in range(_LONG_ROWS)], pa.int64()).cast(field.type)
    return pa.nulls(_LONG_ROWS, field.type)


def change_tree(chance: Random, fields: Fields) -> None:
    """Change one value, anywhere in a tree."""
    places = list(_places(fields))
    if places:
        container, key, kind = chance.choice(places)
        _change_value(chance, container, key, kind)


PARQUET: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(footer, footer, footer, page_header, page_header, page_index, pages, pages, deep_schema),
)
PARQUET_BOMBS = (long_values,)

_Place = tuple[Any, Any, int]  # a structure or list, a field or index of it, and the kind of the value


def _places(fields: Fields) -> Iterator[_Place]:
    for number, (kind, value) in fields.items():
        yield fields, number, kind
        if kind == STRUCT:
            yield from _places(value)
        elif isinstance(value, Items) and len(value.kinds) == 1:
            for i, item in enumerate(value.values):
                yield value.values, i, value.kinds[0]
                if value.kinds[0] == STRUCT:
                    yield from _places(item)


def _change_value(chance: Random, container: Any, key: Any, kind: int) -> None:
    in_structure = isinstance(container, dict)
    if in_structure and chance.random() < 0.1:
        del container[key]
        return
    value = container[key][1] if in_structure else container[key]
    new = _changed(chance, kind, value)
    container[key] = (kind, new) if in_structure else new


def _changed(chance: Random, kind: int, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        number = hostile_number(chance, value) if chance.random() < 0.8 else chance.randrange(16)
        bits = 32 if kind == I32 else 64
        return max(-(2 ** (bits - 1)), min(number, 2 ** (bits - 1) - 1))
    if isinstance(value, bytes):
        return chance.choice((b"", b"\0", b"x" * 5000, value * 2, chance.choice(ANY)(chance, value)))
    if isinstance(value, Items) and kind == LIST:
        values = value.values
        made = ([], values * 2, values[1:], values[::-1], values[:1] * _REPEATS)
        return Items(value.kinds, chance.choice(made))
    if isinstance(value, dict):
        return chance.choice(({}, dict(list(value.items())[:1])))
    return value


def _pages(chunk: Fields) -> Iterator[int]:
    meta = chunk_metadata(chunk)
    yield from (meta[n][1] for n in (_DATA_PAGE, _DICTIONARY) if n in meta and meta[n][1])


def _move(found: Fields, behind: int, step: int) -> None:
    """Add a step to all offsets behind one."""
    for group in row_groups(found):
        places = [(group, _GROUP_START)]
        for chunk in column_chunks(group):
            places += [(chunk, n) for n in (_OFFSET, *_INDEXES)]
            places += [(chunk_metadata(chunk), n) for n in (_DATA_PAGE, _DICTIONARY)]
        for fields, number in places:
            if number in fields and fields[number][1] > behind:
                fields[number] = I64, fields[number][1] + step


def _end(found: Fields) -> bytes:
    return file_end(found)
