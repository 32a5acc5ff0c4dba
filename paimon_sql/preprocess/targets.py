"""The table or function that a statement creates or changes, by its tokens."""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.lexing import tokenize

TARGETED = frozenset({"create", "replace", "alter", "drop", "refresh", "copy"})  # the first words of such statements
_OTHERS = frozenset({"OR", "MATERIALIZED", "EXTERNAL", "TABLE", "FUNCTION", "IF", "NOT", "EXISTS", "INTO"})
_BEFORE = _OTHERS | {word.upper() for word in TARGETED}


def target_of(text: str) -> tuple[str, ...]:
    """Return the parts of the name of the statement's target; none without a target."""
    tokens = tokenize(text.partition("$$")[0])  # the code of a function in Python has other tokens
    if tokens is None:
        return ()
    cursor = Cursor(tokens)
    while cursor.symbol() in _BEFORE:
        cursor.next()
    return cursor.take_parts()
