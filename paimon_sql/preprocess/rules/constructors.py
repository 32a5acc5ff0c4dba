"""Values and casts in Flink's spelling: `ARRAY[a, b]`, `MAP[k, v]`, `ROW(a, b)`, `CAST(a AS BYTES)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import Tokens
from paimon_sql.preprocess.rules.column_types import TypeRewrites, read_type
from paimon_sql.preprocess.rules.rule import Rule

_BEFORE_A_VALUE = ("(", ",", "[", "=", "SELECT", "THEN", "ELSE")
_CASTS = ("CAST", "TRY_CAST")
_QUERY = ("SELECT", "FROM", "TABLE")
_READ = ("(", "[", ",", ")", "]", "AS", "ROW")


def constructors(cursor: Cursor) -> list[Edit]:
    """Return edits of brackets to parentheses, of `ROW` to `struct`, and of the types of casts to Spark's."""
    tokens = cursor.tokens
    symbols, start = tokens.symbols, 0
    if {"CREATE", "REPLACE", "ALTER"} & set(symbols[:1]):  # the part before a query has only types
        if "SELECT" not in symbols:
            return []
        start = symbols.index("SELECT")
    edits: list[Edit] = []
    opened: list[int] = []  # brackets that are still open
    commas: list[bool] = []  # for each of these, whether it has a comma
    has_columns, type_end = not _lists_rows(tokens), start
    for index in tokens.indexes(*_READ):
        if index < start:
            continue
        match symbols[index]:
            case "," if commas:
                commas[-1] = True
            case "(" | "[":
                opened.append(index)
                commas.append(False)
            case ")" | "]" as closing if opened:
                opening, has_comma = opened.pop(), commas.pop()
                is_list = not has_columns or has_comma or opening + 1 == index
                if closing == "]" and _makes_collection(symbols, opening, is_list):
                    edits += Edit.at(tokens, opening, "("), Edit.at(tokens, index, ")")
            case "AS" if opened and symbols[opened[-1] - 1] in _CASTS:
                type_end = _take_type(Cursor(tokens, index + 1), edits)
            case "ROW" if index > type_end and _makes_row(symbols, index):
                edits.append(Edit.at(tokens, index, "struct"))
    return edits


def _lists_rows(tokens: Tokens) -> bool:
    """Return whether the statement is `INSERT … VALUES …` without a query in it."""
    words = tokens.symbols[Cursor(tokens).index :]
    return words[:1] == ["INSERT"] and "VALUES" in words and not any(w in words[2:] for w in _QUERY)


def _makes_collection(symbols: Sequence[str], opening: int, is_list: bool) -> bool:
    """Return whether `array[…]` constructs a collection: with one item it may be an element of a column `array`."""
    word = opening - 1
    if word < 0 or symbols[opening] != "[" or symbols[word] not in ("ARRAY", "MAP"):
        return False
    return (word == 0 or symbols[word - 1] in _BEFORE_A_VALUE) and (is_list or symbols[opening + 1] == "ROW")


def _makes_row(symbols: Sequence[str], index: int) -> bool:
    return symbols[index + 1 : index + 2] == ["("] and symbols[index - 1] in _BEFORE_A_VALUE


def _take_type(cursor: Cursor, edits: list[Edit]) -> int:
    """Read a cast's type and return the index of its end. Make no edits if Spark does not have the
    precision or length.
    """
    types = TypeRewrites()
    read_type(cursor, (), types)
    edits += types.edits if types.flink_only and not types.declared else []
    return cursor.index


def _if_not_inserted(cursor: Cursor) -> list[Edit]:
    return [] if cursor.symbol() == "INSERT" else constructors(cursor)


def _if_inserted(cursor: Cursor) -> list[Edit]:
    return constructors(cursor) if cursor.symbol() == "INSERT" else []


_OTHERS = r"|row\s*[(<]|(?:bytes|varbinary|multiset|varchar(?!\s*\()|double\s+precision)\b)"
_WORDS = ("array", "map", "row", "cast")
# `array[i]` of one word is an element, but in inserted rows
CONSTRUCTORS = Rule(
    _if_not_inserted,
    words=_WORDS,
    pattern=re.compile(r"(?=[abdmrv])\b(?:(?:array|map)\s*\[(?!\s*+(?!row\b)[\w.]++\s*+\])" + _OTHERS),
)
INSERTED_CONSTRUCTORS = Rule(
    _if_inserted,
    first=("insert",),
    words=_WORDS,
    pattern=re.compile(r"(?=[abdmrv])\b(?:(?:array|map)\s*\[" + _OTHERS),
)
