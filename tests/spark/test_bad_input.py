"""Bad input: each mistake has an error that names the object, the cause and what to do; nothing half-written shows.

What a catalog refuses at CREATE, and what does not exist, is an `AnalysisException`; the rest is below
`PySparkException`, as docs/errors.md says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException

import paimon_sql
from tests.support.spark_versions import said_by
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.spark

KEYED = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def metadata(folder: Path) -> dict[str, bytes]:
    """What snapshots and schemas say, by file."""
    return {str(p): p.read_bytes() for kind in ("snapshot", "schema") for p in folder.rglob(f"{kind}/*")}


def message(caught: pytest.ExceptionInfo[Any]) -> str:
    """What the user reads; never a stack of ours."""
    text = str(caught.value)
    assert "Py4JException" not in text and "paimon_sql/spark" not in text
    return text


def create_partitioned(spark: Any) -> None:
    """`t`, partitioned and with keys, one snapshot."""
    keys = "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '1')"
    spark.sql(f"CREATE TABLE t (k INT, v STRING, p INT) {keys}")
    spark.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")


@pytest.fixture
def table(spark: Any, warehouse: str) -> Path:
    """The folder of `t`, which the test may change."""
    create_partitioned(spark)
    return Path(warehouse, "default.db", "t")


@pytest.fixture(scope="module")
def refusing(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A session, and the folder of its warehouse, which holds `t`: for statements that change nothing."""
    folder = tmp_path_factory.mktemp("refusing")
    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    session.conf.set("spark.sql.catalog.paimon.warehouse", str(folder / "warehouse"))
    paimon_sql.install(session)
    session.sql("USE paimon.default")
    create_partitioned(session)
    (folder / "evil.db").mkdir()
    return session, folder


