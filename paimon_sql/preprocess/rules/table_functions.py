"""Paimon's table-valued functions: `paimon_incremental_query('t', 1, 2)` to `t WITH ('incremental-between'='1,2')`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Tokens
from paimon_sql.preprocess.quoting import quoted_name, quoted_text
from paimon_sql.preprocess.rules.rule import Rule

# the option for a function's arguments, and the number of arguments after the table
_FUNCTIONS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "PAIMON_INCREMENTAL_QUERY": ("incremental-between", 2),
        "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": ("incremental-between-timestamp", 2),
        "PAIMON_INCREMENTAL_TO_AUTO_TAG": ("incremental-to-auto-tag", 1),
    }
)
_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "PAIMON_INCREMENTAL_QUERY": "'db.t', 1, 2",
        "PAIMON_INCREMENTAL_BETWEEN_TIMESTAMP": "'db.t', '2026-01-01 00:00:00', '2026-01-02 00:00:00'",
        "PAIMON_INCREMENTAL_TO_AUTO_TAG": "'db.t', '2026-01-02'",
    }
)
_NAME_PART = re.compile(r"`(?:[^`]|``)+`|[^`.]+")
_PLAIN_PART = re.compile(r"\w+")


def table_functions(cursor: Cursor) -> list[Edit]:
    """Rewrite each call. Raises PreprocessError for a wrong number of arguments, or for an argument that is not a
    literal.
    """
    tokens = cursor.tokens
    edits = []
    for index in tokens.indexes(*_FUNCTIONS):
        if tokens.symbols[index + 1 : index + 2] == ["("]:
            check_unqualified(tokens, index)
            edits += _call(tokens, index)
    return edits


def check_unqualified(tokens: Tokens, index: int) -> None:
    """Raise `PreprocessError` for the call of a table function as if it were a procedure: `sys.NAME(…)`."""
    if index > 1 and tokens.symbols[index - 2 : index] == ["SYS", "."]:
        name = tokens.text(index)
        raise PreprocessError.at(tokens[index - 2], f"{name} is not in sys: write {name}(…), without a qualifier")


def _call(tokens: Tokens, index: int) -> list[Edit]:
    option, count = _FUNCTIONS[tokens.symbols[index]]
    cursor = Cursor(tokens, index + 2)
    arguments = []
    while (literal := _literal(cursor)) is not None:
        arguments.append(literal)
        if not cursor.take(","):
            break
    if not cursor.take(")"):
        raise PreprocessError.at(
            cursor.peek() or cursor.last,
            _usage(tokens, index),
        )
    if len(arguments) != count + 1:
        raise PreprocessError.at(
            tokens[index],
            f"{_usage(tokens, index)}, not {len(arguments)} arguments",
        )
    table, *values = arguments
    text = "".join(with_option(tokens, index, table, option, ",".join(values)))
    return [Edit.replace(tokens[index], cursor.last, text)]


def _usage(tokens: Tokens, index: int) -> str:
    name = tokens.text(index)
    _, count = _FUNCTIONS[tokens.symbols[index]]
    return (
        f"{name} needs {count + 1} literals: the name of a table as a string, and what {name} reads of it, as in "
        f"{name}({_EXAMPLES[tokens.symbols[index]]})"
    )


def with_option(tokens: Tokens, index: int, table: str, option: str, value: str) -> tuple[str, str]:
    """Return the SQL of a table with an option, in place of the call of a function at a token: the parts before and
    after a version of the table. Not every Spark allows options behind the USING of MERGE INTO.
    """
    name, options = table_name(table), f" WITH ('{option}'={quoted_text(value)})"
    if index and tokens.symbols[index - 1] == "USING":
        return f"(SELECT * FROM {name}", f"{options})"  # noqa: S608  quoted
    return name, options


def _literal(cursor: Cursor) -> str | None:
    """Read a string, or a whole number with its sign; None for another token."""
    sign = "-" if cursor.take("-") else ""
    if not (cursor.at_number() or (cursor.at_string() and not sign)):
        return None
    return sign + cursor.next_text().removesuffix("L")


def table_name(text: str) -> str:
    parts = _NAME_PART.findall(text)
    if ".".join(parts) != text:
        return _part(text)
    return ".".join(_part(p) for p in parts)


def _part(text: str) -> str:
    if _PLAIN_PART.fullmatch(text) or text.startswith("`"):
        return text
    return quoted_name(text)


TABLE_FUNCTIONS = Rule(table_functions, words=tuple(map(str.lower, _FUNCTIONS)))
