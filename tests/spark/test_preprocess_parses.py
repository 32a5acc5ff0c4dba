"""What the preprocessor makes of a statement, put to Spark's own parser."""

from __future__ import annotations

import re

import pytest

from paimon_sql.preprocess import rewrite
from tests.sql.fixtures import plain_statements, rewrite_pairs

pytestmark = pytest.mark.spark

PAIRS = [written for written, _ in rewrite_pairs()]
# Spark parses these, but knows no such keys and functions, and no columns in UNNEST
PARSED = re.compile(r"\bPRIMARY\s+KEY\b|\b(?:paimon_incremental_\w+|UNNEST)\(", re.IGNORECASE)


@pytest.fixture(scope="module")
def parse(root_session):
    """Spark's plan of a text as a string; its exception where it has none."""
    parser = root_session._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    return lambda text: parser.parsePlan(text).toString()


@pytest.mark.parametrize("text", PAIRS)
def test_spark_parses_what_is_rewritten(parse, text):
    assert parse(rewrite(text))


@pytest.mark.parametrize("text", [text for text in PAIRS if not PARSED.search(text)])
def test_spark_alone_refuses_what_is_rewritten(parse, text):
    with pytest.raises(Exception, match="SQLSTATE|ParseException"):
        parse(text)


@pytest.mark.parametrize("text", plain_statements())
def test_spark_alone_parses_what_is_not_rewritten(parse, text):
    assert parse(text)


def test_the_key_ends_up_as_a_property_and_the_options_beside_it(parse):
    plan = parse(rewrite("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b) NOT ENFORCED) WITH ('bucket' = '4')"))
    assert plan == parse("CREATE TABLE t (a INT, b INT) TBLPROPERTIES ('primary-key'='a,b', 'bucket'='4')")


def test_options_and_system_tables_give_the_plan_of_sparks_spelling(parse):
    written = "SELECT * FROM db.t$files /*+ OPTIONS('k'='v') */ AS f"
    assert parse(rewrite(written)) == parse("SELECT * FROM db.`t$files` WITH ('k'='v') AS f")
