"""The statements of a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import whitespace

from paimon_core.dataclass import dataclass
from paimon_sql.preprocess.blocks import spans_of_statements
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.lexing import scan, tokenize, without_dollar_strings

_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*\n", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{1,20}")


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement without its `;`, the line of the script on which it starts (from 1), and the comment lines above
    it.
    """

    text: str
    line: int
    comment: str = ""


def split_statements(text: str) -> list[ScriptStatement]:
    """Return the statements of a script in order. If a quote is never closed, the rest of the script is one
    statement.
    """
    statements, behind = [], 0
    for start, end in _bounds(text):
        line = text.count("\n", 0, start) + 1
        statements.append(
            ScriptStatement(text[start:end], line, _comment_lines(text[behind:start], at_top=behind == 0))
        )
        behind = end
    return statements


def is_terminated(text: str) -> bool:
    """Return whether the last statement of the text ends with `;`, so that the text is complete."""
    tokens, is_whole = scan(without_dollar_strings(text))
    if not is_whole or tokens.symbols[-1:] != [";"]:
        return False
    return all(is_closed for _, _, is_closed in spans_of_statements(tokens))


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the first character and of the end of each statement."""
    tokens, is_whole = scan(without_dollar_strings(text))
    first = 0
    for first, end, _ in spans_of_statements(tokens):
        if not is_whole and end == len(tokens):
            break  # the quote that is never closed is in the text after the last token
        yield tokens.start(first), tokens.end(end - 1)
        first = end + 1
    if not is_whole:
        behind = tokens[first].start if first < len(tokens) else tokens[-1].end + 1 if tokens else 0
        yield len(text) - len(text[behind:].lstrip()), len(text.rstrip())


def _comment_lines(gap: str, at_top: bool) -> str:
    """Return the comment lines between two statements, without the rest of the line on which the first
    statement ends.
    """
    first = 0 if at_top else gap.find("\n") + 1
    return gap[first : gap.rfind("\n") + 1].lstrip(";").strip("\r\n")


TARGETED = frozenset({"create", "replace", "alter", "drop", "refresh", "copy"})  # first words
_OTHERS = frozenset({"OR", "MATERIALIZED", "EXTERNAL", "TABLE", "FUNCTION", "IF", "NOT", "EXISTS", "INTO"})
_BEFORE = _OTHERS | {word.upper() for word in TARGETED}


def target_of(text: str) -> tuple[str, ...]:
    """Return the parts of the name of the table, view or function that a statement creates or changes. Return ()
    for other statements.
    """
    tokens = tokenize(text.partition("$$")[0])  # the body of a function in Python has other tokens
    if tokens is None:
        return ()
    cursor = Cursor(tokens)
    while cursor.symbol() in _BEFORE:
        cursor.next()
    return cursor.take_parts()


def new_table(cursor: Cursor) -> tuple[str, ...]:
    """Return the parts of the name of the table that a statement creates or replaces, () for others."""
    if cursor.take("CREATE"):
        cursor.take("OR", "REPLACE")
    elif not cursor.take("REPLACE"):
        return ()
    if not cursor.take("TABLE"):
        return ()
    cursor.take("IF", "NOT", "EXISTS")
    return cursor.take_parts()


def statement_kind(text: str) -> str:
    """Return the first word of a statement, such as INSERT or MERGE, also of a query in parentheses."""
    match = _WORD.match(_COMMENTS.sub(" ", f"{text}\n").lstrip(f"({whitespace}"))
    return "statement" if match is None else match[0].upper()
