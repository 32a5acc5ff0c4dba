"""Generated columns of new tables: the ones that a statement defines, and the ones of `PARTITIONED BY (days(ts))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.types import DATE, INT, STRING, DataField, DataType
from paimon_core.store.ddl.constraints import check_of
from paimon_core.store.ddl.generated_columns import GeneratedColumn
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.frames import filter_condition
from paimon_sql.spark.jvm.generated_columns import depends_on_zone
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.constraints import defined_constraint
from paimon_sql.spark.types import string_types, to_struct


class _Transform(NamedTuple):
    """The column that a transform of PARTITIONED BY makes: the suffix of its name, its type and its expression."""

    suffix: str
    type: DataType
    expression: str


_TRANSFORMS = {
    "years": _Transform("year", INT, "year({0})"),
    "months": _Transform("month", STRING, "date_format({0}, 'yyyy-MM')"),
    "days": _Transform("day", DATE, "CAST({0} AS DATE)"),
    "hours": _Transform("hour", STRING, "date_format({0}, 'yyyy-MM-dd-HH')"),
}


def defined_columns(
    session: SessionBridge, fields: Sequence[DataField], expressions: Mapping[str, str]
) -> list[GeneratedColumn]:
    """Return the generated columns of a statement. Raises `InvalidSchemaError` for an expression that needs more than
    the other columns of the row.
    """
    return [_defined(session, fields, name, text) for name, text in expressions.items()]


def _defined(session: SessionBridge, fields: Sequence[DataField], name: str, text: str) -> GeneratedColumn:
    made = GeneratedColumn(name, text, ())
    named = defined_constraint(session, fields, check_of(made), f"Column {name!r} {made.sql}").columns
    zone = session.zone_name() if _depends_on_zone(session, fields, made) else ""
    return GeneratedColumn(name, text, tuple(c for c in named if c != name), zone)


def _depends_on_zone(session: SessionBridge, fields: Sequence[DataField], made: GeneratedColumn) -> bool:
    nulls = (F.lit(None).cast(f.dataType).alias(f.name) for f in string_types(to_struct(fields)).fields)
    try:
        rows = session.python_session.sql("SELECT 1").select(*nulls).filter(made.condition)
        return depends_on_zone(session.jvm, filter_condition(rows))
    except PySparkException as e:
        raise InvalidSchemaError(f"Column {made.name!r} cannot be {made.sql}: {e}") from e


def with_partition_columns(
    transforms: Sequence[Any], fields: Sequence[DataField], generated: dict[str, str]
) -> tuple[tuple[DataField, ...], tuple[str, ...]]:
    """Return the columns and the partition keys of a new table. Add columns for transforms such as `days(ts)`, and
    their expressions to `generated`.
    """
    names, found = [], list(fields)
    for transform in transforms:
        kind, source = str(transform.name()), ".".join(transform.references()[0].fieldNames())
        if kind == "identity":
            names.append(source)
            continue
        if kind not in _TRANSFORMS:
            raise UnsupportedFeatureError(_not_partitioned(kind, str(transform.toString())))
        suffix, data_type, expression = _TRANSFORMS[kind]
        name = f"{source}_{suffix}"
        if any(f.name.lower() == name.lower() for f in found):
            raise InvalidSchemaError(
                f"PARTITIONED BY {transform.toString()} makes the column {name!r}, which the table has already: rename "
                f"it, or write PARTITIONED BY ({name})."
            )
        found.append(DataField(id=len(found), name=name, type=data_type))
        generated[name] = expression.format(quoted_name(source))
        names.append(name)
    return tuple(found), tuple(names)


def _not_partitioned(kind: str, spelled: str) -> str:
    """Return why Paimon refuses a transform in PARTITIONED BY, and what to write instead."""
    if kind in ("bucket", "sorted_bucket"):
        return (
            f"CLUSTERED BY (or PARTITIONED BY {spelled}) is not supported: for buckets, set the options "
            "'bucket' and 'bucket-key' by TBLPROPERTIES; a primary key needs 'bucket' alone."
        )
    return f"PARTITIONED BY {spelled}: Paimon partitions by columns. Add one that holds the value."
