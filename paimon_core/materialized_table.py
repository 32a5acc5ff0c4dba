"""The extra options of a materialized table: its query, and how fresh its rows must be.

Flink's catalog reads and writes the same options. Flink stores a query with full names. This package stores a query as
it was written, together with the current catalog and database.

Source: `MATERIALIZED_TABLE_…` of Paimon's `CoreOptions`, and `FlinkCatalog`.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError

MATERIALIZED_TABLE = "materialized-table"
FULL, CONTINUOUS, AUTOMATIC = "FULL", "CONTINUOUS", "AUTOMATIC"
ACTIVATED, SUSPENDED = "ACTIVATED", "SUSPENDED"
UNITS = ("SECOND", "MINUTE", "HOUR", "DAY")
STATUS = f"{MATERIALIZED_TABLE}.refresh-status"
HANDLER = f"{MATERIALIZED_TABLE}.refresh-handler-description"  # the job that keeps the rows up to date
_QUERY = f"{MATERIALIZED_TABLE}.definition-query"
_INTERVAL, _UNIT = (f"{MATERIALIZED_TABLE}.interval-freshness{end}" for end in ("", ".time-unit"))
_LOGICAL, _MODE = (f"{MATERIALIZED_TABLE}.{which}refresh-mode" for which in ("logical-", ""))
_CATALOG, _DATABASE = (f"paimon-sql.{MATERIALIZED_TABLE}.{what}" for what in ("catalog", "database"))


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a materialized table.

    `freshness` is a number and one of `UNITS`. Without an `asked_mode`, the user left the mode to the engine. Names in
    the query are looked up in `catalog` and `database`, None if unknown."""

    query: str
    freshness: tuple[str, str]
    asked_mode: str | None = None
    catalog: str | None = None
    database: str | None = None

    def options(self) -> dict[str, str]:
        """Return the options for a schema file. The mode is the user's choice, or FULL."""
        own = {_CATALOG: self.catalog, _DATABASE: self.database}
        return {
            "type": MATERIALIZED_TABLE,
            _QUERY: self.query,
            _INTERVAL: self.freshness[0],
            _UNIT: self.freshness[1],
            _LOGICAL: self.asked_mode or AUTOMATIC,
            _MODE: self.asked_mode or FULL,
            STATUS: ACTIVATED,
        } | {k: v for k, v in own.items() if v is not None}

    @staticmethod
    def of(table: str, options: Mapping[str, str]) -> Definition:
        """Read a definition. Raises `InvalidOptionError` for a table that is not a materialized table."""
        if not is_materialized_table(options):
            raise InvalidOptionError(f"Table {table} is not a materialized table: its options do not define a query.")
        check_definition(table, options)
        freshness = options.get(_INTERVAL, ""), options.get(_UNIT, "")
        return Definition(
            options[_QUERY], freshness, options.get(_LOGICAL), options.get(_CATALOG), options.get(_DATABASE)
        )


def is_materialized_table(options: Mapping[str, str]) -> bool:
    """Return whether the options of a schema define a materialized table."""
    return options.get("type", "table").strip().lower() == MATERIALIZED_TABLE


def is_continuous(options: Mapping[str, str]) -> bool:
    """Return whether a job keeps the rows up to date."""
    return options.get(_MODE, FULL).strip().upper() == CONTINUOUS


def is_kept_by_flink(options: Mapping[str, str]) -> bool:
    """Return whether the job that keeps the rows up to date is a streaming job of Flink."""
    return is_continuous(options) and _CATALOG not in options


def is_kept_by(handler: str, options: Mapping[str, str]) -> bool:
    """Return whether our job `handler` must still keep the rows up to date."""
    status = options.get(STATUS, "").strip().upper()
    return is_continuous(options) and status == ACTIVATED and options.get(HANDLER) == handler


def check_definition(table: str, options: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` for a materialized table without a query."""
    if is_materialized_table(options) and not options.get(_QUERY, "").strip():
        raise InvalidOptionError(
            f"Table {table} cannot be a materialized table without a query: write CREATE MATERIALIZED TABLE … AS "
            "SELECT …."
        )
