"""Each kind of statement on each kind of thing that its name may mean: it works, or fails with an error for users.

All run on a table with a primary key, and of every other thing some, each time others; with the variable
`PAIMON_SQL_EVERY_STATEMENT` set all run on all, which takes minutes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from tests.support.raw_errors import raw

pytestmark = pytest.mark.spark

# {t} is the thing's name; what it is not asks for columns k, v, p
STATEMENTS = [
    "SELECT * FROM {t}",
    "SELECT count(*), max(k) FROM {t} WHERE p = 1",
    "SELECT nope FROM {t}",
    "SELECT * FROM {t} WHERE k = array(1)",
    "SELECT * FROM {t} VERSION AS OF 99",
    "SELECT * FROM {t} VERSION AS OF 'nope'",
    "SELECT * FROM {t} VERSION AS OF -1",
    "SELECT * FROM {t} TIMESTAMP AS OF '1999-01-01'",
    "SELECT * FROM {t} TIMESTAMP AS OF 'nope'",
    "SELECT * FROM {t} TIMESTAMP AS OF current_timestamp()",
    "SELECT * FROM {t} CHANGES FROM VERSION 1 TO VERSION 2",
    "SELECT * FROM {t} CHANGES FROM TIMESTAMP '2020-01-01'",
    "SELECT * FROM {t} WITH ('scan.snapshot-id' = 'x')",
    "SELECT * FROM {t} WITH ('incremental-between' = '1')",
    "SELECT * FROM {t} WITH ('incremental-between' = '7,9')",
    "SELECT * FROM {t} /*+ OPTIONS('scan.mode' = 'nope') */",
    "SELECT * FROM {t} WITH ('bucket' = 'x')",
    "SELECT * FROM paimon_incremental_query('{t}', 1, 1 + 1)",
    "SELECT * FROM paimon_incremental_query('{t}', 1)",
    "SELECT * FROM paimon_incremental_query('{t}', 'a', 'b')",
    "SELECT * FROM paimon_incremental_query('{t}', 9, 7)",
    "SELECT * FROM paimon_incremental_between_timestamp('{t}', '2020-01-01', 'nope')",
    "SELECT * FROM paimon_incremental_between_timestamp('{t}', date_sub(current_date(), 1), current_date())",
    "SELECT * FROM paimon_incremental_to_auto_tag('{t}', '2020-01-01')",
    "SELECT * FROM vector_search('{t}', 'v', array(1.0f), 3)",
    "SELECT * FROM full_text_search('{t}', 'v', 'x', 3)",
    "SELECT sys.nope(k) FROM {t}",
    "SELECT sys.max_pt('{t}')",
    "SELECT sys.bucket(k) FROM {t}",
    "SELECT a.* FROM {t} a JOIN {t} b ON a.k = b.k",
    "SELECT * FROM STREAM {t}",
    "EXPLAIN SELECT * FROM {t}",
    "EXPLAIN EXTENDED DELETE FROM {t} WHERE k = 1",
    "TABLE {t}",
    "DESCRIBE {t}",
    "DESCRIBE EXTENDED {t}",
    "DESCRIBE {t} nope",
    "DESCRIBE {t} PARTITION (p = 1)",
    "SHOW CREATE TABLE {t}",
    "SHOW TBLPROPERTIES {t}",
    "SHOW TBLPROPERTIES {t} ('nope')",
    "SHOW COLUMNS IN {t}",
    "SHOW PARTITIONS {t}",
    "SHOW PARTITIONS {t} PARTITION (nope = 1)",
    "SHOW TABLE EXTENDED LIKE '*'",
    "SHOW TABLE EXTENDED LIKE 'part' PARTITION (p = 9)",
    "SHOW TABLES",
    "SHOW VIEWS",
    "SHOW FUNCTIONS IN paimon.sys",
    "REFRESH TABLE {t}",
    "CACHE TABLE {t}",
    "UNCACHE TABLE {t}",
    "ANALYZE TABLE {t} COMPUTE STATISTICS",
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS nope",
    "ANALYZE TABLE {t} PARTITION (p = 1) COMPUTE STATISTICS",
    "INSERT INTO {t} VALUES (1, 'a', 1)",
    "INSERT INTO {t} VALUES (1)",
    "INSERT INTO {t} VALUES (array(1), map(), 'x')",
    "INSERT INTO {t} (nope) VALUES (1)",
    "INSERT INTO {t} BY NAME SELECT 1 AS k, 2 AS more",
    "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 1 AS k, 2 AS p, 3 AS more",
    "INSERT INTO {t} PARTITION (p = 'x') VALUES (1, 'a')",
    "INSERT INTO {t} REPLACE WHERE k = 1 VALUES (1, 'a', 1)",
    "INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (1, 'a')",
    "INSERT OVERWRITE {t} PARTITION (nope = 1) VALUES (1, 'a')",
    "INSERT INTO {t} SELECT * FROM nope",
    "UPDATE {t} SET v = 'x' WHERE k = 1",
    "UPDATE {t} SET nope = 1",
    "UPDATE {t} SET v = array(1)",
    "UPDATE {t} SET k = (SELECT max(k) FROM {t})",
    "DELETE FROM {t} WHERE k = 1",
    "DELETE FROM {t} WHERE nope = 1",
    "DELETE FROM {t} WHERE k IN (SELECT k FROM nope)",
    "MERGE INTO {t} USING (SELECT 1 AS k, 'z' AS v, 1 AS p) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} d USING (SELECT 1 AS a) s ON d.k = s.a WHEN MATCHED THEN UPDATE SET nope = 1",
    "MERGE WITH SCHEMA EVOLUTION INTO {t} d USING (SELECT 1 AS k, 2 AS q) s ON d.k = s.k"
    " WHEN MATCHED THEN UPDATE SET *",
    "MERGE INTO {t} d USING nope s ON d.k = s.k WHEN MATCHED THEN DELETE",
    "COPY INTO {t} FROM '/nope' FILE_FORMAT = (TYPE = CSV)",
    "COPY INTO {t} FROM '{folder}' FILE_FORMAT = (TYPE = CSV)",
    "COPY INTO {t} FROM '{folder}' FILE_FORMAT = (TYPE = NOPE)",
    "COPY INTO '{folder}/out' FROM {t} FILE_FORMAT = (TYPE = CSV)",
    "LOAD DATA LOCAL INPATH '{folder}' INTO TABLE {t}",
    "MSCK REPAIR TABLE {t}",
    "ALTER TABLE {t} RECOVER PARTITIONS",
    "ALTER TABLE {t} ADD COLUMN k INT",
    "ALTER TABLE {t} ADD COLUMN w INT AFTER nope",
    "ALTER TABLE {t} ADD COLUMN x.y INT",
    "ALTER TABLE {t} ADD COLUMN n INT NOT NULL",
    "ALTER TABLE {t} ADD COLUMN w{i} INT DEFAULT 'x'",
    "ALTER TABLE {t} DROP COLUMN nope",
    "ALTER TABLE {t} DROP COLUMN k",
    "ALTER TABLE {t} RENAME COLUMN nope TO n",
    "ALTER TABLE {t} RENAME COLUMN v TO k",
    "ALTER TABLE {t} ALTER COLUMN v TYPE INT",
    "ALTER TABLE {t} ALTER COLUMN v TYPE MAP<INT, INT>",
    "ALTER TABLE {t} ALTER COLUMN v SET NOT NULL",
    "ALTER TABLE {t} ALTER COLUMN v COMMENT 'a text'",
    "ALTER TABLE {t} ALTER COLUMN v AFTER p",
    "ALTER TABLE {t} ALTER COLUMN v SET DEFAULT 1 / 0",
    "ALTER TABLE {t} REPLACE COLUMNS (a INT)",
    "ALTER TABLE {t} SET TBLPROPERTIES ('bucket' = 'x')",
    "ALTER TABLE {t} SET TBLPROPERTIES ('primary-key' = 'nope')",
    "ALTER TABLE {t} UNSET TBLPROPERTIES ('nope')",
    "ALTER TABLE {t} SET LOCATION '/tmp/elsewhere'",
    "ALTER TABLE {t} SET SERDE 'nope'",
    "ALTER TABLE {t} ADD PARTITION (p = 5)",
    "ALTER TABLE {t} ADD PARTITION (nope = 5)",
    "ALTER TABLE {t} DROP PARTITION (p = 'x')",
    "ALTER TABLE {t} DROP PARTITION (nope = 5)",
    "ALTER TABLE {t} PARTITION (p = 1) RENAME TO PARTITION (p = 2)",
    "ALTER TABLE {t} CLUSTER BY (k)",
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (k > 0)",
    "ALTER TABLE {t} DROP CONSTRAINT nope",
    "ALTER TABLE {t} CREATE TAG g AS OF VERSION 99",
    "ALTER TABLE {t} CREATE TAG `../g`",
    "ALTER TABLE {t} DELETE TAG nope",
    "ALTER TABLE {t} RENAME TAG nope TO g",
    "SHOW TAGS {t}",
    "ALTER VIEW {t} AS SELECT 1",
    "COMMENT ON TABLE {t} IS 'x'",
    "CREATE TABLE {t} (k INT)",
    "CREATE TABLE IF NOT EXISTS {t} (k INT)",
    "CREATE TABLE {t} (k INT) USING parquet",
    "CREATE TABLE like_{i} LIKE {t}",
    "CREATE TABLE as_{i} AS SELECT * FROM {t}",
    "CREATE TABLE {t} AS SELECT 1 AS k",
    "CREATE VIEW view_{i} AS SELECT * FROM {t}",
    "CREATE OR REPLACE TEMPORARY VIEW view_{i} AS SELECT * FROM {t}",
    "CREATE EXTERNAL TABLE x_{i} (k INT) LOCATION '{folder}'",
    "CREATE INDEX i ON TABLE {t} (k)",
    "DROP INDEX i ON TABLE {t}",
    "DROP VIEW {t}",
    "CALL sys.compact(table => '{t}')",
    "CALL sys.compact(table => '{t}', partitions => 'p=x')",
    "CALL sys.compact(table => '{t}', order_strategy => 'zorder', order_by => 'nope')",
    "CALL sys.compact(table => '{t}', where => 'nope > 1')",
    "CALL sys.compact(table => '{t}', where => ')')",
    "CALL sys.compact(table => 1)",
    "CALL sys.compact(tabel => '{t}')",
    "CALL sys.create_tag(table => '{t}', tag => 'g', snapshot => 'x')",
    "CALL sys.create_branch('{t}', 'main')",
    "CALL sys.rollback('{t}', 'nope')",
    "CALL sys.expire_snapshots(table => '{t}', older_than => 'x')",
    "CALL sys.expire_partitions(table => '{t}', expiration_time => '1 d', timestamp_formatter => 'bb')",
    "CALL sys.remove_orphan_files(table => '{t}', older_than => 'nope')",
    "CALL sys.remove_orphan_files(table => '{t}', dry_run => true)",
    "CALL sys.drop_partition('{t}', 'nope=1')",
    "CALL sys.rescale(table => '{t}', bucket_num => -7)",
    "CALL sys.reset_consumer('{t}', '../c', 1)",
    "CALL sys.create_global_index(table => '{t}', index_column => 'nope', index_type => 'btree')",
    "CALL sys.rewrite_file_index('{t}', 'p = nope')",
    "CALL sys.compact_manifest(table => '{t}', options => 'x')",
    "CALL sys.purge_files('{t}')",
    "REPLACE TABLE {t} (a INT) PARTITIONED BY (nope)",
    "CREATE OR REPLACE TABLE {t} AS SELECT nope",
    "TRUNCATE TABLE {t} PARTITION (p = 1)",
    "TRUNCATE TABLE {t}",
    "ALTER TABLE {t} RENAME TO nope.other",
    "DROP TABLE {t}",
    "DROP TABLE {t} PURGE",
]

THINGS = {
    "keyed": "keyed",
    "partitioned": "part",
    "format table": "form",
    "missing table": "nope",
    "missing database": "nope.t",
    "missing catalog": "nope.default.t",
    "system table": "`part$snapshots`",
    "unknown system table": "`part$nope`",
    "branch": "`part$branch_b`",
    "missing branch": "`part$branch_nope`",
    "system table of a format table": "`form$files`",
    "table of the database sys": "sys.tables",
    "path": "paimon_path.`{warehouse}/default.db/part`",
    "path to nothing": "paimon_path.`/nope/nothing`",
    "temporary view": "temp",
    "view": "viewed",
    "table of Spark's catalog": "spark_catalog.default.plain",
    "damaged schema": "bad_schema",
    "damaged snapshot": "bad_snapshot",
    "damaged manifest": "bad_manifest",
    "damaged manifest list": "bad_list",
    "damaged data file": "bad_data",
    "its system table": "`bad_manifest$files`",
    "system table of a damaged schema": "`bad_schema$options`",
    "system table of a damaged snapshot": "`bad_snapshot$snapshots`",
    "system table of a damaged list": "`bad_list$partitions`",
    "name that cannot be": "`../..`",
    "empty name": "``",
}
DAMAGE = {
    "bad_schema": "schema/schema-0",
    "bad_snapshot": "snapshot/snapshot-1",
    "bad_manifest": "manifest/manifest-[0-9a-f]*-0",
    "bad_list": "manifest/manifest-list-*",
    "bad_data": "p=*/bucket-0/data-*",
}
SOME = 16  # one statement in so many
# Spark's own answers where no table of ours is concerned
OF_SPARK = {("temporary view", "ALTER TABLE {t} ADD CONSTRAINT c CHECK (k > 0)")}
COLUMNS = "(k INT, v STRING, p INT)"


@pytest.fixture(scope="module")
def session(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path, Path]]:
    """A session, the folder of its warehouse, and one with a copy of what that holds at first."""
    folder = tmp_path_factory.mktemp("every")
    warehouse = folder / "warehouse"
    spark = root_session.newSession()
    spark.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.paimon.warehouse", str(warehouse))
    paimon_sql.install(spark)
    spark.sql("USE paimon.default")
    spark.sql(f"CREATE TABLE keyed {COLUMNS} TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for name in ("part", *DAMAGE):
        spark.sql(f"CREATE TABLE {name} {COLUMNS} PARTITIONED BY (p)")
    spark.sql(f"CREATE TABLE form {COLUMNS} USING parquet PARTITIONED BY (p)")
    for name in ("keyed", "part", "form", *DAMAGE):
        spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1)")
    spark.sql("CALL sys.create_branch('part', 'b')")
    spark.sql("CREATE VIEW viewed AS SELECT k, v, p FROM part")
    for name, pattern in DAMAGE.items():
        damaged = list((warehouse / "default.db" / name).glob(pattern))
        assert damaged, name
        for path in damaged:
            path.write_bytes(b"junk")
    (folder / "files").mkdir()
    (folder / "files" / "x.csv").write_text("1,a,1\n2\n'\n")
    shutil.copytree(warehouse, folder / "first")
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.plain")
    yield spark, warehouse, folder / "first"
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.plain")


@pytest.mark.parametrize("thing", THINGS)
def test_every_statement(session: tuple[Any, Path, Path], thing: str) -> None:
    spark, warehouse, first = session
    number = list(THINGS).index(thing)
    takes_all = thing == "keyed" or bool(os.environ.get("PAIMON_SQL_EVERY_STATEMENT"))
    statements = STATEMENTS if takes_all else STATEMENTS[number % SOME :: SOME]
    faults, changed = [], True
    for index, statement in enumerate(statements):
        if changed:
            _restore(spark, warehouse, first)
        spelled = statement.replace("{t}", THINGS[thing].format(warehouse=warehouse)).replace("{i}", str(index))
        spelled = spelled.replace("{folder}", str(first.parent / "files"))
        try:
            spark.sql(spelled).collect()
            changed = not spelled.startswith(("SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "TABLE"))
        except Exception as error:
            changed = False
            if (fault := raw(error)) and (thing, statement) not in OF_SPARK:
                faults.append(f"{spelled}\n    {fault}")
    assert not faults, "\n".join(faults)


def _restore(spark: Any, warehouse: Path, first: Path) -> None:
    """Put back what a statement may have changed."""
    shutil.rmtree(warehouse)
    shutil.copytree(first, warehouse)
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW temp AS SELECT 1 AS k, 'a' AS v, 1 AS p")
    spark.sql(f"CREATE TABLE IF NOT EXISTS spark_catalog.default.plain {COLUMNS} USING parquet")
