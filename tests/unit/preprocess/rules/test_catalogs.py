from __future__ import annotations

import pytest

from paimon_sql.preprocess import CatalogStatement, PaimonStatement, PreprocessError, preprocess


def test_what_is_said() -> None:
    created = preprocess("-- mine\nCREATE CATALOG `my c` WITH ('type'='paimon', 'warehouse' = '/w');")
    assert created == PaimonStatement(CatalogStatement("my c", {"type": "paimon", "warehouse": "/w"}, False))
    assert preprocess("create catalog if not exists c COMMENT 'x' with ('a'='b')") == PaimonStatement(
        CatalogStatement("c", {"a": "b"}, True)
    )
    assert preprocess("CREATE CATALOG IF NOT EXISTS c;") == PaimonStatement(CatalogStatement("c", {}, True))
    assert preprocess("DROP CATALOG IF EXISTS c") == PaimonStatement(CatalogStatement("c", None, True))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE catalog (a INT)",
        "USE CATALOG c",
        "SELECT 'CREATE CATALOG c'",
        "DROP TABLE catalog",
        "EXPLAIN DROP CATALOG c",
    ],
)
def test_others_are_none(text: str) -> None:
    assert not isinstance(preprocess(text), PaimonStatement)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE CATALOG", "needs a name"),
        ("CREATE CATALOG c", "needs WITH"),
        ("CREATE CATALOG c WITH ('a')", "'key' = 'value'"),
        ("CREATE CATALOG c WITH ('a'='b' 'c'='d')", "commas"),
        ("CREATE CATALOG c WITH ('a'='b'", "commas"),
        ("DROP CATALOG c CASCADE", "'CASCADE' is not expected"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(PreprocessError, match=message):
        preprocess(text)
