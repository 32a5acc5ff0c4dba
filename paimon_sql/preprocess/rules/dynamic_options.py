"""Dynamic table options: `t /*+ OPTIONS('k'='v') */` becomes Spark's `t WITH ('k'='v')`.

Spark expects WITH after `FOR SYSTEM_TIME AS OF …`; Flink has the hint before it.
"""

from __future__ import annotations

import re

from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import HINT, Tokens
from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.rules.rule import Rule

_BEFORE_A_TABLE = {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "USING", "STREAM", ",", "("}
_VERSIONS = ("SYSTEM_TIME", "SYSTEM_VERSION", "TIMESTAMP", "VERSION")
_LONGEST_VERSION = 20  # the most tokens of an expression after AS OF
_OF_TARGET = ("branch", *SCAN_OPTIONS)
_OPERATORS = ("+", "-", "*", "/", "%")


def dynamic_options(cursor: Cursor) -> list[Edit]:
    """Rewrite each OPTIONS hint that follows a table's name or version directly, before its alias as in Flink."""
    tokens = cursor.tokens
    edits = []
    for index in tokens.indexes(HINT):
        before = _before_table(tokens, index)
        if before == "UPDATE" and not cursor.syntax.update_options:
            edits += _without_hint(tokens, index)
        elif before in _BEFORE_A_TABLE:
            edits += _options_clause(tokens, index)
    return edits


def _before_table(tokens: Tokens, hint: int) -> str:
    """Return the symbol before the name that a hint follows; "" if it does not follow a name."""
    first = _version_before(tokens, hint) - 1
    if first < 1 or not tokens.is_name(first) or tokens.symbols[first] == "SELECT":
        return ""
    while first > 2 and tokens.symbols[first - 1] == "." and tokens.is_name(first - 2):
        first -= 2
    return tokens.symbols[first - 1]


def _without_hint(tokens: Tokens, hint: int) -> list[Edit]:
    """Return the edits that remove the hint of an UPDATE: the syntax of Spark before 4.3 does not allow options there.
    Raises PreprocessError for an option that selects the branch to change.
    """
    cursor = Cursor(tokens, hint + 1)
    if not cursor.take("OPTIONS") or cursor.symbol() != "(":
        return []
    first = cursor.index
    cursor.skip_parentheses()
    for index in range(first, cursor.index):
        if tokens.text(index).lower() in _OF_TARGET:
            raise PreprocessError.at(
                tokens[index], f"UPDATE cannot have the option '{tokens.text(index)}' here: write UPDATE t$branch_NAME"
            )
    return [cursor.replaced(hint, "")] if cursor.take("*", "/") else []


def _version_before(tokens: Tokens, end: int) -> int:
    """Return the index of the first token of the version that ends before `end`; `end` without a version."""
    symbols, longest = tokens.symbols, max(0, end - _LONGEST_VERSION)
    if "OF" not in symbols[longest:end]:
        return end
    for start in range(end - 1, longest, -1):
        if symbols[start] in _VERSIONS and take_version(cursor := Cursor(tokens, start)) and cursor.index == end:
            return start - (symbols[start - 1] == "FOR")
    return end


def _options_clause(tokens: Tokens, hint: int) -> list[Edit]:
    cursor = Cursor(tokens, hint + 1)
    if not cursor.take("OPTIONS") or cursor.symbol() != "(":
        return []
    cursor.skip_parentheses()
    first, close = hint + 3, cursor.index - 1
    if not cursor.take("*", "/"):
        return []
    whole = cursor.replaced(hint, "")
    if first == close:
        return [whole]
    if take_version(cursor):
        texts = [(tokens.is_string(i), tokens.text(i)) for i in range(first, close)]
        spelled = "".join(quoted_text(text) if is_string else text for is_string, text in texts)
        return [whole, Edit.after(cursor.last, f" WITH ({spelled})")]
    return [Edit.at(tokens, hint, "WITH ", 2), Edit(tokens.end(close), whole.end, "")]


def take_version(cursor: Cursor) -> bool:
    """Read `[FOR] SYSTEM_TIME AS OF` and its expression. Return whether it was read."""
    kind = 1 if cursor.symbol() == "FOR" else 0
    if cursor.symbol(kind) not in _VERSIONS or (cursor.symbol(kind + 1), cursor.symbol(kind + 2)) != ("AS", "OF"):
        return False
    cursor.index += kind + 3
    _take_operand(cursor)
    while cursor.take_any(*_OPERATORS):
        _take_operand(cursor)
    return True


def _take_operand(cursor: Cursor) -> None:
    cursor.take("-")
    if cursor.take("INTERVAL"):
        for _ in ("a number", "its unit"):
            if not cursor.at_end():
                cursor.next()
    elif cursor.symbol() == "(":
        cursor.skip_parentheses()
    elif cursor.take_name():
        if cursor.at_string():  # a literal, TIMESTAMP '…'
            cursor.next()
        elif cursor.symbol() == "(":
            cursor.skip_parentheses()
    elif not cursor.at_end():
        cursor.next()


DYNAMIC_OPTIONS = Rule(dynamic_options, words=(HINT,), pattern=re.compile(r"/\*\+\s*options\b"))
