"""The entries of an Avro manifest decoded by columns, all at once (see `formats.avro.field_offsets`).

This is the fast way to read a manifest; `record_files` decodes any manifest entry by entry. Both accept the same files
and give the same entries: what only the other one can read, or can say what is wrong with, raises `UnusualError` here.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import fastavro
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.errors import CorruptFileError, PaimonError, reason
from paimon_core.formats.avro.codecs import InflatedError
from paimon_core.formats.avro.container import MAGIC, ContainerReader
from paimon_core.formats.avro.field_offsets import (
    END,
    NULL,
    PADDING,
    Coded,
    Offsets,
    Path,
    RecordOffsets,
    UnusualError,
    find_records,
)
from paimon_core.formats.avro.records import RecordCodec
from paimon_core.manifests.record_files import check_schema
from paimon_core.spec.avro_types import without_null
from paimon_core.spec.manifest import (
    DATA_FILE_META,
    ENTRY_VERSION,
    MANIFEST_ENTRY,
    DataFileMeta,
    FileKind,
    ManifestEntry,
    moment,
)
from paimon_core.spec.records import Column, Record
from paimon_core.spec.stats import SimpleStats

V = TypeVar("V")
Rows = NDArray[np.int64]
_NESTED: dict[str, type[Any]] = {"file": DataFileMeta, "key_stats": SimpleStats, "value_stats": SimpleStats}
_MEANINGS: dict[str, Callable[[int], Any]] = {"kind": FileKind, "creation_time": moment}
_VERSION = ("_VERSION",)
_COUNT_BYTES = 4
_COUNT = np.uint64(0xFFFFFFFF)
_PARTITION = np.array([2])  # offset of the first entry's partition, behind version and kind


def find_entries(path: str, data: bytes) -> CodedEntries:
    """The entries of a manifest.

    Raises `UnusualError` for what has to be decoded entry by entry, also to say what is wrong with it; `InflatedError`
    where the blocks unpack to far too much."""
    if not data.startswith(MAGIC):
        raise UnusualError
    try:
        container = ContainerReader(io.BytesIO(data))
        check_schema(MANIFEST_ENTRY, container.schema)
        RecordCodec(container.schema)  # a schema that decodes no entry is refused here as well
        count, content = container.content(PADDING)
        offsets = find_records(container.schema, Coded(content), count, _candidates)
    except InflatedError:
        raise
    except (ValueError, LookupError, TypeError, RecursionError) as e:
        raise UnusualError from e
    source = CodedEntries(path, container.schema, offsets)
    if (offsets.fields.get(_VERSION, offsets.starts) != offsets.starts).any():
        raise UnusualError  # only the version, of which each entry has one, may be at offset 0: it would be `NULL`
    later = any(source.known(("_FILE", name)).any() for name in DATA_FILE_META.unread)
    if later or (offsets.coded.numbers(offsets.starts)[0] > ENTRY_VERSION).any():
        raise UnusualError
    return source


class CodedEntries:
    """Entries in an Avro manifest, an `EntrySource`: the offsets of their fields, which are decoded when asked for."""

    def __init__(self, path: str, avro: Any, offsets: RecordOffsets) -> None:
        self._path, self._avro, self._offsets = path, avro, offsets
        self._coded: Coded = offsets.coded

    def __len__(self) -> int:
        return len(self._offsets.starts)

    def numbers(self, path: Path) -> NDArray[np.int64]:
        offsets = self._at(path, None)
        return np.where(offsets == NULL, 0, self._coded.numbers(offsets)[0])

    def known(self, path: Path) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self._at(path, None) != NULL
        return known

    def binary(self, path: Path) -> pa.Array:
        return self._binary(path, None)

    def texts(self, path: Path, rows: Rows) -> list[Any]:
        try:
            found: list[Any] = self._binary(path, rows).cast(pa.string()).to_pylist()
        except pa.ArrowException as e:
            raise CorruptFileError(self._path, f"its {path[-1]} do not decode ({e})") from e
        return found

    def lists(self, path: Path, rows: Rows | None = None) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        offsets = self._at(path, rows)
        there = np.flatnonzero(offsets != NULL)
        codes = np.full(len(offsets), -1)
        if not there.size:
            return codes, []
        starts = offsets[there]
        coded = self._coded.binary(starts, self._at((*path, END), rows)[there] - starts).dictionary_encode()
        codes[there] = coded.indices.to_numpy()
        avro = fastavro.parse_schema(_type_at(self._avro, path))
        distinct = (fastavro.schemaless_reader(io.BytesIO(c), avro, None) for c in coded.dictionary.to_pylist())
        return codes, [tuple(d) for d in distinct]

    def make(self, rows: Rows) -> list[ManifestEntry]:
        try:
            return self._records(ManifestEntry, MANIFEST_ENTRY, (), rows)
        except PaimonError:
            raise
        except (ValueError, TypeError, KeyError, OverflowError, pa.ArrowException) as e:
            raise CorruptFileError(self._path, f"its entries do not decode ({reason(e)})") from e

    def _records(self, kind: type[V], record: Record[Any], path: Path, rows: Rows) -> list[V]:
        columns = [c for c in record.columns if isinstance(c.avro, list) or self._has((*path, c.name))]
        return _frozen(kind, len(rows), {c.attribute: self._values(c, (*path, c.name), rows) for c in columns})

    def _values(self, column: Column, path: Path, rows: Rows) -> list[Any]:
        if column.record is not None:
            return self._records(_NESTED[column.attribute], column.record, path, rows)
        kind = without_null(column.avro)
        if isinstance(kind, dict) and kind["type"] == "array":
            codes, distinct = self.lists(path, rows)
            return [None if code < 0 else distinct[code] for code in codes.tolist()]
        if kind in ("bytes", "string"):
            content = self._binary(path, rows)
            found: list[Any] = (content.cast(pa.string()) if kind == "string" else content).to_pylist()
            return found
        offsets = self._at(path, rows)
        numbers = self._coded.numbers(offsets)[0]
        meant = _MEANINGS.get(column.attribute)
        values: list[Any] = numbers.tolist() if meant is None else _each_once(meant, numbers)
        for row in np.flatnonzero(offsets == NULL).tolist():
            values[row] = None
        return values

    def _has(self, path: Path) -> bool:
        return any(p[: len(path)] == path for p in self._offsets.fields)

    def _at(self, path: Path, rows: Rows | None) -> Offsets:
        offsets = self._offsets.fields.get(path)
        if offsets is None:
            return np.full(len(self._offsets.starts) if rows is None else len(rows), NULL)
        return offsets if rows is None else offsets[rows]

    def _binary(self, path: Path, rows: Rows | None) -> pa.Array:
        offsets = self._at(path, rows)
        there = np.flatnonzero(offsets != NULL)
        starts, lengths = self._coded.slices(offsets[there])
        content = self._coded.binary(starts, lengths)
        return content if len(there) == len(offsets) else _spread(content, there, len(offsets))


def _candidates(coded: Coded, low: int, high: int) -> Offsets:
    """Where version, kind and the partition's field count are as entries begin: the version as in the first one."""
    high = min(high, coded.size)
    found = np.flatnonzero(coded.bytes[low:high] == coded.bytes[0]) + low
    found = found[coded.bytes[found + 1] & 0xFD == 0]
    lengths, starts = coded.numbers(found + 2)
    counts, first = (coded.words[np.minimum(p, coded.size)] & _COUNT for p in (starts, coded.numbers(_PARTITION)[1]))
    same: Offsets = found[(counts == first) & (lengths >= _COUNT_BYTES)]
    return same


