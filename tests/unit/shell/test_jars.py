"""`paimon-sql jar` and `paimon-sql spark-options`."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import pytest

from paimon_sql.shell import jars
from paimon_sql.shell.main import main

CLASSES = {"paimon_sql.Door": b"\xca\xfe\xba\xbe1", "a.B$C": b"\xca\xfe\xba\xbe2"}


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / jars.DEFAULT_JAR).write_bytes(jars.jar_of(CLASSES))
    return tmp_path / jars.DEFAULT_JAR


def words(out: str) -> dict[str, str]:
    given = out.split()
    assert given[::2] == ["--conf"] * (len(given) // 2)
    return dict(word.split("=", 1) for word in given[1::2])


def test_the_same_classes_make_the_same_file() -> None:
    made = jars.jar_of(CLASSES)
    assert made == jars.jar_of(dict(reversed(CLASSES.items())))
    with zipfile.ZipFile(io.BytesIO(made)) as read:
        assert read.namelist() == ["META-INF/MANIFEST.MF", "a/B$C.class", "paimon_sql/Door.class"]
        assert read.read("a/B$C.class") == CLASSES["a.B$C"]


def test_the_jar_is_written_and_its_checksum_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "_compiled_classes", lambda: CLASSES)
    out = tmp_path / "door.jar"
    assert main(["jar", "--out", str(out)]) == 0
    assert hashlib.sha256(out.read_bytes()).hexdigest() in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["door.jar"]


def test_a_folder_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "_compiled_classes", lambda: CLASSES)
    assert main(["jar", "--out", str(tmp_path / "none" / "door.jar")]) == 1
    assert "could not be made" in capsys.readouterr().err


def test_the_options_of_a_warehouse(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-options", "-w", "lake"]) == 0
    assert words(capsys.readouterr().out) == {
        "spark.jars": str(jar),
        "spark.sql.extensions": "paimon_sql.Extensions",
        "spark.sql.catalog.paimon": "paimon_sql.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": str(jar.parent / "lake"),
        "spark.sql.defaultCatalog": "paimon",
        "spark.pyspark.driver.python": sys.executable,
    }


def test_other_settings_stay(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-c", "spark.sql.extensions=other.Extensions", "-c", "spark.jars=/o.jar", "-c", "cache-enabled=false"]
    assert main(["spark-options", "-w", "s3://lake/x", "--catalog", "c", *given]) == 0
    found = words(capsys.readouterr().out)
    assert found["spark.sql.extensions"] == "other.Extensions,paimon_sql.Extensions"
    assert found["spark.jars"] == f"/o.jar,{jar}"
    assert found["spark.sql.catalog.c.warehouse"] == "s3://lake/x"
    assert found["spark.sql.catalog.c.cache-enabled"] == "false"
    assert found["spark.sql.defaultCatalog"] == "c"


def test_paimon_tables_beside_sparks_own(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-options", "-w", "/lake", "--catalog", "spark_catalog"]) == 0
    found = words(capsys.readouterr().out)
    assert found["spark.sql.catalog.spark_catalog"] == "paimon_sql.SparkGenericCatalog"
    assert found["spark.sql.catalog.spark_catalog.warehouse"] == "/lake"


def test_a_warehouse_in_the_home_folder(
    jar: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(jar.parent / "home"))
    assert main(["spark-options", "-w", "~/lake"]) == 0
    assert words(capsys.readouterr().out)["spark.sql.catalog.paimon.warehouse"] == str(jar.parent / "home/lake")


def test_a_rest_catalog_needs_no_warehouse(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-options", "--metastore", "rest", "--uri", "https://host"]) == 0
    found = words(capsys.readouterr().out)
    assert found["spark.sql.catalog.paimon.metastore"] == "rest"
    assert "spark.sql.catalog.paimon.warehouse" not in found


def test_the_jar_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["spark-options", "-w", "/lake"]) == 1
    assert "Make it by paimon-sql jar --out paimon-sql-door.jar" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        ["-w", "/lake", "-c", "fs.s3a.secret.key=s3cret"],
        ["--metastore", "jdbc", "--uri", "jdbc:mysql://u:s3cret@host/d"],
    ],
)
def test_a_secret_is_not_printed_for_a_command_line(
    jar: Path, capsys: pytest.CaptureFixture[str], given: list[str]
) -> None:
    assert main(["spark-options", *given]) == 1
    shown = capsys.readouterr()
    assert "s3cret" not in shown.out + shown.err and "--properties" in shown.err


@pytest.mark.parametrize("warehouse", ["/a lake", "/lake*", "/lake$HOME", "/lake'"])
def test_a_value_that_a_shell_changes_is_refused(jar: Path, capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    assert main(["spark-options", "-w", warehouse]) == 1
    assert "--properties" in capsys.readouterr().err


def test_properties_are_escaped_as_java_reads_them(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-options", "--properties", "-w", "/a lake\\x", "-c", "token=s3cret", "-c", "a=b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "spark.sql.catalog.paimon.warehouse /a lake\\\\x" in lines
    assert "spark.sql.catalog.paimon.token s3cret" in lines
