"""Manifest lists, manifests and the metadata of data files in them. Source: specification, "Manifest".

A manifest list names manifests; a manifest is a sequence of ADD and DELETE of data files, in order; both are Avro
(`spec.records`). Columns with ? may be NULL, or missing in files of older writers; sizes are bytes, rows are in files.

    manifest list   _VERSION: int, 2 | _FILE_NAME | _FILE_SIZE | _NUM_ADDED_FILES | _NUM_DELETED_FILES
                    | _PARTITION_STATS (`spec.stats`) | _SCHEMA_ID | _MIN_BUCKET? | _MAX_BUCKET? | _MIN_LEVEL?
                    | _MAX_LEVEL? | _MIN_ROW_ID? | _MAX_ROW_ID? | _EXTRA_FILES?: names
    manifest        _VERSION: int, 2 | _KIND: 0 ADD, 1 DELETE | _PARTITION: BinaryRow | _BUCKET | _TOTAL_BUCKETS | _FILE
    _FILE           _FILE_NAME | _FILE_SIZE | _ROW_COUNT | _MIN_KEY, _MAX_KEY: BinaryRow | _KEY_STATS | _VALUE_STATS
                    | _MIN_SEQUENCE_NUMBER | _MAX_SEQUENCE_NUMBER | _SCHEMA_ID | _LEVEL | _EXTRA_FILES: names
                    | _CREATION_TIME?: ms | _DELETE_ROW_COUNT? | _EMBEDDED_FILE_INDEX?: bytes | _FILE_SOURCE?: 0 APPEND,
                    1 COMPACT | _VALUE_STATS_COLS?: names | _EXTERNAL_PATH? | _FIRST_ROW_ID? | _WRITE_COLS?: names

The extra files of a manifest are its sidecar, `<manifest>.avro.sidecar`, which says what the blocks of the manifest
contain. Java 2.1 and Rust write it, and readers may use it. We keep it with its manifest.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.avro_types import UnfamiliarSchemaError
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.records import Column, Record, nullable
from paimon_core.spec.stats import EMPTY_STATS, SIMPLE_STATS, SimpleStats
from paimon_core.time_zones import wall_clock_millis

ENTRY_VERSION = 2
LIST_VERSION = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TO_BE_NUMBERED = 0  # placeholder: the commit replaces this sequence number by the number of its snapshot
BucketKey = tuple[bytes, int]  # a partition, and the number of a bucket in it
FileIdentifier = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]
SIDECAR = ".avro.sidecar"  # behind the name of its manifest
UNAWARE_BUCKET = 0  # the bucket in metadata of append tables without buckets (`bucket = -1`)


class FileKind(IntEnum):
    ADD = 0
    DELETE = 1


def file_kind(number: int) -> FileKind:
    """Return the kind of an entry. Raises `UnfamiliarSchemaError` for an unknown number."""
    try:
        return FileKind(number)
    except ValueError:
        known = ", ".join(f"{kind.value} ({kind.name})" for kind in FileKind)
        raise UnfamiliarSchemaError(f"column _KIND is {number}, and must be one of {known}") from None


class FileSource(IntEnum):
    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileMeta:
    """One data file. Sizes are in bytes.

    `min_key` and `max_key` are BinaryRows of the trimmed primary key (empty for append tables). `creation_time` is the
    wall clock of the writer, in the writer's zone."""

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    key_stats: SimpleStats = EMPTY_STATS
    value_stats: SimpleStats = EMPTY_STATS
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int = 0
    extra_files: tuple[str, ...] = ()
    creation_time: datetime | None = None
    delete_row_count: int | None = None
    embedded_file_index: bytes | None = None
    file_source: int | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None

    @property
    def has_key(self) -> bool:
        """Return whether rows have a key. Rows of append tables do not."""
        return self.min_key != EMPTY_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """The ADD or DELETE of one data file. `partition` is a BinaryRow of the partition keys."""

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identifier(self) -> FileIdentifier:
        """The identity of a file in ADD and DELETE. A file with a rewritten file index has another identity."""
        file = self.file
        named = self.partition, self.bucket, file.level, file.file_name
        return (*named, file.extra_files, file.embedded_file_index, file.external_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFileMeta:
    """One manifest, as listed in a manifest list. Old writers leave out bucket, level and row id ranges (None)."""

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None
    extra_files: tuple[str, ...] = ()

    @property
    def sidecar(self) -> str | None:
        """Return the name of the manifest's sidecar; None if the list names none."""
        name = self.file_name + SIDECAR
        return name if name in self.extra_files else None


def moment(millis: int) -> datetime:
    """Return the moment of epoch milliseconds. Raises `UnfamiliarSchemaError` outside of the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        raise UnfamiliarSchemaError(
            f"a time of {millis} milliseconds since 1970 is not in the years 1 to 9999"
        ) from None


def created_millis(file: DataFileMeta) -> int | None:
    """Return the epoch milliseconds of a file's creation.

    The writer's wall clock is interpreted in this process's zone.
    """
    created = file.creation_time
    return None if created is None else wall_clock_millis(created.replace(tzinfo=None))


def epoch_millis(moment: datetime) -> int:
    """Return the epoch milliseconds of a moment: the reverse of `moment`."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _build_file(**given: Any) -> DataFileMeta:
    for name in ("extra_files", "value_stats_cols", "write_cols"):
        if name in given:
            given[name] = _tuple(given[name])
    created = given.get("creation_time")
    if isinstance(created, int):  # milliseconds in JSON, and in Avro without logical types
        given["creation_time"] = moment(created)
    elif isinstance(created, datetime):
        given["creation_time"] = created.replace(tzinfo=UTC)
    return DataFileMeta(**given)


def _build_entry(*, kind: int, **given: Any) -> ManifestEntry:
    return ManifestEntry(kind=file_kind(kind), **given)


def _build_manifest(*, extra_files: list[str] | None = None, **given: Any) -> ManifestFileMeta:
    return ManifestFileMeta(extra_files=tuple(extra_files or ()), **given)


_STRINGS = {"type": "array", "items": "string"}
_MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
_NAME = "org.apache.paimon.avro.generated.record"

DATA_FILE_META = Record(
    _NAME,
    _build_file,
    (
        Column("_FILE_NAME", "file_name", "string"),
        Column("_FILE_SIZE", "file_size", "long"),
        Column("_ROW_COUNT", "row_count", "long"),
        Column("_MIN_KEY", "min_key", "bytes"),
        Column("_MAX_KEY", "max_key", "bytes"),
        Column("_KEY_STATS", "key_stats", record=SIMPLE_STATS),
        Column("_VALUE_STATS", "value_stats", record=SIMPLE_STATS),
        Column("_MIN_SEQUENCE_NUMBER", "min_sequence_number", "long"),
        Column("_MAX_SEQUENCE_NUMBER", "max_sequence_number", "long"),
        Column("_SCHEMA_ID", "schema_id", "long"),
        Column("_LEVEL", "level", "int"),
        Column("_EXTRA_FILES", "extra_files", _STRINGS),
        Column("_CREATION_TIME", "creation_time", nullable(_MILLIS)),
        Column("_DELETE_ROW_COUNT", "delete_row_count", nullable("long")),
        Column("_EMBEDDED_FILE_INDEX", "embedded_file_index", nullable("bytes")),
        Column("_FILE_SOURCE", "file_source", nullable("int")),
        Column("_VALUE_STATS_COLS", "value_stats_cols", nullable(_STRINGS)),
        Column("_EXTERNAL_PATH", "external_path", nullable("string")),
        Column("_FIRST_ROW_ID", "first_row_id", nullable("long")),
        Column("_WRITE_COLS", "write_cols", nullable(_STRINGS)),
    ),
    unread=("_WRITE_COLS_SEQUENCES",),  # sequence numbers per column, which decide about the newest value
)
MANIFEST_ENTRY = Record(
    _NAME,
    _build_entry,
    (
        Column("_KIND", "kind", "int"),
        Column("_PARTITION", "partition", "bytes"),
        Column("_BUCKET", "bucket", "int"),
        Column("_TOTAL_BUCKETS", "total_buckets", "int"),
        Column("_FILE", "file", record=DATA_FILE_META),
    ),
    plural="manifest entries",
)
_OF_MANIFESTS = (
    Column("_FILE_NAME", "file_name", "string"),
    Column("_FILE_SIZE", "file_size", "long"),
    Column("_NUM_ADDED_FILES", "num_added_files", "long"),
    Column("_NUM_DELETED_FILES", "num_deleted_files", "long"),
    Column("_PARTITION_STATS", "partition_stats", record=SIMPLE_STATS),
    Column("_SCHEMA_ID", "schema_id", "long"),
    Column("_MIN_BUCKET", "min_bucket", nullable("int")),
    Column("_MAX_BUCKET", "max_bucket", nullable("int")),
    Column("_MIN_LEVEL", "min_level", nullable("int")),
    Column("_MAX_LEVEL", "max_level", nullable("int")),
    Column("_MIN_ROW_ID", "min_row_id", nullable("long")),
    Column("_MAX_ROW_ID", "max_row_id", nullable("long")),
)
_EXTRA_FILES = Column("_EXTRA_FILES", "extra_files", nullable(_STRINGS))
MANIFEST_FILE_META = Record(_NAME, _build_manifest, (*_OF_MANIFESTS, _EXTRA_FILES), plural="names of manifests")
# of manifests without extra files: lists as Paimon 2.0 writes them
BARE_MANIFEST_FILE_META = Record(_NAME, _build_manifest, _OF_MANIFESTS, plural="names of manifests")


def live_entries(entries: Iterable[ManifestEntry]) -> dict[FileIdentifier, ManifestEntry]:
    """Return the entries that remain after each DELETE cancels its ADD. A DELETE without an ADD remains."""
    live: dict[FileIdentifier, ManifestEntry] = {}
    for entry in entries:
        if entry.kind is FileKind.DELETE and entry.identifier in live:
            del live[entry.identifier]
        else:
            live[entry.identifier] = entry
    return live
