"""Rewriting of SQL from the syntax of Paimon's and Flink's documentation to SQL for Spark's parser.

Only parts that Spark cannot parse are edited, by character offset; other statements are returned as the same string.
Statements without a counterpart in Spark's SQL become values, which the bridge runs. One exception: PRIMARY KEY
constraints, which Spark parses, always become the table property `primary-key`.

Each rule in `rules/` handles one spelling. Most statements have no such spelling: patterns over the text show this in
less than a millisecond for 10 KB. Other statements are divided into tokens (`lexing`), which rules read with a
`cursor`. Rules return `edits`, which also map offsets in Spark's messages back to the written text, or a value of
`statements`. `scripts` divides a text into statements.

This folder may import `paimon_core` and sqlglot, but nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paimon_sql.preprocess.blocks import read_block
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Edit, Rewriting
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Tokens, tokenize, without_dollar_strings
from paimon_sql.preprocess.rules import EDITS, VALUES
from paimon_sql.preprocess.rules.column_types import DECLARED_TYPES_PROPERTY
from paimon_sql.preprocess.rules.python_functions import python_function
from paimon_sql.preprocess.rules.rule import first_word, without_comments
from paimon_sql.preprocess.rules.table_like import EXCLUDED_PROPERTY, read_create_like
from paimon_sql.preprocess.rules.vector_search import NEAREST_ROWS, SEARCH_OPTION
from paimon_sql.preprocess.scripts import (
    TARGETED,
    ScriptStatement,
    is_terminated,
    new_table,
    split_statements,
    target_of,
)
from paimon_sql.preprocess.statements import (
    CatalogStatement,
    CreateLike,
    CreatePythonFunction,
    Name,
    PaimonStatement,
    Script,
)
from paimon_sql.preprocess.syntax import NEWEST, Syntax

__all__ = [
    "DECLARED_TYPES_PROPERTY",
    "NEAREST_ROWS",
    "SEARCH_OPTION",
    "EXCLUDED_PROPERTY",
    "CatalogStatement",
    "CreateLike",
    "CreatePythonFunction",
    "PaimonStatement",
    "PreprocessError",
    "Rewriting",
    "Script",
    "ScriptStatement",
    "Syntax",
    "create_like",
    "is_terminated",
    "nowhere_else",
    "preprocess",
    "rewrite",
    "split_statements",
    "target_of",
]


def nowhere_else(name: Name) -> bool:
    """Return False: every name is in a Paimon catalog."""
    return False


def preprocess(
    text: str,
    syntax: Syntax = NEWEST,
    is_elsewhere: Callable[[Name], bool] = nowhere_else,
    is_beside: Callable[[Name], bool] = nowhere_else,
) -> Rewriting | PaimonStatement | Script:
    """Rewrite a statement. A statement that only Paimon has becomes a value, and several statements become a `Script`.
    Any other statement becomes a text that Spark parses.

    `syntax` describes the syntax of the Spark version. `is_elsewhere` returns whether a name is in a catalog other than
    Paimon's. A statement that creates or changes such a table is not rewritten: Spark, or another extension of its
    parser, may understand it. `is_beside` returns whether a name is in a catalog that has Paimon tables beside others:
    a new table there is a Paimon table if its statement says so.

    Raises PreprocessError if a statement in Flink's style contradicts itself, or a value is incomplete. A text that
    cannot be tokenized is not changed: Spark reports the error.
    """
    lower = without_comments(text.lower())
    first = first_word(lower)
    is_python = first == "create" and "python" in lower
    if is_python and is_elsewhere(target_of(text)):
        return Rewriting(text, is_elsewhere=True)
    if is_python and (function := python_function(text)) is not None:
        return PaimonStatement(function)
    if first == "begin":
        return _script(text, syntax, is_elsewhere, is_beside)
    values = [rule for rule in VALUES if rule.may_apply(first, lower)]
    spellings = [rule for rule in EDITS if rule.may_apply(first, lower)]
    if not (values or spellings) or (tokens := tokenize(text)) is None:
        return Rewriting(text)
    if (name := new_table(Cursor(tokens))) and is_beside(name):
        syntax = replace(syntax, default_provider=False)
    elif first in TARGETED and is_elsewhere(target_of(text)):
        return Rewriting(text, is_elsewhere=True)
    for rule in values:
        cursor = Cursor(tokens)
        value = rule.read(cursor)
        if value is not None and cursor.at_last():
            return PaimonStatement(value, _explain(tokens), cursor.named_by)
    return Rewriting(text, [edit for rule in spellings for edit in rule.read(Cursor(tokens, syntax=syntax))])


def create_like(text: str) -> CreateLike | None:
    """Return a `CREATE TABLE … LIKE` in Spark's spelling as a value, for a Spark that supports it only in its own
    catalog. Return None for any other statement.
    """
    if "like" not in (lower := text.lower()) or first_word(lower) != "create" or (tokens := tokenize(text)) is None:
        return None
    return read_create_like(Cursor(tokens))


def rewrite(text: str) -> str:
    """Return the statement as Spark parses it, see `preprocess`; the same text if the statement becomes a value."""
    found = preprocess(text)
    return text if isinstance(found, PaimonStatement) else found.text


def _script(
    text: str, syntax: Syntax, is_elsewhere: Callable[[Name], bool], is_beside: Callable[[Name], bool]
) -> Script:
    """Preprocess a text that is one `BEGIN … END`: each statement and condition in it as if it were alone."""
    tokens = tokenize(without_dollar_strings(text))
    block = None if tokens is None else read_block(tokens)
    if tokens is None or block is None or not block.is_whole:
        return Script(Rewriting(text))
    edits: list[Edit] = []
    statements: list[PaimonStatement] = []
    for first, end in block.parts:
        is_assignment = tokens.symbols[first] == "SET" and first + 1 < end  # of a variable: scripts have no settings
        start = tokens.start(first + is_assignment)
        part = text[start : tokens.end(end - 1)]
        try:
            found = preprocess(part, syntax, is_elsewhere, is_beside)
        except PreprocessError as e:
            raise e.moved(text, start) from None
        if isinstance(found, PaimonStatement):
            call = f"{found.explain} CALL {Script.placeholder(len(statements))}".lstrip()
            statements.append(found)
            edits.append(Edit(start, start + len(part), call))
        elif isinstance(found, Rewriting):
            edits += [Edit(start + e.start, start + e.end, e.text) for e in found.edits]
    return Script(Rewriting(text, edits), tuple(statements))


def _explain(tokens: Tokens) -> str:
    """Return the EXPLAIN at the beginning of a statement, with its mode; empty without EXPLAIN."""
    return " ".join(tokens.symbols[: Cursor(tokens).index])
