"""SQL in the spellings of Paimon's and Flink's documentation, as text that Spark's parser takes.

Only what Spark cannot parse is edited, by character offset; every other statement comes back as the same string.
Statements that Spark's SQL has no counterpart for become values, which the bridge runs. One exception: PRIMARY KEY
constraints, which Spark parses, always become the table property `primary-key`.

Each rule in `rules/` knows one spelling. Most statements have none: patterns over the text find that out in less than a
millisecond for 10 KB. The others are divided into tokens (`lexing`), which rules read with a `cursor`. They return
`edits`, which also lead from offsets in Spark's messages back to what was written, or a value of `statements`.
`scripts` divides a text into statements.

This folder may import `paimon_core` and sqlglot, and nothing of Spark.
"""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.edits import Rewriting
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Tokens, tokenize
from paimon_sql.preprocess.rules import EDITS, VALUES
from paimon_sql.preprocess.rules.column_types import DECLARED_TYPES_PROPERTY
from paimon_sql.preprocess.rules.python_functions import python_function
from paimon_sql.preprocess.rules.rule import first_word, without_comments
from paimon_sql.preprocess.rules.table_like import EXCLUDED_PROPERTY, read_create_like
from paimon_sql.preprocess.scripts import ScriptStatement, is_terminated, split_statements
from paimon_sql.preprocess.statements import CatalogStatement, CreateLike, CreatePythonFunction, PaimonStatement
from paimon_sql.preprocess.syntax import NEWEST, Syntax

__all__ = [
    "DECLARED_TYPES_PROPERTY",
    "EXCLUDED_PROPERTY",
    "CatalogStatement",
    "CreateLike",
    "CreatePythonFunction",
    "PaimonStatement",
    "PreprocessError",
    "Rewriting",
    "ScriptStatement",
    "Syntax",
    "create_like",
    "is_terminated",
    "preprocess",
    "rewrite",
    "split_statements",
]


def preprocess(text: str, syntax: Syntax = NEWEST) -> Rewriting | PaimonStatement:
    """What becomes of a statement: a value where it is one that only Paimon has, else a text that Spark parses;
    `syntax` says what that takes.

    Raises PreprocessError where a statement in Flink's style contradicts itself, or a value is not whole. A text that
    cannot be tokenized stays as it is: Spark reports what is wrong with it.
    """
    lower = without_comments(text.lower())
    first = first_word(lower)
    if first == "create" and "python" in lower and (function := python_function(text)) is not None:
        return PaimonStatement(function)
    values = [rule for rule in VALUES if rule.may_apply(first, lower)]
    spellings = [rule for rule in EDITS if rule.may_apply(first, lower)]
    if not (values or spellings) or (tokens := tokenize(text)) is None:
        return Rewriting(text)
    for rule in values:
        cursor = Cursor(tokens)
        value = rule.read(cursor)
        if value is not None and cursor.at_last():
            return PaimonStatement(value, _explain(tokens))
    return Rewriting(text, [edit for rule in spellings for edit in rule.read(Cursor(tokens, syntax=syntax))])


def create_like(text: str) -> CreateLike | None:
    """`CREATE TABLE … LIKE` in Spark's spelling as a value, for a Spark that has it in its own catalog alone."""
    if "like" not in (lower := text.lower()) or first_word(lower) != "create" or (tokens := tokenize(text)) is None:
        return None
    return read_create_like(Cursor(tokens))


def rewrite(text: str) -> str:
    """The statement as Spark parses it, see `preprocess`; one that becomes a value as it is."""
    found = preprocess(text)
    return found.text if isinstance(found, Rewriting) else text


def _explain(tokens: Tokens) -> str:
    """The EXPLAIN that a statement begins with, and its mode."""
    return " ".join(tokens.symbols[: Cursor(tokens).index])
