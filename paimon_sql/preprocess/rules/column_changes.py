"""Column changes that Spark cannot express in one ALTER TABLE, as values: MODIFY, and ADD of Flink's sized types."""

from __future__ import annotations

import re
from typing import Any

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.rules.column_list import read_added_types, refuse_computed, refuse_watermark
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.rules.type_nodes import take_type
from paimon_sql.preprocess.statements import ChangeColumns, ColumnChange

_NO_COLUMN = ("WATERMARK", "PRIMARY", "CONSTRAINT", "UNIQUE", "DISTRIBUTION")


def column_changes(cursor: Cursor) -> ChangeColumns | None:
    """Read `ALTER TABLE t MODIFY c DOUBLE NOT NULL COMMENT '…' FIRST`, or several columns in parentheses.

    Read ADD only if a type has a precision or length that Spark's types do not have: Spark handles other lists of
    columns. Raises `PreprocessError` for an invalid MODIFY.
    """
    if not cursor.take("ALTER", "TABLE") or not (table := cursor.take_table()):
        return None
    refuse_watermark(cursor)
    if cursor.take("ADD"):
        types = read_added_types(Cursor(cursor.tokens, cursor.index))
        added = _columns(cursor, adds=True) if types.declared else ()
        return ChangeColumns(table, added) if added else None
    if not cursor.take("MODIFY"):
        return None
    if changes := _columns(cursor, adds=False):
        return ChangeColumns(table, changes)
    raise PreprocessError.at(
        cursor.peek() or cursor.last,
        "ALTER TABLE … MODIFY needs a column and its type: MODIFY column TYPE [NOT NULL] [COMMENT '…'] "
        "[FIRST | AFTER column]",
    )


def _columns(cursor: Cursor, *, adds: bool) -> tuple[ColumnChange, ...]:
    """Read one column, or several in parentheses, to the end of the statement. Return none if one is invalid."""
    cursor.take_any("COLUMN", "COLUMNS")
    opened = cursor.take("(")
    changes = []
    while change := _column(cursor, adds):
        changes.append(change)
        if not opened or not cursor.take(","):
            break
    is_whole = change is not None and (not opened or cursor.take(")")) and cursor.at_end()
    return tuple(changes) if is_whole else ()


def _column(cursor: Cursor, adds: bool) -> ColumnChange | None:
    refuse_computed(cursor)
    if not cursor.at_name() or cursor.symbol() in _NO_COLUMN:
        return None
    name = cursor.next_text()
    node = take_type(cursor)
    if node is None:
        return None
    clauses: dict[str, Any] = {}
    while cursor.symbol() in ("COMMENT", "FIRST", "AFTER"):
        if cursor.take("FIRST"):
            clauses["first"] = True
        elif cursor.take("COMMENT") and (text := cursor.take_text()) is not None:
            clauses["comment"] = text
        elif cursor.take("AFTER") and cursor.at_name():
            clauses["after"] = cursor.next_text()
        else:
            break
    return ColumnChange(name, node, adds, **clauses)


COLUMN_CHANGES = Rule(
    column_changes,
    first=("alter",),
    pattern=re.compile(r"(?=[bmtv])\b(?:modify|timestamp(?:_ntz|_ltz)?\s*\(|(?:var)?binary\s*\(|multiset)"),
)
