"""The statistics of columns in a file, in terms of the present schema."""

from __future__ import annotations

from paimon_core.dataclass import dataclass
from paimon_core.lazy import cached_property
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import ColumnStats
from paimon_core.store.data.column_stats import for_columns, key_stats, names_then, trusted_stats, value_stats
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True)
class FileStats:
    """Statistics of some columns of the store's schema."""

    store: TableStore
    columns: frozenset[str]

    def of(self, file: DataFileMeta) -> dict[str, ColumnStats]:
        """Return the reliable statistics of a file's columns, without columns that changed their type since."""
        schema, wanted = self.schema_then(file.schema_id)
        stats = key_stats(schema, file)
        if any(then not in stats for then in wanted.values()):
            stats = value_stats(schema, file) | stats
        return for_columns(wanted, trusted_stats(schema, stats, file), file)

    def schema_then(self, schema_id: int) -> tuple[TableSchema, dict[str, str | None]]:
        """Return the schema that a file was written with, and the names of the present columns in that schema."""
        known = self._schemas.get(schema_id)
        if known is None:
            schema = read_schema(self.store, schema_id)
            names = names_then(self.store.schema, schema, same_type=True)
            known = schema, {now: then for now, then in names.items() if now in self.columns}
            self._schemas[schema_id] = known
        return known

    @cached_property
    def _schemas(self) -> dict[int, tuple[TableSchema, dict[str, str | None]]]:
        return {}
