"""The rows that a task reads of its split for a LIMIT, or for the first rows in the order of the keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.scan.limits import Order, key_order
from paimon_core.spec.split import DataSplit
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The rows that a task reads of its split: the first `count` rows. If the rows ascend by a `column`, the task also
    reads the following rows with the same value in this column as the last of them.
    """

    count: int
    column: str | None = None

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows to read. Stop before batches that are not needed."""
        left, last = self.count, None
        for batch in batches:
            rows = min(left, batch.num_rows)
            left -= rows
            if rows:
                last = None if self.column is None else batch.column(self.column)[rows - 1]
            if not left and last is not None:
                rows += _leading(batch.column(self.column).slice(rows), last)
            if rows:
                yield batch.slice(0, rows)
            if not left and (last is None or rows < batch.num_rows):
                return


def _leading(values: pa.Array, value: pa.Scalar) -> int:
    """Return how many values at the beginning are equal to a value."""
    other = pc.index(pc.equal(values, value), False).as_py()
    return len(values) if other < 0 else int(other)


def first_of_splits(
    store: TableStore, splits: Sequence[DataSplit], columns: Collection[str], order: Order | None, count: int
) -> FirstRows | None:
    """Return the rows of each split that can be among the first `count` rows of all; None if each row can."""
    if order is None:
        return FirstRows(count)
    ascends = not order.descending and key_order(store, splits, columns)[:1] == (order.column,)
    return FirstRows(count, order.column) if ascends else None
