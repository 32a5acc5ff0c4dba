"""One engine alters a table that the other wrote; both read all of it, filtered too, and every earlier version."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines, other

COLUMNS = (
    "id INT, i INT, d DECIMAL(6, 2), f FLOAT, s STRING, v VARCHAR(3), day DATE, n STRUCT<a: INT, b: STRING>,"
    " l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<y: INT>>"
)
ROWS = (
    "(1, 10, 1.25, CAST(0.5 AS FLOAT), 'one', 'abc', DATE '2024-01-02', named_struct('a', 1, 'b', 'x'),"
    " array(named_struct('x', 7)), map('k', named_struct('y', 8)))",
    "(2, NULL, -9999.99, CAST(1e10 AS FLOAT), '2', '', DATE '1969-12-31', NULL, array(), map()),"
    " (3, -1, NULL, NULL, NULL, NULL, NULL, named_struct('a', NULL, 'b', NULL), NULL, NULL)",
)
# changes that do not affect each other, and a condition on what each changed
CHANGES: dict[str, dict[str, str]] = {
    "add": {
        "ADD COLUMN z INT COMMENT 'new'": "z IS NULL",
        "ADD COLUMN first INT FIRST": "first IS NULL AND id > 1",
        "ADD COLUMN after STRING AFTER i": "after IS NULL AND i = 10",
        "ADD COLUMN n.c BIGINT": "n.c IS NULL",
        "ADD COLUMN l.element.z STRING": "size(l) = 1",
        "ADD COLUMN m.value.z STRING": "m['k'].y = 8",
        "ALTER COLUMN i TYPE DOUBLE": "i < 0",
    },
    "rename_and_drop": {
        "ALTER COLUMN i TYPE DECIMAL(12, 1)": "j >= -1.5",
        "RENAME COLUMN i TO j": "j = 10",
        "RENAME COLUMN n.b TO bb": "n.bb = 'x'",
        "DROP COLUMN s": "day IS NULL",
    },
    "move": {
        "ALTER COLUMN s FIRST": "s = 'one'",
        "ALTER COLUMN i AFTER s": "i < 0",
        "ALTER COLUMN i SET DEFAULT 5": "i IS NULL",
        "ALTER COLUMN i COMMENT 'what it is'": "i = 10",
        "DROP COLUMN n.a": "n.b = 'x'",
    },
    "wider": {
        "ALTER COLUMN i TYPE BIGINT": "i < 0",
        "ALTER COLUMN d TYPE DECIMAL(10, 4)": "d = 1.25",
        "ALTER COLUMN f TYPE DOUBLE": "f > 0.1",
        "ALTER COLUMN v TYPE VARCHAR(8)": "v = 'abc'",
        "ALTER COLUMN day TYPE TIMESTAMP_NTZ": "day > TIMESTAMP_NTZ '2000-01-01 00:00:00'",
        "ALTER COLUMN n.a TYPE BIGINT": "n.a = 1",
        "ALTER COLUMN l.element.x TYPE BIGINT": "get(l, 0).x = 7",
    },
    "to_string": {
        "ALTER COLUMN i TYPE STRING": "i = '10'",
        "ALTER COLUMN d TYPE STRING": "d LIKE '-%'",
        "ALTER COLUMN f TYPE STRING": "f LIKE '%E%'",
        "ALTER COLUMN v TYPE STRING": "v = ''",
        "ALTER COLUMN day TYPE STRING": "day < '2'",
    },
}


@pytest.mark.parametrize("changes", CHANGES)
def test_both_read_what_was_written_before(engines: Engines, changes: str) -> None:
    """In both directions: each engine alters a table whose first files are of the other."""
    conditions = enumerate(CHANGES[changes].values())
    chosen = " UNION ALL ".join(f"SELECT {i} AS c, id FROM {{0}} WHERE {c}" for i, c in conditions)
    for altering in ENGINES:
        table, writing = f"by_{altering}", other(altering)
        engines.run(writing, f"CREATE TABLE {table} ({COLUMNS})")
        for rows in ROWS:
            engines.run(writing, f"INSERT INTO {table} VALUES {rows}")
        for engine in ENGINES:
            engines.run(engine, f"REFRESH TABLE {table}")
        engines.run(altering, *(f"ALTER TABLE {table} {change}" for change in CHANGES[changes]))
        for engine in ENGINES:
            engines.run(engine, f"REFRESH TABLE {table}")
        engines.both(f"SELECT * FROM {table}")
        assert engines.both(chosen.format(table))
        engines.both(f"SELECT * FROM {table} VERSION AS OF 1")
        engines.run(writing, f"INSERT INTO {table} (id) VALUES (4)")
        engines.both(f"SELECT * FROM {table}")
        engines.both(f"SELECT fields FROM `{table}$schemas`")


def test_keys_and_options_follow_a_rename(engines: Engines) -> None:
    engines.run(
        "java",
        "CREATE TABLE t (k INT NOT NULL, ts INT, v STRING)"
        " TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'sequence.field' = 'ts')",
        "INSERT INTO t VALUES (1, 9, 'late'), (2, 1, 'two')",
    )
    engines.run("ours", "ALTER TABLE t RENAME COLUMN ts TO at", "ALTER TABLE t RENAME COLUMN k TO key")
    for engine in ENGINES:
        engines.run(engine, "REFRESH TABLE t")
    engines.run("java", "INSERT INTO t VALUES (1, 3, 'early')")
    engines.run("ours", "INSERT INTO t VALUES (2, 5, 'later')")
    engines.both("SELECT * FROM t", [[1, 9, "late"], [2, 5, "later"]])
    engines.both("SELECT * FROM t WHERE key = 2", [[2, 5, "later"]])
    engines.both("SELECT key, value FROM `t$options` WHERE key = 'sequence.field'", [["sequence.field", "at"]])


@pytest.mark.parametrize("engine", ENGINES)
def test_defaults_stand_in_for_null(engines: Engines, engine: str) -> None:
    engines.run(
        engine,
        "CREATE TABLE t (id INT, n INT DEFAULT 7, a ARRAY<STRING> DEFAULT ARRAY('x'), s STRING DEFAULT 'text')",
        "INSERT INTO t (id) VALUES (1)",
    )
    for writer in ENGINES:
        engines.run(writer, "INSERT INTO t (id) VALUES (2)", "INSERT INTO t VALUES (3, NULL, NULL, NULL)")
    engines.both("SELECT id, n, s FROM t", [[i, 7, "text"] for i in (1, 2, 3, 2, 3)])
    engines.both("SELECT fields FROM `t$schemas`")


def test_a_replaced_table_keeps_its_history(engines: Engines) -> None:
    engines.run("java", "CREATE TABLE t (a INT, b STRING)", "INSERT INTO t VALUES (1, 'x')")
    engines.run("ours", "CREATE OR REPLACE TABLE t AS SELECT b, a + 1 AS c FROM t")
    engines.run("java", "REFRESH TABLE t")
    engines.both("SELECT * FROM t", [["x", 2]])
    engines.both("SELECT * FROM t VERSION AS OF 1", [[1, "x"]])
    engines.run("java", "INSERT INTO t VALUES ('y', 3)")
    engines.both("SELECT * FROM t WHERE c > 2", [["y", 3]])


def test_writes_add_columns(engines: Engines) -> None:
    for engine in ENGINES:
        engines.run(engine, "SET `spark.paimon.write.merge-schema` = true")
    try:
        engines.run("ours", "CREATE TABLE t (a INT)", "INSERT INTO t BY NAME SELECT 1 AS a, 'x' AS b")
        engines.run("java", "REFRESH TABLE t", "INSERT INTO t BY NAME SELECT 2 AS a, 'y' AS b, 1.5D AS c")
        engines.run("java", "REFRESH TABLE t")
        engines.both("SELECT * FROM t", [[1, "x", None], [2, "y", 1.5]])
        engines.both("SELECT fields FROM `t$schemas`")
    finally:
        for engine in ENGINES:
            engines.run(engine, "RESET `spark.paimon.write.merge-schema`")


SUCCESSION = (
    *("ADD COLUMN z INT", "ADD COLUMN n.c BIGINT", "ADD COLUMN y STRING AFTER i", "ADD COLUMN l.element.z STRING"),
    *("ADD COLUMN m.value.z STRING", "RENAME COLUMN n.b TO bb", "RENAME COLUMN s TO t", "DROP COLUMN n.a"),
    *("ALTER COLUMN t FIRST", "ALTER COLUMN i TYPE BIGINT", "ALTER COLUMN i TYPE DOUBLE", "ALTER COLUMN f TYPE DOUBLE"),
    *("ALTER COLUMN d TYPE DECIMAL(10, 4)", "ALTER COLUMN v TYPE STRING", "ALTER COLUMN day TYPE TIMESTAMP_NTZ"),
    *("RENAME COLUMN i TO j", "ADD COLUMN i STRING", "DROP COLUMN z", "ADD COLUMN z STRING FIRST"),
    *("ALTER COLUMN z COMMENT 'again'", "ALTER COLUMN l.element.x TYPE BIGINT"),
)
CONDITIONS = ("j = 10", "i IS NULL", "d = 1.25", "f > 0.1", "t = 'one'", "v = 'abc'", "n.bb = 'x'", "z IS NULL")


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("altering", ENGINES)
def test_many_changes(engines: Engines, altering: str, name: str) -> None:
    """One after the other, to a table of files of each format."""
    writing = other(altering)
    engines.run(writing, f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ('file.format' = '{name}')")
    for rows in ROWS:
        engines.run(writing, f"INSERT INTO t VALUES {rows}")
    engines.run(altering, "REFRESH TABLE t", *(f"ALTER TABLE t {change}" for change in SUCCESSION))
    engines.run(writing, "REFRESH TABLE t", "INSERT INTO t (id, j, t) VALUES (4, 10, 'four')")
    engines.run(altering, "REFRESH TABLE t")
    engines.both("SELECT * FROM t")
    engines.both(" UNION ALL ".join(f"SELECT {i} AS c, id FROM t WHERE {c}" for i, c in enumerate(CONDITIONS)))
    engines.both("SELECT * FROM t VERSION AS OF 1")
    engines.both("SELECT fields FROM `t$schemas`")


def test_describe_lists_columns_that_are_not_null(engines: Engines) -> None:
    columns = "k INT NOT NULL COMMENT 'key', v STRING, s STRUCT<a: INT NOT NULL> NOT NULL, p STRING"
    engines.run(
        "ours",
        f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '1')",
        "CREATE TABLE u (k INT)",
    )
    for table, expected in {
        "t": [["k", "int", "NOT NULL"], ["s", "struct<a:int>", "NOT NULL"], ["p", "string", "NOT NULL"]],
        "u": None,
        "`t$files`": ...,
    }.items():
        ours, java = (_not_null(engines.rows(engine, f"DESCRIBE EXTENDED {table}")) for engine in ("ours", "java"))
        assert ours == java
        assert expected is ... or ours == expected


def _not_null(described: list[list[str]]) -> list[list[str]] | None:
    """What follows the headline, None where there is none."""
    at = next((i for i, row in enumerate(described) if list(row) == ["# Column Not Null", "", ""]), None)
    return None if at is None else [list(row) for row in described[at + 1 :]]
