"""`CREATE CATALOG c WITH ('warehouse' = '…')` and `DROP CATALOG c`, which have no counterpart in Spark's SQL."""

from __future__ import annotations

from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.errors import PreprocessError
from paimon_sql.preprocess.rules.rule import Rule
from paimon_sql.preprocess.statements import CatalogStatement


def catalog_statement(cursor: Cursor) -> CatalogStatement | None:
    """Reads CREATE CATALOG or DROP CATALOG; None for other statements, and after EXPLAIN. Raises `PreprocessError`."""
    is_explained, creates = cursor.index > 0, cursor.take("CREATE", "CATALOG")
    if is_explained or not (creates or cursor.take("DROP", "CATALOG")):
        return None
    lenient = cursor.take("IF", "NOT", "EXISTS") if creates else cursor.take("IF", "EXISTS")
    if not cursor.at_name():
        raise PreprocessError.at(cursor.peek() or cursor.last, "A catalog needs a name: CREATE CATALOG name WITH (…)")
    name = cursor.next_text()
    options = ({} if lenient and cursor.at_end() else _options(cursor)) if creates else None
    if not cursor.at_end():
        raise PreprocessError.at(
            cursor.next(), f"{cursor.last.text!r} is not expected in a statement on catalog {name}"
        )
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


CATALOGS = Rule(catalog_statement, first=("create", "drop"), words=("catalog",))
