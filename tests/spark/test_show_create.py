"""SHOW CREATE TABLE: what it prints makes an equal table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.support.spark_versions import said_by

pytestmark = pytest.mark.spark

ATOMS = (
    *("INT", "BIGINT", "TINYINT", "SMALLINT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING", "BYTES", "DATE", "DECIMAL(9, 2)"),
    *("CHAR(3)", "VARCHAR(7)", "BINARY(4)", "VARBINARY(9)", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)"),
    *("TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
)
QUOTED = said_by({(4, 0): r"'it\'s'", (4, 1): "'it''s'"})
DEFAULTS = {"INT": "7", "STRING": QUOTED, "DECIMAL(9, 2)": "1.50", "BOOLEAN": "true"}
CHARACTERS = said_by({(4, 0): "ab'\"\n;ü$ -", (4, 3): "ab'\\\"\n;ü$ -"})  # older: a backslash as it is
NAMES = ("a", "B", "select", "a b", "ü", "x`y", "p.q")


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: {"type": "ROW", "fields": [{"id": 0, "name": NAMES[i], "type": t} for i, t in enumerate(types)]}
    )
    lists = inner.map(lambda t: {"type": "ARRAY", "element": t})
    keys = inner.map(lambda t: f"{t} NOT NULL" if isinstance(t, str) else t | {"type": f"{t['type']} NOT NULL"})
    counts = keys.map(lambda t: {"type": "MULTISET", "element": t})
    return fields | lists | counts | st.builds(lambda k, v: {"type": "MAP", "key": k, "value": v}, keys, inner)


@st.composite
def tables(draw: Any) -> TableSchema:
    text = st.text(alphabet=CHARACTERS, max_size=6)
    keys = (("k", "INT"), ("part", "STRING"))
    fields = [DataField(id=i, name=name, type=parse_type(kind)) for i, (name, kind) in enumerate(keys)]
    for number, name in enumerate(draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=3)), 2):
        kind = draw(st.sampled_from(ATOMS) | st.recursive(st.sampled_from(ATOMS), nested, max_leaves=4))
        default = DEFAULTS.get(kind) if isinstance(kind, str) and draw(st.booleans()) else None
        data_type = parse_type(kind).with_nullable(draw(st.booleans()))
        comment = draw(st.none() | text)
        fields.append(DataField(id=number, name=name, type=data_type, description=comment, default=default))
    options = {"bucket": "2"} if (keyed := draw(st.booleans())) else {}
    return new_table_schema(
        fields,
        partition_keys=draw(st.sampled_from([(), ("part",)])),
        primary_keys=("part", "k") if keyed else (),
        options=options | draw(st.dictionaries(st.sampled_from(["x", "file.format-x", "a b"]), text)),
        comment=draw(st.none() | text),
    )


def parts(schema: TableSchema) -> Sequence[Any]:
    options = {k: v for k, v in schema.options.items() if k != "owner"}  # the one who created it last
    return schema.fields, schema.partition_keys, schema.primary_keys, options, schema.comment


def test_the_printed_statement_makes_an_equal_table(spark: Any, warehouse: str) -> None:
    catalog, table = load_catalog({"warehouse": warehouse}), Identifier("default", "t")

    @settings(max_examples=12, suppress_health_check=list(HealthCheck), database=None)
    @given(tables())
    def recreate(schema: TableSchema) -> None:
        catalog.create_table(table, schema)
        statement = spark.sql("SHOW CREATE TABLE t").collect()[0][0]
        catalog.drop_table(table)
        spark.sql(statement)
        created = catalog.load_table(table).schema
        catalog.drop_table(table)
        assert parts(created) == parts(schema), statement

    recreate()
