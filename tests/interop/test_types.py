"""Every column type, with NULLs, extremes, NaN, -0.0 and all of Unicode: rows, filters and metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.engines import ENGINES, Engines
from tests.support.comparison import difference
from tests.support.java_oracle import JavaOracle

MOMENTS = (
    *("2024-02-29 12:34:56.789012", "1582-10-15 00:00:00.1", "9999-12-31 23:59:59.999999"),
    *("1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
)
# column: type, then the values of rows 1 to 6; row 2 is all NULL
COLUMNS = {
    "c_bool": ("BOOLEAN", ["true", "false", "true", "false", "true"]),
    "c_tiny": ("TINYINT", ["1Y", "-128Y", "127Y", "0Y", "-1Y"]),
    "c_small": ("SMALLINT", ["1S", "-32768S", "32767S", "0S", "-1S"]),
    "c_int": ("INT", ["1", "-2147483648", "2147483647", "0", "-1"]),
    "c_big": ("BIGINT", ["1L", "-9223372036854775808L", "9223372036854775807L", "0L", "-1L"]),
    "c_float": ("FLOAT", ["1.5F", "FLOAT('-3.4028235E38')", "FLOAT('3.4028235E38')", "FLOAT('-0.0')", "FLOAT('NaN')"]),
    "c_double": ("DOUBLE", ["1.5D", "DOUBLE('-Infinity')", "DOUBLE('Infinity')", "DOUBLE('-0.0')", "DOUBLE('NaN')"]),
    "c_dec9": ("DECIMAL(9, 2)", ["1.50BD", "-9999999.99BD", "9999999.99BD", "0BD", "-0.01BD"]),
    "c_dec18": ("DECIMAL(18, 0)", ["1BD", "-999999999999999999BD", "999999999999999999BD", "0BD", "-1BD"]),
    "c_dec38": (
        "DECIMAL(38, 10)",
        ["1.5BD", f"-{'9' * 28}.{'9' * 10}BD", f"{'9' * 28}.{'9' * 10}BD", "0BD", "-0.0000000001BD"],
    ),
    "c_char": ("CHAR(5)", ["'abcde'", "'     '", "'\U0001f680\U0001d518äßé'", "'a    '", "'zzzzz'"]),
    "c_varchar": ("VARCHAR(20)", ["'varchar'", "''", "'日本語'", "' a '", "'\U0001f680'"]),
    "c_string": ("STRING", ["'text'", "''", "'\U0010ffff'", "'line\\nbreak\\t\\0'", f"'{'x' * 40}'"]),
    "c_binary": ("BINARY", ["X'00ff10'", "X''", "X'ffffffff'", "X'00'", f"X'{'80' * 40}'"]),
    "c_date": (
        "DATE",
        ["DATE'2024-02-29'", "DATE'1582-10-15'", "DATE'9999-12-31'", "DATE'1969-12-31'", "DATE'1970-01-01'"],
    ),
    "c_ntz": ("TIMESTAMP_NTZ", [f"TIMESTAMP_NTZ'{t}'" for t in MOMENTS]),
    "c_ltz": ("TIMESTAMP", [f"TIMESTAMP'{t}'" for t in MOMENTS]),
    "c_array": ("ARRAY<INT>", ["array(1, NULL, 3)", "array()", "array(NULL)", "array(-2147483648)", "array(0)"]),
    "c_map": (
        "MAP<STRING, DECIMAL(9, 2)>",
        ["map('a', 1.5BD, 'b', NULL)", "map()", "map('', 0BD)", "map('日本', 9999999.99BD)", "map('x', -0.01BD)"],
    ),
    "c_struct": (
        "STRUCT<a: INT, b: STRING>",
        [f"named_struct('a', {a}, 'b', {b})" for a, b in (("1", "'x'"), ("NULL", "NULL"), ("2", "NULL"), ("0", "''"))]
        + ["named_struct('a', -1, 'b', '日本')"],
    ),
    "c_nested": (
        "ARRAY<STRUCT<m: MAP<INT, ARRAY<STRING>>, t: TIMESTAMP_NTZ>>",
        [
            "array(named_struct('m', map(1, array('x', NULL)), 't', TIMESTAMP_NTZ'2024-02-29 12:34:56.789012'))",
            "array()",
            "array(NULL, named_struct('m', NULL, 't', NULL))",
            "array(named_struct('m', map(), 't', TIMESTAMP_NTZ'0001-01-01 00:00:00'))",
            "array(named_struct('m', map(2, NULL), 't', NULL))",
        ],
    ),
}
COMPARABLE = [c for c in COLUMNS if c not in ("c_array", "c_map", "c_struct", "c_nested")]
DDL = ", ".join(f"{name} {sql_type}" for name, (sql_type, _) in COLUMNS.items())
KINDS = {"append": "", "keyed": "'primary-key' = 'id', 'bucket' = '2', "}


def row(number: int) -> str:
    index = number - 1 if number == 1 else number - 2
    values = ("NULL" if number == 2 else values[index] for _, values in COLUMNS.values())
    columns = [f"CAST({v} AS {t}) AS {n}" for v, (n, (t, _)) in zip(values, COLUMNS.items(), strict=True)]
    return f"SELECT {number} AS id, {', '.join(columns)}"


ROWS = [row(n) for n in range(1, 7)]


def create(table: str, kind: str) -> str:
    return f"CREATE TABLE {table} (id INT NOT NULL, {DDL}) TBLPROPERTIES ({KINDS[kind]}'write-only' = 'true')"


def insert(table: str, rows: list[str]) -> str:
    """In one task, so that the rows come in this order."""
    return f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM ({' UNION ALL '.join(rows)})"


def filters() -> list[str]:
    """Queries that prune by the statistics of every column that compares, NULL and NaN included."""
    found = []
    for name in COMPARABLE:
        sql_type, values = COLUMNS[name]
        first, low, last = (f"CAST({values[i]} AS {sql_type})" for i in (0, 1, 4))
        conditions = (f"= {first}", f"> {first}", f"IN ({low}, {last})", "IS NULL")
        found += [f"SELECT '{name} {c[0]}' AS filter, id FROM t WHERE {name} {c}" for c in conditions]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("writer", ENGINES)
def test_values_and_filters(engines: Engines, writer: str, kind: str) -> None:
    expected = engines.both(" UNION ALL ".join(ROWS))
    engines.run(writer, create("t", kind))
    for pair in (ROWS[:2], ROWS[2:4], ROWS[4:]):
        engines.run(writer, insert("t", pair))
    engines.both("SELECT * FROM t", expected)
    if kind == "append":  # with a primary key files are skipped by keys only
        queries = filters()
        for start in range(0, len(queries), 24):
            engines.both(" UNION ALL ".join(queries[start : start + 24]))
    engines.same_metadata("t", of_binary="c_binary")


def test_ancient_days(engines: Engines) -> None:
    """Ours only: Java's connector writes another day than the given one before the Gregorian calendar."""
    days = ("0001-01-01", "1500-02-28", "1582-10-04", "1582-10-05", "1582-10-14")
    engines.run("ours", "CREATE TABLE t (id INT, d DATE, n TIMESTAMP_NTZ)")
    for i, day in enumerate(days):
        engines.run("ours", f"INSERT INTO t VALUES ({i}, DATE'{day}', TIMESTAMP_NTZ'{day} 12:00:00')")
    engines.both("SELECT id, d, n FROM t", [[i, day, f"{day} 12:00:00"] for i, day in enumerate(days)])
    queries = [f"SELECT id FROM t WHERE d = DATE'{d}' AND n >= TIMESTAMP_NTZ'{d} 12:00:00'" for d in days]
    engines.both(" UNION ALL ".join(queries), [[i] for i in range(len(days))])
    engines.same_metadata("t")


