"""Findings of `paimon-sql doctor` if the Python of executors has no packages or is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def doctor(python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "paimon_sql", "doctor"]
    environment = {**os.environ, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("has_python", [True, False])
def test_executors_without_the_packages(tmp_path: Path, has_python: bool) -> None:
    python = tmp_path / "python"
    if has_python:  # without its site-packages
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        python.chmod(0o755)
    done = doctor(str(python), tmp_path)
    assert done.returncode == 1, done.stderr[-2000:]
    said = done.stdout.partition("Java, and Python of the executors:\n")[2]
    if has_python:
        assert "lacks paimon_sql\n" in said and "lacks pyarrow\n" in said and "do: run pip install pyarrow==" in said
    else:
        assert f"executors cannot run Python by '{python}': " in said and "No such file" in said
