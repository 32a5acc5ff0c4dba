"""The entries of a manifest by columns: decoded all at once, objects are made of those that are asked for."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol, TypeVar

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import byte_lengths, byte_words, int64_array
from paimon_core.errors import CorruptFileError, PaimonError, reason
from paimon_core.formats.avro.container import MAGIC, ContainerReader, InflatedError
from paimon_core.formats.avro.field_offsets import (
    END,
    NULL,
    PADDING,
    Coded,
    Path,
    Places,
    RecordPlaces,
    UnusualError,
    find_records,
)
from paimon_core.manifests.record_files import decode_file
from paimon_core.spec.avro_types import check_bounded, without_null
from paimon_core.spec.manifest import (
    DATA_FILE_META,
    ENTRY_VERSION,
    MANIFEST_ENTRY,
    DataFileMeta,
    FileKind,
    ManifestEntry,
    epoch_millis,
    moment,
)
from paimon_core.spec.records import Column, Record
from paimon_core.spec.stats import SimpleStats

Rows = NDArray[np.int64]
V = TypeVar("V")
FilePlace = tuple[bytes, int, str, str | None, tuple[str, ...]]  # partition, bucket, name, external path, extra files
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NESTED: dict[str, type[Any]] = {"file": DataFileMeta, "key_stats": SimpleStats, "value_stats": SimpleStats}
_IDENTITY: tuple[Path, ...] = (("_KIND",), ("_PARTITION",), ("_BUCKET",), ("_FILE", "_FILE_NAME"), ("_FILE", "_LEVEL"))
_MEANINGS: dict[str, Callable[[int], Any]] = {"kind": FileKind, "creation_time": moment}
_COUNT_BYTES = 4
_COUNT = np.uint64(0xFFFFFFFF)
_PARTITION = np.array([2])  # where the first entry's partition is, behind version and kind


class EntrySource(Protocol):
    """Columns of entries by their path in the file, as `("_FILE", "_LEVEL")`."""

    def numbers(self, path: Path) -> NDArray[np.int64]:
        """Numbers; 0 for NULL."""

    def known(self, path: Path) -> NDArray[np.bool_]:
        """Where there is a value that is not NULL."""

    def binary(self, path: Path) -> pa.Array:
        """Bytes and texts, as bytes."""

    def texts(self, path: Path, rows: Rows) -> list[Any]:
        """Texts of rows, None for NULL. Raises `CorruptFileError`."""

    def lists(self, path: Path, rows: Rows | None = None) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """Each different list once, and the place of each entry's among them, -1 for NULL."""

    def make(self, rows: Rows) -> list[ManifestEntry]:
        """The entries of rows, in their order."""


