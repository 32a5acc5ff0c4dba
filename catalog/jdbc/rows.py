"""Read and write the catalog's rows: each function is one statement, or a few statements for one transaction.

`connection` is open, and `key` is the catalog's key in the shared tables. Texts are passed as parameters, never as SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, and_, delete, insert, literal, select, union, update
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.schema import Table

from paimon_core.dataclass import dataclass
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.jdbc.tables import DATABASE_PROPERTIES, FUNCTIONS, TABLE_PROPERTIES, TABLES, VIEWS

EXISTS = "exists"  # the property of every database that was created
RENAMED_TO = "paimon-sql.renamed-to"  # the new name of a table while its folder is moved; other engines ignore it


# -- databases
def databases(connection: Connection, key: str) -> set[str]:
    """Return the names of the databases that were created, or that have a table or a view."""
    parts = (select(t.c.database_name).where(t.c.catalog_key == key) for t in (TABLES, DATABASE_PROPERTIES, VIEWS))
    return set(connection.scalars(union(*parts)))


def has_database(connection: Connection, key: str, name: str) -> bool:
    """Return whether a database was created, or has a table or a view."""
    parts = (select(t.c.database_name).where(_in_database(t, key, name)) for t in (TABLES, DATABASE_PROPERTIES, VIEWS))
    return name in set(connection.scalars(union(*parts)))


def database_properties(connection: Connection, key: str, name: str) -> dict[str, str]:
    """Return all properties of a database, including properties that Java hides."""
    t = DATABASE_PROPERTIES
    found = connection.execute(select(t.c.property_key, t.c.property_value).where(_in_database(t, key, name)))
    return {k: v for k, v in found if v is not None}


def insert_database(connection: Connection, key: str, name: str, properties: Mapping[str, str]) -> None:
    """Insert the row of a database. Raises an error if it exists."""
    _insert_properties(connection, DATABASE_PROPERTIES, _database(key, name), {EXISTS: "true"})
    set_database_properties(connection, key, name, properties)


def set_database_properties(connection: Connection, key: str, name: str, properties: Mapping[str, str]) -> None:
    remove_database_properties(connection, key, name, list(properties))
    _insert_properties(connection, DATABASE_PROPERTIES, _database(key, name), properties)


def remove_database_properties(connection: Connection, key: str, name: str, keys: Sequence[str]) -> None:
    t = DATABASE_PROPERTIES
    if keys:
        connection.execute(delete(t).where(_in_database(t, key, name), t.c.property_key.in_(keys)))


def delete_database(connection: Connection, key: str, name: str) -> None:
    connection.execute(delete(DATABASE_PROPERTIES).where(_in_database(DATABASE_PROPERTIES, key, name)))


# -- tables
def tables(connection: Connection, key: str, database: str) -> list[str]:
    return list(connection.scalars(select(TABLES.c.table_name).where(_in_database(TABLES, key, database))))


def has_table(connection: Connection, key: str, table: Identifier) -> bool:
    """Return whether a table has a row."""
    found = connection.execute(select(TABLES.c.database_name, TABLES.c.table_name).where(_is(TABLES, key, table)))
    return any((database, name) == (table.database, table.table) for database, name in found)


def look_up(connection: Connection, key: str, table: Identifier) -> tuple[bool, bool]:
    """Return whether a table has a row, and whether its folder is being moved, with one request."""
    t, p = TABLES, TABLE_PROPERTIES
    row = select(t.c.database_name, t.c.table_name, literal(0)).where(_is(t, key, table))
    note = select(p.c.database_name, p.c.table_name, literal(1)).where(
        _is(p, key, table), p.c.property_key == RENAMED_TO
    )
    found = {n for d, name, n in connection.execute(row.union_all(note)) if (d, name) == (table.database, table.table)}
    return 0 in found, 1 in found


def insert_table(connection: Connection, key: str, table: Identifier) -> None:
    """Insert the row of a table. Raises an error if it exists."""
    connection.execute(insert(TABLES).values(**_table(key, table)))


def rename_table(connection: Connection, key: str, source: Identifier, target: Identifier) -> None:
    """Give the row and the properties of a table another name. Raises an error if a row has the name."""
    forget_rename(connection, key, source)
    for t in (TABLES, TABLE_PROPERTIES):
        connection.execute(update(t).where(_is(t, key, source)).values(**_table(key, target)))


def delete_table(connection: Connection, key: str, table: Identifier) -> bool:
    """Delete the rows of a table. Return whether the table had a row."""
    connection.execute(delete(TABLE_PROPERTIES).where(_is(TABLE_PROPERTIES, key, table)))
    return connection.execute(delete(TABLES).where(_is(TABLES, key, table))).rowcount > 0


def set_table_properties(connection: Connection, key: str, table: Identifier, properties: Mapping[str, str]) -> None:
    """Replace all properties of a table by the given properties."""
    t = TABLE_PROPERTIES
    connection.execute(delete(t).where(_is(t, key, table), t.c.property_key != RENAMED_TO))
    _insert_properties(connection, t, _table(key, table), properties)


# -- tables that are being renamed
def note_rename(connection: Connection, key: str, source: Identifier, target: Identifier) -> None:
    """Record the new name of a table while its folder is moved. Raises an error if a rename is already recorded."""
    _insert_properties(connection, TABLE_PROPERTIES, _table(key, source), {RENAMED_TO: _text(target)})


def noted_rename(connection: Connection, key: str, table: Identifier) -> tuple[Identifier, Identifier] | None:
    """Return the source and the target of the recorded rename of a table, found by either name.

    Return None without one.
    """
    t = TABLE_PROPERTIES
    found = select(t.c.database_name, t.c.table_name, t.c.property_value).where(
        t.c.catalog_key == key,
        t.c.property_key == RENAMED_TO,
        _is(t, key, table) | (t.c.property_value == _text(table)),
    )
    for database, name, target in connection.execute(found):
        source, (folder, _, renamed) = Identifier(database, name), str(target).partition("/")
        if table in (source, Identifier(folder, renamed)):
            return source, Identifier(folder, renamed)
    return None


def forget_rename(connection: Connection, key: str, source: Identifier) -> None:
    t = TABLE_PROPERTIES
    connection.execute(delete(t).where(_is(t, key, source), t.c.property_key == RENAMED_TO))


def _text(table: Identifier) -> str:
    return f"{table.database}/{table.table}"  # names cannot contain a slash


# -- views and functions
@dataclass(frozen=True, slots=True)
class DefinitionTable:
    """The SQL table of views or of functions.

    `is_exact`: it compares names byte by byte, because Java never created it.
    """

    table: Table
    name: str
    text: str
    is_exact: bool

    @property
    def names(self) -> Column[str]:
        return self.table.c[self.name]


VIEWS_KEPT = DefinitionTable(VIEWS, "view_name", "view_schema", is_exact=False)
FUNCTIONS_KEPT = DefinitionTable(FUNCTIONS, "function_name", "function_schema", is_exact=True)


def definitions(connection: Connection, key: str, kept: DefinitionTable, database: str) -> list[str]:
    return list(connection.scalars(select(kept.names).where(_in_database(kept.table, key, database))))


def definition(connection: Connection, key: str, kept: DefinitionTable, name: Identifier) -> str | None:
    """Return the JSON of a view or function, or None if it does not exist."""
    found = connection.execute(select(kept.names, kept.table.c[kept.text]).where(_named(kept, key, name)))
    return next((text for found_name, text in found if found_name == name.table), None)


def insert_definition(connection: Connection, key: str, kept: DefinitionTable, name: Identifier, text: str) -> None:
    """Insert the row of a view or function. Raises an error if it exists."""
    values = {"catalog_key": key, "database_name": name.database, kept.name: name.table, kept.text: text}
    connection.execute(insert(kept.table).values(**values))


def set_definition(connection: Connection, key: str, kept: DefinitionTable, name: Identifier, text: str) -> None:
    connection.execute(update(kept.table).where(_named(kept, key, name)).values({kept.text: text}))


def rename_definition(
    connection: Connection, key: str, kept: DefinitionTable, source: Identifier, target: Identifier
) -> None:
    """Give the row of a view or function another name. Raises an error if a row has the name."""
    new = {"database_name": target.database, kept.name: target.table}
    connection.execute(update(kept.table).where(_named(kept, key, source)).values(**new))


def delete_definition(connection: Connection, key: str, kept: DefinitionTable, name: Identifier) -> bool:
    """Delete the row of a view or function; return whether it existed."""
    return connection.execute(delete(kept.table).where(_named(kept, key, name))).rowcount > 0


def delete_definitions(connection: Connection, key: str, kept: DefinitionTable, database: str) -> None:
    connection.execute(delete(kept.table).where(_in_database(kept.table, key, database)))


def has_any(connection: Connection, key: str, name: Identifier) -> bool:
    """Return whether a table or a view has a name: they share their names."""
    one = (
        select(literal(1))
        .where(_is(TABLES, key, name))
        .union_all(select(literal(1)).where(_named(VIEWS_KEPT, key, name)))
    )
    return connection.execute(one).first() is not None


def _is(t: Table, key: str, table: Identifier) -> ColumnElement[bool]:
    return and_(_in_database(t, key, table.database), t.c.table_name == table.table)


def _named(kept: DefinitionTable, key: str, name: Identifier) -> ColumnElement[bool]:
    return and_(_in_database(kept.table, key, name.database), kept.names == name.table)


def _in_database(t: Table, key: str, database: str) -> ColumnElement[bool]:
    return and_(t.c.catalog_key == key, t.c.database_name == database)


def _database(key: str, name: str) -> dict[str, str]:
    return {"catalog_key": key, "database_name": name}


def _table(key: str, table: Identifier) -> dict[str, str]:
    return {**_database(key, table.database), "table_name": table.table}


def _insert_properties(connection: Connection, t: Table, owner: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Insert properties of a database or table. Raises an error if one of them exists."""
    rows = [{**owner, "property_key": k, "property_value": v} for k, v in given.items()]
    if rows:
        connection.execute(insert(t), rows)
