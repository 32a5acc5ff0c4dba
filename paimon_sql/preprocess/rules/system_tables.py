"""Names that Spark's parser refuses: system tables and branches without backquotes, tables by their format and path.

`db.t$files` becomes ``db.`t$files` ``, and ``paimon.`/path` `` becomes a name in the catalog of paths.
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import QUOTED_NAME, STRING, Tokens
from paimon_sql.preprocess.quoting import IS_PATH, PATHS, with_quoted_system_tables
from paimon_sql.preprocess.rules.rule import Rule

_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "USING", "DESCRIBE", "DESC", "EXTENDED"}
)
_DESCRIBES = frozenset({"DESCRIBE", "DESC", "EXTENDED"})
_BEFORE_SOURCES = frozenset({"FROM", "JOIN", "USING"}) | _DESCRIBES
# A regular expression in Spark's SQL: a bare name with a `$` inside and an even number of backquotes after it is put
# into backquotes. It has no backslash, because a setting of Spark changes the meaning of backslashes.
_IN_BACKQUOTES = "`$1`"
_SPARKS_NAME = f"'([^`.$ ]+(?:[$][^`.$ ]+)+)(?=(?:[^`]*`[^`]*`)*[^`]*$)', '{_IN_BACKQUOTES}'"
_NAME = re.compile(r"\w+(?:\$\w+)+")


def system_tables(cursor: Cursor) -> list[Edit]:
    """Quote every bare name with a `$` inside, which no Spark statement can have. `${var}` is left to Spark."""
    tokens = cursor.tokens
    if _takes_raw_text(Cursor(tokens)):
        return []
    names = [
        Edit.at(tokens, index, f"`{token_text}`")
        for index, symbol in enumerate(tokens.symbols)
        if "$" in symbol and _NAME.fullmatch(token_text := tokens.text(index)) and not _touches_variable(tokens, index)
    ]
    return names + _named_by_texts(cursor)


def _named_by_texts(cursor: Cursor) -> list[Edit]:
    """Quote such names in the strings of `IDENTIFIER('t$files')`, which Spark parses as a name."""
    tokens, edits = cursor.tokens, []
    for index in tokens.indexes("IDENTIFIER"):
        if _is_computed_source(tokens, index):
            continue  # `names_by_expressions` quotes the value of the whole expression
        for inside in range(index + 2, tokens.closings.get(index + 1, 0)):
            first, end = tokens.span(inside)
            written = tokens[inside].source[first:end]
            quoted = written[0] + with_quoted_system_tables(written[1:-1]) + written[-1]
            if tokens.is_string(inside) and written[0] in "'\"" and quoted != written:
                edits.append(Edit(first, end, quoted))
    return edits


def _takes_raw_text(statement: Cursor) -> bool:
    """Return whether the text after the first word is not SQL but a configuration value or a path."""
    if statement.take("SET"):
        return statement.symbol() not in ("VAR", "VARIABLE")
    if statement.take("REFRESH"):
        return statement.symbol() not in ("TABLE", "FUNCTION")
    return statement.take_any("RESET", "ADD", "LIST", "DFS")


def _touches_variable(tokens: Tokens, index: int) -> bool:
    """Return whether the name continues a substituted variable: `${env}_t$files`."""
    return index > 0 and tokens.text(index - 1) == "}" and tokens[index - 1].end + 1 == tokens[index].start


def names_by_expressions(cursor: Cursor) -> list[Edit]:
    """Quote such names where an expression computes the name, as in `FROM IDENTIFIER(:name)`: wrap it in SQL of Spark
    that quotes the computed value.
    """
    tokens = cursor.tokens
    return [
        edit
        for index in tokens.indexes("IDENTIFIER")
        if _is_computed_source(tokens, index)
        and not tokens.text(tokens.closings[index + 1] - 2).startswith(_IN_BACKQUOTES[:3])  # rewritten already
        for edit in (
            Edit.before(tokens[index + 2], "regexp_replace("),
            Edit.after(tokens[tokens.closings[index + 1] - 1], f", {_SPARKS_NAME})"),
        )
    ]


def _is_computed_source(tokens: Tokens, index: int) -> bool:
    """Return whether `IDENTIFIER(…)` at an index has an expression that is more than one text, in a place where rows
    are read or a table is described. The name of a table that a statement changes, or reads in another version, must be
    a text when Spark parses the statement.
    """
    symbols, end = tokens.symbols, tokens.closings.get(index + 1, 0)
    if end < index + 3 or set(symbols[index + 2 : end]) == {STRING}:
        return False
    before = symbols[max(index - 2, 0) : index]
    if before[-1:] == ["TABLE"]:
        is_source = before == ["TABLE"] or before[0] in _DESCRIBES
    else:
        is_source = before[-1:] != [] and before[-1] in _BEFORE_SOURCES and before[0] != "DELETE"
    return is_source and symbols[end + 1 : end + 2] not in (["("], ["VERSION"], ["TIMESTAMP"], ["FOR"])


NAMES_BY_EXPRESSIONS = Rule(names_by_expressions, words=("identifier",), pattern=re.compile(r"\bidentifier\s*\("))
SYSTEM_TABLES = Rule(system_tables, words=("$",), pattern=re.compile(r"\w\$\w"))


def tables_of_paths(cursor: Cursor) -> list[Edit]:
    """Put the catalog of paths before ``FROM paimon.`/path` ``. A table's own name never begins like a path."""
    tokens, symbols = cursor.tokens, cursor.tokens.symbols
    return [
        Edit.at(tokens, index - 2, PATHS)
        for index in tokens.indexes(QUOTED_NAME)
        if index > 2
        and symbols[index - 1] == "."
        and tokens.text(index - 2).lower() == "paimon"
        and symbols[index - 3] in _BEFORE_TABLES
        and symbols[index + 1 : index + 2] != ["."]
        and IS_PATH.match(tokens.text(index))
    ]


TABLES_OF_PATHS = Rule(tables_of_paths, words=("paimon",), pattern=re.compile(r"\bpaimon`?\s*\.\s*`[^`]*/"))
