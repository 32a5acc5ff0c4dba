"""CHECK constraints in every way of writing in Spark, and what shows, changes and copies them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from paimon_core.errors import CommitConflictError
from paimon_core.store.ddl.constraints import checks_of
from paimon_sql import open_table
from paimon_sql.spark.jvm.streams import sinks
from tests.support.examples import examples
from tests.support.spark_versions import since

pytestmark = [pytest.mark.spark, since(4, 1, "Spark 4.0 has no constraints")]

COLUMNS = "(id INT, amount INT, note STRING, CONSTRAINT positive CHECK (amount > 0))"
TABLES = {
    "append": "",
    "keyed": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
    "evolved": "TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', "
    "'deletion-vectors.enabled' = 'true')",
}
ROWS = "id INT, amount INT, note STRING"


def frame(spark: Any, amount: int) -> Any:
    return spark.createDataFrame([(5, amount, "x")], ROWS)


def copied(spark: Any, amount: int, folder: Path) -> None:
    path = str(folder / f"rows{amount}")
    frame(spark, amount).write.mode("overwrite").parquet(path)
    spark.sql(f"COPY INTO t FROM '{path}' FILE_FORMAT = (TYPE = PARQUET)")


def streamed(spark: Any, amount: int, folder: Path) -> None:
    path = str(folder / f"stream{amount}")
    frame(spark, amount).write.mode("overwrite").parquet(path)
    rows = spark.readStream.schema(ROWS).parquet(path)
    rows.writeStream.option("checkpointLocation", f"{path}-seen").trigger(availableNow=True).toTable(
        "t"
    ).awaitTermination()


WRITES: dict[str, Callable[[Any, int, Path], Any]] = {
    "insert": lambda spark, n, _: spark.sql(f"INSERT INTO t VALUES (5, {n}, 'x')"),
    "by name": lambda spark, n, _: spark.sql(f"INSERT INTO t (amount, id) VALUES ({n}, 5)"),
    "overwrite": lambda spark, n, _: spark.sql(f"INSERT OVERWRITE t VALUES (5, {n}, 'x')"),
    "update": lambda spark, n, _: spark.sql(f"UPDATE t SET amount = {n} WHERE id = 1"),
    "merge updates": lambda spark, n, _: spark.sql(
        f"MERGE INTO t USING (SELECT 1 AS id, {n} AS amount) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET amount = s.amount"
    ),
    "merge inserts": lambda spark, n, _: spark.sql(
        f"MERGE INTO t USING (SELECT 7 AS id, {n} AS amount, 'y' AS note) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    ),
    "frame merges": lambda spark, n, _: (
        frame(spark, n).alias("s").mergeInto("t", _same_id()).whenNotMatched().insertAll().merge()
    ),
    "append": lambda spark, n, _: frame(spark, n).writeTo("t").append(),
    "save as table": lambda spark, n, _: frame(spark, n).write.mode("append").saveAsTable("t"),
    "insert into": lambda spark, n, _: frame(spark, n).write.insertInto("t"),
    "copy": copied,
    "stream": streamed,
}


def _same_id() -> Any:
    from pyspark.sql import functions as F  # noqa: PLC0415

    return F.col("t.id") == F.col("s.id")


def content(spark: Any) -> list[Any]:
    return sorted(map(tuple, spark.sql("SELECT * FROM t").collect()), key=str)


@pytest.mark.parametrize("kind", TABLES)
def test_every_write_is_checked(kind: str, spark: Any, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} {TABLES[kind]}")
    spark.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, NULL, 'b')")
    for name, write in WRITES.items():
        before = content(spark)
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION") as caught:
            write(spark, -3, tmp_path)
        assert "positive" in str(caught.value) and "-3" in str(caught.value), name
        assert content(spark) == before, name
    for name, write in WRITES.items():
        write(spark, 4, tmp_path)
        assert any(row[1] == 4 for row in content(spark)), name
    spark.sql("UPDATE t SET note = 'z'")
    spark.sql("DELETE FROM t WHERE amount = 4")
    assert all(row[2] == "z" for row in content(spark))


CONDITIONS = (
    "amount > 0",
    "amount < id OR note = 'a'",
    "NOT (note = 'b' AND amount IS NULL)",
    "coalesce(amount, 1) % 2 = 1",
    "note IN ('a', 'b') AND (amount + id <= 9)",
    "length(note) = 1 AND CASE WHEN id > 3 THEN amount > 2 ELSE true END",
)
_AMOUNT = st.none() | st.integers(-2, 9)
_NOTE = st.sampled_from([None, "a", "b", "cc"])
_ROWS = st.lists(st.tuples(st.integers(0, 5), _AMOUNT, _NOTE), min_size=1, max_size=3, unique_by=lambda row: row[0])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), _ROWS),
        st.tuples(st.just("merge"), _ROWS),
        st.tuples(st.just("update"), st.tuples(_AMOUNT, _NOTE)),
    ),
    min_size=1,
    max_size=3,
)


def of_values(rows: list[tuple[Any, ...]]) -> str:
    texts = (", ".join("NULL" if v is None else repr(v) for v in row) for row in rows)
    columns = "CAST(id AS INT) AS id, CAST(amount AS INT) AS amount, CAST(note AS STRING) AS note"
    return f"(SELECT {columns} FROM VALUES {', '.join(f'({text})' for text in texts)} AS v (id, amount, note))"


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(conditions=st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=2, unique=True), steps=_STEPS)
def test_writes_pass_as_plain_sql_says(spark: Any, conditions: list[str], steps: list[tuple[str, Any]]) -> None:
    """A write fails if a query of its rows finds one that does not satisfy a condition; else the rows are a model's."""
    checks = ", ".join(f"CONSTRAINT c{i} CHECK ({c})" for i, c in enumerate(conditions))
    keys = "PRIMARY KEY (id) NOT ENFORCED"
    spark.sql(f"CREATE OR REPLACE TABLE t (id INT, amount INT, note STRING, {checks}, {keys})")
    model: dict[int, tuple[Any, ...]] = {}
    for step, argument in steps:
        written = argument if step != "update" else [(row[0], *argument) for row in model.values()]
        wrong = " OR ".join(f"NOT ({c})" for c in conditions)
        query = f"SELECT count(*) FROM {of_values(written)} WHERE {wrong}"
        violates = bool(written) and spark.sql(query).first()[0] > 0
        amount, note = ("NULL" if v is None else repr(v) for v in (argument if step == "update" else (None, None)))
        statement = {
            "insert": f"INSERT INTO t {of_values(written)[1:-1]}" if written else "",
            "merge": f"MERGE INTO t USING {of_values(written) if written else ''} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "update": f"UPDATE t SET amount = {amount}, note = {note}",
        }[step]
        try:
            spark.sql(statement)
        except PySparkException as error:
            assert violates and "CHECK_CONSTRAINT_VIOLATION" in str(error), statement
            continue
        assert not violates, statement
        model |= {row[0]: row for row in written}
    assert content(spark) == sorted(model.values(), key=str)


