"""FormatTable: a folder of CSV, JSON, ORC, Parquet or text files as a table. It has no snapshots.

A write moves its files into place, and an overwrite then deletes the replaced files. If the process dies in between,
rows exist twice, but no row is lost. Source: Paimon's page "Table Types", "Format Table".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.commit.changes import Overwrite
from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError, StorageRefusedError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare, IsNull, Predicate, conjuncts
from paimon_core.format_table.folders import (
    Folder,
    data_files,
    partition_batch,
    partition_folder,
    partition_folders,
    placed_elsewhere,
)
from paimon_core.format_table.kind import FORMAT_TABLE
from paimon_core.format_table.options import format_options
from paimon_core.format_table.scan import FormatPlan, plan_format_table
from paimon_core.format_table.write import StagedFile, discard
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.value_texts import internal_text
from paimon_core.store.features import check_insertable, check_selectable
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class FormatTable:
    """A format table. `store` has the options in Paimon's spelling; see `format_options`.

    Unless names are `case_sensitive`, folders and files may spell the names of columns in another case.
    """

    store: TableStore
    case_sensitive: bool = False

    @staticmethod
    def of(store: TableStore, *, case_sensitive: bool = False) -> FormatTable:
        return FormatTable(replace(store, options=format_options(store.options.values)), case_sensitive)

    @property
    def name(self) -> str:
        """The name of the table, `database.table`."""
        return self.store.name

    @property
    def schema(self) -> TableSchema:
        return self.store.schema

    def with_options(self, more: Mapping[str, str]) -> FormatTable:
        return FormatTable.of(self.store.with_options(more), case_sensitive=self.case_sensitive)

    def plan(self, predicate: Predicate | None = None) -> FormatPlan:
        """Return the files to read; see `plan_format_table`."""
        check_selectable(self.store)
        return plan_format_table(self.store, predicate, case_sensitive=self.case_sensitive)

    def partitions(self) -> pa.Table:
        """Return the partitions that have folders, each once, with a column per partition key."""
        check_selectable(self.store)
        folders, fields = self._folders(), self.schema.partition_fields
        found = partition_batch(self.store, folders, fields)
        first = {row_bytes(found, i, fields): i for i in reversed(range(len(folders)))}
        return pa.Table.from_batches([found.take(pa.array(sorted(first.values()), pa.int64()))])

    def largest_value(self) -> pa.Scalar | None:
        """Return the largest value of the first partition column among partitions with rows, or None if the table is
        empty.

        Folders are searched from the largest value downwards, until one has a file with rows.
        """
        folders = self._folders()
        values = partition_batch(self.store, folders, self.schema.partition_fields).column(0)
        for i in pc.array_sort_indices(values, order="descending").to_pylist():
            if values[i].is_valid and any(f.size for f in data_files(self.store, folders[i])):
                return values[i]
        return None

    def commit(self, files: Sequence[StagedFile], overwrite: Overwrite | None = None) -> None:
        """Make the files of tasks visible, and delete the files that `overwrite` replaces.

        Raises `StorageError`, `NoPrivilegeError`."""
        check_insertable(self.store)
        elsewhere = placed_elsewhere(self.store)
        old = [] if overwrite is None else self._replaced(files, overwrite, elsewhere)
        self._check_in_place(files, elsewhere)
        for file in files:
            self.store.io.move_file(file.staged_path, file.path)
            self._make_durable(file.path)
        if overwrite is not None and overwrite.predicate is not None:
            self._make_named_folder(overwrite.predicate)
        for path in old:
            self.store.io.delete(path)
        if files and self.schema.partition_keys:
            self.store.notify(lambda watcher: watcher.files_added(self.store, self._partitions_of(files)))

    def commit_definition(
        self,
        files: Sequence[StagedFile],
        publish: Callable[[], None],
        *,
        replaced: FormatTable | None = None,
        overwrite: Overwrite | None = None,
    ) -> None:
        """Publish the table's new definition, then commit its first files, then delete the files of the table that it
        replaces.

        If the process dies in between, rows exist twice, but no row is lost. Raises the errors of `publish` and
        `commit`."""
        old = [] if replaced is None else [path for split in replaced.plan().splits for path in split.paths]
        publish()
        self.commit(files, overwrite)
        for path in old:
            self.store.io.delete(path)

    def _make_durable(self, path: str) -> None:
        try:
            self.store.io.sync(path)
        except StorageRefusedError as error:  # the storage answered that nothing happened
            text = f"New rows of table {self.store.name} can be read, but may not survive a power cut: {error}"
            raise StorageError(text) from error

    def abort(self, files: Sequence[StagedFile]) -> None:
        """Delete the files of tasks that were not committed."""
        discard(self.store, list(files))

    def truncate(self, predicate: Predicate | None = None) -> None:
        """Delete the files of all partitions, or of partitions that satisfy a predicate; their folders stay."""
        self.commit((), Overwrite(predicate=predicate))

    def _replaced(
        self, files: Sequence[StagedFile], overwrite: Overwrite, elsewhere: Mapping[tuple[str, ...], str]
    ) -> list[str]:
        folders = self._same_partitions(files) if overwrite.dynamic else self._folders(overwrite.predicate)
        for folder in folders:
            if elsewhere.get(folder.values) == folder.path:
                raise self._is_elsewhere(folder.values, folder.path)
        return [f.path for folder in folders for f in data_files(self.store, folder)]

    def _folders(self, predicate: Predicate | None = None) -> list[Folder]:
        return partition_folders(self.store, predicate, case_sensitive=self.case_sensitive)

    def _same_partitions(self, files: Sequence[StagedFile]) -> list[Folder]:
        """Return the folders of the partitions of files, including folders with other spellings of the same
        partition.
        """
        written, fields = {f.folder for f in files}, self.schema.partition_fields
        folders = self._folders()
        found = partition_batch(self.store, folders, fields)
        values = [row_bytes(found, i, fields) for i in range(len(folders))]
        wanted = {value for value, folder in zip(values, folders, strict=True) if folder.path in written}
        return [folder for value, folder in zip(values, folders, strict=True) if value in wanted]

    def _partitions_of(self, files: Sequence[StagedFile]) -> set[tuple[str, ...]]:
        """Return the values of the partitions of files."""
        folders = {f.folder for f in files}
        return {f.values for f in self._folders() if f.path in folders}

    def _check_in_place(self, files: Sequence[StagedFile], elsewhere: Mapping[tuple[str, ...], str]) -> None:
        """Raise `UnsupportedFeatureError` for files of a partition that is read from another folder."""
        folders = {f.folder for f in files}
        for values, path in elsewhere.items():
            if partition_folder(self.store, dict(zip(self.schema.partition_keys, values, strict=True))) in folders:
                raise self._is_elsewhere(values, path)

    def _is_elsewhere(self, values: Sequence[str], path: str) -> UnsupportedFeatureError:
        named = ", ".join(f"{k} = '{v}'" for k, v in zip(self.schema.partition_keys, values, strict=True))
        return UnsupportedFeatureError(
            f"The partition ({named}) of table {self.name} cannot be written: it has a folder of its own, {path}, "
            "which is only read here. Write it with the engine that created the folder, or leave the partition "
            "out."
        )

    def _make_named_folder(self, predicate: Predicate) -> None:
        """Create the folder of the partition that an overwrite names, even if it gets no rows."""
        fields, named = self.schema.field_by_name, {}
        for part in conjuncts(predicate):
            if isinstance(part, IsNull):
                named[part.column] = self.store.options[PARTITION_DEFAULT_NAME]
            elif isinstance(part, Compare) and part.op in ("=", "<=>") and part.value is not None:
                named[part.column] = internal_text(fields[part.column].type, part.value)
        if named.keys() == set(self.schema.partition_keys):
            self.store.io.make_dirs(partition_folder(self.store, {k: named[k] for k in self.schema.partition_keys}))


def refuse_format_table(name: str) -> UnsupportedFeatureError:
    """Return the error for a statement that needs snapshots, on a format table."""
    return UnsupportedFeatureError(
        f"Table {name} is a folder of files ('type' = '{FORMAT_TABLE}'): it has no snapshots, system tables or "
        "procedures."
    )
