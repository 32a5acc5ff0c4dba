"""Commands on tables: what they print, without PySpark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_sql import open_catalog
from paimon_sql.__main__ import main
from paimon_sql.shell.tables import run_table_command

SCHEMA = pa.schema([pa.field("id", pa.int64(), metadata={"comment": "of a row"}), ("at", pa.timestamp("us", "UTC"))])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A warehouse with the keyed table `shop.t` of three rows, in two versions."""
    catalog = open_catalog(str(tmp_path / "lake"))
    catalog.create_database("shop")
    table = catalog.create_table("shop.t", SCHEMA, primary_key="id", options={"bucket": 1})
    table.upsert([{"id": 1}, {"id": 2}])
    table.upsert(pa.table({"id": [3], "at": pa.array([0], pa.timestamp("us", "UTC"))}))
    return str(tmp_path / "lake")


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints."""
    assert run_table_command(words) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_head(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "head", "shop.t", "-w", warehouse, "--where", "id = 3", "--time-zone", "+02:00") == (
        " id | at\n----+---------------------\n  3 | 1970-01-01 02:00:00\n"
    )
    assert ran(capsys, "head", "shop.t", "-w", warehouse, "--version", "1", "--columns", "id", "--output", "csv") == (
        "id\n1\n2\n"
    )
    path = f"{warehouse}/shop.db/t"
    assert len(ran(capsys, "head", path, "-n", "1", "--output", "json").splitlines()) == 1


def test_rows_as_parquet(warehouse: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run_table_command(["head", "shop.t", "-w", warehouse, "--output", "parquet"]) == 0
    found = pq.read_table(pa.BufferReader(capfdbinary.readouterr().out))
    assert (found["id"].to_pylist(), found.schema.field("at").type) == ([1, 2, 3], pa.timestamp("us", "UTC"))


def test_parquet_is_not_printed_on_a_terminal(
    warehouse: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run_table_command(["head", "shop.t", "-w", warehouse, "--output", "parquet"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "redirect the output into a file" in printed.err


def test_count_and_schema(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "count", "shop.t", "-w", warehouse, "--output", "csv") == "count\n3\n"
    assert ran(capsys, "count", "shop.t", "-w", warehouse, "--where", "id > 1", "--output", "csv") == "count\n2\n"
    assert ran(capsys, "schema", "shop.t", "-w", warehouse, "--output", "csv").splitlines() == [
        "column,type,key,comment",
        "id,BIGINT NOT NULL,primary,of a row",
        "at,TIMESTAMP(6) WITH LOCAL TIME ZONE,,",
    ]


def test_picture(warehouse: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    printed = ran(capsys, "picture", "shop.t", "-w", warehouse)
    assert "LSM trees of shop.t\n" in printed and "Timeline of shop.t\n" in printed
    assert max(map(len, printed.splitlines())) <= 70
    assert ran(capsys, "picture", "shop.t", "-w", warehouse, "--bucket", "0").startswith("LSM trees of shop.t\n")
    out = f"{warehouse}/t.svg"
    assert ran(capsys, "picture", "shop.t", "-w", warehouse, "--kind", "timeline", "--out", out) == ""
    assert Path(out).read_text().startswith("<svg ")
    assert run_table_command(["picture", "shop.t", "-w", warehouse, "--out", f"{warehouse}/no/t.html"]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_inspect_and_call(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "call", "create_tag", "table=shop.t", "tag=one", "snapshot=1", "-w", warehouse)
    assert '"tag_name": "one"' in ran(capsys, "inspect", "shop.t$tags", "-w", warehouse, "--output", "json")
    assert '"table_name": "t"' in ran(capsys, "inspect", "sys.tables", "-w", warehouse, "--output", "json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["head", "shop.x"], "shop.x"),
        (["head", "shop.t", "--where", "x = 1"], "'x', which does not exist"),
        (["inspect", "shop.t"], "is not a system table"),
        (["call", "create_tag", "table=shop.t", "tag=x", "snapshot=one"], "snapshot cannot be 'one'"),
        (["call", "nothing"], "There is no procedure 'nothing'"),
        (["head", "shop.t", "-c", "spark.x=1"], "-c spark.x has no effect: paimon-sql head does not start Spark"),
    ],
)
def test_errors(warehouse: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_table_command([*words, "-w", warehouse]) == 1
    printed = capsys.readouterr()
    assert message in printed.err and printed.out == ""


def test_no_pyspark_is_imported(warehouse: str, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyspark'] = sys.modules['py4j'] = None; import runpy; "
        f"sys.argv = ['paimon-sql', 'count', 'shop.t', '-w', {warehouse!r}, '--output', 'csv']; "
        "runpy.run_module('paimon_sql', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "count\n3\n", "")


def test_doctor(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "doctor", "shop.t", "-w", warehouse) == "No rule has advice for shop.t.\n"
    open_catalog(warehouse).table("shop.t").alter(options={"compaction.min.file-numm": "1"})
    assert ran(capsys, "doctor", "shop.t", "-w", warehouse, "--deep", "--catalog", "lake").splitlines() == [
        "option 'compaction.min.file-numm' is not an option of Paimon",
        "  why: it does nothing; did you mean 'compaction.min.file-num'?",
        "  run: ALTER TABLE lake.shop.t UNSET TBLPROPERTIES ('compaction.min.file-numm')",
    ]


def test_doctor_for_readers(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = ran(capsys, "doctor", "shop.t", "-w", warehouse, "--readers", "Paimon 0.5")
    assert found.splitlines()[0] == "Paimon 0.5 reads no table after a commit of paimon-sql"


def test_doctor_without_a_table_checks_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["paimon-sql", "doctor"])
    monkeypatch.setattr("paimon_sql.shell.main.main", lambda: 7)
    assert main() == 7
