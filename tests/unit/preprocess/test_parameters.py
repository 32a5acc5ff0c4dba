"""Parameters of statements that only Paimon has."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import preprocess
from paimon_sql.preprocess.parameters import markers, needs_values, with_values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT 1", []),
        ("SELECT :a, ? FROM t", [":a", "?"]),
        ("SELECT ':a', '?', `:a`, \":a\", v::int, v:a, v[0]:a, f(x):a -- :a ?", []),
        ("SELECT v::int, :a", [":a"]),
        ("SELECT 1 + :a+:b", [":a", ":b"]),
        ("SELECT (:a)", [":a"]),
        ("SELECT x FROM t WHERE a > : b", []),
        ("SELECT /* :a */ :`a b`", [":`a b`"]),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x[:n] $$", []),
        ("SELECT 'not closed :a", []),
        (":", []),
    ],
)
def test_markers(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in markers(text)] == found


def test_values_take_their_places() -> None:
    text = "COPY INTO t FROM :p FILE_FORMAT = (TYPE = ?) PATTERN = :p"
    assert with_values(text, markers(text), ["'/x'", "'CSV'", "'a:p'"]) == (
        "COPY INTO t FROM '/x' FILE_FORMAT = (TYPE = 'CSV') PATTERN = 'a:p'"
    )


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("ALTER TABLE t CREATE TAG g AS OF VERSION :v", True),
        ("EXPLAIN ALTER TABLE t CREATE TAG g AS OF VERSION ?", True),
        ("COPY INTO t FROM :p FILE_FORMAT = (TYPE = CSV)", True),
        ("COPY INTO :p FROM t FILE_FORMAT = (TYPE = CSV)", True),
        ("COPY INTO t FROM '/x' FILE_FORMAT = (TYPE = CSV, SEP = ?)", True),
        ("SELECT * FROM paimon_incremental_query(:t, ?, ?)", True),
        ("SHOW TAGS IDENTIFIER(:t)", False),
        ("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT :a AS a", True),
        ("BEGIN ALTER TABLE t CREATE TAG g AS OF VERSION :v; END", True),
        ("BEGIN SELECT :v; END", False),
        ("SELECT :a", False),
        ("INSERT INTO t VALUES (?)", False),
        ("CALL sys.create_tag(table => :t, tag => :g)", False),
        ("DELETE FROM t$branch_b WHERE id = :x", False),
    ],
)
def test_who_needs_values(text: str, needed: bool) -> None:
    assert needs_values(text, markers(text), preprocess) is needed