# -- what does not exist, and what is no value ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM nope", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("SELECT * FROM paimon.nope.t", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`\.`t`"),
        ("SELECT * FROM nope.default.t", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("INSERT INTO nope VALUES (1)", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("DROP TABLE nope", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("DESCRIBE nope", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("ALTER TABLE nope SET TBLPROPERTIES ('a' = 'b')", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("ALTER TABLE nope RENAME TO u", r"TABLE_OR_VIEW_NOT_FOUND.*`nope`"),
        ("ALTER TABLE t RENAME TO nope.u", r"SCHEMA_NOT_FOUND.*nope"),
        ("UPDATE t SET nope = 1", r"UNRESOLVED_COLUMN.*'nope' to assign; its columns are k, v, p; line 1 pos 13"),
        ("MERGE INTO t USING t s ON t.k = s.k WHEN MATCHED THEN UPDATE SET nope = 1", r"UNRESOLVED_COLUMN.*pos 65"),
        ("USE nope", r"SCHEMA_NOT_FOUND.*`nope`"),
        ("SHOW TABLES IN nope", r"SCHEMA_NOT_FOUND.*nope"),
        ("CREATE TABLE nope.t (k INT)", r"SCHEMA_NOT_FOUND.*nope"),
        ("DROP DATABASE nope", r"SCHEMA_NOT_FOUND.*nope"),
        ("SELECT nope FROM t", r"UNRESOLVED_COLUMN.*`nope`"),
        ("SELECT * FROM t WHERE nope = 1", r"UNRESOLVED_COLUMN.*`nope`"),
        ("INSERT INTO t (k, nope, p) VALUES (1, 2, 3)", r"`nope`"),
        ("INSERT INTO t PARTITION (nope = 1) VALUES (1, 'a')", r"`nope`"),
        ("INSERT INTO t VALUES (1)", r"NOT_ENOUGH_DATA_COLUMNS.*`t`"),
        ("INSERT INTO t VALUES (array(1), 'a', 1)", r"INCOMPATIBLE_DATA_FOR_TABLE.*`k`"),
        ("CREATE TABLE t (k INT)", r"TABLE_OR_VIEW_ALREADY_EXISTS.*t"),
        ("CREATE DATABASE default", r"SCHEMA_ALREADY_EXISTS.*default"),
        ("SELECT * FROM `t$nope`", r"TABLE_OR_VIEW_NOT_FOUND.*`t\$nope`"),
        ("SELECT * FROM `nope$snapshots`", r"TABLE_OR_VIEW_NOT_FOUND.*`nope\$snapshots`"),
    ],
)
def test_analysis_exceptions(refusing: tuple[Any, Path], statement: str, expected: str) -> None:
    spark, folder = refusing
    before = files(folder)
    with pytest.raises(AnalysisException, match=f"(?s){expected}") as caught:
        spark.sql(statement).collect()
    assert message(caught)
    assert files(folder) == before


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("(k INT) TBLPROPERTIES ('bucket' = 'x')", r"Option 'bucket' cannot be 'x'"),
        ("(k INT) TBLPROPERTIES ('bucket' = '0')", r"Option 'bucket' cannot be '0'"),
        ("(k INT) TBLPROPERTIES ('bucket' = '2')", r"'bucket-key'"),
        ("(k INT) TBLPROPERTIES ('target-file-size' = '1 xb')", r"Option 'target-file-size' cannot be '1 xb'"),
        ("(k INT) TBLPROPERTIES ('merge-engine' = 'nope', 'primary-key' = 'k')", r"Option 'merge-engine' cannot be"),
        ("(k INT) TBLPROPERTIES ('primary-key' = 'nope')", r"'nope'"),
        ("(k INT, K INT)", r"COLUMN_ALREADY_EXISTS|more than once"),
        ("(_SEQUENCE_NUMBER INT)", r"'_SEQUENCE_NUMBER'"),
        ("(k INTERVAL DAY)", r"(?i)interval day has no counterpart|interval"),
        ("(k INT) USING avro", r"avro"),
        ("(k INT, t TIMESTAMP) PARTITIONED BY (truncate(2, t))", r"PARTITIONED BY truncate"),
        ("(k MAP<INT, INT>, v INT) PARTITIONED BY (k)", r"'k' cannot be of type"),
        ("(k INT, PRIMARY KEY (nope) NOT ENFORCED)", r"nope"),
        ("(k INT) LOCATION '/tmp/outside'", r"u cannot have a LOCATION"),
        ("(k INT) TBLPROPERTIES ('path' = '/tmp/outside')", r"u cannot have the option 'path'"),
        ("(k INT) TBLPROPERTIES ('data-file.path-directory' = '../../outside')", r"data-file\.path-directory"),
        ("(k INT) TBLPROPERTIES ('type' = 'view')", r"'type' = 'view'"),
    ],
)
def test_create_refuses(refusing: tuple[Any, Path], definition: str, expected: str) -> None:
    spark, folder = refusing
    before = files(folder)
    with pytest.raises(AnalysisException, match=f"(?s){expected}") as caught:
        spark.sql(f"CREATE TABLE u {definition}")
    assert message(caught)
    assert files(folder) == before


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM t VERSION AS OF 9", r"Table default\.t has no snapshot 9: the snapshots 1 to 1 exist"),
        ("SELECT * FROM t VERSION AS OF 'nope'", r"Table default\.t has no tag 'nope' \(its tags: none\)"),
        ("SELECT * FROM t VERSION AS OF '../../x'", r"no tag '\.\./\.\./x'"),
        ("SELECT * FROM t VERSION AS OF -1", r"-1"),
        ("SELECT * FROM t TIMESTAMP AS OF '2000-01-01'", r"Table default\.t has no snapshot at or before 946684800000"),
        ("SELECT * FROM t TIMESTAMP AS OF 'nope'", r"nope"),
        ("SELECT * FROM t WITH ('scan.snapshot-id' = 'x')", r"Option 'scan\.snapshot-id' cannot be 'x'"),
        ("SELECT * FROM t WITH ('scan.timestamp' = 'x')", r"Option 'scan\.timestamp' cannot be 'x'.*write it as"),
        ("SELECT * FROM t WITH ('scan.tag-name' = 'x')", r"no tag 'x'"),
        ("SELECT * FROM t WITH ('scan.tag-name' = 'x', 'scan.snapshot-id' = '1')", r"Only one of the options"),
        ("SELECT * FROM t WITH ('merge-engine' = 'first-row')", r"Option 'merge-engine' cannot be changed"),
        ("ALTER TABLE t SET TBLPROPERTIES ('bucket' = '-1')", r"Option 'bucket' cannot change from '1' to '-1'"),
        ("ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'v')", r"Option 'primary-key' cannot be changed"),
        ("ALTER TABLE t SET TBLPROPERTIES ('target-file-size' = 'big')", r"Option 'target-file-size' cannot be 'big'"),
        ("ALTER TABLE t UNSET TBLPROPERTIES ('bucket')", r"Option 'bucket' cannot be removed"),
        ("CALL sys.nope()", r"There is no procedure sys\.nope"),
        ("CALL sys.compact(table => 'nope')", r"no table default\.nope"),
        ("CALL sys.compact(table => 't', compact_strategy => 'x')", r"compact_strategy cannot be 'x'"),
        ("CALL sys.compact(table => 't', partitions => 'x=1')", r"'x=1'.*the partition columns are p"),
        ("CALL sys.compact(table => 't', partitions => 'p=x')", r"p=x: the value is not a valid INT"),
        ("CALL sys.compact()", r"table"),
        ("CALL sys.compact(nope => 't')", r"nope"),
        ("INSERT INTO t VALUES (NULL, 'a', 1)", r"k"),
    ],
)
def test_values_that_are_none(refusing: tuple[Any, Path], statement: str, expected: str) -> None:
    spark, folder = refusing
    before = metadata(folder)
    with pytest.raises(PySparkException, match=f"(?s){expected}") as caught:
        spark.sql(statement).collect()
    assert message(caught)
    assert metadata(folder) == before


