"""Splits: files of one bucket that a task reads together. A split travels as JSON, never as code."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.index_manifest import DELETION_VECTOR_META, DeletionVectorMeta
from paimon_core.spec.manifest import DATA_FILE_META, DataFileMeta
from paimon_core.spec.records import Column, Record


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The deletion vector of a data file, and the path of its index file."""

    path: str
    vector: DeletionVectorMeta


class SplitKind(StrEnum):
    """The kind of rows in a split's files.

    The kinds are: rows of a version, changes, two versions to compare, rows of a partition with newer rows of the
    postponed bucket, or rows of several partitions to merge."""

    ROWS = "rows"
    CHANGES = "changes"
    DIFFERENCE = "difference"
    POSTPONED = "postponed"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """Files of one bucket that one task reads together.

    With `needs_merge`, their rows must be merged by key, or with data evolution their columns must be joined. Else the
    files are read as they are. `deletions` are the deletion vectors of the files.

    For `DIFFERENCE`, `before` are the files of an earlier version, with their deletion vectors, to compare with
    `files`. For `POSTPONED`, `before` are the files of rows without a bucket, oldest first.

    `branch` is the branch of the files, "" for main. With row ids, only rows in `row_ids` (a 64-bit Roaring bitmap) are
    read, or all rows if it is empty. `total_buckets` is the number of buckets when the files were written, 0 if
    unknown. For changes, `snapshot_id` and `commit_millis` are their snapshot and its commit time in epoch
    milliseconds, 0 if unknown.
    """

    partition: bytes
    bucket: int
    bucket_dir: str
    files: tuple[DataFileMeta, ...]
    needs_merge: bool = False
    deletions: tuple[DeletionFile, ...] = ()
    kind: SplitKind = SplitKind.ROWS
    before: tuple[DataFileMeta, ...] = ()
    before_deletions: tuple[DeletionFile, ...] = ()
    branch: str = ""
    row_ids: bytes = b""
    total_buckets: int = 0
    snapshot_id: int = 0
    commit_millis: int = 0

    @property
    def row_count(self) -> int:
        """The number of rows in the files, before merging."""
        return sum(f.row_count for f in (*self.files, *self.before))

    @property
    def result_count(self) -> int | None:
        """The number of rows of the result, or None if metadata does not contain it."""
        deleted = [d.vector.cardinality for d in self.deletions]
        known = [n for n in deleted if n is not None]
        return None if self.needs_merge or len(known) < len(deleted) else self.row_count - sum(known)

    @property
    def deletions_by_file(self) -> dict[str, DeletionFile]:
        """The deletion vectors by the names of the data files."""
        return {d.vector.data_file: d for d in self.deletions}

    @property
    def size(self) -> int:
        """The size of the files in bytes."""
        return sum(f.file_size for f in (*self.files, *self.before))


def _build(*, kind: str, **given: Any) -> DataSplit:
    return DataSplit(kind=SplitKind(kind), **given)


_DELETION_FILE = Record(
    "deletion file",
    DeletionFile,
    (Column("path", "path", "string"), Column("vector", "vector", record=DELETION_VECTOR_META)),
)
DATA_SPLIT = Record(
    "split",
    _build,
    (
        Column("partition", "partition", "bytes"),
        Column("bucket", "bucket", "int"),
        Column("total_buckets", "total_buckets", "int"),
        Column("snapshot_id", "snapshot_id", "long"),
        Column("commit_millis", "commit_millis", "long"),
        Column("bucket_dir", "bucket_dir", "string"),
        Column("branch", "branch", "string"),
        Column("row_ids", "row_ids", "bytes"),
        Column("needs_merge", "needs_merge", "boolean"),
        Column("kind", "kind", "string"),
        Column("before", "before", record=DATA_FILE_META, repeated=True),
        Column("files", "files", record=DATA_FILE_META, repeated=True),
        Column("deletions", "deletions", record=_DELETION_FILE, repeated=True),
        Column("before_deletions", "before_deletions", record=_DELETION_FILE, repeated=True),
    ),
)
