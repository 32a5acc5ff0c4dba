"""`vector_search('t', 'v', array(1.0, 2.0), 5)`, `full_text_search` and `hybrid_search` to `t WITH
('search.arguments'='{…}')`, the option of a read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from paimon_sql.preprocess.cursor import LIST_ENDS, Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import QUOTED_NAME, STRING, Tokens
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.rules.table_functions import check_unqualified, with_option

SEARCH_OPTION = "search.arguments"
_NAMES = ("VECTOR_SEARCH", "FULL_TEXT_SEARCH", "HYBRID_SEARCH")
_BEFORE = ("FROM", "JOIN", "LATERAL", "USING")
_OF_FROM = frozenset({*_BEFORE, "ON"})  # words before a list of tables
_CLAUSES = _OF_FROM | {"SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "VALUES", "SET", "WHEN", "WINDOW", ";"}
_USAGES = {
    "VECTOR_SEARCH": (
        "vector_search needs the name of a table, the name of a column, an array of numbers and a number of rows, and "
        "may have options"
    ),
    "FULL_TEXT_SEARCH": (
        "full_text_search needs the name of a table, the name of a column, a query and a number of rows"
    ),
    "HYBRID_SEARCH": (
        "hybrid_search needs the name of a table, an array of searches for vectors, an array of searches for texts and "
        "a number of rows, and may have a ranker; a search is a named_struct such as named_struct('field', 'v', "
        "'query_vector', array(1.0), 'limit', 50, 'weight', 2.0, 'options', map()), or of 'column', 'query', 'limit' "
        "and 'weight'"
    ),
}
_PER_ROW = "For a search for each row of another table, run one search per row, with a parameter such as :vector"
_MOST_TOKENS = 3  # a sign, a dot, and digits
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[fFdDlL]|[bB][dD])?")


def vector_search(cursor: Cursor) -> list[Edit]:
    """Rewrite each call in FROM. Raises PreprocessError for arguments that are not literals."""
    tokens = cursor.tokens
    return [_call(Cursor(tokens, index + 2), index) for index in _calls(tokens)]


def _calls(tokens: Tokens) -> Iterator[int]:
    """Yield the index of each call that stands for a table: behind FROM, or behind a comma in the list of FROM."""
    wanted = frozenset(tokens.indexes(*_NAMES))
    clauses = [""]  # the last word of a clause, for each open parenthesis
    for index, symbol in enumerate(tokens.symbols):
        before = tokens.symbols[index - 1] if index else ""
        if symbol in _CLAUSES:
            clauses[-1] = symbol
        elif symbol == "(":
            clauses.append("")
        elif symbol == ")" and len(clauses) > 1:
            clauses.pop()
        elif index not in wanted or tokens.symbols[index + 1 : index + 2] != ["("]:
            continue
        elif before == ".":
            check_unqualified(tokens, index)
        elif before in _BEFORE or (before == "," and clauses[-1] in _OF_FROM):
            yield index


def _call(cursor: Cursor, index: int) -> Edit:
    name = cursor.tokens.symbols[index]
    table = cursor.take_text()
    read = {"VECTOR_SEARCH": _nearest, "FULL_TEXT_SEARCH": _matching, "HYBRID_SEARCH": _combined}[name]
    arguments = read(cursor) if table is not None and cursor.take(",") else None
    if table is None or arguments is None or not cursor.take(")"):
        raise PreprocessError.at(cursor.peek() or cursor.last, f"{_USAGES[name]}, all literals. {_PER_ROW}")
    limit = arguments["k"]
    if not limit.is_integer():
        raise PreprocessError.at(cursor.last, f"{_USAGES[name]}; {limit} is not a whole number of rows")
    text = with_option(cursor.tokens, index, table, SEARCH_OPTION, json.dumps({**arguments, "k": int(limit)}))
    return Edit.replace(cursor.tokens[index], cursor.last, text)


def _nearest(cursor: Cursor) -> dict[str, Any] | None:
    """Read the arguments of vector_search after the table. Return None for others."""
    column = cursor.take_text()
    vector = _vector(cursor) if column is not None and cursor.take(",") else None
    limit = _number(cursor) if vector is not None and cursor.take(",") else None
    options = _options(cursor) if limit is not None and cursor.take(",") else {}
    found = {"column": column, "vector": vector, "k": limit, "options": options}
    return None if limit is None or options is None else found


def _matching(cursor: Cursor) -> dict[str, Any] | None:
    """Read the arguments of full_text_search after the table. Return None for others."""
    column = cursor.take_text()
    query = cursor.take_text() if column is not None and cursor.take(",") else None
    limit = _number(cursor) if query is not None and cursor.take(",") else None
    return None if limit is None else {"column": column, "query": query, "k": limit}


def _combined(cursor: Cursor) -> dict[str, Any] | None:
    """Read the arguments of hybrid_search after the table. Return None for others."""
    vectors = _routes(cursor)
    texts = _routes(cursor) if vectors is not None and cursor.take(",") else None
    limit = _number(cursor) if texts is not None and cursor.take(",") else None
    ranker = cursor.take_text() if limit is not None and cursor.take(",") else ""
    found = {"vectors": vectors, "texts": texts, "k": limit, "ranker": ranker}
    return None if limit is None or ranker is None else found


def _routes(cursor: Cursor) -> list[dict[str, Any]] | None:
    """Read an array of named structs. Return None for anything else."""
    if not cursor.take("ARRAY", "("):
        return None
    routes = []
    while cursor.take("NAMED_STRUCT", "("):
        members: dict[str, Any] = {}
        while (name := cursor.take_text()) is not None:
            if not cursor.take(","):
                return None
            members[name.lower()] = _member(cursor)
            if not cursor.take(","):
                break
        if not cursor.take(")") or None in members.values():
            return None
        routes.append(members)
        if not cursor.take(","):
            break
    return routes if cursor.take(")") else None


def _member(cursor: Cursor) -> Any:
    """Read the value of a search: an array of numbers, a map of texts, a number or a text; None for anything else."""
    if cursor.symbol() == "ARRAY":
        return _vector(cursor)
    if cursor.symbol() == "MAP":
        return _options(cursor)
    return cursor.take_text() if cursor.at_string() else _number(cursor)


def _vector(cursor: Cursor) -> list[float] | None:
    """Read `array(1.0, -2)`. Return None for an array with anything but numbers."""
    if not cursor.take("ARRAY", "("):
        return None
    numbers = []
    while (number := _number(cursor)) is not None:
        numbers.append(number)
        if not cursor.take(","):
            break
    return numbers if cursor.take(")") else None


def _number(cursor: Cursor) -> float | None:
    """Read a number with its sign and the letter of its type. A letter makes it a word for the tokenizer."""
    start = cursor.index
    while cursor.symbol() not in (*LIST_ENDS, STRING, QUOTED_NAME, "(") and cursor.index - start < _MOST_TOKENS:
        cursor.next()
    text = "".join(token.text for token in cursor.tokens[start : cursor.index])
    if _NUMBER.fullmatch(text):
        return float(text.rstrip("fFdDlLbB"))
    cursor.index = start
    return None


def _options(cursor: Cursor) -> dict[str, str] | None:
    """Read `map('a', 'b')` or `'a=b;c=d'`. Return None for anything else."""
    if (text := cursor.take_text()) is not None:
        pairs = [part.partition("=") for part in text.split(";") if part.strip()]
        return {k.strip(): v.strip() for k, _, v in pairs} if all(sign for _, sign, _ in pairs) else None
    if not cursor.take("MAP", "("):
        return None
    texts = []
    while (item := cursor.take_text()) is not None:
        texts.append(item)
        if not cursor.take(","):
            break
    return dict(zip(texts[::2], texts[1::2], strict=True)) if cursor.take(")") and len(texts) % 2 == 0 else None


VECTOR_SEARCH = Rule(vector_search, words=tuple(map(str.lower, _NAMES)))
