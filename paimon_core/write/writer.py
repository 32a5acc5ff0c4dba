"""The interface of a write task: rows in, commit messages out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from paimon_core.errors import InvalidOptionError
from paimon_core.formats.registry import write_format
from paimon_core.io.failure import on_failure
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import BUCKET, POSTPONED
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.features import check_merging
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.write.append import AppendWriter
    from paimon_core.write.buckets.dynamic import AssignmentBase
    from paimon_core.write.buckets.postponed import PostponedWriter
    from paimon_core.write.key_value import KeyValueWriter
else:
    KeyValueWriter = ImportedOnCall("paimon_core.write.key_value", "KeyValueWriter")
    AppendWriter = ImportedOnCall("paimon_core.write.append", "AppendWriter")
    PostponedWriter = ImportedOnCall("paimon_core.write.buckets.postponed", "PostponedWriter")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Writer(Protocol[T_co]):
    """Writes the rows of one task; `finish` returns its result."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self) -> T_co: ...

    def abort(self) -> None: ...


class TableWriter(Protocol):
    """A writer of one task's rows. Readers see the rows only after its messages are committed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows: the table's columns, and `_VALUE_KIND` (int8) if some rows are deletes.

        Raises `InvalidDataError`, `StorageError`.
        """

    def finish(self) -> list[CommitMessage]:
        """End all files. Return one message per bucket that got rows."""

    def abort(self) -> None:
        """Delete the written files, as far as possible."""


def written(writer: Writer[T], batches: Iterable[pa.RecordBatch]) -> T:
    """Write all batches and return the writer's result. If a batch fails, no file is kept."""
    with on_failure(writer.abort):
        for batch in batches:
            writer.write(batch)
        return writer.finish()


def open_writer(
    store: TableStore, *, sequence_start: int, base: AssignmentBase | None = None, tracked: bool = False
) -> TableWriter:
    """Return a writer for one task.

    `base` is the common base of the tasks of a table with dynamic buckets. `tracked`: the rows were in the table
    before, and come with the columns of row tracking. Primary-key tables number rows from `sequence_start`.

    Pass rows partition by partition: any other order makes more and smaller files. Raises `UnsupportedFeatureError` for
    formats and merge engines that this version does not write, and `InvalidOptionError` for values of options that are
    unknown here.
    """
    check_buckets(store)
    check_merging(store, "written")
    store = as_stored_times(store)
    if store.has_primary_key and store.options[BUCKET] == POSTPONED:
        return PostponedWriter(store, sequence_start)
    if store.has_primary_key:
        return KeyValueWriter(store, sequence_start, base=base)
    return AppendWriter(store, sequence_start, tracked)


def check_buckets(store: TableStore) -> None:
    """Raise `InvalidOptionError` for an invalid number of buckets, and for formats that cannot be written."""
    buckets = store.options[BUCKET]
    if buckets == 0 or buckets < -2:
        raise InvalidOptionError(f"Option '{BUCKET.key}' cannot be {buckets}: it must be -2, -1 or a positive number.")
    write_format(store.options)
