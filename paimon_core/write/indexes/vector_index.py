"""Making an index of vectors, as a job with a task per range of rows of a partition.

Settings are options of the table or the call, for a column (`fields.COLUMN.nlist`) or for all of a type
(`ivf-flat.nlist`), as in Java. The names of the settings are the library's, see `paimon-vindex`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.nearest import METRICS, Floats, metric_of, spelled_metric
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.indexes.vector_index.files import encode_vector_index
from paimon_core.indexes.vector_index.layout import IVF_FLAT
from paimon_core.indexes.vector_index.library import vector_library
from paimon_core.jobs import Job
from paimon_core.spec.index_manifest import GlobalIndexMeta
from paimon_core.spec.message import WRITE_RESULT, WriteResult
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import CollectionType, DataField, Kind, VectorType
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

_META = b"{}"  # no search needs settings of the index
_DIMENSION, _METRIC = ("index.dimension", "dimension"), ("distance.metric", "metric")
_SETTINGS = {
    **{name: name for name in ("nlist", "pq.m", "pq.code-ratio", "pq.bits", "rq.bits", "use-opq")},
    **{name: name for name in ("train.sample-ratio", "target-recall", "max-bytes-per-vector", "deployment-profile")},
    "pq.use-opq": "use-opq",
    **{
        prefix + name: f"diskann.{name}"
        for prefix in ("", "diskann.")
        for name in (
            *("build-preset", "max-degree", "build-search-list-size", "alpha", "seed", "memory-budget-bytes"),
            *("storage-layout", "raw-vector-encoding", "build-distance"),
        )
    },
}


@dataclass(frozen=True, slots=True)
class VectorIndexBuild:
    """An index of vectors to make for a column, for the rows of a version that have no such index yet."""

    store: TableStore
    field: DataField
    index_type: str
    snapshot: Snapshot

    def check(self) -> None:
        """Raise `UnsupportedFeatureError` if the column cannot be indexed, or the library is missing;
        `InvalidOptionError` if a setting is invalid.
        """
        element = getattr(self.field.type, "element", None)
        if not isinstance(self.field.type, CollectionType) or element is None or element.kind is not Kind.FLOAT:
            raise UnsupportedFeatureError(
                f"{self._subject} its type is {self.field.type.sql()}, and vectors are of the type ARRAY<FLOAT>."
            )
        if self.index_type != IVF_FLAT:
            vector_library(self.index_type)
        self._metric()
        self._length()
        self._settings()

    def job(self, partitions: PartitionFilter) -> Job[IndexTask, WriteResult]:
        """Return the job that indexes rows of some partitions. Each task indexes rows without such an index, and writes
        one index file, or none if no row has a vector.
        """
        tasks = tuple(
            index_tasks(self.store, self.snapshot, self.field, self.index_type, partitions, partial(shards, self.store))
        )
        name = f"vector index of {self.store.name}"
        return Job(name, self._run, INDEX_TASK, WRITE_RESULT, tasks, measure=INDEXED_ROWS)

    def _run(self, task: IndexTask) -> WriteResult:
        """Write the index of a task's rows."""
        column, rows = indexed_values(self.store, self.field, task)
        vectors = self._vectors(column)
        rows = rows[column.is_valid().to_numpy()]
        if not len(rows):
            return WriteResult(())
        data = encode_vector_index(self.index_type, self._metric(), self._settings(), vectors, rows)
        file = replace(
            new_index_file(self.store, self.index_type, prefix="vector-"),
            file_size=len(data),
            row_count=task.end - task.start,
            global_index=GlobalIndexMeta(
                row_range_start=task.start,
                row_range_end=task.end - 1,
                index_field_id=self.field.id,
                index_meta=_META,
            ),
        )
        written = write_index_file(self.store, task.bucket.key, file, data)
        empty = replace(task.bucket, files=()).deleted()
        return WriteResult((replace(empty, new_index_files=(written,), rows_base=self.snapshot.id),))

    def _vectors(self, column: pa.ChunkedArray) -> Floats:
        """Return the vectors that are not NULL. Raises `InvalidDataError` if an index cannot have them."""
        length, there = self._length(), column.drop_null()
        lengths = pc.list_value_length(there)
        other = lengths.filter(pc.not_equal(lengths, length))
        if len(other):
            raise InvalidDataError(f"{self._subject} it has a vector of {other[0].as_py()} elements, not {length}.")
        parts = [c.flatten().to_numpy(zero_copy_only=False) for c in there.chunks]
        vectors = np.concatenate(parts, dtype=np.float32) if parts else np.zeros(0, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise InvalidDataError(
                f"{self._subject} a vector has an element that is NULL, NaN or infinite. Correct it, or search without "
                "an index."
            )
        return vectors.reshape(-1, length)

    @property
    def _subject(self) -> str:
        return f"Column {self.field.name!r} of table {self.store.name} cannot have a {self.index_type} index:"

    def _length(self) -> int:
        if isinstance(self.field.type, VectorType):
            return self.field.type.length
        key, text = self._given(_DIMENSION)
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) > 0):
            raise InvalidOptionError(
                f"An index of column {self.field.name!r} needs the length of its vectors: set '{key}' to it, "
                f"not to {text!r}, or make the column a VECTOR."
            )
        return int(text)

    def _metric(self) -> str:
        key, text = self._given(_METRIC)
        found = spelled_metric(text or metric_of(self.field.name, self.store.options.values))
        if found not in METRICS:
            raise InvalidOptionError(f"Option '{key}' cannot be {text!r}: use one of {', '.join(METRICS)}.")
        return found

    def _settings(self) -> Mapping[str, str]:
        """Return the settings by the names of the library. Raises `InvalidOptionError`."""
        found = {ours: text for name, ours in _SETTINGS.items() if (text := self._given((name,))[1])}
        lists = found.get("nlist", "auto")
        is_number = lists.isascii() and lists.isdigit() and len(lists) <= 10
        if lists != "auto" and not (is_number and int(lists) > 0):
            raise InvalidOptionError(f"The setting 'nlist' cannot be {lists!r}: use a number of lists, or auto.")
        try:
            ratio = float(found.get("train.sample-ratio", "1"))
        except ValueError:
            ratio = math.nan
        if not 0 < ratio <= 1:
            raise InvalidOptionError("The setting 'train.sample-ratio' must be more than 0, and at most 1.")
        return found

    def _given(self, names: tuple[str, ...]) -> tuple[str, str]:
        """Return the first of the possible keys that is set, and its text; the text is empty if none is set."""
        values = self.store.options.values
        keys = [f"{prefix}{name}" for prefix in (f"fields.{self.field.name}.", f"{self.index_type}.") for name in names]
        key = next((k for k in keys if k in values), keys[-1])
        return key, values.get(key, "").strip()
