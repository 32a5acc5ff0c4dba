"""What CREATE TABLE … LIKE takes from its source."""

from __future__ import annotations

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.spark.tables.definitions import check_not_stored_as, schema_like
from tests.support.tables import fields

CSV = {"type": "format-table", "file.format": "csv"}


@pytest.fixture
def keyed() -> TableSchema:
    options = {"primary-key": "k,p", "bucket": "2", "owner": "me", "path": "/there"}
    return new_table_schema(fields(k=INT, v=STRING, p=INT), ["p"], options, "mine")


def test_all_but_path_and_owner(keyed: TableSchema) -> None:
    made = schema_like(keyed, {}, None, (), names_type=False)
    assert (made.fields, made.primary_keys, made.partition_keys) == (keyed.fields, ("k", "p"), ("p",))
    assert (made.options, made.comment) == ({"bucket": "2"}, "mine")


def test_the_statement_wins(keyed: TableSchema) -> None:
    made = schema_like(keyed, {"bucket": "4", "primary-key": "k,p,v"}, "ours", (), names_type=False)
    assert (made.options, made.comment, made.primary_keys) == ({"bucket": "4"}, "ours", ("k", "p", "v"))
    made = schema_like(keyed, {}, None, ("constraints", "options", "partitions"), names_type=False)
    assert (made.primary_keys, made.options, made.partition_keys) == ((), {}, ())


def test_another_type_takes_no_options(keyed: TableSchema) -> None:
    assert schema_like(keyed, CSV, None, ("constraints",), names_type=True).options == CSV
    csv = new_table_schema(fields(k=INT), options=CSV | {"seq": "|"})
    assert schema_like(csv, {}, None, (), names_type=True).options == {}
    assert schema_like(csv, CSV, None, (), names_type=True).options == CSV | {"seq": "|"}
    assert schema_like(csv, {}, None, (), names_type=False).options == CSV | {"seq": "|"}


def test_stored_as_is_refused() -> None:
    check_not_stored_as("t", {"x": "y"})
    with pytest.raises(UnsupportedFeatureError, match=r"LIKE … STORED AS is not supported"):
        check_not_stored_as("t", {"hive.stored-as": "orc"})
