"""The kinds of statements in metrics: few, so that no label shows a word of a user."""

from __future__ import annotations

from paimon_sql.preprocess.scripts import statement_kind

_KINDS = frozenset(
    [
        "add",
        "alter",
        "analyze",
        "begin",
        "cache",
        "call",
        "clear",
        "comment",
        "copy",
        "create",
        "declare",
        "delete",
        "describe",
        "drop",
        "execute",
        "explain",
        "from",
        "insert",
        "list",
        "load",
        "merge",
        "msck",
        "refresh",
        "repair",
        "replace",
        "reset",
        "select",
        "set",
        "show",
        "table",
        "truncate",
        "uncache",
        "update",
        "upsert",
        "use",
        "values",
        "with",
    ]
)
_SHORT = {"desc": "describe"}


def counted_kind(text: str) -> str:
    """Return the first word of a statement if it is one of SQL's, else "other"."""
    word = statement_kind(text).lower()
    word = _SHORT.get(word, word)
    return word if word in _KINDS else "other"
