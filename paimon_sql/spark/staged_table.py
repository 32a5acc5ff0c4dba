"""Tables of CREATE TABLE AS SELECT and REPLACE TABLE: their schema is published with their rows, never before."""

from __future__ import annotations

from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm import CATALOG, Jvm
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.table_bridge import SparkTable
from paimon_sql.spark.write_bridge import PaimonWriteBuilder


class StagedSparkTable(SparkTable):
    """Spark writes the rows of the query, if there is one, then commits or aborts.

    `replaced` is the table whose rows go, None where a new one is made; `operation` is what rows are committed as. A
    query that reads the table it replaces reads it as it was: nothing changes before its rows are written.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        catalog: str,
        staged: StagedTable,
        replaced: Table | None,
        operation: Operation,
    ) -> None:
        super().__init__(jvm, session, catalog, staged.table, {})
        self.operation = operation
        self.staged, self.replaced, self.is_published = staged, replaced, False

    def newWriteBuilder(self, info: Any) -> Any:
        builder = PaimonWriteBuilder(self.jvm, self.session, self._with_options(info.options()), info)
        builder.before_commit, builder.operation = self._publish, self.operation
        if self.replaced is not None:
            builder.overwritten = Overwrite()
        return builder

    def commitStagedChanges(self) -> None:
        if self.is_published:
            return
        if self.replaced is not None:
            self.replaced.truncate(CommitInfo(user=self.replaced.new_commit_user()))
        self._publish()

    def abortStagedChanges(self) -> None:
        """The writer has removed its files; what is published stays, as any outcome of a commit may be unknown."""

    def _publish(self) -> None:
        if not self.is_published:
            self.staged.publish()
            self.is_published = True

    class Java:
        implements = [*SparkTable.Java.implements, f"{CATALOG}.StagedTable"]
