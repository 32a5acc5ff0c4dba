"""Read and change the objects of a REST server.

The server's refusals become errors of this library that name the object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    DatabaseNotFoundError,
    FunctionNotFoundError,
    InvalidOptionError,
    PaimonError,
    TableNotFoundError,
    ViewNotFoundError,
)
from paimon_core.io.load import normalize
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member, text_map
from paimon_core.spec.paths import check_name
from paimon_sql.catalog.folders import LOCATION
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node, RestClient
from paimon_sql.catalog.rest.failures import EXISTS, NOT_FOUND, Refused
from paimon_sql.catalog.rest.messages import SchemaBody, decode_schema_body, encode_identifier


@dataclass(frozen=True, slots=True)
class Found:
    """The server's description of one table."""

    id: str | None
    path: str
    is_external: bool
    schema_id: int
    body: SchemaBody


@dataclass(frozen=True)
class Server:
    """A catalog at a server, below a prefix of its addresses. Methods raise the errors of `RestClient`."""

    client: RestClient = field(repr=False, compare=False)
    prefix: str

    @property
    def uri(self) -> str:
        return self.client.settings.uri

    def names(self, kind: str, database: str) -> list[str]:
        """Return the names of the `tables`, `views` or `functions` of a database, sorted.

        Raises `DatabaseNotFoundError`.
        """
        with self.calling(database):
            return self.client.names(paths.database(self.prefix, check_name("database", database), kind), kind)

    def table_exists(self, identifier: Identifier) -> bool:
        """Return whether the table exists. If the identifier names a branch, return whether the branch exists."""
        try:
            self.find(identifier)
        except (DatabaseNotFoundError, TableNotFoundError):
            return False
        return True

    def rename(self, kind: str, source: Identifier, target: Identifier) -> None:
        """Give a table or view another name.

        Raises `Refused`, and `DatabaseNotFoundError` for the target's database.
        """
        body = {"source": encode_identifier(source), "destination": encode_identifier(checked(target))}
        try:
            self.client.post(paths.below(self.prefix, kind, "rename"), body)
        except Refused as error:
            if error.status == 404 and not self.database(target.database):
                raise self.no_database(target.database) from error
            raise

    def database(self, name: str) -> Node | None:
        """Return the server's description of a database, or None if the database does not exist."""
        try:
            with self.calling(name):
                return self.client.get(paths.database(self.prefix, check_name("database", name)))
        except DatabaseNotFoundError:
            return None

    def properties(self, name: str) -> dict[str, str]:
        """Return the properties of a database, and its location if the server names one.

        Raises `DatabaseNotFoundError`.
        """
        found = self.database(name)
        if found is None:
            raise self.no_database(name)
        location = self.client.read(found, name, lambda n: member(n, "location", str | None, None))
        given = self.client.read(found, name, lambda n: text_map(n, "options"))
        return given if location is None else {LOCATION: location, **given}

    def find(self, identifier: Identifier) -> Found:
        """Return the server's description of a table or its branch.

        Raises `TableNotFoundError`, `DatabaseNotFoundError`.
        """
        address = paths.table(self.prefix, checked(identifier))
        with self.calling(identifier):
            return self.client.read(self.client.get(address), address, _decode_table)

    @contextmanager
    def calling(
        self, about: Identifier | str | None = None, *, exists: str | None = "", kind: str = "table"
    ) -> Iterator[None]:
        """Raise the server's refusals as errors of this library.

        `exists` is the text for a name that is taken; with None, a taken name raises no error. `kind` is the kind of
        the identifier: a table, a view or a function."""
        try:
            yield
        except Refused as error:
            if error.status == 409 and exists is None:
                return
            if error.status == 404 and about is not None:
                raise self._not_found(error, about, kind) from error
            meant = error.as_error()
            if error.status == 409 and isinstance(meant, Refused):
                raise EXISTS[kind.upper()](exists or str(error)) from error
            raise meant from error

    def _not_found(self, error: Refused, about: Identifier | str, kind: str) -> PaimonError:
        if isinstance(about, str):
            return self.no_database(about)
        if error.resource == "DATABASE" or (not error.resource and not self.database(about.database)):
            return self.no_database(about.database)
        if error.kind:
            meant = error.as_error()
            if not isinstance(meant, (TableNotFoundError, ViewNotFoundError, FunctionNotFoundError)):
                return meant
        if error.resource == "COLUMN":
            return error.as_error()
        return self._no(kind, about)

    def missing(self, kind: str, identifier: Identifier) -> PaimonError:
        """Return the error for a missing table, view or function, or for its missing database."""
        if self.database(identifier.database) is None:
            return self.no_database(identifier.database)
        return self._no(kind, identifier)

    def _no(self, kind: str, identifier: Identifier) -> PaimonError:
        return NOT_FOUND[kind.upper()](f"There is no {kind} {identifier.base} in the catalog {self.uri}.")

    def no_database(self, name: str) -> DatabaseNotFoundError:
        """Return the error for a missing database."""
        return DatabaseNotFoundError(f"There is no database {name} in the catalog {self.uri}.")


def _decode_table(node: Node) -> Found:
    body = decode_schema_body(member(node, "schema", dict))
    try:
        path = normalize(member(node, "path", str))
    except InvalidOptionError as error:
        raise TypeError(str(error)) from error
    return Found(
        member(node, "id", str | None, None),
        path,
        member(node, "isExternal", bool, False),
        member(node, "schemaId", int),
        body,
    )


def checked(identifier: Identifier) -> Identifier:
    """Raise `InvalidNameError` for a name that a folder cannot have. Else return the identifier."""
    check_name("database", identifier.database)
    check_name("table", identifier.table)
    return identifier
