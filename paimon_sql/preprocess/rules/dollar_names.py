"""Names with `$` in queries that have nothing else to edit, found without tokens: a union of many `t$files`, say."""

from __future__ import annotations

import re

from paimon_sql.preprocess.lexing import COMMENT
from paimon_sql.preprocess.tokens import Edit

# what other rules look for in a query
_OF_OTHER_RULES = (
    *("/*+", "paimon_incremental_", "unnest", "array", "map", "row", "bytes", "binary", "multiset", "varchar"),
    *("precision", "timestamp"),
)
_QUERY = re.compile(
    rf"(?>(?:\s++|{COMMENT})*)(?:EXPLAIN\s++(?:\w++\s++)?)?(?:SELECT|WITH|INSERT|FROM|UPDATE|DELETE|MERGE)\b",
    re.IGNORECASE | re.DOTALL,
)
# words, numbers, quotes and signs of which the tokenizer makes nothing else, whatever stands beside them
_QUIET = (
    r"""[^\W\d]\w*+(?!['"`$])|\d[\w.]*+(?!['"`$])|'[^'\\]*+'|"[^"\\]*+"|`[^`]*+`"""
    rf"|[\s.,=<>!+*%|&^~()\[\];]++|-(?!-)|/(?!\*)|{COMMENT}"
)
_NEXT = re.compile(rf"(?>(?:{_QUIET})*)(?:([^\W\d]\w*+(?>(?:\$\w++)+))(?!['\"`$])|\Z)", re.DOTALL)


def dollar_names(text: str) -> list[Edit] | None:
    """The quotes around these names; None where more than them may have to change, or where only tokens tell."""
    lower = text.lower()
    if _QUERY.match(text) is None or any(word in lower for word in _OF_OTHER_RULES):
        return None
    edits: list[Edit] = []
    position = 0
    while (found := _NEXT.match(text, position)) is not None:
        if found[1] is None:
            return edits
        edits.append(Edit(*found.span(1), f"`{found[1]}`"))
        position = found.end()
    return None
