"""`paimon-sql run`: the environment that a program gets, and what Python runs before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_sql.shell.main import main
from paimon_sql.shell.programs import AUTOLOAD

JOB = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ)], open(sys.argv[1], 'w')); sys.exit(7)"
# stands for PySpark: what the hook needs of it
PYSPARK = """
class SparkSession:
    _sc = "a context"
    class Builder:
        def getOrCreate(self):
            return session
session = SparkSession()
"""
PAIMON_SQL = """
installed = []
def install(session):
    installed.append(session)
def configured_catalogs(session):
    return getattr(session, "catalogs", [])
"""


def test_a_job_gets_its_arguments_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "")  # so that the variable is removed after the test, too
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    job, seen = tmp_path / "job.py", tmp_path / "seen"
    job.write_text(JOB)
    assert main(["run", "--master", "local[3]", "-c", "spark.x=a b", str(job), str(seen), "--master", "mine"]) == 7
    arguments, environment = json.loads(seen.read_text())
    assert arguments == [str(seen), "--master", "mine"]
    assert environment["PYTHONPATH"] == f"{AUTOLOAD}{os.pathsep}before"
    assert environment["PYSPARK_SUBMIT_ARGS"] == "--master 'local[3]' --conf 'spark.x=a b' pyspark-shell"


def test_commands_and_what_cannot_be_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", sys.executable, "-c", "import sys; sys.exit(3)"]) == 3
    assert main(["run", "-c", "uri=x", "job.py"]) == 2
    assert main(["run", str(tmp_path / "no-such-command")]) == 2
    errors = capfd.readouterr().err
    assert "Only settings of Spark" in errors and "no-such-command cannot be run" in errors
    assert main(["run", "a.sql"]) == 2
    assert "paimon-sql -f a.sql" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["run"])


def in_python(code: str, folder: Path, *before: Path) -> str:
    """What a program prints that starts with the hook, with modules of a folder."""
    path = os.pathsep.join(str(part) for part in (AUTOLOAD, *before, folder))
    command = [sys.executable, "-S", "-c", f"import sitecustomize\n{code}"]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    (tmp_path / "pyspark" / "sql").mkdir(parents=True)
    (tmp_path / "pyspark" / "sql" / "session.py").write_text(PYSPARK)
    (tmp_path / "paimon_sql.py").write_text(PAIMON_SQL)
    return tmp_path


def test_each_session_is_installed_once(modules: Path) -> None:
    code = (
        "from pyspark.sql.session import SparkSession, session\n"
        "import sys; print('paimon_sql' in sys.modules)\n"
        "assert SparkSession.Builder().getOrCreate() is SparkSession.Builder().getOrCreate() is session\n"
        "import paimon_sql; print(len(paimon_sql.installed))"
    )
    assert in_python(code, modules).split() == ["False", "1"]


def test_nothing_happens_without_the_package(modules: Path) -> None:
    (modules / "paimon_sql.py").unlink()
    code = "from pyspark.sql.session import SparkSession as S; print(S.Builder().getOrCreate()._sc)"
    assert in_python(code, modules) == "a context"


def test_another_sitecustomize_runs(modules: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("print('other')")
    assert in_python("print('program')", modules, other).split() == ["other", "program"]


@pytest.mark.parametrize(("catalogs", "said"), [([], True), (["paimon"], False)])
def test_a_session_without_a_catalog_is_said(modules: Path, catalogs: list[str], said: bool) -> None:
    code = (
        "import io, sys\nsys.stderr = io.StringIO()\n"
        f"from pyspark.sql.session import SparkSession, session\nsession.catalogs = {catalogs}\n"
        "SparkSession.Builder().getOrCreate(), SparkSession.Builder().getOrCreate()\n"
        "print(sys.stderr.getvalue().count('spark.sql.catalog.paimon=paimon_sql.SparkCatalog'))"
    )
    assert in_python(code, modules) == str(int(said))
