"""Ctrl-C in the shell and in a notebook while Spark runs a statement: its jobs are cancelled, nothing is committed, and
the session goes on.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from paimon_sql.notebook.answer import Cancelled
from tests.spark.test_notebook import ipython
from tests.support.waiting import PATIENCE
from tests.unit.shell.fakes import shell_on

__all__ = ["ipython"]
pytestmark = pytest.mark.spark

SLOW = "java_method('java.lang.Thread', 'sleep', 20L)"
STATEMENTS = {
    "INSERT": f"INSERT INTO t SELECT CAST(id AS INT), {SLOW} FROM range(0, 1000000, 1, 2)",
    "UPDATE": f"UPDATE t SET v = (SELECT max(s) FROM (SELECT {SLOW} AS s FROM range(0, 1000000, 1, 2)))",
    "MERGE": (
        f"MERGE INTO t USING (SELECT CAST(id AS INT) AS k, {SLOW} AS v FROM range(0, 1000000, 1, 2)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "SELECT": f"SELECT count(s) FROM (SELECT {SLOW} AS s FROM range(0, 1000000, 1, 2))",
}


@contextmanager
def interrupted_once_it_runs(spark: Any) -> Iterator[None]:
    """Press Ctrl-C once tasks of a job run. The handler of the statement must be in place by then."""
    tracker, before = spark.sparkContext.statusTracker(), signal.getsignal(signal.SIGINT)
    is_over = threading.Event()

    def press() -> None:
        until = time.monotonic() + PATIENCE
        while not is_over.wait(0.05) and time.monotonic() < until:
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            if any(stage is not None and stage.numActiveTasks for stage in stages):
                if signal.getsignal(signal.SIGINT) is not before:
                    os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def check_as_before(spark: Any, rows: list[tuple[Any, ...]]) -> None:
    """The table is as before, no job runs, and the session works."""
    tracker, until = spark.sparkContext.statusTracker(), time.monotonic() + PATIENCE
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.05)
    assert not tracker.getActiveJobsIds()
    assert sorted(map(tuple, spark.table("t").collect()), key=str) == rows
    assert spark.sql("SELECT max(snapshot_id) FROM t$snapshots").first()[0] == 1
    spark.sql("INSERT INTO t VALUES (9, 'later')")
    assert spark.table("t").where("k = 9").count() == 1


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_shell(spark: Any, statement: str) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    shell, began = shell_on(spark), time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_once_it_runs(spark):
        shell.run_script(f"{STATEMENTS[statement]}; DROP TABLE t")
    assert time.monotonic() - began < PATIENCE, "the statement takes hours"
    assert shell.err.getvalue() == ""
    check_as_before(spark, [(1, "a"), (2, "b")])


def test_a_notebook(ipython: Any, spark: Any) -> None:
    with pytest.raises(Cancelled) as caught, interrupted_once_it_runs(spark):
        ipython.run_cell_magic("sql", "", STATEMENTS["INSERT"])
    assert caught.value._render_traceback_() == [
        "Cancelled: the jobs of the cell were stopped, and the session goes on."
    ]
    check_as_before(spark, [(1, "a"), (2, 'b"}'), (3, None)])
