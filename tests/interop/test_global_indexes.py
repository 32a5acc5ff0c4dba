"""Global indexes of one engine serve the other: every type of column, compressed blocks, rows that came later."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines, other

COLUMNS = (
    "id INT, t TINYINT, s SMALLINT, l BIGINT, f FLOAT, d DOUBLE, b BOOLEAN, c STRING, h VARCHAR(6), n DECIMAL(10, 2), "
    "w DECIMAL(30, 5), a DATE, m TIMESTAMP, z TIMESTAMP_NTZ"
)
ROWS = (
    "SELECT CAST(id AS INT), CAST(id % 100 - 50 AS TINYINT), CAST(id * 7 % 1000 AS SMALLINT), id * 10000000000 - 7, "
    "CAST(id % 9 - 4 AS FLOAT) / 2, if(id % 10 = 0, double('NaN'), (id % 50 - 25) / 3), id % 2 = 0, "
    "if(id % 11 = 0, NULL, concat(repeat('text ', CAST(id % 13 AS INT)), id % 400)), concat('h', id % 7), "
    "CAST(id % 70 - 35 AS DECIMAL(10, 2)), CAST(id % 70 - 35 AS DECIMAL(30, 5)) * 1000000000000, "
    "date_add(DATE '1969-12-20', CAST(id % 30 AS INT)), timestamp_micros(id * 1000003 - 99000000), "
    "CAST(timestamp_micros(id * 1000003) AS TIMESTAMP_NTZ) FROM range({}, {})"
)
INDEXES = {
    "btree": "id,l,d,c,m",
    "bitmap": "s,f,b,c,w,z",
}
OPTIONS = {
    "id": "btree-index.block-size=1 kb,btree-index.compression=lz4",
    "l": "btree-index.compression=zstd",
    "c": "btree-index.compression=zstd,bitmap-index.compression=lz4,bitmap-index.dictionary-block-size=512 b",
    "s": "bitmap-index.compression=zstd,sorted-index.records-per-range=300",
}
CONDITIONS = (
    "id IN (5, 77, 1003, 5000)",
    "t = -50 AND id < 200",
    "t > 48",
    "s IN (7, 14, 2000)",
    "l BETWEEN 99999999990 AND 129999999994",
    "f <= -2 AND id > 950",
    "d = double('NaN') AND id < 50",
    "d > 7.9 AND d < 8.1",
    "b AND id BETWEEN 3 AND 9",
    "c = 'text 27'",
    "c LIKE 'text text 2%'",
    "c IS NULL AND id > 900",
    "c <> 'text 1' AND id < 4",
    "h = 'h3' AND id < 30",
    "n = 0.5",
    "n = 34",
    "w = 34000000000000",
    "a < DATE '1969-12-22' AND id > 900",
    "m = TIMESTAMP '1969-12-31 23:58:25.000019'",
    "z > TIMESTAMP_NTZ '1970-01-01 00:16:30'",
    "NOT (id <= 995) OR (t = 3 AND c IS NULL)",
)


def answers(source: str) -> str:
    """One query that asks all conditions."""
    return " UNION ALL ".join(f"SELECT {i} AS c, id FROM {source} WHERE {c}" for i, c in enumerate(CONDITIONS))


def listed(*columns: str) -> str:
    return f"SELECT {', '.join(columns)} FROM `t$table_indexes` WHERE index_field_name IS NOT NULL"


@pytest.mark.parametrize("engine", ENGINES)
def test_indexes_of_one_serve_the_other(engines: Engines, engine: str) -> None:
    tracked = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
    engines.run(engine, f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ({tracked}, 'scalar-index.search-mode' = 'full')")
    engines.run(engine, f"INSERT INTO t {ROWS.format(0, 1000)}")
    for kind, columns in INDEXES.items():
        for column in columns.split(","):
            given = f"table => 't', index_column => '{column}', index_type => '{kind}'"
            given += f", options => '{OPTIONS[column]}'" if column in OPTIONS else ""
            assert engines.rows(engine, f"CALL sys.create_global_index({given})") == [[True]]
    assert len(engines.both(listed("*"))) >= 11

    # rows that came later, an index of the rest by the other engine
    engines.run(other(engine), f"INSERT INTO t {ROWS.format(1000, 1010)}")
    expected = engines.rows(engine, answers("(SELECT * FROM t WHERE rand() < 2)"))
    engines.both(answers("t"), expected)
    call = "CALL sys.create_global_index('t', 'c', 'btree')"
    assert engines.rows(other(engine), call) == [[True]]
    spans = listed("row_range_start", "row_range_end", "row_count", "index_field_id") + " AND index_type = 'btree'"
    engines.both(f"{spans} AND index_field_name = 'c'", [[0, 999, 1000, 7], [1000, 1009, 10, 7]])
    for each in ENGINES:
        with pytest.raises(Exception, match="globally indexed columns"):
            engines.run(each, "UPDATE t SET c = 'x' WHERE id = 3")
    # Java keeps the table as it knows it: the one that updates alters it
    dropping = "ALTER TABLE t SET TBLPROPERTIES ('global-index.column-update-action' = 'DROP_PARTITION_INDEX')"
    engines.run(other(engine), dropping, "UPDATE t SET c = 'x' WHERE id = 3")
    engines.both("SELECT id FROM t WHERE c = 'x'", [[3]])
    drop = "CALL sys.drop_global_index('t', 'm', 'btree')"
    assert engines.rows(other(engine), drop) == [[True, 1]]
    left = engines.both(f"SELECT DISTINCT index_field_name FROM ({listed('index_field_name')})")
    assert sorted(r[0] for r in left) == sorted(["id", "l", "d", "s", "f", "b", "w", "z"])
    engines.both(answers("t"))
