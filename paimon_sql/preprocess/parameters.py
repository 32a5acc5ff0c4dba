"""Parameters of statements, `:name` and `?`, in statements that Spark cannot parse.

Spark replaces parameters by their values before it parses a statement, but only in statements of its own grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from paimon_sql.preprocess.edits import Edit, Rewriting
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import Tokens, tokenize, without_dollar_strings
from paimon_sql.preprocess.statements import PaimonStatement, Script

Preprocess = Callable[[str], "Rewriting | PaimonStatement | Script"]
_POSITIONAL, _NAMED, _BEFORE = "?", ":", frozenset({":", ")", "]", "`", "'"})
_TRIED = ("1", "'a'")  # values of the kinds that a statement of Paimon may have in the place of a parameter


def markers(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the parameters of a statement: of the first character, and after the last one."""
    if _POSITIONAL not in text and _NAMED not in text:
        return []
    tokens = tokenize(without_dollar_strings(text))
    if tokens is None:
        return []
    found = [tokens.span(index) for index in tokens.indexes(_POSITIONAL)]
    found += [tokens.span(index, 2) for index in tokens.indexes(_NAMED) if _is_named(tokens, index)]
    return sorted(found)


def _is_named(tokens: Tokens, index: int) -> bool:
    """Return whether a colon begins a parameter: it may also be a part of `::`, or of a path in a VARIANT."""
    if index + 1 == len(tokens) or not tokens.is_name(index + 1) or tokens.start(index + 1) != tokens.end(index):
        return False
    if index == 0 or tokens.end(index - 1) != tokens.start(index):
        return True
    return tokens.symbols[index - 1] not in _BEFORE and not tokens.is_name(index - 1)


def with_values(text: str, found: Sequence[tuple[int, int]], values: Sequence[str]) -> str:
    """Return a statement with values in place of its parameters."""
    return Rewriting(text, [Edit(*place, value) for place, value in zip(found, values, strict=True)]).text


def needs_values(text: str, found: Sequence[tuple[int, int]], preprocess: Preprocess) -> bool:
    """Return whether the parameters of a statement must get their values before it is parsed. This is so for a
    statement that only Paimon has, and for a script if more such statements are found once the parameters have values.
    `preprocess` may raise `PreprocessError`.
    """
    try:
        plain = preprocess(text)
    except PreprocessError:
        return True
    least = _own(plain)
    if isinstance(plain, PaimonStatement):
        return True
    for value in _TRIED:
        with suppress(PreprocessError):
            if _own(preprocess(with_values(text, found, [value] * len(found)))) > least:
                return True
    return False


def _own(found: Rewriting | PaimonStatement | Script) -> int:
    """Return the number of statements that only Paimon has."""
    if isinstance(found, Script):
        return len(found.statements)
    return int(isinstance(found, PaimonStatement))
