"""Iceberg metadata that both engines keep up in turn."""

from __future__ import annotations

from pathlib import Path

from tests.interop.engines import Engines
from tests.support.iceberg_reader import iceberg_rows, open_iceberg


def test_each_goes_on_from_the_metadata_of_the_other(engines: Engines, java: tuple[object, str]) -> None:
    options = "'metadata.iceberg.storage' = 'table-location', 'bucket' = '1', 'bucket-key' = 'k'"
    engines.run("java", f"CREATE TABLE t (k INT, v STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    folder = Path(java[1], f"{engines.database}.db", "t", "metadata")
    identities = set()
    for number, engine in enumerate(["java", "ours", "java", "ours", "ours", "java"]):
        if number == 4:
            engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t')")
        engines.run(engine, f"INSERT INTO t VALUES ({number}, '{engine}', 'a b'), ({number}, 'x', 'p{number % 2}')")
        expected = engines.rows("ours", "SELECT k, v, p FROM t")
        assert iceberg_rows(folder, "k", "v", "p") == sorted(map(tuple, expected), key=str)
        identities.add(open_iceberg(folder).metadata.table_uuid)
    engines.run("java", "DELETE FROM t WHERE k = 0")
    engines.run("ours", "DELETE FROM t WHERE k = 1")
    expected = engines.rows("ours", "SELECT k, v, p FROM t")
    assert iceberg_rows(folder, "k", "v", "p") == sorted(map(tuple, expected), key=str)
    assert len(identities) == 1, "for its readers it stays the same table"
