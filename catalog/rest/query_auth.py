"""Tables that need the server's permission for each read (`query-auth.enabled`). The server allows the read, refuses
it, or shows only some rows or masked columns. Queries of a version show that part; all other reads are refused then.

Source: `authTableQuery` of the API; `TableQueryAuthResult` of Paimon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """Asks the server whether all columns of a table may be read, each time. See `Rights`.

    Pickled, it is what lets tasks read what the driver planned.
    """

    server: Server
    identifier: Identifier
    fields: tuple[DataField, ...]
    of_queries: bool = True

    def check_select(self, table: str) -> None:
        """Raises `UnsupportedFeatureError` if the server shows only a part or has no such call, and its refusals."""
        shown = self.shown(table)
        if shown is not None:
            masked = ", ".join(sorted(shown.masked))
            parts = ("a filter's rows alone" if shown.condition else "", f"masked columns ({masked})" if masked else "")
            raise UnsupportedFeatureError(
                f"Table {table} cannot be read in this way: the catalog {self.server.uri} shows its user "
                f"{' and '.join(filter(None, parts))}, which only queries of the table's rows do. Use SELECT of the "
                "table itself, or a user who may see all of it."
            )

    def shown(self, table: str) -> Shown | None:
        """Return what the server shows, see `Rights`. Raises `UnsupportedFeatureError` if the answer contains unknown
        rules or the server has no such call; raises the server's refusals."""
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
                f"Table {table} cannot be read: the catalog {self.server.uri} shows its user a part of it, by {error}, "
                "which this version does not know. Read it as a user who may see all of it, or with Paimon's Java "
                "connector."
            ) from None

    def check_insert(self, table: str) -> None:
        """The server refuses commits itself."""

    def check_any(self, table: str) -> None:
        """Versions show no rows."""

    def __reduce__(self) -> Any:
        return AskedRights, ()

    def _meant(self, error: Refused, table: str) -> PaimonError:
        if error.status in (405, 501) or (error.status == 404 and not error.resource):
            self.server.find(self.identifier)  # raises if the table does not exist
            return UnsupportedFeatureError(
                f"Table {table} cannot be read: '{QUERY_AUTH.key}' = 'true' has its readers ask the catalog what they "
                f"may see, and {self.server.uri} has no way to say: {error}"
            )
        return error.as_error()


def query_auth(server: Server, store: TableStore) -> QueryAuth | None:
    """Return the permission that a read of the table needs; None if the table does not require it."""
    if not store.options[QUERY_AUTH]:
        return None
    name = store.identifier.base.on_branch(store.branch or None)
    return QueryAuth(server, name, store.schema.fields)


def _decode(node: Node) -> tuple[list[str], dict[str, str]]:
    return text_list(node, "filter"), text_map(node, "columnMasking")
