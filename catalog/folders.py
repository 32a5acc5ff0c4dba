"""The folders of a warehouse: `WAREHOUSE/NAME.db/TABLE`, as every engine of Paimon names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, StorageError
from paimon_core.io.file_io import FileIO, walk
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.store.schemas import schema_ids

DATABASE_SUFFIX = ".db"
LOCATION = "location"


@dataclass(frozen=True)
class Folders:
    """The folders of databases and tables in one warehouse. Methods raise `InvalidNameError`."""

    warehouse: str

    def database(self, name: str) -> str:
        return f"{self.warehouse}/{check_name('database', name)}{DATABASE_SUFFIX}"

    def table(self, identifier: Identifier) -> str:
        return f"{self.database(identifier.database)}/{check_name('table', identifier.table)}"

    def check_location(self, database: str, properties: Mapping[str, str]) -> None:
        """Raise `InvalidOptionError` for a database with a location of its own."""
        if LOCATION in properties and properties[LOCATION] != self.database(database):
            raise InvalidOptionError(
                f"Database {database} cannot have a location of its own: this catalog keeps it in {self.warehouse}."
            )


@dataclass(frozen=True)
class Listed:
    """All that a folder contained at one moment. Files and folders that are created later are never deleted."""

    io: FileIO
    files: Sequence[str]
    folders: Sequence[str]

    @classmethod
    def below(cls, io: FileIO, folder: str) -> Listed:
        """List a folder. The folder's own path is the last of `folders`, after all its subfolders."""
        files = io.files_below(folder)
        if files is not None:
            return cls(io, files, [])
        found = list(walk(io, folder))
        is_folder = [f.is_dir and not f.is_link for f in found]
        files = [f.path for f, yes in zip(found, is_folder, strict=True) if not yes]
        return cls(io, files, [*(f.path for f, yes in zip(found, is_folder, strict=True) if yes), folder])

    def delete(self, root: str) -> None:
        """Delete the files, then each empty folder. `root` is a folder above them. Raises `StorageError`."""
        for error in self.io.delete_many_below(root, self.files).values():
            raise error
        for folder in self.folders:
            self.io.delete_empty_dir_below(root, folder)


def delete_folders(io: FileIO, root: str, folder: str) -> None:
    """Delete a folder that contains only folders, below the folder `root`. Raises `StorageError` if another program
    creates a file in it meanwhile.

    If a storage cannot delete only empty folders, it also deletes everything that the folder then contains.
    """
    listed = Listed.below(io, folder)
    deleted = [] if listed.files else [io.delete_empty_dir_below(root, path) for path in listed.folders]
    if not io.exists(folder):
        return
    if None not in deleted:
        raise StorageError(
            f"Cannot delete folder {folder}: another program creates files in it, or it contains broken links. Run the "
            "statement again, or use CASCADE."
        )
    io.delete_dir(folder)


def unnamed_tables(io: FileIO, database_dir: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the tables in the folder of a database, except tables with known names."""
    folders = [f for f in io.list(database_dir) if f.is_dir]
    return sorted(f.name for f in folders if not is_known(f.name) and schema_ids(io, f.path))


def needs_locks(io: FileIO, warehouse: str) -> bool:
    """Return whether commits need locks.

    They do on a storage without atomic create, and on every storage with a URI except HDFS.
    """
    is_shared = "://" in warehouse and not warehouse.startswith(("hdfs://", "viewfs://"))
    return is_shared or not io.atomic_create
