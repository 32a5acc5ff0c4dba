"""Tables of every merge engine, written and compacted by the engines alternately: both read the same versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.interop.engines import ENGINES, Engines, other

COLUMNS = "k INT NOT NULL, g INT, h INT, a INT, b DOUBLE, d DECIMAL(8, 2), t STRING, kind STRING"
SEVERAL = {"fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "min"}
RETRACTING = {
    **SEVERAL,
    "merge-engine": "aggregation",
    "fields.d.aggregate-function": "product",
    "fields.t.aggregate-function": "listagg",
    "fields.t.ignore-retract": "true",
    "fields.b.ignore-retract": "true",
    "fields.g.aggregate-function": "last_value",
}
TABLES: Mapping[str, Mapping[str, str]] = {
    "aggregation": RETRACTING,
    "aggregation_remove": {
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "last_non_null_value",
        "fields.a.aggregate-function": "first_value",
        "fields.b.aggregate-function": "max",
        "fields.t.aggregate-function": "first_non_null_value",
        "aggregation.remove-record-on-delete": "true",
        "ignore-update-before": "true",
    },
    "partial_update_remove": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "partial_update_ignore": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "sequence_groups": {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a,t",
        "fields.h.sequence-group": "b,d",
        "fields.a.aggregate-function": "sum",
        "partial-update.remove-record-on-sequence-group": "h",
    },
    "two_sequence_columns": {
        "merge-engine": "partial-update",
        "fields.g,h.sequence-group": "a,b,t",
        "fields.a.aggregate-function": "first_value",
        "fields.a.ignore-retract": "true",
        "fields.b.aggregate-function": "last_non_null_value",
    },
    "descending": {"sequence.field": "g,h", "sequence.field.sort-order": "descending"},
    "ascending_ignore": {"sequence.field": "b", "ignore-delete": "true"},
}
# rows of a statement; each has every kind of change where the table takes it
STATEMENTS: Sequence[str] = (
    "(1, 1, 1, 5, 1.5, 1.50, 'a', '+I'), (2, 2, 1, 6, 2.5, 2.00, NULL, '+I'), (3, NULL, 3, 7, NULL, 3.25, 'c', '+I')",
    "(1, 2, NULL, 1, 0.5, 2.00, 'b', '+U'), (2, 1, 2, NULL, 9.5, NULL, 'x', '+I'), (4, 1, 1, 1, 1.0, 1.00, '', '+I')",
    "(1, 2, 1, 1, 0.5, 2.00, 'b', '-D'), (3, 1, NULL, 2, -0.5, 4.00, NULL, '+I'), (4, 2, 2, 3, NULL, 2.50, 'z', '+U')",
    "(1, 3, 3, 4, 4.0, 5.00, 'n', '+I'), (4, 2, 2, 3, 1.0, 2.50, 'z', '-U'), (5, 1, 1, 1, 1.0, 1.00, 'e', '+I')",
    "(2, 9, 9, 2, 2.0, 2.00, 'q', '-D'), (5, NULL, NULL, NULL, NULL, NULL, NULL, '+I'), (3, 5, 5, 5, 5, 5, 'o', '+I')",
)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("first", ENGINES)
def test_merges_are_the_same(engines: Engines, first: str, table: str) -> None:
    options = {"primary-key": "k", "bucket": "1", "write-only": "true", "rowkind.field": "kind", **TABLES[table]}
    properties = ", ".join(f"'{k}' = '{v}'" for k, v in options.items())
    engines.run(first, f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ({properties})")
    writer, compact = first, f"CALL sys.compact(table => '{engines.database}.t')"
    for number, rows in enumerate(STATEMENTS):
        engines.run(writer, f"INSERT INTO t VALUES {rows}")
        if number == 2:
            engines.run(writer, compact)
        writer = other(writer)
    engines.both("SELECT * FROM t")
    if "partial-update.remove-record-on-sequence-group" not in options:  # Java forgets it where the group is not read
        engines.both("SELECT a, t FROM t WHERE k < 4")
        engines.both("SELECT k FROM t WHERE b > 1")
    engines.run(writer, compact)
    versions = range(1, len(STATEMENTS) + 3)
    shown = engines.both(" UNION ALL ".join(f"SELECT {n} AS n, * FROM t VERSION AS OF {n}" for n in versions))
    assert {row[0] for row in shown} == set(versions)


@pytest.mark.parametrize("first", ENGINES)
def test_nested_values_merge_the_same(engines: Engines, first: str) -> None:
    functions = {
        "l": "collect",
        "m": "merge_map",
        "u": "nested_update",
        "w": "nested_update",
        "p": "nested_partial_update",
    }
    spelled = ", ".join(f"'fields.{c}.aggregate-function' = '{f}'" for c, f in functions.items())
    engines.run(
        first,
        "CREATE TABLE t (k INT NOT NULL, l ARRAY<STRING>, m MAP<STRING, INT>, u ARRAY<STRUCT<id: INT, v: STRING>>, "
        "w ARRAY<STRUCT<a: STRING, b: DECIMAL(20,2), v: INT>>, p ARRAY<STRUCT<id: BIGINT, v: STRING, w: INT>>) "
        "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true', 'merge-engine' = 'aggregation', "
        f"'fields.u.nested-key' = 'id', 'fields.w.nested-key' = 'a,b', 'fields.p.nested-key' = 'id', {spelled})",
    )
    rows = (
        "SELECT 1, array('a', 'b'), map('x', 1), array(named_struct('id', 1, 'v', 'a')), NULL, NULL",
        "SELECT 1, array('b', NULL), map('x', NULL, 'y', 2), array(named_struct('id', 1, 'v', NULL)), NULL, NULL",
        "SELECT 1, NULL, NULL, array(named_struct('id', 2, 'v', 'c')), NULL, NULL",
    )
    for number, statement in enumerate(rows):
        engines.run(first if number % 2 == 0 else other(first), f"INSERT INTO t {statement}")
    for ids in (range(5), range(20), range(3, 40, 4)):  # the rows of a nested table are ordered by hashes of their keys
        tables = (
            ", ".join(row.format(i) for i in ids)
            for row in (
                "named_struct('id', {0}, 'v', 'v{0}')",
                "named_struct('a', 'a text of key {0}', 'b', CAST({0} AS DECIMAL(20,2)), 'v', {0})",
                "named_struct('id', {0}L, 'v', 'v{0}', 'w', CAST(NULL AS INT))",
            )
        )
        columns = ", ".join(f"array({t})" for t in tables)
        engines.run(first, f"INSERT INTO t SELECT 2, NULL, NULL, {columns}")
    query = "SELECT k, l, m, u, w, p FROM t"
    engines.both(query)
    engines.run(other(first), f"CALL sys.compact(table => '{engines.database}.t')")
    engines.both(query)


def test_first_row(engines: Engines) -> None:
    engines.run(
        "ours",
        "CREATE TABLE t (k INT NOT NULL, v STRING) "
        "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'first-row')",
    )
    engines.run("ours", "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO t VALUES (1, 'z'), (3, 'c')")
    engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t')")
    engines.both("SELECT * FROM t", [[1, "a"], [2, "b"], [3, "c"]])
    engines.run("java", "INSERT INTO t VALUES (2, 'z'), (4, 'd')")
    engines.both("SELECT * FROM t", [[1, "a"], [2, "b"], [3, "c"], [4, "d"]])
