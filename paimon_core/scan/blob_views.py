"""Replace blob views by the values of other tables to which they refer.

A view names any table of the catalog. So the other table is opened with the rights of the catalog's user. The user
needs the right to read all of it. Its BLOBs are read as that table reads them. Only view columns have views: in other
BLOB columns, a value that looks like a view stays as it is. A view may lead to another view. It is followed with the
same rights, up to `MOST_STEPS` steps. Source: `BlobViewLookup` of Paimon.
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
from paimon_core.errors import InvalidDataError, SnapshotNotFoundError, UnsupportedFeatureError
from paimon_core.options import BLOB_AS_DESCRIPTOR, BLOB_VIEW_FIELD, BLOB_VIEW_RESOLVE, DATA_EVOLUTION
from paimon_core.scan.index_search import splits_with
from paimon_core.scan.plan import plan_scan
from paimon_core.scan.time_travel import snapshot_at
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import DataField, Kind
from paimon_core.store.blob.values import MOST_BYTES, DescribedBlobs, view_parts
from paimon_core.store.features import check_readable, check_seen_whole
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore

Numbers = NDArray[np.int64]
MOST_STEPS = 8  # from a view to its value, over views of views
Read = Callable[[TableStore, DataSplit, Sequence[str]], Iterator[pa.RecordBatch]]


def with_viewed(
    store: TableStore, batches: Iterator[pa.RecordBatch], columns: Sequence[str], read: Read
) -> Iterator[pa.RecordBatch]:
    """Replace views in columns by values, in smaller batches if values are large. With `blob-as-descriptor`, replace
    them by descriptors of the values. `read` reads columns of a split of another table.

    Raises `InvalidDataError` for a view of a row or column that does not exist, `NoPrivilegeError` if the catalog's
    user may not read the other table, `TableNotFoundError`, `UnsupportedFeatureError`, `StorageError`.
    """
    if store.others is None:
        raise UnsupportedFeatureError(
            f"Table {store.name} has blob views of other tables and was opened without a catalog, which would find "
            f"these tables. Open it by its name in a catalog, or set '{BLOB_VIEW_RESOLVE.key}' = 'false'."
        )
    with store.others.opened() as find:
        others = _Others(find, store.others.moment, read)
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
    """The tables that the views in a read refer to, at a moment. Each is opened once."""

    def __init__(self, find: Callable[[str], TableStore], moment: int | None, read: Read) -> None:
        self._find, self._moment, self._read = find, moment, read
        self._numbers: dict[str, int] = {}
        self._tables: list[_Other] = []

    def found(self, column: str, views: pa.Array) -> _Found:
        """Return the descriptors of the values to which views refer."""
        valid = validity(views)
        tables, found = self._followed(column, views.filter(pa.array(valid)), ())
        whole = np.full(len(views), -1, dtype=np.int64)
        whole[valid] = tables
        return _Found(whole, pc.replace_with_mask(pa.nulls(len(views), pa.binary()), pa.array(valid), found))

    def _followed(self, column: str, views: pa.Array, passed: tuple[Numbers, ...]) -> tuple[Numbers, pa.Array]:
        """Return for each view the number of the table with its value, and the value's descriptor.

        A value may be a view itself, and is then followed. `passed` has the places of the earlier steps of each view,
        to find circles. A place is the table, the column and the row; shape (3, views).
        """
        names, codes, field_ids, row_ids = view_parts(column, views)
        tables = np.array([self._number(name) for name in names], dtype=np.int64)[codes]
        here = np.stack([tables, field_ids, row_ids])
        self._check_ends(here, passed)
        owners, found = tables.copy(), pa.nulls(len(tables), pa.binary())
        for number in np.unique(tables).tolist():
            for field_id in np.unique(field_ids[tables == number]).tolist():
                chosen = np.flatnonzero((tables == number) & (field_ids == field_id))
                other = self._tables[number]
                stored = other.stored(field_id, row_ids[chosen], self._read)
                if other.has_views(field_id):
                    there = validity(stored)
                    inner, places = chosen[there], (*(p[:, chosen[there]] for p in passed), here[:, chosen[there]])
                    name = f"{other.column(field_id).name} of table {other.store.name}"
                    owners[inner], stored = self._followed(name, stored.filter(pa.array(there)), places)
                    chosen = inner
                mask = np.zeros(len(tables), dtype=np.bool_)
                mask[chosen] = True
                found = pc.replace_with_mask(found, mask, stored)
        return owners, found

    def _check_ends(self, here: Numbers, passed: tuple[Numbers, ...]) -> None:
        """Raise `InvalidDataError` if a view leads back to itself, or has no value after `MOST_STEPS` steps."""
        again = np.any([(here == places).all(axis=0) for places in passed], axis=0) if passed else None
        if again is not None and again.any():
            number, field_id, row_id = here[:, again][:, 0].tolist()
            other = self._tables[number]
            raise InvalidDataError(
                f"A blob view leads back to itself: row {row_id} of column {other.column(field_id).name!r} of table "
                f"{other.store.name} is a view, too, and the views in it name this row again. Write a value there."
            )
        if len(passed) >= MOST_STEPS and here.size:
            other = self._tables[int(here[0, 0])]
            raise InvalidDataError(
                f"A blob view leads through more than {MOST_STEPS} other views, up to table {other.store.name}. "
                "Write views of the table that has the values."
            )

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
            self._tables.append(_Other.of(self._find(name), self._moment))
        return self._numbers[name]


def _present(found: _Found) -> list[int]:
    return [n for n in np.unique(found.tables).tolist() if n >= 0]


@dataclass(frozen=True, eq=False)
class _Other:
    """A table that views refer to: the splits of the version to read. If this is not the latest version, the splits of
    the latest version come second: clocks of writers differ, so the latest version can have a row that was committed
    before the view.
    """

    store: TableStore
    versions: tuple[tuple[DataSplit, ...], ...]
    blobs: DescribedBlobs = field(repr=False)

    @staticmethod
    def of(store: TableStore, moment: int | None) -> _Other:
        """Return a table. Raises `NoPrivilegeError`, `UnsupportedFeatureError`."""
        other = store.with_options({BLOB_AS_DESCRIPTOR.key: "true", BLOB_VIEW_RESOLVE.key: "false"})
        check_readable(other)
        check_seen_whole(other)
        if other.has_primary_key or not other.options[DATA_EVOLUTION]:
            raise UnsupportedFeatureError(
                f"A blob view refers to table {other.name}, which has no row ids: views can only refer to tables with "
                f"'{DATA_EVOLUTION.key}' = 'true'."
            )
        versions = tuple(plan_scan(other, snapshot).splits for snapshot in _versions(other, moment))
        return _Other(other, versions, DescribedBlobs.of(other))

    def column(self, field_id: int) -> DataField:
        """Return a BLOB column. Raises `InvalidDataError`."""
        found = next((f for f in self.store.schema.fields if f.id == field_id), None)
        if found is None or found.type.kind is not Kind.BLOB:
            raise InvalidDataError(
                f"A blob view names the column with the id {field_id} of table {self.store.name}, which has no such "
                "BLOB column. Write the view again, or leave the row out."
            )
        return found

    def has_views(self, field_id: int) -> bool:
        """Return whether a BLOB column has views of other values."""
        return self.column(field_id).name in self.store.options[BLOB_VIEW_FIELD]

    def stored(self, field_id: int, row_ids: Numbers, read: Read) -> pa.Array:
        """Return the stored content of a column in the rows with these ids, in any order: descriptors of values, or
        views. Raises `InvalidDataError`.
        """
        name = self.column(field_id).name
        known, values = np.zeros(0, dtype=np.int64), pa.array([], pa.binary())
        for splits in self.versions:
            missing = np.setdiff1d(row_ids[row_ids >= 0], known)
            if missing.size:
                ids, found = self._rows(name, splits, missing, read)
                known, values = np.concatenate([known, ids]), pa.concat_arrays([values, found])
        order = np.argsort(known, kind="stable")
        places = np.searchsorted(known[order], row_ids)
        there = places < len(order)
        there[there] = known[order][places[there]] == row_ids[there]
        if not there.all():
            raise InvalidDataError(
                f"A blob view names row {row_ids[~there][0]} of table {self.store.name}, which has no such row: it was "
                "deleted, has another id by now, or never existed. Leave the row with the view out, or write its value "
                "again."
            )
        return values.take(int64_array(order[places]))

    def _rows(self, name: str, splits: Sequence[DataSplit], wanted: Numbers, read: Read) -> tuple[Numbers, pa.Array]:
        """Return the ids of the wanted rows that exist, and the stored content of the column in these rows."""
        ids, values = [np.zeros(0, dtype=np.int64)], [pa.array([], pa.binary())]
        for split in splits_with(splits, wanted):
            for batch in read(self.store, split, [name, ROW_ID]):
                ids.append(fixed_values(batch.column(ROW_ID), np.int64))
                values.append(batch.column(name))
        return np.concatenate(ids), pa.concat_arrays(values)


def _versions(store: TableStore, moment: int | None) -> list[Snapshot | None]:
    """Return the version of a table at a moment, and the latest version if that is another one."""
    latest = latest_snapshot(store)
    if latest is None or moment is None or latest.time_millis <= moment:
        return [latest]
    try:
        return [snapshot_at(store, moment), latest]
    except SnapshotNotFoundError:
        return [latest]
