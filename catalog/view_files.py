"""Views as files beside tables: `WAREHOUSE/NAME.db/$views/VIEW.json`, one for each, in the form of `view`.

An extension of ours. No table is called `$views`, as `$` is in no name, and the folder has no schema, so that Paimon's
other engines list neither it nor what is in it. A view is there while its file is. Files are created atomically and
replaced as a whole; a rename creates the new file, which says what it comes from, and deletes the old one. Where that
is interrupted, both names have the view, and the same statement ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from paimon_core.errors import StorageError, ViewExistsError, ViewNotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name, is_file_name
from paimon_sql.catalog.view import View, decode_view, encode_view

FOLDER = "$views"
_SUFFIX = ".json"
_MOST = 2**24  # bytes of a definition
_RENAMED_FROM = "renamed-from"


@dataclass(frozen=True)
class ViewFiles:
    """The views of databases, whose folders `database_dir` knows. No method looks whether there is such a database."""

    io: FileIO
    database_dir: Callable[[str], str]

    def names(self, database: str) -> list[str]:
        """The names of all views, sorted; files of other names are nobody's."""
        found = [f.name for f in self.io.list(f"{self.database_dir(database)}/{FOLDER}") if not f.is_dir]
        names = [n.removesuffix(_SUFFIX) for n in found if n.endswith(_SUFFIX)]
        return sorted(n for n in names if n and is_file_name(n) and "$" not in n)

    def exists(self, identifier: Identifier) -> bool:
        """Whether there is a view."""
        return self.io.exists(self._path(identifier))

    def load(self, identifier: Identifier) -> View:
        """Raises `ViewNotFoundError`, `CorruptFileError`."""
        view = self._read(identifier)
        return replace(view, settings={k: v for k, v in view.settings.items() if k != _RENAMED_FROM})

    def create(self, identifier: Identifier, view: View) -> None:
        """Raises `ViewExistsError`, also where another process creates it meanwhile."""
        path, data = self._path(identifier), encode_view(view)
        try:
            created = self.io.create_exclusive(path, data)
        except StorageError:
            if not self.io.exists(path) or self.io.read_bytes(path, _MOST) != data:
                raise
            created = True  # the answer was lost, not the file
        if not created:
            raise ViewExistsError(f"View {identifier} already exists.")

    def replace(self, identifier: Identifier, view: View) -> None:
        """Write the definition of a view anew, whatever its file holds."""
        self.io.write_bytes(self._path(identifier), encode_view(view))

    def delete(self, identifier: Identifier) -> None:
        """Delete a view; fine where there is none."""
        self.io.delete(self._path(identifier))

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Raises `ViewNotFoundError`, `ViewExistsError`; ends what such a call began before."""
        view = self.load(source)
        moved = replace(view, settings={**view.settings, _RENAMED_FROM: str(source)})
        try:
            self.create(target, moved)
        except ViewExistsError:
            if source == target or self._read(target) != moved:
                raise
        self.delete(source)
        self.replace(target, view)

    def _read(self, identifier: Identifier) -> View:
        path = self._path(identifier)
        try:
            return decode_view(path, self.io.read_bytes(path, _MOST))
        except FileNotFoundError as e:
            raise ViewNotFoundError(
                f"There is no view {identifier} in {self.database_dir(identifier.database)}."
            ) from e

    def _path(self, identifier: Identifier) -> str:
        name = check_name("view", identifier.table)
        return f"{self.database_dir(identifier.database)}/{FOLDER}/{name}{_SUFFIX}"
