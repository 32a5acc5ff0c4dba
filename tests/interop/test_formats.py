"""Every format of data files, for each kind of table: values, evolution and codecs, written by one engine and read by
both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.engines import ENGINES, Engines, other
from tests.interop.test_types import DDL as EVERY_TYPE
from tests.interop.test_types import KINDS, ROWS, insert

FORMATS = ("parquet", "orc", "avro")
COLUMNS = "c_bool, c_tiny, c_big, c_double, c_dec38, c_char, c_string, c_binary, c_date, c_ntz, c_ltz"


def create(table: str, kind: str, **options: str) -> str:
    given = ", ".join(f"'{k.replace('__', '.').replace('_', '-')}' = '{v}'" for k, v in options.items())
    properties = f"{KINDS[kind]}'write-only' = 'true', {given}"
    return f"CREATE TABLE {table} (id INT NOT NULL, {EVERY_TYPE}) TBLPROPERTIES ({properties})"


def rows_for(name: str) -> list[str]:
    """ORC files hold no microseconds before 1970, and Java's lose the last second of 1969 and the Julian calendar."""
    if name != "orc":
        return ROWS
    holds = {
        "1969-12-31 23:59:59.999999": "1969-12-31 23:59:58",
        "1582-10-15 00:00:00.1": "1677-10-15 00:00:00.1",
        "0001-01-01 00:00:00": "1900-01-01 00:00:00",
    }
    rows = ROWS
    for gone, here in holds.items():
        rows = [r.replace(gone, here) for r in rows]
    return rows


@pytest.mark.parametrize("name", FORMATS[1:])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("writer", ENGINES)
def test_values(engines: Engines, writer: str, kind: str, name: str) -> None:
    rows = rows_for(name)
    expected = engines.both(" UNION ALL ".join(rows))
    engines.run(writer, create("t", kind, file__format=name))
    for pair in (rows[:2], rows[2:4], rows[4:]):
        engines.run(writer, insert("t", pair))
    engines.both("SELECT * FROM t", expected)
    engines.both(
        "SELECT id FROM t WHERE c_double = DOUBLE('NaN') UNION ALL SELECT id + 10 FROM t WHERE c_ntz > '2000-01-01' "
        "UNION ALL SELECT id + 20 FROM t WHERE c_string = 'text' UNION ALL SELECT id + 30 FROM t WHERE c_dec38 < 0"
    )
    engines.both("SELECT file_format, record_count, null_value_counts FROM `t$files`")


@pytest.mark.parametrize("key", ["'primary-key' = 'id', 'bucket' = '1'", "'bucket' = '-1'"])
def test_packed_integers(engines: Engines, key: str) -> None:
    """Integers close to one another are stored as differences where that is asked for (see `parquet_encodings`)."""
    step = "CAST(pmod(xxhash64(id), 3000) + id AS INT)"
    columns = {
        "s": f"CAST({step} AS SMALLINT)",
        "i": f"IF(id % 7 = 0, NULL, {step} - 5000)",
        "l": f"{step} * 1000L + 1000000000000L",
        "d": f"date_add(DATE '1900-01-01', {step})",
        "n": f"CAST(timestamp_millis({step} * 1000L - 5000000) AS TIMESTAMP_NTZ)",
        "z": f"IF(id % 2 = 0, NULL, timestamp_micros({step} + 1700000000000000))",
    }
    options = "'write-only' = 'true', 'parquet.writer.version' = 'v2'"
    types = "s SMALLINT, i INT, l BIGINT, d DATE, n TIMESTAMP_NTZ, z TIMESTAMP"
    engines.run("ours", f"CREATE TABLE t (id BIGINT NOT NULL, {types}) TBLPROPERTIES ({key}, {options})")
    rows = ", ".join(f"{e} AS {n}" for n, e in columns.items())
    for i in range(2):
        engines.run("ours", f"INSERT INTO t SELECT id + {i * 3000} AS id, {rows} FROM range(0, 6000, 1, 1) r(id)")
    for query in (
        "SELECT count(*), sum(CAST(xxhash64(id, s, i, l, d, n, z) AS DECIMAL(38, 0))) FROM t",
        "SELECT id, s, i, l, d, n, z FROM t WHERE l BETWEEN 1000004000000 AND 1000004010000 ORDER BY id, l",
    ):
        assert len(engines.both(query)) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_one_table_of_all_formats(engines: Engines, kind: str) -> None:
    engines.run("ours", create("t", kind, file__format="parquet"))
    for i, name in enumerate((*FORMATS, *FORMATS)):
        writer = ENGINES[i % 2]
        engines.run(writer, f"ALTER TABLE t SET TBLPROPERTIES ('file.format' = '{name}')")
        engines.run(other(writer), "REFRESH TABLE t")
        engines.run(writer, insert("t", [rows_for("orc")[i % 6]]))
    engines.both(f"SELECT id, {COLUMNS} FROM t")
    engines.both(
        "SELECT file_format, count(*) FROM `t$files` GROUP BY file_format", [["avro", 2], ["orc", 2], ["parquet", 2]]
    )


