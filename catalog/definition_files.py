"""Definitions of views and functions as files beside tables: `WAREHOUSE/NAME.db/$FOLDER/NAME.json`, one for each.

An extension of ours. No table's name begins with `$`, and the folder has no schema, so that Paimon's other engines list
neither it nor what is in it. A definition is there while its file is. Files are created atomically and replaced whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name, is_file_name

_SUFFIX = ".json"
_MOST = 2**24  # bytes of a definition


@dataclass(frozen=True)
class DefinitionFiles:
    """The definitions of one kind, in the folder `$kinds` of databases, whose folders `database_dir` knows. No method
    looks whether there is such a database."""

    io: FileIO
    database_dir: Callable[[str], str]
    kind: str

    def names(self, database: str) -> list[str]:
        """The names of all definitions, sorted; files of other names are nobody's."""
        found = [f.name for f in self.io.list(self._folder(database)) if not f.is_dir]
        names = [n.removesuffix(_SUFFIX) for n in found if n.endswith(_SUFFIX)]
        return sorted(n for n in names if n and is_file_name(n) and "$" not in n)

    def exists(self, name: Identifier) -> bool:
        """Whether there is a definition."""
        return self.io.exists(self.path(name))

    def read(self, name: Identifier) -> bytes:
        """Raises `FileNotFoundError`."""
        return self.io.read_bytes(self.path(name), _MOST)

    def create(self, name: Identifier, data: bytes) -> bool:
        """Whether the definition was created; False where there is one, also where another process creates it
        meanwhile."""
        try:
            return self.io.create_exclusive(self.path(name), data)
        except StorageError:
            if not self.exists(name) or self.read(name) != data:
                raise
            return True  # the answer was lost, not the file

    def replace(self, name: Identifier, data: bytes) -> None:
        """Write a definition anew, whatever its file holds."""
        self.io.replace_file(self.path(name), data)

    def delete(self, name: Identifier) -> None:
        """Delete a definition; fine where there is none."""
        self.io.delete(self.path(name))

    def path(self, name: Identifier) -> str:
        """Where a definition is. Raises `InvalidNameError`."""
        return f"{self._folder(name.database)}/{check_name(self.kind, name.table)}{_SUFFIX}"

    def _folder(self, database: str) -> str:
        return f"{self.database_dir(database)}/${self.kind}s"
