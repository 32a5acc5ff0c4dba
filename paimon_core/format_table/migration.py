"""Migrate files of a format table to an append table: files are adopted if they read the same there, and otherwise
rewritten. Parquet and ORC files are adopted, even without partition columns, which readers take from the folder. Files
with field ids are rewritten: they were written for another table, and its ids are not valid in this table.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.types import field_id
from paimon_core.clock import metadata_now
from paimon_core.dataclass import dataclass
from paimon_core.format_table.folders import Folder, partition_batch
from paimon_core.format_table.scan import FORMAT_SPLIT, FormatSplit, read_format_split
from paimon_core.formats.reading import read_errors
from paimon_core.formats.registry import write_format
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import FILE_COPY, FileCopies, FileCopy
from paimon_core.jobs import Executor, Job, Measure
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import UNAWARE_BUCKET, DataFileMeta, FileSource
from paimon_core.spec.message import COMMIT_MESSAGE, WRITE_RESULT, CommitMessage, WriteResult
from paimon_core.spec.paths import UUID
from paimon_core.spec.records import Column, Record
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.snapshots import latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer, written

ADOPTED = ("orc", "parquet")
MIGRATION = "migrate_"  # first part of commit users of migrations
_ADOPTED_NAME = re.compile(rf"import-({UUID})-[0-9a-f]{{8}}-")


@dataclass(frozen=True, slots=True)
class Adoption:
    """Files to move into another table: their paths and new paths, and the messages to commit."""

    paths: tuple[tuple[str, str], ...]
    messages: tuple[CommitMessage, ...]


def plan_adoption(
    source: TableStore,
    splits: Sequence[FormatSplit],
    target: TableStore,
    executor: Executor,
) -> Adoption | None:
    """Plan the adoption of the files of splits, with a task for each. Return None if they must be rewritten.

    Raises `CorruptFileError`, `StorageError`.
    """
    if write_format(source.options).extension not in ADOPTED:
        return None
    paths, messages = list[tuple[str, str]](), list[CommitMessage]()
    for adopted in executor.run(adoption_job(source, splits, target)):
        if adopted.message is None:
            return None
        paths += FileCopies(adopted.files).pairs
        messages.append(adopted.message)
    return Adoption(tuple(paths), tuple(messages))


@dataclass(frozen=True, slots=True)
class AdoptedFiles:
    """The new paths of a split's files, and the `message` to commit, which is `None` if the files must be rewritten."""

    files: tuple[FileCopy, ...] = ()
    message: CommitMessage | None = None


ADOPTED_FILES = Record(
    "adopted files",
    AdoptedFiles,
    (
        Column("files", "files", record=FILE_COPY, repeated=True),
        Column("message", "message", record=COMMIT_MESSAGE, optional=True),
    ),
)


def _files(split: FormatSplit) -> int:
    return len(split.paths)


_FILES = Measure("files", _files)


def adoption_job(
    source: TableStore, splits: Sequence[FormatSplit], target: TableStore
) -> Job[FormatSplit, AdoptedFiles]:
    """Return a job that inspects the files of splits without moving them."""
    run = partial(_adopted, source, target)
    return Job(f"plan {source.name}", run, FORMAT_SPLIT, ADOPTED_FILES, tuple(splits), measure=_FILES)


def _adopted(source: TableStore, target: TableStore, split: FormatSplit) -> AdoptedFiles:
    extension, partition = write_format(source.options).extension, partition_of(source, split, target)
    folder = target.bucket_dir(partition, UNAWARE_BUCKET)
    copies, files = [], []
    for path in split.paths:
        rows = _own_rows(source.io, path, extension)
        if rows is None:
            return AdoptedFiles()
        name = adopted_name(source.io, path, extension)
        copies.append(FileCopy(path, f"{folder}/{name}"))
        files.append(imported_meta(target, name, source.io.status(path).size, rows))
    message = CommitMessage(partition=partition, bucket=UNAWARE_BUCKET, total_buckets=-1, new_files=tuple(files))
    return AdoptedFiles(tuple(copies), message)


