"""Partition values: dates, numbers, and texts that are no file names, empty or NULL."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines
from tests.support.comparison import difference

TEXTS = (
    *("plain", "", " ", "a/b", "a=b", "x:y", "100%", "%2F", "{c}", "[d]", "e*?", "#", "'quoted'", '"double"'),
    *("C:\\f", "tab\t", "ünïcode 日本 \U0001f680", "null", "~^$&;", ".", ".."),
)
KINDS = {"append": "", "keyed": "TBLPROPERTIES ('primary-key' = 'd,i,s,k', 'bucket' = '2')"}
NULLS = {
    "append": [(None, 0, "x"), ("2024-01-01", None, "x"), ("2024-01-01", 0, None), (None, None, None)],
    "keyed": [],
}


def text(value: str | None) -> str:
    escaped = (value or "").replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t")
    return "CAST(NULL AS STRING)" if value is None else f"'{escaped}'"


def partitions(kind: str) -> list[tuple[str | None, int | None, str | None]]:
    plain = [("2024-02-29", i - 3, s) for i, s in enumerate(TEXTS)]
    return [*plain, ("1600-01-01", 2147483647, "x"), ("9999-12-31", -2147483648, "x"), *NULLS[kind]]


@pytest.mark.parametrize("kind", KINDS)
def test_partition_values(engines: Engines, kind: str) -> None:
    chosen = partitions(kind)
    lines = [
        f"({k}, {f'DATE{text(d)}' if d else 'NULL'}, {'NULL' if i is None else i}, {text(s)})"
        for k, (d, i, s) in enumerate(chosen)
    ]
    for engine in ENGINES:
        engines.run(
            engine,
            f"CREATE TABLE {engine}_t (k INT, d DATE, i INT, s STRING) PARTITIONED BY (d, i, s) {KINDS[kind]}",
            f"INSERT INTO {engine}_t VALUES {', '.join(lines)}",
        )
        engines.both(f"SELECT * FROM {engine}_t", [[k, *values] for k, values in enumerate(chosen)])
        engines.both(f"SHOW PARTITIONS {engine}_t")
        found = [f"SELECT '{k}' AS n, k FROM {engine}_t WHERE s = {text(s)}" for k, s in enumerate(TEXTS)]
        conditions = ("d > DATE'2024-02-29'", "i < 0", "d IS NULL")
        found += [f"SELECT 'd' AS n, k FROM {engine}_t WHERE {c}" for c in conditions]
        engines.both(" UNION ALL ".join(found))
        engines.same_metadata(f"{engine}_t")
    folders = "regexp_replace(file_path, '^.*_t/|/[^/]*$', '')"
    layouts = [engines.both(f"SELECT partition, {folders} AS folder, bucket FROM `{e}_t$files`") for e in ENGINES]
    assert difference(layouts[1], layouts[0]) is None


TYPES = {
    "o": ("BOOLEAN", ["true", "false"]),
    "t": ("TINYINT", ["-128", "7"]),
    "h": ("SMALLINT", ["-32768", "7"]),
    "b": ("BIGINT", ["-9223372036854775808", "7"]),
    "m": ("DECIMAL(9, 2)", ["-0.01", "17"]),
    "n": ("DECIMAL(38, 10)", ["1E-10BD", "18446744073709551616BD"]),
    "y": ("DATE", ["'1969-12-31'", "'2024-02-29'"]),
    "z": ("TIMESTAMP_NTZ", ["'1969-12-31 23:59:59.999999'", "'2024-02-29 12:34:00'"]),
    "l": ("TIMESTAMP", ["'2013-01-01 05:00:00.001'", "'2024-02-29 12:34:00'"]),
}


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_partitions_of_every_type_under_either_name(engines: Engines, legacy: str) -> None:
    columns, keys = ", ".join(f"{c} {t}" for c, (t, _) in TYPES.items()), ", ".join(TYPES)
    options = f"'partition.legacy-name' = '{legacy}', 'partition.default-name' = '_none_'"
    values = [[f"CAST({v[i]} AS {t})" for t, v in TYPES.values()] for i in range(2)]
    values.append([f"CAST(NULL AS {t})" for t, _ in TYPES.values()])
    for engine in ENGINES:
        table = f"{engine}_types"
        of = f"(k INT, {columns}) PARTITIONED BY ({keys}) TBLPROPERTIES ({options})"
        engines.run("ours", f"CREATE TABLE {table} {of}")
        lines = ", ".join(f"({k}, {', '.join(row)})" for k, row in enumerate(values))
        engines.run(engine, f"INSERT INTO {table} VALUES {lines}")
        assert len(engines.both(f"SELECT * FROM {table}")) == 3
        asked = [f"SELECT '{c}' AS c, k FROM {table} WHERE {c} = {v}" for c, v in zip(TYPES, values[1], strict=True)]
        engines.both(" UNION ALL ".join(asked), [[c, 1] for c in TYPES])
    folders = "regexp_replace(file_path, '^.*_types/|/[^/]*$', '')"
    layouts = [engines.both(f"SELECT partition, {folders} AS folder FROM `{e}_types$files`") for e in ENGINES]
    assert difference(layouts[1], layouts[0]) is None


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_partitions_of_numbers_that_do_not_compare(engines: Engines, kind: str) -> None:
    values = [f"{kind}('{v}')" for v in ("NaN", "1.5", "Infinity", "-2.25")] + [f"CAST(NULL AS {kind})"]
    engines.run("ours", f"CREATE TABLE t (k INT, p {kind}) PARTITIONED BY (p)")
    for i, writer in enumerate((*ENGINES, *ENGINES)):
        rows = ", ".join(f"({i * 10 + k}, {v})" for k, v in enumerate(values[:: 1 if i < 2 else -1]))
        engines.run(writer, f"INSERT INTO t VALUES {rows}")
    assert len(engines.both("SELECT * FROM t")) == 20
    engines.both("SELECT partition, record_count FROM `t$files`")
    engines.both(" UNION ALL ".join(f"SELECT k, {v} AS asked FROM t WHERE p <=> {v}" for v in values))
    engines.both("SELECT k FROM t WHERE p > 1.5 UNION ALL SELECT min(p) FROM t UNION ALL SELECT max(p) FROM t")
    engines.run("ours", f"DELETE FROM t WHERE p = {values[0]}")
    assert len(engines.both("SELECT k FROM t")) == 16
    engines.both("SELECT partition, record_count FROM `t$files`")
