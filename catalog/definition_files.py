"""Definitions of views and functions as files beside tables: `WAREHOUSE/NAME.db/$FOLDER/NAME.json`, one for each.

This layout is an extension of Paimon. The name of a table never begins with `$`, and the folder has no schema, so
Paimon's other engines list neither the folder nor its files.

A definition exists while its file exists. Files are created atomically and replaced as a whole. Renaming a view creates
a new file, which contains the old name, and then deletes the old file. If the process dies in between, both names have
the view, and the same statement completes the rename.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, StorageError, ViewExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import both
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name, is_file_name
from paimon_sql.catalog.definitions import DefinitionKind, Definitions, T, ViewDefinitions
from paimon_sql.catalog.view import View

_SUFFIX = ".json"
_MOST = 2**24  # bytes of a definition
_RENAMED_FROM = "renamed-from"


@dataclass(frozen=True)
class DefinitionFiles:
    """The definitions of one kind, in a folder such as `$views` in each database.

    `database_dir` returns the folder of a database. The methods do not check that the database exists."""

    io: FileIO
    database_dir: Callable[[str], str]
    kind: str

    def names(self, database: str) -> list[str]:
        """Return the names of all definitions, sorted. Files with other names are ignored."""
        found = [f.name for f in self.io.list(self._folder(database)) if not f.is_dir]
        names = [n.removesuffix(_SUFFIX) for n in found if n.endswith(_SUFFIX)]
        return sorted(n for n in names if n and is_file_name(n) and "$" not in n)

    def exists(self, name: Identifier) -> bool:
        """Return whether the definition exists."""
        return self.io.exists(self.path(name))

    def read(self, name: Identifier) -> bytes:
        """Return the content of a definition. Raises `FileNotFoundError`."""
        return self.io.read_bytes(self.path(name), _MOST)

    def create(self, name: Identifier, data: bytes) -> bool:
        """Create a definition. Return False if it exists, even if another process creates it meanwhile."""
        try:
            return self.io.create_exclusive(self.path(name), data)
        except StorageError:
            if not self.exists(name) or self.read(name) != data:
                raise
            return True  # the storage created the file, but its answer was lost

    def replace(self, name: Identifier, data: bytes) -> None:
        """Replace a definition, whatever its file contains."""
        self.io.replace_file(self.path(name), data)

    def delete(self, name: Identifier) -> None:
        """Delete a definition; does nothing if it is missing."""
        self.io.delete(self.path(name))

    def path(self, name: Identifier) -> str:
        """Return the file of a definition. Raises `InvalidNameError`."""
        return f"{self._folder(name.database)}/{check_name(self.kind, name.table)}{_SUFFIX}"

    def _folder(self, database: str) -> str:
        return f"{self.database_dir(database)}/${self.kind}s"


@dataclass(frozen=True)
class KeptInFiles(Definitions[T]):
    """The definitions of one kind in files; see `Definitions`.

    `turn` makes processes of this machine queue for names, `check_database` raises for a database that does not exist,
    and `has_table` returns whether a table has a name."""

    kind: DefinitionKind[T]
    files: DefinitionFiles
    turn: Callable[..., AbstractContextManager[None]]
    check_database: Callable[[str], None]
    has_table: Callable[[Identifier], bool]

    def names(self, database: str) -> list[str]:
        look, check = partial(self.files.names, database), partial(self.check_database, database)
        found, _ = both(self.files.io, look, check)
        return found

    def exists(self, identifier: Identifier) -> bool:
        return self.files.exists(self.kind.check(identifier))

    def load(self, identifier: Identifier) -> T:
        return self._read(self._checked(identifier))

    def insert(self, identifier: Identifier, definition: T) -> None:
        with self.turn(self._checked(identifier)):
            self._create(identifier, definition)

    def replace(self, identifier: Identifier, definition: T, create: bool = False) -> None:
        with self.turn(self._checked(identifier)):
            if (create and not self.kind.is_named_as_tables) or self.files.exists(identifier):
                self.files.replace(identifier, self.kind.encode(definition))
            elif create or self._has_table(identifier):
                self._create(identifier, definition)
            else:
                raise self.missing(identifier)

    def remove(self, identifier: Identifier) -> bool:
        with self.turn(self.kind.check(identifier)):
            is_there = self.files.exists(identifier)
            if is_there:
                self.files.delete(identifier)
        return is_there

    def _create(self, identifier: Identifier, definition: T) -> None:
        """Create a definition unless a table has its name.

        Writers outside the queue may create a table meanwhile, so check before and after. If they create it later, the
        name belongs to the table, because other engines do not see views here."""
        if self._has_table(identifier):
            raise self.kind.exists(identifier)
        if not self.files.create(identifier, self.kind.encode(definition)):
            raise self.kind.exists(identifier)
        if self._has_table(identifier):
            self.files.delete(identifier)
            raise self.kind.exists(identifier)

    def _read(self, identifier: Identifier) -> T:
        try:
            return self.kind.decode(self.files.path(identifier), self.files.read(identifier))
        except FileNotFoundError as e:
            raise self.missing(identifier) from e

    def _has_table(self, identifier: Identifier) -> bool:
        return self.kind.is_named_as_tables and self.has_table(identifier)

    def _checked(self, identifier: Identifier) -> Identifier:
        self.kind.check(identifier)
        self.check_database(identifier.database)
        return identifier

    def missing(self, identifier: Identifier) -> PaimonError:
        self.check_database(identifier.database)
        return self.kind.missing(identifier, f"folder {self.files.database_dir(identifier.database)}")


class ViewsInFiles(KeptInFiles[View], ViewDefinitions):
    """Views, which can also be renamed."""

    def load(self, identifier: Identifier) -> View:
        view = super().load(identifier)
        return replace(view, settings={k: v for k, v in view.settings.items() if k != _RENAMED_FROM})

    def rename(self, source: Identifier, target: Identifier) -> None:
        with self.turn(self._checked(source), self._checked(target)):
            if self.has_table(target):
                raise self.kind.exists(target)
            view = self.load(source)
            moved = replace(view, settings={**view.settings, _RENAMED_FROM: str(source)})
            if not self.files.create(target, self.kind.encode(moved)) and (
                source == target or self._read(target) != moved
            ):
                raise ViewExistsError(f"View {target} already exists.")
            self.files.delete(source)
            self.files.replace(target, self.kind.encode(view))
