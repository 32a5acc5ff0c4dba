"""Names that Spark does not take: system tables and branches without backquotes, tables by their format and path.

`db.t$files` becomes ``db.`t$files` ``, and ``paimon.`/path` `` is in the catalog of paths.
"""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import QUOTED_NAME, Tokens
from paimon_sql.preprocess.quoting import IS_PATH, PATHS, with_quoted_system_tables
from paimon_sql.preprocess.rules.rule import Rule

_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "USING", "DESCRIBE", "DESC", "EXTENDED"}
)
_NAME = re.compile(r"\w+(?:\$\w+)+")


def system_tables(cursor: Cursor) -> list[Edit]:
    """Quotes every unquoted name with a `$` inside, which no Spark statement can have; `${var}` is left to Spark."""
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
    """Quotes the same names in the strings of `IDENTIFIER('t$files')`, which Spark parses as a name."""
    tokens, edits = cursor.tokens, []
    for index in tokens.indexes("IDENTIFIER"):
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
    """Whether the name is the rest of one that begins with a substituted variable: `${env}_t$files`."""
    return index > 0 and tokens.text(index - 1) == "}" and tokens[index - 1].end + 1 == tokens[index].start


SYSTEM_TABLES = Rule(system_tables, words=("$",), pattern=re.compile(r"\w\$\w"))


def tables_of_paths(cursor: Cursor) -> list[Edit]:
    """Names the catalog of paths in ``FROM paimon.`/path` ``: no table's own name begins as a path does."""
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
