"""Spark's own reader gives the same rows of the files that it gets as ours; it gets no others."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.hadoop_reader import HadoopReader
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.spark.read.scan_builder import PaimonScanBuilder
from tests.support.foreign_files import FORMS, Form, commit_file, stored_table
from tests.support.object_server import object_server

pytestmark = pytest.mark.spark

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"


def make_table(warehouse: Path, forms: list[Form], number: int) -> Table:
    """A table with a column for each form, and one file that stores the columns in their forms."""
    catalog, name = load_catalog({"warehouse": str(warehouse)}), Identifier("default", f"t{number}")
    columns = [DataField(id=0, name=f"c{i}", type=f.type) for i, f in enumerate(forms)]
    catalog.create_table(name, new_table_schema(columns))
    table = catalog.load_table(name)
    assert isinstance(table.store.io, LocalFileIO)
    commit_file(table, stored_table({f"c{i}": f for i, f in enumerate(forms)}, [0, 1, 2, 0]), **forms[0].settings)
    return table


def frame(spark: Any, table: Table, **options: str) -> Any:
    return spark.read.options(**options).format("paimon").load(table.store.root)


def plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_both_readers_give_the_same_of_usual_files(spark: Any, tmp_path: Path) -> None:
    groups: dict[str, list[Form]] = defaultdict(list)
    for form in FORMS:
        if form.is_usual:
            groups[str(form.settings)].append(form)
    assert len(groups) > 4
    for number, forms in enumerate(groups.values()):
        table = make_table(tmp_path, forms, number)
        # an option under which only our reader reads
        ours, its = frame(spark, table, **{"scan.ignore-lost-files": "true"}), frame(spark, table)
        assert "PaimonScan[merge]" in plan(ours)
        assert "PaimonScan[raw]" in plan(its)
        expected = ours.collect()
        assert len(expected) == 4
        for vectorized in ("true", "false"):
            spark.conf.set(VECTORIZED, vectorized)
            try:
                assert frame(spark, table).collect() == expected, str(forms[0].settings)
            finally:
                spark.conf.unset(VECTORIZED)


def test_files_in_other_forms_are_read_by_ours(spark: Any, tmp_path: Path) -> None:
    others = [f for f in FORMS if not f.is_usual and not f.settings]
    table = make_table(tmp_path, others, 100)
    found = frame(spark, table)
    assert "PaimonScan[merge]" in plan(found)
    rows = found.collect()
    assert len(rows) == 4 and rows[0] == rows[3]
    for column, form in enumerate(others):
        assert [rows[i][column] is None for i in range(3)] == [v is None for v in form.read], str(form)
    integers = [i for i, f in enumerate(others) if f.sql in ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING")]
    assert [tuple(rows[r][i] for i in integers) for r in range(3)] == [
        tuple(others[i].read[r] for i in integers) for r in range(3)
    ]


def test_tables_with_codecs_that_spark_lacks(spark: Any) -> None:
    for codec in ("brotli", "lz4"):
        spark.sql(f"CREATE TABLE {codec} (k INT, v STRING) WITH ('file.compression' = '{codec}')")
        spark.sql(f"INSERT INTO {codec} VALUES (1, 'a'), (2, 'b')")
        assert spark.sql(f"SELECT * FROM {codec} ORDER BY k").collect() == [(1, "a"), (2, "b")]
        assert spark.sql(f"SELECT v FROM {codec} WHERE k > 1").collect() == [("b",)]
    spark.sql("ALTER TABLE brotli SET TBLPROPERTIES ('file.compression' = 'zstd')")
    spark.sql("INSERT INTO brotli VALUES (3, 'c')")
    assert spark.sql("SELECT sum(k) FROM brotli").first() == (6,)


def test_old_days_are_the_same_in_every_session(spark: Any) -> None:
    spark.sql("CREATE TABLE old (d DATE, t TIMESTAMP_NTZ, z TIMESTAMP)")
    spark.sql("INSERT INTO old SELECT DATE '1500-01-01', TIMESTAMP_NTZ '1400-02-03 04:05:06', TIMESTAMP '1300-01-01'")
    query = "SELECT string(d), string(t), string(z) FROM old"
    expected = [("1500-01-01", "1400-02-03 04:05:06", "1300-01-01 00:00:00")]
    assert "PaimonScan[raw]" in plan(spark.sql(query))
    for mode in ("CORRECTED", "LEGACY", "EXCEPTION"):
        spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", mode)
        try:
            assert spark.sql(query).collect() == expected, mode
        finally:
            spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")


class SamePaths(HadoopReader):
    """Hadoop opens the same paths, by its own reader of local files."""

    def opens(self, path: str) -> bool:
        return True

    def path(self, path: str) -> str:
        return f"file:{path}"


def test_spark_reads_files_of_known_sizes_without_a_listing(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it reads large objects; tests/storages/test_s3a.py does so with Hadoop's connector."""
    monkeypatch.setattr(PaimonScanBuilder, "_hadoop", SamePaths("lake", "file", {"fs.other.impl": "x"}))
    spark.sql("CREATE TABLE k (id INT, p STRING) PARTITIONED BY (p)")
    spark.sql("INSERT INTO k VALUES (1, 'a b'), (2, '50%'), (3, 'ü'), (4, 'c:d'), (5, '#')")
    found = spark.sql("SELECT id, p FROM k WHERE id > 1 ORDER BY id")
    assert "PaimonScan[raw]" in plan(found) and "read by S3A" in plan(found)
    assert found.collect() == [(2, "50%"), (3, "ü"), (4, "c:d"), (5, "#")]
    assert spark.sql("SELECT p FROM k WHERE p = '50%'").collect() == [("50%",)]
    (lost, *_) = spark.sql(
        "SELECT file_path FROM k$files WHERE min_value_stats IS NOT NULL ORDER BY file_path"
    ).collect()
    Path(lost.file_path.removeprefix("file:")).unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(Exception, match=r"\.parquet"):
            spark.sql("SELECT * FROM k").collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_equal_names_at_two_endpoints_are_two_tables(spark: Any) -> None:
    """Spark reads a scan once if a query has it twice: the two must not be equal."""
    pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
    setting = "spark.sql.autoBroadcastJoinThreshold"
    with object_server() as one, object_server() as two:
        for name, server in {"one": one, "two": two}.items():
            spark.conf.set(f"spark.sql.catalog.{name}", "paimon_sql.SparkCatalog")
            for key, value in {"warehouse": "s3://lake/wh", **server.options}.items():
                spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
            spark.sql(f"CREATE DATABASE {name}.d")
            spark.sql(f"CREATE TABLE {name}.d.t (id BIGINT, v STRING)")
            spark.sql(f"INSERT INTO {name}.d.t SELECT id, '{name}' FROM range(10)")
        spark.conf.set(setting, "-1")  # both sides of the join are shuffled alike
        try:
            found = spark.sql("SELECT DISTINCT a.v, b.v FROM one.d.t a JOIN two.d.t b ON a.id = b.id").collect()
        finally:
            spark.conf.unset(setting)
    assert [tuple(row) for row in found] == [("one", "two")]


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_settings_of_spark_do_not_hide_lost_rows(spark: Any, harm: str) -> None:
    """A file may be deleted between the plan and its tasks. Workers raise an error for lost rows in any case."""
    spark.sql("CREATE TABLE h (id INT)")
    spark.sql("INSERT INTO h VALUES (1)")
    (row,) = spark.sql("SELECT file_path FROM h$files").collect()
    file = Path(row.file_path.removeprefix("file:"))
    settings = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
    for name in settings:
        spark.conf.set(name, "true")
    try:
        found = spark.sql("SELECT * FROM h")
        assert "PaimonScan[raw]" in plan(found)
        if harm == "missing":
            file.unlink()
        else:
            content = file.read_bytes()
            file.write_bytes(b"PAR1" + b"?" * (len(content) - 8) + b"PAR1")
        with pytest.raises(Exception, match=r"data-[-0-9a-f]+\.parquet"):
            found.collect()
    finally:
        for name in settings:
            spark.conf.unset(name)
