"""CHECK constraints on rows that Python writes, compared with the rules of SQL in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind
from paimon_core.store.ddl.schema_changes import SetOption, UpdateColumnDefault
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int32()), ("w", pa.int32())])
KINDS: dict[str, dict[str, Any]] = {
    "keyed": {"primary_key": "k", "options": {"bucket": "1"}},
    "append": {},
    "partitioned": {"partitioned_by": "p"},
    "vectors": {"options": {"deletion-vectors.enabled": "true"}},
    "evolved": {"options": {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}},
}
Row = dict[str, Any]


def lower(a: int | None, b: int | None) -> bool | None:
    return None if a is None or b is None else a < b


def either(a: bool | None, b: bool | None) -> bool | None:
    return True if a or b else None if a is None or b is None else False


# a condition in SQL, its columns, and the same in plain Python: true, false or unknown
CHECKS: dict[str, tuple[tuple[str, ...], Callable[[Row], bool | None]]] = {
    "v > 0": (("v",), lambda r: lower(0, r["v"])),
    "v < w OR p = 'a'": (
        ("p", "v", "w"),
        lambda r: either(lower(r["v"], r["w"]), None if r["p"] is None else r["p"] == "a"),
    ),
    "w IS NOT NULL": (("w",), lambda r: r["w"] is not None),
    "p IN ('a', 'b')": (("p",), lambda r: r["p"] in "ab"),
    "v + w <= 9": (("v", "w"), lambda r: None if r["v"] is None or r["w"] is None else r["v"] + r["w"] <= 9),
}


def check(condition: str, *columns: str, name: str = "c") -> dict[str, str]:
    made = Constraint(name, ConstraintKind.CHECK, columns, condition, enforced=True)
    return {made.key: made.value}


def created(catalog: PaimonCatalog, kind: str, options: dict[str, str]) -> PaimonTable:
    about = KINDS[kind]
    return catalog.create_table("default.t", SCHEMA, **about | {"options": about.get("options", {}) | options})


def ordered(found: list[Row]) -> list[Row]:
    return sorted(found, key=lambda row: str(sorted(row.items())))


def rows(table: PaimonTable) -> list[Row]:
    return ordered(table.scan().to_arrow().to_pylist())


_NUMBER = st.none() | st.integers(-2, 9)
_ROW = st.fixed_dictionaries({"k": st.integers(0, 5), "p": st.sampled_from("abc"), "v": _NUMBER, "w": _NUMBER})
_STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(_ROW, min_size=1, max_size=4)),
    st.tuples(st.just("v"), _NUMBER),
    st.tuples(st.just("w"), _NUMBER),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    conditions=st.lists(st.sampled_from(sorted(CHECKS)), min_size=1, max_size=2, unique=True),
    steps=st.lists(_STEP, min_size=1, max_size=4),
)
def test_rows_pass_as_sql_says(
    kind: str, conditions: list[str], steps: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = {k: v for i, c in enumerate(conditions) for k, v in check(c, *CHECKS[c][0], name=f"c{i}").items()}
    table = created(open_catalog(str(tmp_path_factory.mktemp("lake"))), kind, options)
    model: list[Row] = []
    for step, argument in steps:
        changed = argument if step == "write" else [r | {step: argument} for r in model]
        violates = any(CHECKS[c][1](row) is False for c in conditions for row in changed)
        try:
            if step != "write":
                table.update({step: argument})
            elif table.primary_key:
                table.upsert(argument)
            else:
                table.append(argument)
        except InvalidDataError as error:
            assert violates and "violates the constraint 'c" in str(error)
            continue
        assert not violates, (step, argument, conditions)
        if step != "write":
            model = changed
        elif table.primary_key:
            model = list({row["k"]: row for row in [*model, *changed]}.values())
        else:
            model += changed
        assert rows(table) == ordered(model)
    assert rows(table) == ordered(model)


def test_the_error_has_the_values_and_nothing_is_written(lake: PaimonCatalog) -> None:
    table = created(lake, "append", check("v > 0", "v"))
    with pytest.raises(InvalidDataError, match=r"default.t: .* constraint 'c', CHECK \(v > 0\): v = -3. Nothing was"):
        table.append([{"k": 1, "v": 5}, {"k": 2, "v": -3}])
    assert table.inspect("snapshots").num_rows == 0
    with pytest.raises(InvalidDataError, match="v = 0"):
        table.overwrite([{"k": 1, "v": 0}])
    table.append([{"k": 1}])  # v is NULL
    assert len(rows(table)) == 1


def test_a_condition_that_only_spark_knows_is_refused(lake: PaimonCatalog) -> None:
    table = created(lake, "append", check("soundex(p) = 'A000'", "p"))
    with pytest.raises(UnsupportedFeatureError, match="cannot be written without Spark: its constraint 'c'"):
        table.append([{"k": 1}])


def test_constraints_are_no_options_to_alter(lake: PaimonCatalog) -> None:
    table = created(lake, "append", check("v > 0", "v"))
    for options in ({"constraint.c": None}, check("v > 1", "v"), check("v > 1", "v", name="d")):
        with pytest.raises(InvalidOptionError, match="ADD CONSTRAINT"):
            table.alter(options=options)


def test_a_table_loaded_before_the_constraint_is_not_written_past_it(lake: PaimonCatalog) -> None:
    """The Python table is loaded before another session adds the constraint."""
    table = created(lake, "append", {})
    table.append([{"k": 1, "v": -1}])
    ((key, value),) = check("v > 0", "v").items()
    lake.inner.alter_table(table.identifier, [SetOption(key, value)])
    latest = lake.table("default.t").inner.with_options({"snapshot.ignore-empty-commit": "false"})
    latest.commit((), latest.commit_info())
    with pytest.raises(CommitConflictError, match="was added while the rows were written"):
        table.append([{"k": 2, "v": -1}])
    assert len(rows(table)) == 1


def test_parts_of_a_write_are_checked(lake: PaimonCatalog) -> None:
    table = created(lake, "append", {})
    before = table.plan_write()
    unchecked = before.write([{"k": 1, "v": -1}])
    ((key, value),) = check("v > 0", "v").items()
    lake.inner.alter_table(table.identifier, [SetOption(key, value)])
    latest = lake.table("default.t").inner.with_options({"snapshot.ignore-empty-commit": "false"})
    latest.commit((), latest.commit_info())
    with pytest.raises(CommitConflictError, match="was added while the rows were written"):
        before.commit([unchecked])
    before.abort([unchecked])
    write = lake.table("default.t").plan_write()
    with pytest.raises(InvalidDataError, match="v > 0"):
        write.write([{"k": 2, "v": -1}])
    write.commit([write.write([{"k": 2, "v": 1}])])
    assert [r["k"] for r in rows(table)] == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_checked(kind: str, tmp_path: Path) -> None:
    """A NULL becomes the default of its column when the row is stored."""
    catalog = open_catalog(str(tmp_path))
    table = created(catalog, kind, check("v <= w", "v", "w"))
    table.catalog.alter_table(table.identifier, [UpdateColumnDefault(("w",), "3")])
    table = catalog.table("default.t")
    write = table.upsert if table.primary_key else table.append
    with pytest.raises(InvalidDataError, match="w = 3"):
        write([{"k": 1, "p": "a", "v": 5}])
    write([{"k": 1, "p": "a", "v": 2}])
    with pytest.raises(InvalidDataError, match="w = 3"):
        table.update({"w": None, "v": 4})
    assert rows(table) == [{"k": 1, "p": "a", "v": 2, "w": 3}]
