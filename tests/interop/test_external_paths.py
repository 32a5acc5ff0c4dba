"""Data files outside of the table, written by either engine, read and compacted by the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.engines import ENGINES, Engines, other


@pytest.mark.parametrize("first", ENGINES)
def test_files_in_external_paths(engines: Engines, first: str, tmp_path: Path) -> None:
    strategy = "entropy-inject" if first == "ours" else "weight-robin"
    options = f"""
        'data-file.external-paths.weights' = '2,1', 'primary-key' = 'k', 'bucket' = '1', 'data-file.external-paths' = 'file://{tmp_path}/a,file:{tmp_path}/b',
        'data-file.external-paths.strategy' = '{strategy}'
    """
    engines.run(first, f"CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ({options})")
    for number, engine in enumerate((first, other(first), first)):
        engines.run(engine, f"INSERT INTO t VALUES ({number}, '{engine}'), (9, '{engine}')")
        engines.both("SELECT v FROM t WHERE k = 9", [[engine]])
    engines.run(other(first), f"CALL sys.compact(table => '{engines.database}.t')")
    engines.both("SELECT count(*), max(k) FROM t", [[4, 9]])
    assert len(list(tmp_path.rglob("data-*.parquet"))) >= 4
