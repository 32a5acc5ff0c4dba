"""`CREATE CATALOG c WITH ('warehouse' = '…')` and `DROP CATALOG c`, which have no counterpart in Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.lexing import tokenize
from paimon_sql.preprocess.tokens import Cursor

_FIRST_WORDS = re.compile(r"(?>(?:\s+|--[^\n]*|/\*.*?\*/)*)(?:CREATE|DROP)\s+CATALOG\b", re.I | re.S)


@dataclass(frozen=True, slots=True)
class CatalogStatement:
    """What becomes of a catalog: it is made with `options`, or dropped where these are None; `lenient` says whether
    it may be there already, or not at all."""

    name: str
    options: Mapping[str, str] | None
    lenient: bool


def catalog_statement(text: str) -> CatalogStatement | None:
    """The statement in a text; None for all others. Raises `PreprocessError` where it is not whole."""
    if _FIRST_WORDS.match(text) is None or (tokens := tokenize(text)) is None:
        return None
    cursor = Cursor(tokens)
    creates = cursor.take("CREATE")
    if not creates:
        cursor.take("DROP")
    cursor.take("CATALOG")
    lenient = cursor.take("IF", "NOT", "EXISTS") if creates else cursor.take("IF", "EXISTS")
    if not cursor.at_name():
        raise PreprocessError.at(cursor.peek() or cursor.last, "A catalog needs a name: CREATE CATALOG name WITH (…)")
    name = str(cursor.next().text)
    options = _options(cursor) if creates else None
    if not cursor.at_end():
        raise PreprocessError.at(cursor.next(), f"{cursor.last.text!r} is no part of the statement on catalog {name}")
    return CatalogStatement(name, options, lenient)


def _options(cursor: Cursor) -> dict[str, str]:
    options: dict[str, str] = {}
    if cursor.take("COMMENT"):
        cursor.next()
    if not cursor.take("WITH", "("):
        raise PreprocessError.at(cursor.last, "CREATE CATALOG needs WITH ('warehouse' = '…')")
    while not cursor.take(")"):
        if not (cursor.at_string() and cursor.symbol(1) == "=" and cursor.at_string(2)):
            raise PreprocessError.at(cursor.peek() or cursor.last, "CREATE CATALOG needs options as 'key' = 'value'")
        key, _, value = cursor.next(), cursor.next(), cursor.next()
        options[key.text] = value.text
        if not cursor.take(",") and cursor.symbol() != ")":
            raise PreprocessError.at(cursor.last, "CREATE CATALOG needs commas between its options")
    return options
