"""The tables that the statements of a session change. A statement loads its table only once, even if this package
rewrites it before Spark runs it.
"""

from __future__ import annotations

import time

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.spark.session_bridge import SessionBridge

_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A table that the rewriting of a statement loaded at a time of the monotonic clock."""

    identifier: Identifier
    statement: int
    at: float
    table: Table


class StatementTargets:
    """Loads the tables that statements change, in one catalog of a session. Queries do not use it."""

    def __init__(self, session: SessionBridge, catalog: Catalog) -> None:
        self._session, self._catalog = session, catalog
        self._ahead: _Ahead | None = None

    def load_ahead(self, identifier: Identifier) -> Table:
        """Load the table of a statement while the statement is rewritten, and keep it for `load`."""
        table = self.load(identifier)
        self._ahead = _Ahead(identifier, self._session.statements, time.monotonic(), table)
        return table

    def load(self, identifier: Identifier) -> Table:
        """Return the table of a statement. If the same statement has loaded it ahead, return that table, but only once.

        Calls of DataFrames do not get a new statement number, so a table is kept for at most a second. A commit checks
        that the table is still the same.
        """
        ahead, self._ahead = self._ahead, None
        if ahead is None or (ahead.identifier, ahead.statement) != (identifier, self._session.statements):
            return self._catalog.load_table(identifier)
        is_recent = time.monotonic() - ahead.at < _SECONDS
        return ahead.table if is_recent else self._catalog.load_table(identifier)

    def exists(self, identifier: Identifier) -> bool:
        """Return whether a table exists, readable or not. Load it ahead if it is readable."""
        try:
            self.load_ahead(identifier)
        except PaimonError:
            return self._catalog.table_exists(identifier)
        return True

    def forget(self) -> None:
        """Forget the table that was loaded ahead: the statement does not load its table itself."""
        self._ahead = None
