"""COPY INTO: files into a table, a table or a query into files, as calls of the statements' procedures.

    COPY INTO t [(a, b)] FROM 'source' FILE_FORMAT = (TYPE = CSV, …) [PATTERN = '…'] [FORCE = TRUE]
        [ON_ERROR = CONTINUE]
    COPY INTO 'target' FROM {t | (query)} FILE_FORMAT = (TYPE = CSV, …) [OVERWRITE = TRUE]

The options of FILE_FORMAT go as JSON: names in upper case, values as texts or lists of texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sqlglot.tokens import TokenType

from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Token, Tokens
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.tokens import Cursor, Edit

_OF_TABLES, _OF_FILES = ("FILE_FORMAT", "PATTERN", "FORCE", "ON_ERROR"), ("FILE_FORMAT", "OVERWRITE")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_MODES = ("ABORT_STATEMENT", "CONTINUE", "SKIP_FILE")

Argument = str | bool


def copy_into(text: str, tokens: Tokens) -> list[Edit]:
    """The edit that makes the statement a CALL; none where it is another. Raises PreprocessError for what is wrong."""
    cursor = Cursor(tokens)
    first = cursor.peek()
    if first is None or not cursor.take("COPY", "INTO"):
        return []
    into_files = cursor.at_string()
    catalog, arguments = (_files if into_files else _table)(text, cursor)
    arguments |= _clauses(text, cursor, _OF_FILES if into_files else _OF_TABLES)
    if "format" not in arguments:
        raise _wrong(cursor, "COPY INTO needs FILE_FORMAT = (TYPE = CSV), or JSON, or PARQUET")
    name = "copy_into_files" if into_files else "copy_into_table"
    given = ", ".join(f"{k} => {_literal(v)}" for k, v in arguments.items())
    return [Edit.replace(first, cursor.last, f"CALL {catalog}sys.{name}({given})")]


def _table(text: str, cursor: Cursor) -> tuple[str, dict[str, Argument]]:
    """`t (a, b) FROM 'source'`: the catalog the call goes to, and its arguments."""
    parts = _parts(cursor)
    if not parts:
        raise _wrong(cursor, "COPY INTO needs a table's name, or the path of a folder in quotes")
    arguments: dict[str, Argument] = {"table": ".".join(map(quoted_name, parts[-2:]))}
    if cursor.symbol() == "(":
        first = cursor.index
        cursor.skip_parentheses()
        arguments["columns"] = json.dumps(cursor.names(first), ensure_ascii=False)
    if not cursor.take("FROM") or not cursor.at_string():
        raise _wrong(cursor, "COPY INTO a table needs FROM 'path of the files'")
    return _catalog(parts), arguments | {"source": _string(text, cursor.next())}


def _files(text: str, cursor: Cursor) -> tuple[str, dict[str, Argument]]:
    """`'target' FROM t`, `'target' FROM (query)`."""
    arguments: dict[str, Argument] = {"target": _string(text, cursor.next())}
    if not cursor.take("FROM"):
        raise _wrong(cursor, "COPY INTO 'path' needs FROM a table, or FROM (SELECT …)")
    if opening := cursor.peek() if cursor.symbol() == "(" else None:
        cursor.skip_parentheses()
        return "", arguments | {"query": text[opening.start + 1 : cursor.last.start]}
    parts = _parts(cursor)
    if not parts:
        raise _wrong(cursor, "COPY INTO 'path' needs FROM a table, or FROM (SELECT …)")
    return _catalog(parts), arguments | {"query": f"TABLE {'.'.join(map(quoted_name, parts))}"}


def _clauses(text: str, cursor: Cursor, allowed: Sequence[str]) -> dict[str, Argument]:
    found: dict[str, Argument] = {}
    while not cursor.at_end():
        word = cursor.symbol()
        if word not in allowed or cursor.symbol(1) != "=":
            raise _wrong(cursor, f"COPY INTO has no such clause here; there are {', '.join(allowed)}, each with =")
        cursor.index += 2
        if word == "FILE_FORMAT":
            found["format"] = json.dumps(_options(text, cursor), ensure_ascii=False)
        elif word == "PATTERN":
            if not cursor.at_string():
                raise _wrong(cursor, "PATTERN needs a regular expression in quotes")
            found["pattern"] = _string(text, cursor.next())
        elif word == "ON_ERROR":
            if not cursor.take_any(*_MODES):
                raise _wrong(cursor, f"ON_ERROR cannot be this; it is one of {', '.join(_MODES)}")
            found["on_error"] = cursor.last.text.upper()
        else:
            if not cursor.take_any("TRUE", "FALSE"):
                raise _wrong(cursor, f"{word} is TRUE or FALSE")
            found[word.lower()] = cursor.last.text.upper() == "TRUE"
    return found


def _options(text: str, cursor: Cursor) -> dict[str, str | list[str]]:
    """`(TYPE = CSV, NULL_IF = ('a', 'b'))`."""
    options: dict[str, str | list[str]] = {}
    if not cursor.take("("):
        raise _wrong(cursor, "FILE_FORMAT needs options in parentheses: (TYPE = CSV)")
    while not cursor.take(")"):
        key = cursor.symbol()
        if not key or cursor.symbol(1) != "=":
            raise _wrong(cursor, "FILE_FORMAT needs options as TYPE = CSV, with commas between them")
        if key in options:
            raise _wrong(cursor, f"Duplicate option {key} in FILE_FORMAT: give it once")
        cursor.index += 2
        options[key] = _value(text, cursor)
        if not cursor.take(",") and cursor.symbol() != ")":
            raise _wrong(cursor, "FILE_FORMAT needs options as TYPE = CSV, with commas between them")
    if "TYPE" not in options:
        raise _wrong(cursor, "FILE_FORMAT needs a TYPE: CSV, JSON or PARQUET")
    return options


def _value(text: str, cursor: Cursor) -> str | list[str]:
    if cursor.symbol() == "(":
        first = cursor.index
        cursor.skip_parentheses()
        return [_string(text, cursor.tokens[i]) for i in range(first, cursor.index) if cursor.tokens.is_string(i)]
    token = cursor.peek()
    is_plain = cursor.at_string() or cursor.at_name()
    if token is None or not (is_plain or token.token_type is TokenType.NUMBER):
        raise _wrong(cursor, "An option of FILE_FORMAT needs a word, a number, a text in quotes or a list of texts")
    return _string(text, cursor.next()) if cursor.at_string() else str(cursor.next().text)


def _string(text: str, token: Token) -> str:
    """What a quoted string of this statement means; escapes that are none, `\\N` and `\\.`, stay as written."""
    quote = text[token.start]
    meant = _MEANT | {quote: quote}
    return _ESCAPED.sub(lambda m: meant.get(m[1], m[0]), text[token.start + 1 : token.end])


def _parts(cursor: Cursor) -> list[str]:
    start = cursor.index
    found = cursor.take_name()
    return cursor.names(start) if found else []


def _catalog(parts: Sequence[str]) -> str:
    return f"{quoted_name(parts[0])}." if len(parts) > 2 else ""


def _wrong(cursor: Cursor, message: str) -> PreprocessError:
    token = cursor.peek() or cursor.last
    near = f", not {token.text!r}" if cursor.peek() and cursor.symbol() != ";" else ""
    return PreprocessError.at(token, message + near)


def _literal(value: Argument) -> str:
    return str(value).lower() if isinstance(value, bool) else quoted_text(value)
