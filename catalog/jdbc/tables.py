"""The tables of the database, in the definitions of Java's catalog, so that both can share a database.

On MySQL, our tables are in utf8mb4 and compare names byte by byte, as folders do. There, the key of
`paimon_table_properties` would exceed InnoDB's limit of 3072 bytes, so an index of prefixes replaces it; the prefixes
have the length of the longest names.

Source: `JdbcUtils` and the lock dialects of Paimon.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    inspect,
    text,
)
from sqlalchemy.dialects.mysql import TIMESTAMP as MYSQL_TIMESTAMP
from sqlalchemy.types import TIMESTAMP

NAME_LENGTH = 255  # characters of names and keys
VALUE_LENGTH = 1000
MYSQL_TEXT_BYTES = 2**16 - 1  # a longer TEXT is cut off if the server is not strict
_MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
# Characters of 4 bytes each. `catalog-key` has at most 100 characters, names of databases and tables have at most 200
# bytes.
_PREFIXES = {"catalog_key": 100, "database_name": 200, "table_name": 200}


def _name(column: str) -> Column[str]:
    return Column(column, String(NAME_LENGTH), nullable=False)


def _key(*columns: str) -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint(*columns)


_METADATA = MetaData()
TABLES = Table(
    "paimon_tables",
    _METADATA,
    *map(_name, ("catalog_key", "database_name", "table_name")),
    _key("catalog_key", "database_name", "table_name"),
    **_MYSQL,
)
DATABASE_PROPERTIES = Table(
    "paimon_database_properties",
    _METADATA,
    *map(_name, ("catalog_key", "database_name", "property_key")),
    Column("property_value", String(VALUE_LENGTH)),
    _key("catalog_key", "database_name", "property_key"),
    **_MYSQL,
)
VIEWS = Table(
    "paimon_views",
    _METADATA,
    *map(_name, ("catalog_key", "database_name", "view_name")),
    Column("view_schema", Text, nullable=False),
    _key("catalog_key", "database_name", "view_name"),
    **_MYSQL,
)
FUNCTIONS = Table(  # Java does not have this table
    "paimon_functions",
    _METADATA,
    *map(_name, ("catalog_key", "database_name", "function_name")),
    Column("function_schema", Text, nullable=False),
    _key("catalog_key", "database_name", "function_name"),
    **_MYSQL,
)
_PROPERTY_NAMES = ("catalog_key", "database_name", "table_name", "property_key")
TABLE_PROPERTIES = Table(
    "paimon_table_properties",
    _METADATA,
    *map(_name, _PROPERTY_NAMES),
    Column("property_value", String(VALUE_LENGTH)),
    _key(*_PROPERTY_NAMES),
)


_MYSQL_PROPERTIES = Table(
    TABLE_PROPERTIES.name,
    MetaData(),
    *map(_name, _PROPERTY_NAMES),
    Column("property_value", String(VALUE_LENGTH)),
    Index("paimon_table_properties_key", *_PROPERTY_NAMES, unique=True, mysql_length=_PREFIXES),
    **_MYSQL,
)


def create_tables(connection: Connection, lock_length: int) -> None:
    """Create the missing tables. Raises the database's errors, even if another process creates the tables meanwhile."""
    is_mysql = connection.dialect.name == "mysql"
    properties = _MYSQL_PROPERTIES if is_mysql else TABLE_PROPERTIES
    for table in (TABLES, DATABASE_PROPERTIES, properties, VIEWS, FUNCTIONS, _locks(lock_length, is_mysql)):
        table.create(connection, checkfirst=True)


def has_tables(connection: Connection) -> bool:
    """Return whether the database has at least one of the tables. Raises the database's errors."""
    known = inspect(connection)
    names = (TABLES.name, DATABASE_PROPERTIES.name, TABLE_PROPERTIES.name, VIEWS.name, FUNCTIONS.name)
    return any(known.has_table(name) for name in names)


def _locks(lock_length: int, is_mysql: bool) -> Table:
    """Return the table of locks.

    Its times have the highest precision of the database, so that they distinguish two holders.
    """
    time, now = (MYSQL_TIMESTAMP(fsp=6), "CURRENT_TIMESTAMP(6)") if is_mysql else (TIMESTAMP(), "CURRENT_TIMESTAMP")
    return Table(
        "paimon_distributed_locks",
        MetaData(),
        Column("lock_id", String(lock_length), primary_key=True),
        Column("acquired_at", time, nullable=False, server_default=text(now)),
        Column("expire_time_seconds", BigInteger, nullable=False, server_default=text("0")),
        **_MYSQL,
    )
