"""`ALTER TABLE t DROP PARTITION (dt = '2024-01-01')` without the last partition columns: Spark wants them all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.format_table.options import is_format_table
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.plans import DropPartitions
from paimon_sql.spark.statements.commands import TableCommand
from paimon_sql.spark.statements.row_level import delete_partitions, open_target


class DropPartitionsStatement(TableCommand):
    """Drops all partitions that begin with given values."""

    plan: DropPartitions

    def applies(self) -> bool:
        """Whether a partition column has no value. Spark drops single partitions and partitions of format tables."""
        schema = self.catalog.catalog.load_table(self.identifier).schema
        return not is_format_table(schema.options) and min(map(len, self.plan.specs)) < len(schema.partition_keys)

    def _run(self, table: Table) -> None:
        table.check_writable()
        if self.plan.purges:
            raise UnsupportedFeatureError(
                f"Table {table.name}: snapshots keep the files of a dropped partition: leave PURGE out."
            )
        target = open_target(self.catalog, table, self.identifier, self.plan)
        matching = target.frame.filter(reduce(or_, (_condition(table, s) for s in self.plan.specs)))
        delete_partitions(target, matching)  # a spec without all values may match any number of partitions


def _condition(table: Table, spec: Mapping[str, str | None]) -> Column:
    """Whether a row is in a partition that begins with some values. Raises `InvalidSchemaError`."""
    keys = table.schema.partition_keys
    given = {k.lower(): v for k, v in spec.items()}
    first = keys[: len(given)]
    if {k.lower() for k in first} != given.keys():
        raise InvalidSchemaError(
            f"Table {table.name} is partitioned by {', '.join(keys) or 'nothing'}: a partition is named by the first "
            f"of these columns, not by {', '.join(spec)}."
        )
    columns = ((F.col(quoted_name(k)), given[k.lower()]) for k in first)
    return reduce(and_, (c.isNull() if v is None else c == F.lit(v) for c, v in columns))
