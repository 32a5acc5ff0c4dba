"""Build paimon-sql-core: a copy of the checkout, in which pyproject.toml has another name and no PySpark."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta

CHECKOUT = Path(__file__).parents[1]
FOLDERS = ("paimon_core", "paimon_sql", "catalog", "procedures")
FILES = ("README.md", "LICENSE")
_SPARK = re.compile(r'^  ("pyspark[^"]*"),\n', re.MULTILINE)


def project(text: str) -> str:
    """Return pyproject.toml of this distribution. Raises `ValueError` if the checkout's file has another form."""
    spark = _SPARK.findall(text)
    if len(spark) != 1 or text.count('\nname = "paimon-sql"\n') != 1:
        raise ValueError("pyproject.toml of paimon-sql has no name or no PySpark where this module expects them")
    text = _SPARK.sub("", text).replace('\nname = "paimon-sql"\n', '\nname = "paimon-sql-core"\n')
    text = text.replace('"paimon-sql[', '"paimon-sql-core[')  # extras that bring others
    extras = "[project.optional-dependencies]\n"
    return text.replace(extras, f"{extras}spark = [{spark[0]}]\n")


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel, for pip. See PEP 517."""
    with _staged():
        return str(build_meta.build_wheel(os.path.abspath(wheel_directory), config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Mapping[str, Any] | None = None) -> str:
    """Build the sources, for pip. They build without a checkout. See PEP 517."""
    with _staged():
        return str(build_meta.build_sdist(os.path.abspath(sdist_directory), config_settings))


@contextmanager
def _staged() -> Iterator[None]:
    """Work in a folder that looks like the checkout of this distribution."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in FOLDERS:
            shutil.copytree(CHECKOUT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        for name in FILES:
            shutil.copy(CHECKOUT / name, folder)
        Path(folder, "pyproject.toml").write_text(project((CHECKOUT / "pyproject.toml").read_text("utf-8")), "utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
