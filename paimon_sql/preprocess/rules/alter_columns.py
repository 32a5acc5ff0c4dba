"""Column changes of ALTER TABLE in Flink's spelling: ADD (…), ADD c t, DROP c, DROP (…), RENAME a TO b, and Flink's
types.
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.rules.column_list import read_added_types, refuse_watermark
from paimon_sql.preprocess.rules.column_types import TypeRewrites, read_type
from paimon_sql.preprocess.rules.rule import Rule

_NO_COLUMN = ("COLUMN", "COLUMNS", "CONSTRAINT", "IF", "PARTITION", "PRIMARY", "UNIQUE", "WATERMARK", "DISTRIBUTION")
_NO_NEW_NAME = ("TO", "COLUMN", "TAG")


def alter_columns(cursor: Cursor) -> list[Edit]:
    """Insert COLUMN or COLUMNS if it is missing, as in Flink, and replace Flink's types by Spark's."""
    if not cursor.take("ALTER", "TABLE") or not cursor.take_name():
        return []
    refuse_watermark(cursor)
    if cursor.take("ADD"):
        return _added(cursor)
    if cursor.take("DROP"):
        return _dropped(cursor)
    if cursor.take("RENAME") and cursor.symbol() not in _NO_NEW_NAME and cursor.symbol(1) == "TO":
        return [Edit.after(cursor.last, " COLUMN")]
    if cursor.take("ALTER"):
        return _retyped(cursor)
    return []


def _added(cursor: Cursor) -> list[Edit]:
    verb, edits = cursor.last, []
    if cursor.symbol() == "(":
        edits.append(Edit.after(verb, " COLUMNS"))
    elif not cursor.take_any("COLUMN", "COLUMNS"):
        if cursor.symbol() in _NO_COLUMN:
            return []
        edits.append(Edit.after(verb, " COLUMN"))
    types = read_added_types(cursor)
    if types.declared:
        return []  # `column_changes` has not read it
    return [*edits, *types.edits] if types.flink_only else edits


def _dropped(cursor: Cursor) -> list[Edit]:
    verb = cursor.last
    if cursor.symbol() == "(":
        return [Edit.after(verb, " COLUMNS")]
    if not cursor.at_name() or cursor.symbol() in _NO_COLUMN:
        return []
    cursor.take_name()
    return [Edit.after(verb, " COLUMN")] if cursor.at_end() else []


def _retyped(cursor: Cursor) -> list[Edit]:
    """Return the edits of `ALTER [COLUMN] c TYPE BYTES`."""
    cursor.take("COLUMN")
    types = TypeRewrites()
    if cursor.take_name() and cursor.take("TYPE"):
        read_type(cursor, (), types)
    return types.edits if types.flink_only and not types.declared else []


ALTER_COLUMNS = Rule(
    alter_columns,
    first=("alter",),
    pattern=re.compile(
        r"(?=[abdmrtvw])\b(?:(?:add|drop)(?!\s+(?:columns?|(?:if\s+(?:not\s+)?exists\s+)?partition)\b)|as|rename|row|bytes|multiset|varchar(?!\s*\()|watermark"
        r"|(?:var)?binary|timestamp(?:_ntz|_ltz)?(?=\s*\()|double\s+precision)\b"
    ),
)
