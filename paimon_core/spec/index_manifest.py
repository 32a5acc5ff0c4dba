"""`manifest/index-manifest-UUID-N`: the index files of a version. Source: specification, "Index Manifest".

    _VERSION: int, 1 | _KIND: 0 ADD | _PARTITION: BinaryRow | _BUCKET | _INDEX_TYPE | _FILE_NAME | _FILE_SIZE: bytes
    | _ROW_COUNT | _DELETIONS_VECTORS_RANGES?: per vector f0: data file, f1: offset, f2: length in bytes, _CARDINALITY?
    | _EXTERNAL_PATH? | _GLOBAL_INDEX?: _ROW_RANGE_START, _ROW_RANGE_END, _INDEX_FIELD_ID, _EXTRA_FIELD_IDS?,
    _INDEX_META?: bytes, _SOURCE_META?: bytes

An Avro file. Unlike manifests it is complete: each version's index manifest lists every index file, all of kind ADD.
An index file belongs to a bucket and is of a type:

    HASH               the key hashes that a bucket with dynamic buckets holds (`write.buckets.dynamic`)
    DELETION_VECTORS   which rows of data files are deleted (`indexes.deletion_vector`)
    others             global indexes, of a range of rows in a partition (`indexes.global_index`): `btree`, `bitmap`,
                       and some that are kept as they are; their bucket means nothing

With _SOURCE_META, an index is not global: it covers the rows of all compacted files of one level of a bucket with keys,
in the order of the files' names. It must not be used if the level has other files. _SOURCE_META is, big-endian:

    int version: 1 | int level | int number of files | per file: name as Java's writeUTF, long rows
"""

from __future__ import annotations

import struct
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.manifest import FileKind, file_kind
from paimon_core.spec.records import Column, Record, nullable

ENTRY_VERSION = 1
HASH_INDEX = "HASH"
DELETION_VECTORS_INDEX = "DELETION_VECTORS"
_SOURCE_VERSION, _SOURCE_HEAD = 1, struct.Struct(">ii")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorMeta:
    """The location of a data file's deletion vector in its index file.

    `offset` and `length` are bytes (`indexes.deletion_vector` defines `length`). `cardinality` is the number of deleted
    rows, None from old writers.
    """

    data_file: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalIndexMeta:
    """The rows that a global index covers, by their ids including the last row, and the indexed columns.

    `index_meta` depends on the index type. `source_meta` is set if the index belongs to a bucket with keys.
    """

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None

    @property
    def level(self) -> int | None:
        """Return the level that an index of a bucket with keys covers, or None if `source_meta` is unfamiliar."""
        if self.source_meta is None or len(self.source_meta) < _SOURCE_HEAD.size:
            return None
        version, level = _SOURCE_HEAD.unpack_from(self.source_meta)
        return level if version == _SOURCE_VERSION and level > 0 else None

    @property
    def field_ids(self) -> tuple[int, ...]:
        """Return the columns; the first column is the one in the index's name."""
        return (self.index_field_id, *(self.extra_field_ids or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFileMeta:
    """One index file. The size is in bytes, and `row_count` counts hashes or deletion vectors."""

    index_type: str
    file_name: str
    file_size: int
    row_count: int
    dv_ranges: tuple[DeletionVectorMeta, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexManifestEntry:
    """An index file and its bucket. `partition` is a BinaryRow of the partition keys."""

    kind: FileKind
    partition: bytes
    bucket: int
    file: IndexFileMeta

    @property
    def bucket_and_type(self) -> tuple[bytes, int, str]:
        """Return the partition, the bucket, and the type of the index."""
        return self.partition, self.bucket, self.file.index_type


def _build_global(*, extra_field_ids: list[int] | None = None, **given: Any) -> GlobalIndexMeta:
    return GlobalIndexMeta(extra_field_ids=None if extra_field_ids is None else tuple(extra_field_ids), **given)


def _build_entry(*, kind: int, partition: bytes, bucket: int, **file: Any) -> IndexManifestEntry:
    return IndexManifestEntry(kind=file_kind(kind), partition=partition, bucket=bucket, file=IndexFileMeta(**file))


_NAME = "org.apache.paimon.avro.generated.record"
DELETION_VECTOR_META = Record(
    _NAME,
    DeletionVectorMeta,
    (
        Column("f0", "data_file", "string"),
        Column("f1", "offset", "int"),
        Column("f2", "length", "int"),
        Column("_CARDINALITY", "cardinality", nullable("long")),
    ),
)
_GLOBAL_INDEX = Record(
    _NAME,
    _build_global,
    (
        Column("_ROW_RANGE_START", "row_range_start", "long"),
        Column("_ROW_RANGE_END", "row_range_end", "long"),
        Column("_INDEX_FIELD_ID", "index_field_id", "int"),
        Column("_EXTRA_FIELD_IDS", "extra_field_ids", nullable({"type": "array", "items": "int"})),
        Column("_INDEX_META", "index_meta", nullable("bytes")),
        Column("_SOURCE_META", "source_meta", nullable("bytes")),
    ),
)
INDEX_FILE_META = Record(
    _NAME,
    IndexFileMeta,
    (
        Column("_INDEX_TYPE", "index_type", "string"),
        Column("_FILE_NAME", "file_name", "string"),
        Column("_FILE_SIZE", "file_size", "long"),
        Column("_ROW_COUNT", "row_count", "long"),
        Column("_DELETIONS_VECTORS_RANGES", "dv_ranges", record=DELETION_VECTOR_META, optional=True, repeated=True),
        Column("_EXTERNAL_PATH", "external_path", nullable("string")),
        Column("_GLOBAL_INDEX", "global_index", record=_GLOBAL_INDEX, optional=True),
    ),
)


class _Entry(Record[IndexManifestEntry]):
    """The record of an index manifest. It has its own columns and the columns of its index file side by side."""

    __slots__ = ()

    def to_avro(self, value: IndexManifestEntry) -> dict[str, Any]:
        own = {"_KIND": int(value.kind), "_PARTITION": value.partition, "_BUCKET": value.bucket}
        return own | INDEX_FILE_META.to_avro(value.file)


INDEX_MANIFEST_ENTRY = _Entry(
    _NAME,
    _build_entry,
    (
        Column("_KIND", "kind", "int"),
        Column("_PARTITION", "partition", "bytes"),
        Column("_BUCKET", "bucket", "int"),
        *INDEX_FILE_META.columns,
    ),
    plural="index manifest entries",
)
