"""Read MAPs that a file stores with a column per key. The file has a struct instead of such a MAP:

    __field_mapping: ARRAY<INT>   per column, the number of the key that has its value there in this row; -1 for none
    __col_N                       values, N from 0
    __overflow: MAP<INT, value>   by number, the values without a column

The field's metadata has the key name of each number, as JSON. Keys share columns: a key may have another column in
another row.

To build MAPs, all values first become one pool: the used columns, one after the other, and then the items of
`__overflow`. Each entry of a MAP is three numbers, computed by numpy for all rows at once: its row, its key's number,
and its index in the pool (column * rows + row, or after all columns). The entries are sorted by row; one `take` of the
pool and one of the names give the MAPs. Entries with a number without a name are left out.

A reader of a few keys reads the columns that the metadata lists for their numbers (`field-columns`), and `__overflow`
if the metadata lists one of them there (`overflow-set`). It returns MAPs of these keys alone.
Source: Java's Paimon 2.0, `fields.X.map.storage-layout` = shared-shredding.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError

PREFIX = "paimon.map.shared-shredding."
VERSION = "1"
MAPPING, COLUMN, OVERFLOW = "__field_mapping", "__col_", "__overflow"
_MOST_BYTES = 64 * 2**20  # of the names of keys
_CODECS = {"none": None, "zstd": "zstd", "lz4": "lz4_raw"}
_HEADS = {"zstd": 0, "lz4": 8}  # bytes before the block: sizes
LAYOUTS = b"ARROW:schema"  # metadata of files: a schema with the metadata in its fields

Numbers = NDArray[np.int64]


def is_shredded_map(found: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a column of a file is a MAP with a column per key."""
    return bool(pa.types.is_map(target)) and has_column_per_key(found)


def has_column_per_key(found: pa.DataType) -> bool:
    """Return whether the type is the struct for such a MAP."""
    return bool(pa.types.is_struct(found)) and found.get_field_index(MAPPING) >= 0


def field_metadata(schema: pa.Schema) -> dict[str, dict[bytes, bytes]]:
    """Return the metadata of fields that a file (ORC) has in its own metadata; {} for none."""
    encoded = (schema.metadata or {}).get(LAYOUTS)
    if encoded is None:
        return {}
    described = pa.ipc.read_schema(pa.py_buffer(b64decode(encoded)))
    known = (f for f in described if f.metadata and schema.get_field_index(f.name) >= 0)
    return {f.name: {**f.metadata, **(schema.field(f.name).metadata or {})} for f in known}


@dataclass(frozen=True, slots=True)
class SelectedKeys:
    """Some keys of a MAP in a file: the columns that can have their values, and whether the overflow can.

    `names` has the name of each of `numbers`, which ascend; `width` is the number of columns in the file, and `value`
    the type of values there.
    """

    numbers: Numbers
    names: pa.Array
    value: pa.DataType
    width: int
    columns: tuple[int, ...]
    in_overflow: bool

    def parts(self, column: str) -> list[str]:
        """Return the paths to read of a column of the file."""
        found = [MAPPING, *(f"{COLUMN}{n}" for n in self.columns), *([OVERFLOW] if self.in_overflow else [])]
        return [f"{column}.{part}" for part in found]

    def maps(self, column: pa.StructArray) -> pa.MapArray:
        """Return the MAPs of these keys, with values of the file's type; NULL where the MAP is NULL.

        Raises `ValueError` for contradictions in the file.
        """
        valid, rows = validity(column), len(column)
        mapped = _mapping(column.field(MAPPING), valid, self.width)
        mapped = np.where(np.isin(mapped, self.numbers), mapped, -1)
        row, index = np.nonzero(mapped >= 0)
        used = np.unique(index)
        if unlisted := [int(n) for n in used if n not in self.columns]:
            raise ValueError(f"column {unlisted[0]} of a MAP has a key that its metadata does not list there")
        pool = [column.field(f"{COLUMN}{n}") for n in used]
        numbers, owners = mapped[row, index], row
        indices = np.searchsorted(used, index) * rows + row
        if self.in_overflow:
            overflow = column.field(OVERFLOW)
            more_row, more_index = map_entries(overflow, valid)
            pool.append(overflow.items)
            indices = np.concatenate([indices, len(used) * rows + more_index])
            numbers = np.concatenate([numbers, fixed_values(overflow.keys, np.int32)[more_index]])
            owners = np.concatenate([owners, more_row])
        order = np.argsort(owners, kind="stable")  # in a row, values in columns come before other values
        known = np.searchsorted(self.numbers, numbers[order])
        last = len(self.numbers) - 1
        kept = self.numbers[np.minimum(known, last)] == numbers[order] if last >= 0 else np.zeros(len(order), np.bool_)
        order, known = order[kept], known[kept]
        offsets = np.append(0, np.cumsum(np.bincount(owners[order], minlength=rows)))
        values = pa.concat_arrays(pool) if pool else pa.nulls(0, self.value)
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()),
            self.names.take(int64_array(known)),
            values.take(int64_array(indices[order])),
            mask=None if valid.all() else pa.array(~valid),
        )


