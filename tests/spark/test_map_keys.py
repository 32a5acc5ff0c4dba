"""Queries of keys of MAPs with a column per key read these columns, and return the same as from whole MAPs."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.spark

ROWS = (
    "(0, map('a', 1, 'b', 2, 'c', 3), map('x', 'p'), 'u')",
    "(1, map('a', 7), NULL, 'u')",
    "(2, map('b', NULL, 'd', 4, 'e', 5), map('x', NULL, 'y', 'q'), 'w')",
    "(3, NULL, map(), 'w')",
    "(4, map(), map('y', 'r', 'x', 's'), 'w')",
    "(5, map('c', 1, 'a', NULL), map('日本', 't', 'x', 'v'), 'u')",
)
# a query of {t}, and the keys that it reads; None for whole MAPs
QUERIES = (
    ("SELECT id, element_at(m, 'c'), try_element_at(m, 'none') FROM {t}", 'm["c", "none"]'),
    ("SELECT id, map_contains_key(m, 'b'), m IS NULL, m.a FROM {t} ORDER BY m['d'], id", 'm["a", "b", "d"]'),
    ("SELECT id, m['a'] + m['b'], n['日本'] FROM {t} WHERE m['c'] > 0", 'm["a", "b", "c"], n["日本"]'),
    ("SELECT n['x'] AS x, sum(m['a']) FROM {t} GROUP BY 1 HAVING count(*) > 0", 'm["a"], n["x"]'),
    ("SELECT count(*) FROM {t} WHERE m IS NOT NULL", "m[]"),
    ("SELECT id, (SELECT max(m['a']) FROM {t}) FROM {t} WHERE id IN (SELECT m['b'] FROM {t})", 'm["b"]'),
    ("SELECT id, m['a'], size(m) FROM {t}", None),
    ("SELECT id, m['a'] FROM {t} WHERE exists(map_values(m), v -> v > 1)", None),
    ("SELECT id, map_contains_key(m, n['x']) FROM {t}", 'n["x"]'),
    ("SELECT id, k FROM {t} LATERAL VIEW explode(m) e AS k, v WHERE m['a'] > 0", None),
    ("SELECT id, size(m) FROM (SELECT id, m FROM {t} UNION ALL SELECT id, m FROM {t}) WHERE m['a'] = 1", None),
)
LAYOUT = ", ".join(
    f"'fields.{c}.map.storage-layout' = 'shared-shredding', 'fields.{c}.map.shared-shredding.max-columns' = '2'"
    for c in "mn"
)
KEYED = "'primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true'"
READ = re.compile(r"keys of MAPs: ((?:[mn]\[[^]]*\](?:, )?)+)")


def make(spark: Any, table: str, properties: str) -> None:
    columns = "id INT NOT NULL, m MAP<STRING, INT>, n MAP<STRING, STRING>, p STRING"
    spark.sql(f"CREATE TABLE {table} ({columns}) TBLPROPERTIES ({properties})")
    for rows in (ROWS[:4], ROWS[3:]):
        values = [f"({i + 90}, NULL, map('x', 'z'), 'u')" for i in (len(rows),)]
        spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join([*rows, *values])}")


def answer(spark: Any, query: str) -> list[str]:
    return sorted(str(r) for r in spark.sql(query).collect())


def read(spark: Any, query: str) -> tuple[list[str], str]:
    """Return the rows of a query, and its plan."""
    found = spark.sql(query)
    return sorted(str(r) for r in found.collect()), str(found._jdf.queryExecution().sparkPlan().toString())


def keys_of(plan: str) -> str | None:
    """Return the keys that the first scan with selected keys reads."""
    found = READ.search(plan)
    return found and found[1].removesuffix(", ")


def test_answers_are_those_of_whole_maps(spark: Any) -> None:
    make(spark, "plain", "'file.format' = 'parquet'")
    make(spark, "parts", LAYOUT)
    for query, keys in QUERIES:
        rows, plan = read(spark, query.format(t="parts"))
        assert rows == answer(spark, query.format(t="plain")), query
        assert keys_of(plan) == keys, query


@pytest.mark.parametrize("more", ["'file.format' = 'orc'", KEYED])
def test_orc_files_and_merged_rows(spark: Any, more: str) -> None:
    make(spark, "parts", f"{more}, {LAYOUT}")
    rows, plan = read(
        spark, "SELECT id, m['a'], n['x'], map_contains_key(m, 'c') AS c FROM parts WHERE abs(id) IN (0, 2, 3, 5)"
    )
    assert [*dict.fromkeys(rows)] == [
        "Row(id=0, m[a]=1, n[x]='p', c=True)",
        "Row(id=2, m[a]=None, n[x]=None, c=False)",
        "Row(id=3, m[a]=None, n[x]=None, c=None)",
        "Row(id=5, m[a]=None, n[x]='v', c=True)",
    ]
    assert keys_of(plan) == 'm["a", "c"], n["x"]'


def test_each_side_of_a_join_reads_its_keys(spark: Any) -> None:
    make(spark, "parts", LAYOUT)
    _, plan = read(spark, "SELECT l.id, r.m['b'] FROM parts l JOIN parts r ON l.m['a'] = r.id")
    assert READ.findall(plan) == ['m["a"]', 'm["b"]']
    query = "SELECT id, (SELECT max(m['a']) FROM parts), (SELECT min(m['c']) FROM parts) FROM parts WHERE m['b'] = 2"
    rows, plan = read(spark, query)
    assert rows == ["Row(id=0, scalarsubquery()=7, scalarsubquery()=1)"]
    assert READ.findall(plan)[-1] == 'm["b"]' and "m[]" not in plan


def test_a_lookup_of_a_key_reads_the_keys_too(spark: Any) -> None:
    make(spark, "keyed", f"{KEYED}, {LAYOUT}")
    query = "SELECT id, m['a'], n['y'] FROM keyed WHERE id = 2"
    rows, plan = read(spark, query)
    assert rows == ["Row(id=2, m[a]=None, n[y]='q')"] and "LocalTableScan" in plan


def test_partitions_that_a_join_prunes(spark: Any) -> None:
    layout, columns = LAYOUT.split(", ")[0], "id INT, m MAP<STRING, INT>, p STRING"
    spark.sql(f"CREATE TABLE f ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({layout})")
    spark.sql("INSERT INTO f VALUES (1, map('a', 1, 'b', 2), 'u'), (2, map('a', 3), 'w'), (3, NULL, 'v')")
    spark.sql(f"CREATE TABLE d (q STRING, m MAP<STRING, STRING>) TBLPROPERTIES ({layout})")
    spark.sql("INSERT INTO d VALUES ('u', map('name', 'first', 'kind', 'k')), ('w', map('name', 'second'))")
    query = "SELECT f.id, f.m['a'], d.m['name'] FROM f JOIN d ON f.p = d.q WHERE d.m['kind'] = 'k'"
    rows, plan = read(spark, query)
    assert rows == ["Row(id=1, m[a]=1, m[name]='first')"]
    assert {*READ.findall(plan)} == {'m["a"]', 'm["kind", "name"]'}


def test_files_of_older_schemas_and_other_layouts(spark: Any) -> None:
    spark.sql("CREATE TABLE e (id INT, m MAP<STRING, INT>)")
    spark.sql("INSERT INTO e VALUES (1, map('a', 1, 'b', 2)), (2, NULL)")
    spark.sql("ALTER TABLE e SET TBLPROPERTIES ('fields.m.map.storage-layout' = 'shared-shredding')")
    spark.sql("INSERT INTO e VALUES (3, map('a', 3, 'c', 4)), (4, map('b', 5))")
    spark.sql("ALTER TABLE e ADD COLUMNS (x STRING FIRST)")
    spark.sql("INSERT INTO e VALUES ('x', 5, map('a', 6))")
    query = "SELECT id, m['a'], map_contains_key(m, 'b') AS has FROM e"
    rows = [(1, 1, True), (2, None, None), (3, 3, False), (4, None, True), (5, 6, False)]
    assert sorted(tuple(r) for r in spark.sql(query).collect()) == rows
    assert keys_of(read(spark, query)[1]) == 'm["a", "b"]'
    assert spark.sql("SELECT id, m['c'] FROM e VERSION AS OF 2 WHERE id = 3").collect()[0][1] == 4


def test_columns_with_an_aggregate_function_are_whole(spark: Any) -> None:
    functions = {"m": "merge_map", "n": "last_value", "p": "last_value"}
    merged = ", ".join(f"'fields.{c}.aggregate-function' = '{name}'" for c, name in functions.items())
    make(spark, "merged", f"{KEYED}, {LAYOUT}, 'merge-engine' = 'aggregation', {merged}")
    rows, plan = read(spark, "SELECT id, m['a'], n['x'] FROM merged")
    assert rows[0] == "Row(id=0, m[a]=1, n[x]='p')" and keys_of(plan) is None


def test_changes_of_rows_keep_whole_maps(spark: Any) -> None:
    make(spark, "keyed", f"{KEYED}, {LAYOUT}")
    before = answer(spark, "SELECT id, map_entries(m), map_entries(n) FROM keyed WHERE id <> 1")
    spark.sql("UPDATE keyed SET n = map('new', m['a']) WHERE m['a'] = 7")
    spark.sql("DELETE FROM keyed WHERE m['a'] = 1000")
    spark.sql(
        "MERGE INTO keyed t USING (SELECT 1 AS id) s ON t.id = s.id "
        "WHEN MATCHED AND t.m['a'] = 7 THEN UPDATE SET p = 'z'"
    )
    assert answer(spark, "SELECT id, map_entries(m), map_entries(n) FROM keyed WHERE id <> 1") == before
    assert answer(spark, "SELECT m, n, p FROM keyed WHERE id = 1") == ["Row(m={'a': 7}, n={'new': '7'}, p='z')"]
    spark.sql("CREATE TABLE copied AS SELECT id, m FROM keyed WHERE m['a'] IS NOT NULL")
    assert answer(spark, "SELECT m FROM copied WHERE id = 0") == ["Row(m={'a': 1, 'b': 2, 'c': 3})"]
    cached = spark.table("keyed").cache()
    assert sorted(cached.where("m['b'] = 2").first()["m"]) == ["a", "b", "c"]
    cached.unpersist()
