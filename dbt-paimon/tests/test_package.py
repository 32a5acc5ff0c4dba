"""The package: its version and licence are those of paimon-sql, and its wheel has every macro."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1]


def _project(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]


def test_both_packages_are_one_release():
    ours, sql = _project(FOLDER / "pyproject.toml"), _project(FOLDER.parent / "pyproject.toml")
    assert (ours["version"], ours["license"]) == (sql["version"], sql["license"])
    assert f"paimon-sql=={sql['version']}" in ours["dependencies"]
    assert ours["requires-python"] == sql["requires-python"]


def test_the_wheel_is_complete(tmp_path):
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path / "out")]
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", str(FOLDER), str(source)], check=True)
    subprocess.run([*pip, str(source)], check=True)
    (wheel,) = (tmp_path / "out").glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("dbt/")}
    known = (".py", ".sql", ".yml")
    files = {str(p.relative_to(FOLDER)) for p in (FOLDER / "dbt").rglob("*") if p.suffix in known}
    assert packed == files
    assert "dbt/__init__.py" not in packed and "dbt/adapters/__init__.py" not in packed  # those are dbt's
