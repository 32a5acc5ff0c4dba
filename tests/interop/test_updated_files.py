"""UPDATE gives Parquet files other values in some columns and keeps the bytes of the rest: both engines read them, with
filters that skip pages too."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines
from tests.interop.test_types import COLUMNS, DDL, ROWS, insert

MANY = 60_000  # several pages of each column


@pytest.mark.parametrize("writer", ENGINES)
def test_columns_of_every_type(engines: Engines, writer: str) -> None:
    engines.run(writer, f"CREATE TABLE t (id INT NOT NULL, {DDL})", insert("t", ROWS))
    names = list(COLUMNS)
    for part in (names[::2], names[1::2]):
        values = ", ".join(f"{name} = {COLUMNS[name][1][1]}" for name in part)  # those of row 3
        engines.run("ours", f"UPDATE t SET {values} WHERE id IN (2, 5)")
    third = ", ".join(f"o.{name}" for name in names)
    old = "t VERSION AS OF 1"
    expected = f"SELECT e.id, {third} FROM {old} e JOIN {old} o ON o.id = IF(e.id IN (2, 5), 3, e.id)"
    engines.both("SELECT * FROM t", engines.rows("java", expected))
    engines.both("SELECT id FROM t WHERE c_string = 'text' UNION ALL SELECT id + 10 FROM t WHERE c_dec38 > 0")
    engines.same_metadata("t", of_binary="c_binary")


@pytest.mark.parametrize("writer", ENGINES)
def test_pages_are_where_their_index_says(engines: Engines, writer: str) -> None:
    columns = "id BIGINT, d DOUBLE, s STRING, a ARRAY<INT>"
    engines.run(writer, f"CREATE TABLE t ({columns}) TBLPROPERTIES ('bucket' = '1', 'bucket-key' = 'id')")
    values = f"SELECT id, id / 3, concat('s', id), array(id, NULL) FROM range(0, {MANY}, 1, 1)"
    engines.run(writer, f"INSERT INTO t {values}")
    engines.run("ours", "UPDATE t SET d = -d WHERE id % 1000 = 7", "UPDATE t SET s = 'x', a = NULL WHERE id % 5000 = 1")
    for where in ("id = 30001", "id BETWEEN 20005 AND 20009", "d < -9000", "s = 'x'", "s = 's45678'", "d = 15226"):
        engines.both(f"SELECT * FROM t WHERE {where}")
    engines.both("SELECT count(*), sum(id), sum(d), count(s), sum(size(a)) FROM t")
    engines.run("java", "DELETE FROM t WHERE id % 2 = 0")
    engines.both("SELECT count(*), sum(id), sum(d), min(s), max(s), sum(size(a)) FROM t")
