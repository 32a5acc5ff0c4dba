"""Migrations that can be repeated after they stop at any call.

A migration leaves the old table as it is until its rows are committed to the new one, and only then deletes:

    files get second paths in the new table (links, copies), or their rows are written there
    commit, by a user named after the old table and its files, made once (`commit/once.py`)
    the old files are deleted, or a format table is replaced:  t -> t_migrated_,  t_paimon_ -> t,  drop t_migrated_

So one of the two tables has all rows at any moment. A repeated migration finds the finished steps by the commit's user
and by the names of files, and does the rest. Files that it left in the new table before the commit are orphans.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from paimon_core.commit.draft import CommitInfo, Once
from paimon_core.dataclass import dataclass
from paimon_core.errors import AlreadyCommittedError, PaimonError
from paimon_core.format_table.iceberg import IcebergTable
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.migration import MIGRATION
from paimon_core.format_table.scan import FormatSplit
from paimon_core.format_table.table import FormatTable
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import for_each
from paimon_core.spec.identifier import Identifier
from paimon_core.store.snapshots import latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.procedures.registry import has_table

_NEW, _OLD = "_paimon_", "_migrated_"


def new_name(identifier: Identifier) -> Identifier:
    """Return the temporary name of the table that replaces a format table."""
    return replace(identifier, table=identifier.table + _NEW)


def old_name(identifier: Identifier) -> Identifier:
    """Return the temporary name of a replaced format table."""
    return replace(identifier, table=identifier.table + _OLD)


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs of one migration: `source` identifies the table, `files` identifies its migrated files."""

    source: str
    files: str

    @staticmethod
    def of(files: FormatTable, splits: Sequence[FormatSplit]) -> Runs:
        """Return the runs for files of another engine, which may create new files under names of deleted files."""
        io, found = files.store.io, dict[str, str]()
        paths = [p for split in splits for p in split.paths]

        def look(pair: tuple[str, str]) -> None:
            status = io.status(pair[0])
            found[pair[0]] = f"{pair[0]} {status.size} {status.modified}"

        for_each("look for", [(p, "") for p in paths], look)
        return Runs(_digest(files.store.root), _digest(*sorted(found.values())))

    @staticmethod
    def of_table(identifier: Identifier, files: FormatTable, splits: Sequence[FormatSplit]) -> Runs:
        """Return the runs for a format table: its files are identified by their paths in its folder."""
        root, made = files.store.root, files.schema.time_millis
        paths = sorted(p.removeprefix(root) for split in splits for p in split.paths)
        return Runs(_digest(str(identifier), str(made)), _digest(*paths, str(sum(s.size for s in splits))))

    @staticmethod
    def of_iceberg(path: str, content: bytes) -> Runs:
        """Return the runs for an Iceberg table with this metadata file."""
        return Runs(_digest(path.rpartition("/")[0]), _digest(path, content.hex()))

    def info(self) -> CommitInfo:
        """Return the commit of the rows, which is made once."""
        return CommitInfo(user=f"{MIGRATION}{self.source}_{self.files}", identifier=0, once=Once.FREE)

    def is_done(self, target: Table) -> bool:
        """Return whether a run has committed the rows."""
        try:
            target.check_not_made(self.info())
        except AlreadyCommittedError:
            return True
        return False

    def shows(self, store: TableStore) -> bool:
        """Return whether a table has rows of this source, perhaps from other files."""
        return any(s.commit_user.startswith(f"{MIGRATION}{self.source}_") for s in list_snapshots(store))

    def has_begun(self, store: TableStore) -> bool:
        """Return whether a table has only rows of this source, or no rows yet."""
        return all(s.commit_user.startswith(f"{MIGRATION}{self.source}_") for s in list_snapshots(store))


def _digest(*parts: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(parts)).hex


def drop_unused(catalog: SupportsDatabases, identifier: Identifier) -> None:
    """Drop a table that this run made, unless another run has committed to it."""
    if latest_snapshot(catalog.load_table(identifier).store) is None:
        catalog.drop_table(identifier)


def swap(catalog: SupportsDatabases, identifier: Identifier) -> None:
    """Give the new table the name of the old one, and drop the old one. If a run stopped between these steps, finish
    them.
    """
    if has_table(catalog, new_name(identifier)):
        if has_table(catalog, identifier):
            catalog.rename_table(identifier, old_name(identifier))
        catalog.rename_table(new_name(identifier), identifier)
    catalog.drop_table(old_name(identifier), ignore_if_not_exists=True)


def is_swapping(catalog: SupportsDatabases, identifier: Identifier) -> bool:
    """Return whether a run stopped after it had renamed a format table: its rows are then in the new table."""
    old = old_name(identifier)
    if not has_table(catalog, old):
        return False
    source = catalog.load_table(old)
    if not is_format_table(source.schema.options):
        return False
    new = new_name(identifier) if not has_table(catalog, identifier) else identifier
    if not has_table(catalog, new):
        return False
    target, files = catalog.load_table(new), FormatTable.of(source.store)
    if is_format_table(target.schema.options):
        return False
    runs = Runs.of_table(identifier, files, files.plan().splits)
    return runs.is_done(target) or runs.shows(target.store)  # some of its files may be deleted


def base_of(identifier: Identifier) -> Identifier:
    """Return the name of the original table for the temporary name of a replaced one; any other name unchanged."""
    return replace(identifier, table=identifier.table.removesuffix(_OLD))


def delete_source_files(storage: FileIO, paths: Iterable[str]) -> None:
    """Delete files after their rows are committed elsewhere. Raises `StorageError`."""
    for_each("delete", [(path, "") for path in paths], lambda pair: storage.delete(pair[0]))


def delete_quietly(storage: FileIO, paths: Iterable[str]) -> None:
    """Delete files that nothing refers to. Files that cannot be deleted become orphans."""
    for path in paths:
        with suppress(PaimonError, OSError):
            storage.delete(path)


def delete_iceberg(storage: FileIO, source: str, table: IcebergTable | None) -> None:
    """Delete the migrated files of an Iceberg table, and its metadata. The metadata file `source` is deleted last.

    `table` is `None` if an earlier run deleted its files. Raises `StorageError`.
    """
    folder, _, _ = source.rpartition("/")
    if table is not None:
        delete_source_files(storage, (f.path for f in table.files))
    found = [f for f in storage.list(folder) if not f.is_dir and f.path != source]
    for file in sorted(found, key=lambda f: f.name == "version-hint.text"):
        storage.delete(file.path)
    storage.delete(source)
    storage.delete_dir(folder)
