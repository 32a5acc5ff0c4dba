"""BLOB columns in definitions and alterations of tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BYTES, DOUBLE, INT, STRING, CollectionType, DataField, DataType, Kind, MapType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, RenameColumn, UpdateColumnType, apply_changes

EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
BLOB = DataType(Kind.BLOB)


def column(name: str, data_type: DataType = BYTES, comment: str | None = None) -> DataField:
    return DataField(id=0, name=name, type=data_type, description=comment)


def table(*columns: DataField, partition_keys: tuple[str, ...] = (), **options: str) -> TableSchema:
    given = EVOLVES | {k.replace("_", "-"): v for k, v in options.items()}
    return new_table_schema((column("k", INT), *columns), partition_keys=partition_keys, options=given)


def test_comments_and_options_make_binaries_blobs() -> None:
    schema = table(
        column("a"),
        column("b", BYTES.with_nullable(False), "__BLOB_FIELD; a picture"),
        column("c", comment="__BLOB_DESCRIPTOR_FIELD"),
        column("d", comment="plain"),
        blob_field="a",
    )
    kinds = [(f.name, f.type, f.description) for f in schema.fields[1:]]
    assert kinds == [
        ("a", BLOB, None),
        ("b", BLOB.with_nullable(False), "a picture"),
        ("c", BLOB, None),
        ("d", BYTES, "plain"),
    ]
    assert (schema.options["blob-field"], schema.options["blob-descriptor-field"]) == ("a,b", "c")


def test_columns_come_and_go_with_their_options() -> None:
    schema = table(column("a"), blob_field="a")
    added = AddColumn(("x",), BYTES, "__BLOB_FIELD; hey"), AddColumn(("y",), BYTES, "__BLOB_DESCRIPTOR_FIELD;")
    grown = apply_changes(schema, added, 0)
    assert [(f.type, f.description) for f in grown.fields[2:]] == [(BLOB, "hey"), (BLOB, None)]
    assert grown.options == EVOLVES | {"blob-field": "a,x", "blob-descriptor-field": "y"}
    shrunk = apply_changes(grown, [DropColumn(("a",)), DropColumn(("y",))], 0)
    assert shrunk.options == EVOLVES | {"blob-field": "x"}
    for change in (RenameColumn(("x",), "z"), UpdateColumnType(("x",), STRING), UpdateColumnType(("k",), BLOB)):
        with pytest.raises(InvalidSchemaError, match="Cannot rename BLOB column|cannot become"):
            apply_changes(shrunk, [change], 0)


@pytest.mark.parametrize(
    ("columns", "options", "kind", "said"),
    [
        ([column("a", comment="__BLOB_NOPE")], {}, InvalidSchemaError, "Unsupported BLOB directive"),
        ([column("a", STRING)], {"blob_field": "a"}, InvalidSchemaError, "must be binary: column 'a' is STRING"),
        ([], {"blob_field": "a"}, InvalidOptionError, "'a' in 'blob-field' must be a BLOB field"),
        (
            [column("a", CollectionType(Kind.ARRAY, element=BYTES))],
            {"blob_descriptor_field": "a"},
            InvalidOptionError,
            "'a' in 'blob-descriptor-field' must be a BLOB field",
        ),
        (
            [column("a", MapType(key=DOUBLE, value=BYTES))],
            {"blob_field": "a"},
            InvalidSchemaError,
            "cannot have keys of this type",
        ),
        (
            [column("a")],
            {"blob_descriptor_field": "a", "blob_view_field": "a"},
            InvalidOptionError,
            "cannot also be in 'blob-descriptor-field'",
        ),
    ],
)
def test_what_no_table_can_have(
    columns: list[DataField], options: dict[str, str], kind: type[PaimonError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        table(*columns, **options)


def test_what_tables_with_blobs_need() -> None:
    with pytest.raises(InvalidOptionError, match="Data evolution config must enabled"):
        new_table_schema([column("k", INT), column("a")], options={"blob-field": "a"})
    with pytest.raises(InvalidSchemaError, match="must have other normal columns"):
        new_table_schema([column("a")], options=EVOLVES | {"blob-field": "a"})
    with pytest.raises(InvalidSchemaError, match="can not be part of partition keys"):
        table(column("a"), partition_keys=("a",), blob_field="a")
    schema = table(column("a"), blob_field="a")
    assert replace(schema, options=EVOLVES) != schema


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ""),
        ({"merge-engine": "partial-update", "fields.n.sequence-group": "a"}, ""),
        ({"merge-engine": "first-row"}, ""),
        ({"merge-engine": "aggregation"}, "do not support 'merge-engine' = 'aggregation'"),
        ({"changelog-producer": "input"}, "do not support 'changelog-producer' = 'input'"),
        ({"data-file.external-paths": "/x"}, "do not support 'data-file.external-paths'"),
        ({"sequence.field": "a"}, "cannot be in the sequence field"),
        ({"primary-key": "k,a"}, "cannot be in the primary key"),
        ({"merge-engine": "partial-update", "fields.a.sequence-group": "n"}, "cannot order a sequence group"),
        (
            {
                "merge-engine": "partial-update",
                "fields.n.sequence-group": "a",
                "fields.a.aggregate-function": "last_non_null_value",
            },
            "cannot have the aggregate function 'last_non_null_value'",
        ),
        (
            {
                "merge-engine": "partial-update",
                "fields.n.sequence-group": "a",
                "fields.a.aggregate-function": "last_non_null_value",
                "fields.a.ignore-retract": "true",
            },
            "",
        ),
        *(
            (
                {"merge-engine": "partial-update", "fields.n.sequence-group": "a", "ignore-delete": "true", **function},
                said,
            )
            for function, said in (
                ({"fields.a.aggregate-function": "max"}, "cannot have the aggregate function 'max': merges see where"),
                ({"fields.a.aggregate-function": "listagg"}, "'listagg'"),
                ({"fields.default-aggregate-function": "min"}, "cannot have the aggregate function 'min'"),
                ({"fields.default-aggregate-function": "min", "fields.a.aggregate-function": "last_value"}, ""),
                ({"fields.a.aggregate-function": "first_non_null_value"}, ""),
                ({"fields.a.aggregate-function": "max", "merge-engine": "deduplicate"}, ""),
                ({"fields.a.aggregate-function": "max", "blob-descriptor-field": "a", "blob-field": ""}, "'max'"),
            )
        ),
    ],
)
def test_what_tables_with_blobs_and_a_primary_key_need(options: dict[str, str], said: str) -> None:
    given = {"blob-field": "a", "bucket": "1", "primary-key": "k"} | options
    columns = [column("k", INT), column("a"), column("n", INT)]
    if not said:
        assert new_table_schema(columns, options=given).fields[1].type == BLOB
        return
    with pytest.raises((InvalidOptionError, InvalidSchemaError), match=said):
        new_table_schema(columns, options=given)


@pytest.mark.parametrize("comment", ["__BLOB_VIEW_FIELD", "__BLOB_VIEW_FIELD; seen"])
def test_a_comment_makes_a_column_of_views(comment: str) -> None:
    for schema in (
        table(column("x", comment=comment)),
        apply_changes(table(column("a")), [AddColumn(("x",), BYTES, comment)], 0),
    ):
        assert schema.field_by_name["x"].type == BLOB
        assert schema.options["blob-view-field"] == "x"
        assert schema.field_by_name["x"].description == ("seen" if "seen" in comment else None)
