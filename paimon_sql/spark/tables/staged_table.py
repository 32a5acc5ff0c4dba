"""Tables of CREATE TABLE AS SELECT and REPLACE TABLE: their schema is published with their rows, never before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import option_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.session_catalogs import without_own_name
from paimon_sql.spark.tables.table import SparkTable
from paimon_sql.spark.write.write import PaimonWriteBuilder, WriteRules
from paimon_sql.spark.write.write_options import check_replaces_all, is_of_one_write

_OF_WRITES = "write."  # options for one write; `write-only` is an option of the table


class StagedSparkTable(SparkTable):
    """A new table. If the statement has a query, Spark writes its rows, then commits or aborts.

    `stage` makes the table with more options in its definition. `replaced` is the table that loses its rows; it is
    absent (None) if the statement makes a new one. The rows are committed as `operation`. A query may read the table
    that it replaces: the table does not change before the rows are written.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        catalog: str,
        stage: Callable[[Mapping[str, str]], StagedTable],
        replaced: Table | None,
        operation: Operation,
    ) -> None:
        self.stage, self.staged, self.operation = stage, stage({}), operation
        super().__init__(jvm, session, catalog, self.staged.table, {})
        self.replaced, self.is_published = replaced, False

    def newWriteBuilder(self, info: Any) -> Any:
        """Return the builder of the write. Options of the write also define the table: `df.write.option("primary-key",
        "k").saveAsTable("t")`.
        """
        options = without_own_name(option_map(self.jvm, info.options()), path=self.table.store.root)
        if self.replaced is not None:
            check_replaces_all(self.name(), options)
        of_write = {k for k in options if k == "path" or k.startswith(_OF_WRITES) or is_of_one_write(k)}
        defining = {k: v for k, v in options.items() if k not in of_write}
        if defining:
            self.staged = self.stage(defining)
            self.table = self.staged.table
        rules = WriteRules(None if self.replaced is None else Overwrite(), self.operation, self._publish)
        return PaimonWriteBuilder(self.jvm, self.session, self.table.with_options(options), info, rules)

    def commitStagedChanges(self) -> None:
        if self.replaced is not None and not (self.is_published or self.staged.is_separate):
            self.replaced.truncate(CommitInfo(user=self.replaced.new_commit_user()))
        self._publish()
        self.staged.finish()

    def abortStagedChanges(self) -> None:
        """Discard the definition. Keep published files, because the commit may have succeeded. The writer has removed
        its other files.
        """
        self.staged.discard()

    def _publish(self) -> None:
        if not self.is_published:
            self.staged.publish()
            self.is_published = True

    class Java:
        implements = [*SparkTable.Java.implements, classes.STAGED_TABLE]
