"""The bucket of a key is the same for both engines: each finds what the other wrote, in the bucket it expects."""

from __future__ import annotations

from tests.interop.engines import ENGINES, Engines
from tests.support.comparison import difference

LONG = "more than eight bytes, and \U0001f680"
# key: type and values
KEYS = {
    "k_int": ("INT", ["0", "1", "-1", "2147483647", "-2147483648", "17", "42", "1000000"]),
    "k_big": ("BIGINT", ["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "17", "42", "4294967296"]),
    "k_tiny": ("TINYINT", ["0", "1", "-1", "127", "-128", "17", "42", "99"]),
    "k_small": ("SMALLINT", ["0", "1", "-1", "32767", "-32768", "17", "42", "999"]),
    "k_short": ("STRING", [f"'{s}'" for s in ("", "a", "ab", "seven77", "äöü", "\U0001f680", "z", "0")]),
    "k_long": ("STRING", [f"'{LONG} {'x' * n}'" for n in (0, 1, 2, 3, 5, 8, 100, 1000)]),
    "k_dec9": ("DECIMAL(9, 2)", ["0", "0.01", "-0.01", "9999999.99", "-9999999.99", "1.50", "17", "42.42"]),
    "k_dec18": ("DECIMAL(18, 0)", ["0", "1", "-1", f"{'9' * 18}", f"-{'9' * 18}", "17", "42", "4294967296"]),
    "k_dec38": (
        "DECIMAL(38, 10)",
        ["0BD", "1E-10BD", "-1E-10BD", f"{'9' * 28}BD", f"-{'9' * 28}BD", "1.5BD", "18446744073709551616BD", "-128BD"],
    ),
    "k_date": (
        "DATE",
        [f"'{d}'" for d in ("1970-01-01", "1969-12-31", "9999-12-31", "1600-01-01", "2024-02-29", "2013-01-01")]
        + ["'2013-01-02'", "'2013-01-03'"],
    ),
    "k_ntz": (
        "TIMESTAMP_NTZ",
        [f"'{t}'" for t in ("1970-01-01", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999", "1600-01-01")]
        + ["'2024-02-29 12:34:56.789012'", "'2013-01-01 05:00:00.001'", "'2013-01-02'", "'2013-01-03 00:00:01'"],
    ),
    "k_ltz": (
        "TIMESTAMP",
        [f"'{t}'" for t in ("1970-01-01", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56.789012", "2013-01-01")]
        + ["'2013-01-01 05:00:00.001'", "'2013-01-02'", "'2013-01-03 00:00:01'", "'2261-01-01'"],
    ),
    "k_bool": ("BOOLEAN", ["true", "false"]),
    "k_double": ("DOUBLE", ["0", "1.5", "-1.5", "1E300", "-1E-300", "3.141592653589793", "'Infinity'", "17"]),
    "k_float": ("FLOAT", ["0", "1.5", "-1.5", "1E30", "-1E-30", "3.1415927", "'-Infinity'", "17"]),
    "k_bin": ("BINARY", ["X''", "X'00'", "X'ff'", "X'00112233445566'", "X'0011223344556677889900'", "X'61'", "X'62'"]),
}
COMPOSITE = [k for k in KEYS if k not in ("k_bool", "k_bin")]


def literal(key: str, number: int) -> str:
    sql_type, values = KEYS[key]
    return f"CAST({values[number % len(values)]} AS {sql_type})"


def create(table: str, keys: list[str], options: str) -> str:
    columns = ", ".join(f"{k} {KEYS[k][0]}" for k in keys)
    return f"CREATE TABLE {table} ({columns}, v INT) TBLPROPERTIES ('bucket' = '4', {options})"


def insert(table: str, keys: list[str], rows: int) -> str:
    lines = [f"({', '.join(literal(k, i * (j + 1)) for j, k in enumerate(keys))}, {i})" for i in range(rows)]
    return f"INSERT INTO {table} VALUES {', '.join(lines)}"


def write(engines: Engines, name: str, keys: list[str], options: str, rows: int) -> None:
    for engine in ENGINES:
        engines.run("ours", create(f"{engine}_{name}", keys, options))
        engines.run(engine, insert(f"{engine}_{name}", keys, rows))


def same_layout(engines: Engines, names: list[str]) -> None:
    """The files of both engines are in the same buckets with the same keys and counts."""
    columns = "bucket, record_count, min_key, max_key, null_value_counts"
    layouts = [
        engines.rows(engine, " UNION ALL ".join(f"SELECT '{n}', {columns} FROM `{engine}_{n}$files`" for n in names))
        for engine in ENGINES
    ]
    assert difference(layouts[1], layouts[0]) is None
    assert len({row[1] for row in layouts[0]}) > 1


def test_keys_of_every_type(engines: Engines) -> None:
    queries, expected = [], []
    for key, (_, values) in KEYS.items():
        write(engines, key, [key], f"'primary-key' = '{key}'", len(values))
        for engine in ENGINES:
            last = len(values) - 1
            queries.append(f"SELECT '{engine}_{key}' AS t, v FROM {engine}_{key} WHERE {key} = {literal(key, last)}")
            expected.append([f"{engine}_{key}", last])
    engines.both(" UNION ALL ".join(queries), expected)
    same_layout(engines, [k for k in KEYS if k != "k_bin"])  # Java prints a binary key as the address of its array


def test_a_composite_key(engines: Engines) -> None:
    write(engines, "all", COMPOSITE, f"'primary-key' = '{','.join(COMPOSITE)}'", 8)
    same_layout(engines, ["all"])
    conditions = [[f"{k} = {literal(k, i * (j + 1))}" for j, k in enumerate(COMPOSITE)] for i in range(8)]
    queries = [
        f"SELECT '{engine}' AS t, v FROM {engine}_all WHERE {' AND '.join(c)}" for engine in ENGINES for c in conditions
    ]
    engines.both(" UNION ALL ".join(queries), [[engine, i] for engine in ENGINES for i in range(8)])


def test_buckets_of_an_append_table(engines: Engines) -> None:
    keys = ["k_short", "k_int"]
    write(engines, "rows", keys, "'bucket-key' = 'k_short,k_int'", 8)
    for engine in ENGINES:
        engines.run(engine, f"INSERT INTO {engine}_rows VALUES (NULL, 1, 100), ('a', NULL, 101), (NULL, NULL, 102)")
    same_layout(engines, ["rows"])
    conditions = ["k_short = 'a' AND k_int = -1", "k_short IS NULL AND k_int = 1", "k_short = 'a' AND k_int IS NULL"]
    queries = [f"SELECT '{engine}' AS t, v FROM {engine}_rows WHERE {c}" for engine in ENGINES for c in conditions]
    engines.both(" UNION ALL ".join(queries), [[e, v] for e in ENGINES for v in (1, 100, 101)])
