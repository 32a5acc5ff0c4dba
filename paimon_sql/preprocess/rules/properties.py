"""Properties in Flink's spelling: ALTER ... SET ('k'='v'), ALTER ... RESET ('k'), CREATE DATABASE ... WITH (...)."""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.rules.rule import Rule

_NAMESPACE = ("DATABASE", "SCHEMA", "NAMESPACE")


def alter_properties(cursor: Cursor) -> list[Edit]:
    """Return the edits of `ALTER TABLE t SET (...)` to SET TBLPROPERTIES and `RESET (...)` to UNSET TBLPROPERTIES.
    Databases are rewritten likewise.
    """
    if not cursor.take("ALTER"):
        return []
    is_table = cursor.take_any("TABLE", "VIEW")
    if not (is_table or cursor.take_any(*_NAMESPACE)) or not cursor.take_name():
        return []
    if cursor.take("SET", "("):
        return [Edit.after(cursor.tokens[cursor.index - 2], " TBLPROPERTIES" if is_table else " DBPROPERTIES")]
    if is_table and cursor.symbol() == "RESET" and cursor.symbol(1) == "(":
        reset = cursor.next()
        return [Edit.replace(reset, reset, "UNSET TBLPROPERTIES")]
    return []


def database_properties(cursor: Cursor) -> list[Edit]:
    """Return the edit of `CREATE DATABASE d ... WITH (...)` to WITH DBPROPERTIES."""
    if not (cursor.take("CREATE") and cursor.take_any(*_NAMESPACE)):
        return []
    cursor.take("IF", "NOT", "EXISTS")
    cursor.take_name()
    while not cursor.at_end():
        if cursor.take("WITH"):  # skip the clause: a WITH inside of it is not a second clause
            opening = cursor.peek() if cursor.symbol() == "(" else None
            return [Edit.before(opening, "DBPROPERTIES ")] if opening else []
        cursor.next()
    return []


ALTER_PROPERTIES = Rule(alter_properties, first=("alter",), pattern=re.compile(r"\b(?:set|reset)\s*\("))
DATABASE_PROPERTIES = Rule(
    database_properties,
    first=("create",),
    words=tuple(map(str.lower, _NAMESPACE)),
    pattern=re.compile(r"\bwith\s*\("),
)
