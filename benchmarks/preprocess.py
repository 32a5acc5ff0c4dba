"""How long the preprocessor takes for statements of 10 KB in several shapes.

The bars: 15 ms for a statement that is rewritten, 1 ms for one that stays, without sqlglot's compiled code. Prints
milliseconds of processor time, the best of several runs, and the ratio to splitting the statement into words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from paimon_sql.preprocess import preprocess

RUNS = 9
LENGTH = 10 * 1024
BAR, BAR_OF_UNCHANGED = 15, 1
# the head, one item by its number, the end
REWRITTEN = {
    "rows": ("INSERT INTO t$branch_b VALUES ", "({i}, 'it has, commas', -{i}.5, NULL)", ""),
    "rows with ROW": ("INSERT INTO t VALUES ", "({i}, ROW({i}, 'x'), 'it is')", ""),
    "rows with ARRAY, MAP": ("INSERT INTO t VALUES ", "({i}, ARRAY[{i}, 2], MAP['a', {i}])", ""),
    "keys behind IN": ("SELECT * FROM t$files WHERE a IN (", "'key-{i}'", ")"),
    "expressions": ("CREATE TABLE t WITH ('bucket' = '1') AS SELECT ", "CASE WHEN c > {i} THEN x.c{i} END AS n{i}", ""),
    "columns": ("CREATE TABLE t (b BYTES, ", "c{i} DECIMAL(10, 2) NOT NULL COMMENT 'the {i}'", ") WITH ('a' = 'b')"),
    "columns added": ("ALTER TABLE t ADD (", "c{i} DECIMAL(10, 2) COMMENT 'the {i}, column'", ")"),
    "columns of Flink's types": ("CREATE TABLE t (", "c{i} TIMESTAMP(3), d{i} BYTES", ", e INT) WITH ('a' = 'b')"),
    "columns of ROW": ("CREATE TABLE t (", "c{i} ROW<a INT, b STRING> NOT NULL", ", e INT) WITH ('a' = 'b')"),
    "columns of ROW of ARRAY": ("CREATE TABLE t (", "c{i} ROW<a INT, b ARRAY<TIMESTAMP(3)>>", ") WITH ('a' = 'b')"),
    "columns of ARRAY, MAP": (
        "CREATE TABLE t (",
        "c{i} ARRAY<INT>, d{i} MAP<STRING, INT>",
        ", e BYTES) WITH ('a' = 'b')",
    ),
    "columns, defaults": ("CREATE TABLE t (b BYTES, ", "c{i} INT DEFAULT {i} COMMENT 'it\\'s {i}'", ", e INT)"),
    "unions": ("SELECT 1 AS n", " UNION ALL SELECT count(*) FROM db.t{i}$files", ""),
    "hints": ("SELECT 1 AS n", " UNION ALL SELECT n FROM t{i} /*+ OPTIONS('scan.tag-name'='x') */", ""),
    "casts": ("SELECT ", "CAST(c{i} AS BYTES) AS n{i}", " FROM t"),
    "arrays": ("SELECT ", "ARRAY[{i}, 2]", " FROM t"),
    "rows in a query": ("SELECT ", "ROW(c{i}, 2) AS m{i}", " FROM t"),
    "unnested": ("SELECT * FROM s", " JOIN UNNEST(t.c{i}) AS u{i} (a, b)", ""),
    "changes": ("SELECT 1 AS n", " UNION ALL SELECT n FROM paimon_incremental_query('db.t{i}', {i}, 2)", ""),
    "sized columns added": ("ALTER TABLE t ADD (", "c{i} TIMESTAMP(3)", ")"),
    "columns modified": ("ALTER TABLE t MODIFY (", "c{i} DECIMAL(10, {i})", ")"),
    "options of a new table": ("CREATE TABLE t (a INT) WITH (", "'key.{i}' = 'value {i}'", ")"),
    "options": ("ALTER TABLE t SET (", "'key.{i}' = 'value {i}'", ")"),
    "assignments": ("MERGE INTO t USING s$files s ON t.a = s.a WHEN MATCHED THEN UPDATE SET ", "t.c{i} = s.c{i}", ""),
}

UNCHANGED = {
    "expressions": ("SELECT ", "CASE WHEN a[{i}] > {i} THEN map(x, c{i}) END AS n{i}", " FROM t"),
    "rows": ("INSERT INTO t VALUES ", "({i}, 'it has, commas', array({i}, 2), NULL)", ""),
    "columns": ("CREATE TABLE t (", "c{i} DECIMAL(10, 2) NOT NULL COMMENT 'the {i}'", ") USING paimon"),
    "columns of ARRAY, MAP": ("CREATE TABLE t (", "c{i} ARRAY<INT>, d{i} MAP<STRING, INT>", ") USING paimon"),
    "a table of a query": ("CREATE TABLE t USING paimon AS SELECT ", "CASE WHEN c{i} THEN x.c END AS n{i}", " FROM s"),
    "columns added": ("ALTER TABLE t ADD COLUMNS (", "c{i} DECIMAL(10, 2) COMMENT 'the {i}, column'", ")"),
    "options": ("ALTER TABLE t SET TBLPROPERTIES (", "'key.{i}' = 'value {i}'", ")"),
    "assignments": ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET ", "t.c{i} = s.c{i}", ""),
    "a table of columns": ("CREATE TABLE t AS SELECT ", "c{i} AS d{i}", " FROM s"),
    "a view": ("CREATE OR REPLACE VIEW v AS SELECT ", "c{i} AS d{i}", " FROM s"),
    "a temporary view": ("CREATE TEMPORARY VIEW v AS SELECT ", "c{i} AS d{i}", " FROM s"),
    "partitions dropped": ("ALTER TABLE t DROP ", "PARTITION (dt = '2026-01-{i}')", ""),
    "elements": ("SELECT ", "array[i] AS n{i}", " FROM t"),
    "comments": ("CREATE TABLE t (", "c{i} DECIMAL(10, 2) COMMENT 'the {i}' /* x */", ") USING paimon"),
    "keys behind IN": ("SELECT * FROM t WHERE a IN (", "'key-{i}'", ")"),
}


def statement(head: str, item: str, end: str) -> str:
    """A statement of about `LENGTH` characters."""
    items: list[str] = []
    joined = "" if item[0] == " " else ", "
    length = len(head) + len(end)
    while length < LENGTH:
        items.append(item.format(i=len(items)))
        length += len(items[-1]) + len(joined)
    return head + joined.join(items) + end


def milliseconds(function: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        started = time.thread_time()
        function()
        times.append(time.thread_time() - started)
    return min(times) * 1000


def main() -> None:
    for bar, shapes in ((BAR, REWRITTEN), (BAR_OF_UNCHANGED, UNCHANGED)):
        print(f"{'rewritten' if shapes is REWRITTEN else 'nothing to do'}: at most {bar} ms")
        for name, shape in shapes.items():
            text = statement(*shape)
            took = milliseconds(lambda text=text: preprocess(text))  # type: ignore[misc]
            words = milliseconds(lambda text=text: re.findall(r"\w+", text))  # type: ignore[misc]
            is_kept = getattr(preprocess(text), "edits", None) == ()
            assert is_kept == (shapes is UNCHANGED), name
            print(f"  {name:26s} {len(text):6d} characters {took:6.2f} ms  {took / words:5.1f}x its words")


if __name__ == "__main__":
    main()
