"""A table as a `pyarrow.dataset.Dataset`: DuckDB and Polars read it with the columns and filters of their queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, PaimonError, UnsupportedFeatureError, reason
from paimon_core.tracing import below
from paimon_sql.python.arguments import COLUMN_NAMES, check_arguments, checked_methods
from paimon_sql.python.arrow_filters import condition_in, positions_in
from paimon_sql.python.scan import TableScan, scan_fields
from paimon_sql.python.where.bound import condition_of
from paimon_sql.python.where.condition import Condition

_MOST_ROWS = 2**63 - 1


def _refused(name: str) -> Callable[..., NoReturn]:
    """Return a method that this dataset does not have. Methods of the base class would read memory that is not set."""

    def method(self: TableDataset, *_: object, **__: object) -> NoReturn:
        raise UnsupportedFeatureError(
            f"A dataset of a Paimon table has no {name}: read rows by to_table(columns, filter), or change the scan."
        )

    method.__name__ = name
    return method


@checked_methods
class TableDataset(ds.Dataset):  # type: ignore[misc]
    """The rows of a scan. Columns and filters of a query become columns and conditions of the scan, and prune files.

    A filter is an expression of `pyarrow.compute`. Arrow evaluates it on the rows, whether it prunes or not.
    """

    def __init__(
        self, scan: TableScan, notify: Callable[[PaimonError], object] | None = None, parent: str | None = None
    ) -> None:
        """`notify` gets the errors of scans, because other tools may raise errors of their own instead. `parent` is the
        parent of the scans' spans, because other tools scan in threads of their own.
        """
        self._scan, self._notify, self._parent = scan, notify, parent

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._scan.schema

    def scan_of(self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None) -> TableScan:
        """Return the scan that reads columns (None: all) and at least the rows that satisfy a filter."""
        names = self._scan.columns if columns is None else self._known(columns)
        changed = replace(self._scan, columns=names or self._scan.columns[:1])
        if filter is None or self._scan.limit is not None:
            return changed
        fields = {f.name: f for f in scan_fields(self._scan.table, self._scan.derived)}
        bound = condition_in(filter, {n: f for n, f in fields.items() if n in self._scan.columns}, self.schema)
        if bound is None:
            return changed
        known = self._scan.condition
        root = bound if known is None else condition_of("and", known.root, bound)
        return replace(changed, condition=Condition(str(filter), root, self._scan.table.store.zone))

    def _known(self, columns: Any) -> tuple[str, ...]:
        """Return names of columns. Raises `ColumnNotFoundError` for another name, `TypeError`."""
        check_arguments("TableDataset", COLUMN_NAMES, {"columns": columns})
        unknown = next((name for name in columns if name not in self.schema.names), None)
        if unknown is not None:
            raise ColumnNotFoundError(f"The scan has no column {unknown!r}; it has {', '.join(self.schema.names)}.")
        return tuple(dict.fromkeys(columns))

    def scanner(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> ds.Scanner:
        """Return a scanner of `pyarrow.dataset`. `columns` are names, or expressions by name; `options` go to
        `Scanner.from_batches`. Raises the errors of `TableScan.to_batches`."""
        names = None
        if not isinstance(columns, dict):
            used = set(self.schema.names if columns is None else self._known(columns)) | _names_in(filter, self.schema)
            names = [name for name in self.schema.names if name in used]
        known = {key: value for key, value in options.items() if value is not None}
        with below(self._parent):
            rows = self.scan_of(names, filter).to_batches()
        if self._notify is not None:
            rows = pa.RecordBatchReader.from_batches(rows.schema, _watched(rows, self._notify))
        with _translated():
            return ds.Scanner.from_batches(rows, columns=columns, filter=filter, **known)

    def to_batches(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> Iterator[Any]:
        """Yield the rows that satisfy a filter, in batches. Arguments as for `scanner`."""
        with _translated():
            yield from self.scanner(columns, filter, **options).to_batches()

    def to_table(self, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> pa.Table:
        """Return the rows that satisfy a filter in memory. Arguments as for `scanner`."""
        with _translated():
            return self.scanner(columns, filter, **options).to_table()

    def head(self, num_rows: int, columns: Any = None, filter: pc.Expression | None = None, **options: Any) -> pa.Table:
        """Return the first rows that satisfy a filter. Arguments as for `scanner`."""
        with _translated():
            return self.scanner(columns, filter, **options).head(min(num_rows, _MOST_ROWS))

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:
        """Return the number of rows that satisfy a filter. Without a filter, use metadata if it has the number."""
        if filter is None:
            return self._scan.count()
        with _translated():
            return int(self.scanner(filter=filter, **options).count_rows())

    def __reduce__(self) -> tuple[Any, ...]:
        return TableDataset, (self._scan,)

    partition_expression = property(_refused("partition_expression"))
    filter = _refused("filter")
    get_fragments = _refused("get_fragments")
    join = _refused("join")
    join_asof = _refused("join_asof")
    replace_schema = _refused("replace_schema")
    sort_by = _refused("sort_by")
    take = _refused("take")
    _get_fragments = _refused("_get_fragments")
    _scan_options = _refused("_scan_options")
    _scanner_options = _refused("_scanner_options")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what Arrow raises for columns, filters and options of a query into errors of this library."""
    try:
        yield
    except PaimonError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidOptionError(
            f"The columns, the filter or the options of the query do not fit the rows: {reason(error)}"
        ) from error


def _watched(rows: pa.RecordBatchReader, notify: Callable[[PaimonError], object]) -> Iterator[pa.RecordBatch]:
    try:
        yield from rows
    except PaimonError as error:
        notify(error)
        raise


def _names_in(filter: pc.Expression | None, schema: pa.Schema) -> set[str]:
    """Return the columns that a filter may use. Arrow's text of a filter contains their names, or their positions in
    the schema.
    """
    if filter is None:
        return set()
    if positions_in(filter):
        return set(schema.names)
    text = str(filter)
    return {name for name in schema.names if name in text}