@pytest.mark.parametrize("kind", TABLES)
def test_only_changed_rows_are_checked(kind: str, spark: Any) -> None:
    """The optimizer may not check rows before it knows whether they change."""
    spark.sql(f"CREATE TABLE t {COLUMNS} {TABLES[kind]}")
    spark.sql("CREATE TABLE s (id INT, amount INT)")
    spark.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 3, 'b')")
    spark.sql("INSERT INTO s VALUES (1, 4), (9, -7)")
    spark.sql("UPDATE t SET amount = amount - 5 WHERE id IN (SELECT id FROM s)")
    assert [row[:2] for row in content(spark)] == [(1, 5), (2, 3)]
    merge = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = s.amount"
    spark.sql(merge)
    spark.sql(f"{merge} WHEN NOT MATCHED AND s.amount > 0 THEN INSERT (id, amount) VALUES (s.id, s.amount)")
    assert [row[:2] for row in content(spark)] == [(1, 4), (2, 3)]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)")


@pytest.mark.parametrize("kind", TABLES)
def test_defaults_are_checked(kind: str, spark: Any) -> None:
    """A NULL becomes the default of its column when the row is stored."""
    spark.sql(f"CREATE TABLE t (id INT, amount INT, least INT DEFAULT 3, CHECK (least <= amount)) {TABLES[kind]}")
    for values in ("(5, 1, NULL)", "(5, 1, DEFAULT)"):
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
            spark.sql(f"INSERT INTO t VALUES {values}")
    rows = spark.createDataFrame([(5, 1, None)], "id INT, amount INT, least INT")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        rows.writeTo("t").append()
    spark.sql("INSERT INTO t VALUES (1, 4, NULL), (2, 2, 1)")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql("UPDATE t SET least = NULL WHERE id = 2")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(
            "MERGE INTO t USING (SELECT 7 AS id) s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT (id, amount, least) VALUES (7, 2, NULL)"
        )
    assert content(spark) == [(1, 4, 3), (2, 2, 1)]