# -- names ----------------------------------------------------------------------------------------------------------

NAMES = ["..", ".", "a/b", "../../evil", "/tmp/evil", "a\\b", " ", " a", "a\x00b", "a\nb", "\x7f", "x" * 300, "ö" * 101]


@pytest.mark.parametrize("name", [*NAMES, "$", "a$b$c", "$snapshots", "a$"])
def test_names_of_tables(refusing: tuple[Any, Path], name: str) -> None:
    spark, folder = refusing
    before = files(folder)
    frame = spark.createDataFrame([(1,)], "k INT")
    quoted = f"`{name}`"
    for create in (
        lambda: spark.sql(f"CREATE TABLE {quoted} (k INT)"),
        lambda: spark.sql(f"CREATE TABLE {quoted} AS SELECT 1 AS k"),
        lambda: frame.writeTo(quoted).create(),
        lambda: frame.writeTo(quoted).createOrReplace(),
        lambda: frame.write.saveAsTable(f"paimon.default.{quoted}"),
        lambda: spark.sql(f"ALTER TABLE t RENAME TO {quoted}"),
        lambda: spark.table(quoted).collect(),
        lambda: spark.sql(f"DROP TABLE {quoted}"),
    ):
        with pytest.raises(AnalysisException) as caught:
            create()
        assert message(caught)
        assert files(folder) == before
    spark.sql(f"DROP TABLE IF EXISTS {quoted}")
    assert spark.catalog.tableExists(quoted) is False
    assert files(folder) == before


def test_the_message_for_a_name(spark: Any) -> None:
    with pytest.raises(AnalysisException, match=r"The table name 'a/b' cannot be a folder's name: it contains '/'"):
        spark.sql("CREATE TABLE `a/b` (k INT)")
    with pytest.raises(AnalysisException, match=r"The database name 'a\$b' cannot be .*: '\$' starts the name of"):
        spark.sql("CREATE DATABASE `a$b`")
    for statement in ("CREATE TABLE `` (k INT)", "CREATE DATABASE ``"):
        with pytest.raises(AnalysisException, match="name '' is empty: choose a name"):
            spark.sql(statement)


@pytest.mark.parametrize("name", [*NAMES, "a$b"])
def test_names_of_databases(refusing: tuple[Any, Path], name: str) -> None:
    spark, folder = refusing
    before = files(folder)
    for statement in (
        "CREATE DATABASE `{}`",
        "CREATE TABLE `{}`.t (k INT)",
        "DROP DATABASE `{}` CASCADE",
        "USE `{}`",
        "SHOW TABLES IN `{}`",
        "SELECT * FROM `{}`.t",
        "DROP TABLE `{}`.t",
    ):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(statement.format(name))
        assert message(caught)
        assert files(folder) == before
    if not name.startswith("/"):  # paimon.`/path` is the table at a path
        assert spark.catalog.databaseExists(f"paimon.`{name}`") is False


