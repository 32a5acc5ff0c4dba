"""Making a full-text index, as a job with a task per range of rows of a partition.

Settings are options of the table or the call that begin with `full-text.`, as in Java. The names of the settings are
the library's, see `paimon-ftindex`. A file keeps its settings.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.indexes.full_text import FULL_TEXT, check_texts, encode_full_text, full_text_library, text_settings
from paimon_core.jobs import Job
from paimon_core.spec.index_manifest import GlobalIndexMeta
from paimon_core.spec.message import WRITE_RESULT, WriteResult
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField
from paimon_core.store.indexes.global_indexes import new_index_file
from paimon_core.store.indexes.index_files import write_index_file
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.write.indexes.indexed_rows import (
    INDEX_TASK,
    INDEXED_ROWS,
    IndexTask,
    index_tasks,
    indexed_values,
    shards,
)


@dataclass(frozen=True, slots=True)
class TextIndexBuild:
    """A full-text index to make for a column, for the rows of a version that have no such index yet."""

    store: TableStore
    field: DataField
    snapshot: Snapshot

    def check(self) -> None:
        """Raise `InvalidOptionError` if the column has no texts, `UnsupportedFeatureError` without the library."""
        check_texts(self.field, f"cannot have a {FULL_TEXT} index")
        full_text_library()

    def job(self, partitions: PartitionFilter) -> Job[IndexTask, WriteResult]:
        """Return the job that indexes rows of some partitions. Each task writes one index file."""
        tasks = index_tasks(self.store, self.snapshot, self.field, FULL_TEXT, partitions, partial(shards, self.store))
        name = f"full-text index of {self.store.name}"
        return Job(name, self._run, INDEX_TASK, WRITE_RESULT, tuple(tasks), measure=INDEXED_ROWS)

    def _run(self, task: IndexTask) -> WriteResult:
        """Write the index of a task's rows."""
        texts, rows = indexed_values(self.store, self.field, task)
        settings = text_settings(self.store.options.values)
        data = encode_full_text(settings, texts, rows)
        file = replace(
            new_index_file(self.store, FULL_TEXT),
            file_size=len(data),
            row_count=task.end - task.start,
            global_index=GlobalIndexMeta(
                row_range_start=task.start,
                row_range_end=task.end - 1,
                index_field_id=self.field.id,
                index_meta=json.dumps(settings, sort_keys=True).encode(),
            ),
        )
        written = write_index_file(self.store, task.bucket.key, file, data)
        empty = replace(task.bucket, files=()).deleted()
        return WriteResult((replace(empty, new_index_files=(written,), rows_base=self.snapshot.id),))
