"""Words that can continue a statement: keywords, and the names of catalogs, databases, tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from paimon_core.lazy import cached_property
from paimon_core.options.table import TABLE_OPTIONS
from paimon_sql.procedures import PROCEDURES

KEYWORDS = (
    "ADD ALTER AND AS BETWEEN BY CALL CASE CAST COLUMN COMMENT CREATE CROSS DATABASE DELETE DESCRIBE DISTINCT DROP "
    "ELSE END EXISTS EXPLAIN FROM FULL GROUP HAVING IF IN INNER INSERT INTERVAL INTO IS JOIN LEFT LIKE LIMIT MATCHED "
    "MERGE NOT NULL ON OR ORDER OVER OVERWRITE PARTITION PARTITIONED PRIMARY RENAME REPLACE RESET RIGHT SELECT SET "
    "SHOW TABLE TABLES TBLPROPERTIES THEN TIMESTAMP TRUNCATE UNION UPDATE USE USING VALUES VERSION VIEW WHEN WHERE WITH"
)
_FRAGMENT = re.compile(r"[\w$.`-]*\Z")
_OPTION = re.compile(r"\b(?:WITH|TBLPROPERTIES|OPTIONS|SET|RESET|UNSET)\b[^()]*\([^()]*'[\w.-]*\Z", re.IGNORECASE)
_PROCEDURE = re.compile(r"\bCALL\s+[\w.]*\Z", re.IGNORECASE)
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?P<name>[\w$.`]+)", re.IGNORECASE)


def fragment(text: str) -> str:
    """Return the unfinished word at the end of a text, which a completion replaces."""
    found = _FRAGMENT.search(text)
    return found[0] if found else ""


class Words:
    """The words that can end a statement. Each kind of names is read from Spark at most once.

    If the session raises an error, there are no words: completion must not disturb the user's typing.
    """

    def __init__(self, session: Any):
        self._session = session
        self._found: dict[str, list[str]] = {}

    def after(self, text: str) -> list[str]:
        """Return the words that can replace the unfinished one at the end of a statement, sorted."""
        begun = fragment(text)
        return sorted({w for w in self._candidates(text, begun) if w.lower().startswith(begun.lower())})

    def _candidates(self, text: str, begun: str) -> Iterable[str]:
        if _OPTION.search(text):
            return [option.key for option in TABLE_OPTIONS]
        if _PROCEDURE.search(text):
            return [f"sys.{name}" for name in PROCEDURES]
        owner, dot, _ = begun.rpartition(".")
        if dot:
            return [f"{owner}.{name}" for name in self._below(owner)]
        columns = [column for match in _TABLE.finditer(text) for column in self._columns(match["name"])]
        return [*KEYWORDS.split(), *self._names("SHOW TABLES", 1), *self._places, *columns]

    @cached_property
    def _places(self) -> list[str]:
        """Return the names of catalogs, and of the databases of the current one."""
        return self._names("SHOW CATALOGS", 0) + self._names("SHOW DATABASES", 0)

    def _below(self, owner: str) -> list[str]:
        """Return the names in a catalog or a database, or the columns of a table."""
        tables, databases = self._names(f"SHOW TABLES IN {owner}", 1), self._names(f"SHOW DATABASES IN {owner}", 0)
        return [*tables, *databases, *(() if tables or databases else self._columns(owner))]

    def _names(self, statement: str, column: int) -> list[str]:
        if statement not in self._found:
            try:
                self._found[statement] = [str(row[column]) for row in self._session.sql(statement).collect()]
            except Exception:
                self._found[statement] = []
        return self._found[statement]

    def _columns(self, table: str) -> list[str]:
        if table not in self._found:
            try:
                self._found[table] = list(self._session.table(table).columns)
            except Exception:
                self._found[table] = []
        return self._found[table]
