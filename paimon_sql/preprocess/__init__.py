"""SQL in the spellings of Paimon's and Flink's documentation, as text that Spark's parser takes.

Pure text to text: only what Spark cannot parse is edited, in place and by character offset; every other statement
comes back as the same string. The one exception: PRIMARY KEY constraints, which Spark parses, always become the table
property `primary-key`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Tokens, tokenize
from paimon_sql.preprocess.rewriting import Rewriting
from paimon_sql.preprocess.rules.alter_columns import alter_columns
from paimon_sql.preprocess.rules.catalogs import CatalogStatement, catalog_statement
from paimon_sql.preprocess.rules.column_changes import modified_columns
from paimon_sql.preprocess.rules.column_stretches import column_stretches
from paimon_sql.preprocess.rules.column_types import DECLARED_TYPES_PROPERTY, TypeRewrites
from paimon_sql.preprocess.rules.constructors import constructors
from paimon_sql.preprocess.rules.copy_into import copy_into
from paimon_sql.preprocess.rules.create_table import create_table
from paimon_sql.preprocess.rules.dollar_names import dollar_names
from paimon_sql.preprocess.rules.dynamic_options import dynamic_options
from paimon_sql.preprocess.rules.inserted_rows import without_rows
from paimon_sql.preprocess.rules.properties import alter_properties, database_properties
from paimon_sql.preprocess.rules.session import configuration, use_catalog
from paimon_sql.preprocess.rules.system_tables import system_tables
from paimon_sql.preprocess.rules.table_functions import table_functions
from paimon_sql.preprocess.rules.table_like import EXCLUDED_PROPERTY
from paimon_sql.preprocess.rules.tags import tag_statements
from paimon_sql.preprocess.rules.unnest import unnest
from paimon_sql.preprocess.scripts import ScriptStatement, is_terminated, split_statements
from paimon_sql.preprocess.tokens import Edit

__all__ = [
    "DECLARED_TYPES_PROPERTY",
    "EXCLUDED_PROPERTY",
    "CatalogStatement",
    "PreprocessError",
    "Rewriting",
    "ScriptStatement",
    "catalog_statement",
    "is_terminated",
    "rewrite",
    "rewriting",
    "split_statements",
]

# rules about the start of a statement, and those of what may stand anywhere in one, by the words that they look for
_STATEMENT_RULES = (modified_columns, alter_properties, database_properties, configuration, use_catalog, tag_statements)
_RULES_BY_WORDS = (
    (dynamic_options, ("/*+",)),
    (constructors, ("array", "map", "row", "cast")),
    (system_tables, ("$",)),
    (table_functions, ("paimon_incremental_",)),
    (unnest, ("unnest",)),
)

# Cheap searches that decide whether a text is worth tokenizing, most of them in its lower case.
_DOLLAR_NAME = re.compile(r"\w\$\w")
_HINT_OR_FUNCTION = re.compile(r"/\*\+\s*options\b|\b(?:paimon_incremental_\w+|unnest)\s*\(")
_OF_HINTS_AND_FUNCTIONS = ("/*+", "paimon_incremental_", "unnest")
_CONSTRUCTOR = re.compile(r"\b(?:(?:array|map)\s*\[|row\s*[(<]|(?:bytes|varbinary|multiset|varchar(?!\s*\())\b)")
_OF_CONSTRUCTORS = ("array", "map", "row", "bytes", "varbinary", "multiset", "varchar")
_FIRST_WORD = re.compile(
    r"(?>(?:\s+|--[^\n]*|/\*(?!\+).*?\*/)*)(?:explain\s+(?:\w+\s+)?)?(?:(create|replace)|alter|copy|set|reset|use|show(?=\s+tags))\b",
    re.DOTALL,
)
_CREATE_IN_FLINK_STYLE = re.compile(
    r"\b(?=[bdlmprtvw])(?:with|primary|bytes|row|multiset|varbinary|binary|varchar(?!\s*\()|timestamp(?:_ntz|_ltz)?(?=\s*\()"
    r"|double\s+precision|watermark|metadata|temporary|like(?=\s+[\w.`]+\s*\())\b|\)\s*like\s+[\w`]|[,(]\s*[\w`]+\s+as\b"
)


def rewrite(text: str) -> str:
    """The statement as Spark parses it. See `rewriting`."""
    return rewriting(text).text


def rewriting(text: str) -> Rewriting:
    """What becomes of a statement.

    Raises PreprocessError where a statement in Flink style contradicts itself. Text that cannot be tokenized is
    left as it is: Spark reports what is wrong with it.
    """
    if not _may_change(text):
        return Rewriting(text)
    if (names := dollar_names(text)) is not None:
        return Rewriting(text, names)
    quiet, rows = without_rows(text)
    columns = column_stretches(quiet)
    if (tokens := tokenize(columns.text)) is None:
        return Rewriting(text)
    return Rewriting(text, copy_into(text, tokens) or [*rows, *_edits(text.lower(), tokens, columns.types)])


def _edits(lower: str, tokens: Tokens, stretches: Mapping[int, TypeRewrites]) -> Iterator[Edit]:
    yield from create_table(tokens, stretches)
    yield from alter_columns(tokens, stretches)
    for rule in _STATEMENT_RULES:
        yield from rule(tokens)
    for rule, words in _RULES_BY_WORDS:
        if any(word in lower for word in words):
            yield from rule(tokens)


def _may_change(text: str) -> bool:
    if "$" in text and _DOLLAR_NAME.search(text):
        return True
    lower = text.lower()
    if any(word in lower for word in _OF_HINTS_AND_FUNCTIONS) and _HINT_OR_FUNCTION.search(lower):
        return True
    if any(word in lower for word in _OF_CONSTRUCTORS) and _CONSTRUCTOR.search(lower):
        return True
    first = _FIRST_WORD.match(lower)
    return first is not None and (first[1] is None or _CREATE_IN_FLINK_STYLE.search(lower) is not None)
