"""Files of a format table as files of an append table: taken over where they read the same, else rewritten.

Parquet and ORC files are taken, also without their partition columns, which readers know from the folder. Files with
field ids were written for another table, whose ids mean nothing in this one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.types import field_id
from paimon_core.format_table.folders import Folder, partition_batch
from paimon_core.format_table.scan import FormatSplit, decode_format_split, encode_format_split, read_format_split
from paimon_core.formats.reading import read_errors
from paimon_core.formats.registry import write_format
from paimon_core.io.failure import on_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import Copy, Pairs, copy_files, for_each, move_file
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import UNAWARE_BUCKET, DataFileMeta, FileSource
from paimon_core.spec.message import CommitMessage, decode_message, encode_message, encode_messages
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.store.table_store import TableStore
from paimon_core.write.clock import wall_clock
from paimon_core.write.writer import open_writer, written

ADOPTED = ("orc", "parquet")
REWRITE = ""


@dataclass(frozen=True, slots=True)
class Adoption:
    """Files that become those of another table: where they are, where they go, and what to commit."""

    paths: tuple[tuple[str, str], ...]
    messages: tuple[CommitMessage, ...]


def plan_adoption(
    source: TableStore,
    splits: Sequence[FormatSplit],
    target: TableStore,
    run: Callable[[Callable[[str], str], list[str]], list[str]],
) -> Adoption | None:
    """How to take the files of splits as they are, which `run` finds out of each; None where they have to be rewritten.

    Raises `CorruptFileError`, `StorageError`.
    """
    if write_format(source.options).extension not in ADOPTED:
        return None
    paths, messages = list[tuple[str, str]](), list[CommitMessage]()
    for answer in run(AdoptionTask(source, target), [encode_format_split(s) for s in splits]):
        if answer == REWRITE:
            return None
        found, message = json.loads(answer)
        paths += [(path, new_path) for path, new_path in found]
        messages.append(decode_message(message))
    return Adoption(tuple(paths), tuple(messages))


@dataclass(frozen=True, slots=True)
class AdoptionTask:
    """A function of the JSON of a split to the new paths of its files and the message to commit, `REWRITE` where files
    have to be rewritten."""

    source: TableStore
    target: TableStore

    def __call__(self, text: str) -> str:
        split, format_name = decode_format_split(text), write_format(self.source.options).extension
        partition = _partition(self.source, split, self.target)
        folder = self.target.bucket_dir(partition, UNAWARE_BUCKET)
        paths, files = [], []
        for path in split.paths:
            rows = _own_rows(self.source.io, path, format_name)
            if rows is None:
                return REWRITE
            name = f"import-{uuid.uuid4()}-0.{format_name}"
            paths.append((path, f"{folder}/{name}"))
            files.append(imported_meta(self.target, name, self.source.io.status(path).size, rows))
        message = CommitMessage(partition=partition, bucket=UNAWARE_BUCKET, total_buckets=-1, new_files=tuple(files))
        return json.dumps([paths, encode_message(message)])


def adopt(source: FileIO, target: FileIO, paths: Pairs, *, move: bool, copy: Copy = copy_files) -> None:
    """Move files to their new paths, or copy them by `copy`; where one fails, all are where they were.

    Raises `StorageError`, `FileNotFoundError`.
    """
    moved: list[tuple[str, str]] = []

    def move_one(pair: tuple[str, str]) -> None:
        move_file(source, target, *pair)
        moved.append(pair)

    with on_failure(lambda: give_back(source, target, moved if move else paths, moved=move)):
        if move:
            for_each(paths, move_one)
        else:
            copy(source, target, paths)


def give_back(source: FileIO, target: FileIO, paths: Pairs, *, moved: bool) -> None:
    """Undo `adopt`, of files that were not committed."""
    for path, new_path in paths:
        if moved:
            move_file(target, source, new_path, path)
        else:
            target.delete(new_path)


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A function of the JSON of a split to the JSON list of the messages of what it wrote."""

    source: TableStore
    target: TableStore

    def __call__(self, text: str) -> str:
        names = [f.name for f in self.target.schema.fields]
        writer = open_writer(self.target, sequence_start=0)
        return encode_messages(written(writer, read_format_split(self.source, decode_format_split(text), names)))


def _partition(source: TableStore, split: FormatSplit, target: TableStore) -> bytes:
    fields = target.schema.partition_fields
    return row_bytes(partition_batch(source, [Folder("", split.partition)], fields), 0, fields) if fields else EMPTY_ROW


def _own_rows(io: FileIO, path: str, format_name: str) -> int | None:
    """The rows of a file that columns are found in by name; None where it has field ids."""
    with read_errors(format_name, path), io.open_input(path) as stream:
        if format_name == "orc":
            orc = po.ORCFile(stream)
            return None if _has_ids(orc.schema) else int(orc.nrows)
        parquet = pq.ParquetFile(stream)
        return None if _has_ids(parquet.schema_arrow) else int(parquet.metadata.num_rows)


def _has_ids(schema: pa.Schema) -> bool:
    return any(field_id(f) is not None or any(b"id" in k.lower() for k in f.metadata or ()) for f in schema)


def imported_meta(target: TableStore, name: str, size: int, rows: int) -> DataFileMeta:
    """A file of other origin as one of the table, whose columns nothing is known of."""
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
        creation_time=wall_clock(),
        delete_row_count=0,
        file_source=int(FileSource.APPEND),
    )
