from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import (
    CorruptFileError,
    InvalidSchemaError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
)
from paimon_core.spec.schema import TableSchema, decode_schema, encode_schema, highest_field_id
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, Kind, RowType
from tests.support.golden import GOLDEN_DATABASE
from tests.support.golden_files import metadata_files, schemas, table_of

PATH = "db.db/t/schema/schema-7"
FIELDS = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate({"p": INT, "k": INT, "v": STRING}.items()))
SCHEMA = TableSchema(
    id=7,
    fields=FIELDS,
    highest_field_id=2,
    partition_keys=("p",),
    primary_keys=("k", "p"),
    options={"bucket": "2"},
    comment="größe",
    time_millis=1_700_000_000_000,
)
NODE: dict[str, Any] = {
    "version": 3,
    "id": 7,
    "fields": [f.json() for f in FIELDS],
    "highestFieldId": 2,
    "partitionKeys": ["p"],
    "primaryKeys": ["k", "p"],
    "options": {"bucket": "2"},
    "comment": "größe",
    "timeMillis": 1_700_000_000_000,
}


def decode(**changes: Any) -> TableSchema:
    """NODE with changes; None removes a member."""
    node = {k: v for k, v in (NODE | changes).items() if v is not None}
    return decode_schema(PATH, json.dumps(node).encode())


def test_every_member_both_ways() -> None:
    assert decode() == SCHEMA
    assert json.loads(encode_schema(SCHEMA)) == NODE
    bare = replace(SCHEMA, comment=None)
    assert "comment" not in json.loads(encode_schema(bare))
    assert decode_schema(PATH, encode_schema(bare)) == bare


@pytest.mark.parametrize("path", metadata_files("*/schema/schema-*"), ids=lambda p: f"{table_of(p)}/{p.name}")
def test_golden_schemas_both_ways(path: Path) -> None:
    data = path.read_bytes()
    schema = decode_schema(str(path), data)
    assert json.loads(encode_schema(schema)) == json.loads(data)
    assert highest_field_id(schema.fields) <= schema.highest_field_id
    assert path.name == f"schema-{schema.id}"


def test_version_1_has_one_bucket_and_versions_up_to_2_are_orc() -> None:
    none: dict[str, Any] = {"options": {}}
    assert decode(version=1, **none).options == {"bucket": "1", "file.format": "orc"}
    assert decode(version=None, **none).options == {"bucket": "1", "file.format": "orc"}
    assert decode(version=2, **none).options == {"file.format": "orc"}
    assert decode(version=3, **none).options == {}
    assert decode(version=1, options={"bucket": "4", "file.format": "avro"}).options == {
        "bucket": "4",
        "file.format": "avro",
    }


def test_what_old_writers_left_out() -> None:
    schema = decode(timeMillis=None, comment=None, version=None)
    assert (schema.time_millis, schema.comment, schema.version) == (0, None, 1)


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match=rf"{PATH}.*version 4.*up to 3.*; upgrade paimon-sql"):
        decode(version=4)


def test_numbers_among_the_options_are_texts() -> None:
    assert decode(options={"bucket": 3, "write-only": True, "x": "y"}).options == {
        "bucket": "3",
        "write-only": "true",
        "x": "y",
    }


@pytest.mark.parametrize("key", ["id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options"])
def test_a_missing_member_is_named(key: str) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*as a schema, .*{key}"):
        decode(**{key: None})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", [3]),
        ("version", True),
        ("version", "new"),
        ("id", 1e30),
        ("fields", {}),
        ("fields", "pkv"),
        ("fields", ["p"]),
        ("fields", [{"id": 0, "name": "p", "type": "INT("}]),
        ("fields", [{"id": 0, "name": "p"}]),
        ("partitionKeys", "p"),
        ("primaryKeys", {"k": 1}),
        ("options", ["bucket"]),
        ("comment", [5]),
        ("timeMillis", "yesterday"),
    ],
    ids=repr,
)
def test_members_of_other_types_are_refused(key: str, value: Any) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*as a schema, "):
        decode(**{key: value})


def test_keys_are_columns_and_columns_differ() -> None:
    with pytest.raises(UnfamiliarFormError, match="no column 'x'; the columns are p, k, v"):
        decode(partitionKeys=["x"])
    with pytest.raises(UnfamiliarFormError, match="no column 'y'"):
        decode(primaryKeys=["y"])
    with pytest.raises(UnfamiliarFormError, match="same name"):
        decode(fields=[FIELDS[0].json(), FIELDS[1].json(), FIELDS[0].json()])


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 2000])
def test_what_is_not_json_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=PATH):
        decode_schema(PATH, data)


@pytest.mark.parametrize("data", [b"[]", b"null"])
def test_what_is_not_an_object_is_unfamiliar(data: bytes) -> None:
    with pytest.raises(UnfamiliarFormError, match=PATH):
        decode_schema(PATH, data)


def test_a_type_nested_without_end_is_refused() -> None:
    text = json.dumps(NODE).replace('"INT"', '{"type": "ARRAY", "element": ' * 100 + '"INT"' + "}" * 100, 1)
    with pytest.raises(UnfamiliarFormError, match="64 levels"):
        decode_schema(PATH, text.encode())
    text = json.dumps(NODE).replace('"INT"', '{"type": ' * 900 + '"INT"' + "}" * 900, 1)
    with pytest.raises(UnfamiliarFormError, match=PATH):
        decode_schema(PATH, text.encode())


def test_a_type_of_another_version_is_unsupported_not_corrupt() -> None:
    fields = [FIELDS[0].json(), FIELDS[1].json(), {"id": 2, "name": "v", "type": "GEOGRAPHY"}]
    with pytest.raises(UnsupportedFeatureError, match=f"The table of {PATH} cannot be used: .*GEOGRAPHY"):
        decode(fields=fields)


def test_columns_by_name() -> None:
    p, k, v = FIELDS
    assert SCHEMA.select(("v", "p")) == (v, p)
    assert SCHEMA.types(("v", "k")) == (STRING, INT)
    assert SCHEMA.partition_fields == (p,)
    assert SCHEMA.row_type == RowType(nullable=False, fields=FIELDS)
    with pytest.raises(InvalidSchemaError, match="no column 'z'"):
        SCHEMA.select(("k", "z"))


def test_keys_without_partition_columns() -> None:
    assert SCHEMA.trimmed_primary_keys == SCHEMA.bucket_keys == ("k",)
    assert SCHEMA.key_fields == (FIELDS[1],)
    whole = replace(SCHEMA, primary_keys=("p",))
    assert whole.trimmed_primary_keys == ("p",)
    assert replace(SCHEMA, primary_keys=()).bucket_keys == ()
    assert replace(SCHEMA, options={"bucket-key": "v, k"}).bucket_keys == ("v", "k")


def test_the_highest_id_is_searched_in_nested_fields_too() -> None:
    inner = RowType(fields=(DataField(id=9, name="a", type=INT),))
    assert highest_field_id((DataField(id=1, name="r", type=CollectionType(Kind.ARRAY, element=inner)),)) == 9
    assert highest_field_id(()) == -1


def test_the_golden_tables_have_schemas() -> None:
    assert len(schemas()) > len(list(GOLDEN_DATABASE.iterdir()))
