"""Types of columns in tables that get all rows anew."""

from __future__ import annotations

import pytest

from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import DropColumn, SchemaChange, UpdateColumnType, apply_changes
from paimon_sql.spark.tables.table_changes import with_new_columns
from tests.support.tables import fields


def changed(schema: TableSchema, *changes: SchemaChange) -> TableSchema:
    return apply_changes(schema, with_new_columns(schema, changes), 0)


@pytest.mark.parametrize(
    ("old", "new", "is_kept"),
    [
        ("INT", "BIGINT", True),
        ("BIGINT", "STRING", True),
        ("STRING", "VARCHAR(9)", True),
        ("STRING", "INT", False),
        ("BOOLEAN", "DATE", False),
    ],
)
def test_old_values_convert_or_are_null(old: str, new: str, is_kept: bool) -> None:
    """A column with a new id has no values in the old files."""
    schema = new_table_schema(fields(a=parse_type("INT"), b=parse_type(old), c=parse_type("INT")))
    found = changed(schema, UpdateColumnType(("b",), parse_type(new)))
    assert [f.name for f in found.fields] == ["a", "b", "c"]
    assert found.field_by_name["b"].type == parse_type(new)
    assert (found.field_by_name["b"].id == schema.field_by_name["b"].id) == is_kept


def test_columns_keep_their_order() -> None:
    text, whole = parse_type("STRING"), parse_type("INT")
    schema = new_table_schema(fields(a=text, b=text, c=text, d=text))
    found = changed(schema, *(UpdateColumnType((name,), whole) for name in "abd"))
    assert [f.name for f in found.fields] == ["a", "b", "c", "d"]
    found = changed(schema, DropColumn(("a",)), DropColumn(("b",)), *(UpdateColumnType((n,), whole) for n in "cd"))
    assert [f.name for f in found.fields] == ["c", "d"]


def test_columns_of_keys_keep_their_types() -> None:
    key = new_table_schema(
        fields(k=parse_type("STRING"), v=parse_type("INT")), primary_keys=["k"], options={"bucket": "1"}
    )
    change = UpdateColumnType(("k",), parse_type("INT"))
    assert with_new_columns(key, [change]) == [change]
