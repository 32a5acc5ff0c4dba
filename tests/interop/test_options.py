"""Options that change files, set by either engine: what one writes the other reads, and goes on from."""

from __future__ import annotations

import pytest
from pyroaring import BitMap64

from paimon_core.spec.encodings.roaring64 import encode_roaring64
from tests.interop.engines import ENGINES, Engines, other


@pytest.mark.parametrize("engine", ENGINES)
def test_overwrites_and_their_manifests(engines: Engines, engine: str) -> None:
    """Files of an overwrite count as compacted; manifests in snappy, without the statistics of deleted files."""
    engines.run(
        engine,
        "CREATE TABLE t (k INT, v VARIANT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'p,k', "
        "'bucket' = '1', 'manifest.compression' = 'snappy', 'manifest.delete-file-drop-stats' = 'true')",
        "INSERT INTO t SELECT 1, parse_json('{\"a\": 1}'), 1",
        "INSERT INTO t SELECT 1, parse_json('[2]'), 2",
        "INSERT OVERWRITE t PARTITION (p = 2) SELECT 5, parse_json('\"x\"')",
    )
    assert [5, 1] in engines.rows(engine, "SELECT level, record_count FROM `t$files`")
    engines.run(other(engine), "INSERT INTO t SELECT 1, parse_json('true'), 1", "ANALYZE TABLE t COMPUTE STATISTICS")
    engines.both("SELECT p, k, to_json(v) FROM t", [[1, 1, "true"], [2, 5, '"x"']])
    engines.both("SELECT mergedRecordCount FROM `t$statistics`", [[2]])
    engines.run(engine, f"CALL sys.compact(table => '{engines.database}.t')")
    engines.both("SELECT p, k, to_json(v) FROM `t$audit_log`", [[1, 1, "true"], [2, 5, '"x"']])


def test_bitmaps_of_64_bits(engines: Engines) -> None:
    """Merged by each engine after the other: the bytes are its own, the numbers the same."""
    sets = [[1, 2, 2**40], [2, 7, 2**40 + 1], list(range(0, 99_999, 3))]
    engines.run(
        "ours",
        "CREATE TABLE b (k INT, m BINARY) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'merge-engine' = "
        "'aggregation', 'fields.m.aggregate-function' = 'rbm64')",
    )
    compact = f"CALL sys.compact(table => '{engines.database}.b')"
    for engine, numbers in zip(("java", "ours", "java"), sets, strict=True):
        coded = encode_roaring64(BitMap64(numbers)).hex()
        engines.run(engine, f"INSERT INTO b VALUES (1, X'{coded}')", compact)
    expected = encode_roaring64(BitMap64(n for numbers in sets for n in numbers))
    ((length,),) = engines.both("SELECT length(m) FROM b")
    assert length == len(expected)


def test_the_latest_snapshot_wins(engines: Engines) -> None:
    """`sequence.snapshot-ordering`: whatever numbers each engine gave its rows, before and after a compaction."""
    engines.run(
        "ours",
        "CREATE TABLE s (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true', "
        "'sequence.snapshot-ordering' = 'true')",
        "INSERT INTO s SELECT id, 'a' FROM range(100)",
    )
    for engine, values in (("java", "(3, 'b')"), ("ours", "(3, 'c'), (4, 'c')"), ("java", "(3, 'd')")):
        engines.run(engine, f"INSERT INTO s VALUES {values}")
    changed = "SELECT * FROM s WHERE v <> 'a'"
    engines.both(changed, [[3, "d"], [4, "c"]])
    for engine, value in zip(("java", "ours"), ("e", "f"), strict=True):
        engines.run(engine, f"CALL sys.compact(table => '{engines.database}.s')")
        engines.run(other(engine), f"INSERT INTO s VALUES (3, '{value}')")
        engines.both(changed, [[3, value], [4, "c"]])
    engines.both("SELECT level, min_sequence_number, max_sequence_number FROM `s$files`")
