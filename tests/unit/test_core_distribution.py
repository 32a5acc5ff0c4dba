"""paimon-sql-core is paimon-sql without the dependency on PySpark. `make campaign NAME=wheel` installs and tries it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from paimon_core.optional_packages import install_command, missing_pyspark

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.fixture
def backend() -> Any:
    spec = importlib.util.spec_from_file_location("without_spark", ROOT / "paimon-sql-core" / "without_spark.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_differs_in_its_name_and_in_pyspark_alone(backend: Any) -> None:
    whole, core = tomllib.loads(TEXT), tomllib.loads(backend.project(TEXT))
    spark = [d for d in whole["project"]["dependencies"] if d.startswith("pyspark")]
    assert core["project"]["name"] == "paimon-sql-core"
    assert core["project"]["optional-dependencies"].pop("spark") == spark
    whole["project"]["name"] = "paimon-sql-core"
    whole["project"]["dependencies"].remove(*spark)
    extras = whole["project"]["optional-dependencies"]
    for name, packages in extras.items():
        extras[name] = [p.replace("paimon-sql[", "paimon-sql-core[") for p in packages]
    assert core == whole
    assert all((ROOT / folder).is_dir() for folder in backend.FOLDERS)
    assert {p.partition(".")[0] for p in core["tool"]["setuptools"]["packages"]} <= set(backend.FOLDERS)


def test_another_form_of_pyproject_is_an_error(backend: Any) -> None:
    for text in (TEXT.replace('"pyspark', '"other'), TEXT.replace('name = "paimon-sql"', 'name = "x"')):
        with pytest.raises(ValueError, match="pyproject.toml"):
            backend.project(text)


def test_spark_is_refused_by_name_without_pyspark(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["pyspark"] = sys.modules["py4j"] = None
import paimon_sql
from paimon_core.errors import UnsupportedFeatureError
for name in paimon_sql.__all__:
    try:
        getattr(paimon_sql, name)
        print(name)
    except UnsupportedFeatureError as error:
        assert f"paimon_sql.{name} needs the package pyspark" in str(error)
sys.argv = ["paimon-sql", "-e", "SELECT 1"]
from paimon_sql.__main__ import main
assert main() == 1
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.split(), done.returncode) == (["metrics", "open_catalog", "open_table"], 0), done.stderr
    assert "head, schema, count" in done.stderr and "pip install paimon-sql" in done.stderr


def test_commands_name_the_distribution_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_command("duckdb") == "pip install 'paimon-sql[duckdb]'"
    monkeypatch.setattr("paimon_core.optional_packages._has", lambda name: name == "paimon-sql-core")
    assert install_command("duckdb") == "pip install 'paimon-sql-core[duckdb]'"
    missing = missing_pyspark("This", ModuleNotFoundError("no", name="py4j.java_gateway"))
    assert "pip install 'paimon-sql-core[spark]'" in str(missing)
    other = ModuleNotFoundError("no", name="numpy")
    assert missing_pyspark("This", other) is other


@pytest.mark.parametrize(
    ("installed", "warns"),
    [
        (("paimon_sql-0.1.0", "paimon_sql_core-0.1.0"), True),
        (("paimon_sql-0.2.0", "paimon_sql_core-0.1.0"), True),
        (("paimon_sql_core-0.1.0", "dbt_paimon-0.1.0"), False),
        (("paimon_sql-0.1.0", "paimon_sql_other-0.1.0"), False),
    ],
)
def test_both_distributions_in_one_environment_are_named(
    installed: tuple[str, ...], warns: bool, tmp_path: Path
) -> None:
    (tmp_path / "paimon_sql").symlink_to(ROOT / "paimon_sql")
    for name in installed:
        (tmp_path / f"{name}.dist-info").mkdir()
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import paimon_sql; print(paimon_sql.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith(str(tmp_path))
    assert (f"paimon-sql and paimon-sql-core are both installed in {tmp_path}" in done.stderr) is warns
    assert ("pip uninstall -y paimon-sql paimon-sql-core" in done.stderr) is warns