@pytest.mark.parametrize("name", ["tab le", "ta.ble", "ta-ble", "t%20", "t#1", "t=1", "表", "T", "select", "x" * 200])
def test_unusual_names_work(spark: Any, name: str) -> None:
    spark.sql(f"CREATE TABLE `{name}` (k INT)")
    spark.sql(f"INSERT INTO `{name}` VALUES (1)")
    assert rows(spark, f"SELECT * FROM `{name}`") == [(1,)]
    assert rows(spark, f"SELECT count(*) FROM `{name}$snapshots`") == [(1,)]
    assert rows(spark, "SHOW TABLES") == [("default", name, False)]
    spark.sql(f"ALTER TABLE `{name}` RENAME TO `{name[:50]}2`")
    assert rows(spark, f"SELECT * FROM `{name[:50]}2`") == [(1,)]
    spark.sql(f"DROP TABLE `{name[:50]}2`")
    assert rows(spark, "SHOW TABLES") == []


def test_locations_outside_the_warehouse(spark: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for statement in (
        f"CREATE DATABASE other LOCATION '{outside}'",
        f"CREATE TABLE u (k INT) LOCATION '{outside}'",
        f"CREATE TABLE u USING paimon LOCATION '{outside}' AS SELECT 1 AS k",
    ):
        with pytest.raises(AnalysisException, match="(?i)location"):
            spark.sql(statement)
    with pytest.raises(PySparkException, match="(?i)location|path"):
        spark.createDataFrame([(1,)], "k INT").write.option("path", str(outside)).saveAsTable("u")
    assert not outside.exists() and rows(spark, "SHOW TABLES") == []


WRITE, VERIFY = "parquet.page.write-checksum.enabled", "parquet.page.verify-checksum.enabled"

# -- damaged files --------------------------------------------------------------------------------------------------

FOREIGN = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "random": lambda content: bytes(range(256)) * 4,
    "json": lambda content: b'{"some": "json"}',
    "list": lambda content: b"[1, 2]",
    "not utf-8": lambda content: b"\xff\xfe{}",
    "deep": lambda content: b"[" * 100_000,
}


_NUMBERS = count()


def anew(spark: Any) -> Any:
    """A session that has not seen the table's files."""
    session = spark.newSession()
    for key in ("spark.sql.catalog.paimon", "spark.sql.catalog.paimon.warehouse"):
        session.conf.set(key, spark.conf.get(key))
    session.conf.set("spark.sql.catalog.paimon.none-of-ours", str(next(_NUMBERS)))  # equal options share a catalog
    paimon_sql.install(session)
    session.sql("USE paimon.default")
    return session


@pytest.mark.parametrize(
    "pattern", ["snapshot/snapshot-1", "schema/schema-0", "manifest/manifest-list-*", "manifest/manifest-*-0"]
)
def test_damaged_metadata(spark: Any, table: Path, pattern: str) -> None:
    spark.sql("CREATE TABLE other (k INT)")
    damaged = sorted(p for p in table.glob(pattern) if ("list" in p.name) == ("list" in pattern))
    originals = {path: path.read_bytes() for path in damaged}
    for damage, spoil in FOREIGN.items():
        for path, content in originals.items():
            path.write_bytes(spoil(content))
        other = anew(spark)
        for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (3, 'c', 1)"):
            with pytest.raises(PySparkException) as caught:
                other.sql(statement).collect()
            text = message(caught)
            assert any(str(path) in text for path in damaged), (damage, text)
            # JSON of another shape is healthy: only bytes that are no JSON at all, or no Avro, are damaged
            healthy = damage in ("json", "list") and not pattern.startswith("manifest")
            words = ("does not understand", "report it") if healthy else ("is corrupt", "restore the file")
            assert all(w in text for w in words), (damage, text)
        assert ("default", "other", False) in rows(other, "SHOW TABLES"), damage
    assert rows(other, "SELECT * FROM other") == []
    for path, content in originals.items():
        path.write_bytes(content)
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "a", 1), (2, "b", 2)]
    assert rows(other, "SELECT count(*) FROM `t$snapshots`") == [(1,)]


