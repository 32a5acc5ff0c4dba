"""A scan of a table: a value that selects rows, and returns them as Arrow, pandas or Polars."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from paimon_core.arrow.types import ROW_ID, TRACKING_FIELDS, arrow_schema, plain_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, UnsupportedFeatureError, reason
from paimon_core.expressions.predicate import Predicate, columns, conjunction, describe
from paimon_core.lazy import ImportedOnCall, cached_property
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.execution import check_full_scan, check_row_positions, is_answered_by_partitions
from paimon_core.scan.metadata_columns import metadata_fields
from paimon_core.scan.plan import Plan
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.spec.types import NESTED_KINDS, DataField, Kind, cheap_field
from paimon_core.store.blob.columns import store_of_read
from paimon_core.store.data.row_tracking import check_vectors_readable, tracking_fields
from paimon_core.store.features import check_selectable, shown_part
from paimon_core.table import Table
from paimon_sql.python.arguments import Options, checked_methods
from paimon_sql.python.reading import RowReader, ScanSplit, divided, first_of, in_order
from paimon_sql.python.where.condition import Condition, Where

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from paimon_core.expressions.shown import Shown
    from paimon_core.optional_packages import missing_package
    from paimon_core.rights import AskedRights
    from paimon_core.scan.aggregates import Aggregate, aggregate
    from paimon_core.scan.limits import first_rows
    from paimon_sql.python.dataset import TableDataset
    from paimon_sql.python.searching import compared_rows, indexed_rows, matching_rows, text_query, vector_query
else:
    TableDataset = ImportedOnCall("paimon_sql.python.dataset", "TableDataset")
    missing_package = ImportedOnCall("paimon_core.optional_packages", "missing_package")
    AskedRights = ImportedOnCall("paimon_core.rights", "AskedRights")
    Aggregate = ImportedOnCall("paimon_core.scan.aggregates", "Aggregate")
    aggregate = ImportedOnCall("paimon_core.scan.aggregates", "aggregate")
    vector_query = ImportedOnCall("paimon_sql.python.searching", "vector_query")
    compared_rows = ImportedOnCall("paimon_sql.python.searching", "compared_rows")
    indexed_rows = ImportedOnCall("paimon_sql.python.searching", "indexed_rows")
    matching_rows = ImportedOnCall("paimon_sql.python.searching", "matching_rows")
    text_query = ImportedOnCall("paimon_sql.python.searching", "text_query")
    first_rows = ImportedOnCall("paimon_core.scan.limits", "first_rows")


@checked_methods
@dataclass(frozen=True)
class TableScan:
    """Rows of one version of a table: `PaimonTable.scan` makes a scan, and a request for rows reads them.

    The version is fixed: a scan returns the same rows each time, as long as the version is not expired. A scan may be
    used from several threads. It is an Arrow stream (`__arrow_c_stream__`), so that `polars.DataFrame(scan)`,
    `duckdb.sql("SELECT … FROM scan")`, pandas and DataFusion accept it directly.
    """

    table: Table = field(repr=False)
    derived: DerivedTable
    version: Snapshot | Increment | None = field(repr=False)
    columns: tuple[str, ...]
    condition: Condition | None = None
    limit: int | None = None
    shown: Shown | None = field(default=None, repr=False)

    # -- rows ---------------------------------------------------------------------------------------------------------
    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        known = {f.name: f for f in scan_fields(self.table, self.derived)}
        return plain_schema(arrow_schema([known[name] for name in self.columns]))

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of batches, read by all cores with bounded memory.

        The rows of a split are in the order of their files. No other order is guaranteed. Raises `DataFileMissingError`
        if the version expired meanwhile, `TableNotFoundError` if the table was dropped or replaced by another one since
        it was opened, `CorruptFileError`, `StorageError`; `InvalidDataError` for a value that the condition fails on,
        such as a division by zero.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_arrow(self) -> pa.Table:
        """Return the rows in memory. Raises the errors of `to_batches`."""
        return pa.Table.from_batches(self._batches(collected=True), self.schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return the rows as a DataFrame of pandas; `options` go to `pyarrow.Table.to_pandas`. Raises the errors of
        `to_batches`; `InvalidOptionError` for options that do not fit, `UnsupportedFeatureError` if pandas is not
        installed.
        """
        _imported("pandas", "to_pandas")
        rows = self.to_arrow()
        try:
            return rows.to_pandas(**options)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidOptionError(f"The rows cannot become a DataFrame of pandas: {reason(error)}.") from error

    @overload
    def to_polars(self, *, lazy: Literal[False] = False) -> pl.DataFrame: ...

    @overload
    def to_polars(self, *, lazy: Literal[True]) -> pl.LazyFrame: ...

    def to_polars(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """Return the rows as a DataFrame of Polars. With `lazy`, return a LazyFrame, which reads the columns and rows
        that its query needs. Raises the errors of `to_batches`; `UnsupportedFeatureError` if Polars is not installed.
        """
        polars = _imported("polars", "to_polars")
        found: pl.DataFrame | pl.LazyFrame
        found = polars.scan_pyarrow_dataset(self.to_dataset()) if lazy else polars.from_arrow(self.to_arrow())
        return found

    def to_dataset(self) -> TableDataset:
        """Return the scan as a `pyarrow.dataset.Dataset`, for `polars.scan_pyarrow_dataset` and as a table of DuckDB:
        the columns and filters of their queries choose what is read."""
        return TableDataset(self)

    def count(self) -> int:
        """Return the number of rows: from metadata if it has the number, else by reading as few columns as possible.
        Raises the errors of `to_batches`."""
        known = self._known_count()
        if known is not None:
            return known if self.limit is None else min(known, self.limit)
        return sum(batch.num_rows for batch in replace(self, columns=(self._cheapest(),))._batches())

    def nearest(
        self,
        column: str,
        vector: Sequence[float],
        k: int = 10,
        metric: str | None = None,
        options: Options | None = None,
    ) -> pa.Table:
        """Return the `k` rows with the vectors nearest to `vector`, the nearest first: by an index of the column, or
        else exact.

        The column `__paimon_search_score` has the score of each row. `metric` is `l2`, `cosine` or `inner_product`
        (default: of the index, else of the table's options, else `l2`). `options` are settings of the search, such as
        `ivf.nprobe`. Rows with NULL in `column` are left out. Raises
        `ColumnNotFoundError`, `InvalidOptionError` for a search that does not fit the column, `InvalidDataError` for an
        array of another length than `vector`; else as `to_batches`.
        """
        query = vector_query(self, column, vector, k, metric, options)
        wider = self if column in self.columns else replace(self, columns=(*self.columns, column))
        if not self._is_indexed:
            return compared_rows(wider, query, self.columns)
        has_condition = wider._evaluated is not None
        return indexed_rows(wider, wider._plan, wider._reader, query, self.columns, has_condition=has_condition)

    def matching(self, column: str, query: str | Mapping[str, Any], k: int = 10) -> pa.Table:
        """Return the `k` rows with the texts that match `query` best, the best first, with their scores in the column
        `__paimon_search_score`: by an index of the column, or else by an index that is made of the texts.

        `query` is JSON, or a dict of it, such as `{"match": {"query": "lake"}}`; docs/text-search.md has its kinds.
        Raises `ColumnNotFoundError`; `InvalidOptionError` for a query that is not valid or a column without texts;
        `UnsupportedFeatureError` for a table without data evolution, a scan of changes, a user who sees a part of the
        rows, and without `paimon-sql[fulltext]`; else as `to_batches`.
        """
        asked = text_query(self, column, query, k)
        if not self._is_indexed:
            raise UnsupportedFeatureError(
                f"Table {self.table.name} cannot be searched for texts in this scan. A search needs all rows of one "
                "version, not changes, and the permission to read all rows. Scan a version of the table itself."
            )
        has_condition = self._evaluated is not None
        return matching_rows(self, self._plan, self._reader, asked, self.columns, has_condition=has_condition)

    @property
    def _is_indexed(self) -> bool:
        """Return whether indexes may find rows. They cannot if the user sees only a part of the table, because indexes
        cover hidden rows, too.
        """
        return self._is_version and self.derived is DerivedTable.ROWS and self.shown is None

    def explain(self) -> str:
        """Return a text: the version, the files to read, and what the condition prunes. Reads metadata only."""
        pushed = ", ".join(describe(p) for p in self._pruning) or "none"
        seen = f"{self.derived.value} of " if self.derived.value else ""
        changes = f", {self.version.describe()}" if isinstance(self.version, Increment) else ""
        lines = [
            f"{seen}{self._plan.describe()}{changes}",
            f"columns: {', '.join(self.columns)}",
            f"pushed filters: {pushed}",
            f"evaluated: {'none' if self._evaluated is None else self._evaluated.text}",
        ]
        return "\n".join(lines if self.limit is None else [*lines, f"limit: {self.limit}"])

    def plan(self) -> list[ScanSplit]:
        """Return the parts of the scan, to be read in any order and place. A `limit` is not applied to them.
        Reads metadata only; raises `UnsupportedFeatureError`, `CorruptFileError`, `StorageError`."""
        return [ScanSplit(self._reader, split) for split in self._plan.splits]

    def to_batches_of(self, splits: Sequence[DataSplit]) -> pa.RecordBatchReader:
        """Return the rows of other splits of the table as a stream, in the order of the splits. Raises as
        `to_batches`."""
        return pa.RecordBatchReader.from_batches(self.schema, in_order(self._reader, splits, pa.cpu_count()))

    def split(self, json: str) -> ScanSplit:
        """Return the part of this scan with the files that `ScanSplit.json` names. Raises `CorruptFileError`."""
        return ScanSplit(self._reader, DATA_SPLIT.decode(json))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_batches().__arrow_c_stream__(requested_schema)

    # -- how ----------------------------------------------------------------------------------------------------------
    def _batches(self, *, collected: bool = False) -> Iterator[pa.RecordBatch]:
        threads = pa.cpu_count()
        splits = divided(self._plan.splits, threads)
        batches = in_order(self._reader, splits, threads, collected=collected and self.limit is None)
        return batches if self.limit is None else first_of(batches, self.limit)

    @cached_property
    def _plan(self) -> Plan:
        store = self.table.store
        plan = self.table.plan_of_same(self.version, conjunction(self._pruning), self.derived)
        check_full_scan(store, plan)
        check_vectors_readable(store, self.columns)
        if self.limit is not None and self._evaluated is None and self.shown is None and self._is_version:
            plan = first_rows(store, plan, self.limit)
        used = set(self.columns) | (frozenset() if self.condition is None else self.condition.columns)
        check_row_positions(store, plan, sorted(used))
        return plan

    @cached_property
    def _reader(self) -> RowReader:
        of_rows = [] if self.shown is not None else [p for p in self._pruning if ROW_ID not in columns(p)]
        used = (*self.columns, *(() if self.condition is None else self.condition.columns))
        store = store_of_read(self.table.store, used)
        return RowReader(store, self.derived, self.schema, conjunction(of_rows), self._evaluated, self.shown)

    @cached_property
    def _pruning(self) -> list[Predicate]:
        """The predicates that choose files. A user who sees a part of the table prunes by unmasked columns only."""
        bare = self._filtered.keys() - (frozenset() if self.shown is None else self.shown.masked)
        return [p for p in self._pushed if p is not None and columns(p) <= bare]

    @cached_property
    def _pushed(self) -> list[Predicate | None]:
        return [] if self.condition is None else [p for _, p in self.condition.pushed(self._filtered)]

    @property
    def _evaluated(self) -> Condition | None:
        """Return the condition to check rows for, or None if all rows of the partitions to read satisfy it."""
        schema = self.table.schema
        answered = self._is_version and self.shown is None
        if answered and all(p is not None and is_answered_by_partitions(p, schema) for p in self._pushed):
            return None
        return self.condition

    @property
    def _filtered(self) -> Mapping[str, DataField]:
        """The columns with equal values in the files and in the result, so that filters can use the files."""
        held = self.table.schema.field_by_name if self.derived is not DerivedTable.BINLOG else {}
        if self._is_version and self.table.store.options[DATA_EVOLUTION]:
            held = {**held, ROW_ID: TRACKING_FIELDS[0]}  # which only metadata is asked for
        return {name: f for name, f in held.items() if f.type.kind is not Kind.BLOB}

    @property
    def _is_version(self) -> bool:
        return not self.derived.is_log and not isinstance(self.version, Increment)

    def _known_count(self) -> int | None:
        if self._evaluated is not None or self.shown is not None or not self._is_version:
            return None
        plan = self.table.plan_of_same(self.version, conjunction(self._pruning), self.derived)
        found = aggregate(self.table.store, plan, (), (Aggregate("count"),))
        return None if found is None else int(found.column(0)[0].as_py())

    def _cheapest(self) -> str:
        """A column that takes little time to read: a column of the condition or the key, or a flat one."""
        if self.condition is not None and self.condition.columns:
            return min(self.condition.columns)
        if self.table.schema.primary_keys:
            return self.table.schema.primary_keys[0]
        fields = derived_fields(self.table.store, self.derived)
        flat = (f for f in fields if f.type.kind not in (*NESTED_KINDS, Kind.BLOB))
        return next(flat, cheap_field(fields)).name


def new_scan(
    table: Table,
    derived: DerivedTable,
    version: Snapshot | Increment | None,
    names: Sequence[str] | None,
    where: Where | None,
    limit: int | None,
    latest: Table,
) -> TableScan:
    """Return a scan of a table at a version; `latest` has the table's present columns. Raises the errors of
    `PaimonTable.scan`.
    """
    fields = scan_fields(table, derived)
    own = [f.name for f in derived_fields(table.store, derived)]
    chosen = tuple(own if names is None else names)
    known = {f.name for f in fields}
    if missing := [name for name in chosen if name not in known]:
        raise ColumnNotFoundError(f"Table {table.name} has no column {missing[0]!r}: it has {', '.join(own)}.")
    if not chosen or len(set(chosen)) < len(chosen):
        raise InvalidOptionError("columns must name at least one column, and each only once.")
    if limit is not None and limit < 0:
        raise InvalidOptionError(f"limit cannot be {limit}: give a number of rows, 0 or more.")
    condition = None if where is None else Condition.of(where, fields, table.store.zone)
    scan = TableScan(table, derived, version, chosen, condition, limit)
    return _permitted(scan, latest)


def scan_fields(table: Table, derived: DerivedTable) -> list[DataField]:
    """Return the columns that a scan may name: the table's columns, and the metadata columns that have other names than
    these.
    """
    own = derived_fields(table.store, derived)
    hidden = {f.name for f in own}
    extra = () if derived is not DerivedTable.ROWS else (*metadata_fields(table.schema), *tracking_fields(table.store))
    return [*own, *(f for f in extra if f.name not in hidden)]


def _imported(package: str, method: str) -> ModuleType:
    """Import a package that only one method needs. Raises `UnsupportedFeatureError` if it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise missing_package(package, method, f"pip install {package}", error) from error


def _permitted(scan: TableScan, latest: Table) -> TableScan:
    """Return the scan of what the catalog's user may read. Raises `NoPrivilegeError`, `UnsupportedFeatureError`."""
    table = scan.table
    if scan.derived is not DerivedTable.ROWS:
        check_selectable(table.store)
        return scan
    shown = shown_part(table.store)
    if shown is None:
        return scan
    own = table.schema.field_by_name.keys()
    used = set(scan.columns) | (frozenset() if scan.condition is None else scan.condition.columns)
    if isinstance(scan.version, Increment) or used - own:
        raise UnsupportedFeatureError(
            f"Table {table.name} cannot be read by its changes or with metadata columns: the catalog shows its user "
            "only some of the rows, or masks columns. Scan columns of a version, or open the table as another user."
        )
    shown.check_version(table.name, latest.schema.fields, table.schema.fields)
    asked = replace(table, store=replace(table.store, rights=AskedRights()))
    return replace(scan, table=asked, shown=shown)
