"""What a reader gets: files of one bucket that are read together. Travels as JSON, never as code."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from paimon_core.errors import CorruptFileError
from paimon_core.spec.index_manifest import DELETION_VECTOR_META, DeletionVectorMeta
from paimon_core.spec.json_object import member
from paimon_core.spec.manifest import DATA_FILE_META, DataFileMeta


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The deletion vector of a data file, and the path of the index file that holds it."""

    path: str
    vector: DeletionVectorMeta


class SplitKind(StrEnum):
    """What the rows of a split's files are: rows of a version, changes each, one of two versions to compare, rows of a
    partition with newer ones of the postponed bucket, or rows of several partitions that are merged into one."""

    ROWS = "rows"
    CHANGES = "changes"
    DIFFERENCE = "difference"
    POSTPONED = "postponed"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSplit:
    """Files of one bucket; `needs_merge` where their rows must be merged by key (or, with data evolution, their columns
    put side by side), else they are read as they are.

    `deletions` are the deletion vectors of those files that have one. `before` are the files of an earlier version,
    with their deletion vectors, whose rows those of `files` are compared to, for `DIFFERENCE`; for `POSTPONED`
    those of rows without a bucket, oldest first. `branch` names the branch they are of, "": the table's own. Of rows
    with ids only those in `row_ids` (a Roaring bitmap of 64 bits) are of interest, b"": all. `total_buckets` is how
    many buckets there were when the files were written, 0 where that is not told.
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

    @property
    def row_count(self) -> int:
        """Rows in the files, before merging."""
        return sum(f.row_count for f in (*self.files, *self.before))

    @property
    def result_count(self) -> int | None:
        """Rows of the result, where metadata tells."""
        deleted = [d.vector.cardinality for d in self.deletions]
        known = [n for n in deleted if n is not None]
        return None if self.needs_merge or len(known) < len(deleted) else self.row_count - sum(known)

    @property
    def deletions_by_file(self) -> dict[str, DeletionFile]:
        """The deletion vectors by the names of the data files."""
        return {d.vector.data_file: d for d in self.deletions}

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(f.file_size for f in (*self.files, *self.before))


def encode_split(split: DataSplit) -> str:
    """The split as one JSON text."""
    return json.dumps(
        {
            "partition": b64encode(split.partition).decode(),
            "bucket": split.bucket,
            "buckets": split.total_buckets,
            "dir": split.bucket_dir,
            "branch": split.branch,
            "row_ids": b64encode(split.row_ids).decode(),
            "merge": split.needs_merge,
            "kind": split.kind,
            "before": [DATA_FILE_META.to_json(f) for f in split.before],
            "files": [DATA_FILE_META.to_json(f) for f in split.files],
            "deletions": [[d.path, DELETION_VECTOR_META.to_json(d.vector)] for d in split.deletions],
            "before_deletions": [[d.path, DELETION_VECTOR_META.to_json(d.vector)] for d in split.before_deletions],
        }
    )


def decode_split(text: str) -> DataSplit:
    """The reverse of `encode_split`. Raises `CorruptFileError`."""
    try:
        node = json.loads(text)
        return DataSplit(
            partition=b64decode(member(node, "partition", str), validate=True),
            bucket=member(node, "bucket", int),
            total_buckets=member(node, "buckets", int),
            bucket_dir=member(node, "dir", str),
            files=tuple(DATA_FILE_META.from_json(f) for f in member(node, "files", list)),
            needs_merge=member(node, "merge", bool),
            branch=member(node, "branch", str),
            row_ids=b64decode(member(node, "row_ids", str), validate=True),
            deletions=_deletions(node, "deletions"),
            kind=SplitKind(member(node, "kind", str)),
            before=tuple(DATA_FILE_META.from_json(f) for f in member(node, "before", list)),
            before_deletions=_deletions(node, "before_deletions"),
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as e:
        raise CorruptFileError("<split>", f"it does not decode ({e})", "run the query again") from e


def _deletions(node: Any, key: str) -> tuple[DeletionFile, ...]:
    pairs = member(node, key, list)
    return tuple(DeletionFile(str(path), DELETION_VECTOR_META.from_json(vector)) for path, vector in pairs)
