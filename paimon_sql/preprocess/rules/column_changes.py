"""ALTER TABLE of columns that Spark cannot say in one statement, as a call: MODIFY, and ADD of Flink's sized types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token, Tokens
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.rules.column_list import refuse_computed
from paimon_sql.preprocess.rules.type_nodes import take_type
from paimon_sql.preprocess.tokens import Cursor, Edit

_NO_COLUMN = ("WATERMARK", "PRIMARY", "CONSTRAINT", "UNIQUE", "DISTRIBUTION")


def modified_columns(tokens: Tokens) -> list[Edit]:
    """`ALTER TABLE t MODIFY c DOUBLE NOT NULL COMMENT '…' FIRST`, or several in parentheses, to `CALL`."""
    cursor = Cursor(tokens)
    first, table = cursor.peek(), _take_altered_table(cursor)
    if first is None or not table or not cursor.take("MODIFY"):
        return []
    if edits := _call(cursor, first, table, "modify"):
        return edits
    raise PreprocessError.at(
        cursor.peek() or cursor.last,
        "ALTER TABLE … MODIFY needs a column and its type: MODIFY column TYPE [NOT NULL] [COMMENT '…'] "
        "[FIRST | AFTER column]",
    )


def added_columns(tokens: Tokens) -> list[Edit]:
    """`ALTER TABLE t ADD (c TIMESTAMP(3), …)` to `CALL`; nothing where that is not understood."""
    cursor = Cursor(tokens)
    first, table = cursor.peek(), _take_altered_table(cursor)
    return _call(cursor, first, table, "add") if first and table and cursor.take("ADD") else []


def _take_altered_table(cursor: Cursor) -> list[str]:
    """Reads `ALTER TABLE name` and returns the parts of the name; none where something else stands there."""
    if not cursor.take("ALTER", "TABLE"):
        return []
    start = cursor.index
    if cursor.symbol() == "IDENTIFIER" or not cursor.take_name():
        return []
    return cursor.names(start)


def _call(cursor: Cursor, first: Token, table: Sequence[str], verb: str) -> list[Edit]:
    """A call in the table's catalog, the first part of a name of three; none where a column is not understood."""
    changes = _columns(cursor, verb)
    if not changes:
        return []
    catalog = f"{quoted_name(table[0])}." if len(table) > 2 else ""
    name = quoted_text(".".join(quoted_name(p) for p in table[-2:]))
    text = quoted_text(json.dumps(changes, ensure_ascii=False))
    call = f"CALL {catalog}sys.change_columns(table => {name}, changes => {text})"
    return [Edit.replace(first, cursor.last, call)]


def _columns(cursor: Cursor, verb: str) -> list[dict[str, Any]]:
    """Reads one column, or several in parentheses, to the end of the statement; none where one is not understood."""
    cursor.take_any("COLUMN", "COLUMNS")
    opened = cursor.take("(")
    changes = []
    while change := _column(cursor, verb):
        changes.append(change)
        if not opened or not cursor.take(","):
            break
    is_whole = change is not None and (not opened or cursor.take(")")) and cursor.at_end()
    return changes if is_whole else []


def _column(cursor: Cursor, verb: str) -> dict[str, Any] | None:
    refuse_computed(cursor)
    if not cursor.at_name() or cursor.symbol() in _NO_COLUMN:
        return None
    name = cursor.next()
    node = take_type(cursor)
    if node is None:
        return None
    change: dict[str, Any] = {verb: name.text, "type": node}
    while True:
        if cursor.take("COMMENT") and (text := cursor.take_text()) is not None:
            change["comment"] = text
        elif cursor.take("FIRST"):
            change["first"] = True
        elif cursor.take("AFTER") and cursor.at_name():
            change["after"] = cursor.next().text
        else:
            return change
