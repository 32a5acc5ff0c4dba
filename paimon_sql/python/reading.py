"""The rows of splits: filtered, with the columns of a scan, read by several threads in the order of the splits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.chars import has_chars, with_spaces
from paimon_core.arrow.required_parts import with_required_parts
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError, reason
from paimon_core.expressions.predicate import Predicate
from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.scan.derived_tables import DerivedTable, derived_fields, read_derived
from paimon_core.scan.splits import spread
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.spec.types import DataType
from paimon_core.store.table_store import TableStore
from paimon_sql.python.where.condition import Condition

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from paimon_core.expressions.shown import Shown
else:
    ThreadPoolExecutor = ImportedOnCall("concurrent.futures", "ThreadPoolExecutor")

Found = TypeVar("Found")
_AHEAD = 4  # batches of a split that wait for their turn
_PARTS, _LEAST_PART = 4, 2**21  # parts of a scan for each thread, and bytes of a part: a thread starts at once
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of a scan from splits. `pickle` can copy it to another process.

    `schema` are the columns of the result. `predicate` filters rows while files are read; rows that do not match may
    remain. `condition` decides. With `shown`, only these rows and masked columns are visible.
    """

    store: TableStore
    derived: DerivedTable
    schema: pa.Schema
    predicate: Predicate | None = None
    condition: Condition | None = None
    shown: Shown | None = None

    def batches(self, split: DataSplit) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split. Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`,
        `InvalidDataError` for a value that the condition fails on."""
        wanted = self.schema.names
        used = () if self.condition is None else sorted(self.condition.columns - set(wanted))
        names = [*wanted, *used]
        for batch in self._visible(split, names):
            rows = batch if self.condition is None else self.condition.filter(batch)
            if rows.num_rows:
                yield self._typed(rows)

    def _visible(self, split: DataSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that the catalog's user may see."""
        if self.shown is None:
            yield from read_derived(self.store, self.derived, split, names, self.predicate)
            return
        for batch in read_derived(self.store, self.derived, split, self.shown.stored(names)):
            yield self.shown.of(batch, names)

    def _typed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of the result: CHAR values are filled with spaces, and nested columns lack the ids of files."""
        try:
            filled = (self._filled(f.name, with_required_parts(rows.column(f.name))) for f in self.schema)
            pairs = zip(filled, self.schema, strict=True)
            arrays = [c if c.type.equals(f.type, check_metadata=True) else pc.cast(c, f.type) for c, f in pairs]
            return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except pa.ArrowInvalid as e:
            raise UnfamiliarFormError(self.store.root, f"a value does not fit its column ({reason(e)})") from e

    def _filled(self, name: str, column: pa.Array) -> pa.Array:
        data_type = self._of_chars.get(name)
        return column if data_type is None else with_spaces(column, data_type)

    @cached_property
    def _of_chars(self) -> dict[str, DataType]:
        """The types of the columns with CHAR values, by name."""
        return {f.name: f.type for f in derived_fields(self.store, self.derived) if has_chars(f.type)}


@dataclass(frozen=True)
class ScanSplit:
    """A part of a scan, to be read anywhere: in a thread, a process, or on another machine with the same package.

    Send it to other processes by `pickle`. It contains the settings of the storage and their secrets. Never unpickle
    data that other users may have changed.
    """

    reader: RowReader
    split: DataSplit

    @property
    def size(self) -> int:
        """Bytes of the files to read."""
        return self.split.size

    @property
    def row_count(self) -> int:
        """Rows in the files, before they are merged and filtered."""
        return self.split.row_count

    @property
    def json(self) -> str:
        """The files of the split as JSON, without secrets: `TableScan.split` makes a split of it again."""
        return DATA_SPLIT.encode(self.split)

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of batches. Raises the errors of `TableScan.to_batches`."""
        return pa.RecordBatchReader.from_batches(self.reader.schema, self.reader.batches(self.split))

    def to_arrow(self) -> pa.Table:
        """Return the rows in memory. Raises the errors of `TableScan.to_batches`."""
        return pa.Table.from_batches(self.reader.batches(self.split), self.reader.schema)


def divided(splits: Sequence[DataSplit], threads: int) -> list[DataSplit]:
    """Divide splits so that the threads of this process end at about the same time."""
    return list(spread(splits, _PARTS * threads, _LEAST_PART)) if threads > 1 else list(splits)


def in_order(
    reader: RowReader, splits: Sequence[DataSplit], threads: int, *, collected: bool = False
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the batches of splits in their order. Up to `threads` splits are read ahead, each by a few batches. With
    `collected`, all splits are read ahead completely, because the caller keeps all rows in memory anyway.
    """
    reader = _with_spare_threads(reader, splits, threads)
    if threads < 2 or len(splits) < 2:
        for split in splits:
            yield from reader.batches(split)
        return
    stop = threading.Event()
    feeds = [_Feed(stop, 0 if collected else _AHEAD) for _ in splits]
    pool = ThreadPoolExecutor(min(threads, len(splits)), thread_name_prefix="scan")
    waiting = iter(zip(feeds, splits, strict=True))

    def begin(count: int) -> None:
        for feed, split in islice(waiting, count):
            pool.submit(feed.fill, lambda split=split: reader.batches(split))  # type: ignore[misc]

    try:
        begin(len(splits) if collected else threads)
        for feed in feeds:
            yield from feed.drain()
            begin(1)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def of_each(
    reader: RowReader,
    splits: Sequence[DataSplit],
    threads: int,
    work: Callable[[Iterator[pa.RecordBatch]], Found],
) -> list[Found]:
    """Return the results of a function of the batches of each split, in the order of the splits.

    The thread that reads a split calls the function, so that no batch waits. The first error stops all threads.
    """
    reader = _with_spare_threads(reader, splits, threads)
    stop = threading.Event()

    def until_stopped(split: DataSplit) -> Iterator[pa.RecordBatch]:
        for batch in reader.batches(split):
            if stop.is_set():
                return
            yield batch

    pool = ThreadPoolExecutor(max(1, min(threads, len(splits))), thread_name_prefix="scan")
    try:
        return list(pool.map(lambda split: work(until_stopped(split)), splits))
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _with_spare_threads(reader: RowReader, splits: Sequence[DataSplit], threads: int) -> RowReader:
    """Return the reader, which reads a file by several threads if there are fewer splits than threads."""
    spare = threads // max(1, len(splits))
    return replace(reader, store=replace(reader.store, threads=spare)) if spare > 1 else reader


class _Feed:
    """The batches of a split on their way from the thread that reads to the caller."""

    def __init__(self, stop: threading.Event, ahead: int) -> None:
        self._stop = stop
        self._waiting: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(ahead)

    def fill(self, read: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        try:
            for batch in read():
                if not self._put(batch):
                    return
        except BaseException as error:  # the caller's thread raises it
            self._put(error)
        else:
            self._put(None)

    def drain(self) -> Iterator[pa.RecordBatch]:
        while (found := self._waiting.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found

    def _put(self, item: pa.RecordBatch | BaseException | None) -> bool:
        """Hand over an item; False if the caller no longer reads."""
        while not self._stop.is_set():
            try:
                self._waiting.put(item, timeout=_POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False


def first_of(batches: Generator[pa.RecordBatch, None, None], limit: int) -> Iterator[pa.RecordBatch]:
    """Yield the first rows, and stop the reading behind them."""
    left = limit
    try:
        while left > 0:
            try:
                batch = next(batches)
            except StopIteration:
                return
            rows = batch.slice(0, min(left, batch.num_rows))
            left -= rows.num_rows
            yield rows
    finally:
        batches.close()
