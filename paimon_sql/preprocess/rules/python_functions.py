"""`CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ … $$`, which has no counterpart in Spark's SQL.

The body is cut out before the text is tokenized, because it is not SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import tokenize
from paimon_sql.preprocess.statements import CreatePythonFunction

_BODY = re.compile(
    r"(?P<head>.*?\blanguage\s+python\b.*?\bas\s*)(?P<body>\$\$.*\$\$)\s*;?\s*", re.IGNORECASE | re.DOTALL
)
_STANDS_FOR = "''"
_ENDS_TYPE = frozenset(("LANGUAGE", "NOT", "DETERMINISTIC", "COMMENT", "AS"))


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses after the type."""

    is_python: bool = False
    deterministic: bool | None = None
    comment: str | None = None
    body: str | None = None


def python_function(text: str) -> CreatePythonFunction | None:
    """Reads the statement, with a body between `$$` or in a string; None for others. Raises `PreprocessError`."""
    found = _BODY.fullmatch(text)
    head = text if found is None else found["head"] + _STANDS_FOR
    tokens = tokenize(head)
    if tokens is None:
        return None
    cursor = Cursor(tokens)
    replaces = cursor.take("CREATE", "OR", "REPLACE")
    if not (replaces or cursor.take("CREATE")) or not cursor.take("FUNCTION"):
        return None
    lenient = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.take_parts()
    if not name or cursor.symbol() != "(" or "PYTHON" not in tokens.symbols:
        return None
    parameters = _parenthesized(head, cursor)
    if not cursor.take("RETURNS"):
        raise PreprocessError.at(cursor.peek() or cursor.last, "A function in Python needs RETURNS with a type")
    returns = _type(head, cursor)
    said = _clauses(cursor)
    if not said.is_python or said.body is None:
        raise PreprocessError.at(cursor.last, "A function in Python needs LANGUAGE PYTHON, and AS $$ … $$ at the end")
    if replaces and lenient:
        raise PreprocessError.at(cursor.last, "CREATE FUNCTION can have OR REPLACE or IF NOT EXISTS, not both")
    body = said.body if found is None else found["body"][2:-2]
    return CreatePythonFunction(name, parameters, returns, body, replaces, lenient, said.comment, said.deterministic)


def _parenthesized(text: str, cursor: Cursor) -> str:
    start = cursor.tokens.end(cursor.index)
    cursor.skip_parentheses()
    return text[start : cursor.last.start].strip()


def _type(text: str, cursor: Cursor) -> str:
    """Return the text of a type: up to the first clause outside of brackets."""
    first = cursor.peek() or cursor.last
    depth, end = 0, first.start
    while not cursor.at_last() and (depth or cursor.symbol() not in _ENDS_TYPE):
        depth += cursor.symbol().count("<") + cursor.symbol().count("(")
        depth -= cursor.symbol().count(">") + cursor.symbol().count(")")
        end = cursor.next().end + 1
    return text[first.start : end]


def _clauses(cursor: Cursor) -> _Clauses:
    said = _Clauses()
    while not cursor.at_last():
        if cursor.take("LANGUAGE", "PYTHON"):
            said = replace(said, is_python=True)
        elif cursor.take("NOT", "DETERMINISTIC"):
            said = replace(said, deterministic=False)
        elif cursor.take("DETERMINISTIC"):
            said = replace(said, deterministic=True)
        elif cursor.take("COMMENT") and cursor.at_string():
            said = replace(said, comment=cursor.take_text())
        elif cursor.take("AS") and cursor.at_string():
            said = replace(said, body=cursor.take_text())
        else:
            raise PreprocessError.at(
                cursor.peek() or cursor.last, "This clause does not belong to CREATE FUNCTION … LANGUAGE PYTHON"
            )
    return said
