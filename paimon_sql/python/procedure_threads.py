"""Run the jobs of procedures on threads of this process. `executor` runs the jobs of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.table_fields import table_fields
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.maintenance.orphans.job import FOUND, NEEDED, OrphanSearch
from paimon_core.progress import phase
from paimon_core.spec.message import CommitMessage
from paimon_core.write.compaction.sort_job import SortJob
from paimon_sql.python.executor import ThreadExecutor, on_threads
from paimon_sql.python.where.condition import Condition

if TYPE_CHECKING:
    from paimon_sql.procedures import ForeignTable


class ProcedureThreads(ThreadExecutor):
    """The `ProcedureExecutor` without Spark: what needs Spark is refused by name."""

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> FoundHere:
        """Return the files that a search finds and that no version needs."""
        sources, folders = list(search.sources()), list(search.folders())
        with phase(description, "manifests and folders", len(sources) + len(folders)) as shown:
            named = on_threads(search.needed_by, sources, parallelism, ended=lambda _: shown.add())
            listed = on_threads(search.found_in, folders, parallelism, ended=lambda _: shown.add())
        weights = pa.Table.from_batches(named, NEEDED).group_by(["chain", "name"]).aggregate([("weight", "sum")])
        kept = weights.filter(pc.greater(weights["weight_sum"], 0))["name"].combine_chunks()
        found = pa.Table.from_batches(listed, FOUND)
        names = pc.replace_substring_regex(found["path"], ".*/", "")
        return FoundHere(search, found.filter(pc.invert(pc.is_in(names, value_set=kept))))

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        """Return the numbers of the rows that satisfy an SQL condition on their columns. Raises the errors of
        `bind`.
        """
        numbered = rows.append_column(_ROW_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
        checked = Condition.of(condition, table_fields(rows.schema), None)
        batches = [checked.filter(batch) for batch in numbered.to_batches()]
        return [number for batch in batches for number in batch.column(_ROW_NUMBER).to_pylist()]

    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        _refuse("Migrating a table of Spark's own catalog")

    def foreign_tables(self, database: str) -> list[str] | None:
        _refuse("Migrating a database of Spark's own catalog")

    def drop_foreign_table(self, database: str, name: str) -> None:
        _refuse("Dropping a table of Spark's own catalog")

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        _refuse("Reading the columns of other files")

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        _refuse("Sorting the rows of a table")


_ROW_NUMBER = "__row"


@dataclass(frozen=True, slots=True)
class FoundHere:
    """Files that were found and that no version needs, with their bytes. See `FoundFiles`."""

    search: OrphanSearch
    files: pa.Table

    @property
    def count(self) -> int:
        return int(self.files.num_rows)

    @property
    def size(self) -> int:
        return int(pc.sum(self.files["size"]).as_py() or 0)

    def delete(self) -> None:
        self.search.delete(self.files["path"].to_pylist())


def _refuse(what: str) -> NoReturn:
    raise UnsupportedFeatureError(f"{what} needs Spark: call the procedure there, by CALL sys.NAME(…).")
