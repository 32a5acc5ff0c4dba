"""Flink's `t, UNNEST(t.items) AS i (a, b)`. Spark needs LATERAL if the array is a column of a table before it, and has
UNNEST from 4.3 on.
"""

from __future__ import annotations

import re
from itertools import islice

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import Tokens
from paimon_sql.preprocess.rules.rule import Rule

_LONGEST_ARGUMENTS = 200  # the most tokens that are searched


def unnest(cursor: Cursor) -> list[Edit]:
    """Put LATERAL before each UNNEST of columns. If it names several columns, these are the fields of rows: use INLINE.

    A Spark without UNNEST gets EXPLODE.
    """
    tokens = cursor.tokens
    edits = []
    for index in tokens.indexes("UNNEST"):
        if index == 0 or tokens.symbols[index - 1] not in ("FROM", ",", "JOIN", "LATERAL"):
            continue
        lateral = _lateral(tokens, index) if tokens.symbols[index - 1] in (",", "JOIN") else []
        edits += lateral if cursor.syntax.unnest else _exploded(tokens, index, lateral)
    return edits


def _exploded(tokens: Tokens, index: int, lateral: list[Edit]) -> list[Edit]:
    """Return UNNEST as functions that Spark had before 4.3; `lateral` are the edits for the other cases."""
    cursor = Cursor(tokens, index + 1)
    if cursor.symbol() != "(":
        return lateral
    cursor.skip_parentheses()
    close, prefix = cursor.last, "LATERAL " if lateral else ""
    if cursor.take("WITH", "ORDINALITY"):
        numbered = ", (e, i) -> named_struct('e', e, 'i', i + 1)))"
        whole = Edit.replace(close, cursor.last, numbered)
        return [Edit.at(tokens, index, f"{prefix}INLINE(TRANSFORM"), whole]
    if any(edit.text.endswith("INLINE") for edit in lateral):
        return lateral
    return [Edit.at(tokens, index, f"{prefix}EXPLODE")]


def _lateral(tokens: Tokens, index: int) -> list[Edit]:
    cursor = Cursor(tokens, index + 1)
    if cursor.symbol() != "(":
        return []
    cursor.skip_parentheses()
    if not _has_columns(tokens, index + 2, cursor.index):
        return []
    counts = cursor.take("WITH", "ORDINALITY")
    cursor.take("AS")
    if not cursor.take_name() or cursor.symbol() != "(":
        return []  # an expression of a query
    first = cursor.index
    cursor.skip_parentheses()
    names = filter(tokens.is_name, range(first, cursor.index))
    has_several = len(list(islice(names, 2))) > 1
    function = "INLINE" if has_several and not counts else tokens.text(index)
    return [Edit.at(tokens, index, f"LATERAL {function}")]


def _has_columns(tokens: Tokens, first: int, end: int) -> bool:
    arguments = range(first, min(end - 1, first + _LONGEST_ARGUMENTS))
    return any(tokens.symbols[index + 1] not in ("(", "[") and tokens.is_name(index) for index in arguments)


UNNEST = Rule(unnest, words=("unnest",), pattern=re.compile(r"\bunnest\s*\("))
