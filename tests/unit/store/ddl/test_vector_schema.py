"""VECTOR columns in definitions and alterations of tables."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.schema import TableSchema, decode_schema, encode_schema
from paimon_core.spec.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TINYINT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    VectorType,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnType,
    apply_changes,
)

FLOATS = CollectionType(Kind.ARRAY, element=FLOAT)
EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


def column(name: str, data_type: DataType = FLOATS, comment: str | None = None) -> DataField:
    return DataField(id=0, name=name, type=data_type, description=comment)


def vector(length: int, element: DataType = FLOAT, *, nullable: bool = True) -> VectorType:
    return VectorType(Kind.ARRAY, nullable, element, length)


def table(*columns: DataField, options: dict[str, str] | None = None, **keys: list[str]) -> TableSchema:
    return new_table_schema((column("k", INT), *columns), options=options, **keys)


def test_comments_and_options_make_arrays_vectors() -> None:
    doubles = CollectionType(Kind.ARRAY, nullable=False, element=DOUBLE)
    schema = table(
        column("a"),
        column("b", doubles, "__VECTOR_FIELD; 3 ; of pictures; and texts"),
        column("c", CollectionType(Kind.ARRAY, element=TINYINT), "__VECTOR_FIELD;128"),
        column("d", comment="plain"),
        column("e", CollectionType(Kind.ARRAY, element=BOOLEAN)),
        options={"vector-field": "a, e", "field.a.vector-dim": " 2 ", "field.e.vector-dim": "1"},
    )
    assert [(f.name, f.type, f.description) for f in schema.fields[1:]] == [
        ("a", vector(2), None),
        ("b", vector(3, DOUBLE, nullable=False), "of pictures; and texts"),
        ("c", vector(128, TINYINT), None),
        ("d", FLOATS, "plain"),
        ("e", vector(1, BOOLEAN), None),
    ]
    assert schema.options == {
        "vector-field": "a,e,b,c",
        "field.a.vector-dim": " 2 ",
        "field.e.vector-dim": "1",
    }
    assert schema.fields[1].json()["type"] == {"type": "VECTOR", "element": "FLOAT", "length": 2}
    assert decode_schema("schema-0", encode_schema(schema)) == schema


def test_columns_come_and_go_with_their_options() -> None:
    schema = table(column("a"), options={"vector-field": "a", "field.a.vector-dim": "2"})
    grown = apply_changes(schema, [AddColumn(("x",), FLOATS, "__VECTOR_FIELD;4;hey")], 0)
    assert (grown.fields[2].type, grown.fields[2].description) == (vector(4), "hey")
    assert grown.options == {"vector-field": "a,x", "field.a.vector-dim": "2"}
    renamed = apply_changes(grown, [RenameColumn(("a",), "b"), UpdateColumnComment(("x",), None)], 0)
    assert renamed.options == {"vector-field": "b,x", "field.b.vector-dim": "2"}
    shrunk = apply_changes(renamed, [DropColumn(("b",))], 0)
    assert shrunk.options == {"vector-field": "x"}
    assert apply_changes(shrunk, [DropColumn(("x",))], 0).options == {}


@pytest.mark.parametrize(
    "change",
    [
        UpdateColumnType(("a",), vector(3)),
        UpdateColumnType(("a",), FLOATS),
        UpdateColumnType(("a",), CollectionType(Kind.ARRAY, element=DOUBLE)),
        UpdateColumnType(("a",), STRING),
        UpdateColumnType(("a", "element"), DOUBLE),
        UpdateColumnNullability(("a", "element"), False),
        UpdateColumnType(("l",), vector(2)),
    ],
    ids=str,
)
def test_types_of_vectors_stay(change: UpdateColumnType) -> None:
    schema = table(column("a", comment="__VECTOR_FIELD;2"), column("l"))
    with pytest.raises(InvalidSchemaError, match="cannot become"):
        apply_changes(schema, [change], 0)


def test_a_length_is_never_set_anew() -> None:
    schema = table(column("a", comment="__VECTOR_FIELD;2"))
    assert apply_changes(schema, [SetOption("field.a.vector-dim", "2")], 0).options["field.a.vector-dim"] == "2"
    with pytest.raises(InvalidOptionError, match="vectors of the column have 2 elements, and their length cannot"):
        apply_changes(schema, [SetOption("field.a.vector-dim", "3")], 0)
    with pytest.raises(InvalidOptionError, match="cannot name 'k': it is not a VECTOR column"):
        apply_changes(schema, [SetOption("vector-field", "a,k")], 0)


@pytest.mark.parametrize(
    ("columns", "options", "kind", "said"),
    [
        ([column("a", comment="__VECTOR_NOPE;3")], {}, InvalidSchemaError, "Unsupported VECTOR directive"),
        ([column("a", comment=" __VECTOR_FIELD")], {}, InvalidSchemaError, "'a'.*needs the length"),
        ([column("a", comment="__VECTOR_FIELD;x")], {}, InvalidSchemaError, "needs the length"),
        ([column("a", comment="__VECTOR_FIELD;0;text")], {}, InvalidSchemaError, "needs the length"),
        ([column("a", comment="__VECTOR_FIELD;-1")], {}, InvalidSchemaError, "needs the length"),
        ([column("a", comment="__VECTOR_FIELD;9999999999")], {}, InvalidSchemaError, "length of a vector is 1 to"),
        ([column("a", STRING, "__VECTOR_FIELD;3")], {}, InvalidSchemaError, "'a' of type STRING cannot be a VECTOR"),
        (
            [column("a", CollectionType(Kind.ARRAY, element=STRING), "__VECTOR_FIELD;3")],
            {},
            InvalidSchemaError,
            "elements must be one of BOOLEAN, TINYINT",
        ),
        ([column("a")], {"vector-field": "a"}, InvalidOptionError, "'field.a.vector-dim' is not set"),
        (
            [column("a")],
            {"vector-field": "a", "field.a.vector-dim": "two"},
            InvalidOptionError,
            "'field.a.vector-dim' cannot be 'two'",
        ),
        ([], {"vector-field": "a"}, InvalidOptionError, "'vector-field' cannot name 'a'"),
        (
            [column("a", comment="__VECTOR_FIELD;3")],
            {"vector.file.format": "parquet"},
            InvalidOptionError,
            "'vector.file.format' needs 'data-evolution.enabled' = 'true'",
        ),
        (
            [column("a", comment="__VECTOR_FIELD;3")],
            {"vector.file.format": "lance", **EVOLVES},
            UnsupportedFeatureError,
            "'vector.file.format' cannot be 'lance'",
        ),
    ],
)
def test_what_no_table_can_have(
    columns: list[DataField], options: dict[str, str], kind: type[PaimonError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        table(*columns, options=options)


@pytest.mark.parametrize("keys", [{"primary_keys": ["a"]}, {"partition_keys": ["a"]}], ids=str)
def test_no_key_has_vectors(keys: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidSchemaError, match=r"'a' cannot be of type VECTOR<FLOAT, 3>"):
        table(column("a", comment="__VECTOR_FIELD;3"), **keys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bucket": "2", "bucket-key": "a"}, "'bucket-key' cannot name 'a'"),
        ({"primary-key": "k", "sequence.field": "a"}, "'sequence.field' cannot name 'a'"),
        ({"upsert-key": "a"}, "'upsert-key' cannot name 'a'"),
        ({"file-index.bloom-filter.columns": "a"}, "'a'"),
        ({"file.format": "csv"}, "'a'"),
    ],
    ids=str,
)
def test_vectors_have_no_order_no_hash_and_no_line_of_text(options: dict[str, str], said: str) -> None:
    with pytest.raises(PaimonError, match=said):
        table(column("a", comment="__VECTOR_FIELD;3"), options=options)


@pytest.mark.parametrize("function", ["collect", "sum", "max", "listagg", "merge_map", "nested_update"])
def test_functions_that_would_change_the_length_are_refused(function: str) -> None:
    options = {"primary-key": "k", "merge-engine": "aggregation", "fields.a.aggregate-function": function}
    with pytest.raises(InvalidOptionError, match=rf"{function}.*VECTOR<FLOAT, 3>|VECTOR<FLOAT, 3>.*{function}"):
        table(column("a", comment="__VECTOR_FIELD;3"), options=options)
