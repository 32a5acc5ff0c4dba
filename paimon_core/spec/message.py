"""The input of tasks about a bucket, and their output for the commit. Both travel as JSON, never as code.

`BucketState` is a bucket in a version, `CommitMessage` the changes of a bucket, `WriteResult` all changes of a task.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_core.dataclass import dataclass
from paimon_core.spec.index_manifest import INDEX_FILE_META, IndexFileMeta
from paimon_core.spec.manifest import DATA_FILE_META, BucketKey, DataFileMeta
from paimon_core.spec.records import Column, Record, nullable


@dataclass(frozen=True, slots=True)
class BucketState:
    """The live files of one bucket in a version: data files, and the index files of its deletion vectors."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...] = ()
    vectors: tuple[IndexFileMeta, ...] = ()

    @property
    def key(self) -> BucketKey:
        """The partition and the bucket."""
        return self.partition, self.bucket

    @property
    def size(self) -> int:
        """The size of the data files in bytes."""
        return sum(f.file_size for f in self.files)

    @property
    def row_count(self) -> int:
        """The number of rows in the data files, before they are merged."""
        return sum(f.row_count for f in self.files)

    def unchanged(self) -> CommitMessage:
        """Return the message of no changes of the bucket."""
        return CommitMessage(partition=self.partition, bucket=self.bucket, total_buckets=self.total_buckets)

    def deleted(self) -> CommitMessage:
        """Return the message of a write that deletes all files of the bucket."""
        return CommitMessage(
            partition=self.partition,
            bucket=self.bucket,
            total_buckets=self.total_buckets,
            deleted_files=self.files,
            deleted_index_files=self.vectors,
        )

    def compacted_away(self) -> CommitMessage:
        """Return the message of a compaction that deletes all files of the bucket, because other files have their
        rows.
        """
        return CommitMessage(
            partition=self.partition,
            bucket=self.bucket,
            total_buckets=self.total_buckets,
            compact_before=self.files,
            compact_deleted_index_files=self.vectors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """The changes of one bucket: files that a write added or replaced, files that a compaction replaced, and their
    index files and changelogs.

    `index_base` is the snapshot (0 for an empty table) with the hash indexes that the writer used to assign buckets: no
    other commit of hash indexes may follow it. `rows_base` is the snapshot in which a writer read the rows that it
    changed: since then, no other writer may have changed the same columns.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    deleted_files: tuple[DataFileMeta, ...] = ()
    new_changelog: tuple[DataFileMeta, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog: tuple[DataFileMeta, ...] = ()
    new_index_files: tuple[IndexFileMeta, ...] = ()
    deleted_index_files: tuple[IndexFileMeta, ...] = ()
    compact_new_index_files: tuple[IndexFileMeta, ...] = ()
    compact_deleted_index_files: tuple[IndexFileMeta, ...] = ()
    index_base: int | None = None
    rows_base: int | None = None

    @property
    def key(self) -> BucketKey:
        """The partition and the bucket."""
        return self.partition, self.bucket


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of one task, with a message for each bucket."""

    messages: tuple[CommitMessage, ...] = ()


def written_messages(results: Iterable[WriteResult]) -> list[CommitMessage]:
    """Return the messages of all tasks."""
    return [m for r in results for m in r.messages]


def index_base_of(messages: Iterable[CommitMessage]) -> int | None:
    """Return the oldest snapshot that writers of the messages used to assign buckets, or None if they assigned no
    buckets.
    """
    return min((m.index_base for m in messages if m.index_base is not None), default=None)


def rows_base_of(messages: Iterable[CommitMessage]) -> int | None:
    """Return the oldest snapshot in which writers of the messages read rows to change, or None if they read no rows."""
    return min((m.rows_base for m in messages if m.rows_base is not None), default=None)


def _files(name: str) -> Column:
    return Column(name, name, record=DATA_FILE_META, repeated=True)


def _index_files(name: str) -> Column:
    return Column(name, name, record=INDEX_FILE_META, repeated=True)


_BUCKET = (
    Column("partition", "partition", "bytes"),
    Column("bucket", "bucket", "int"),
    Column("total_buckets", "total_buckets", "int"),
)
BUCKET_STATE = Record("bucket state", BucketState, (*_BUCKET, _files("files"), _index_files("vectors")))
COMMIT_MESSAGE = Record(
    "commit message",
    CommitMessage,
    (
        *_BUCKET,
        _files("new_files"),
        _files("deleted_files"),
        _files("new_changelog"),
        _files("compact_before"),
        _files("compact_after"),
        _files("compact_changelog"),
        _index_files("new_index_files"),
        _index_files("deleted_index_files"),
        _index_files("compact_new_index_files"),
        _index_files("compact_deleted_index_files"),
        Column("index_base", "index_base", nullable("long")),
        Column("rows_base", "rows_base", nullable("long")),
    ),
)
WRITE_RESULT = Record(
    "write result", WriteResult, (Column("messages", "messages", record=COMMIT_MESSAGE, repeated=True),)
)
