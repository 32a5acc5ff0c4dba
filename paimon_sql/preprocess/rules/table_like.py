"""Flink's CREATE TABLE … LIKE: options before LIKE, and after it the parts that are not copied from the other table.

A table property, `EXCLUDED_PROPERTY`, names the parts that are not copied; the catalog applies and drops it.
"""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.statements import CreateLike

EXCLUDED_PROPERTY = "paimon-sql.excluded"
_PARTS = ("OPTIONS", "CONSTRAINTS", "PARTITIONS")
_NOT_STORED = ("DISTRIBUTION", "GENERATED", "METADATA", "WATERMARKS")  # parts that only Flink's tables have


def table_like(cursor: Cursor) -> list[Edit]:
    """Return the edits of `[WITH (…)] LIKE source [(EXCLUDING OPTIONS …)]` after a new table's name.

    Return none if Spark understands the statement, or something else follows.
    """
    name, start = cursor.last, cursor.index
    options = _take_options(cursor)
    like, source = cursor.peek(), cursor.index + 1
    if like is None or not (cursor.take("LIKE") and cursor.take_name()):
        cursor.index = start
        return []
    copied = ".".join(map(quoted_name, cursor.names(source)))
    opening, excluded = cursor.peek(), _take_excluded(cursor)
    given = f"{quoted_text(EXCLUDED_PROPERTY)}={quoted_text(','.join(excluded))}" if excluded else ""
    if options is not None:
        keyword, bracket = options
        edits = [Edit.after(name, f" LIKE {copied}"), Edit.replace(keyword, keyword, "TBLPROPERTIES")]
        return [*edits, Edit.after(bracket, given and f"{given}, "), Edit.replace(like, cursor.last, "")]
    if opening is None or cursor.last.text != ")":
        cursor.index = start
        return []
    return [Edit.replace(opening, cursor.last, f"TBLPROPERTIES ({given})" if given else "")]


def read_create_like(cursor: Cursor) -> CreateLike | None:
    """Read the whole statement in Spark's spelling; None for another statement."""
    lenient = False
    if not cursor.take("CREATE", "TABLE"):
        return None
    if cursor.take("IF", "NOT", "EXISTS"):
        lenient = True
    table = cursor.take_parts()
    if not table or not cursor.take("LIKE"):
        return None
    source, properties = cursor.take_parts(), {}
    while source and not cursor.at_last():
        if cursor.take("USING"):
            properties["provider"] = cursor.next_text()
        elif cursor.take("STORED", "AS"):
            properties["hive.stored-as"] = cursor.next_text()
        elif cursor.take("LOCATION"):
            properties["location"] = cursor.take_text() or ""
        elif cursor.take("COMMENT"):
            properties["comment"] = cursor.take_text() or ""
        elif not (cursor.take("TBLPROPERTIES", "(") and _take_properties(cursor, properties)):
            return None
    return CreateLike(table, source, lenient, properties) if source else None


def _take_properties(cursor: Cursor, properties: dict[str, str]) -> bool:
    """Read `'k' = 'v', k.l = 1)` into the properties. Return whether the list is complete."""
    while not cursor.take(")"):
        key = cursor.take_text() or ".".join(cursor.take_parts())
        cursor.take("=")
        if not key or cursor.at_end():
            return False
        value = cursor.take_text()
        properties[key] = cursor.next_text() if value is None else value
        cursor.take(",")
    return True


def refuse_columns(cursor: Cursor) -> None:
    """Raises `PreprocessError` if LIKE follows a list of columns."""
    token = cursor.peek()
    if token is not None and cursor.symbol() == "LIKE":
        raise PreprocessError.at(
            token, "CREATE TABLE … LIKE copies the columns: leave the column list out, then use ALTER TABLE … ADD"
        )


def _take_options(cursor: Cursor) -> tuple[Token, Token] | None:
    """Read a `WITH (…)` that is not empty. Return its word and its opening bracket."""
    keyword, bracket = cursor.peek(), cursor.peek(1)
    if keyword is None or bracket is None or (cursor.symbol(), cursor.symbol(1)) != ("WITH", "("):
        return None
    cursor.next()
    cursor.skip_parentheses()
    return keyword, bracket


def _take_excluded(cursor: Cursor) -> list[str]:
    """Read `(EXCLUDING OPTIONS INCLUDING CONSTRAINTS …)`. Return the parts that are not copied."""
    excluded: set[str] = set()
    if not cursor.take("("):
        return []
    while not cursor.take(")"):
        excludes = cursor.symbol() == "EXCLUDING"
        known = cursor.take_any("INCLUDING", "EXCLUDING", "OVERWRITING")
        if cursor.take("ALL"):
            parts = set(_PARTS)
        elif known and cursor.take_any(*_PARTS, *_NOT_STORED):
            parts = {cursor.last.text.upper()} & set(_PARTS)
        else:
            raise PreprocessError.at(
                cursor.peek() or cursor.last,
                "CREATE TABLE … LIKE t (…) allows INCLUDING or EXCLUDING with ALL, OPTIONS, CONSTRAINTS or PARTITIONS",
            )
        excluded = excluded | parts if excludes else excluded - parts
        cursor.take(",")
    return sorted(part.lower() for part in excluded)
