"""Each statement of ours in each place where Spark's grammar lets a statement stand: behind WITH, in scripts, in
EXECUTE IMMEDIATE, under EXPLAIN; with session variables, local variables and parameters.

Every statement runs in some of the places, each in others. With the variable `PAIMON_SQL_EVERY_STATEMENT` set each runs
in all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.spark.tables import targets

pytestmark = pytest.mark.spark

ROWS = [(1, "a"), (2, "b"), (3, "c")]
# a statement, a query, and what the query returns behind it
CHANGES = {
    "INSERT INTO t VALUES (4, 'd')": [*ROWS, (4, "d")],
    "INSERT INTO keyed SELECT 1, 'n'": [(1, "n"), (2, "b"), (3, "c")],
    "INSERT OVERWRITE t VALUES (9, 'x')": [(9, "x")],
    "DELETE FROM t WHERE id = 2": [(1, "a"), (3, "c")],
    "DELETE FROM keyed WHERE id IN (SELECT id FROM t WHERE id > 1)": [(1, "a")],
    "UPDATE t SET v = upper(v) WHERE id = 2": [(1, "a"), (2, "B"), (3, "c")],
    "UPDATE keyed SET v = (SELECT max(v) FROM t) WHERE id = 1": [(1, "c"), (2, "b"), (3, "c")],
    "MERGE INTO t USING (SELECT 3L AS id, 'm' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *": [(1, "a"), (2, "b"), (3, "m")],
    "TRUNCATE TABLE t": [],
}
OTHERS = {
    "ALTER TABLE t CREATE TAG made": ("SELECT tag_name FROM t$tags", [("made",)]),
    "CALL sys.create_branch(table => 't', branch => 'made')": ("SELECT branch_name FROM t$branches", [("made",)]),
    "ALTER TABLE t MODIFY v STRING COMMENT 'made'": ("SELECT count(*) FROM t$schemas", [(2,)]),
    "ALTER TABLE t SET ('snapshot.num-retained.max' = '20')": (
        "SELECT value FROM t$options WHERE key LIKE 'snapshot%'",
        [("20",)],
    ),
    "ANALYZE TABLE t COMPUTE STATISTICS": ("SELECT count(*) FROM t$statistics", [(1,)]),
    "CREATE TABLE made (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')": ("SELECT * FROM made", []),
    "CREATE MATERIALIZED TABLE made FRESHNESS = INTERVAL '1' DAY AS SELECT count(*) AS n FROM t": (
        "SELECT 1 WHERE EXISTS (SELECT * FROM made LIMIT 0)",
        [],
    ),
    "CREATE FUNCTION made(a INT) RETURNS INT RETURN a + 1": ("SELECT made(1)", [(2,)]),
}
PLACES = {
    "script": "BEGIN {}; END",
    "nested": "BEGIN a: BEGIN {}; END a; END",
    "if": "BEGIN IF (SELECT count(*) FROM t) = 3 THEN {}; END IF; END",
    "else": "BEGIN IF 1 = 2 THEN SELECT 1; ELSE {}; END IF; END",
    "case": "BEGIN CASE WHEN 1 = 2 THEN SELECT 1; ELSE {}; END CASE; END",
    "while": "BEGIN DECLARE i INT DEFAULT 0; WHILE i < 1 DO {}; SET i = i + 1; END WHILE; END",
    "repeat": "BEGIN REPEAT {}; UNTIL 1 = 1 END REPEAT; END",
    "loop": "BEGIN l: LOOP {}; LEAVE l; END LOOP l; END",
    "for": "BEGIN FOR r AS SELECT 1 AS n DO {}; END FOR; END",
    "handler": "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN {}; END; SELECT raise_error('x'); END",
    "execute": 'EXECUTE IMMEDIATE "{}"',
    "execute in a script": 'BEGIN EXECUTE IMMEDIATE "{}"; END',
}
NUMBERED = list(enumerate([*CHANGES, *OTHERS]))
EVERY = bool(os.environ.get("PAIMON_SQL_EVERY_STATEMENT"))
CASES = [
    pytest.param(statement, PLACES[place], id=f"{place}: {statement[:40]}")
    for number, statement in NUMBERED
    for index, place in enumerate(PLACES)
    if EVERY or number % len(PLACES) == index
]


@pytest.fixture
def tables(spark: Any) -> Any:
    spark.conf.set("spark.sql.scripting.enabled", "true")  # as it is from 4.1 on
    rows = "VALUES (1, 'a'), (2, 'b'), (3, 'c')"
    for name, options in (("t", "'bucket' = '-1'"), ("keyed", "'primary-key' = 'id', 'bucket' = '1'")):
        spark.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, v STRING) TBLPROPERTIES ({options})")
        spark.sql(f"INSERT INTO {name} {rows}")
    return spark


def rows_of(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def target(statement: str) -> str:
    return "keyed" if " keyed " in statement else "t"


@pytest.mark.parametrize(("statement", "place"), CASES)
def test_it_runs(tables: Any, statement: str, place: str) -> None:
    tables.sql(place.format(statement))
    default = (f"SELECT * FROM {target(statement)} ORDER BY id", CHANGES.get(statement))
    query, expected = OTHERS.get(statement, default)
    assert rows_of(tables, query) == expected


BEHIND_WITH = {
    "INSERT INTO t SELECT id + 10, v FROM s": [*ROWS, (12, "x")],
    "INSERT INTO keyed SELECT * FROM s": [(1, "a"), (2, "x"), (3, "c")],
    "DELETE FROM t WHERE id IN (SELECT id FROM s)": [(1, "a"), (3, "c")],
    "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = t.id)": [(1, "a"), (3, "c")],
    "UPDATE keyed SET v = (SELECT max(v) FROM s) WHERE id IN (SELECT id FROM s)": [(1, "a"), (2, "x"), (3, "c")],
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *": [
        (1, "a"),
        (2, "x"),
        (3, "c"),
    ],
}


@pytest.mark.parametrize("statement", BEHIND_WITH)
def test_behind_with(tables: Any, statement: str) -> None:
    text = f"WITH n AS (SELECT 2L AS id), s AS (SELECT id, 'x' AS v FROM n) {statement}"
    is_in_script = list(BEHIND_WITH).index(statement) % 2
    tables.sql(f"BEGIN {text}; END" if is_in_script else text)
    query = f"SELECT * FROM {target(statement)} ORDER BY id"
    assert rows_of(tables, query) == BEHIND_WITH[statement]


def test_explain_changes_nothing_behind_with_either(tables: Any) -> None:
    (plan,) = rows_of(tables, "EXPLAIN WITH s AS (SELECT 2L AS id) DELETE FROM t WHERE id IN (SELECT id FROM s)")
    assert "AppendData" in plan[0] and rows_of(tables, "SELECT * FROM t ORDER BY id") == ROWS


def test_what_with_defines_is_not_changed(tables: Any) -> None:
    with pytest.raises(Exception, match="INTERNAL_ERROR|UNSUPPORTED|does not support|TABLE_OPERATION"):
        tables.sql("WITH t AS (SELECT 1 AS id) DELETE FROM t WHERE id = 1")
    assert rows_of(tables, "SELECT * FROM t ORDER BY id") == ROWS


def test_inserts_behind_from_cast_as_others_do(tables: Any) -> None:
    tables.sql("CREATE TABLE latest (id INT, v STRING) TBLPROPERTIES ('bucket' = '-1', 'upsert-key' = 'id')")
    tables.sql("INSERT INTO latest VALUES (1, 'old'), (7, 'seven')")
    tables.sql("FROM t INSERT INTO latest SELECT id, v INSERT INTO keyed SELECT id + 1, v")
    assert rows_of(tables, "SELECT * FROM latest ORDER BY id") == [*ROWS, (7, "seven")]
    assert rows_of(tables, "SELECT * FROM keyed ORDER BY id") == [(1, "a"), (2, "a"), (3, "b"), (4, "c")]
    tables.sql("WITH s AS (SELECT 7 AS id, 'x' AS v) INSERT INTO latest SELECT * FROM s")
    assert rows_of(tables, "SELECT * FROM latest WHERE id = 7") == [(7, "x")]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t WHERE id = {}",
        "UPDATE t SET v = NULL WHERE id = {}",
        "MERGE INTO t USING (SELECT {} AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING keyed s ON t.id = s.id AND s.id = {} WHEN MATCHED THEN DELETE",
    ],
)
def test_variables_and_parameters(tables: Any, statement: str) -> None:
    left = "SELECT id FROM t WHERE v IS NOT NULL ORDER BY id"
    run = tables.sql
    run(statement.format(":x"), {"x": 3})
    assert rows_of(tables, left) == [(1,), (2,)]
    run(statement.format("?"), [2])
    assert rows_of(tables, left) == [(1,)]
    run("INSERT OVERWRITE t SELECT * FROM keyed")
    run("DECLARE OR REPLACE VARIABLE chosen BIGINT DEFAULT 3")
    run(statement.format("chosen"))
    assert rows_of(tables, left) == [(1,), (2,)]
    run(f"BEGIN DECLARE x BIGINT DEFAULT 2; {statement.format('x')}; END")
    assert rows_of(tables, left) == [(1,)]
    run("INSERT OVERWRITE t SELECT * FROM keyed")
    run(f"BEGIN FOR r AS SELECT id FROM keyed WHERE id > 1 DO {statement.format('r.id')}; END FOR; END")
    assert rows_of(tables, left) == [(1,)]
    run(f"EXECUTE IMMEDIATE '{statement.format('?')}' USING 1")
    assert rows_of(tables, left) == []


# changes of `latest`, a table with `upsert-key` and the rows of ROWS, and the rows that it has then
NAMED = {
    "INSERT INTO {} VALUES (1, 'n')": [(1, "n"), (2, "b"), (3, "c")],
    "UPDATE {} SET v = 'u' WHERE id = 2": [(1, "n"), (2, "u"), (3, "c")],
    "DELETE FROM {} WHERE id = 1": [(2, "u"), (3, "c")],
    "WITH s AS (SELECT 2 AS id) DELETE FROM {} WHERE id IN (SELECT id FROM s)": [(3, "c")],
    "MERGE INTO {} AS x USING keyed ON x.id = keyed.id WHEN NOT MATCHED THEN INSERT *": ROWS,
    "ANALYZE TABLE {} COMPUTE STATISTICS": ROWS,
}
NAMES = {
    "a variable": ("{}", ()),
    "an expression": ("{}", ()),
    "a parameter": ("{}", ({"n": "latest"},)),
    "a local variable": ("BEGIN DECLARE x STRING DEFAULT 'latest'; {}; END", ()),
    "a row of FOR": ("BEGIN FOR r AS SELECT 'latest' AS n DO {}; END FOR; END", ()),
}
EXPRESSIONS = dict(zip(NAMES, ("named", "'default.' || named", ":n", "x", "r.n"), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_tables_that_expressions_name(tables: Any, name: str) -> None:
    """Spark has a name in IDENTIFIER(…) of a target as a plan of its own, until the analyzer gives it the value."""
    tables.sql("CREATE TABLE latest (id INT, v STRING) TBLPROPERTIES ('bucket' = '-1', 'upsert-key' = 'id')")
    tables.sql("INSERT INTO latest SELECT * FROM t")
    tables.sql("DECLARE OR REPLACE VARIABLE named STRING DEFAULT 'latest'")
    place, parameters = NAMES[name]
    for statement, expected in NAMED.items():
        tables.sql(place.format(statement.format(f"IDENTIFIER({EXPRESSIONS[name]})")), *parameters)
        assert rows_of(tables, "SELECT * FROM latest ORDER BY id") == expected, statement
    assert rows_of(tables, "SELECT count(*) FROM latest$statistics") == [(1,)]
    (plan,) = rows_of(tables, "EXPLAIN DELETE FROM IDENTIFIER(named) WHERE id = 1")
    assert "AppendData" in plan[0]


@pytest.mark.parametrize("name", NAMES)
def test_statements_of_paimon_on_tables_that_expressions_name(tables: Any, name: str) -> None:
    tables.sql("CREATE TABLE latest (id INT, v STRING)")
    tables.sql("INSERT INTO latest VALUES (1, 'a')")
    tables.sql("DECLARE OR REPLACE VARIABLE named STRING DEFAULT 'latest'")
    place, parameters = NAMES[name]
    for statement in (
        "ALTER TABLE {} CREATE TAG made",
        "ALTER TABLE {} RENAME TAG made TO kept",
        "ALTER TABLE {} MODIFY id BIGINT",
        "CALL sys.create_branch({}, 'b')",
    ):
        target = EXPRESSIONS[name] if statement.startswith("CALL") else f"IDENTIFIER({EXPRESSIONS[name]})"
        tables.sql(place.format(statement.format(target)), *parameters)
    shown = tables.sql(place.format(f"SHOW TAGS IDENTIFIER({EXPRESSIONS[name]})"), *parameters)
    assert name == "a row of FOR" or shown.collect() == [("kept",)]  # which has no result
    assert rows_of(tables, "SELECT tag_name FROM latest$tags") == [("kept",)]
    assert tables.table("latest").dtypes[0] == ("id", "bigint")
    assert rows_of(tables, "SELECT branch_name FROM latest$branches") == [("b",)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [("CAST(NULL AS STRING)", "is NULL"), ("'a b'", "'a b', which is not a valid name"), ("'missing'", "missing")],
)
def test_expressions_that_name_no_table_of_paimon(tables: Any, expression: str, message: str) -> None:
    with pytest.raises(PySparkException, match=message):
        tables.sql(f"ALTER TABLE IDENTIFIER({expression}) CREATE TAG x")


def test_expressions_that_name_no_table(tables: Any) -> None:
    for expression, message in (
        ("CAST(NULL AS STRING)", "NOT_A_CONSTANT_STRING"),
        ("5", "NOT_A_CONSTANT_STRING"),
        ("'a b'", "PARSE_SYNTAX_ERROR"),
        ("'missing'", "TABLE_OR_VIEW_NOT_FOUND"),
        ("missing", "UNRESOLVED|NOT_A_CONSTANT_STRING"),
    ):
        with pytest.raises(PySparkException, match=message):
            tables.sql(f"DELETE FROM IDENTIFIER({expression}) WHERE id = 1")


def test_a_script_changes_the_table_that_it_creates_in_the_database_that_it_uses(tables: Any) -> None:
    tables.sql(
        """BEGIN
          CREATE DATABASE IF NOT EXISTS other_place;
          USE other_place;
          CREATE TABLE t (id BIGINT, v STRING) WITH ('bucket' = '-1');
          INSERT INTO t VALUES (7, 'x'), (8, 'y');
          UPDATE t SET v = 'z' WHERE id = 7;
          DELETE FROM t WHERE id = 8;
        END"""
    )
    try:
        assert rows_of(tables, "SELECT * FROM other_place.t") == [(7, "z")]
    finally:
        tables.sql("USE default")
        tables.sql("DROP DATABASE other_place CASCADE")


def test_handlers_catch_the_errors_of_our_statements(tables: Any) -> None:
    """Spark looks for the SQL state of each error: one without it was a NullPointerException."""
    for statement in (
        "DELETE FROM t WHERE nope = 1",
        "UPDATE keyed SET id = 5",
        "ALTER TABLE nope CREATE TAG x",
        "CALL sys.rollback(table => 't', version => '99')",
        "CREATE TABLE made (id INT) WITH ('bucket' = 'x')",
    ):
        handler = "DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'caught'"
        assert rows_of(tables, f"BEGIN {handler}; {statement}; SELECT 'missed'; END") == [("caught",)], statement
        with pytest.raises(PySparkException):
            tables.sql(f"BEGIN {statement}; END")
    assert rows_of(tables, "SELECT * FROM t ORDER BY id") == ROWS


def test_a_handler_writes_to_the_table_as_it_is_now(tables: Any) -> None:
    """The failed statement loaded the table, but Spark did not get as far as to write to it."""
    tables.sql(
        """BEGIN
          DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
            ALTER TABLE t ADD COLUMN more INT;
            INSERT INTO t VALUES (7, 'x', 1);
          END;
          INSERT INTO t SELECT nope, v FROM t;
        END"""
    )
    assert rows_of(tables, "SELECT * FROM t WHERE id = 7") == [(7, "x", 1)]


# statements that only Paimon has, with parameters; a query, and what it returns behind the statement
PARAMETERS = {
    "ALTER TABLE t CREATE TAG made AS OF VERSION {}": ([1], "SELECT tag_name FROM t$tags", [("made",)]),
    "COPY INTO t FROM {} FILE_FORMAT = (TYPE = {}, FIELD_DELIMITER = {}) PATTERN = {}": (
        ["{folder}/in", "CSV", "|", ".*csv"],
        "SELECT id, v FROM t WHERE id > 3",
        [(7, "x")],
    ),
    "COPY INTO {} FROM t FILE_FORMAT = (TYPE = CSV)": (
        ["{folder}/out"],
        "SELECT count(*) FROM csv.`{folder}/out`",
        [(3,)],
    ),
    "SELECT count(*) FROM paimon_incremental_query({}, {}, {})": (["t", 0, 1], "SELECT 1", [(1,)]),
    "ALTER TABLE t MODIFY v STRING COMMENT {}": (["it's"], "SELECT count(*) FROM t$schemas", [(2,)]),
    "CREATE MATERIALIZED TABLE made FRESHNESS = INTERVAL '1' DAY AS SELECT {} AS n FROM t": (
        ["x"],
        "SELECT 1 WHERE EXISTS (SELECT * FROM made LIMIT 0)",
        [],
    ),
}
GIVEN = ("named", "positional", "execute", "execute by name", "execute in a script")


def literal(value: Any) -> str:
    return "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("statement", PARAMETERS)
def test_parameters_of_statements_of_paimon(tables: Any, tmp_path: Path, statement: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("7|x\n")
    values, query, expected = PARAMETERS[statement]
    values = [value.format(folder=tmp_path) if isinstance(value, str) else value for value in values]
    names = [f"p{number}" for number in range(len(values))]
    named, positional = statement.format(*(f":{name}" for name in names)), statement.format(*"?" * len(values))
    using = ", ".join(map(literal, values))
    by_name = ", ".join(f"{literal(value)} AS {name}" for name, value in zip(names, values, strict=True))
    match GIVEN[list(PARAMETERS).index(statement) % len(GIVEN)]:
        case "named":
            tables.sql(named, dict(zip(names, values, strict=True)))
        case "positional":
            tables.sql(positional, values)
        case "execute":
            tables.sql(f'EXECUTE IMMEDIATE "{positional}" USING {using}')
        case "execute by name":
            tables.sql(f'EXECUTE IMMEDIATE "{named}" USING {by_name}')
        case "execute in a script":
            tables.sql(f'BEGIN DECLARE q STRING DEFAULT "{positional}"; EXECUTE IMMEDIATE q USING {using}; END')
    assert rows_of(tables, query.format(folder=tmp_path)) == expected


def test_explain_of_each_statement_changes_nothing(tables: Any) -> None:
    counts = (f"(SELECT count(*) FROM {{0}}${kind})" for kind in ("snapshots", "schemas", "tags"))
    state = f"SELECT {', '.join(counts)}"
    before = [rows_of(tables, state.format(name)) for name in ("t", "keyed")]
    for number, statement in enumerate([*CHANGES, *OTHERS, "COPY INTO t FROM '/nowhere' FILE_FORMAT = (TYPE = CSV)"]):
        mode = ("", "EXTENDED", "FORMATTED", "COST", "CODEGEN")[number % 5]
        (plan,) = rows_of(tables, f"EXPLAIN {mode} {statement}")
        assert plan[0].strip(), statement
    assert [rows_of(tables, state.format(name)) for name in ("t", "keyed")] == before
    assert not tables.catalog.tableExists("made") and not rows_of(tables, "SHOW USER FUNCTIONS LIKE 'made'")


PIPED = {
    "FROM t |> WHERE id > 2 |> SELECT v": [("c",)],
    "TABLE t$snapshots |> AGGREGATE count(*)": [(1,)],
    "FROM t VERSION AS OF 1 |> AGGREGATE count(*)": [(3,)],
    "FROM t WITH ('scan.snapshot-id' = '1') |> AGGREGATE count(*)": [(3,)],
    "FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ |> AGGREGATE count(*)": [(3,)],
    "FROM paimon_incremental_query('t', 0, 1) |> AGGREGATE count(*)": [(3,)],
    "FROM t |> JOIN t$snapshots AS s ON t.id = s.snapshot_id |> SELECT v": [("a",)],
    "FROM t |> UNION ALL (SELECT * FROM keyed VERSION AS OF 1) |> AGGREGATE count(*)": [(6,)],
    "FROM t |> WHERE id IN (FROM keyed$snapshots |> SELECT snapshot_id) |> SELECT v": [("a",)],
    "FROM IDENTIFIER('t$snapshots') |> SELECT snapshot_id": [(1,)],
    "WITH s AS (FROM t$options |> LIMIT 0) FROM s |> AGGREGATE count(*)": [(0,)],
}
PIPED_INTO = {
    "INSERT INTO t FROM keyed |> WHERE id = 1 |> SELECT id + 9, v": [*ROWS, (10, "a")],
    "INSERT OVERWRITE t FROM keyed VERSION AS OF 1 |> WHERE id = 1": [(1, "a")],
    "DELETE FROM t WHERE id IN (FROM keyed |> WHERE id = 1 |> SELECT id)": [(2, "b"), (3, "c")],
    "UPDATE t SET v = (FROM keyed |> AGGREGATE max(v)) WHERE id = 2": [(1, "a"), (2, "c"), (3, "c")],
    "MERGE INTO t USING (FROM keyed |> WHERE id = 3) s ON t.id = s.id WHEN MATCHED THEN DELETE": [(1, "a"), (2, "b")],
    "WITH s AS (FROM keyed |> WHERE id = 3) DELETE FROM t WHERE id IN (FROM s |> SELECT id)": [(1, "a"), (2, "b")],
}


def test_pipes(tables: Any) -> None:
    for query, expected in PIPED.items():
        assert rows_of(tables, query) == expected, query
    for statement, expected in PIPED_INTO.items():
        tables.sql(statement)
        assert rows_of(tables, "SELECT * FROM t ORDER BY id") == expected, statement
        tables.sql("INSERT OVERWRITE t SELECT * FROM keyed")


def test_a_statement_of_a_script_writes_to_its_table_as_earlier_statements_left_it(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DROP PARTITION of one partition reads the schema of its table ahead, but Spark drops the partition. All
    statements of a script have one number.
    """
    monkeypatch.setattr(targets, "_SECONDS", 600.0)
    tables.sql("CREATE TABLE parted (a INT, b INT, p INT) PARTITIONED BY (p)")
    tables.sql("INSERT INTO parted VALUES (1, 2, 3)")
    tables.sql(
        "BEGIN ALTER TABLE parted DROP PARTITION (p = 3); ALTER TABLE parted ALTER COLUMN b FIRST; "
        "INSERT INTO parted VALUES (20, 10, 30); END"
    )
    assert rows_of(tables, "SELECT a, b, p FROM parted") == [(10, 20, 30)]
