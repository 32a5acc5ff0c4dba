"""Partitions of a table for SHOW, DROP and TRUNCATE … PARTITION: a partition exists if it has files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.types import CharType, StringType, StructField, StructType, VarcharType

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Or, Predicate, equals
from paimon_core.expressions.terms import core_value
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from paimon_sql.spark.jvm import connector
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import to_struct


class PartitionManagement(Proxy):
    """`SupportsAtomicPartitionManagement` of a table: `at` is the version that is read, `table` is the
    table to change.
    """

    session: SessionBridge
    table: Table
    at: Table

    def _snapshot(self, table: Table) -> Snapshot | None:
        raise UnsupportedFeatureError(f"Table {table.name} has no versions.")

    def partition_rows(self) -> pa.Table:
        """Return one row per partition, with a column per partition key."""
        return self.at.partitions(self._snapshot(self.table))

    def partitionSchema(self) -> Any:
        return self.jvm.struct_type(self._partition_struct())

    def listPartitionIdentifiers(self, names: Any, values: Any) -> Any:
        schema = self._partition_struct()
        types = {n: self.jvm.data_type(schema[n].dataType) for n in names}
        wanted = {n: values.get(i, types[n]) for i, n in enumerate(names)}
        rows = self.session.local_rows(self.partition_rows(), schema)
        if not wanted:
            return rows
        indexes = {n: schema.fieldNames().index(n) for n in wanted}
        kept = [r for r in rows if all(str(r.get(indexes[n], types[n])) == str(v) for n, v in wanted.items())]
        return connector.internal_rows(self.jvm, kept)

    def partitionExists(self, identifier: Any) -> bool:
        names = self.jvm.strings(self.at.schema.partition_keys[: identifier.numFields()])
        return len(self.listPartitionIdentifiers(names, identifier)) > 0

    def loadPartitionMetadata(self, identifier: Any) -> Any:
        return self.jvm.map({})

    def dropPartition(self, identifier: Any) -> bool:
        return self.dropPartitions([identifier])

    def dropPartitions(self, identifiers: Any) -> bool:
        """Remove the rows of partitions in one commit. If one does not exist, return False and remove nothing."""
        found = list(identifiers)
        if not all(self.partitionExists(i) for i in found):
            return False
        predicate = Or(tuple(self._predicate(i) for i in found)) if len(found) > 1 else self._predicate(found[0])
        self.table.truncate(CommitInfo(user=self.table.new_commit_user()), predicate)
        return True

    def truncatePartition(self, identifier: Any) -> bool:
        return self.dropPartitions([identifier])

    def truncatePartitions(self, identifiers: Any) -> bool:
        found = list(identifiers)
        return self.dropPartitions(found) if found else True

    def purgePartition(self, identifier: Any) -> bool:
        return self.purgePartitions([identifier])

    def purgePartitions(self, identifiers: Any) -> bool:
        raise self._refusal("snapshots keep the files of a dropped partition: leave PURGE out")

    def createPartition(self, identifier: Any, properties: Any) -> None:
        self.createPartitions([identifier], [properties])

    def createPartitions(self, identifiers: Any, properties: Any) -> None:
        """Do nothing: a partition appears with its first row."""

    def renamePartition(self, source: Any, target: Any) -> bool:
        raise self._refusal(
            "partitions cannot be renamed: insert the rows into another partition, then drop the old one"
        )

    def replacePartitionMetadata(self, identifier: Any, properties: Any) -> None:
        raise self._refusal("partitions have no properties")

    def _predicate(self, identifier: Any) -> Predicate:
        """Return the predicate for the rows of a partition, or of all partitions that begin with the given values."""
        types = [self.jvm.data_type(f.dataType) for f in self._partition_struct()]
        fields = self.table.schema.partition_fields[: identifier.numFields()]
        values = [core_value(identifier.get(i, types[i]), f) for i, f in enumerate(fields)]
        return equals([f.name for f in fields], values)

    def _partition_struct(self) -> StructType:
        """Return Spark's types of the partition columns, with STRING for CHAR and VARCHAR."""
        texts = (CharType, VarcharType)
        fields = to_struct(self.at.schema.partition_fields).fields
        return StructType([StructField(f.name, StringType()) if isinstance(f.dataType, texts) else f for f in fields])

    def _refusal(self, why: str) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(f"Table {self.table.name}: {why}.")
