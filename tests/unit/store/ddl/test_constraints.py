"""Constraints in options of schemas, the changes that they forbid, and the commits of writers that do not know them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import CommitConflictError, InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.errors import UnsupportedFeatureError as Unsupported
from paimon_core.options import SNAPSHOT_IGNORE_EMPTY_COMMIT
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind, checks_of, constraint_key, constraints_of
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    apply_changes,
)
from paimon_core.store.schemas import create_schema
from paimon_core.table import Table
from tests.support.tables import data_file, fields, info, message, new_store

CHECK = Constraint("positive", ConstraintKind.CHECK, ("n",), "n > 0", enforced=True)
OTHERS = (
    replace(CHECK, name="loose", enforced=False),
    Constraint("once", ConstraintKind.UNIQUE, ("n", "s"), relies=True),
    Constraint("of", ConstraintKind.FOREIGN_KEY, ("n",), parent=("db", "ü"), parent_columns=("id",)),
)


def schema(*constraints: Constraint, **options: str) -> TableSchema:
    given = {k.replace("_", "-"): v for k, v in options.items()} | {c.key: c.value for c in constraints}
    return new_table_schema(fields(n=INT, s=STRING), options=given)


def test_a_schema_keeps_constraints() -> None:
    kept = schema(CHECK, *OTHERS).options
    assert constraints_of(kept) == tuple(sorted((CHECK, *OTHERS), key=lambda c: c.name))
    assert checks_of(kept) == (CHECK,)
    assert constraint_key(kept, "POSITIVE") == CHECK.key
    assert constraint_key(kept, "negative") is None


def test_sql_of_a_constraint() -> None:
    assert [c.sql for c in (CHECK, *OTHERS)] == [
        "CHECK (n > 0)",
        "CHECK (n > 0) NOT ENFORCED",
        "UNIQUE (n, s) NOT ENFORCED",
        "FOREIGN KEY (n) REFERENCES db.ü (id) NOT ENFORCED",
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (DropColumn(("n",)), "'n' cannot be dropped: constraint 'positive'"),
        (RenameColumn(("n",), "m"), "'n' cannot be renamed: constraint 'positive'"),
        (SetOption(CHECK.key, replace(CHECK, condition="n > 1").value), "exists already"),
        (SetOption("constraint.POSITIVE", CHECK.value), "must differ in more than case"),
        (SetOption("constraint.x", replace(CHECK, columns=("z",)).value), "cannot name column 'z'"),
        (SetOption("constraint.x", replace(OTHERS[1], enforced=True).value), "only CHECK can"),
        (SetOption("constraint.x", '{"type": "LATER"}'), "does not understand as a constraint"),
    ],
)
def test_refused_changes(change: SchemaChange, says: str) -> None:
    with pytest.raises(PaimonError, match=says):
        apply_changes(schema(CHECK), [change], 0)


def test_other_columns_change() -> None:
    changes = [DropColumn(("s",)), AddColumn(("t",), INT), UpdateColumnComment(("n",), "x")]
    assert checks_of(apply_changes(schema(CHECK), changes, 0).options) == (CHECK,)
    dropped = apply_changes(schema(CHECK), [RemoveOption(CHECK.key), RenameColumn(("n",), "m")], 0)
    assert [f.name for f in dropped.fields] == ["m", "s"]


@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
def test_merged_rows_are_not_written_rows(engine: str) -> None:
    with pytest.raises(Unsupported, match="merged from several written rows"):
        schema(CHECK, primary_key="s", merge_engine=engine)
    assert schema(OTHERS[0], primary_key="s", merge_engine=engine)  # not enforced
    assert schema(CHECK, primary_key="s", merge_engine="first-row")


def test_a_table_of_files_has_no_constraints() -> None:
    with pytest.raises(Unsupported, match="programs write its files"):
        schema(CHECK, type="format-table")


def test_a_primary_key_is_information_about_the_own_key() -> None:
    key = Constraint("pk", ConstraintKind.PRIMARY_KEY, ("s",))
    assert schema(key, primary_key="s")
    with pytest.raises(InvalidSchemaError, match="can only be set in CREATE TABLE"):
        schema(key)


def test_an_unfamiliar_constraint_is_left_alone() -> None:
    known = replace(schema(), options={"constraint.later": "{}"})
    assert apply_changes(known, [SetOption("x", "y")], 0).options["x"] == "y"
    with pytest.raises(Unsupported, match="upgrade paimon-sql"):
        checks_of(known.options)
    assert apply_changes(known, [RemoveOption("constraint.later")], 0).options == {}


def test_a_writer_that_does_not_know_a_constraint_cannot_commit_after_it(tmp_path: Path) -> None:
    """ALTER publishes the schema, then an empty snapshot: the writer comes before that snapshot, or conflicts."""
    store = new_store(tmp_path)
    older = Table(store)
    check = replace(CHECK, columns=("k",), condition="k > 0")
    changed = apply_changes(store.schema, [SetOption(check.key, check.value)], 1)
    assert create_schema(store.io, store.root, changed)
    older.commit([message(store, data_file(store, 1, 5))], info())  # the statement reads these rows
    altering = Table(store.under(changed, "")).with_options({SNAPSHOT_IGNORE_EMPTY_COMMIT.key: "false"})
    made = altering.commit((), info())
    assert made is not None and made.schema_id == 1
    with pytest.raises(CommitConflictError, match=r"constraint 'positive', CHECK \(k > 0\), was added while"):
        older.commit([message(store, data_file(store, 6, 7))], info())
    assert altering.commit([message(store, data_file(store, 8, 9))], info())


@pytest.mark.parametrize(
    "found",
    [
        replace(CHECK, condition=" "),
        replace(CHECK, condition="`Java_Method`('java.lang.System', 'load', '/tmp/x.so') IS NULL"),
        replace(CHECK, condition="n > try_reflect('java.lang.Math', 'abs', n)"),
        replace(OTHERS[2], parent=()),
        replace(OTHERS[2], parent=(), enforced=True),
    ],
)
def test_a_constraint_of_a_hostile_schema_does_not_reach_spark(found: Constraint) -> None:
    with pytest.raises(Unsupported, match="does not understand as a constraint"):
        constraints_of({found.key: found.value})
    with pytest.raises(Unsupported, match="does not understand as a constraint"):
        schema(found)


def test_an_option_of_a_constraint_cannot_be_replaced_for_one_use(tmp_path: Path) -> None:
    store = new_store(tmp_path, **{"constraint.c": replace(CHECK, columns=("k",), condition="k > 0").value})
    with pytest.raises(InvalidOptionError, match="exists already"):
        Table(store).with_options({"constraint.c": CHECK.value})
