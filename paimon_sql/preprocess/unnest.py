"""Flink's `t, UNNEST(t.items) AS i (a, b)`: Spark has columns of the tables before it only where LATERAL says so."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token

from paimon_sql.preprocess.tokens import Cursor, Edit, is_name, symbol


def unnest(tokens: Sequence[Token]) -> list[Edit]:
    """Puts LATERAL before each UNNEST of columns; where it names several, they are the fields of rows: INLINE."""
    edits = []
    for index, token in enumerate(tokens):
        joins = index > 0 and symbol(tokens[index - 1]) in (",", "JOIN")
        if joins and symbol(token) == "UNNEST":
            edits += _lateral(tokens, index)
    return edits


def _lateral(tokens: Sequence[Token], index: int) -> list[Edit]:
    cursor = Cursor(tokens)
    cursor.index = index + 1
    if cursor.symbol() != "(":
        return []
    cursor.skip_parentheses()
    if not _has_columns(tokens[index + 2 : cursor.index]):
        return []
    counts = cursor.take("WITH", "ORDINALITY")
    cursor.take("AS")
    if not cursor.take_name() or cursor.symbol() != "(":
        return []  # an expression of a query
    first = cursor.index
    cursor.skip_parentheses()
    names = sum(map(is_name, tokens[first : cursor.index]))
    function = "INLINE" if names > 1 and not counts else tokens[index].text
    return [Edit.replace(tokens[index], tokens[index], f"LATERAL {function}")]


def _has_columns(arguments: Sequence[Token]) -> bool:
    return any(
        is_name(token) and symbol(behind) not in ("(", "[")
        for token, behind in zip(arguments, arguments[1:], strict=False)
    )
