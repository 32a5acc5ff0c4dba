"""The package that tests import: this checkout, or in `make campaign NAME=wheel` an installed wheel."""

from __future__ import annotations

import os
import re
from importlib.metadata import distribution, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import paimon_core
import paimon_sql
from paimon_sql import catalog, procedures

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
IS_WHEEL = not (ROOT / "paimon_core").exists()


def test_all_packages_come_from_one_installation() -> None:
    modules = (paimon_core, paimon_sql, catalog, procedures)
    folders = {Path(str(m.__file__)).parents[2 if m in (catalog, procedures) else 1] for m in modules}
    installed = Path(str(distribution("paimon-sql").locate_file("")))
    if IS_WHEEL:
        assert folders == {installed} and installed.name == "site-packages"
    else:
        assert ROOT in folders


@pytest.mark.skipif(not IS_WHEEL, reason="make campaign NAME=wheel installs declared packages only")
def test_only_declared_packages_are_installed() -> None:
    extras = {re.split(r"[>=<;\[ ]", r)[0] for r in requires("paimon-sql") or () if "extra ==" in r}
    assert extras > {"fsspec", "obstore", "pandas", "datasketches", "prompt_toolkit"}
    missing = {"fsspec", "obstore", "pandas", "datasketches", "prompt_toolkit"}
    assert [name for name in missing if find_spec(name) is not None] == []


def test_workers_import_the_same_package(spark: Any) -> None:
    found = spark.sparkContext.parallelize([0], 1).map(_place).collect()
    assert found == [_place(0)]


def _place(_: int) -> str:
    return os.path.realpath(str(paimon_core.__file__))
