"""Views and functions: named definitions that a catalog stores beside its tables.

A catalog has a store of `Definitions` for each of the two kinds. A `DefinitionKind` has the differences between the
kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    FunctionExistsError,
    FunctionNotFoundError,
    PaimonError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import check_is_function_name, check_is_view_name

if TYPE_CHECKING:
    from paimon_sql.catalog.function import Function, decode_function, encode_function
    from paimon_sql.catalog.view import View, decode_view, encode_view
else:
    decode_function = ImportedOnCall("paimon_sql.catalog.function", "decode_function")
    encode_function = ImportedOnCall("paimon_sql.catalog.function", "encode_function")
    decode_view = ImportedOnCall("paimon_sql.catalog.view", "decode_view")
    encode_view = ImportedOnCall("paimon_sql.catalog.view", "encode_view")

T = TypeVar("T")


@dataclass(frozen=True)
class DefinitionKind(Generic[T]):
    """The kind of a definition: view or function.

    `check` returns a valid name of the kind, and raises `InvalidNameError` for any other name. `is_named_as_tables`: a
    definition and a table of one database cannot have the same name."""

    name: str
    check: Callable[[Identifier], Identifier]
    encode: Callable[[T], bytes]
    decode: Callable[[str, bytes], T]  # the first argument names the bytes in errors
    exists_error: type[PaimonError]
    missing_error: type[PaimonError]
    is_named_as_tables: bool

    def exists(self, identifier: Identifier) -> PaimonError:
        """Return the error for a name that is taken."""
        if self.is_named_as_tables:
            return self.exists_error(
                f"{self.name.title()} {identifier} cannot be created: a {self.name} or a table has that name."
            )
        return self.exists_error(f"{self.name.title()} {identifier} already exists.")

    def missing(self, identifier: Identifier, where: str) -> PaimonError:
        """Return the error for a missing definition; `where` is the warehouse or catalog."""
        return self.missing_error(f"There is no {self.name} {identifier} in the {where}.")


VIEWS: DefinitionKind[View] = DefinitionKind(
    "view", check_is_view_name, encode_view, decode_view, ViewExistsError, ViewNotFoundError, is_named_as_tables=True
)
FUNCTIONS: DefinitionKind[Function] = DefinitionKind(
    "function",
    check_is_function_name,
    encode_function,
    decode_function,
    FunctionExistsError,
    FunctionNotFoundError,
    is_named_as_tables=False,
)


class Definitions(ABC, Generic[T]):
    """The definitions of one kind in a catalog.

    `SupportsViews` and `SupportsFunctions` list the errors of the methods.
    """

    kind: DefinitionKind[T]

    @abstractmethod
    def names(self, database: str) -> list[str]: ...

    @abstractmethod
    def exists(self, identifier: Identifier) -> bool: ...

    @abstractmethod
    def load(self, identifier: Identifier) -> T: ...

    @abstractmethod
    def replace(self, identifier: Identifier, definition: T, create: bool = False) -> None: ...

    @abstractmethod
    def insert(self, identifier: Identifier, definition: T) -> None:
        """Create a definition. Raises the kind's `exists_error` if the name is taken."""

    @abstractmethod
    def remove(self, identifier: Identifier) -> bool:
        """Delete a definition. Return False if it does not exist."""

    @abstractmethod
    def missing(self, identifier: Identifier) -> PaimonError:
        """Return the error for a name without a definition. Raises `DatabaseNotFoundError`."""

    def create(self, identifier: Identifier, definition: T, ignore_if_exists: bool = False) -> None:
        try:
            self.insert(identifier, definition)
        except self.kind.exists_error:
            if not ignore_if_exists:
                raise

    def drop(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        if not self.remove(identifier) and not ignore_if_not_exists:
            raise self.missing(identifier)


class ViewDefinitions(Definitions["View"]):
    """The views of a catalog. Unlike functions, views can be renamed."""

    @abstractmethod
    def rename(self, source: Identifier, target: Identifier) -> None: ...


class KeepsViews(ABC):
    """The methods of `SupportsViews`, for a catalog that stores views in `ViewDefinitions`."""

    @property
    @abstractmethod
    def _views(self) -> ViewDefinitions: ...

    @abstractmethod
    def list_tables(self, database: str) -> list[str]: ...

    def list_views(self, database: str) -> list[str]:
        return self._views.names(database)

    def list_relations(self, database: str) -> tuple[list[str], list[str]]:
        return self.list_tables(database), self.list_views(database)

    def view_exists(self, identifier: Identifier) -> bool:
        return self._views.exists(identifier)

    def load_view(self, identifier: Identifier) -> View:
        return self._views.load(identifier)

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        self._views.create(identifier, view, ignore_if_exists)

    def replace_view(self, identifier: Identifier, view: View, create: bool = False) -> None:
        self._views.replace(identifier, view, create)

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._views.drop(identifier, ignore_if_not_exists)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._views.rename(source, target)


class KeepsFunctions(ABC):
    """The methods of `SupportsFunctions`, for a catalog that stores functions in `Definitions`."""

    @property
    @abstractmethod
    def _functions(self) -> Definitions[Function]: ...

    def list_functions(self, database: str) -> list[str]:
        return self._functions.names(database)

    def function_exists(self, identifier: Identifier) -> bool:
        return self._functions.exists(identifier)

    def load_function(self, identifier: Identifier) -> Function:
        return self._functions.load(identifier)

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        self._functions.create(identifier, function, ignore_if_exists)

    def replace_function(self, identifier: Identifier, function: Function, create: bool = False) -> None:
        self._functions.replace(identifier, function, create)

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._functions.drop(identifier, ignore_if_not_exists)
