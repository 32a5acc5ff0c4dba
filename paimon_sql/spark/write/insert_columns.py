"""The columns of the table that a parsed INSERT writes its query's columns to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.types import StructField, StructType

from paimon_core.arrow.evolution import spelled
from paimon_core.errors import InvalidDataError
from paimon_core.options import HIVE_PARTITION_ORDER, TableOptions
from paimon_core.spec.kinds import BINARIES
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.row_rules import RowRules
from paimon_sql.spark.jvm.commands import with_columns, without_partitions
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import Insert


def inserted_columns(schema: TableSchema, insert: Insert, names: Sequence[str]) -> list[str]:
    """Return the table's column for each column of the query, by its name in the statement."""
    if insert.by_name:
        return list(names)
    static = {spelled(schema.partition_keys, k) for k in insert.static_partition}
    return list(insert.columns) or [f.name for f in schema.fields if f.name not in static]


def check_partition_bytes(schema: TableSchema, spec: Mapping[str, str | None]) -> None:
    """Raise `InvalidDataError` for bytes of a PARTITION clause that Spark's parser did not keep.

    The parser hands on text, and puts U+FFFD in place of bytes that are not UTF-8.
    """
    raw = [f.name for f in schema.partition_fields if f.type.kind in BINARIES]
    for name, text in spec.items():
        if text is not None and "\ufffd" in text and spelled(raw, name) is not None:
            raise InvalidDataError(
                f"PARTITION cannot name the value of {name!r}: Spark takes it as text, and its bytes are not UTF-8. "
                f"Leave {name!r} out of PARTITION: let the query return the bytes, or name them in a condition."
            )


def fills_rows(insert: Insert) -> bool:
    """Return whether the columns of the query go to the table's columns in order: the statement has no column list and
    no partition.
    """
    return not (insert.columns or insert.static_partition or insert.dynamic_partition)


def by_position(schema: TableSchema, given: StructType) -> StructType:
    """Return a query's columns under the names of the table's columns that they go to. Further columns keep their own
    names.
    """
    names = [f.name for f in schema.fields]
    renamed = [StructField(name, f.dataType, f.nullable, f.metadata) for name, f in zip(names, given, strict=False)]
    return StructType([*renamed, *given.fields[len(names) :]])


def without_generated(jvm: Jvm, schema: TableSchema, insert: Insert, width: int) -> Insert:
    """Return a parsed INSERT with a list of columns, if its query has one for each column that is not generated."""
    if insert.by_name or insert.columns:
        return insert
    columns = inserted_columns(schema, insert, ())
    kept = _filled(schema, columns, width)
    return insert if kept == columns else with_columns(jvm, insert, kept)


def without_null_partitions(jvm: Jvm, schema: TableSchema, insert: Insert) -> Insert:
    """Return an INSERT INTO … PARTITION (dt = NULL) without the generated columns of the clause, so that their
    expressions make the values. An INSERT OVERWRITE keeps these columns, because they select the partition to replace.
    """
    made = RowRules.of(schema).made
    nulls = [k for k, v in insert.static_partition.items() if v is None and spelled(schema.partition_keys, k) in made]
    return without_partitions(jvm, insert, nulls) if nulls and not insert.overwrites else insert


def filled_columns(schema: TableSchema, width: int) -> list[str]:
    """Return the columns that `width` values fill by position: those that are not generated, or all columns."""
    return _filled(schema, [f.name for f in schema.fields], width)


def _filled(schema: TableSchema, columns: list[str], width: int) -> list[str]:
    made = RowRules.of(schema).made
    kept = [c for c in columns if c not in made]
    return kept if width == len(kept) else columns


def in_hive_order(jvm: Jvm, schema: TableSchema, options: TableOptions, insert: Insert, names: Sequence[str]) -> Insert:
    """Return a parsed `INSERT … PARTITION (dt, hr)` with its columns listed in Hive's order, partition columns last, if
    the query's columns have these names.

    With the option, a query with other names is in Hive's order, too, unless its names are in the table's order.
    """
    dynamic = {spelled(schema.partition_keys, k) for k in insert.dynamic_partition}
    if not dynamic or insert.by_name or insert.columns:
        return insert
    columns = inserted_columns(schema, insert, names)
    last = [k for k in schema.partition_keys if k in dynamic]
    ordered = [c for c in columns if c not in last] + last
    given = [n.lower() for n in names]
    if len(given) != len(columns) or given == [c.lower() for c in columns]:
        return insert
    if options[HIVE_PARTITION_ORDER] or given == [c.lower() for c in ordered]:
        return with_columns(jvm, insert, ordered)
    return insert