class EntryColumns:
    """The entries of one manifest, in order. Columns have shape (entries,) and are computed when first asked for."""

    def __init__(self, source: EntrySource, count: int) -> None:
        self._source, self._count = source, count
        self._made: dict[int, ManifestEntry] = {}

    def __len__(self) -> int:
        return self._count

    def entries(self, rows: Rows) -> list[ManifestEntry]:
        """The entries of rows, made once."""
        wanted = rows.tolist()
        missing = [row for row in wanted if row not in self._made]
        if missing:
            self._made.update(zip(missing, self._source.make(np.array(missing, dtype=np.int64)), strict=True))
        return [self._made[row] for row in wanted]

    @cached_property
    def added(self) -> NDArray[np.bool_]:
        """Whether an entry is an ADD."""
        added: NDArray[np.bool_] = self._source.numbers(("_KIND",)) == FileKind.ADD
        return added

    @cached_property
    def buckets(self) -> NDArray[np.int64]:
        return self._source.numbers(("_BUCKET",))

    @cached_property
    def total_buckets(self) -> NDArray[np.int64]:
        return self._source.numbers(("_TOTAL_BUCKETS",))

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        return self._source.numbers(("_FILE", "_LEVEL"))

    @cached_property
    def schema_ids(self) -> NDArray[np.int64]:
        return self._source.numbers(("_FILE", "_SCHEMA_ID"))

    @cached_property
    def max_sequence_numbers(self) -> NDArray[np.int64]:
        return self._source.numbers(("_FILE", "_MAX_SEQUENCE_NUMBER"))

    @cached_property
    def names(self) -> pa.Array:
        """File names, as bytes."""
        return self._source.binary(("_FILE", "_FILE_NAME"))

    @cached_property
    def partition_codes(self) -> NDArray[np.int64]:
        """The place in `partitions` of each entry's."""
        return self._partitions[0]

    @property
    def partitions(self) -> list[bytes]:
        """The partitions of the entries, each once."""
        return self._partitions[1]

    @cached_property
    def _partitions(self) -> tuple[NDArray[np.int64], list[bytes]]:
        coded = self._source.binary(("_PARTITION",)).dictionary_encode()
        return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist()

    def bounds(self, statistics: str) -> tuple[pa.Array, pa.Array]:
        """The least and the largest values in `_KEY_STATS` or `_VALUE_STATS`, as BinaryRows."""
        return (
            self._source.binary(("_FILE", statistics, "_MIN_VALUES")),
            self._source.binary(("_FILE", statistics, "_MAX_VALUES")),
        )

    def key_bounds(self) -> tuple[pa.Array, pa.Array]:
        """The least and the largest key, as BinaryRows."""
        return self._source.binary(("_FILE", "_MIN_KEY")), self._source.binary(("_FILE", "_MAX_KEY"))

    def lists(self, name: str) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """The lists of names in a field of the file such as `_WRITE_COLS`, each once, and the place of each
        entry's among them, -1 for none."""
        return self._source.lists(("_FILE", name))

    def null_counts(self) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """As `lists`, the NULL counts in `_VALUE_STATS`."""
        return self._source.lists(("_FILE", "_VALUE_STATS", "_NULL_COUNTS"))

    def file_numbers(self, name: str) -> pa.Array:
        """A field of the file such as `_CREATION_TIME`, NULL where it has none."""
        path = ("_FILE", name)
        return int64_array(self._source.numbers(path), self._source.known(path))

    @cached_property
    def row_counts(self) -> NDArray[np.int64]:
        return self._source.numbers(("_FILE", "_ROW_COUNT"))

    @cached_property
    def external_paths(self) -> pa.Array:
        """The whole paths of files that lie outside of the table, as bytes, NULL for the others."""
        return self._source.binary(("_FILE", "_EXTERNAL_PATH"))

    @property
    def _variants(self) -> Iterator[tuple[NDArray[np.int64], list[Any]]]:
        """What tells a file from itself with another file index, and from one of its name elsewhere: values, each once,
        and the place of each entry's among them, -1 for none."""
        for values in (self._source.binary(("_FILE", "_EMBEDDED_FILE_INDEX")), self.external_paths):
            coded = values.dictionary_encode()
            yield pc.fill_null(coded.indices, -1).to_numpy(), coded.dictionary.to_pylist()
        codes, names = self._source.lists(("_FILE", "_EXTRA_FILES"))
        yield np.where(np.array([*map(bool, names), False])[codes], codes, -1), names

    def places(self, rows: Rows) -> list[FilePlace]:
        """Where the files of rows lie, without making entries. Raises `CorruptFileError`."""
        codes, extra = self._source.lists(("_FILE", "_EXTRA_FILES"))
        return list(
            zip(
                [self.partitions[code] for code in self.partition_codes[rows].tolist()],
                self.buckets[rows].tolist(),
                self._source.texts(("_FILE", "_FILE_NAME"), rows),
                self._source.texts(("_FILE", "_EXTERNAL_PATH"), rows),
                [() if code < 0 else extra[code] for code in codes[rows].tolist()],
                strict=True,
            )
        )

    @cached_property
    def identities(self) -> NDArray[np.uint64]:
        """Numbers that are equal for the same file, and hardly ever for others."""
        seeds = np.array([hash(p) for p in self.partitions], dtype=np.int64).view(np.uint64)
        result = seeds[self.partition_codes] if len(self) else np.zeros(0, dtype=np.uint64)
        lengths = byte_lengths(self.names)
        for number in (self.buckets, self.levels, lengths):
            result = _mixed(result, number.view(np.uint64))
        words = byte_words(self.names, -(-int(lengths.max(initial=0)) // 8))  # names may differ in their last byte only
        for i, word in enumerate(words.T):
            result = np.where(lengths > 8 * i, _mixed(result, word), result)  # whatever the longest of a manifest is
        for place, (codes, values) in enumerate(self._variants):
            hashes = [hash((place, value)) for value in values]
            result ^= np.array([*hashes, 0], dtype=np.int64).view(np.uint64)[codes]
        return result


def decode_entries(path: str, data: bytes) -> EntryColumns:
    """The entries of a manifest. Raises `CorruptFileError`, `UnsupportedVersionError`, both naming `path`."""
    if data.startswith(MAGIC):
        try:
            return _coded_entries(path, data)
        except InflatedError as e:
            raise CorruptFileError(path, str(e)) from e
        except (UnusualError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            pass  # whatever it is: decoding one by one tells, or reads it
    entries = tuple(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, path, data))
    return EntryColumns(_complete(path, DecodedEntries(entries)), len(entries))


def _complete(path: str, source: EntrySource) -> EntrySource:
    """The entries, each of which says what file it is of. Raises `CorruptFileError`."""
    for field in _IDENTITY:
        if not source.known(field).all():
            raise CorruptFileError(path, f"an entry has no {field[-1]}")
    return source


def live_rows(manifests: Sequence[EntryColumns]) -> list[Rows]:
    """Of each manifest the rows of the files that are left when each DELETE cancels its ADD, ascending."""
    identities = np.concatenate([np.zeros(0, dtype=np.uint64), *(m.identities for m in manifests)])
    order, last = _last_of_each(identities)
    if _collide(manifests, order, ~last):
        order, last = _last_of_each(_numbered(manifests))
    added = np.concatenate([np.zeros(0, dtype=np.bool_), *(m.added for m in manifests)])
    live = np.zeros(len(order), dtype=np.bool_)
    live[order[last]] = added[order[last]]
    ends = np.cumsum([len(m) for m in manifests])
    return [np.flatnonzero(live[end - len(m) : end]) for m, end in zip(manifests, ends, strict=True)]


def _mixed(state: NDArray[np.uint64], word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (state ^ word) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


def _last_of_each(identities: NDArray[Any]) -> tuple[Rows, NDArray[np.bool_]]:
    """The order that brings equal identities together, and which of the ordered rows end a group of equals."""
    order = np.argsort(identities, kind="stable")
    ordered = identities[order]
    return order, np.append(ordered[1:] != ordered[:-1], True)[: len(order)]


def _collide(manifests: Sequence[EntryColumns], order: Rows, repeated: NDArray[np.bool_]) -> bool:
    """Whether rows have the identity of the row behind them in order, and are other files nevertheless."""
    again = np.flatnonzero(repeated)
    if not again.size:
        return False
    first, second = order[again], order[again + 1]
    names = pa.chunked_array([m.names for m in manifests])
    same = pc.equal(names.take(int64_array(first)), names.take(int64_array(second))).to_numpy()
    known: dict[bytes, int] = {}
    codes = [np.array([known.setdefault(p, len(known)) for p in m.partitions], dtype=np.int64) for m in manifests]
    for column in (
        [c[m.partition_codes] for c, m in zip(codes, manifests, strict=True)],
        [m.buckets for m in manifests],
        [m.levels for m in manifests],
    ):
        values = np.concatenate(column)
        same = same & (values[first] == values[second])
    return not same.all()


def _numbered(manifests: Sequence[EntryColumns]) -> Rows:
    """Equal numbers for the same file and no other; far slower than `identities`."""
    known: dict[Any, int] = {}
    entries = (e for m in manifests for e in m.entries(np.arange(len(m))))
    return np.array([known.setdefault(e.identifier, len(known)) for e in entries], dtype=np.int64)


class _CodedEntries:
    """Entries in an Avro manifest that `find_records` could follow."""

    def __init__(self, path: str, avro: Any, places: RecordPlaces) -> None:
        self._path, self._avro, self._places = path, avro, places
        self._coded: Coded = places.coded

    def numbers(self, path: Path) -> NDArray[np.int64]:
        places = self._at(path, None)
        return np.where(places == NULL, 0, self._coded.numbers(places)[0])

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
        places = self._at(path, rows)
        there = np.flatnonzero(places != NULL)
        codes = np.full(len(places), -1)
        if not there.size:
            return codes, []
        starts = places[there]
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

    def _records(self, kind: type[V], record: Record, path: Path, rows: Rows) -> list[V]:
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
        places = self._at(path, rows)
        numbers = self._coded.numbers(places)[0]
        meant = _MEANINGS.get(column.attribute)
        values: list[Any] = numbers.tolist() if meant is None else _each_once(meant, numbers)
        for row in np.flatnonzero(places == NULL).tolist():
            values[row] = None
        return values

    def _has(self, path: Path) -> bool:
        return any(p[: len(path)] == path for p in self._places.fields)

    def _at(self, path: Path, rows: Rows | None) -> Places:
        places = self._places.fields.get(path)
        if places is None:
            return np.full(len(self._places.starts) if rows is None else len(rows), NULL)
        return places if rows is None else places[rows]

    def _binary(self, path: Path, rows: Rows | None) -> pa.Array:
        places = self._at(path, rows)
        there = np.flatnonzero(places != NULL)
        starts, lengths = self._coded.slices(places[there])
        content = self._coded.binary(starts, lengths)
        return content if len(there) == len(places) else _spread(content, there, len(places))


class DecodedEntries:
    """Entries that were decoded one by one."""

    def __init__(self, entries: tuple[ManifestEntry, ...]) -> None:
        self._entries = entries

    def numbers(self, path: Path) -> NDArray[np.int64]:
        values = (epoch_millis(v) if isinstance(v, datetime) else v or 0 for v in self._values(path))
        return np.array(list(values), dtype=np.int64)

    def known(self, path: Path) -> NDArray[np.bool_]:
        return np.array([v is not None for v in self._values(path)], dtype=np.bool_)

    def binary(self, path: Path) -> pa.Array:
        return pa.array(self._values(path)).cast(pa.binary())

    def texts(self, path: Path, rows: Rows) -> list[Any]:
        values = self._values(path)
        return [values[row] for row in rows.tolist()]

    def lists(self, path: Path, rows: Rows | None = None) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        values, known = self._values(path), dict[tuple[Any, ...], int]()
        codes = [-1 if v is None else known.setdefault(v, len(known)) for v in values]
        found = np.array(codes, dtype=np.int64)
        return found if rows is None else found[rows], list(known)

    def make(self, rows: Rows) -> list[ManifestEntry]:
        return [self._entries[row] for row in rows.tolist()]

    def _values(self, path: Path) -> list[Any]:
        values: list[Any] = list(self._entries)
        record: Record | None = MANIFEST_ENTRY
        for name in path:
            column = next(c for c in record.columns if c.name == name) if record else MANIFEST_ENTRY.columns[0]
            values, record = [getattr(v, column.attribute) for v in values], column.record
        return values


def _coded_entries(path: str, data: bytes) -> EntryColumns:
    container = ContainerReader(io.BytesIO(data))
    check_bounded(container.schema)
    MANIFEST_ENTRY.check(container.schema)
    count, content = container.content(PADDING)
    places = find_records(container.schema, Coded(content), count, _beginnings)
    source = _CodedEntries(path, container.schema, places)
    later = any(source.known(("_FILE", name)).any() for name in DATA_FILE_META.unread)
    if later or (source.numbers(("_VERSION",)) > ENTRY_VERSION).any():
        raise UnusualError
    return EntryColumns(_complete(path, source), count)


def _beginnings(coded: Coded, low: int, high: int) -> Places:
    """Where version, kind and the partition's field count are as entries begin: the version as in the first one."""
    high = min(high, coded.size)
    found = np.flatnonzero(coded.bytes[low:high] == coded.bytes[0]) + low
    found = found[coded.bytes[found + 1] & 0xFD == 0]
    lengths, starts = coded.numbers(found + 2)
    counts, first = (coded.words[np.minimum(p, coded.size)] & _COUNT for p in (starts, coded.numbers(_PARTITION)[1]))
    same: Places = found[(counts == first) & (lengths >= _COUNT_BYTES)]
    return same


def _each_once(meant: Callable[[int], Any], numbers: NDArray[np.int64]) -> list[Any]:
    distinct, places = np.unique(numbers, return_inverse=True)
    meanings = [meant(n) for n in distinct.tolist()]
    return [meanings[place] for place in places.tolist()]


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
    places = np.zeros(count, dtype=np.int64)
    there = np.zeros(count, dtype=np.bool_)
    places[rows], there[rows] = np.arange(len(rows)), True
    return content.take(int64_array(places, there))