def test_statements_on_constraints(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, amount INT, day DATE)")
    spark.sql("INSERT INTO t VALUES (1, 5, NULL), (2, -5, NULL)")
    with pytest.raises(PySparkException, match="-5|CHECK_CONSTRAINT|violat"):
        spark.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (amount > 0)")
    assert "constraint" not in str(spark.sql("SELECT * FROM `t$options`").collect())
    spark.sql("ALTER TABLE t ADD CONSTRAINT loose CHECK (amount > 0) NOT ENFORCED")
    spark.sql("DELETE FROM t WHERE amount < 0")
    spark.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (Amount > 0)")
    spark.sql("ALTER TABLE t ADD CONSTRAINT once UNIQUE (id) NOT ENFORCED")
    spark.sql("ALTER TABLE t ADD CONSTRAINT of FOREIGN KEY (id) REFERENCES s (id) NOT ENFORCED")
    options = dict(map(tuple, spark.sql("SELECT * FROM `t$options`").collect()))
    assert options["constraint.positive"] == (
        '{"type": "CHECK", "columns": ["amount"], "enforced": true, "condition": "Amount > 0"}'
    )
    assert options.keys() >= {"constraint.loose", "constraint.once", "constraint.of"}
    shown = str(spark.sql("DESCRIBE EXTENDED t").collect())
    for part in ("positive", "Amount > 0", "once", "FOREIGN KEY"):
        assert part in shown
    created = spark.sql("SHOW CREATE TABLE t").first()[0]
    assert "CONSTRAINT positive CHECK (Amount > 0)" in created and "constraint." not in created
    with pytest.raises(PySparkException, match="exists already"):
        spark.sql("ALTER TABLE t ADD CONSTRAINT POSITIVE CHECK (id > 0)")
    for change in ("RENAME COLUMN amount TO n", "DROP COLUMN amount"):
        with pytest.raises(PySparkException, match="constraint '"):
            spark.sql(f"ALTER TABLE t {change}")
    for sets in ("SET TBLPROPERTIES ('constraint.x' = '{}')", "UNSET TBLPROPERTIES ('constraint.positive')"):
        with pytest.raises(PySparkException, match="ADD CONSTRAINT or DROP CONSTRAINT"):
            spark.sql(f"ALTER TABLE t {sets}")
    with pytest.raises(PySparkException, match="has no constraint 'x'; it has loose, of, once, positive"):
        spark.sql("ALTER TABLE t DROP CONSTRAINT x")
    spark.sql("ALTER TABLE t DROP CONSTRAINT IF EXISTS x")
    for name in ("positive", "LOOSE"):
        spark.sql(f"ALTER TABLE t DROP CONSTRAINT {name}")
    spark.sql("ALTER TABLE t RENAME COLUMN amount TO n")
    spark.sql("INSERT INTO t VALUES (3, -1, NULL)")


