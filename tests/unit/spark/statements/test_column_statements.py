from __future__ import annotations

import pytest

from paimon_core.errors import PaimonError
from paimon_core.spec.types import DataField, parse_type
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    ColumnPosition,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
)
from paimon_sql.preprocess.statements import ColumnChange
from paimon_sql.spark.statements.column_statements import schema_changes_of

ROW = {"type": "ROW", "fields": [{"id": 2, "name": "x", "type": "INT"}, {"id": 3, "name": "y", "type": "INT"}]}
FIELDS = (
    DataField(id=0, name="a", type=parse_type("INT")),
    DataField(id=1, name="b", type=parse_type(ROW)),
)


def test_what_is_as_it_was_changes_nothing() -> None:
    assert schema_changes_of([ColumnChange("A", "INT", first=True)], FIELDS) == []


def test_one_column_may_change_in_all_its_parts() -> None:
    change = ColumnChange("A", "BIGINT NOT NULL", comment="new", after="B")
    assert schema_changes_of([change], FIELDS) == [
        UpdateColumnType(("a",), parse_type("BIGINT NOT NULL")),
        UpdateColumnNullability(("a",), False),
        UpdateColumnComment(("a",), "new"),
        UpdateColumnPosition(("a",), ColumnPosition("after", "b")),
    ]


@pytest.mark.parametrize("name", ["a", "A"])
def test_a_column_with_the_exact_name_goes_first(name: str) -> None:
    fields = tuple(DataField(id=n, name=key, type=parse_type("INT")) for n, key in enumerate("aA"))
    found = schema_changes_of([ColumnChange(name, "BIGINT")], fields)
    assert found == [UpdateColumnType((name,), parse_type("BIGINT"))]


def test_rows_change_field_by_field() -> None:
    new = {"type": "ROW", "fields": [{"id": 0, "name": "z", "type": "DATE"}, {"id": 1, "name": "x", "type": "BIGINT"}]}
    changes = [type(change).__name__ for change in schema_changes_of([ColumnChange("b", new)], FIELDS)]
    assert changes == ["AddColumn", "UpdateColumnType", "DropColumn", "UpdateColumnPosition", "UpdateColumnPosition"]


def test_a_session_decides_whether_case_counts() -> None:
    added, changed = ColumnChange("A", "TIMESTAMP(3)", adds=True), ColumnChange("A", "BIGINT")
    assert schema_changes_of([added], FIELDS, case_sensitive=True) == [AddColumn(("A",), parse_type("TIMESTAMP(3)"))]
    with pytest.raises(PaimonError, match="'A'"):
        schema_changes_of([changed], FIELDS, case_sensitive=True)
    row = {"type": "ROW", "fields": [{"id": 0, "name": "X", "type": "INT"}, {"id": 1, "name": "y", "type": "BIGINT"}]}
    of_row = [ColumnChange("b", row)]
    assert schema_changes_of(of_row, FIELDS) == [UpdateColumnType(("b", "y"), parse_type("BIGINT"))]
    names = [type(change).__name__ for change in schema_changes_of(of_row, FIELDS, case_sensitive=True)]
    assert {"AddColumn", "DropColumn"} <= set(names)


def test_added_columns_are_new() -> None:
    added = ColumnChange("c", "TIMESTAMP(3)", adds=True, comment="x", after="A")
    assert schema_changes_of([added], FIELDS) == [
        AddColumn(("c",), parse_type("TIMESTAMP(3)"), "x", ColumnPosition("after", "a"))
    ]
    with pytest.raises(PaimonError, match="Column 'B' already exists"):
        schema_changes_of([ColumnChange("B", "INT", adds=True)], FIELDS)
    with pytest.raises(PaimonError, match="nope"):
        schema_changes_of([ColumnChange("nope", "INT")], FIELDS)
