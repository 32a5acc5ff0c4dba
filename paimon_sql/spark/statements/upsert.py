"""`upsert-key`: INSERT INTO a table without a primary key as the MERGE INTO that replaces the rows of equal keys."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from paimon_core.arrow.evolution import spelled
from paimon_core.options import SEQUENCE_FIELD, UPSERT_KEY
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.commands import merge_of
from paimon_sql.spark.jvm.frames import analyzed, frame
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import Insert
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.write.insert_columns import inserted_columns
from paimon_sql.spark.write.store_assignment import default_value

_SOURCE, _TARGET, _RANK = "__paimon_new", "__paimon_old", "__paimon_rank"


def upserts(table: Table, insert: Insert) -> bool:
    """Return whether a parsed INSERT replaces rows of equal keys."""
    return bool(table.store.options[UPSERT_KEY]) and not insert.overwrites


def upsert(jvm: Jvm, session: SessionBridge, table: Table, relation: Any, insert: Insert) -> Any:
    """Turn a parsed INSERT INTO a table with `upsert-key` into a parsed MERGE INTO; `relation` names the table in it.

    With a `sequence.field`, the row with the largest value wins, among the new rows of a key and against its old row.
    """
    keys, order = table.store.options[UPSERT_KEY], table.store.options[SEQUENCE_FIELD]
    rows = _rows(jvm, session, table, insert)
    if order:
        newest_first = Window.partitionBy(*map(quoted_name, keys)).orderBy(*(F.desc(quoted_name(c)) for c in order))
        ranked = rows.withColumn(_RANK, F.row_number().over(newest_first))
        rows = ranked.filter(F.col(_RANK) == 1).drop(_RANK)
    newer = "".join(f" AND {_both(c, '<=')}" for c in order)
    text = (
        f"MERGE INTO t AS {_TARGET} USING s AS {_SOURCE} ON {' AND '.join(_both(k, '<=>') for k in keys)} "
        f"WHEN MATCHED{newer} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    return merge_of(jvm, text, relation, analyzed(rows.alias(_SOURCE)))


def _rows(jvm: Jvm, session: SessionBridge, table: Table, insert: Insert) -> DataFrame:
    """Return the rows to insert, with all columns of the table."""
    query = frame(jvm, session.session, insert.query)
    columns = inserted_columns(table.schema, insert, query.columns)
    names = [f.name for f in table.schema.fields]
    static = {spelled(names, k): v for k, v in insert.static_partition.items()}
    given = query.toDF(*(spelled(names, c) or c for c in columns))
    values = []
    for field in table.schema.fields:
        name = field.name
        if name in given.columns:
            value = F.col(quoted_name(name))
        elif name in static:
            value = F.lit(static[name])
        else:
            value = default_value(field)
        values.append(value.alias(field.name))
    return given.select(*values)


def _both(column: str, comparison: str) -> str:
    return f"{_TARGET}.{quoted_name(column)} {comparison} {_SOURCE}.{quoted_name(column)}"
