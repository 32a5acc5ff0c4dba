"""Properties in Flink's spelling: ALTER ... SET ('k'='v'), ALTER ... RESET ('k'), CREATE DATABASE ... WITH (...)."""

from __future__ import annotations

from paimon_sql.preprocess.lexing import Tokens
from paimon_sql.preprocess.tokens import Cursor, Edit

_NAMESPACE = ("DATABASE", "SCHEMA", "NAMESPACE")


def alter_properties(tokens: Tokens) -> list[Edit]:
    """`ALTER TABLE t SET (...)` to SET TBLPROPERTIES, `RESET (...)` to UNSET TBLPROPERTIES; databases likewise."""
    cursor = Cursor(tokens)
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


def database_properties(tokens: Tokens) -> list[Edit]:
    """`CREATE DATABASE d ... WITH (...)` to WITH DBPROPERTIES."""
    cursor = Cursor(tokens)
    if not (cursor.take("CREATE") and cursor.take_any(*_NAMESPACE)):
        return []
    while not cursor.at_end():
        if cursor.take("WITH", "("):
            return [Edit.before(cursor.last, "DBPROPERTIES ")]
        cursor.next()
    return []
