"""The data files of one bucket as streams of rows: file after file, or the runs of a section merged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import rows_at, without_rows
from paimon_core.arrow.types import (
    KEY_PREFIX,
    ROW_INDEX,
    SEQUENCE_NUMBER,
    TRACKING_NAMES,
    VALUE_COUNT,
    VALUE_KIND,
    arrow_schema,
)
from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    CorruptFileError,
    DataFileMissingError,
    InvalidDataError,
    MergeRefusedError,
    UnfamiliarFormError,
)
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate
from paimon_core.formats.file_format import FileFormat, ReadRequest
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.registry import format_name, format_of_file
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.lazy import ImportedOnCall, logger
from paimon_core.lsm.engines.registry import merge_engine
from paimon_core.lsm.merge import MergeSpec, merge_runs
from paimon_core.lsm.runs import SortedRun, in_key_order, run_age, written
from paimon_core.lsm.strategy import holds_whole_rows
from paimon_core.options import (
    PARTITION_DEFAULT_NAME,
    SCAN_IGNORE_CORRUPT,
    SCAN_IGNORE_LOST,
    SEQUENCE_FIELD,
    SEQUENCE_ORDER,
)
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DeletionFile
from paimon_core.spec.types import DataField
from paimon_core.store.data.counted_rows import check_counts
from paimon_core.store.data.partition_columns import values_of_folder, with_values
from paimon_core.store.data.row_tracking import tracking_fields, with_tracking
from paimon_core.store.data.snapshot_ordering import in_snapshot_order
from paimon_core.store.external.other_folders import other_places
from paimon_core.store.indexes.index_files import read_deletions
from paimon_core.store.named_files import files_of
from paimon_core.store.partitions import partition_value
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from paimon_core.arrow.schema_evolution import Evolution
    from paimon_core.indexes.deletion_vector import Positions
    from paimon_core.indexes.file_index.cursor import Rows
    from paimon_core.io.ahead import FilesAhead
    from paimon_core.io.local_copies import LocalCopies
    from paimon_core.io.threads import in_background
    from paimon_core.lsm.compaction import level_runs
    from paimon_core.lsm.record_expiry import RecordExpiry
    from paimon_core.store.data.time_units import with_stored_times
    from paimon_core.store.file_fields import fields_of_file
else:
    Evolution = ImportedOnCall("paimon_core.arrow.schema_evolution", "Evolution")
    FilesAhead = ImportedOnCall("paimon_core.io.ahead", "FilesAhead")
    with_stored_times = ImportedOnCall("paimon_core.store.data.time_units", "with_stored_times")
    fields_of_file = ImportedOnCall("paimon_core.store.file_fields", "fields_of_file")
    level_runs = ImportedOnCall("paimon_core.lsm.compaction", "level_runs")
    ThreadPoolExecutor = ImportedOnCall("concurrent.futures", "ThreadPoolExecutor")
    in_background = ImportedOnCall("paimon_core.io.threads", "in_background")

_LOG = logger(__name__)
_LARGE = 2**22  # bytes of a section that is read by threads: less, and a few keys, is read before they start


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """A reader of some columns of a bucket's files.

    It leaves out deleted rows, and rows that do not satisfy `predicate`; for a merge, the predicate must be on keys
    only. `deletions` are the deletion vectors by the names of their data files. `selection` returns the positions of
    the wanted rows of a file, or None for all rows. `expiry` removes expired rows. `unread` are columns that files must
    have although no caller reads them. If `copies` has a local copy of a file, the copy is read.

    A `lenient` reader skips lost or damaged files if options allow it. A rewrite must not skip files, because it would
    lose their rows.
    """

    store: TableStore
    bucket_dir: str
    fields: tuple[DataField, ...]
    predicate: Predicate | None = None
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    selection: Callable[[DataFileMeta], Rows | None] | None = None
    expiry: RecordExpiry | None = None
    unread: frozenset[str] = frozenset()
    copies: LocalCopies | None = None
    lenient: bool = False

    def read(self, files: Sequence[DataFileMeta]) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows of the files, one file after another.

        Raises `DataFileMissingError`, `CorruptFileError`, or `InvalidDataError` for values that cannot be cast.
        """
        batches = self._undeleted(files)
        return batches if self.expiry is None else map(self.expiry.live, batches)

    def _undeleted(self, files: Sequence[DataFileMeta]) -> Iterator[pa.RecordBatch]:
        condition = None if self.predicate is None else to_arrow(self.predicate, arrow_schema(self.fields))
        for file in files:
            for batch in self._live(file):
                rows = batch if condition is None else condition.filter(batch)
                if rows.num_rows:
                    yield rows

    def read_as_written(self, files: Sequence[DataFileMeta]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of files that are not committed yet.

        Columns that the commit sets are NULL. Raises the same errors as `read`.
        """
        for file in files:
            yield from self._read(file, None)

    def _live(self, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are not deleted. Unwanted rows may be left out."""
        deletion = self.deletions.get(file.file_name)
        deleted = None if deletion is None else read_deletions(self.store, deletion, file.row_count)
        selected = None if self.selection is None or self._tracks else self.selection(file)
        if selected is not None:
            rows = np.asarray(selected.to_array()).astype(np.int64)
            rows = rows if deleted is None else rows[~np.isin(rows, deleted)]
            return self._read(file, None, rows) if len(rows) else iter(())
        if not self._tracks:
            return self._read(file, self.predicate, deleted=deleted)
        return self._whole(file) if deleted is None else without_rows(self._whole(file), deleted)

    def read_numbered(self, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a file, with their positions from 0 in a last column, `ROW_INDEX`.

        Raises the same errors as `read`.
        """
        deletion = self.deletions.get(file.file_name)
        batches = numbered(self._whole(file))
        if deletion is None:
            return batches
        return without_rows(batches, read_deletions(self.store, deletion, file.row_count))

    @property
    def _tracks(self) -> bool:
        return bool(tracking_fields(self.store)) and any(f.name in TRACKING_NAMES for f in self.fields)

    def _whole(self, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a file in order, because positions count all of them."""
        batches = self._read(file, None)
        return with_tracking(batches, file) if self._tracks else batches

    def _read(
        self,
        file: DataFileMeta,
        predicate: Predicate | None,
        rows: Positions | None = None,
        deleted: Positions | None = None,
    ) -> Iterator[pa.RecordBatch]:
        with files_of(self.store):
            yield from self._read_at_any_place(file, predicate, rows, deleted)

    def _read_at_any_place(
        self, file: DataFileMeta, predicate: Predicate | None, rows: Positions | None, deleted: Positions | None
    ) -> Iterator[pa.RecordBatch]:
        path = data_file_path(self.bucket_dir, file)
        read = partial(read_rows, rows=rows) if deleted is None else partial(read_others, rows=deleted)
        missing: FileNotFoundError | None = None
        for place in chain((path,), other_places(self.store, path)):
            try:
                yield from in_snapshot_order(self.store.options, file, self._rows(place, file, predicate, read))
                return
            except CorruptFileError:
                if not (self.lenient and self.store.options[SCAN_IGNORE_CORRUPT]):
                    raise
                _LOG.warning(
                    "File %s is damaged: the rest of its rows is not read.", place, extra=self.store.log_fields()
                )
                return
            except FileNotFoundError as e:
                missing = missing or e
        if self.lenient and self.store.options[SCAN_IGNORE_LOST]:
            _LOG.warning("File %s is lost: its rows are not read.", path, extra=self.store.log_fields())
            return
        raise DataFileMissingError(
            f"Data file {path} of table {self.store.root} is missing: it was deleted, or its snapshot expired while it "
            "was read. Run the query again, or roll back to a snapshot that still has its files."
        ) from missing

    def _rows(
        self, path: str, file: DataFileMeta, predicate: Predicate | None, read: Callable[..., Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        if not any(f.name == VALUE_COUNT for f in self.fields):
            check_counts(self.store, file)
        file_format, stored = format_of_file(file.file_name), partial(fields_of_file, self.store, file)
        keys, default = self.store.schema.partition_fields, self.store.options[PARTITION_DEFAULT_NAME]
        missing = partial(partition_value, keys, self.bucket_dir, default)
        copy = None if self.copies is None else self.copies.copy_of(path, file.file_size)
        io = self.store.io if copy is None else LocalFileIO()
        request = ReadRequest(
            copy or path,
            self.fields,
            predicate,
            stored,
            self.store.options,
            missing=missing,
            unread=self.unread,
            row_count=file.row_count,
            size=file.file_size,
            variant_paths=self.store.variant_paths,
            map_keys=self.store.map_keys,
        )
        values = values_of_folder(self.fields, missing) if file_format.extension == "orc" and keys else {}
        yield from with_values(self._as_now(path, file, request, partial(read, file_format, io)), values)

    def _as_now(
        self,
        path: str,
        file: DataFileMeta,
        request: ReadRequest,
        read: Callable[[ReadRequest], Iterator[pa.RecordBatch]],
    ) -> Iterator[pa.RecordBatch]:
        """Read a file, and convert its rows from the file's schema to the table's schema."""
        if file.schema_id == self.store.schema.id:
            yield from read(request)
            return
        is_orc, stored = format_name(file.file_name) == "orc", request.stored
        then = with_stored_times(stored())
        evolution = Evolution(then, self.fields, is_orc, self.store.zone, request.missing)
        wanted = evolution.predicate_then(request.predicate)
        for batch in read(replace(request, fields=evolution.stored, predicate=wanted, stored=lambda: then)):
            try:
                yield evolution.apply(batch)
            except InvalidDataError as e:
                raise InvalidDataError(f"{e} (file {path})") from e


def read_ahead(store: TableStore, bucket_dir: str, files: Sequence[DataFileMeta]) -> TableStore:
    """Return the store for a reader that opens most of the files of a bucket, in about this order.

    Small files on a remote storage are then requested in parallel. Files with an index are not requested ahead: the
    index may show that the file is not needed.
    """
    wanted = [f for f in files if f.embedded_file_index is None and not f.extra_files]
    if store.io.requests_at_once < 2 or len(wanted) < 2:
        return store
    return replace(store, io=FilesAhead(store.io, [(data_file_path(bucket_dir, f), f.file_size) for f in wanted]))


def numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Append the positions of rows, from 0, as a last column, `ROW_INDEX`."""
    start = 0
    for batch in batches:
        numbers = np.arange(start, start + batch.num_rows, dtype=np.int64)
        start += batch.num_rows
        yield batch.append_column(ROW_INDEX, pa.array(numbers))


def merge_section(
    files: BucketFiles,
    section: Sequence[SortedRun],
    spec: MergeSpec,
    *,
    values_only: bool = False,
    chained: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Merge the runs of a section. Their columns include keys, sequence numbers and row kinds.

    `values_only`: the result has no sequence numbers and row kinds; they are read only if the merge needs them.
    `chained`: the files belong to several partitions, so levels do not order them.
    """
    oldest_first, whole = _oldest_first(files.store, section, chained=chained)
    skipped = _unneeded(oldest_first) if values_only else frozenset()
    reader = replace(files, fields=tuple(f for f in files.fields if f.name not in skipped), unread=skipped)
    is_small = files.predicate is not None or sum(f.file_size for run in oldest_first for f in run) < _LARGE
    try:
        with _read_by(1 if is_small else files.store.threads, [reader.read(run) for run in oldest_first]) as runs:
            yield from merge_runs(runs, spec, whole=whole)
    except MergeRefusedError:
        raise
    except InvalidDataError as e:
        names = " or ".join(f.file_name for run in oldest_first for f in run)
        raise UnfamiliarFormError(f"{files.bucket_dir}/{names}", f"it differs from its metadata ({e})") from e


@contextmanager
def _read_by(threads: int, runs: list[Iterator[pa.RecordBatch]]) -> Iterator[list[Iterator[pa.RecordBatch]]]:
    """Let threads read the runs, each a batch ahead, if there are several threads."""
    if threads < 2:
        yield runs
        return
    try:
        with ThreadPoolExecutor(threads, thread_name_prefix="runs") as pool:
            yield [in_background(run, pool) for run in runs]
    finally:
        for run in runs:
            if isinstance(run, Generator):
                run.close()


def _unneeded(oldest_first: Sequence[Sequence[DataFileMeta]]) -> frozenset[str]:
    """Return the system columns that a merge of runs does not need.

    Sequence numbers are not needed if metadata shows that all rows of a run are younger than the rows of the runs
    before it. Row kinds are not needed if metadata counts no deletes. Only Parquet files can lack them, because footers
    show which columns a file has."""
    if any(format_name(f.file_name) != "parquet" for run in oldest_first for f in run):
        return frozenset()
    oldest = [min(f.min_sequence_number for f in run) for run in oldest_first]
    newest = [max(f.max_sequence_number for f in run) for run in oldest_first]
    is_ordered = all(before < after for before, after in zip(newest, oldest[1:], strict=False))
    no_deletes = all(f.delete_row_count == 0 for run in oldest_first for f in run)
    return frozenset(([SEQUENCE_NUMBER] if is_ordered else []) + ([VALUE_KIND] if no_deletes else []))


def _oldest_first(
    store: TableStore, section: Sequence[SortedRun], *, chained: bool
) -> tuple[list[Sequence[DataFileMeta]], int]:
    """Sort the runs of a section from old to young. Return them, and how many of the first runs have whole rows."""
    by_field = store.schema.numbers_rows_by_field
    if chained or not holds_whole_rows(store.options):
        return [r.files for r in sorted(section, key=written if by_field else run_age)], 0
    levels = level_runs(f for run in section for f in run.files)[::-1]
    key_types = [f.type for f in store.schema.key_fields]
    runs = [SortedRun(tuple(in_key_order(r.files, key_types))) for r in levels]
    if by_field:
        runs.sort(key=written)
    return [r.files for r in runs], sum(r.level > 0 for r in levels)


def merge_spec(store: TableStore, *, drop_delete: bool) -> MergeSpec:
    """Return the rules for merging rows of the table. Raises `InvalidOptionError` for options that do not fit the
    columns."""
    return MergeSpec(
        key_names=tuple(KEY_PREFIX + k for k in store.schema.trimmed_primary_keys),
        engine=merge_engine(store.schema, store.options),
        sequence_fields=store.options[SEQUENCE_FIELD],
        descending=store.options[SEQUENCE_ORDER] == "descending",
        drop_delete=drop_delete,
    )


def read_rows(
    file_format: FileFormat, io: FileIO, request: ReadRequest, rows: NDArray[np.int64] | None
) -> Iterator[pa.RecordBatch]:
    """Read the columns of a request in the rows at ascending positions, or in all rows if `rows` has the value None.

    The request's predicate is ignored. Parquet skips row groups without any of the rows. Raises the same errors as
    `FileFormat.read`.
    """
    if rows is None:
        return file_format.read(io, request)
    whole = replace(request, predicate=None)
    if isinstance(file_format, ParquetFormat):
        return file_format.read_rows(io, whole, rows)
    return rows_at(file_format.read(io, whole), rows)


def read_others(
    file_format: FileFormat, io: FileIO, request: ReadRequest, rows: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Read the columns of a request in all rows except the rows at ascending positions.

    Parquet skips row groups without a match. Raises the same errors as `FileFormat.read`.
    """
    if isinstance(file_format, ParquetFormat):
        return file_format.read_others(io, request, rows)
    return without_rows(file_format.read(io, replace(request, predicate=None)), rows)
