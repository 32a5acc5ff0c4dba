"""Statements of Delta Lake and Iceberg: each is recognised in its spellings, with the names of the statement in the
advice, and nothing else is."""

from __future__ import annotations

import re

import pytest

from paimon_sql.preprocess.counterparts import counterpart, of_iceberg, of_paimon, of_transaction
from paimon_sql.procedures import PROCEDURES

# statement, and a part of the advice for table `shop.sales`
SYNTAX_ERRORS = [
    (
        "VACUUM sales",
        "CALL sys.expire_snapshots(table => 'shop.sales', older_than => current_timestamp() - INTERVAL 168 ",
    ),
    ("VACUUM shop.sales FULL RETAIN 5 HOURS", "older_than => current_timestamp() - INTERVAL 5 HOURS)"),
    ("/* old */ vacuum sales DRY RUN", "dry_run => true"),
    ("OPTIMIZE sales", "CALL sys.compact(table => 'shop.sales')"),
    (
        "OPTIMIZE sales WHERE d = 'a' ZORDER BY (x, `y`)",
        r"where => 'd = \'a\'', order_strategy => 'zorder', order_by => 'x,y'",
    ),
    ("REORG TABLE sales APPLY (PURGE)", "compact_strategy => 'full'"),
    ("RESTORE TABLE sales TO VERSION AS OF 3", "CALL sys.rollback(table => 'shop.sales', version => '3')"),
    ("RESTORE sales TO TIMESTAMP AS OF '2026-01-01'", "timestamp => unix_millis(TIMESTAMP '2026-01-01'))"),
    ("GENERATE symlink_format_manifest FOR TABLE sales", "'metadata.iceberg.storage' = 'table-location'"),
    ("FSCK REPAIR TABLE sales DRY RUN", "CALL sys.remove_unexisting_files('shop.sales', dry_run => true)"),
    ("CONVERT TO DELTA sales", "CALL sys.migrate_table(source_type => 'hive', table => 'shop.sales')"),
    ("UNDROP TABLE sales", "DROP TABLE deletes its files"),
    ("ANALYZE TABLE sales COMPUTE DELTA STATISTICS", "ANALYZE TABLE shop.sales COMPUTE STATISTICS FOR ALL COLUMNS"),
    (
        "CREATE OR REPLACE TABLE sales DEEP CLONE shop.old",
        "sys.copy(source_table => 'shop.old', target_table => 'shop.sales')",
    ),
    ("CREATE TABLE IF NOT EXISTS sales SHALLOW CLONE old VERSION AS OF 3", "sys.copy(source_table => 'old'"),
    ("ALTER TABLE sales DROP FEATURE deletionVectors TRUNCATE HISTORY", "features are its options"),
    ("ALTER TABLE sales ADD PARTITION FIELD days(ts)", "PARTITIONED BY (…) AS SELECT * FROM shop.sales"),
    ("ALTER TABLE sales REPLACE PARTITION FIELD a WITH b", "its partition columns are fixed"),
    ("ALTER TABLE sales WRITE LOCALLY ORDERED BY a DESC NULLS LAST, `b`", "('clustering.columns' = 'a,b')"),
    ("ALTER TABLE sales WRITE UNORDERED", "UNSET TBLPROPERTIES ('clustering.columns')"),
    ("ALTER TABLE sales WRITE DISTRIBUTED BY PARTITION", "writes are distributed anyway"),
    ("ALTER TABLE sales SET IDENTIFIER FIELDS id", "TBLPROPERTIES ('primary-key' = '…') AS SELECT * FROM shop.sales"),
    (
        "ALTER TABLE sales CREATE BRANCH b",
        "CALL sys.create_tag(table => 'shop.sales', tag => 'b'), then CALL sys.create_branch",
    ),
    ("ALTER TABLE sales CREATE BRANCH IF NOT EXISTS b AS OF VERSION 7 RETAIN 1 DAYS", "tag => 'b', snapshot => 7)"),
    (
        "ALTER TABLE sales CREATE OR REPLACE BRANCH `b`",
        "CALL sys.delete_branch(table => 'shop.sales', branch => 'b'), then ",
    ),
    ("ALTER TABLE sales DROP BRANCH IF EXISTS b", "CALL sys.delete_branch(table => 'shop.sales', branch => 'b')"),
    ("ALTER TABLE sales DROP TAG IF EXISTS x", "ALTER TABLE shop.sales DELETE TAG IF EXISTS x"),
    ("SELECT * FROM sales@v3 WHERE a > 1", "write shop.sales VERSION AS OF 3"),
    ("WITH s AS (SELECT 1) SELECT * FROM shop.`sales`@20260101000000000", "write shop.sales TIMESTAMP AS OF '…'"),
]
PARSED = [
    ("DESCRIBE HISTORY sales", "SELECT * FROM shop.sales$snapshots ORDER BY snapshot_id DESC"),
    ("desc detail sales", "DESCRIBE EXTENDED shop.sales"),
    ("CALL system.rewrite_data_files('shop.sales')", "CALL sys.compact(table => 'shop.sales')"),
    (
        "CALL system.expire_snapshots(older_than => 'x', table => 'shop.sales')",
        "sys.expire_snapshots(table => 'shop.sales'",
    ),
    ("CALL SYSTEM.Create_Changelog_View(table => 'shop.sales')", "paimon_incremental_query('shop.sales', 1, 2)"),
    ("SELECT * FROM table_changes('shop.sales', 2, 5) c", "read paimon_incremental_query('shop.sales', 1, 5), which"),
    ("WITH c AS (SELECT * FROM Table_Changes('sales', ts)) SELECT 1", "paimon_incremental_query('shop.sales', …, …)"),
]


