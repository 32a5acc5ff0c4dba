"""`CREATE MATERIALIZED TABLE … FRESHNESS = INTERVAL '1' DAY AS SELECT …`, and ALTER, REFRESH, DROP and SHOW of them, in
the spelling of Flink."""

from __future__ import annotations

from typing import NoReturn

from paimon_core.materialized_table import UNITS
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import (
    CreateMaterialized,
    DropMaterialized,
    MaterializedStatement,
    Name,
    RefreshMaterialized,
    ShowMaterialized,
    SuspendMaterialized,
)


def materialized_statement(cursor: Cursor) -> MaterializedStatement | None:
    """Reads a statement on a materialized table; None for other statements. Raises `PreprocessError`."""
    if cursor.take("CREATE", "MATERIALIZED", "TABLE"):
        lenient = cursor.take("IF", "NOT", "EXISTS")
        return _create(cursor, _table(cursor), lenient=lenient)
    if cursor.take("ALTER", "MATERIALIZED", "TABLE"):
        return _alter(cursor, _table(cursor))
    if cursor.take("REFRESH", "MATERIALIZED", "TABLE"):
        return RefreshMaterialized(_table(cursor), _partition(cursor))
    if cursor.take("DROP", "MATERIALIZED", "TABLE"):
        lenient = cursor.take("IF", "EXISTS")
        return DropMaterialized(_table(cursor), lenient)
    if cursor.take("SHOW", "MATERIALIZED", "TABLES"):
        database = cursor.take_table() if cursor.take_any("IN", "FROM") else ()
        pattern = cursor.take_text() if cursor.take("LIKE") or cursor.at_string() else None
        return ShowMaterialized(database, pattern)
    return None


def _create(cursor: Cursor, table: Name, *, lenient: bool) -> CreateMaterialized:
    if cursor.symbol() == "(":
        _wrong(cursor, "A materialized table has the columns of its query: leave the list out")
    comment = partitions = options = freshness = mode = None
    while not cursor.take("AS"):
        if comment is None and cursor.take("COMMENT"):
            comment = cursor.take_text()
        elif partitions is None and cursor.take("PARTITIONED", "BY"):
            partitions = _names(cursor)
        elif options is None and cursor.take_any("WITH", "TBLPROPERTIES"):
            options = _options(cursor)
        elif freshness is None and cursor.take("FRESHNESS", "="):
            freshness = _interval(cursor)
        elif mode is None and cursor.take("REFRESH_MODE", "="):
            if not cursor.take_any("FULL", "CONTINUOUS"):
                _wrong(cursor, "REFRESH_MODE must be FULL or CONTINUOUS")
            mode = cursor.last.text.upper()
        else:
            _wrong(
                cursor,
                "CREATE MATERIALIZED TABLE has COMMENT, PARTITIONED BY, TBLPROPERTIES, FRESHNESS = INTERVAL … and "
                "REFRESH_MODE = …, each once, then AS and a query",
            )
    if freshness is None:
        _wrong(cursor, "CREATE MATERIALIZED TABLE needs FRESHNESS = INTERVAL '1' DAY, or another interval")
    return CreateMaterialized(table, _query(cursor), freshness, mode, partitions or (), options or {}, comment, lenient)


def _alter(cursor: Cursor, table: Name) -> MaterializedStatement:
    if cursor.take("SUSPEND"):
        return SuspendMaterialized(table, suspended=True)
    if cursor.take("RESUME"):
        return SuspendMaterialized(table, suspended=False)
    if cursor.take("REFRESH"):
        return RefreshMaterialized(table, _partition(cursor))
    if cursor.take("AS"):
        return RefreshMaterialized(table, query=_query(cursor))
    _wrong(cursor, "ALTER MATERIALIZED TABLE has SUSPEND, RESUME, REFRESH [PARTITION (…)] and AS with a query")


def _table(cursor: Cursor) -> Name:
    parts = cursor.take_table()
    return parts or _wrong(cursor, "A materialized table needs a name")


def _names(cursor: Cursor) -> tuple[str, ...]:
    found: list[str] = []
    if not cursor.take("("):
        _wrong(cursor, "PARTITIONED BY needs columns in parentheses")
    while not cursor.take(")"):
        if not cursor.at_name():
            _wrong(cursor, "PARTITIONED BY needs names of columns, with commas between them")
        found.append(cursor.next_text())
        if not cursor.take(",") and cursor.symbol() != ")":
            _wrong(cursor, "PARTITIONED BY needs names of columns, with commas between them")
    return tuple(found)


def _options(cursor: Cursor) -> dict[str, str]:
    found: dict[str, str] = {}
    if not cursor.take("("):
        _wrong(cursor, "Options must be in parentheses, as 'key' = 'value'")
    while not cursor.take(")"):
        if not (cursor.at_string() and cursor.symbol(1) == "=" and cursor.at_string(2)):
            _wrong(cursor, "Options must be 'key' = 'value', with commas between them")
        key, _ = cursor.next_text(), cursor.next()
        found[key] = cursor.take_text() or ""
        if not cursor.take(",") and cursor.symbol() != ")":
            _wrong(cursor, "Options must be 'key' = 'value', with commas between them")
    return found


def _interval(cursor: Cursor) -> tuple[str, str]:
    """Read `INTERVAL '30' MINUTE` and return the number and the unit."""
    if not cursor.take("INTERVAL"):
        _wrong(cursor, "FRESHNESS must be an interval: INTERVAL '30' MINUTE")
    amount = cursor.next_text() if cursor.at_string() or cursor.at_number() else ""
    unit = cursor.symbol().removesuffix("S")
    if not amount.isdigit() or not int(amount) or unit not in UNITS:
        _wrong(cursor, f"FRESHNESS must be a whole number and one of {', '.join(UNITS)}: INTERVAL '30' MINUTE")
    cursor.index += 1
    return amount, unit


def _partition(cursor: Cursor) -> dict[str, str]:
    """Reads `PARTITION (day = '2024-01-01')`; empty if it is missing."""
    found: dict[str, str] = {}
    if not cursor.take("PARTITION"):
        return found
    if not cursor.take("("):
        _wrong(cursor, "PARTITION needs values: PARTITION (day = '2024-01-01')")
    while not cursor.take(")"):
        if not (cursor.at_name() and cursor.symbol(1) == "="):
            _wrong(cursor, "PARTITION needs values: PARTITION (day = '2024-01-01')")
        name, _ = cursor.next_text(), cursor.next()
        found[name] = (cursor.take_text() or "") if cursor.at_string() else cursor.next_text()
        if not cursor.take(",") and cursor.symbol() != ")":
            _wrong(cursor, "PARTITION needs values, with commas between them")
    return found


def _query(cursor: Cursor) -> str:
    """Return the text from the cursor to the end."""
    if cursor.at_end():
        _wrong(cursor, "AS needs a query")
    token = cursor.next()
    while cursor.symbol() not in ("", ";"):
        cursor.index += 1
    return token.source[token.start :].rstrip().rstrip(";").rstrip()


def _wrong(cursor: Cursor, message: str) -> NoReturn:
    raise PreprocessError.at(cursor.peek() or cursor.last, message)


MATERIALIZED = Rule(
    materialized_statement, first=("create", "alter", "refresh", "drop", "show"), words=("materialized",)
)