@pytest.mark.parametrize("name", FORMATS)
def test_thin_files_and_levels(engines: Engines, name: str) -> None:
    for writer in ENGINES:
        table = f"by_{writer}"
        engines.run(
            "ours",
            f"CREATE TABLE {table} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', "
            f"'data-file.thin-mode' = 'true', 'file.format' = '{name}', 'write-only' = 'true')",
        )
        engines.run(writer, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", f"INSERT INTO {table} VALUES (2, 'B')")
        engines.both(f"SELECT * FROM {table}", [[1, "a"], [2, "B"]])
        engines.run(other(writer), f"CALL sys.compact(table => '{engines.database}.{table}')")
        engines.both(f"SELECT * FROM {table} WHERE k = 2", [[2, "B"]])


CODECS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
    "avro": ("zstd", "snappy", "deflate", "null", "bzip2", "xz"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_codecs(engines: Engines, name: str) -> None:
    for writer in ENGINES:
        engines.run("ours", f"CREATE TABLE by_{writer} (k INT, v STRING) TBLPROPERTIES ('file.format' = '{name}')")
        for i, codec in enumerate(CODECS[name]):
            engines.run(
                writer,
                f"ALTER TABLE by_{writer} SET TBLPROPERTIES ('file.compression' = '{codec}')",
                f"INSERT INTO by_{writer} SELECT {i}, repeat('{codec} ', 100)",
            )
        expected = [[i, f"{codec} " * 100] for i, codec in enumerate(CODECS[name])]
        engines.both(f"SELECT * FROM by_{writer}", expected)


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_manifests(engines: Engines, form: str) -> None:
    for kind, keys in KINDS.items():
        engines.run(
            "ours",
            f"CREATE TABLE {kind} (id INT NOT NULL, v STRING) TBLPROPERTIES ({keys}'manifest.format' = '{form}')",
        )
        for i in range(4):
            engines.run(ENGINES[i % 2], f"INSERT INTO {kind} VALUES ({i // 2}, 'by {ENGINES[i % 2]}')")
        expected = [[n, f"by {e}"] for n in range(2) for e in ENGINES if kind == "append" or e == "java"]
        engines.both(f"SELECT * FROM {kind}", expected)
        engines.both(f"SELECT partition, bucket, record_count, min_value_stats FROM `{kind}$files`")
        engines.both(f"SELECT num_added_files, num_deleted_files, schema_id FROM `{kind}$manifests`")


TEXT_COLUMNS = (
    "id INT, b BOOLEAN, n BIGINT, d DOUBLE, m DECIMAL(20, 4), s STRING, c CHAR(5), x BINARY, day DATE, "
    "at TIMESTAMP_NTZ, moment TIMESTAMP"
)
TEXT_ROWS = (
    "(1, true, 9223372036854775807L, 1.5D, -0.0001BD, 'a,\"b\" c', 'ab', X'00ff', DATE'2024-02-29', "
    "TIMESTAMP_NTZ'2024-02-29 12:34:56.789012', TIMESTAMP'1969-12-31 23:59:59.5')",
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(3, false, -1L, DOUBLE('NaN'), 0BD, '日本', 'zzzzz', X'01', DATE'1970-01-01', "
    "TIMESTAMP_NTZ'1970-01-01 00:00:00', TIMESTAMP'2024-01-01 00:00:00')",
)


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("name", ["csv", "json"])
def test_text(engines: Engines, name: str, codec: str) -> None:
    expected = engines.both(f"SELECT * FROM VALUES {', '.join(TEXT_ROWS)}")
    for writer in ENGINES:
        properties = f"'file.format' = '{name}', 'file.compression' = '{codec}'"
        engines.run("ours", f"CREATE TABLE by_{writer} ({TEXT_COLUMNS}) TBLPROPERTIES ({properties})")
        for row in TEXT_ROWS:
            engines.run(writer, f"INSERT INTO by_{writer} VALUES {row}")
        assert len(engines.both(f"SELECT * FROM by_{writer}")) == len(expected)
        engines.both(f"SELECT id FROM by_{writer} WHERE m < 0 OR s = '日本'", [[1], [3]])
        engines.both(f"SELECT file_format, record_count, null_value_counts FROM `by_{writer}$files`")
    engines.both("SELECT * FROM by_ours EXCEPT SELECT * FROM by_java", [])


@pytest.mark.parametrize("writer", ENGINES)
def test_page_checksums(engines: Engines, writer: str) -> None:
    """Each engine finds a value that was changed in a file of either; only Java has to be asked to look."""
    options = "'file.compression' = 'none', 'parquet.page.verify-checksum.enabled' = 'true'"
    engines.run(writer, f"CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ({options})")
    engines.run(writer, "INSERT INTO t VALUES (1, 'right one'), (2, 'right two')")
    engines.both("SELECT * FROM t")
    for (path,) in engines.by_name["ours"].sql("SELECT file_path FROM `t$files`").rows:
        file = Path(str(path).removeprefix("file:"))
        file.write_bytes(file.read_bytes().replace(b"right two", b"wrong two", 1))
    for engine in ENGINES:
        with pytest.raises(Exception, match=r"(?is)checksum|crc"):
            engines.run(engine, "SELECT * FROM t")
