"""The queries of the SQL page, which DuckDB runs, or Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.lazy import ImportedOnCall
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.values import text_rows

if TYPE_CHECKING:
    from paimon_sql.python.queries import QueryLimits, run_query
else:  # the first page needs no SQL
    run_query = ImportedOnCall("paimon_sql.python.queries", "run_query")

MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The first columns and rows of a query as texts; `numbers` are the positions of columns with numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int]


class Queries(Protocol):
    """Runs queries that only read."""

    @property
    def label(self) -> str:
        """The label of the field for a query."""

    def run(self, catalog: PaimonCatalog, text: str, limits: QueryLimits) -> QueryAnswer:
        """Run a query with the rights of the catalog's user. Raises a `PaimonError` that the page can show."""


class DuckDbQueries:
    """Runs queries in DuckDB."""

    label = "A SELECT in DuckDB's SQL; tables are named database.table"

    def run(self, catalog: PaimonCatalog, text: str, limits: QueryLimits) -> QueryAnswer:
        found = run_query(catalog, text, limits)
        shown = found.select(range(min(found.num_columns, MOST_COLUMNS)))
        return QueryAnswer(shown.column_names, text_rows(shown, catalog.zone), number_columns(shown))


def number_columns(found: pa.Table) -> list[int]:
    """Return the positions of columns with numbers."""
    kinds = enumerate(found.schema.types)
    return [i for i, t in kinds if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)]
