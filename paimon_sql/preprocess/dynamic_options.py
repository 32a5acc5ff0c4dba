"""Dynamic table options: `t /*+ OPTIONS('k'='v') */` becomes Spark's `t WITH ('k'='v')`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from paimon_sql.preprocess.tokens import Cursor, Edit, is_name, symbol

_BEFORE_A_TABLE = {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "USING", "STREAM", ",", "("}


def dynamic_options(tokens: Sequence[Token]) -> list[Edit]:
    """Rewrites each OPTIONS hint that stands right behind a table name, before its alias as in Flink."""
    edits = []
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.HINT and _follows_table(tokens, index):
            edits += _options_clause(tokens, index)
    return edits


def _follows_table(tokens: Sequence[Token], hint: int) -> bool:
    first = hint - 1
    if first < 1 or not is_name(tokens[first]) or symbol(tokens[first]) == "SELECT":
        return False
    while first > 2 and symbol(tokens[first - 1]) == "." and is_name(tokens[first - 2]):
        first -= 2
    return symbol(tokens[first - 1]) in _BEFORE_A_TABLE


def _options_clause(tokens: Sequence[Token], hint: int) -> list[Edit]:
    cursor = Cursor(tokens)
    cursor.index = hint + 1
    if not cursor.take("OPTIONS") or cursor.symbol() != "(":
        return []
    options = cursor.last
    cursor.skip_parentheses()
    close = cursor.last
    if not cursor.take("*", "/"):
        return []
    if symbol(tokens[hint + 3]) == ")":
        return [Edit.replace(tokens[hint], cursor.last, "")]
    return [Edit.replace(tokens[hint], options, "WITH "), Edit(close.end + 1, cursor.last.end + 1, "")]