def spoiled(spark: Any, warehouse: str) -> list[str]:
    """A table that cannot be loaded, one that cannot be planned, and one whose folder cannot be listed."""
    names = ["no_schema", "no_snapshot", "no_folder"]
    for name in names:
        spark.sql(f"CREATE TABLE {name} (k INT)")
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    folder = Path(warehouse, "default.db")
    (folder / "no_schema/schema/schema-0").write_text("{ no json")
    (folder / "no_snapshot/snapshot/snapshot-1").write_text("{ no json")
    shutil.rmtree(folder / "no_folder/schema")
    (folder / "no_folder/schema").symlink_to(folder / "no_folder/schema")
    return names


def test_bad_tables_are_listed_with_the_others(spark: Any, table: Path, warehouse: str) -> None:
    bad = spoiled(spark, warehouse)
    assert [r[1] for r in rows(spark, "SHOW TABLES")] == [*sorted(bad), "t"]
    told = {r[1]: r[3] for r in rows(spark, "SHOW TABLE EXTENDED LIKE '*'")}
    assert told.keys() == {*bad, "t"} and "Schema: root\n |-- k: integer" in told["t"]
    why = {"no_schema": "schema-0 is corrupt: it is not valid JSON", "no_folder": "Cannot list"}
    spelled = said_by({(4, 0): ", ".join, (4, 3): str})  # older ones take a text of properties for a list of them
    assert all(spelled(words) in told[name] for name, words in why.items())
    types = dict(rows(spark, "SELECT table_name, table_type FROM sys.tables"))
    assert types["t"] == "table" and {n: types[n].startswith("unreadable: ") for n in bad} == dict.fromkeys(bad, True)
    named = "SELECT partition_name FROM sys.partitions WHERE partition_name NOT LIKE 'unreadable: %' ORDER BY 1"
    assert rows(spark, named) == [
        ("p=1",),
        ("p=2",),
    ]
    assert rows(spark, "SELECT count(DISTINCT table_name) FROM sys.all_table_options") == [(4,)]
    assert [t.name for t in spark.catalog.listTables("paimon.default")] == [*sorted(bad), "t"]
    assert spark.catalog.tableExists("no_schema") and spark.catalog.getTable("no_schema").name == "no_schema"
    assert rows(spark, "CALL sys.compact_database()") == [("Compact database finished. Success: 1, Failed: 3",)]
    assert rows(spark, "CALL sys.remove_orphan_files('default.*')") == [(0, 0)]
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "a", 1), (2, "b", 2)]


def test_bad_tables_are_described_renamed_and_dropped(spark: Any, warehouse: str) -> None:
    spoiled(spark, warehouse)
    ((name, kind, why),) = rows(spark, "DESCRIBE no_schema")
    assert (name, kind) == ("# error", "void") and "schema-0 is corrupt" in why
    assert ("k", "int", None) in rows(spark, "DESCRIBE EXTENDED no_snapshot")
    known = said_by({(4, 0): ("Name", "paimon.default.no_schema", ""), (4, 2): ("Table", "no_schema", "")})
    assert known in rows(spark, "DESCRIBE EXTENDED no_schema")
    for statement in (
        "SELECT * FROM no_schema",
        "SELECT k FROM no_schema",
        "INSERT INTO no_schema VALUES (1)",
        "DELETE FROM no_schema",
        "TRUNCATE TABLE no_schema",
        "ALTER TABLE no_schema SET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE no_schema ADD COLUMN c INT",
        "SELECT * FROM `no_schema$files`",
    ):
        with pytest.raises(PySparkException, match="schema-0 is corrupt") as caught:
            spark.sql(statement).collect()
        assert message(caught)
    with pytest.raises(PySparkException):  # what is shown makes no table
        spark.sql(rows(spark, "SHOW CREATE TABLE no_schema")[0][0].replace("no_schema", "again"))
    with pytest.raises(PySparkException, match="snapshot-1 is corrupt"):
        spark.sql("SELECT * FROM no_snapshot").collect()
    for name in ("no_schema", "no_snapshot"):
        spark.sql(f"ALTER TABLE {name} RENAME TO renamed")
        spark.sql("DROP TABLE renamed")
    assert [r[1] for r in rows(spark, "SHOW TABLES")] == ["no_folder"]


