"""What a statement creates or changes, and statements on tables of other catalogs, which stay as they are."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import Rewriting, Script, preprocess
from paimon_sql.preprocess.scripts import target_of

ON = {
    "ALTER TABLE {} CREATE TAG a",
    "ALTER TABLE {} CREATE OR REPLACE TAG a AS OF VERSION 1",
    "ALTER TABLE {} DELETE TAG a",
    "ALTER TABLE {} RENAME TAG a TO b",
    "ALTER TABLE {} MODIFY a BIGINT",
    "ALTER TABLE {} ADD (a TIMESTAMP(3))",
    "ALTER TABLE {} SET ('a' = 'b')",
    "CREATE TABLE {} (a INT PRIMARY KEY)",
    "CREATE OR REPLACE TABLE {} (a INT, PRIMARY KEY (a))",
    "CREATE TABLE IF NOT EXISTS {} (a INT) WITH ('a' = 'b')",
    "REPLACE TABLE {} (a INT, PRIMARY KEY (a))",
    "COPY INTO {} FROM '/data' FILE_FORMAT = (TYPE = CSV)",
    "CREATE MATERIALIZED TABLE {} FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS a",
    "ALTER MATERIALIZED TABLE {} SUSPEND",
    "REFRESH MATERIALIZED TABLE {}",
    "DROP MATERIALIZED TABLE IF EXISTS {}",
    "CREATE FUNCTION {}(a INT) RETURNS INT LANGUAGE PYTHON AS $$ return a $$",
}


@pytest.mark.parametrize("statement", sorted(ON))
def test_another_catalogs_stays_as_it_is(statement: str) -> None:
    theirs, ours = statement.format("ice.`a b`.t"), statement.format("paimon.d.t")
    assert target_of(f"-- x\nEXPLAIN {theirs}") == ("ice", "a b", "t")

    def is_elsewhere(name: tuple[str, ...]) -> bool:
        return name[0] == "ice"

    assert preprocess(theirs, is_elsewhere=is_elsewhere) == Rewriting(theirs, is_elsewhere=True)
    assert preprocess(ours, is_elsewhere=is_elsewhere) != Rewriting(ours)
    if "$$" not in statement:
        script = f"BEGIN {theirs}; END"
        assert preprocess(script, is_elsewhere=is_elsewhere) == Script(Rewriting(script, []))


def test_what_names_nothing() -> None:
    for text in ("CREATE CATALOG c", "SELECT 1", "", "ALTER TABLE IDENTIFIER('t') SET ('a' = 'b')", "CREATE TABLE 'x"):
        assert target_of(text) in ((), ("CATALOG",), ("SELECT",))
