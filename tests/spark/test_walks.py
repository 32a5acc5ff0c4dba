"""The modules that a reader of the code passes from a statement's text to the storage: few enough for ten minutes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.io.local import LocalFileIO
from paimon_core.spec.split import DATA_SPLIT
from paimon_sql import open_catalog
from paimon_sql.spark.workers.worker import read_function, write_function
from tests.support.stored import create_table, insert

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PRODUCT = tuple(f"{ROOT / folder}/" for folder in ("paimon_sql", "paimon_core", "catalog", "procedures"))
# wrap calls of all kinds, and lead nowhere
PLUMBING = {"paimon_core/io/side_by_side.py", "paimon_core/lazy.py", "paimon_sql/spark/proxy.py"}


@contextmanager
def walk() -> Iterator[set[str]]:
    """Yield a set that takes the modules on the stack of each call to the storage meanwhile."""
    found = set[str]()
    with pytest.MonkeyPatch.context() as patch:
        for name, member in vars(LocalFileIO).items():
            if not name.startswith("_") and callable(member):
                patch.setattr(LocalFileIO, name, recorded(member, found))
        yield found
    found -= PLUMBING


def recorded(member: Callable[..., Any], found: set[str]) -> Callable[..., Any]:
    @wraps(member)
    def call(*args: Any, **options: Any) -> Any:
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            file = frame.f_code.co_filename
            if file.startswith(PRODUCT):
                found.add(Path(file).relative_to(ROOT).as_posix())
        return member(*args, **options)

    return call


def in_a_task(function: Any, batch: pa.RecordBatch) -> None:
    """Run the function of a task here, without what surrounds it in a worker of Spark."""
    assert list(function.args[0](iter([batch])))


def test_select(spark: Any, warehouse: str) -> None:
    table = create_table(warehouse, primary_key="k", bucket="1")
    for value in ("old", "new"):
        insert(table, [(1, value)])
    (split,) = table.plan(table.latest_snapshot()).splits
    with walk() as modules:
        frame = spark.sql("SELECT * FROM t WHERE k = 1")
        assert list(map(tuple, frame.collect())) == [(1, "new")]
        in_a_task(
            read_function(table.store, frame.schema, None),
            pa.record_batch({"split": [DATA_SPLIT.encode(split).encode()]}),
        )
    assert {"paimon_core/scan/plan.py", "paimon_core/lsm/merge.py"} <= modules
    assert len(modules) < 28, sorted(modules)


def test_insert(spark: Any, warehouse: str) -> None:
    table = create_table(warehouse, primary_key="k", bucket="1")
    with walk() as modules:
        spark.sql("INSERT INTO t SELECT id, 'new' FROM range(3)")
        in_a_task(write_function(table.store, 0), pa.record_batch({"k": [1], "v": ["new"]}))
    assert open_catalog(warehouse).table("default.t").scan().count() == 3
    assert {"paimon_core/commit/commit.py", "paimon_core/write/files/data_files.py"} <= modules
    assert len(modules) < 40, sorted(modules)
