"""What a materialized table has more than another: its query, and how fresh its rows are to be. They are options.

Flink's catalog reads and writes the same options. Flink keeps a query with full names; of one that was defined here,
the catalog and the database in which it was stand beside it.

Source: `MATERIALIZED_TABLE_…` of Paimon's `CoreOptions`, and `FlinkCatalog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    """`freshness` is a number and one of `UNITS`; `asked_mode` is None where the mode was left to the engine.
    `catalog` and `database` are those in which names of the query are looked up, None where that is not known."""

    query: str
    freshness: tuple[str, str]
    asked_mode: str | None = None
    catalog: str | None = None
    database: str | None = None

    def options(self) -> dict[str, str]:
        """As a schema file has it. What was asked for is done; the mode is FULL where nothing was."""
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
        """Raises `InvalidOptionError` for a table that is no materialized one."""
        if not is_materialized_table(options):
            raise InvalidOptionError(f"Table {table} is no materialized table: it has no query that is its definition.")
        check_definition(table, options)
        freshness = options.get(_INTERVAL, ""), options.get(_UNIT, "")
        return Definition(
            options[_QUERY], freshness, options.get(_LOGICAL), options.get(_CATALOG), options.get(_DATABASE)
        )


def is_materialized_table(options: Mapping[str, str]) -> bool:
    """Whether a schema's options make it that of a materialized table."""
    return options.get("type", "table").strip().lower() == MATERIALIZED_TABLE


def is_continuous(options: Mapping[str, str]) -> bool:
    """Whether a job keeps the rows up to date."""
    return options.get(_MODE, FULL).strip().upper() == CONTINUOUS


def is_kept_by_flink(options: Mapping[str, str]) -> bool:
    """Whether the job is a streaming one of Flink's."""
    return is_continuous(options) and _CATALOG not in options


def is_kept_by(handler: str, options: Mapping[str, str]) -> bool:
    """Whether a job of ours is still the one that is to keep the rows up to date."""
    status = options.get(STATUS, "").strip().upper()
    return is_continuous(options) and status == ACTIVATED and options.get(HANDLER) == handler


def check_definition(table: str, options: Mapping[str, str]) -> None:
    """Raises `InvalidOptionError` for a materialized table without a query."""
    if is_materialized_table(options) and not options.get(_QUERY, "").strip():
        raise InvalidOptionError(
            f"Table {table} cannot be a materialized table without a query: write CREATE MATERIALIZED TABLE … AS "
            "SELECT …."
        )
