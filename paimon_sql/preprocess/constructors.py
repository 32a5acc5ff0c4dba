"""Values and casts in Flink's spelling: `ARRAY[a, b]`, `MAP[k, v]`, `ROW(a, b)`, `CAST(a AS BYTES)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokens import Token

from paimon_sql.preprocess.column_types import TypeRewrites, read_type
from paimon_sql.preprocess.tokens import Cursor, Edit, symbol

_BEFORE_A_VALUE = ("(", ",", "[", "=", "SELECT", "THEN", "ELSE")
_CASTS = ("CAST", "TRY_CAST")
_QUERY = ("SELECT", "FROM", "TABLE")


def constructors(tokens: Sequence[Token]) -> list[Edit]:
    """Brackets to parentheses, `ROW` to `struct`, the types of casts to Spark's."""
    words = [symbol(token) for token in tokens]
    if {"CREATE", "REPLACE", "ALTER"} & set(words[:1]):  # what stands before a query are types
        tokens = tokens[words.index("SELECT") :] if "SELECT" in words else []
    edits, in_types = _casts(tokens)
    return [*edits, *_brackets(tokens), *_rows(tokens, in_types)]


def _brackets(tokens: Sequence[Token]) -> Iterator[Edit]:
    """`array[i]` of one item may be an element of a column of that name: not where rows are listed, or of a list."""
    has_columns = not _lists_rows(tokens)
    for index, token in enumerate(tokens[:-1]):
        if symbol(token) not in ("ARRAY", "MAP") or symbol(tokens[index + 1]) != "[":
            continue
        if index and symbol(tokens[index - 1]) not in _BEFORE_A_VALUE:
            continue
        closing, is_list = _closing(tokens, index + 1)
        within = symbol(tokens[index + 2]) if index + 2 < len(tokens) else ""
        if closing is not None and (is_list or not has_columns or within == "ROW"):
            yield Edit.replace(tokens[index + 1], tokens[index + 1], "(")
            yield Edit.replace(closing, closing, ")")


def _lists_rows(tokens: Sequence[Token]) -> bool:
    """Whether the statement is `INSERT … VALUES …` with no query in it."""
    cursor = Cursor(tokens)
    words = [symbol(token) for token in tokens[cursor.index :]]
    return words[:1] == ["INSERT"] and "VALUES" in words and not any(w in words[2:] for w in _QUERY)


def _closing(tokens: Sequence[Token], opening: int) -> tuple[Token | None, bool]:
    """The bracket that closes one; whether there is a comma between the two, or nothing."""
    depth, is_list = 0, symbol(tokens[opening + 1]) == "]" if opening + 1 < len(tokens) else False
    for token in tokens[opening:]:
        sign = symbol(token)
        is_list |= depth == 1 and sign == ","
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if depth == 0:
            return (token if sign == "]" else None), is_list
    return None, False


def _rows(tokens: Sequence[Token], in_types: set[int]) -> Iterator[Edit]:
    for index, (before, token, behind) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False), 1):
        is_value = symbol(before) in _BEFORE_A_VALUE and index not in in_types
        if symbol(token) == "ROW" and symbol(behind) == "(" and is_value:
            yield Edit.replace(token, token, "struct")


def _casts(tokens: Sequence[Token]) -> tuple[list[Edit], set[int]]:
    """The types behind AS, left to Spark where it cannot say their precision or length; which tokens are types."""
    edits: list[Edit] = []
    in_types: set[int] = set()
    opened: list[bool] = []  # whether a parenthesis is that of a cast
    for index, token in enumerate(tokens):
        sign = symbol(token)
        if sign == "(":
            opened.append(index > 0 and symbol(tokens[index - 1]) in _CASTS)
        elif sign == ")" and opened:
            opened.pop()
        elif sign == "AS" and opened and opened[-1]:
            cursor, types = Cursor(tokens), TypeRewrites()
            cursor.index = index + 1
            read_type(cursor, (), types)
            in_types.update(range(index + 1, cursor.index))
            edits += types.edits if types.flink_only and not types.declared else []
    return edits, in_types
