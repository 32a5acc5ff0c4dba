"""What the preprocessor makes of a statement, put to Spark's own parser."""

from __future__ import annotations

import re
from typing import Any

import pytest

from paimon_sql.preprocess import rewrite
from tests.sql.fixtures import plain_statements, rewrite_pairs
from tests.support.spark_versions import is_before, since

pytestmark = pytest.mark.spark

PAIRS = [written for written, _ in rewrite_pairs()]
# Spark parses these, but knows no such keys, functions and paths, and no columns in UNNEST
PARSED = re.compile(
    r"\bPRIMARY\s+KEY\b|\b(?:paimon_incremental_\w+|\w+_search|UNNEST|IDENTIFIER)\(|\bpaimon`?\s*\.\s*`[^`]*/",
    re.IGNORECASE,
)
# what statements have in them that a grammar reads from a version on
NOT_BEFORE = {
    re.compile(r"\bCHECK \("): (4, 1),
    re.compile(r"'it''s'"): (4, 1),
    re.compile(r"json:a"): (4, 1),
    re.compile(r"WITHOUT TIME ZONE"): (4, 1),
    re.compile(r"a INT PRIMARY KEY, b INT UNIQUE|PRIMARY KEY \(a\)\) USING delta"): (4, 1),
    re.compile(r"^BEGIN\n  DECLARE"): (4, 1),
    re.compile(r"WITH METRICS"): (4, 2),
    re.compile(r"LIKE `?c`?\.`?db`?\."): (4, 2),
    re.compile(r"TIMESTAMP\(6\)"): (4, 3),
    re.compile(r"^UPDATE t WITH \("): (4, 3),
    re.compile(r"WITH ORDINALITY AS u \(x, o\)"): (4, 3),
}


def marked(texts: list[str], becomes: Any = str) -> list[Any]:
    """The statements, those that this Spark cannot read, by what they become, with a mark."""
    later = {pattern: version for pattern, version in NOT_BEFORE.items() if is_before(*version)}
    needed = {t: max((v for p, v in later.items() if p.search(becomes(t))), default=(4, 0)) for t in texts}
    return [pytest.param(t, marks=since(*v, "a later grammar")) for t, v in needed.items()]


@pytest.fixture(scope="module")
def parse(root_session):
    """Spark's plan of a text as a string; its exception where it has none."""
    parser = root_session._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    return lambda text: parser.parsePlan(text).toString()


@pytest.mark.parametrize("text", marked(PAIRS, rewrite))
def test_spark_parses_what_is_rewritten(parse, text):
    assert parse(rewrite(text))


@pytest.mark.parametrize("text", [text for text in PAIRS if not PARSED.search(text)])
def test_spark_alone_refuses_what_is_rewritten(parse, text):
    with pytest.raises(Exception, match="SQLSTATE|ParseException|^\\nREFRESH statements cannot"):
        parse(text)


@pytest.mark.parametrize("text", marked(plain_statements()))
def test_spark_alone_parses_what_is_not_rewritten(parse, text):
    assert parse(text)


def test_the_key_ends_up_as_a_property_and_the_options_beside_it(parse):
    plan = parse(rewrite("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b) NOT ENFORCED) WITH ('bucket' = '4')"))
    assert plan == parse("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key'='a,b', 'bucket'='4')")


def test_options_and_system_tables_give_the_plan_of_sparks_spelling(parse):
    written = "SELECT * FROM db.t$files /*+ OPTIONS('k'='v') */ AS f"
    assert parse(rewrite(written)) == parse("SELECT * FROM db.`t$files` WITH ('k'='v') AS f")
