from __future__ import annotations

import pytest

from paimon_sql.preprocess import PreprocessError
from paimon_sql.preprocess.rules.catalogs import CatalogStatement, catalog_statement


def test_what_is_stated() -> None:
    created = catalog_statement("-- mine\nCREATE CATALOG `my c` WITH ('type'='paimon', 'warehouse' = '/w');")
    assert created == CatalogStatement("my c", {"type": "paimon", "warehouse": "/w"}, False)
    assert catalog_statement("create catalog if not exists c COMMENT 'x' with ('a'='b')") == CatalogStatement(
        "c", {"a": "b"}, True
    )
    assert catalog_statement("DROP CATALOG IF EXISTS c") == CatalogStatement("c", None, True)
    for text in ("CREATE TABLE catalog (a INT)", "USE CATALOG c", "SELECT 'CREATE CATALOG c'", "DROP TABLE catalog"):
        assert catalog_statement(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE CATALOG", "needs a name"),
        ("CREATE CATALOG c", "needs WITH"),
        ("CREATE CATALOG c WITH ('a')", "'key' = 'value'"),
        ("CREATE CATALOG c WITH ('a'='b' 'c'='d')", "commas"),
        ("CREATE CATALOG c WITH ('a'='b'", "commas"),
        ("DROP CATALOG c CASCADE", "'CASCADE' is no part"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(PreprocessError, match=message):
        catalog_statement(text)