def whole_maps(column: pa.StructArray, metadata: Mapping[bytes, bytes] | None) -> pa.MapArray:
    """Return the MAPs, with values of the file's type.

    Raises `ValueError` for contradictions in the file, `UnsupportedFeatureError` for another version of the layout.
    """
    return _every_key(column.type, metadata or {}).maps(column)


def selected_keys(
    found: pa.StructType, metadata: Mapping[bytes, bytes] | None, keys: Collection[str]
) -> SelectedKeys | None:
    """Return the parts of a MAP's struct that can have the keys; None if the metadata does not list them.

    Raises the errors of `whole_maps`.
    """
    every, known = _every_key(found, metadata or {}), metadata or {}
    columns_of, overflow = (known.get(f"{PREFIX}{name}".encode()) for name in ("field-columns", "overflow-set"))
    if columns_of is None or overflow is None:
        return None
    by_number, in_overflow = json.loads(columns_of), _listed(json.loads(overflow))
    if not isinstance(by_number, dict):
        raise ValueError("a MAP does not list the columns of its keys")
    places = [i for i, name in enumerate(every.names.to_pylist()) if name in keys]
    numbers = [int(every.numbers[i]) for i in places]
    columns = {column for number in numbers for column in _listed(by_number.get(str(number), []))}
    if not columns <= {*every.columns}:
        raise ValueError("a MAP lists columns that it does not have")
    return replace(
        every,
        numbers=np.array(numbers, dtype=np.int64),
        names=every.names.take(pa.array(places, pa.int64())),
        columns=tuple(sorted(columns)),
        in_overflow=not in_overflow.isdisjoint(numbers),
    )


def _listed(numbers: object) -> frozenset[int]:
    if not isinstance(numbers, list) or not all(type(n) is int for n in numbers):
        raise ValueError("a MAP does not list numbers of its columns and keys")
    return frozenset(numbers)


def _every_key(found: pa.StructType, metadata: Mapping[bytes, bytes]) -> SelectedKeys:
    numbers, names = _key_names(metadata)
    columns = tuple(range(sum(f.name.startswith(COLUMN) for f in found)))
    return SelectedKeys(numbers, names, found.field(OVERFLOW).type.item_type, len(columns), columns, in_overflow=True)


def _mapping(lists: pa.ListArray, valid: NDArray[np.bool_], columns: int) -> Numbers:
    """Return, per row and column, the number of the column's key; shape (rows, columns)."""
    flat = lists.filter(pa.array(valid)).flatten()
    if len(flat) != valid.sum() * columns or flat.null_count:
        raise ValueError(f"a MAP does not list the keys of its {columns} columns")
    mapped = np.full((len(lists), columns), -1, dtype=np.int64)
    if columns:
        mapped[valid] = fixed_values(flat, np.int32).reshape(-1, columns)
    return mapped


def map_entries(maps: pa.MapArray, valid: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Return the row of each entry, and its index among the keys and items."""
    offsets = maps.offsets.to_numpy().astype(np.int64)
    sizes = np.where(valid & validity(maps), np.diff(offsets), 0)
    before = np.cumsum(sizes) - sizes
    return np.repeat(np.arange(len(sizes)), sizes), np.arange(sizes.sum()) + np.repeat(offsets[:-1] - before, sizes)


def _key_names(metadata: Mapping[bytes, bytes]) -> tuple[Numbers, pa.Array]:
    """Return the numbers of keys, ascending, and the keys' names."""

    def entry(name: str, default: str = "") -> str:
        return metadata.get(f"{PREFIX}{name}".encode(), default.encode()).decode()

    if entry("version") != VERSION:
        raise UnsupportedFeatureError(
            f"MAPs with a column per key cannot be read in version {entry('version')!r}: this version of paimon-sql "
            f"reads {VERSION}. Upgrade paimon-sql."
        )
    data, codec = entry("field-dict").encode("latin-1"), entry("field-dict-compression", "zstd")
    size = int(entry("field-dict-original-size"))
    if codec not in _CODECS or not 0 <= size <= _MOST_BYTES:
        raise UnsupportedFeatureError(f"The key names of a MAP are {size} bytes in {codec!r}, which cannot be read.")
    if codec != "none":
        data = pa.decompress(data[_HEADS[codec] :], size, _CODECS[codec], asbytes=True)
    names = json.loads(data)
    if not isinstance(names, dict) or not all(type(number) is int for number in names.values()):
        raise ValueError("a MAP has no names of its keys")
    numbers = np.array(list(names.values()), dtype=np.int64)
    order = np.argsort(numbers)
    return numbers[order], pa.array(list(names), pa.string()).take(int64_array(order))
