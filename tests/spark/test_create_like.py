"""CREATE TABLE … LIKE: within a catalog, across catalogs, by path, of format tables and of tables of Spark's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException

from tests.support.spark_versions import said_by

pytestmark = pytest.mark.spark

KEYED = (
    "CREATE TABLE {} (k INT COMMENT 'key', v CHAR(3), p STRING DEFAULT 'x') PARTITIONED BY (p) COMMENT 'mine'"
    " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '3')"
)


@pytest.fixture(scope="module")
def session(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session with the catalogs `paimon` and `other`, each with a table `db.t` of its own."""
    import paimon_sql  # noqa: PLC0415

    session = root_session.newSession()
    for name in ("paimon", "other"):
        session.conf.set(f"spark.sql.catalog.{name}", "paimon_sql.SparkCatalog")
        session.conf.set(f"spark.sql.catalog.{name}.warehouse", str(tmp_path_factory.mktemp("w") / name))
    paimon_sql.install(session)
    for name in ("paimon", "other"):
        session.sql(f"CREATE DATABASE {name}.db")
    session.sql(KEYED.format("paimon.db.t"))
    session.sql("CREATE TABLE other.db.t (other INT)")
    session.sql("CREATE TABLE paimon.db.csv (k INT, p STRING) USING csv PARTITIONED BY (p) TBLPROPERTIES ('seq' = '|')")
    session.sql("CREATE TABLE spark_catalog.default.h (k INT, v CHAR(4), p STRING) USING parquet PARTITIONED BY (p)")
    return session


def definition(session: Any, table: str) -> str:
    """What SHOW CREATE TABLE says behind the name."""
    return str(session.sql(f"SHOW CREATE TABLE {table}").collect()[0][0]).partition("(")[2]


def test_across_catalogs_nothing_is_lost(session: Any) -> None:
    session.sql("CREATE TABLE other.db.copy LIKE paimon.db.t")
    assert definition(session, "other.db.copy") == definition(session, "paimon.db.t")
    assert "'primary-key' = 'k,p'" in definition(session, "other.db.copy")
    session.sql("CREATE TABLE other.db.unkeyed LIKE paimon.db.t (EXCLUDING CONSTRAINTS EXCLUDING OPTIONS)")
    assert "primary-key" not in definition(session, "other.db.unkeyed")
    session.sql("ALTER TABLE other.db.copy ADD COLUMN more INT")
    session.sql("CREATE TABLE paimon.db.back LIKE other.db.copy TBLPROPERTIES ('bucket' = '4')")
    back = definition(session, "paimon.db.back")
    assert "more INT" in back and "'bucket' = '4'" in back and "'primary-key' = 'k,p'" in back


def test_by_path(session: Any, tmp_path: Path) -> None:
    first, second = (f"paimon_path.`{tmp_path}/x.db/{name}`" for name in ("t1", "t2"))
    session.sql(f"CREATE TABLE {first} LIKE paimon.db.t")
    session.sql(f"CREATE TABLE {second} LIKE {first}")
    session.sql(f"CREATE TABLE other.db.of_path LIKE {second}")
    for copy in (first, second, "other.db.of_path"):
        assert definition(session, copy) == definition(session, "paimon.db.t")
    with pytest.raises(PySparkException, match=rf"{tmp_path}/x\.db/t2` because it already exists"):
        session.sql(f"CREATE TABLE {second} LIKE {first}")
    assert f"paimon_path.{tmp_path}/x.db/t2" in session.sql(f"EXPLAIN SELECT * FROM {second}").collect()[0][0]


def test_a_branch_is_a_source(session: Any) -> None:
    session.sql("CREATE TABLE paimon.db.branched LIKE paimon.db.t")
    session.sql("CALL paimon.sys.create_branch(table => 'db.branched', branch => 'b')")
    session.sql("ALTER TABLE paimon.db.`branched$branch_b` ADD COLUMN of_branch INT")
    session.sql("CREATE TABLE other.db.of_branch LIKE paimon.db.`branched$branch_b`")
    assert "of_branch INT" in definition(session, "other.db.of_branch")
    session.sql("CREATE TABLE other.db.of_files LIKE paimon.db.`branched$files`")
    assert session.table("other.db.of_files").columns == session.table("paimon.db.`branched$files`").columns


def test_format_tables(session: Any) -> None:
    session.sql("CREATE TABLE other.db.csv LIKE paimon.db.csv")
    assert definition(session, "other.db.csv") == definition(session, "paimon.db.csv")
    session.sql("CREATE TABLE other.db.not_csv LIKE paimon.db.csv USING paimon")
    made = definition(session, "other.db.not_csv")
    assert "USING paimon" in made and "PARTITIONED BY (p)" in made and "TBLPROPERTIES" not in made
    session.sql("CREATE TABLE other.db.orc LIKE paimon.db.csv USING orc")
    assert "'file.format' = 'orc'" in definition(session, "other.db.orc")
    with pytest.raises(PySparkException, match="format table cannot have a primary key"):
        session.sql("CREATE TABLE other.db.keyed_csv LIKE paimon.db.t USING csv")
    session.sql("CREATE TABLE other.db.keyed_csv LIKE paimon.db.t (EXCLUDING CONSTRAINTS) USING csv")
    made = definition(session, "other.db.keyed_csv")
    assert "USING csv" in made and "PARTITIONED BY (p)" in made and "bucket" not in made


def test_tables_of_spark_give_their_columns(session: Any) -> None:
    session.sql("CREATE TABLE paimon.db.h LIKE spark_catalog.default.h")
    assert session.table("paimon.db.h").schema == session.table("spark_catalog.default.h").schema
    assert "USING paimon\nPARTITIONED BY (p)" in definition(session, "paimon.db.h")
    session.sql("CREATE TABLE paimon.db.h2 LIKE spark_catalog.default.h (EXCLUDING PARTITIONS)")
    assert "PARTITIONED" not in definition(session, "paimon.db.h2")
    session.sql("CREATE TABLE paimon.db.h3 LIKE spark_catalog.default.h USING parquet")
    assert "USING parquet\nPARTITIONED BY (p)" in definition(session, "paimon.db.h3")
    words = {(4, 0): "PARSE_SYNTAX_ERROR", (4, 2): "spark_catalog does not support CREATE TABLE LIKE"}
    with pytest.raises(PySparkException, match=said_by(words)):
        session.sql("CREATE TABLE spark_catalog.default.c LIKE paimon.db.t")