@pytest.mark.parametrize("pattern", ["snapshot/snapshot-1", "schema/schema-0"])
def test_files_of_a_newer_version(spark: Any, table: Path, pattern: str) -> None:
    (path,) = table.glob(pattern)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(PySparkException, match=rf"(?s){path.name}.*version 99.*upgrade paimon-sql") as caught:
        spark.sql("SELECT * FROM t").collect()
    assert message(caught)


@pytest.mark.parametrize("kind", ["raw", "merge", "compact"])
def test_damaged_data_files(spark: Any, warehouse: str, kind: str) -> None:
    """The error names the table and the file, whoever meets it: Spark's scan, a worker, a compaction."""
    spark.sql(f"CREATE TABLE t (k INT, v STRING) {KEYED}")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    (path,) = Path(warehouse).rglob("data-*.parquet")
    if kind != "raw":
        spark.sql("INSERT INTO t VALUES (1, 'c')")
    content = path.read_bytes()
    for damage in (*FOREIGN, "missing", "longer"):
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(content + b"x" if damage == "longer" else FOREIGN[damage](content))
        with pytest.raises(PySparkException) as caught:
            spark.sql("CALL sys.compact('t')" if kind == "compact" else "SELECT * FROM t").collect()
        text = str(caught.value)
        shown = "\n".join(text.splitlines()[:14])
        assert path.name in shown and "/t/" in shown, (damage, text)
        assert "missing" in shown if damage == "missing" else "corrupt" in shown, (damage, text)
    assert rows(spark, "SELECT count(*) FROM `t$snapshots`") == [(1 if kind == "raw" else 2,)]
    path.write_bytes(content)
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "a" if kind == "raw" else "c"), (2, "b")]


@pytest.mark.parametrize("checksums", ["true", "false"])
@pytest.mark.parametrize("kind", ["raw", "merge", "format table"])
def test_damaged_pages(spark: Any, warehouse: str, kind: str, checksums: str) -> None:
    """A changed value is an error, whoever reads it; a table may say that nobody looks, or write no checksums."""
    options = f"'file.compression' = 'none', 'format-table.file.compression' = 'none', '{WRITE}' = '{checksums}'"
    kinds = {
        "raw": "'bucket' = '-1'",
        "merge": "'primary-key' = 'k', 'bucket' = '1'",
        "format table": "'type' = 'format-table', 'file.format' = 'parquet'",
    }
    spark.sql(f"CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ({kinds[kind]}, {options})")
    spark.sql("INSERT INTO t VALUES (1, 'right one'), (2, 'right two')")
    (path,) = (p for p in Path(warehouse).rglob("*.parquet") if b"right two" in p.read_bytes())
    if kind == "merge":
        spark.sql("INSERT INTO t VALUES (1, 'right one')")
    assert rows(spark, "SELECT v FROM t ORDER BY k") == [("right one",), ("right two",)]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"right two", b"wrong two", 1))
    if checksums == "true":
        # what Spark's own scan finds is a SparkException, which PySpark leaves to py4j
        with pytest.raises((PySparkException, Py4JJavaError), match=path.name) as caught:
            spark.sql("SELECT k, v FROM t").collect()
        assert "checksum" in str(caught.value)
        spark.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{VERIFY}' = 'false')")
    assert rows(spark, "SELECT v FROM t ORDER BY k") == [("right one",), ("wrong two",)]


def test_files_that_spark_would_not_see(spark: Any) -> None:
    """Hidden names and colons mean something to Hadoop; nothing to Paimon."""
    for number, prefix in enumerate(("_hidden-", ".hidden-", "x:", "ö ")):
        spark.sql(f"CREATE TABLE t{number} (k INT) TBLPROPERTIES ('data-file.prefix' = '{prefix}')")
        spark.sql(f"INSERT INTO t{number} VALUES (1)")
        assert rows(spark, f"SELECT * FROM t{number}") == [(1,)], prefix


