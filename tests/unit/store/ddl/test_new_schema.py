from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import (
    BYTES,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    LengthType,
    MapType,
    RowType,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields


def made(options: dict[str, str] | None = None, **keys: list[str]) -> TableSchema:
    return new_table_schema(fields(k=INT, v=STRING, p=STRING), options=options, **keys)


def test_keys_come_out_of_the_options_and_are_not_null() -> None:
    schema = made({"primary-key": "p, k,", "partition": "p", "bucket": "2"})
    assert (schema.primary_keys, schema.partition_keys) == (("p", "k"), ("p",))
    assert schema.options == {"bucket": "2"}
    assert [str(f.type) for f in schema.fields] == ["INT NOT NULL", "STRING", "STRING NOT NULL"]
    assert schema.trimmed_primary_keys == ("k",)


def test_ids_are_given_in_reading_order() -> None:
    point = RowType(fields=(DataField(id=9, name="x", type=INT), DataField(id=9, name="y", type=INT)))
    columns = fields(a=CollectionType(Kind.ARRAY, True, point), b=INT, c=MapType(key=STRING, value=point))
    schema = new_table_schema(columns)
    assert [f.id for f in schema.fields] == [0, 3, 4]
    assert schema.highest_field_id == 6


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"bucket": "0"}, InvalidOptionError, "bucket"),
        ({"bucket": "-3"}, InvalidOptionError, "bucket"),
        ({"bucket": "-2"}, InvalidOptionError, "bucket"),
        ({"bucket": "four"}, InvalidOptionError, "'bucket' cannot be 'four'"),
        ({"bucket": "4"}, InvalidOptionError, "bucket-key"),
        ({"bucket-key": "k"}, InvalidOptionError, "bucket-key"),
        ({"clustering.incremental": "true", "primary-key": "k"}, InvalidOptionError, "without a primary key"),
        ({"clustering.incremental": "true", "bucket": "2", "bucket-key": "k"}, InvalidOptionError, "'bucket' = '-1'"),
        ({"clustering.columns": "nope"}, InvalidOptionError, "clustering.columns"),
        ({"full-compaction.delta-commits": "2"}, InvalidOptionError, "full-compaction.delta-commits"),
        ({"bucket": "4", "bucket-key": "nope"}, InvalidOptionError, "nope"),
        ({"bucket": "4", "bucket-key": "v", "primary-key": "k"}, InvalidOptionError, "not in the primary key"),
        ({"merge-engine": "magic"}, InvalidOptionError, "merge-engine"),
        ({"merge-engine": "first-row"}, InvalidOptionError, "needs a primary key"),
        ({"sequence.field": "nope", "primary-key": "k"}, InvalidOptionError, "sequence.field"),
        ({"upsert-key": "k", "primary-key": "k"}, InvalidOptionError, "upsert-key"),
        ({"upsert-key": "nope"}, InvalidOptionError, "nope"),
        ({"target-file-size": "many"}, InvalidOptionError, "target-file-size"),
        ({"primary-key": "nope"}, InvalidSchemaError, "nope"),
        ({"primary-key": "k,k"}, InvalidSchemaError, "duplicate"),
        ({"primary-key": ""}, InvalidSchemaError, "primary-key.*empty name"),
        ({"primary-key": "k,,v"}, InvalidSchemaError, "primary-key.*empty name"),
        ({"partition": " "}, InvalidSchemaError, "partition.*empty name"),
        ({"sequence.field": "", "primary-key": "k"}, InvalidOptionError, "is empty: name a column"),
        ({"primary-key": "p", "partition": "p"}, InvalidSchemaError, "only partition columns"),
    ],
)
def test_what_is_refused_is_named(options: dict[str, str], error: type[PaimonError], says: str) -> None:
    with pytest.raises(error, match=says):
        made(options)


@pytest.mark.parametrize("name", ["_KEY_a", "_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID", ""])
def test_column_names_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidSchemaError):
        new_table_schema([*fields(k=INT), DataField(id=0, name=name, type=INT)])


def test_nested_columns_are_no_keys_and_keys_are_defined_once() -> None:
    with pytest.raises(InvalidSchemaError, match="ARRAY"):
        new_table_schema(fields(a=CollectionType(Kind.ARRAY), b=INT), primary_keys=["a"])
    with pytest.raises(InvalidSchemaError, match="twice"):
        made({"primary-key": "k"}, primary_keys=["k"])


@pytest.mark.parametrize("kind", [BYTES, LengthType(Kind.BINARY, length=3)])
def test_bytes_are_no_partitions_unless_folders_can_spell_them(kind: DataType) -> None:
    with pytest.raises(InvalidSchemaError, match="Partition column 'b' cannot be of type .*folders"):
        new_table_schema(fields(k=INT, b=kind), partition_keys=["b"])
    named_as_text = {"partition.legacy-name": "false"}
    assert new_table_schema(fields(k=INT, b=kind), partition_keys=["b"], options=named_as_text).partition_keys == ("b",)
    assert new_table_schema(fields(k=INT, b=kind), primary_keys=["b"]).primary_keys == ("b",)


def test_columns_are_none_only_partitions_or_told_apart_by_case() -> None:
    assert new_table_schema([]).fields == ()
    assert new_table_schema(fields(a=INT, b=INT), partition_keys=["a", "b"]).partition_keys == ("a", "b")
    assert [f.name for f in new_table_schema(fields(a=INT, A=INT)).fields] == ["a", "A"]


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_column_is_not_compared_with_all_others() -> None:
    """A client of the REST server may create a table of a hundred thousand columns in one request."""
    new_table_schema([DataField(id=0, name=Counted(f"c{number}"), type=INT) for number in range(2000)])
    assert Counted.compared < 100_000
