"""System tables and branches named without backquotes: `db.t$files` becomes ``db.`t$files` ``."""

from __future__ import annotations

import re

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.lexing import Tokens
from paimon_sql.preprocess.quoting import with_quoted_system_tables
from paimon_sql.preprocess.rules.rule import Rule

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
    """Whether what follows the first word is no SQL: a configuration value, a path."""
    if statement.take("SET"):
        return statement.symbol() not in ("VAR", "VARIABLE")
    if statement.take("REFRESH"):
        return statement.symbol() not in ("TABLE", "FUNCTION")
    return statement.take_any("RESET", "ADD", "LIST", "DFS")


def _touches_variable(tokens: Tokens, index: int) -> bool:
    """Whether the name is the rest of one that begins with a substituted variable: `${env}_t$files`."""
    return index > 0 and tokens.text(index - 1) == "}" and tokens[index - 1].end + 1 == tokens[index].start


SYSTEM_TABLES = Rule(system_tables, words=("$",), pattern=re.compile(r"\w\$\w"))
