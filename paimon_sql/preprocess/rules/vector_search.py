"""`vector_search('t', 'v', array(1.0, 2.0), 5)`, `full_text_search` and `hybrid_search` to `t WITH
('search.arguments'='{…}')`, the option of a read.

`vector_search('t', 'v', q.v, 5)`, with the vector of each row, becomes `inline(paimon_nearest_rows('t', 'v', q.v,
'{…}'))` in a LATERAL join: a call of a function that the session has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from paimon_sql.preprocess.cursor import LIST_ENDS, Cursor
from paimon_sql.preprocess.edits import Edit
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import QUOTED_NAME, STRING, Tokens
from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.rules.dynamic_options import take_version
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.rules.table_functions import check_unqualified, with_option

SEARCH_OPTION = "search.arguments"
NEAREST_ROWS = "paimon_nearest_rows"
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
_NO_CONDITION = (
    "a search for the vector of each row cannot have a condition: write WHERE after the join, which then filters the "
    "rows that were found"
)
_NO_VERSION = (
    "a search for the vector of each row cannot have a version: it reads the latest one. Name a branch, as in "
    "vector_search('t$branch_b', …), or search for one vector"
)
_IN_LATERAL = ". In a LATERAL join, the vector of vector_search may be a column of the other table"
_ENDS = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "LATERAL", "JOIN"})
_MOST_TOKENS = 3  # a sign, a dot, and digits
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[fFdDlL]|[bB][dD])?")


def vector_search(cursor: Cursor) -> list[Edit]:
    """Rewrite each call in FROM. Raises PreprocessError for arguments that are not literals."""
    tokens = cursor.tokens
    return [edit for index in _calls(tokens) for edit in _call(Cursor(tokens, index + 2), index)]


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


def _call(cursor: Cursor, index: int) -> list[Edit]:
    name = cursor.tokens.symbols[index]
    table = cursor.take_text()
    start = cursor.index
    if name == "VECTOR_SEARCH" and table is not None and (edit := _of_each_row(cursor, index, table)) is not None:
        return [edit]
    cursor.index = start
    read = {"VECTOR_SEARCH": _nearest, "FULL_TEXT_SEARCH": _matching, "HYBRID_SEARCH": _combined}[name]
    arguments = read(cursor) if table is not None and cursor.take(",") else None
    if table is None or arguments is None or not cursor.take(")"):
        raise PreprocessError.at(cursor.peek() or cursor.last, f"{_USAGES[name]}, all literals{_IN_LATERAL}")
    limit = arguments["k"]
    if not limit.is_integer():
        raise PreprocessError.at(cursor.last, f"{_USAGES[name]}; {limit} is not a whole number of rows")
    given, end = json.dumps({**arguments, "k": int(limit)}), cursor.last
    named, options = with_option(cursor.tokens, index, table, SEARCH_OPTION, given)
    if take_version(cursor):  # Spark expects options behind the version
        return [Edit.replace(cursor.tokens[index], end, named), Edit.after(cursor.last, options)]
    return [Edit.replace(cursor.tokens[index], end, f"{named}{options}")]


def _of_each_row(cursor: Cursor, index: int, table: str) -> Edit | None:
    """Rewrite a call in LATERAL with any expression for the vector. Return None for other calls."""
    column = cursor.take_text() if cursor.take(",") else None
    if column is None or not cursor.take(","):
        return None
    first = cursor.index
    if _vector(cursor) is not None and cursor.symbol() in LIST_ENDS:
        return None
    cursor.index = first
    while not cursor.at_end() and cursor.symbol() not in LIST_ENDS:
        cursor.skip()
    last = cursor.index - 1
    if last < first or not cursor.take(","):
        return None
    limit = _number(cursor)
    options = _options(cursor) if limit is not None and cursor.take(",") else {}
    if limit is None or not limit.is_integer() or options is None or not cursor.take(")"):
        return None
    end, tokens = cursor.last, cursor.tokens
    if not _is_lateral(cursor, tokens, index):
        return None
    if take_version(Cursor(tokens, tokens.closings[index + 1] + 1)):
        raise PreprocessError.at(end, _NO_VERSION)
    vector = end.source[tokens.start(first) : tokens.end(last)]
    more = json.dumps({"k": int(limit), "options": options})
    given = f"{quoted_text(table)}, {quoted_text(column)}, {vector}, {quoted_text(more)}"
    return Edit.replace(tokens[index], end, f"inline({NEAREST_ROWS}({given}))")


def _is_lateral(cursor: Cursor, tokens: Tokens, index: int) -> bool:
    """Return whether the call at a token belongs to a LATERAL, directly or within a query in parentheses. Raises
    `PreprocessError` for a WHERE in the query, and for an outer join: Spark would leave out rows of the other table.
    """
    symbols = tokens.symbols
    opened = next((o for o, c in tokens.closings.items() if o < index < c and symbols[o - 1] == "LATERAL"), None)
    lateral = index - 1 if opened is None else opened - 1
    if symbols[lateral] != "LATERAL":
        return False
    joined = symbols[max(lateral - 3, 0) : lateral]
    if joined[-1:] == ["JOIN"] and {"LEFT", "OUTER"} & {*joined}:
        raise PreprocessError.at(
            tokens[lateral], "a search for the vector of each row cannot be in an outer join: write JOIN"
        )
    while opened is not None and cursor.index < tokens.closings[opened] and cursor.symbol() not in _ENDS:
        if cursor.symbol() == "WHERE":
            raise PreprocessError.at(cursor.peek() or cursor.last, _NO_CONDITION)
        cursor.skip()
    return True


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