# -- storage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk(spark: Any, small_disk: Path) -> None:
    spark.conf.set("spark.sql.catalog.small", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.small.warehouse", str(small_disk / "wh"))
    spark.sql("CREATE TABLE small.default.t (k BIGINT, v STRING)")
    spark.sql("INSERT INTO small.default.t VALUES (1, 'a')")
    with pytest.raises(PySparkException, match=r"(?s)default\.db/t/.*No space left on device; free space") as caught:
        spark.sql("INSERT INTO small.default.t SELECT id, uuid() FROM range(0, 400000, 1, 1)")
    assert "No space left" in "\n".join(str(caught.value).splitlines()[:14])
    assert rows(spark, "SELECT * FROM small.default.t") == [(1, "a")]
    spark.sql("INSERT INTO small.default.t VALUES (2, 'b')")
    assert rows(spark, "SELECT * FROM small.default.t ORDER BY k") == [(1, "a"), (2, "b")]


def test_a_file_instead_of_a_folder(spark: Any, table: Path) -> None:
    (table / "p=3").write_text("")
    with pytest.raises(PySparkException, match=r"(?s)Cannot create folder .*t/p=3.*remove the file") as caught:
        spark.sql("INSERT INTO t VALUES (3, 'c', 3)")
    assert len(str(caught.value).splitlines()) < 16
    assert rows(spark, "SELECT count(*) FROM t") == [(2,)]


def test_a_warehouse_that_is_a_file(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    spark.conf.set("spark.sql.catalog.bad", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.bad.warehouse", str(tmp_path / "file"))
    with pytest.raises(AnalysisException, match=rf"{tmp_path}/file"):
        spark.sql("CREATE TABLE bad.default.t (k INT)")


# -- two at once ----------------------------------------------------------------------------------------------------


def test_two_sessions_create_the_same_table(spark: Any, warehouse: str) -> None:
    outcomes: list[str] = []
    gate = threading.Barrier(4)

    def create(n: int) -> None:
        session = spark.newSession()
        session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
        session.conf.set("spark.sql.catalog.paimon.warehouse", warehouse)
        session.sql("USE paimon.default")
        gate.wait(PATIENCE)
        try:
            session.sql(f"CREATE TABLE t (k INT, c{n} STRING)")
            outcomes.append(f"c{n}")
        except AnalysisException as error:
            outcomes.append(str(error.getCondition()))

    threads = [threading.Thread(target=create, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [o for o in outcomes if o.startswith("c")]
    assert outcomes.count("TABLE_OR_VIEW_ALREADY_EXISTS") == 3
    assert spark.table("t").columns == ["k", winner]


CREATE = """
import sys, time
from pathlib import Path
from paimon_core.errors import TableExistsError
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import create_table
warehouse, gate = sys.argv[1:]
while not Path(gate).exists():
    time.sleep(0.001)
try:
    create_table(warehouse)
    print("created")
except TableExistsError as error:
    print(error)
"""


def test_two_processes_create_the_same_table(spark: Any, warehouse: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CREATE, warehouse, str(tmp_path / "gate")]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    creators = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    (tmp_path / "gate").touch()
    said = sorted(creator.communicate(timeout=PATIENCE)[0].strip() for creator in creators)
    assert said == ["Table default.t already exists.", "created"]
    assert spark.table("t").columns == ["k", "v"]


@pytest.mark.parametrize(
    ("statement", "said", "not_said"),
    [
        ("CREATE TABLE n (k INT) CLUSTERED BY (k) INTO 4 BUCKETS", "CLUSTERED BY .*'bucket-key'", ""),
        ("CREATE TABLE n (k INT, i INTERVAL DAY TO SECOND)", "Column 'i': type interval day to second", ""),
        ("ALTER TABLE t ADD COLUMN i INTERVAL YEAR TO MONTH", "Column 'i': type interval year to month", ""),
        ("CREATE TABLE n (k INT DEFAULT 'x')", "'x'|k", "int32"),
        (
            "MERGE INTO t$snapshots USING t ON t.k = snapshot_id WHEN NOT MATCHED THEN INSERT *",
            r"system table.*read-only",
            "UNRESOLVED_COLUMN",
        ),
        ("SELECT * FROM full_text_search('t', 'v', 'x', 3)", "full_text_search is not", "MISSING_CATALOG_ABILITY"),
    ],
)
def test_errors_name_what_is_wrong_and_what_to_do(spark: Any, statement: str, said: str, not_said: str) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    with pytest.raises(PySparkException, match=said) as caught:
        spark.sql(statement).collect()
    assert not not_said or not_said not in str(caught.value)
