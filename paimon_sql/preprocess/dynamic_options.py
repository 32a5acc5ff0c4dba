"""Dynamic table options: `t /*+ OPTIONS('k'='v') */` becomes Spark's `t WITH ('k'='v')`.

Spark has these behind `FOR SYSTEM_TIME AS OF …`, Flink before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.tokens import Cursor, Edit, is_name, is_string, symbol

_BEFORE_A_TABLE = {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "USING", "STREAM", ",", "("}
_VERSIONS = ("SYSTEM_TIME", "SYSTEM_VERSION", "TIMESTAMP", "VERSION")
_LONGEST_VERSION = 20  # tokens of an expression behind AS OF
_OPERATORS = ("+", "-", "*", "/", "%")


def dynamic_options(tokens: Sequence[Token]) -> list[Edit]:
    """Rewrites each OPTIONS hint that stands right behind a table's name or version, before its alias as in Flink."""
    edits = []
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.HINT and _follows_table(tokens, index):
            edits += _options_clause(tokens, index)
    return edits


def _follows_table(tokens: Sequence[Token], hint: int) -> bool:
    first = _version_before(tokens, hint) - 1
    if first < 1 or not is_name(tokens[first]) or symbol(tokens[first]) == "SELECT":
        return False
    while first > 2 and symbol(tokens[first - 1]) == "." and is_name(tokens[first - 2]):
        first -= 2
    return symbol(tokens[first - 1]) in _BEFORE_A_TABLE


def _version_before(tokens: Sequence[Token], end: int) -> int:
    """Where the version that ends before a token begins; the token itself where there is none."""
    cursor = Cursor(tokens)
    for start in range(end - 1, max(0, end - _LONGEST_VERSION), -1):
        cursor.index = start
        if symbol(tokens[start]) in _VERSIONS and _take_version(cursor) and cursor.index == end:
            return start - (symbol(tokens[start - 1]) == "FOR")
    return end


def _options_clause(tokens: Sequence[Token], hint: int) -> list[Edit]:
    cursor = Cursor(tokens)
    cursor.index = hint + 1
    if not cursor.take("OPTIONS") or cursor.symbol() != "(":
        return []
    options = cursor.last
    cursor.skip_parentheses()
    close, inner = cursor.last, tokens[hint + 3 : cursor.index - 1]
    if not cursor.take("*", "/"):
        return []
    end = cursor.last
    if not inner:
        return [Edit.replace(tokens[hint], end, "")]
    if _take_version(cursor):
        spelled = "".join(quoted_text(t.text) if is_string(t) else t.text for t in inner)
        return [Edit.replace(tokens[hint], end, ""), Edit.after(cursor.last, f" WITH ({spelled})")]
    return [Edit.replace(tokens[hint], options, "WITH "), Edit(close.end + 1, end.end + 1, "")]


def _take_version(cursor: Cursor) -> bool:
    """Reads `[FOR] SYSTEM_TIME AS OF` and its expression."""
    start = cursor.index
    cursor.take("FOR")
    if not (cursor.take_any(*_VERSIONS) and cursor.take("AS", "OF")):
        cursor.index = start
        return False
    _take_operand(cursor)
    while cursor.take_any(*_OPERATORS):
        _take_operand(cursor)
    return True


def _take_operand(cursor: Cursor) -> None:
    cursor.take("-")
    if cursor.take("INTERVAL"):
        cursor.index += 2  # a number and its unit
    elif cursor.symbol() == "(":
        cursor.skip_parentheses()
    elif cursor.take_name():
        if is_string(cursor.peek()):  # TIMESTAMP '…'
            cursor.next()
        elif cursor.symbol() == "(":
            cursor.skip_parentheses()
    elif not cursor.at_end():
        cursor.next()