def test_columns_of_nanoseconds_hold_any_year(engines: Engines) -> None:
    days = ("9999-12-31 23:59:59.123456", "1600-01-01 00:00:00.5", "1969-12-31 12:00:00.000001", "2024-02-29 00:00:00")
    rows = [f"({i}, TIMESTAMP_NTZ'{d}', TIMESTAMP'{d}', array(TIMESTAMP_NTZ'{d}'))" for i, d in enumerate(days)]
    columns = "id INT, n TIMESTAMP(9), l TIMESTAMP(7) WITH LOCAL TIME ZONE, a ARRAY<TIMESTAMP(9)>"
    lookup = "'changelog-producer' = 'lookup', 'changelog-producer.row-deduplicate' = 'true'"
    for name, keys, more in (("append", "", ""), ("keyed", ", PRIMARY KEY (id) NOT ENFORCED", f", {lookup}")):
        options = f"'bucket' = '1', 'bucket-key' = 'id'{more}"
        engines.run("ours", f"CREATE TABLE {name} ({columns}{keys}) WITH ({options})")
        engines.run("java", f"INSERT INTO {name} VALUES {', '.join(rows)}, (5, NULL, NULL, NULL)")
        engines.run("ours", f"INSERT INTO {name} VALUES {', '.join(rows[:3])}, (6, NULL, NULL, array())")
        assert len(engines.both(f"SELECT * FROM {name}")) == 9 - 3 * bool(keys)
        engines.both(f"SELECT id, n FROM {name} WHERE n < '1970-01-01' AND l > '1000-01-01'")
        engines.both(f"SELECT min(n), max(n), max(l) FROM {name}")
        engines.run("ours", f"UPDATE {name} SET n = TIMESTAMP_NTZ'0002-01-01' WHERE id = 1")
        engines.run("ours", f"CALL sys.compact(table => '{name}')")
        engines.both(f"SELECT * FROM {name}")
        engines.both(f"SELECT level, record_count, null_value_counts, min_value_stats FROM `{name}$files`")
    # rows that did not change appear once
    engines.both("SELECT sum(changelog_record_count) FROM `keyed$snapshots`", [[5 + 1 + 2]])


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_equal_whoever_wrote(engines: Engines, java: tuple[JavaOracle, str], kind: str) -> None:
    for engine in ENGINES:
        engines.run(engine, create(f"by_{engine}", kind), insert(f"by_{engine}", ROWS))
    schemas = [_schema(Path(java[1]), engines, f"by_{engine}") for engine in ENGINES]
    assert schemas[0] == schemas[1]
    columns = "partition, bucket, file_format, schema_id, level, record_count, min_key, max_key, null_value_counts"
    bounds = ", ".join(f"regexp_replace({b}_value_stats, 'c_binary=[^,]*', '')" for b in ("min", "max"))
    # sequence numbers ascend per bucket there, per task here
    rest = "deleteRowCount, file_source, first_row_id, write_cols"
    files = [engines.both(f"SELECT {columns}, {bounds}, {rest} FROM `by_{engine}$files`") for engine in ENGINES]
    assert difference(files[1], files[0]) is None


def _schema(warehouse: Path, engines: Engines, table: str) -> dict[str, Any]:
    path = warehouse / f"{engines.database}.db" / table / "schema" / "schema-0"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["options"].pop("owner", None)
    return {k: v for k, v in schema.items() if k != "timeMillis"}
