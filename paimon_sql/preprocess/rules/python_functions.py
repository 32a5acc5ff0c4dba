"""`CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ … $$`, which has no counterpart in Spark's SQL.

The body is cut out before the text is tokenized, because it is not SQL.
"""

from __future__ import annotations

import re
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import tokenize
from paimon_sql.preprocess.statements import CreatePythonFunction

_LANGUAGE = re.compile(r"\blanguage\s++python\b", re.IGNORECASE)
_AS = re.compile(r"\bas\s*+(?=\$\$)", re.IGNORECASE)
_QUOTES = "$$"
_STANDS_FOR = "''"
_ENDS_TYPE = frozenset(("LANGUAGE", "NOT", "DETERMINISTIC", "COMMENT", "AS"))


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses after the type."""

    is_python: bool = False
    deterministic: bool | None = None
    comment: str | None = None
    body: str | None = None


def _divided(text: str) -> tuple[str, str | None]:
    """Return a statement with an empty string for the body, and the body between `$$`. Without such a body, return the
    statement and None."""
    end = text.rstrip().removesuffix(";").rstrip()
    language = _LANGUAGE.search(text)
    found = None if language is None else _AS.search(text, language.end())
    if found is None or not end.endswith(_QUOTES) or len(end) < found.end() + 2 * len(_QUOTES):
        return text, None
    return text[: found.end()] + _STANDS_FOR, end[found.end() + len(_QUOTES) : -len(_QUOTES)]


def python_function(text: str) -> CreatePythonFunction | None:
    """Read the statement, with a body between `$$` or in a string. Return None for other statements. Raises
    `PreprocessError`.
    """
    head, quoted = _divided(text)
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
    body = said.body if quoted is None else quoted
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
