"""COPY INTO as a value: load files into a table, or write a table or a query to files.

COPY INTO t [(a, b)] FROM 'source' FILE_FORMAT = (TYPE = CSV, …) [PATTERN = '…'] [FORCE = TRUE] [ON_ERROR = CONTINUE]

COPY INTO 'target' FROM {t | (query)} FILE_FORMAT = (TYPE = CSV, …) [OVERWRITE = TRUE]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import CopyIntoFolder, CopyIntoTable, CopyStatement

_OF_TABLES, _OF_FILES = ("FILE_FORMAT", "PATTERN", "FORCE", "ON_ERROR"), ("FILE_FORMAT", "OVERWRITE")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_MODES = ("ABORT_STATEMENT", "CONTINUE", "SKIP_FILE")


def copy_into(cursor: Cursor) -> CopyStatement | None:
    """Read COPY INTO; None for other statements. Raises `PreprocessError` for an invalid statement."""
    if not cursor.take("COPY", "INTO"):
        return None
    return _into_folder(cursor) if cursor.at_string() else _into_table(cursor)


def _into_table(cursor: Cursor) -> CopyIntoTable:
    """Read `t (a, b) FROM 'source' …`."""
    table = cursor.take_table()
    if not table:
        raise _wrong(cursor, "COPY INTO needs a table's name, or the path of a folder in quotes")
    columns = None
    if cursor.symbol() == "(":
        first = cursor.index
        cursor.skip_parentheses()
        columns = tuple(cursor.names(first))
    if not cursor.take("FROM") or not cursor.at_string():
        raise _wrong(cursor, "COPY INTO a table needs FROM 'path of the files'")
    source = _string(cursor.next())
    return CopyIntoTable(table, source, columns=columns, **_clauses(cursor, _OF_TABLES))


def _into_folder(cursor: Cursor) -> CopyIntoFolder:
    """Read `'target' FROM t …` or `'target' FROM (query) …`."""
    target = _string(cursor.next())
    if not cursor.take("FROM"):
        raise _wrong(cursor, "COPY INTO 'path' needs FROM a table, or FROM (SELECT …)")
    if opening := cursor.peek() if cursor.symbol() == "(" else None:
        cursor.skip_parentheses()
        query = opening.source[opening.start + 1 : cursor.last.start]
    elif table := cursor.take_parts():
        query = f"TABLE {'.'.join(map(quoted_name, table))}"
    else:
        raise _wrong(cursor, "COPY INTO 'path' needs FROM a table, or FROM (SELECT …)")
    return CopyIntoFolder(target, query, **_clauses(cursor, _OF_FILES))


def _clauses(cursor: Cursor, allowed: Sequence[str]) -> dict[str, Any]:
    """Read the clauses to the end of the statement. Return the fields of the statement's value."""
    found: dict[str, Any] = {}
    while not cursor.at_end():
        word = cursor.symbol()
        if word not in allowed or cursor.symbol(1) != "=":
            raise _wrong(cursor, f"COPY INTO does not have this clause here; use {', '.join(allowed)}, each with =")
        cursor.index += 2
        if word == "FILE_FORMAT":
            found["format"] = _options(cursor)
        elif word == "PATTERN":
            if not cursor.at_string():
                raise _wrong(cursor, "PATTERN needs a regular expression in quotes")
            found["pattern"] = _string(cursor.next())
        elif word == "ON_ERROR":
            if not cursor.take_any(*_MODES):
                raise _wrong(cursor, f"ON_ERROR cannot be this; use one of {', '.join(_MODES)}")
            found["on_error"] = cursor.last.text.upper()
        else:
            if not cursor.take_any("TRUE", "FALSE"):
                raise _wrong(cursor, f"{word} must be TRUE or FALSE")
            found[word.lower()] = cursor.last.text.upper() == "TRUE"
    if "format" not in found:
        raise _wrong(cursor, "COPY INTO needs FILE_FORMAT = (TYPE = CSV), or JSON, or PARQUET")
    return found


def _options(cursor: Cursor) -> dict[str, str | list[str]]:
    """Read `(TYPE = CSV, NULL_IF = ('a', 'b'))`."""
    options: dict[str, str | list[str]] = {}
    if not cursor.take("("):
        raise _wrong(cursor, "FILE_FORMAT needs options in parentheses: (TYPE = CSV)")
    while not cursor.take(")"):
        key = cursor.symbol()
        if not key.isidentifier() or cursor.symbol(1) != "=":
            raise _wrong(cursor, "FILE_FORMAT needs options as TYPE = CSV, with commas between them")
        if key in options:
            raise _wrong(cursor, f"Duplicate option {key} in FILE_FORMAT: give it once")
        cursor.index += 2
        options[key] = _value(cursor)
        if not cursor.take(",") and cursor.symbol() != ")":
            raise _wrong(cursor, "FILE_FORMAT needs options as TYPE = CSV, with commas between them")
    if "TYPE" not in options:
        raise _wrong(cursor, "FILE_FORMAT needs a TYPE: CSV, JSON or PARQUET")
    return options


def _value(cursor: Cursor) -> str | list[str]:
    if cursor.symbol() == "(":
        first = cursor.index
        cursor.skip_parentheses()
        return [_string(cursor.tokens[i]) for i in range(first, cursor.index) if cursor.tokens.is_string(i)]
    if not (cursor.at_string() or cursor.at_name() or cursor.at_number()):
        raise _wrong(cursor, "An option of FILE_FORMAT needs a word, a number, a text in quotes or a list of texts")
    return _string(cursor.next()) if cursor.at_string() else cursor.next_text()


def _string(token: Token) -> str:
    """Return the content of a quoted string of this statement; unknown escapes such as `\\N` and `\\.` stay."""
    text, quote = token.source, token.source[token.start]
    meant = _MEANT | {quote: quote}
    return _ESCAPED.sub(lambda m: meant.get(m[1], m[0]), text[token.start + 1 : token.end])


def _wrong(cursor: Cursor, message: str) -> PreprocessError:
    token = cursor.peek() or cursor.last
    near = f", not {token.text!r}" if cursor.peek() and cursor.symbol() != ";" else ""
    return PreprocessError.at(token, message + near)


COPY_INTO = Rule(copy_into, first=("copy",))
