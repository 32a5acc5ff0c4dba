"""What a view is in the metastore: ours, those of Java's, and those that Hive, Spark and others keep there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from paimon_core.errors import CorruptFileError, InvalidOptionError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING, DataField, parse_type
from paimon_sql.catalog.view import View
from tests.support.examples import examples
from tests.support.tables import fields
from tests.unit.catalog.test_view import VIEWS

ttypes = pytest.importorskip("pymetastore.hive_metastore.ttypes", reason='needs pip install "paimon-sql[hive]"')

from paimon_sql.catalog.hive.settings import read_settings  # noqa: E402
from paimon_sql.catalog.hive.view_entries import (  # noqa: E402
    check_view_kept,
    is_view,
    new_view,
    read_view,
    renamed_view,
    replaced_view,
)

V = Identifier("db", "v")
SETTINGS = read_settings({"uri": "thrift://a"}, locks=False)
VIEW = View(fields=tuple(fields(k=INT, v=STRING)), query="SELECT k, v FROM t", options={"a": "b"}, comment="about")


def made(view: View) -> Any:
    return new_view(V, view, SETTINGS, zones=False)


def entry(text: str | None, columns: dict[str, str], **parameters: str) -> Any:
    """A view as Hive keeps it."""
    cols = [ttypes.FieldSchema(name, kind, None) for name, kind in columns.items()]
    given = {name.replace("__", "."): value for name, value in parameters.items()}
    sd = ttypes.StorageDescriptor(cols=cols)
    return ttypes.Table(
        dbName="db", tableName="v", tableType="VIRTUAL_VIEW", sd=sd, parameters=given, viewExpandedText=text
    )


def sparks(query: str = "SELECT k FROM t", fields_json: Any = None, **parameters: str) -> Any:
    """A view as Spark's own catalog keeps it."""
    columns = fields_json or [{"name": "K", "type": "integer", "nullable": False, "metadata": {"comment": "key"}}]
    table = entry(query, {"k": "int"})
    table.parameters = {
        "spark.sql.create.version": "4.1.0",
        "spark.sql.sources.schema": json.dumps({"type": "struct", "fields": columns}),
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": "other",
        "view.query.out.numCols": "1",
        "view.query.out.col.0": "k",
        "view.sqlConfig.spark.sql.ansi.enabled": "false",
        "view.schemaMode": "COMPENSATION",
        "transient_lastDdlTime": "1",
        "mine": "x",
        **parameters,
    }
    return table


@given(VIEWS)
@settings(max_examples=examples(50))
def test_ours_are_read_as_they_were_written(view: View) -> None:
    assert read_view(made(view)) == view
    assert read_view(replaced_view(made(VIEW), view, zones=False)) == view


def test_what_java_sees_of_ours() -> None:
    table = made(VIEW)
    assert (table.tableType, table.viewOriginalText, table.viewExpandedText) == ("VIRTUAL_VIEW", VIEW.query, VIEW.query)
    assert [(c.name, c.type) for c in table.sd.cols] == [("k", "int"), ("v", "string")]
    assert {k: v for k, v in table.parameters.items() if k != "paimon-sql.view"} == {"a": "b", "comment": "about"}
    assert table.parameters["paimon-sql.view"].isascii() and is_view(table)
    moved = renamed_view(table, Identifier("d2", "w"))
    assert (moved.dbName, moved.tableName, read_view(moved)) == ("d2", "w", VIEW)


def test_nothing_of_an_older_definition_stays() -> None:
    old = made(replace(VIEW, options={"a": "b"}))
    old.parameters["view.query.out.numCols"] = "1"
    new = replaced_view(old, replace(VIEW, options={"c": "d"}, comment=None), zones=False)
    assert new.parameters.keys() == {"c", "paimon-sql.view"} and old.parameters["a"] == "b"


@pytest.mark.parametrize("change", ["query", "columns"])
def test_ours_under_another_engines_definition(change: str) -> None:
    """Hive changes the text of a view, and leaves its parameters."""
    table = made(replace(VIEW, settings={"spark.query-columns": '["k", "v"]'}, namespace=("db",)))
    if change == "query":
        table.viewOriginalText = table.viewExpandedText = "SELECT 1 AS k, 'a' AS v"
    else:
        table.sd.cols = [ttypes.FieldSchema("other", "int", None)]
    found = read_view(table)
    assert (found.settings, found.namespace, found.dialects, found.options) == ({}, None, {}, {"a": "b"})
    assert found.query == table.viewExpandedText and [f.name for f in found.fields] == [c.name for c in table.sd.cols]


def test_views_of_hive() -> None:
    found = read_view(entry("SELECT `t`.`k` FROM `db`.`t`", {"k": "map<string,array<date>>"}, comment="c", x="y"))
    assert (found.query, found.comment, found.options) == ("SELECT `t`.`k` FROM `db`.`t`", "c", {"x": "y"})
    (column,) = found.fields
    assert (column.name, column.type) == (
        "k",
        parse_type({"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": "DATE"}}),
    )
    assert (found.namespace, found.catalog, found.settings) == (None, None, {})


