"""Views as files beside tables (`definition_files`), in the form of `view`.

A rename creates the new file, which says what it comes from, and deletes the old one. Where that is interrupted, both
names have the view, and the same statement ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from paimon_core.errors import ViewExistsError, ViewNotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.definition_files import DefinitionFiles
from paimon_sql.catalog.view import View, decode_view, encode_view

_RENAMED_FROM = "renamed-from"


@dataclass(frozen=True)
class ViewFiles:
    """The views of databases, whose folders `database_dir` knows. No method looks whether there is such a database."""

    io: FileIO
    database_dir: Callable[[str], str]

    def names(self, database: str) -> list[str]:
        """The names of all views, sorted."""
        return self._files.names(database)

    def exists(self, identifier: Identifier) -> bool:
        """Whether there is a view."""
        return self._files.exists(identifier)

    def load(self, identifier: Identifier) -> View:
        """Raises `ViewNotFoundError`, `CorruptFileError`."""
        view = self._read(identifier)
        return replace(view, settings={k: v for k, v in view.settings.items() if k != _RENAMED_FROM})

    def create(self, identifier: Identifier, view: View) -> None:
        """Raises `ViewExistsError`, also where another process creates it meanwhile."""
        if not self._files.create(identifier, encode_view(view)):
            raise ViewExistsError(f"View {identifier} already exists.")

    def replace(self, identifier: Identifier, view: View) -> None:
        """Write the definition of a view anew, whatever its file holds."""
        self._files.replace(identifier, encode_view(view))

    def delete(self, identifier: Identifier) -> None:
        """Delete a view; fine where there is none."""
        self._files.delete(identifier)

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
        try:
            return decode_view(self._files.path(identifier), self._files.read(identifier))
        except FileNotFoundError as e:
            raise ViewNotFoundError(
                f"There is no view {identifier} in {self.database_dir(identifier.database)}."
            ) from e

    @cached_property
    def _files(self) -> DefinitionFiles:
        return DefinitionFiles(self.io, self.database_dir, "view")
