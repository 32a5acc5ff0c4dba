"""Functions as files beside tables (`definition_files`), in the form of `function`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from paimon_core.errors import FunctionExistsError, FunctionNotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.definition_files import DefinitionFiles
from paimon_sql.catalog.function import Function, decode_function, encode_function


@dataclass(frozen=True)
class FunctionFiles:
    """The functions of databases, whose folders `database_dir` knows. No method looks whether there is such a
    database; all raise `InvalidNameError`."""

    io: FileIO
    database_dir: Callable[[str], str]

    def names(self, database: str) -> list[str]:
        """The names of all functions, sorted."""
        return self._files.names(database)

    def exists(self, identifier: Identifier) -> bool:
        """Whether there is a function."""
        return self._files.exists(identifier)

    def load(self, identifier: Identifier) -> Function:
        """Raises `FunctionNotFoundError`, `CorruptFileError`."""
        try:
            return decode_function(self._files.path(identifier), self._files.read(identifier))
        except FileNotFoundError as e:
            raise self._no_function(identifier) from e

    def create(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Raises `FunctionExistsError`, also where another process creates it meanwhile."""
        if not self._files.create(identifier, encode_function(function)) and not ignore_if_exists:
            raise FunctionExistsError(f"Function {identifier} already exists.")

    def replace(self, identifier: Identifier, function: Function, create: bool = False) -> None:
        """Write a definition anew, whatever its file holds. Raises `FunctionNotFoundError`, unless `create`."""
        if not create and not self.exists(identifier):
            raise self._no_function(identifier)
        self._files.replace(identifier, encode_function(function))

    def delete(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Raises `FunctionNotFoundError`."""
        if not ignore_if_not_exists and not self.exists(identifier):
            raise self._no_function(identifier)
        self._files.delete(identifier)

    def _no_function(self, identifier: Identifier) -> FunctionNotFoundError:
        return FunctionNotFoundError(f"There is no function {identifier} in {self.database_dir(identifier.database)}.")

    @cached_property
    def _files(self) -> DefinitionFiles:
        return DefinitionFiles(self.io, self.database_dir, "function")
