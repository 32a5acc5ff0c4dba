"""The JSON that client and server share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING, RowType
from paimon_core.store.ddl.nested_columns import ColumnPosition
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.messages import (
    decode_changes,
    decode_identifier,
    decode_schema_body,
    encode_change,
    encode_identifier,
    encode_schema_body,
)
from tests.support.tables import fields

_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_PATH = st.lists(_TEXT, min_size=1, max_size=3).map(tuple)
_TYPE = st.sampled_from((INT, BIGINT, STRING, RowType(fields=tuple(fields(a=INT, b=STRING)))))
_POSITION = st.one_of(
    st.builds(ColumnPosition, st.sampled_from(("first", "last"))),
    st.builds(ColumnPosition, st.sampled_from(("before", "after")), _TEXT),
)
_CHANGE = st.one_of(
    st.builds(SetOption, _TEXT, _TEXT),
    st.builds(RemoveOption, _TEXT),
    st.builds(UpdateComment, st.none() | _TEXT),
    st.builds(AddColumn, _PATH, _TYPE, st.none() | _TEXT),
    st.builds(AddColumn, _TEXT.map(lambda name: (name,)), _TYPE, st.none() | _TEXT, _POSITION),
    st.builds(RenameColumn, _PATH, _TEXT),
    st.builds(DropColumn, _PATH),
    st.builds(UpdateColumnType, _PATH, _TYPE),
    st.builds(UpdateColumnNullability, _PATH, st.booleans()),
    st.builds(UpdateColumnComment, _PATH, st.none() | _TEXT),
    st.builds(UpdateColumnDefault, _PATH, st.none() | _TEXT),
    st.builds(UpdateColumnPosition, _TEXT.map(lambda name: (name,)), _POSITION),
)


@given(st.lists(_CHANGE, max_size=4))
def test_changes_arrive_as_they_were_sent(changes: list[Any]) -> None:
    assert decode_changes({"changes": [encode_change(c) for c in changes]}) == changes


def test_a_type_of_javas_says_whether_null_stays() -> None:
    change = {"action": "updateColumnType", "fieldNames": ["a"], "newDataType": "BIGINT NOT NULL"}
    both = [UpdateColumnType(("a",), BIGINT), UpdateColumnNullability(("a",), False)]
    assert decode_changes({"changes": [{**change, "keepNullability": False}]}) == both
    assert decode_changes({"changes": [{**change, "keepNullability": True}]}) == both[:1]


def test_a_place_within_a_column_has_no_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot move a field"):
        encode_change(UpdateColumnPosition(("a", "b"), ColumnPosition("first")))


@pytest.mark.parametrize(
    "change",
    [
        {}, {"action": 1}, {"action": "dropPrimaryKey"}, {"action": "setOption", "key": "a"},
        {"action": "dropColumn", "fieldNames": []}, {"action": "dropColumn", "fieldNames": [1]},
        {"action": "addColumn", "fieldNames": ["a"], "dataType": 7},
        {"action": "addColumn", "fieldNames": ["a"], "dataType": "NOTHING"},
        {"action": "updateColumnPosition", "move": {"fieldName": "a", "type": "ASIDE"}},
    ],
)  # fmt: skip
def test_changes_that_are_none(change: dict[str, Any]) -> None:
    with pytest.raises((TypeError, PaimonError)):
        decode_changes({"changes": [change]})


def test_schemas_arrive_as_they_were_sent() -> None:
    columns = fields(k=INT, v=STRING, p=INT)
    schema = new_table_schema(columns, ("p",), {"bucket": "1", "ö": "ä"}, "about", ("k", "p"))
    body = decode_schema_body(encode_schema_body(schema))
    assert body.as_version(0).is_version(schema) and not body.as_version(1).is_version(schema)
    assert decode_schema_body(encode_schema_body(new_table_schema(columns))).comment is None
    for wrong in ({}, {"fields": {}}, {"fields": [], "options": {"a": 1}}, {"fields": [], "primaryKeys": [1]}):
        with pytest.raises(TypeError):
            decode_schema_body(wrong)


def test_names_and_addresses() -> None:
    identifier = Identifier("d b", "t/%+?#", "b", "files")
    assert paths.table("p x", identifier, "tags") == "/v1/p%20x/databases/d%20b/tables/t%2F%25%2B%3F%23%24branch_b/tags"
    assert paths.below("", "databases") == "/v1/databases"
    plain = Identifier("db", "t", "b")
    assert decode_identifier(encode_identifier(plain)) == plain
