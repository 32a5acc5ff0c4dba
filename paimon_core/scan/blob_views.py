"""Replace blob views by the values of other tables to which they refer.

A view names any table of the catalog. So the other table is opened with the rights of the catalog's user. The user
needs the right to read all of it. Its BLOBs are read as that table reads them. Views are in view columns only: a value
of another BLOB column that looks like a view stays as it is.
Source: `BlobViewLookup` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array, validity
from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.options import BLOB_AS_DESCRIPTOR, BLOB_VIEW_FIELD, BLOB_VIEW_RESOLVE, DATA_EVOLUTION
from paimon_core.scan.index_search import splits_with
from paimon_core.scan.plan import plan_scan
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import Kind
from paimon_core.store.blob.values import MOST_BYTES, DescribedBlobs, view_parts
from paimon_core.store.features import check_readable, check_seen_whole
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore

Numbers = NDArray[np.int64]
Read = Callable[[TableStore, DataSplit, Sequence[str]], Iterator[pa.RecordBatch]]


def with_viewed(
    store: TableStore, batches: Iterator[pa.RecordBatch], columns: Sequence[str], read: Read
) -> Iterator[pa.RecordBatch]:
    """Replace views in columns by values, in smaller batches if values are large. With `blob-as-descriptor`, by
    descriptors of the values. `read` reads columns of a split of another table.

    Raises `InvalidDataError` for a view of a row or column that does not exist, `NoPrivilegeError` if the catalog's
    user may not read the other table, `TableNotFoundError`, `UnsupportedFeatureError`, `StorageError`.
    """
    others = _Others(store, read)
    for batch in batches:
        found = [others.found(name, batch.column(name)) for name in columns]
        if store.options[BLOB_AS_DESCRIPTOR]:
            yield _with_columns(batch, columns, [f.descriptors for f in found])
            continue
        ends = np.cumsum(sum(others.sizes(f) for f in found))
        start = 0
        while start < len(ends):
            before = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + MOST_BYTES, side="right")))
            part = [f.sliced(start, end) for f in found]
            yield _with_columns(batch.slice(start, end - start), columns, [others.values(p) for p in part])
            start = end


def _with_columns(batch: pa.RecordBatch, names: Sequence[str], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    for name, array in zip(names, arrays, strict=True):
        index = batch.schema.get_field_index(name)
        batch = batch.set_column(index, batch.schema.field(index), array)
    return batch


@dataclass(frozen=True, eq=False)
class _Found:
    """The descriptors of a column's values, and per value the number of the table that has it; -1 for NULL."""

    tables: Numbers
    descriptors: pa.Array

    def sliced(self, start: int, end: int) -> _Found:
        return _Found(self.tables[start:end], self.descriptors.slice(start, end - start))


class _Others:
    """The tables that the views in a read refer to. Each is opened once."""

    def __init__(self, store: TableStore, read: Read) -> None:
        self._store, self._read = store, read
        self._numbers: dict[str, int] = {}
        self._tables: list[_Other] = []

    def found(self, column: str, views: pa.Array) -> _Found:
        """Return the descriptors of the values to which views refer."""
        valid = validity(views)
        names, codes, field_ids, row_ids = view_parts(column, views.filter(pa.array(valid)))
        tables = np.array([self._number(name) for name in names], dtype=np.int64)[codes]
        found = pa.nulls(len(tables), pa.binary())
        for number in np.unique(tables).tolist():
            for field_id in np.unique(field_ids[tables == number]).tolist():
                chosen = (tables == number) & (field_ids == field_id)
                described = self._tables[number].descriptors(field_id, row_ids[chosen], self._read)
                found = pc.replace_with_mask(found, chosen, described)
        whole = np.full(len(views), -1, dtype=np.int64)
        whole[valid] = tables
        return _Found(whole, pc.replace_with_mask(pa.nulls(len(views), pa.binary()), pa.array(valid), found))

    def sizes(self, found: _Found) -> Numbers:
        """Return the number of bytes of each value."""
        return sum(
            (np.where(found.tables == n, self._tables[n].blobs.sizes(found.descriptors), 0) for n in _present(found)),
            np.zeros(len(found.tables), dtype=np.int64),
        )

    def values(self, found: _Found) -> pa.Array:
        """Return the values, each as its own table reads it."""
        values = pa.nulls(len(found.tables), pa.binary())
        for number in _present(found):
            chosen = found.tables == number
            read = self._tables[number].blobs.resolved(found.descriptors.filter(pa.array(chosen)))
            values = pc.replace_with_mask(values, chosen, read.cast(pa.binary()))
        return values

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self._tables)
            self._tables.append(_Other.opened(self._store, name))
        return self._numbers[name]


def _present(found: _Found) -> list[int]:
    return [n for n in np.unique(found.tables).tolist() if n >= 0]


@dataclass(frozen=True, eq=False)
class _Other:
    """A table that views refer to, in its latest version."""

    store: TableStore
    splits: tuple[DataSplit, ...]
    blobs: DescribedBlobs = field(repr=False)

    @staticmethod
    def opened(store: TableStore, name: str) -> _Other:
        if store.others is None:
            raise UnsupportedFeatureError(
                f"Table {store.name} has blob views, such as of {name}, and was opened without a catalog, which would "
                f"find the other table. Open it by its name in a catalog, or set '{BLOB_VIEW_RESOLVE.key}' = 'false'."
            )
        other = store.others.store_of(name).with_options({BLOB_AS_DESCRIPTOR.key: "true"})
        check_readable(other)
        check_seen_whole(other)
        if other.has_primary_key or not other.options[DATA_EVOLUTION]:
            raise UnsupportedFeatureError(
                f"A blob view names table {other.name}, and its rows have no ids: views are of tables with "
                f"'{DATA_EVOLUTION.key}' = 'true'."
            )
        return _Other(other, plan_scan(other, latest_snapshot(other)).splits, DescribedBlobs.of(other))

    def descriptors(self, field_id: int, row_ids: Numbers, read: Read) -> pa.Array:
        """Return descriptors of the values of a column in the rows with these ids, in any order. Raises
        `InvalidDataError`."""
        column = next((f for f in self.store.schema.fields if f.id == field_id), None)
        if column is None or column.type.kind is not Kind.BLOB:
            raise InvalidDataError(
                f"A blob view names the column with the id {field_id} of table {self.store.name}, which has no such "
                "BLOB column. Write the view again, or leave the row out."
            )
        if column.name in self.store.options[BLOB_VIEW_FIELD]:
            raise UnsupportedFeatureError(
                f"A blob view names column {column.name!r} of table {self.store.name}, which has views itself. Write "
                f"these views: read that table with '{BLOB_VIEW_RESOLVE.key}' = 'false'."
            )
        wanted = np.unique(row_ids)
        ids, described = [np.zeros(0, dtype=np.int64)], [pa.array([], pa.binary())]
        for split in splits_with(self.splits, wanted[wanted >= 0]):
            for batch in read(self.store, split, [column.name, ROW_ID]):
                ids.append(fixed_values(batch.column(ROW_ID), np.int64))
                described.append(batch.column(column.name))
        known, values = np.concatenate(ids), pa.concat_arrays(described)
        order = np.argsort(known, kind="stable")
        places = np.searchsorted(known[order], row_ids)
        there = places < len(order)
        there[there] = known[order][places[there]] == row_ids[there]
        if not there.all():
            raise InvalidDataError(
                f"A blob view names row {row_ids[~there][0]} of table {self.store.name}, which has no such row: it was "
                "deleted, or never existed. Leave the row with the view out, or write its value again."
            )
        return values.take(int64_array(order[places]))