@pytest.mark.parametrize(
    "condition",
    [
        "amount > rand()",
        "day > current_date()",
        "missing > 0",
        "amount",
        "amount > least_amount",
        "amount > (SELECT 1)",
        "own(amount)",
    ],
)
def test_conditions_on_more_than_a_row(spark: Any, condition: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE least_amount INT DEFAULT 1")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION own(x INT) RETURNS BOOLEAN RETURN x > 1")
    spark.sql("CREATE TABLE t (id INT, amount INT, day DATE, CHECK (amount > 0))")
    with pytest.raises(PySparkException):
        spark.sql(f"ALTER TABLE t ADD CONSTRAINT c CHECK ({condition})")
    with pytest.raises((PySparkException, Py4JJavaError)):  # Spark itself fails at a subquery
        spark.sql(f"CREATE TABLE u (amount INT, day DATE, CONSTRAINT c CHECK ({condition}))")


@pytest.mark.parametrize(
    "options",
    [
        "'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'false'",
        "'bucket' = '1', 'deletion-vectors.enabled' = 'true', 'write-only' = 'true'",
    ],
)
def test_rows_that_queries_do_not_return_yet_are_checked(spark: Any, options: str) -> None:
    """A table may have rows that are visible only after a compaction."""
    spark.sql(f"CREATE TABLE t (id INT, amount INT) TBLPROPERTIES ('primary-key' = 'id', {options})")
    spark.sql("INSERT INTO t VALUES (1, -5), (2, 5)")
    assert content(spark) == []
    with pytest.raises(PySparkException, match="violates it: amount = -5"):
        spark.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (amount > 0)")
    spark.sql("ALTER TABLE t ADD CONSTRAINT small CHECK (amount < 9)")


def test_what_copies_a_table(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS}")
    spark.sql("INSERT INTO t VALUES (1, 10, 'a')")
    spark.sql("CREATE TABLE alike LIKE t")
    spark.sql("CALL sys.copy('t', 'copied')")
    spark.sql("CALL sys.create_branch('t', 'b')")
    spark.sql("CREATE TABLE plain (id INT, amount INT, note STRING)")
    spark.sql("INSERT INTO plain VALUES (1, -10, 'a')")
    for name in ("alike", "copied", "`t$branch_b`"):
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
            spark.sql(f"INSERT INTO {name} VALUES (2, -1, 'b')")
    with pytest.raises(PySparkException, match="was not checked for their rows"):
        spark.sql("CALL sys.copy('plain', 'copied')")
    made = spark.sql("SHOW CREATE TABLE t").first()[0].replace("default.t ", "default.again ")
    spark.sql("DROP TABLE t")
    spark.sql(made)
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql("INSERT INTO again VALUES (2, -1, 'b')")


def test_earlier_versions_have_their_constraints(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id INT, amount INT)")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    spark.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (amount > 0)")
    spark.sql("INSERT INTO t VALUES (2, 2)")
    assert spark.sql("SELECT count(*) FROM t VERSION AS OF 1").first()[0] == 1
    spark.sql("CALL sys.rollback('t', '1')")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql("INSERT INTO t VALUES (3, -3)")


def test_a_constraint_that_is_added_while_a_stream_starts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream has checks of the constraints that it knew, and the table that it writes to has one more."""
    spark.sql(f"CREATE TABLE t {COLUMNS}")
    start = sinks.start_to_table

    def late(writer: Any, name: str) -> Any:
        spark.sql("ALTER TABLE t ADD CONSTRAINT small CHECK (amount < 9)")
        return start(writer, name)

    monkeypatch.setattr(sinks, "start_to_table", late)
    with pytest.raises((PySparkException, Py4JJavaError), match="have changed while the stream started"):
        streamed(spark, 20, tmp_path)
    assert content(spark) == []
    monkeypatch.undo()
    streamed(spark, 8, tmp_path)
    assert content(spark) == [(5, 8, "x")]


def test_rows_of_another_session_do_not_get_past_alter(spark: Any, warehouse: str) -> None:
    """The other writer has planned its rows before ALTER TABLE, and commits them after it."""
    spark.sql("CREATE TABLE t (id INT, amount INT)")
    path = f"{warehouse}/default.db/t"
    late = open_table(path)
    spark.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (amount > 0)")
    with pytest.raises(CommitConflictError, match="constraint 'positive'"):
        late.append([{"id": 1, "amount": -1}])
    assert checks_of(open_table(path).inner.schema.options)
    assert spark.sql("SELECT * FROM t").collect() == []
