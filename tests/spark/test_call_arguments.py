"""Arguments of CALL: whatever Spark can evaluate without a row, by position and by name."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark

# texts that SQL makes, and what they are
TEXTS = {
    "date_format(now(), \"'d'\")": "d",
    "concat('a', upper(lower('B')))": "aB",
    "CAST(1 + 2 AS STRING)": "3",
    "IF(current_date() > DATE '2020-01-01', 'now', 'then')": "now",
    "coalesce(NULL, named)": "v",
    "current_catalog()": "paimon",
    ":marked": "m",
}
# moments before the first snapshot; many of them take Spark more than one pass to resolve
MOMENTS = [
    "current_timestamp() - INTERVAL 1 DAY",
    "now() - make_interval(0, 0, 0, 1)",
    "to_timestamp('2020-01-31 12:00:00')",
    "to_timestamp('31/01/2020', 'dd/MM/yyyy')",
    "timestampadd(DAY, -1, current_timestamp())",
    "date_trunc('DAY', current_timestamp() - INTERVAL '2' DAY)",
    "date_format(date_sub(current_date(), 1), 'yyyy-MM-dd')",
]


@pytest.fixture
def table(spark: Any) -> str:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("INSERT INTO t VALUES (2)")
    spark.sql("DECLARE OR REPLACE VARIABLE named STRING DEFAULT 'v'")
    return "t"


def test_texts_that_can_be_evaluated_are_arguments(spark: Any, table: str) -> None:
    for text in TEXTS:
        spark.sql(f"CALL sys.create_tag('t', concat({text}, '-place'), 3 - 2)", args={"marked": "m"})
        spark.sql(f"CALL sys.create_tag(tag => concat({text}, '-name'), table => 't')", args={"marked": "m"})
    found = {tuple(row) for row in spark.sql("SELECT tag_name, snapshot_id FROM t$tags").collect()}
    places, names = ({f"{value}-{how}" for value in TEXTS.values()} for how in ("place", "name"))
    assert found == {(name, 1) for name in places} | {(name, 2) for name in names}


def test_moments_that_can_be_evaluated_are_arguments(spark: Any, table: str) -> None:
    for moment in MOMENTS:
        by_place = spark.sql(f"CALL sys.expire_snapshots('t', 5, 1, {moment})").collect()
        by_name = spark.sql(
            f"CALL sys.expire_snapshots(older_than => {moment}, table => 't', retain_min => 1)"
        ).collect()
        assert by_place == by_name == [(0,)], moment
    assert spark.sql(
        "CALL sys.expire_snapshots('t', older_than => now() + INTERVAL 1 DAY, retain_min => 1)"
    ).collect() == [(1,)]


def test_what_spark_cannot_bind_is_said_in_its_words(spark: Any, table: str) -> None:
    for arguments in (
        "table => 't', nope => now() - INTERVAL 1 DAY",
        "now() - INTERVAL 1 DAY, table => 't'",
        "tag => 'a'",
    ):
        with pytest.raises(Exception, match=r"\[[A-Z_.]+\]") as caught:
            spark.sql(f"CALL sys.create_tag({arguments})")
        assert "requirement failed" not in str(caught.value)
