"""BLOB columns, in files of their own: what one engine writes, changes and compacts the other reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_core.store.blob.references import decode_references, encode_references
from tests.interop.engines import ENGINES, Engines, other

COMPACT = "CALL sys.compact(table => "
EVOLVES = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
FILES = "SELECT first_row_id, record_count, write_cols, max_sequence_number, null_value_counts FROM `t$files`"
BLOBS = "SELECT file_size_in_bytes FROM `t$files` WHERE file_format = 'blob'"


@pytest.mark.parametrize("first", ENGINES)
def test_values_in_files_of_their_own(engines: Engines, first: str) -> None:
    second = other(first)
    engines.run(
        first,
        "CREATE TABLE t (k INT, pic BINARY COMMENT '__BLOB_FIELD; a picture', name STRING, doc BINARY) "
        f"TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'doc', 'blob.target-file-size' = '20 b')",
    )
    engines.both("SELECT fields, get_json_object(options, '$.blob-field') AS blobs FROM `t$schemas`")
    values = "VALUES (1, X'0102', 'a', X'03'), (2, NULL, 'b', X'04'), (3, X'', 'c', NULL)"
    for engine in (first, second):
        engines.run(engine, f"INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM {values} ORDER BY 1")
    engines.both(FILES)
    engines.both(BLOBS)
    engines.run(first, "UPDATE t SET name = 'z', doc = X'0A0B' WHERE k = 1", "UPDATE t SET pic = NULL WHERE k = 3")
    engines.run(second, "DELETE FROM t WHERE _ROW_ID = 1")
    source = "(SELECT 2 AS k, X'22' AS pic UNION ALL SELECT 9, X'99')"
    actions = "WHEN MATCHED THEN UPDATE SET pic = s.pic WHEN NOT MATCHED THEN INSERT (k, pic) VALUES (s.k, s.pic)"
    engines.run(second, f"MERGE INTO t USING {source} s ON t.k = s.k {actions}")
    rows = [
        [1, "x:0102", "z", "x:0a0b", 0],
        [3, None, "c", None, 2],
        [1, "x:0102", "z", "x:0a0b", 3],
        [2, "x:22", "b", "x:04", 4],
        [3, None, "c", None, 5],
        [9, "x:99", None, None, 6],
    ]
    query = "SELECT k, pic, name, doc, _ROW_ID FROM t ORDER BY _ROW_ID"
    engines.both(query, rows)
    engines.both(FILES)
    for engine in (first, second):
        engines.run(
            engine, f"CALL sys.compact(table => '{engines.database}.t', options => 'compaction.min.file-num=2')"
        )
        engines.both(query, rows)
        engines.run(engine, "UPDATE t SET k = k + 0, doc = X'0A0B' WHERE k = 1")
    engines.both(query, rows)
    engines.both("SELECT total_record_count, next_row_id, commit_kind FROM `t$snapshots`")
    engines.run(second, "INSERT OVERWRITE t VALUES (7, X'77', 'o', NULL)")
    engines.both("SELECT * FROM t", [[7, "x:77", "o", None]])


def test_descriptors(engines: Engines, tmp_path: Path) -> None:
    first, second = ENGINES
    (tmp_path / "f").write_bytes(b"content")
    described = f"sys.path_to_descriptor('{tmp_path}/f')"
    columns = "k INT, pic BINARY, doc BINARY COMMENT '__BLOB_DESCRIPTOR_FIELD'"
    engines.run(first, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'pic')")
    engines.run(first, f"INSERT INTO t VALUES (1, {described}, {described})")
    engines.run(second, f"INSERT INTO t SELECT id, {described}, NULL FROM range(2, 3)")
    # Java's catalog keeps what it knows of a table: it alters it
    engines.run("java", "ALTER TABLE t ADD COLUMN x BINARY COMMENT '__BLOB_FIELD; more'")
    content = "x:636f6e74656e74"
    engines.both("SELECT * FROM t", [[1, content, content, None], [2, content, None, None]])
    engines.both(FILES)
    engines.run("java", "ALTER TABLE t SET TBLPROPERTIES ('blob-as-descriptor' = 'true')")
    shown = "SELECT k, sys.descriptor_to_string(pic) AS pic, sys.descriptor_to_string(doc) AS doc FROM t"
    assert "/bucket-0/data-" in engines.both(shown)[0][1]
    engines.run(first, f"CREATE TABLE u (k INT, pic BINARY) TBLPROPERTIES ({EVOLVES}, 'blob-field' = 'pic')")
    engines.run(second, "INSERT INTO u SELECT k, pic FROM t")
    engines.both("SELECT * FROM u", [[1, content], [2, content]])


@pytest.mark.parametrize("first", ENGINES)
def test_arrays_and_maps_in_files_of_their_own(engines: Engines, first: str) -> None:
    second = other(first)
    keys = ("STRING", "INT", "TINYINT", "BIGINT")  # other keys need Paimon 2.1
    maps = ", ".join(f"m{i} MAP<{key}, BINARY> COMMENT '__BLOB_FIELD'" for i, key in enumerate(keys))
    columns = f"k INT, a ARRAY<BINARY> COMMENT '__BLOB_FIELD; pages', {maps}"
    engines.run(first, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({EVOLVES}, 'blob.target-file-size' = '60 b')")
    engines.both("SELECT fields, get_json_object(options, '$.blob-field') AS blobs FROM `t$schemas`")
    literals = ("'x'", "-7", "-7Y", "-70000000000L")
    values = ", ".join(f"MAP({key}, X'0{i}')" for i, key in enumerate(literals))
    nothing = ", ".join("NULL" for _ in keys)
    for engine in (first, second):
        rows = (
            f"VALUES (1, ARRAY(X'01', NULL, X''), {values}), (2, ARRAY(), MAP(), {nothing[6:]}), (3, NULL, {nothing})"
        )
        engines.run(engine, f"INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM {rows} ORDER BY 1")
    engines.both(FILES)
    engines.both(BLOBS)
    found = ", ".join(f"m{i}[{key}] AS v{i}, size(m{i}) AS s{i}" for i, key in enumerate(literals))
    query = (
        f"SELECT _ROW_ID, k, get(a, 0) AS a0, get(a, 1) AS a1, get(a, 2) AS a2, size(a) AS n, {found} FROM t ORDER BY 1"
    )
    rows_found = engines.both(query)
    assert rows_found[0][:6] == [0, 1, "x:01", None, "x:", 3] and rows_found[3][6] == "x:00"
    engines.run(first, "UPDATE t SET a = ARRAY(X'AA') WHERE k = 2")
    engines.run(
        second, "MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET m1 = MAP(5, X'BB')"
    )
    engines.run(second, "DELETE FROM t WHERE _ROW_ID = 0")
    rows_found = engines.both(query)
    merges = "compaction.min.file-num=2,blob-compaction.enabled=true"
    engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t', options => '{merges}')")
    assert engines.both(query) == rows_found
    assert len(engines.rows("ours", BLOBS)) < 20
    engines.run(second, "UPDATE t SET a = ARRAY(X'CC') WHERE k = 2")
    engines.both(query)
    described = "SELECT sys.descriptor_to_string(a[0]) LIKE '%.blob%' AS b FROM t WHERE k = 2"
    engines.run("java", "ALTER TABLE t SET TBLPROPERTIES ('blob-as-descriptor' = 'true')")
    engines.both(described, [[True], [True]])


KEYED = "'primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true'"


@pytest.mark.parametrize("first", ENGINES)
def test_values_of_keyed_tables_in_packs(engines: Engines, first: str) -> None:
    second = other(first)
    create = "CREATE TABLE t (k INT, pic BINARY COMMENT '__BLOB_FIELD', name STRING)"
    engines.run(first, f"{create} TBLPROPERTIES ({KEYED}, 'blob.target-file-size' = '20 b')")
    engines.both("SELECT fields, get_json_object(options, '$.blob-field') AS blobs FROM `t$schemas`")
    engines.run(first, "INSERT INTO t VALUES (1, X'0102', 'a'), (2, NULL, 'b'), (3, X'', 'c')")
    engines.run(second, "INSERT INTO t VALUES (1, X'05060708', 'z'), (4, X'0A', 'd')")
    rows = [[1, "x:05060708", "z"], [2, None, "b"], [3, "x:", "c"], [4, "x:0a", "d"]]
    query = "SELECT * FROM t ORDER BY k"
    engines.both(query, rows)
    engines.both("SELECT rowkind, k, pic FROM `t$audit_log` ORDER BY k")
    files = "SELECT level, record_count, null_value_counts, min_value_stats FROM `t$files` ORDER BY record_count"
    engines.both(files)
    assert engines.rows("ours", "SELECT pic FROM t WHERE k = 4") == [["x:0a"]]
    for engine in (second, first):
        engines.run(engine, f"DELETE FROM t WHERE k = {4 if engine == second else 2}")
        engines.run(engine, "UPDATE t SET name = 'new' WHERE k = 3")
        engines.run(engine, f"{COMPACT}'{engines.database}.t')")
        rows = [[k, pic, "new" if k == 3 else name] for k, pic, name in rows if k != (4 if engine == second else 2)]
        engines.both(query, rows)
        engines.both(files)
        for (path,) in engines.rows("ours", "SELECT file_path FROM `t$files`"):
            bytes_of_both = Path(f"{path}.blobref").read_bytes()
            assert encode_references(decode_references(path, bytes_of_both)) == bytes_of_both
    engines.run(second, "INSERT OVERWRITE t VALUES (7, X'77', 'o')")
    engines.both(query, [[7, "x:77", "o"]])
    engines.run(first, "INSERT INTO t VALUES (8, X'88', 'p')", f"{COMPACT}'{engines.database}.t')")
    engines.run(second, "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    ((path,),) = engines.rows("ours", "SELECT file_path FROM `t$files`")
    packs = set(Path(path).parent.glob("*.managed.blob"))
    for pack in packs:
        os.utime(pack, (1, 1))
    engines.run("ours", "CALL sys.remove_orphan_blobs(table => 't')")
    needed = {Path(p) for p in decode_references(path, Path(f"{path}.blobref").read_bytes())}
    assert set(Path(path).parent.glob("*.managed.blob")) == needed < packs
    engines.both(query, [[7, "x:77", "o"], [8, "x:88", "p"]])


@pytest.mark.parametrize("first", ENGINES)
def test_arrays_and_maps_of_blobs(engines: Engines, first: str) -> None:
    second = other(first)
    columns = "k INT, a ARRAY<BINARY> COMMENT '__BLOB_FIELD; pages', m MAP<STRING, BINARY> COMMENT '__BLOB_FIELD'"
    engines.run(first, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({KEYED}, 'blob.target-file-size' = '20 b')")
    engines.both("SELECT fields, get_json_object(options, '$.blob-field') AS blobs FROM `t$schemas`")
    engines.run(first, "INSERT INTO t VALUES (1, ARRAY(X'01', NULL, X''), MAP('x', X'02', 'y', NULL)), (2, NULL, NULL)")
    engines.run(second, "INSERT INTO t VALUES (2, ARRAY(), MAP()), (3, ARRAY(X'0304'), MAP('z', X'05'))")
    query = "SELECT k, get(a, 0), get(a, 1), get(a, 2), size(a), m['x'], m['y'], m['z'], size(m) FROM t ORDER BY k"
    rows = engines.both(query)
    assert rows[0][:4] == [1, "x:01", None, "x:"] and rows[2][1] == "x:0304" and rows[2][7] == "x:05"
    for engine in (second, first):
        engines.run(engine, f"DELETE FROM t WHERE k = {2 if engine == second else 3}")
        engines.run(engine, f"{COMPACT}'{engines.database}.t')")
        rows = [r for r in rows if r[0] != (2 if engine == second else 3)]
        engines.both(query, rows)
        for (path,) in engines.rows("ours", "SELECT file_path FROM `t$files`"):
            bytes_of_both = Path(f"{path}.blobref").read_bytes()
            assert encode_references(decode_references(path, bytes_of_both)) == bytes_of_both


@pytest.mark.parametrize("first", ENGINES)
def test_packs_of_postponed_and_dynamic_buckets(engines: Engines, first: str) -> None:
    second = other(first)
    columns = "k INT, pic BINARY COMMENT '__BLOB_FIELD', p STRING"
    waits = "'postpone.batch-write-fixed-bucket' = 'false', 'postpone.default-bucket-num' = '1'"
    for name, bucket, more in (("postponed", -2, waits), ("dynamic", -1, "'file.format' = 'avro'")):
        options = f"'primary-key' = 'p,k', 'bucket' = '{bucket}', {more}"
        engines.run(first, f"CREATE TABLE {name} ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({options})")
        engines.run(first, f"INSERT INTO {name} VALUES (1, X'01', 'a'), (2, X'02', 'b')")
        engines.run(second, f"INSERT INTO {name} VALUES (1, X'11', 'a'), (3, X'03', 'b')")
        # Java's compaction gives postponed rows of two commits no order: of a key it keeps the older row, whoever wrote
        engines.run("ours" if name == "postponed" else second, f"{COMPACT}'{engines.database}.{name}')")
        rows = [[1, "x:11", "a"], [2, "x:02", "b"], [3, "x:03", "b"]]
        engines.both(f"SELECT * FROM {name} ORDER BY k", rows)


def test_functions(engines: Engines) -> None:
    for call in (
        "hex(sys.path_to_descriptor('/a/b'))",
        "sys.path_to_descriptor(CAST(NULL AS STRING))",
        "sys.descriptor_to_string(X'010300000061622F01000000000000000200000000000000')",
        "sys.bucket(10, 5), sys.mod_bucket(10, -5), sys.hive_bucket(10, 'a', 5)",
        "sys.bucket(7, CAST(NULL AS INT), 'a', 1.5)",
        "sys.bucket(8, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00.123456', 1.5D, X'0102', true, 5L)",
    ):
        answers = {str(engines.rows(e, f"SELECT {call}")) for e in ENGINES}
        assert len(answers) == 1, (call, answers)
    described = "sys.descriptor_to_string(sys.path_to_descriptor(CAST(id AS STRING)))"
    query = f"SELECT id, sys.bucket(10, id), {described} FROM range(20)"
    assert sorted(engines.rows("ours", query)) == sorted(engines.rows("java", query))


@pytest.mark.parametrize("first", ENGINES)
def test_views_of_blobs_in_other_tables(engines: Engines, first: str) -> None:
    second = other(first)
    engines.run(first, f"CREATE TABLE src (k INT, pic BINARY COMMENT '__BLOB_FIELD') TBLPROPERTIES ({EVOLVES})")
    engines.run(second, "INSERT INTO src SELECT /*+ REPARTITION(1) */ * FROM VALUES (1, X'01'), (2, NULL) ORDER BY 1")
    columns = "k INT, pic BINARY COMMENT '__BLOB_VIEW_FIELD; of src'"
    engines.run(first, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({EVOLVES})")
    engines.both("SELECT fields, get_json_object(options, '$.blob-view-field') AS views FROM `t$schemas`")
    view = f"sys.blob_view('{engines.database}.src', 'pic', _ROW_ID)"
    views = {str(engines.rows(e, f"SELECT k, hex({view}) FROM src ORDER BY k")) for e in ENGINES}
    assert len(views) == 1
    for engine in (first, second):
        engines.run(engine, f"INSERT INTO t SELECT k, {view} FROM src")
    query = "SELECT k, pic FROM t ORDER BY k"
    engines.both(query, [[1, "x:01"], [1, "x:01"], [2, None], [2, None]])
    engines.run(second, "UPDATE src SET pic = X'0A' WHERE k = 1")
    engines.run("ours", "UPDATE t SET k = 9 WHERE k = 2", f"{COMPACT}'{engines.database}.t')")
    engines.both(query, [[1, "x:0a"], [1, "x:0a"], [9, None], [9, None]])


def test_views_of_views(engines: Engines) -> None:
    tracked = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
    columns = "(k INT, w BINARY COMMENT '{}') TBLPROPERTIES (" + tracked + ")"
    engines.run("ours", f"CREATE TABLE pics {columns.format('__BLOB_FIELD')}", "INSERT INTO pics VALUES (1, X'01')")
    for name, of in (("one", "pics"), ("two", "one")):
        view = f"sys.blob_view('{engines.database}.{of}', 'w', _ROW_ID)"
        engines.run("ours", f"CREATE TABLE {name} {columns.format('__BLOB_VIEW_FIELD')}")
        engines.run("ours", f"INSERT INTO {name} SELECT k, {view} FROM {of}")
        engines.both(f"SELECT k, hex(w) AS w FROM {name}", [[1, "01"]])