def _each_once(meant: Callable[[int], Any], numbers: NDArray[np.int64]) -> list[Any]:
    distinct, indices = np.unique(numbers, return_inverse=True)
    meanings = [meant(n) for n in distinct.tolist()]
    return [meanings[index] for index in indices.tolist()]


def _frozen(kind: type[V], count: int, columns: Mapping[str, list[Any]]) -> list[V]:
    """Frozen values made of columns. Slots are filled column by column: calling the class costs several times that."""
    made = [object.__new__(kind) for _ in range(count)]
    for field in fields(kind):  # type: ignore[arg-type]
        values = columns[field.name] if field.name in columns else [field.default] * count
        if MISSING in values[:1]:
            raise ValueError(f"column {field.name} is missing")
        deque(map(getattr(kind, field.name).__set__, made, values), maxlen=0)
    return made


def _type_at(avro: Any, path: Path) -> Any:
    for name in path:
        avro = next(f["type"] for f in without_null(avro)["fields"] if f["name"] == name)
    return without_null(avro)


def _spread(content: pa.Array, rows: Rows, count: int) -> pa.Array:
    """The values at rows of a column of `count`, NULL elsewhere."""
    indices = np.zeros(count, dtype=np.int64)
    known = np.zeros(count, dtype=np.bool_)
    indices[rows], known[rows] = np.arange(len(rows)), True
    return content.take(int64_array(indices, known))
