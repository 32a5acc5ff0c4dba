"""Options for indexes of keyed tables in definitions and alterations of tables."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BIGINT, FLOAT, INT, STRING, CollectionType, Kind, VectorType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import DropColumn, RemoveOption, RenameColumn, UpdateColumnType, apply_changes
from tests.support.tables import fields

KEYED = {"primary-key": "k", "bucket": "2", "deletion-vectors.enabled": "true"}
ALL = {"pk-btree.index.columns": "n,k", "pk-bitmap.index.columns": "v", "pk-multivalue.index.columns": "a"}


def table(**options: str | None) -> TableSchema:
    array, vector = CollectionType(Kind.ARRAY, element=STRING), VectorType(Kind.ARRAY, element=FLOAT, length=2)
    columns = fields(k=INT, v=STRING, n=INT, a=array, e=vector)
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return new_table_schema(columns, options={k: v for k, v in (KEYED | given).items() if v is not None})


def test_tables_have_them() -> None:
    for bucket in ("2", "-2"):
        schema = table(bucket=bucket, **ALL)
        assert schema.options.items() >= ALL.items()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pk_btree__index__columns": "x"}, "There is no column 'x'"),
        ({"pk_btree__index__columns": "a"}, "cannot name 'a': name a column of single values"),
        ({"pk_multivalue__index__columns": "v"}, "cannot name 'v': name an ARRAY column"),
        ({"pk_multivalue__index__columns": "e"}, "cannot name 'e': name an ARRAY column"),
        ({"pk_btree__index__columns": "v", "pk_bitmap__index__columns": "v"}, "a column has one index"),
        ({"pk_btree__index__columns": "v", "deletion-vectors.enabled": None}, "needs 'deletion-vectors.enabled'"),
        ({"pk_btree__index__columns": "v", "bucket": "-1"}, "needs 'bucket' = '-2'"),
        ({"pk_btree__index__columns": "v", "primary-key": None, "bucket": "-1"}, "needs a primary key"),
        ({"pk_btree__index__columns": "v", "deletion-vectors.merge-on-read": "true"}, "needs 'deletion-vectors.merge-"),
    ],
    ids=str,
)
def test_what_no_engine_could_make(options: dict[str, str | None], said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        table(**options)


@pytest.mark.parametrize("option", ["pk-vector.index.columns", "pk-full-text.index.columns", "pk-later.index.columns"])
def test_other_kinds_are_refused_by_name(option: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"'{option}' cannot be 'v'"):
        table(**{option: "v"})


def test_indexed_columns_stay_until_the_option_goes() -> None:
    schema = table(**ALL)
    for change in (DropColumn(("v",)), RenameColumn(("v",), "w"), UpdateColumnType(("n",), BIGINT)):
        with pytest.raises(InvalidSchemaError, match=r"cannot be .*: 'pk-(btree|bitmap).index.columns' names it"):
            apply_changes(schema, [change], 0)
    freed = apply_changes(schema, [RemoveOption("pk-bitmap.index.columns"), DropColumn(("v",))], 0)
    assert [f.name for f in freed.fields] == ["k", "n", "a", "e"]
