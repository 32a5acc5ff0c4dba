"""Statements about the session: SET and RESET of keys that need backquotes in Spark, Flink's options of tables, USE
CATALOG, and SHOW CREATE VIEW of Flink.
"""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.rules.rule import Rule

_KEY_SYMBOLS = (".", "-", "*", ":")
_OF_TABLES = ("paimon.", "scan.", "incremental-between")  # Flink's options for one table or all tables


def configuration(cursor: Cursor) -> list[Edit]:
    """Put the key of `SET spark.paimon.scan.snapshot-id=1` and of Flink's `SET 'k'='v'` into backquotes; the same for
    RESET.
    """
    if not cursor.take_any("SET", "RESET") or cursor.at_end():
        return []
    return _string_key(cursor) if cursor.at_string() else _dashed_key(cursor)


def use_catalog(cursor: Cursor) -> list[Edit]:
    """Rewrite `USE CATALOG c` to `SET CATALOG c`. `USE catalog` without a name means a database."""
    if not cursor.take("USE", "CATALOG") or cursor.at_end() or cursor.symbol() == ".":
        return []
    cursor.next()
    use = cursor.tokens[cursor.index - 3]
    return [Edit.replace(use, use, "SET")] if cursor.at_end() else []


def show_create_view(cursor: Cursor) -> list[Edit]:
    """Rewrites `SHOW CREATE VIEW v` to `SHOW CREATE TABLE v`, Spark's statement for both."""
    if not cursor.take("SHOW", "CREATE", "VIEW"):
        return []
    view = cursor.last
    return [Edit.replace(view, view, "TABLE")] if cursor.take_name() and cursor.at_end() else []


def _dashed_key(cursor: Cursor) -> list[Edit]:
    """Quote a key with a character that Spark's bare keys cannot have."""
    if not cursor.at_word():
        return []
    first = cursor.next()
    key = [first]
    while (token := cursor.peek()) and token.start == key[-1].end + 1 and _in_key(cursor):
        key.append(cursor.next())
    bare = not any("-" in token.text or "*" in token.text for token in key)
    if bare or not (cursor.at_end() or cursor.symbol() == "="):
        return []
    return [Edit.before(first, "`"), Edit.after(key[-1], "`")]


def _in_key(cursor: Cursor) -> bool:
    return cursor.at_word() or cursor.at_number() or cursor.symbol() in _KEY_SYMBOLS


def _string_key(cursor: Cursor) -> list[Edit]:
    """Quote a key and a value that are strings, as in Flink."""
    key = cursor.next()
    edits = [Edit.replace(key, key, quoted_name(_in_spark(key.text)))]
    if cursor.at_end():
        return edits
    if not cursor.take("="):
        return []
    if cursor.at_string():
        value = cursor.next()
        if (key.text, value.text.lower()) == ("execution.runtime-mode", "streaming"):
            raise PreprocessError.at(
                value, "This session supports only the runtime mode 'batch': a query reads the current rows and ends"
            )
        edits.append(Edit.replace(value, value, quoted_name(value.text)))
        return edits if cursor.at_end() else []
    return edits


def _in_spark(key: str) -> str:
    """Return the session's setting for a key of Flink."""
    return f"spark.paimon.{key.removeprefix('paimon.')}" if key.startswith(_OF_TABLES) else key


CONFIGURATION = Rule(configuration, first=("set", "reset"))
SHOW_CREATE_VIEW = Rule(show_create_view, first=("show",), words=("view",))
USE_CATALOG = Rule(use_catalog, first=("use",), words=("catalog",))
