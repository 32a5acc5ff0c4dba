"""The entries of a manifest as columns: all entries are decoded at once, but objects are created only on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import binary_array, byte_lengths, byte_words, fixed_values, int64_array, validity
from paimon_core.errors import CorruptFileError
from paimon_core.formats.avro.codecs import InflatedError
from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.manifests.record_files import decode_file
from paimon_core.spec.manifest import ENTRY_VERSION, MANIFEST_ENTRY, FileKind, ManifestEntry, epoch_millis
from paimon_core.spec.records import Record

if TYPE_CHECKING:
    from paimon_core.formats.avro.field_offsets import Path
    from paimon_core.manifests.vectorized import entries_by_columns
else:
    entries_by_columns = ImportedOnCall("paimon_core.manifests.vectorized", "entries_by_columns")

# The identity of a file: partition, bucket, name, external path, extra files.
FileLocation = tuple[bytes, int, str, str | None, tuple[str, ...]]

Rows = NDArray[np.int64]
_FEW = 2**12  # bytes of a manifest that takes less time to decode entry by entry
_MIX = np.uint64(0x9E3779B97F4A7C15)


class EntrySource(Protocol):
    """The columns of entries, by their path in the file, such as `("_FILE", "_LEVEL")`."""

    def numbers(self, path: Path) -> NDArray[np.int64]:
        """Return numbers, 0 for NULL."""

    def known(self, path: Path) -> NDArray[np.bool_]:
        """Return a mask of the values that are not NULL."""

    def binary(self, path: Path) -> pa.Array:
        """Return bytes and texts, both as bytes."""

    def texts(self, path: Path, rows: Rows) -> list[Any]:
        """Return the texts of rows, None for NULL. Raises `CorruptFileError`."""

    def lists(self, path: Path, rows: Rows | None = None) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """Return for each entry the index of its list among the distinct lists, -1 for NULL, and the distinct lists."""

    def make(self, rows: Rows) -> list[ManifestEntry]:
        """Return the entries of rows, in their order."""


class EntryColumns:
    """The entries of one manifest, in order. Columns have shape (entries,) and are computed on first access."""

    def __init__(self, source: EntrySource, count: int) -> None:
        self._source, self._count = source, count
        self._made: dict[int, ManifestEntry] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def are_decoded(self) -> bool:
        """Whether all entries were created already."""
        return isinstance(self._source, DecodedEntries)

    def entries(self, rows: Rows) -> list[ManifestEntry]:
        """Return the entries of rows. Each entry is created once."""
        wanted = rows.tolist()
        missing = [row for row in wanted if row not in self._made]
        if missing:
            self._made.update(zip(missing, self._source.make(np.array(missing, dtype=np.int64)), strict=True))
        return [self._made[row] for row in wanted]

    @cached_property
    def added(self) -> NDArray[np.bool_]:
        """Whether each entry is an ADD."""
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
        """The names of the files, as bytes."""
        return self._source.binary(("_FILE", "_FILE_NAME"))

    @cached_property
    def partition_codes(self) -> NDArray[np.int64]:
        """The index of each entry's partition in `partitions`."""
        return self._partitions[0]

    @property
    def partitions(self) -> list[bytes]:
        """The distinct partitions of the entries."""
        return self._partitions[1]

    @cached_property
    def _partitions(self) -> tuple[NDArray[np.int64], list[bytes]]:
        coded = pc.dictionary_encode(self._source.binary(("_PARTITION",)))
        return fixed_values(coded.indices, np.int32).astype(np.int64), coded.dictionary.to_pylist()

    def bounds(self, statistics: str) -> tuple[pa.Array, pa.Array]:
        """Return the smallest and the largest values in `_KEY_STATS` or `_VALUE_STATS`, as BinaryRows."""
        return (
            self._source.binary(("_FILE", statistics, "_MIN_VALUES")),
            self._source.binary(("_FILE", statistics, "_MAX_VALUES")),
        )

    def key_bounds(self) -> tuple[pa.Array, pa.Array]:
        """The smallest and the largest key of each entry, as BinaryRows."""
        return self._source.binary(("_FILE", "_MIN_KEY")), self._source.binary(("_FILE", "_MAX_KEY"))

    def lists(self, name: str) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """Return the lists in a field of the file such as `_WRITE_COLS`, in the form of `EntrySource.lists`."""
        return self._source.lists(("_FILE", name))

    def null_counts(self) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
        """Return the NULL counts in `_VALUE_STATS`, in the form of `lists`."""
        return self._source.lists(("_FILE", "_VALUE_STATS", "_NULL_COUNTS"))

    def file_numbers(self, name: str) -> pa.Array:
        """Return a field of the file such as `_CREATION_TIME`, NULL if it is missing."""
        path = ("_FILE", name)
        return int64_array(self._source.numbers(path), self._source.known(path))

    @cached_property
    def row_counts(self) -> NDArray[np.int64]:
        return self._source.numbers(("_FILE", "_ROW_COUNT"))

    @cached_property
    def external_paths(self) -> pa.Array:
        """The full paths of files outside of the table, as bytes, and NULL for the other files."""
        return self._source.binary(("_FILE", "_EXTERNAL_PATH"))

    @property
    def _variants(self) -> Iterator[tuple[NDArray[np.int64], list[Any]]]:
        """Yield the attributes that distinguish files of one name: file index, external path and extra files.

        For each attribute: the index of each entry's value among the distinct values, -1 for none, and the values."""
        for values in (self._source.binary(("_FILE", "_EMBEDDED_FILE_INDEX")), self.external_paths):
            coded = pc.dictionary_encode(values)
            codes = fixed_values(coded.indices, np.int32)
            yield np.where(validity(coded.indices), codes, -1), coded.dictionary.to_pylist()
        codes, names = self._source.lists(("_FILE", "_EXTRA_FILES"))
        yield np.where(np.array([*map(bool, names), False])[codes], codes, -1), names

    def locations(self, rows: Rows) -> list[FileLocation]:
        """Return the locations of the files of rows, without creating entries. Raises `CorruptFileError`."""
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
        """Return numbers that are equal for the same file, and almost never for different files."""
        seeds = np.array([hash(p) for p in self.partitions], dtype=np.int64).view(np.uint64)
        result = seeds[self.partition_codes] if len(self) else np.zeros(0, dtype=np.uint64)
        lengths = byte_lengths(self.names)
        for number in (self.buckets, self.levels, lengths):
            result = _mixed(result, number.view(np.uint64))
        words = byte_words(self.names, -(-int(lengths.max(initial=0)) // 8))  # names may differ in their last byte only
        for i, word in enumerate(words.T):
            result = np.where(lengths > 8 * i, _mixed(result, word), result)  # independent of the longest name
        for index, (codes, values) in enumerate(self._variants):
            hashes = [hash((index, value)) for value in values]
            result ^= np.array([*hashes, 0], dtype=np.int64).view(np.uint64)[codes]
        return result


def decode_entries(path: str, data: bytes) -> EntryColumns:
    """Return the entries of a manifest. Raises `CorruptFileError`, `UnsupportedVersionError`, both naming `path`."""
    try:
        found = None if len(data) <= _FEW else entries_by_columns(path, data)
    except InflatedError as e:
        raise CorruptFileError(path, str(e)).sized(len(data)) from e
    if found is not None:
        return EntryColumns(found, len(found))
    entries = tuple(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, path, data))
    return EntryColumns(DecodedEntries(entries), len(entries))


def live_rows(manifests: Sequence[EntryColumns]) -> list[Rows]:
    """Return for each manifest the ascending rows of the files that remain after each DELETE cancels its ADD."""
    if all(m.are_decoded for m in manifests):
        order, last = _last_of_each(_numbered(manifests))
    else:
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
    """Return an order of the rows that groups equal identities, and a mask over that order of the last row of each
    group.
    """
    order = np.argsort(identities, kind="stable")
    ordered = identities[order]
    return order, np.append(ordered[1:] != ordered[:-1], True)[: len(order)]


def _collide(manifests: Sequence[EntryColumns], order: Rows, repeated: NDArray[np.bool_]) -> bool:
    """Return whether two rows have the same identity, but are different files. `order` groups equal identities."""
    again = np.flatnonzero(repeated)
    if not again.size:
        return False
    first, second = order[again], order[again + 1]
    names = pa.chunked_array([m.names for m in manifests])
    same = pc.equal(pc.take(names, int64_array(first)), pc.take(names, int64_array(second))).to_numpy()
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
    """Return numbers that are equal exactly for the same file. If entries must be created, this is much slower than
    `identities`."""
    known: dict[Any, int] = {}
    entries = (e for m in manifests for e in m.entries(np.arange(len(m))))
    return np.array([known.setdefault(e.identifier, len(known)) for e in entries], dtype=np.int64)


class DecodedEntries:
    """The `EntrySource` of entries that were decoded one by one."""

    def __init__(self, entries: tuple[ManifestEntry, ...]) -> None:
        self._entries = entries

    def numbers(self, path: Path) -> NDArray[np.int64]:
        values = (epoch_millis(v) if isinstance(v, datetime) else v or 0 for v in self._values(path))
        return np.array(list(values), dtype=np.int64)

    def known(self, path: Path) -> NDArray[np.bool_]:
        return np.array([v is not None for v in self._values(path)], dtype=np.bool_)

    def binary(self, path: Path) -> pa.Array:
        values = self._values(path)
        return binary_array([v.encode() if isinstance(v, str) else v for v in values])

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
        record: Record[Any] | None = MANIFEST_ENTRY
        for name in path:
            column = next(c for c in record.columns if c.name == name) if record else MANIFEST_ENTRY.columns[0]
            values, record = [getattr(v, column.attribute) for v in values], column.record
        return values
