"""Session statements: SET and RESET of keys that Spark wants in backquotes, USE CATALOG."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.tokens import Cursor, Edit, is_string

_KEY_SYMBOLS = (".", "-", "*", ":")


def configuration(tokens: Sequence[Token]) -> list[Edit]:
    """`SET spark.paimon.scan.snapshot-id=1` and Flink's `SET 'k'='v'` to a key in backquotes; the same for RESET."""
    cursor = Cursor(tokens)
    if not cursor.take_any("SET", "RESET") or cursor.at_end():
        return []
    return _string_key(cursor) if is_string(cursor.peek()) else _dashed_key(cursor)


def use_catalog(tokens: Sequence[Token]) -> list[Edit]:
    """`USE CATALOG c` to `SET CATALOG c`; `USE catalog` alone names a database."""
    cursor = Cursor(tokens)
    if not cursor.take("USE", "CATALOG") or cursor.at_end() or cursor.symbol() == ".":
        return []
    cursor.next()
    use = tokens[cursor.index - 3]
    return [Edit.replace(use, use, "SET")] if cursor.at_end() else []


def _dashed_key(cursor: Cursor) -> list[Edit]:
    """Quotes a key that has a character Spark's bare keys may not have."""
    first = cursor.next()
    if first.token_type is not TokenType.VAR:
        return []
    key = [first]
    while (token := cursor.peek()) and token.start == key[-1].end + 1 and _in_key(cursor):
        key.append(cursor.next())
    bare = not any("-" in token.text or "*" in token.text for token in key)
    if bare or not (cursor.at_end() or cursor.symbol() == "="):
        return []
    return [Edit.before(first, "`"), Edit.after(key[-1], "`")]


def _in_key(cursor: Cursor) -> bool:
    token = cursor.peek()
    return token is not None and (
        token.token_type in (TokenType.VAR, TokenType.NUMBER) or cursor.symbol() in _KEY_SYMBOLS
    )


def _string_key(cursor: Cursor) -> list[Edit]:
    """Quotes a key given as a string, and its value, which Flink gives as a string too."""
    edits = [_backquoted(cursor.next())]
    if cursor.at_end():
        return edits
    if not cursor.take("="):
        return []
    if is_string(cursor.peek()):
        edits.append(_backquoted(cursor.next()))
        return edits if cursor.at_end() else []
    return edits


def _backquoted(token: Token) -> Edit:
    return Edit.replace(token, token, quoted_name(token.text))
