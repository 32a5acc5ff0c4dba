"""`upsert-key`: INSERT INTO a table without a primary key as the MERGE INTO that replaces the rows of equal keys."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from paimon_core.options import SEQUENCE_FIELD, UPSERT_KEY
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.gateway import SQL, Jvm, with_elements
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.write.insert_columns import inserted_columns, static_partition

_SOURCE, _TARGET, _RANK = "__paimon_new", "__paimon_old", "__paimon_rank"


def upserts(table: Table, insert: Any) -> bool:
    """Whether a parsed INSERT replaces rows of equal keys."""
    return bool(table.store.options[UPSERT_KEY]) and not insert.overwrite()


def upsert(jvm: Jvm, session: SessionBridge, table: Table, insert: Any) -> Any:
    """The parsed MERGE INTO that a parsed INSERT INTO such a table stands for.

    With a `sequence.field`, rows that have a larger one stay: of the new ones of a key, and of a new and an old one.
    """
    keys, order = table.store.options[UPSERT_KEY], table.store.options[SEQUENCE_FIELD]
    rows = _rows(jvm, session, table, insert)
    if order:
        newest_first = Window.partitionBy(*map(quoted_name, keys)).orderBy(*(F.desc(quoted_name(c)) for c in order))
        ranked = rows.withColumn(_RANK, F.row_number().over(newest_first))
        rows = ranked.filter(F.col(_RANK) == 1).drop(_RANK)
    newer = "".join(f" AND {_both(c, '<=')}" for c in order)
    merge = jvm.java_class(f"{SQL}.execution.SparkSqlParser")().parsePlan(
        f"MERGE INTO t AS {_TARGET} USING s AS {_SOURCE} ON {' AND '.join(_both(k, '<=>') for k in keys)} "
        f"WHEN MATCHED{newer} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    target = with_elements(jvm, merge.targetTable(), child=insert.table())
    return with_elements(
        jvm, merge, targetTable=target, sourceTable=rows.alias(_SOURCE)._jdf.queryExecution().analyzed()
    )


def _rows(jvm: Jvm, session: SessionBridge, table: Table, insert: Any) -> DataFrame:
    """The rows to insert, with all columns of the table."""
    query = DataFrame(jvm.frame(session.session, insert.query()), SparkSession(jvm.context, session.session))
    columns = inserted_columns(jvm, table.schema, insert, query.columns)
    static = {k.lower(): v for k, v in static_partition(insert).items()}
    given = query.toDF(*(c.lower() for c in columns))
    values = []
    for field in table.schema.fields:
        name = field.name.lower()
        if name in given.columns:
            value = F.col(quoted_name(name))
        elif name in static:
            value = F.lit(static[name])
        else:
            value = F.lit(None) if field.default is None else F.expr(field.default)
        values.append(value.alias(field.name))
    return given.select(*values)


def _both(column: str, comparison: str) -> str:
    return f"{_TARGET}.{quoted_name(column)} {comparison} {_SOURCE}.{quoted_name(column)}"
