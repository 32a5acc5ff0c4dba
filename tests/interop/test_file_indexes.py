"""File indexes of one engine serve the other: every type of index and of column, in manifests and beside files."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines, other

COLUMNS = (
    "id INT, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, b BOOLEAN, c STRING, n DECIMAL(10, 2), "
    "a DATE, m TIMESTAMP, z TIMESTAMP_NTZ, y BINARY, p MAP<STRING, INT>"
)
TYPES = {
    "bloom-filter": "t,s,i,l,f,d,c,a,m,z,y,p[x]",
    "bitmap": "t,s,i,l,b,c,a,m,z,p[x]",
    "bitmap 1": "t,s,i,l,b,c,a,m,z",
    "range-bitmap": "t,s,i,l,f,d,b,c,n,a,m,z",
    "bsi": "t,s,i,l,n,a,m,z",
}
ROWS = (
    "SELECT CAST(id AS INT), CAST(id % 100 AS TINYINT), CAST(id * 7 % 1000 AS SMALLINT), CAST(id % 50 AS INT), "
    "id * 10000000000, CAST(id % 9 - 4 AS FLOAT), id / 3, id % 2 = 0, "
    "if(id % 11 = 0, NULL, concat(repeat('text ', CAST(id % 13 AS INT)), id % 40)), "
    "CAST(id % 70 - 35 AS DECIMAL(10, 2)), "
    "date_add(DATE '1969-12-20', CAST(id % 30 AS INT)), timestamp_micros(id * 1000003 - 99), "
    "CAST(timestamp_micros(id * 1000003) AS TIMESTAMP_NTZ), CAST(concat('y', id % 20) AS BINARY), "
    "map('x', CAST(id % 5 AS INT)) FROM range(0, 300)"
)
CONDITIONS = (
    "t = 42",
    "t = 101",
    "s IN (7, 14, 2000)",
    "i > 47",
    "i = 77",
    "l = 2000000000000",
    "l < -1",
    "f >= 4",
    "d = 2",
    "b AND i < 3",
    "c = 'text 27'",
    "c LIKE 'text text 2%'",
    "c IS NULL",
    "c = 'nothing'",
    "n BETWEEN -35 AND -34",
    "n = 0.5",
    "a < DATE '1969-12-22'",
    "m = TIMESTAMP '1970-01-01 00:00:01.999907'",
    "z > TIMESTAMP_NTZ '1970-01-01 00:04:58'",
    "y = CAST('y7' AS BINARY)",
    "NOT (i <= 48) OR (t = 3 AND c <> 'text 3')",
)


def answers(source: str) -> str:
    """One query that asks all conditions."""
    asked = (f"SELECT {i} AS c, id FROM {source} WHERE {c}" for i, c in enumerate(CONDITIONS))
    return " UNION ALL ".join(asked)


@pytest.mark.parametrize("engine", ENGINES)
def test_indexes_of_either_engine(engines: Engines, engine: str) -> None:
    """One table per type; what the rows are without a table is right."""
    names = ", ".join(c.split()[0] for c in COLUMNS.replace("(10, 2)", "").replace("<STRING, INT>", "").split(", "))
    expected = engines.rows("ours", answers(f"(SELECT * FROM ({ROWS}) AS s({names}))"))
    assert len({row[0] for row in expected}) == len(CONDITIONS) - 5
    for number, (kind, columns) in enumerate(TYPES.items()):
        index_type, _, version = kind.partition(" ")
        settings = [f"'file-index.{index_type}.columns' = '{columns}'"]
        settings += [f"'file-index.bitmap.{c}.version' = '{version}'" for c in columns.split(",") if version]
        settings += [f"'file-index.bloom-filter.{c}.items' = '200'" for c in columns.split(",") if kind[1] == "l"]
        settings.append(f"'file-index.in-manifest-threshold' = '{'1 mb' if number % 2 else '1 b'}'")
        engines.run(engine, f"CREATE TABLE t{number} ({COLUMNS}) TBLPROPERTIES ({', '.join(settings)})")
        engines.run(engine, f"INSERT INTO t{number} {ROWS}")
        engines.both(answers(f"t{number}"), expected)
    # what one engine wrote the other rewrites, and the first reads again
    engines.run(engine, "ALTER TABLE t0 SET TBLPROPERTIES ('file-index.in-manifest-threshold' = '1 mb')")
    engines.run(other(engine), f"CALL sys.rewrite_file_index(table => '{engines.database}.t0')")
    engines.both(answers("t0"), expected)
