"""Tables with data evolution and columns in files of their own (BLOBs, vectors): the writes of a model's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Predicate
from paimon_core.row_level.column_updates import ColumnUpdates, EvolvedChangesWriter
from paimon_core.row_level.removed_rows import changed_files, marked_rows
from paimon_core.row_level.writer import open_changes_writer
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.writer import open_writer

EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
INFO = CommitInfo(user="u")
_PLACES = ("__paimon_file_path", "__paimon_row_index")


@dataclass(frozen=True)
class EvolvingRows:
    """The rows of a table: its columns and their types. The model knows a row by its id."""

    types: Mapping[str, pa.DataType]

    def batch(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(list(c), t) for c, t in zip(columns, self.types.values(), strict=True)]
        return pa.record_batch(arrays, list(self.types))

    def insert(self, table: Table, *batches: Sequence[tuple[Any, ...]]) -> None:
        writer = open_writer(table.store, sequence_start=0)
        for rows in batches:
            writer.write(self.batch(rows))
        table.commit(writer.finish(), INFO)

    def staged(
        self, table: Table, new: Mapping[int, tuple[Any, ...]], columns: tuple[str, ...], deleted: set[int]
    ) -> EvolvedChangesWriter:
        """Return a writer that updates some columns of the rows in `new`, and deletes other rows; see `commit`."""
        stored = read(table, "_ROW_ID", *_PLACES)
        found = sorted((r for r in stored if r[0] in new or r[0] in deleted), key=lambda r: r[1:])
        updates = ColumnUpdates(columns if new else (), table.latest_snapshot())
        writer = open_changes_writer(table.store, sequence_start=0, once=True, updates=updates)
        assert isinstance(writer, EvolvedChangesWriter)
        nothing = (0, *[None] * (len(self.types) - 1))
        values = self.batch([new.get(r[0], nothing) for r in found] or [nothing]).slice(0, len(found))
        changes = {
            "_VALUE_KIND": pa.array([2 if r[0] in new else 3 for r in found], pa.int8()),
            _PLACES[0]: pa.array([r[1] for r in found], pa.string()),
            _PLACES[1]: pa.array([r[2] for r in found], pa.int64()),
            "_ROW_ID": pa.array([r[0] for r in found], pa.int64()),
        }
        writer.write(pa.RecordBatch.from_pydict(changes | {c: values.column(c) for c in self.types}))
        return writer


def commit(table: Table, writer: EvolvedChangesWriter) -> None:
    """Commit staged changes."""
    snapshot, messages = table.latest_snapshot(), writer.finish()
    messages += marked_rows(table.store, snapshot, changed_files(table.store, snapshot, writer.removed))
    table.commit(messages, INFO)


def read(table: Table, *columns: str, predicate: Predicate | None = None) -> list[tuple[Any, ...]]:
    """Return the rows of the latest version."""
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = (b for s in splits for b in read_split(table.store, s, list(columns), predicate))
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def live(table: Table) -> list[DataFileMeta]:
    """Return the files of the latest version."""
    return [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
