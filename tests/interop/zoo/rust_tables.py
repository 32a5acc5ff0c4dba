"""Make the tables of pypaimon-rust, where it is installed.

python -m tests.interop.zoo.rust_tables WAREHOUSE EXPECTED

With `--read` in front of these it reads the tables that are there, as `java Zoo --read` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pypaimon_rust.datafusion import SQLContext

from tests.interop.zoo.values import shown_rows

DATES = "DATE '2024-01-01'"
# of each table the statements behind its columns; `t` is its name
TABLES: dict[str, list[str]] = {
    "app_default": [
        "CREATE TABLE t (id INT, v STRING)",
        "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
        "INSERT INTO t VALUES (3, 'c')",
        "INSERT INTO t VALUES (4, 'd'), (5, 'e')",
    ],
    "app_changed": [
        "CREATE TABLE t (id INT, v STRING)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET v = 'B' WHERE id = 2",
    ],
    "app_part": [
        "CREATE TABLE t (id INT, v DOUBLE, d DATE, p STRING) PARTITIONED BY (d, p)",
        f"INSERT INTO t VALUES (1, 1.5, {DATES}, 'x'), (2, NULL, NULL, 'y z'), (3, -2.5, {DATES}, NULL)",
        f"INSERT INTO t VALUES (4, 4.5, {DATES}, 'ä/=%')",
        f"INSERT OVERWRITE t VALUES (5, 5.5, {DATES}, 'x')",
    ],
    "app_bucket_key": [
        "CREATE TABLE t (id INT, v STRING) WITH ('bucket' = '2', 'bucket-key' = 'id')",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "INSERT INTO t VALUES (4, 'd'), (5, NULL)",
    ],
    "altered": [
        "CREATE TABLE t (id INT, v STRING, gone INT)",
        "INSERT INTO t VALUES (1, 'a', 10)",
        "ALTER TABLE t ADD COLUMN w BIGINT",
        "INSERT INTO t VALUES (2, 'b', 20, 200)",
        "ALTER TABLE t RENAME COLUMN v TO text",
        "ALTER TABLE t DROP COLUMN gone",
        "INSERT INTO t VALUES (3, 'c', 300)",
    ],
    "nested": [
        "CREATE TABLE t (id INT, l ARRAY<INT>)",
        "INSERT INTO t VALUES (1, [1, NULL, 3]), (2, NULL)",
    ],
    "pk": [
        "CREATE TABLE t (id INT, v STRING, n BIGINT, PRIMARY KEY (id)) WITH ('bucket' = '2')",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL)",
        "INSERT INTO t VALUES (2, 'B', 22), (4, NULL, 4)",
        "INSERT INTO t VALUES (1, 'A', 11), (5, 'e', 5)",
    ],
    "pk_part": [
        "CREATE TABLE t (id INT, v STRING, d DATE, PRIMARY KEY (id, d)) PARTITIONED BY (d) WITH ('bucket' = '1')",
        f"INSERT INTO t VALUES (1, 'a', {DATES}), (1, 'b', DATE '1969-12-31')",
        f"INSERT INTO t VALUES (1, 'A', {DATES}), (2, 'c', {DATES})",
    ],
    "pk_dynamic": [
        "CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) WITH ('bucket' = '-1')",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO t VALUES (2, 'B'), (3, 'c')",
    ],
    "me_aggregation": [
        "CREATE TABLE t (k INT, s BIGINT, m STRING, PRIMARY KEY (k))"
        " WITH ('bucket' = '1', 'merge-engine' = 'aggregation',"
        " 'fields.s.aggregate-function' = 'sum', 'fields.m.aggregate-function' = 'max')",
        "INSERT INTO t VALUES (1, 1, 'a'), (2, 5, NULL)",
        "INSERT INTO t VALUES (1, 2, 'b'), (2, NULL, 'q')",
    ],
    "me_partial_update": [
        "CREATE TABLE t (k INT, s BIGINT, m STRING, PRIMARY KEY (k))"
        " WITH ('bucket' = '1', 'merge-engine' = 'partial-update')",
        "INSERT INTO t VALUES (1, 1, NULL)",
        "INSERT INTO t VALUES (1, NULL, 'm'), (2, 2, 'n')",
    ],
    "tagged": [
        "CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) WITH ('bucket' = '1')",
        "INSERT INTO t VALUES (1, 'a')",
        "CALL sys.create_tag(table => 'zoo.tagged', tag => 'first', snapshot_id => 1)",
        "INSERT INTO t VALUES (2, 'b'), (1, 'A')",
    ],
}
for _format in ("parquet", "orc", "avro"):
    TABLES[f"types_{_format}"] = [
        "CREATE TABLE t (id INT, b BOOLEAN, i8 TINYINT, i16 SMALLINT, i64 BIGINT, f32 FLOAT, f64 DOUBLE,"
        f" dec DECIMAL(10, 2), wide DECIMAL(30, 5), s STRING, bin BYTEA, d DATE, ts3 TIMESTAMP(3), ts6 TIMESTAMP(6))"
        f" WITH ('file.format' = '{_format}')",
        "INSERT INTO t VALUES (1, true, 7, 300, 1099511627776, 1.25, 1e100, 12345.67,"
        " 1234567890123456789.12345, 'vär', X'0001ff',"
        " DATE '2024-01-01', TIMESTAMP '2023-11-14T22:13:20.123', TIMESTAMP '2023-11-14T22:13:20.123456')",
        "INSERT INTO t (id) VALUES (2)",
    ]


def _rows(context: SQLContext, query: str) -> Any:
    return shown_rows(context.sql(query))


def _made(context: SQLContext, warehouse: Path, name: str, statements: list[str]) -> dict[str, Any]:
    table = f"paimon.zoo.{name}"
    for statement in statements:
        context.sql(statement.replace(" t (", f" {table} (").replace(" t ", f" {table} ", 1))
    folder = warehouse / "zoo.db" / name
    ids = sorted(p.name.removeprefix("snapshot-") for p in folder.glob("snapshot/snapshot-*[0-9]"))
    tags = sorted(p.name.removeprefix("tag-") for p in folder.glob("tag/tag-*"))
    (description, *_) = context.sql(f"SELECT * FROM {table} LIMIT 1")
    return {
        "latest": _rows(context, f"SELECT * FROM {table}"),
        "snapshots": {i: _rows(context, f"SELECT * FROM {table} VERSION AS OF {i}") for i in ids},
        "tags": {t: _rows(context, f"SELECT * FROM {table} VERSION AS OF '{t}'") for t in tags},
        "branches": {},
        "columns": description.schema.names,
    }


def _catalog(warehouse: Path) -> SQLContext:
    context = SQLContext()
    context.register_catalog("paimon", {"warehouse": str(warehouse.absolute())})
    return context


def read(warehouse: Path, found: Path) -> None:
    """Read each table in the database `zoo`: its rows, or the text of the error."""
    context, tables = _catalog(warehouse), {}
    for folder in sorted((warehouse / "zoo.db").iterdir()):
        try:
            tables[folder.name] = _rows(context, f"SELECT * FROM paimon.zoo.{folder.name}")
        except Exception as e:  # of any kind: what it cannot read
            tables[folder.name] = str(e)
    found.write_text(json.dumps(tables), encoding="utf-8")


def main(warehouse: Path, expected: Path) -> None:
    """Make each table in the database `zoo`; one that the version cannot make is left out."""
    context = _catalog(warehouse)
    context.sql("CREATE SCHEMA paimon.zoo")
    tables, left_out = {}, {}
    for name, statements in TABLES.items():
        try:
            tables[name] = _made(context, warehouse, name, statements)
        except Exception as e:  # of any kind: what it cannot do
            left_out[name] = str(e)
    expected.write_text(json.dumps({"tables": tables, "left_out": left_out}), encoding="utf-8")


if __name__ == "__main__":
    program = read if sys.argv[1] == "--read" else main
    program(Path(sys.argv[-2]), Path(sys.argv[-1]))
