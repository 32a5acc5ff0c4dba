"""Tables that need the server's permission for each read (`query-auth.enabled`). The server allows the read, refuses
it, or shows only some rows or masked columns. Queries of a version return that part; all other reads then raise an
error.

Source: `authTableQuery` of the API; `TableQueryAuthResult` of Paimon.
"""

from __future__ import annotations

from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.expressions.shown import Shown
from paimon_core.options import QUERY_AUTH
from paimon_core.rights import AskedRights
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import text_list, text_map
from paimon_core.spec.types import DataField
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.restrictions import UnknownRestriction, read_restrictions
from paimon_sql.catalog.rest.server import Server


@dataclass(frozen=True)
class QueryAuth:
    """Requests the server's permission for each read of a table; see `Rights`.

    If it is pickled for tasks, they get the right to read whatever the driver planned.
    """

    server: Server
    identifier: Identifier
    fields: tuple[DataField, ...]
    of_queries: bool = True

    def check_select(self, table: str) -> None:
        """Raise an error unless the server allows reading all rows and columns.

        Raises `UnsupportedFeatureError` if the server shows only a part, or does not have such a call; also raises the
        server's refusals.
        """
        shown = self.shown(table)
        if shown is not None:
            masked = ", ".join(sorted(shown.masked))
            parts = (
                "only the rows of a filter" if shown.condition else "",
                f"masked columns ({masked})" if masked else "",
            )
            raise UnsupportedFeatureError(
                f"Table {table} cannot be read in this way: the catalog {self.server.uri} shows its user "
                f"{' and '.join(filter(None, parts))}, and only queries of the table's rows can apply this. Use "
                "SELECT of the table itself, or a user who may see all of it."
            )

    def shown(self, table: str) -> Shown | None:
        """Return the part of the table that the server shows; see `Rights`.

        Raises `UnsupportedFeatureError` if the answer contains unknown rules or the server does not have such a call;
        also raises the server's refusals."""
        address = paths.table(self.server.prefix, self.identifier, "auth")
        try:
            answer = self.server.client.ask(address, {"select": [f.name for f in self.fields]})
        except Refused as error:
            raise self._meant(error, table) from error
        filters, masks = self.server.client.read(answer, address, _decode)
        try:
            return read_restrictions(filters, masks, self.fields)
        except UnknownRestriction as error:
            raise UnsupportedFeatureError(
                f"Table {table} cannot be read: the catalog {self.server.uri} shows its user only a part of it, by "
                f"{error}, which this version does not support. Read it as a user who may see all of it, or with "
                "Paimon's Java connector."
            ) from None

    def check_insert(self, table: str) -> None:
        """Do nothing: the server itself refuses commits."""

    def check_any(self, table: str) -> None:
        """Do nothing: versions contain no rows."""

    def __reduce__(self) -> Any:
        return AskedRights, ()

    def _meant(self, error: Refused, table: str) -> PaimonError:
        if error.status in (405, 501) or (error.status == 404 and not error.resource):
            self.server.find(self.identifier)  # raises if the table does not exist
            return UnsupportedFeatureError(
                f"Table {table} cannot be read: '{QUERY_AUTH.key}' = 'true' requires the catalog's permission for "
                f"each read, and {self.server.uri} cannot give it: {error}"
            )
        return error.as_error()


def query_auth(server: Server, store: TableStore) -> QueryAuth | None:
    """Return the permission check for reads of the table, or None if the table does not require it."""
    if not store.options[QUERY_AUTH]:
        return None
    name = store.identifier.base.on_branch(store.branch or None)
    return QueryAuth(server, name, store.schema.fields)


def _decode(node: Node) -> tuple[list[str], dict[str, str]]:
    return text_list(node, "filter"), text_map(node, "columnMasking")