def without(adoption: Adoption, taken: Collection[str]) -> Adoption:
    """Return the adoption without the files in `taken` (`taken_files`)."""
    if not taken:
        return adoption
    new = {path.rpartition("/")[2] for _, path in adoption.paths if identity_of(path.rpartition("/")[2]) not in taken}
    messages = [replace(m, new_files=tuple(f for f in m.new_files if f.file_name in new)) for m in adoption.messages]
    paths = tuple(pair for pair in adoption.paths if pair[1].rpartition("/")[2] in new)
    return Adoption(paths, tuple(m for m in messages if m.new_files))


def taken_files(store: TableStore) -> frozenset[str]:
    """Return the identities of the files that a table has adopted, if its metadata or its folders still show them."""
    latest = latest_snapshot(store)
    names = {e.file.file_name for e in live_files(store, latest).values()}
    for snapshot in list_snapshots(store):
        if snapshot.commit_user.startswith(MIGRATION):
            delta = read_manifest_list(store, snapshot.delta_manifest_list)
            names.update(e.file.file_name for e in read_entries(store, delta))
    return frozenset(i for n in names if (i := identity_of(n)) is not None)


def adopted_name(source: FileIO, path: str, extension: str) -> str:
    """Return the name of a file in its new table.

    The name identifies the old file and the migration: if two migrations adopt a file at once, one of them fails."""
    found = source.status(path)
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{path}\n{found.size}\n{found.modified}")
    return f"import-{identity}-{uuid.uuid4().hex[:8]}-0.{extension}"


def identity_of(name: str) -> str | None:
    """Return the identity of the old file in the name of an adopted file, or None for other names."""
    match = _ADOPTED_NAME.match(name)
    return None if match is None else match[1]


def import_job(source: TableStore, splits: Sequence[FormatSplit], target: TableStore) -> Job[FormatSplit, WriteResult]:
    """Return the job that writes the rows of splits into another table."""
    run = partial(_import, source, target)
    return Job(f"migrate {source.name}", run, FORMAT_SPLIT, WRITE_RESULT, tuple(splits), measure=_FILES)


def _import(source: TableStore, target: TableStore, split: FormatSplit) -> WriteResult:
    names = [f.name for f in target.schema.fields]
    return WriteResult(tuple(written(open_writer(target, sequence_start=0), read_format_split(source, split, names))))


def partition_of(source: TableStore, split: FormatSplit, target: TableStore) -> bytes:
    """Return the partition of a split in the table that takes over its files."""
    fields = target.schema.partition_fields
    return row_bytes(partition_batch(source, [Folder("", split.partition)], fields), 0, fields) if fields else EMPTY_ROW


def _own_rows(io: FileIO, path: str, format_name: str) -> int | None:
    """Return the number of rows of a file without field ids, or None if the file has field ids."""
    with read_errors(format_name, path), io.open_input(path) as stream:
        if format_name == "orc":
            orc = po.ORCFile(stream)
            return None if _has_ids(orc.schema) else int(orc.nrows)
        parquet = pq.ParquetFile(stream)
        return None if _has_ids(parquet.schema_arrow) else int(parquet.metadata.num_rows)


def _has_ids(schema: pa.Schema) -> bool:
    return any(field_id(f) is not None or any(b"id" in k.lower() for k in f.metadata or ()) for f in schema)


def imported_meta(target: TableStore, name: str, size: int, rows: int) -> DataFileMeta:
    """Return the metadata of an adopted file in its new table, without statistics of its columns."""
    return DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=rows,
        min_key=EMPTY_ROW,
        max_key=EMPTY_ROW,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        value_stats_cols=(),
        min_sequence_number=0,
        max_sequence_number=rows - 1,
        schema_id=target.schema.id,
        level=0,
        creation_time=metadata_now(),
        delete_row_count=0,
        file_source=int(FileSource.APPEND),
    )
