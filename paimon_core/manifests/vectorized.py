"""The entries of an Avro manifest decoded by columns, all at once (see `formats.avro.field_offsets`).

This is the fast way to read a manifest; `record_files` decodes any manifest entry by entry. Both accept the same files
and return the same entries. If only `record_files` can read a file, or name its damage, this module raises
`UnusualError`.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.errors import CorruptFileError, PaimonError, UnfamiliarFormError, reason
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
from paimon_core.formats.avro.plain_values import PlainValues
from paimon_core.manifests.avro_resolution import Resolution
from paimon_core.manifests.record_files import VERSION, file_resolution
from paimon_core.spec.avro_types import UnfamiliarSchemaError
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
_VERSION, _KIND = (VERSION.name,), ("_KIND",)
_KINDS = tuple(map(int, FileKind))
_COUNT_BYTES = 4
_COUNT = np.uint64(0xFFFFFFFF)
_LEADING = ("_VERSION", "_KIND", "_PARTITION")
_LARGEST_BYTE = np.uint8(0x7F)  # the largest first byte of a one-byte number
_NO_KIND, _ZERO = np.uint8(0xFD), np.uint8(0)
_LEAST_ENTRY = 16  # average bytes per candidate: with more candidates, most would be false


def entries_by_columns(path: str, data: bytes) -> CodedEntries | None:
    """Return the entries like `find_entries`, or None if the caller must decode the entries one by one."""
    try:
        return find_entries(path, data)
    except UnusualError:
        return None


def find_entries(path: str, data: bytes) -> CodedEntries:
    """Return the entries of a manifest.

    Raises `UnusualError` if the caller must decode the entries one by one, for example to find damage. Raises
    `InflatedError` if the blocks decompress to far too many bytes."""
    if not data.startswith(MAGIC):
        raise UnusualError
    try:
        container = ContainerReader(io.BytesIO(data))
        resolution = file_resolution(MANIFEST_ENTRY, container)
        count, content = container.content(PADDING)
        offsets = find_records(resolution.plain, Coded(content), count, partial(_candidates, resolution.plain))
        source = CodedEntries(path, resolution, offsets)
        for converted in resolution.conversions:
            source.check(converted)
    except InflatedError:
        raise
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as e:
        raise UnusualError from e
    unread = (p for p in offsets.fields if p[:1] == ("_FILE",) and p[1] in DATA_FILE_META.unread)
    if any(source.known(p).any() for p in unread) or (source.numbers(_VERSION) != ENTRY_VERSION).any():
        raise UnusualError
    if not np.isin(source.numbers(_KIND), _KINDS).all():
        raise UnusualError
    return source


class CodedEntries:
    """The entries in an Avro manifest, an `EntrySource`.

    It has the offsets of their fields, and decodes fields on request.
    """

    def __init__(self, path: str, resolution: Resolution, offsets: RecordOffsets) -> None:
        self._path, self._resolution, self._offsets = path, resolution, offsets
        self._coded: Coded = offsets.coded

    def __len__(self) -> int:
        return len(self._offsets.starts)

    def check(self, path: Path) -> None:
        """Decode the lists of a path. Raises `ValueError` for values that the resolution refuses."""
        if self._offsets.fields.get((*path, END)) is not None:
            self.lists(path)

    def numbers(self, path: Path) -> NDArray[np.int64]:
        return self._numbers(self._at(path, None), path)

    def known(self, path: Path) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self._at(path, None) != NULL
        return known

    def binary(self, path: Path) -> pa.Array:
        return self._binary(path, None)

    def texts(self, path: Path, rows: Rows) -> list[Any]:
        try:
            found: list[Any] = pc.cast(self._binary(path, rows), pa.string()).to_pylist()
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
        coded = pc.dictionary_encode(self._coded.binary(starts, self._at((*path, END), rows)[there] - starts))
        codes[there] = fixed_values(coded.indices, np.int32)
        distinct = coded.dictionary.to_pylist()
        decoded = PlainValues(_type_at(self._resolution.plain, path)).decode(len(distinct), b"".join(distinct))
        convert = self._resolution.conversions.get(path, tuple)
        return codes, [tuple(convert(d)) for d in decoded]

    def make(self, rows: Rows) -> list[ManifestEntry]:
        try:
            return self._records(ManifestEntry, MANIFEST_ENTRY, (), rows)
        except PaimonError:
            raise
        except UnfamiliarSchemaError as e:
            raise UnfamiliarFormError(self._path, f"it does not have the columns of a manifest ({e})") from e
        except (ValueError, TypeError, KeyError, OverflowError, pa.ArrowException) as e:
            raise CorruptFileError(self._path, f"its entries do not decode ({reason(e)})") from e

    def _records(self, kind: type[V], record: Record[Any], path: Path, rows: Rows) -> list[V]:
        columns = [c for c in record.columns if isinstance(c.avro, list) or self._has((*path, c.name))]
        return _frozen(kind, len(rows), {c.attribute: self._values(c, (*path, c.name), rows) for c in columns})

    def _values(self, column: Column, path: Path, rows: Rows) -> list[Any]:
        if column.record is not None:
            return self._records(_NESTED[column.attribute], column.record, path, rows)
        kind = column.avro[1] if isinstance(column.avro, list) else column.avro
        if isinstance(kind, dict) and kind["type"] == "array":
            codes, distinct = self.lists(path, rows)
            return [None if code < 0 else distinct[code] for code in codes.tolist()]
        if kind in ("bytes", "string"):
            content = self._binary(path, rows)
            found: list[Any] = (pc.cast(content, pa.string()) if kind == "string" else content).to_pylist()
            return found
        offsets = self._at(path, rows)
        numbers = self._numbers(offsets, path)
        meant = _MEANINGS.get(column.attribute)
        values: list[Any] = numbers.tolist() if meant is None else _each_once(meant, numbers)
        for row in np.flatnonzero(offsets == NULL).tolist():
            values[row] = None
        return values

    def _numbers(self, offsets: Offsets, path: Path) -> NDArray[np.int64]:
        """Return the numbers at offsets, in our units; 0 for NULL."""
        numbers = np.where(offsets == NULL, 0, self._coded.numbers(offsets)[0])
        divisor = self._resolution.divisors.get(path)
        return numbers if divisor is None else numbers // divisor

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


def _candidates(avro: Any, coded: Coded, low: int, high: int) -> Offsets:
    """Return the offsets of bytes that look like the start of an entry.

    Such bytes have the first entry's version, one of two kinds, and the first entry's number of partition fields. Only
    columns at the start of an entry are compared. Raises `UnusualError` if there are too many.
    """
    high = min(high, coded.size)
    same: NDArray[np.bool_] | None = None
    for ahead, (name, expected) in enumerate(_leading(avro)):
        if name == "_PARTITION" and same is not None:
            return _of_same_arity(coded, np.flatnonzero(same) + low, ahead)
        byte = coded.bytes[low + ahead : high + ahead]
        if name == "_KIND":
            fits = byte & _NO_KIND == _ZERO
        else:
            fits = byte == (min(coded.bytes[ahead], _LARGEST_BYTE) if expected is None else np.uint8(expected))
        same = fits if same is None else np.logical_and(same, fits, out=same)
    found = np.zeros(0, dtype=np.int64) if same is None else np.flatnonzero(same) + low
    if same is None or len(found) * _LEAST_ENTRY > high - low:
        raise UnusualError
    return found


def _leading(avro: Any) -> Iterator[tuple[str, int | None]]:
    """Yield the names of the one-byte columns with which entries begin, and of the partition if it follows them.

    The mark of a union has no name (""), and is yielded with the value that its byte must have.
    """
    branch, record = _only_branch(avro)
    if branch is not None:
        yield "", 2 * branch
    for field in record["fields"]:
        branch, kind = _only_branch(field["type"])
        if field["name"] not in _LEADING or isinstance(kind, list):
            return
        if branch is not None:
            yield "", 2 * branch
        yield field["name"], None


def _only_branch(avro: Any) -> tuple[int | None, Any]:
    """Return the index and the type of the only branch that is not NULL.

    For another type, return None and the type itself.
    """
    if isinstance(avro, list) and len(avro) == 2 and "null" in avro:
        branch = 1 - avro.index("null")
        return branch, avro[branch]
    return None, avro


def _of_same_arity(coded: Coded, found: Offsets, ahead: int) -> Offsets:
    """Return the candidates with as many partition fields as the first one.

    Partitions begin `ahead` bytes after the start.
    """
    lengths, starts = coded.numbers(found + ahead)
    first = coded.numbers(np.array([ahead]))[1]
    counts, expected = (coded.words[np.minimum(p, coded.size)] & _COUNT for p in (starts, first))
    same: Offsets = found[(counts == expected) & (lengths >= _COUNT_BYTES)]
    return same


def _each_once(meant: Callable[[int], Any], numbers: NDArray[np.int64]) -> list[Any]:
    distinct, indices = np.unique(numbers, return_inverse=True)
    meanings = [meant(n) for n in distinct.tolist()]
    return [meanings[index] for index in indices.tolist()]


def _frozen(kind: type[V], count: int, columns: Mapping[str, list[Any]]) -> list[V]:
    """Build frozen values from columns.

    Slots are filled column by column: calling the class would take several times as long.
    """
    made = [object.__new__(kind) for _ in range(count)]
    for field in fields(kind):  # type: ignore[arg-type]
        values = columns[field.name] if field.name in columns else [field.default] * count
        if MISSING in values[:1]:
            raise ValueError(f"column {field.name} is missing")
        deque(map(getattr(kind, field.name).__set__, made, values), maxlen=0)
    return made


def _type_at(avro: Any, path: Path) -> Any:
    """Return the type at a path of a plain schema, without NULL."""
    for name in path:
        avro = next(f["type"] for f in _only_branch(avro)[1]["fields"] if f["name"] == name)
    return _only_branch(avro)[1]


def _spread(content: pa.Array, rows: Rows, count: int) -> pa.Array:
    """Return a column of `count` rows with the values at `rows`, NULL in other rows."""
    indices = np.zeros(count, dtype=np.int64)
    known = np.zeros(count, dtype=np.bool_)
    indices[rows], known[rows] = np.arange(len(rows)), True
    return pc.take(content, int64_array(indices, known))
