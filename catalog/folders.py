"""The folders of a warehouse: `WAREHOUSE/NAME.db/TABLE`, as every engine of Paimon names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.io.file_io import FileIO
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
