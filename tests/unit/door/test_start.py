"""The start of the process for a JVM driver: its lines, the choice of PySpark, and what it reports."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

from paimon_sql.door.start import PROTOCOL, Driver, pyspark_path, read_driver
from paimon_sql.spark.jvm.java import door

PATIENCE = 120  # seconds
LINE = re.compile(r'^ +[+ ] ?"(.*)\\n"', re.M)


def bootstrap() -> str:
    """The program that the jar starts, out of the Java source."""
    source = files(door).joinpath("Interpreter.java").read_text("utf-8")
    text = source[source.index("String BOOTSTRAP") :]
    lines = LINE.findall(text[: text.index(";\n\n")])
    return "\n".join(line.replace("\\\\", "\\") for line in lines) + "\n"


def run(code: str, given: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, input=given, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)


def driver(spark: str, *path: str) -> Driver:
    return Driver(1, "secret", spark, path)


def test_the_jar_and_the_package_have_the_same_protocol() -> None:
    source = files(door).joinpath("PythonProcess.java").read_text("utf-8")
    assert f'PROTOCOL = "{PROTOCOL}"' in source


def test_the_lines_of_a_driver() -> None:
    lines = io.StringIO(f"{PROTOCOL}\n4711\ns3cret\n4.3.0\n/spark/python/lib/pyspark.zip:/spark/py4j.zip\n")
    expected = Driver(4711, "s3cret", "4.3.0", ("/spark/python/lib/pyspark.zip", "/spark/py4j.zip"))
    assert read_driver(lines.readline) == expected


def test_a_jar_of_another_version_is_refused() -> None:
    with pytest.raises(RuntimeError, match="paimon-sql jar --out"):
        read_driver(io.StringIO("0\n1\n2\n3\n4\n").readline)


def test_an_installed_pyspark_of_the_same_version_is_used(tmp_path: Path) -> None:
    (tmp_path / "pyspark.zip").touch()
    assert pyspark_path(driver("4.3.0", f"{tmp_path}/pyspark.zip"), "4.3.0") == ()


def test_the_pyspark_of_the_drivers_spark_is_used_before_another(tmp_path: Path) -> None:
    found = [f"{tmp_path}/pyspark.zip", f"{tmp_path}/py4j-0.10.9.9-src.zip"]
    for path in found:
        Path(path).touch()
    given = driver("4.1.1", *found, "/spark/jars/spark-core.jar", f"{tmp_path}/gone.zip")
    assert pyspark_path(given, "4.3.0") == found
    assert pyspark_path(given, None) == found


def test_a_near_version_is_used_if_the_drivers_spark_has_none() -> None:
    assert pyspark_path(driver("4.3.1"), "4.3.0") == ()


@pytest.mark.parametrize("installed", [None, "4.1.0"])
def test_no_fitting_pyspark_is_an_error_with_the_command(installed: str | None) -> None:
    with pytest.raises(RuntimeError, match=r"-m pip install pyspark==4\.3\.0"):
        pyspark_path(driver("4.3.0"), installed)


def test_the_bootstrap_reports_a_python_that_is_too_old() -> None:
    done = run("import sys\nsys.version_info = (3, 8, 1)\n" + bootstrap())
    assert (done.returncode, done.stdout) == (1, "python 3.8\n")


def test_the_bootstrap_reports_a_missing_package(tmp_path: Path) -> None:
    hides = (
        "import sys\nclass Hides:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'paimon_sql':\n            raise ModuleNotFoundError(name)\n"
    )
    gone = "import importlib.util\nimportlib.util.find_spec = lambda name: None\n"
    done = run(hides + gone + bootstrap(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "package paimon_sql\n")


def test_a_folder_in_the_current_one_is_not_taken_for_the_package(tmp_path: Path) -> None:
    (tmp_path / "paimon_sql").mkdir()
    (tmp_path / "paimon_sql" / "__init__.py").write_text("raise SystemExit(7)")
    done = run(bootstrap(), "0\n", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(":")[0]) == (
        1,
        "failed the jar was made by another version of paimon-sql",
    )


@pytest.mark.parametrize("lines", ["", f"{PROTOCOL}\n4711\n", f"{PROTOCOL}\n4711\ns3cret\n{version('pyspark')}\n\n"])
def test_python_ends_if_the_driver_has_ended_before_it_is_ready(tmp_path: Path, lines: str) -> None:
    assert run(bootstrap(), lines, cwd=tmp_path).returncode == 1


def test_a_driver_that_cannot_be_reached_is_reported_in_one_line_without_the_secret(tmp_path: Path) -> None:
    lines = f"{PROTOCOL}\n1\ns3cret\n{version('pyspark')}\n\n"
    done = run(bootstrap(), lines, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("failed ") and done.stdout.count("\n") == 1
    assert "s3cret" not in done.stdout + done.stderr


def test_python_ends_if_nobody_reads_its_report() -> None:
    """A driver that was killed reads nothing, and a thread that waits for it does not keep the process."""
    waits = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-c", waits + bootstrap()], input=b"0\n", stdout=closed, timeout=PATIENCE, check=False
        )
    assert done.returncode == 1
