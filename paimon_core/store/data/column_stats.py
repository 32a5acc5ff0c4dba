"""The statistics of a file for the current columns of the table.

Columns are found by field id, because they may have been renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_core.formats.registry import format_name
from paimon_core.formats.trusted_bounds import BY_FORMAT, MEASURED
from paimon_core.options import PK_CLUSTERING_OVERRIDE
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import EMPTY_STATS, UNKNOWN, ColumnStats, SimpleStats, decode_stats
from paimon_core.spec.types import BIGINT, DataType

_SYSTEM_TYPES: dict[str, DataType] = {"_ROW_ID": BIGINT, "_SEQUENCE_NUMBER": BIGINT}


def value_stats(then: TableSchema, file: DataFileMeta) -> dict[str, ColumnStats]:
    """Return the statistics by column name in the schema of the file. Columns without statistics are left out."""
    if then.counts_equal_rows:
        return {}
    names = next((n for n in (file.value_stats_cols, file.write_cols) if n is not None), tuple(then.field_by_name))
    return _decode(then, names, file.value_stats)


def key_stats(then: TableSchema, file: DataFileMeta) -> dict[str, ColumnStats]:
    """Return the statistics of the trimmed primary key, like `value_stats`.

    Return none if files are sorted by other columns.
    """
    if is_sorted_by_others(then):
        return {}
    return _decode(then, then.trimmed_primary_keys, file.key_stats) if then.primary_keys else {}


def is_sorted_by_others(schema: TableSchema) -> bool:
    """Return whether files are sorted by other columns than the key.

    If so, their first and last keys are not bounds.
    """
    return schema.options.get(PK_CLUSTERING_OVERRIDE.key, "").strip().lower() == "true"


def names_then(now: TableSchema, then: TableSchema, *, same_type: bool) -> dict[str, str | None]:
    """Return the earlier names of the current columns, None for columns that did not exist yet.

    With `same_type`, columns that changed their type are left out: their bounds have the old type.
    """
    by_id, found = {f.id: f for f in then.fields}, dict[str, str | None]()
    for field in now.fields:
        old = by_id.get(field.id)
        if old is None:
            found[field.name] = None
        elif not same_type or old.type.with_nullable(True) == field.type.with_nullable(True):
            found[field.name] = old.name
    return found


def for_columns(
    names: Mapping[str, str | None], stats: Mapping[str, ColumnStats], file: DataFileMeta
) -> dict[str, ColumnStats]:
    """Return the statistics by the current names of columns. A column that the file lacks is NULL in all rows."""
    missing, written = ColumnStats(None, None, file.row_count), file.write_cols
    return {
        now: missing if then is None or (written is not None and then not in written) else stats.get(then, UNKNOWN)
        for now, then in names.items()
    }


def _decode(schema: TableSchema, names: Sequence[str], stats: SimpleStats) -> dict[str, ColumnStats]:
    types = _types(schema)
    if not names or stats == EMPTY_STATS or not all(n in types for n in names):
        return {}
    return dict(zip(names, decode_stats([types[n] for n in names], stats), strict=True))


def trusted_stats(then: TableSchema, stats: Mapping[str, ColumnStats], file: DataFileMeta) -> dict[str, ColumnStats]:
    """Return the statistics of a file, without bounds that may be wrong for some of its values."""
    trust, types = BY_FORMAT.get(format_name(file.file_name), MEASURED), _types(then)
    return {name: trust.bounds(types[name], s) for name, s in stats.items()}


def _types(schema: TableSchema) -> dict[str, DataType]:
    return _SYSTEM_TYPES | {f.name: f.type for f in schema.fields}
