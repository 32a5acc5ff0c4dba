"""MAPs with a column per key: written, read, merged, changed and compacted by both engines."""

from __future__ import annotations

import pytest

from tests.interop.engines import Engines

ROWS = (
    "(1, map('a', 1L, 'b', 2L, 'c', 3L, 'd', NULL), map('x', named_struct('i', 1, 's', 'q')), 'p')",
    "(2, NULL, map('y', NULL, 'ü', named_struct('i', 2, 's', NULL), 'x', named_struct('i', 3, 's', 'r')), 'p')",
    "(3, map(), NULL, 'p')",
    "(4, map('c', 9L, 'a', 8L), map(), 'p')",
)
SHOWN = "SELECT k, m, s, t FROM t ORDER BY k, t"


@pytest.mark.parametrize(
    ("kind", "creator"),
    [
        ("'primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true'", "java"),
        ("'row-tracking.enabled' = 'true'", "ours"),
        ("'file.format' = 'orc'", "ours"),
    ],
)
def test_keys_in_columns(engines: Engines, kind: str, creator: str) -> None:
    layout = ", ".join(
        f"'fields.{c}.map.storage-layout' = 'shared-shredding', 'fields.{c}.map.shared-shredding.max-columns' = '2'"
        for c in "ms"
    )
    columns = "k INT, m MAP<STRING, BIGINT>, s MAP<STRING, STRUCT<i: INT, s: STRING>>, t STRING"
    engines.run(creator, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({kind}, {layout})")
    for engine, rows in ((creator, ROWS), ("java", ROWS[2:])):
        engines.run(engine, f"INSERT INTO t SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}")
    engines.both(SHOWN)
    assert engines.rows("ours", "SELECT count(*) FROM t WHERE m['a'] = 8 OR m IS NULL")[0][0] in (2, 3)
    engines.run("ours", "UPDATE t SET t = 'q' WHERE k = 1", "UPDATE t SET m = map('n', 7L) WHERE k = 2")
    engines.run("ours", f"INSERT INTO t VALUES {ROWS[0]}")
    changed = engines.both(SHOWN)
    for engine in ("ours", "java"):
        engines.run(engine, f"CALL sys.compact(table => '{engines.database}.t', compact_strategy => 'full')")
        engines.both(SHOWN, changed)