@pytest.mark.parametrize(("text", "part"), SYNTAX_ERRORS)
def test_a_statement_that_spark_refuses(text: str, part: str) -> None:
    found = counterpart(text)
    assert found is not None and found.table[-1] == "sales" and found.parsed_as is None
    assert part in found.advice(None, "shop", "sales")
    assert counterpart(text, is_parsed=True) is None


@pytest.mark.parametrize(("text", "part"), PARSED)
def test_a_statement_that_spark_takes_for_another(text: str, part: str) -> None:
    found = counterpart(text, is_parsed=True)
    assert found is not None and found.table[-1] == "sales"
    assert part in found.advice(None, "shop", "sales")
    assert counterpart(text) is None


def test_names_are_quoted_and_lead_to_their_catalog() -> None:
    found = counterpart("OPTIMIZE lake.`a b`.`it's`")
    assert found is not None and found.table == ("lake", "a b", "it's")
    assert r"CALL lake.sys.compact(table => '`a b`.`it\'s`')" in found.advice("lake", "a b", "it's")
    found = counterpart("DESCRIBE HISTORY `a b`", is_parsed=True)
    assert found is not None
    assert "FROM lake.shop.`a b$snapshots`" in found.advice("lake", "shop", "a b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OPTIMIZE",
        "VACUUM '/a/path'",
        "CREATE TABLE clone (a INT)",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE t ADD COLUMNS (branch INT)",
        "ALTER TABLE t CREATE TAG x",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "CALL sys.expire_snapshots('t')",
        "CALL system.mine('t')",
        "DESCRIBE history",
        "DESCRIBE TABLE t",
        "SELECT 'VACUUM t'",
        "SELECT table_changes, 1 FROM t",
        "SELECT 'table_changes' FROM t",
        "SELECT a@v1 FROM t",
        "ALTER TABLE",
        "CALL system.expire_snapshots",
        "OPTIMIZE 't",
    ],
)
def test_other_statements_are_left_alone(text: str) -> None:
    assert counterpart(text) is None and counterpart(text, is_parsed=True) is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("history", "a metadata table of Iceberg. For a Paimon table, read {table}$snapshots"),
        ("CHANGES", "read {table}$audit_log"),
        ("tag_Last", "a version as Iceberg names it. For a Paimon table, write {table} VERSION AS OF 'Last'"),
        ("snapshot_id_12", "VERSION AS OF 12"),
        ("at_timestamp_1700000000000", "TIMESTAMP AS OF timestamp_millis(1700000000000)"),
        ("tag_", None),
        ("snapshot_id_x", None),
        ("orders", None),
    ],
)
def test_the_last_parts_of_icebergs_names(name: str, part: str | None) -> None:
    found = of_iceberg(name)
    assert found is None if part is None else part in str(found)


@pytest.mark.parametrize(("text", "_"), [*SYNTAX_ERRORS, *PARSED])
def test_advice_names_procedures_and_parameters_that_exist(text: str, _: str) -> None:
    found = counterpart(text) or counterpart(text, is_parsed=True)
    assert found is not None
    for name, arguments in re.findall(r"CALL sys\.(\w+)\((.*?)\)", found.advice(None, "shop", "sales")):
        given = re.findall(r"(\w+) =>", arguments)
        assert set(given) <= {parameter.name for parameter in PROCEDURES[name].parameters}


@pytest.mark.parametrize("text", [text for text, _ in [*SYNTAX_ERRORS, *PARSED]])
def test_a_statement_that_is_cut_off_is_read_without_an_error(text: str) -> None:
    for end in range(len(text)):
        counterpart(text[:end])
        counterpart(text[:end], is_parsed=True)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("BEGIN", True),
        ("BEGIN TRANSACTION;", True),
        ("start transaction", True),
        ("COMMIT WORK", True),
        ("ROLLBACK;", True),
        ("END TRANSACTION", True),
        ("END", False),
        ("START", False),
        ("BEGIN SELECT 1; END", False),
        ("COMMIT x", False),
    ],
)
def test_statements_of_transactions(text: str, is_one: bool) -> None:
    assert (of_transaction(text) is not None) is is_one


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SHOW BRANCHES t", "write SELECT * FROM t$branches"),
        ("show snapshots in db.t;", "write SELECT * FROM db.t$snapshots"),
        ("SHOW TAGS", "write SHOW TAGS t"),
        ("SHOW TABLES nope nope", None),
        ("SHOW", None),
        ("BEGIN SELECT 1 END", "needs a ;"),
        ("BEGIN SELECT 1; SELECT 2 END;", "needs a ;"),
        ("BEGIN SELECT 1; END", None),
        ("BEGIN SELECT 1;", None),
        ("BEGIN", None),
        ("SELECT 1", None),
    ],
)
def test_texts_that_are_nearly_statements(text: str, advice: str | None) -> None:
    found = of_paimon(text)
    assert found is None if advice is None else advice in str(found)