def test_views_of_sparks_own_catalog() -> None:
    found = read_view(sparks())
    assert found.fields == (DataField(id=0, name="K", type=INT.with_nullable(False), description="key"),)
    assert (found.catalog, found.namespace, found.options) == (None, ("other",), {"mine": "x"})
    assert found.settings == {
        "spark.schema-mode": "COMPENSATION",
        "spark.sql-configs": '{"spark.sql.ansi.enabled": "false"}',
        "spark.query-columns": '["k"]',
    }
    elsewhere = sparks(**{"view.catalogAndNamespace.part.0": "lake"})
    assert read_view(elsewhere).catalog == "lake"
    parts = sparks()
    whole = parts.parameters.pop("spark.sql.sources.schema")
    parts.parameters |= {
        "spark.sql.sources.schema.numParts": "2",
        "spark.sql.sources.schema.part.0": whole[:20],
        "spark.sql.sources.schema.part.1": whole[20:],
    }
    assert read_view(parts) == found
    assert read_view(sparks(**{"view.schemaMode": "EVOLUTION"})).settings["spark.schema-mode"] == "COMPENSATION"


@pytest.mark.parametrize(
    ("spark", "paimon"),
    [
        ("long", "BIGINT"),
        ("byte", "TINYINT"),
        ("short", "SMALLINT"),
        ("boolean", "BOOLEAN"),
        ("binary", "BYTES"),
        ("decimal(10,2)", "DECIMAL(10, 2)"),
        ("timestamp", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("timestamp_ntz", "TIMESTAMP(6)"),
        ("varchar(3)", "VARCHAR(3)"),
        ("char(3)", "CHAR(3)"),
        (
            {"type": "array", "elementType": "date", "containsNull": False},
            {"type": "ARRAY", "element": "DATE NOT NULL"},
        ),
        (
            {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True},
            {"type": "MAP", "key": "STRING NOT NULL", "value": "DOUBLE"},
        ),
    ],
)
def test_types_of_spark(spark: Any, paimon: Any) -> None:
    (column,) = read_view(sparks(fields_json=[{"name": "c", "type": spark, "nullable": True}])).fields
    assert column.type == parse_type(paimon)


def test_rows_and_texts_of_a_length_of_spark() -> None:
    inner = {
        "name": "x",
        "type": "string",
        "nullable": True,
        "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(7)"},
    }
    row = {"type": "struct", "fields": [inner]}
    found = read_view(sparks(fields_json=[{"name": "r", "type": row, "nullable": True, "metadata": {}}])).fields[0]
    assert [f.type for f in found.type.fields] == [parse_type("VARCHAR(7)")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "table",
    [
        sparks(**{"view.query.out.numCols": "3"}),
        sparks(**{"view.query.out.numCols": "-1"}),
        sparks(**{"view.catalogAndNamespace.numParts": "99999999999"}),
        sparks(**{"spark.sql.sources.schema": "no JSON"}),
        sparks(**{"spark.sql.sources.schema": "[1]"}),
        sparks(**{"spark.sql.sources.schema": '{"fields": [{"name": "k"}]}'}),
        entry(None, {"k": "int"}),
    ],
)
def test_entries_that_are_of_another_form(table: Any) -> None:
    with pytest.raises(UnfamiliarFormError, match=r"the metastore's entry of view db\.v"):
        read_view(table)


def test_a_damaged_definition_of_ours() -> None:
    table = made(VIEW)
    table.parameters["paimon-sql.view"] = "{"
    with pytest.raises(CorruptFileError, match=r"the metastore's entry of view db\.v"):
        read_view(table)
    assert read_view(replaced_view(table, VIEW, zones=False)) == VIEW


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (entry("/* Presto View */", {"k": "int"}, presto_view="true"), "belongs to Trino or Presto"),
        (entry("SELECT 1", {"k": "uniontype<int>"}), r"View db\.v cannot be read"),
        (sparks(fields_json=[{"name": "k", "type": "void", "nullable": True}]), "'void', which Paimon does not have"),
        (
            sparks(fields_json=[{"name": "k", "type": {"type": "udt"}, "nullable": True}]),
            "'udt', which Paimon does not have",
        ),
    ],
)
def test_views_that_cannot_be_read_here(table: Any, why: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=why):
        read_view(table)


@pytest.mark.parametrize("key", ["k" * 257, "comment", "table_type", "EXTERNAL", "paimon-sql.view", "numFiles"])
def test_options_that_the_metastore_cannot_keep(key: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"of view db\.v|View db\.v cannot have the option"):
        check_view_kept(V, replace(VIEW, options={key: "x"}))
