"""Tables of Hive's own as format tables."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields

ttypes = pytest.importorskip("pymetastore.hive_metastore.ttypes", reason='needs pip install "paimon-sql[hive]"')

from paimon_sql.catalog.hive.entries import Place  # noqa: E402
from paimon_sql.catalog.hive.format_tables import (  # noqa: E402
    format_entry,
    format_of,
    format_schema,
    is_readable,
    paimon_type,
)
from paimon_sql.catalog.hive.settings import read_settings  # noqa: E402
from paimon_sql.catalog.hive.types import hive_type  # noqa: E402

SETTINGS = read_settings({"uri": "thrift://a"}, locks=False)
T = Identifier("db", "t")


def table(serde: str, source: str = "TextInputFormat", given: Any = None, **parameters: str) -> Any:
    sd = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("k", "int", "a key"), ttypes.FieldSchema("v", "map<string,array<date>>", None)],
        location="file:/wh/t",
        inputFormat=f"org.apache.hadoop.mapred.{source}",
        serdeInfo=ttypes.SerDeInfo(serializationLib=serde, parameters=given or {}),
    )
    keys = [ttypes.FieldSchema("p", "string", None)]
    return ttypes.Table(dbName="db", tableName="t", sd=sd, partitionKeys=keys, parameters=parameters)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "boolean",
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "float",
            "double",
            "date",
            "string",
            "binary",
            "timestamp",
        ),
        *("decimal(10,2)", "char(3)", "varchar(20)", "timestamp with local time zone", "array<array<int>>"),
        *("map<string,decimal(5,1)>", "struct<a:int,b c:struct<x:map<int,string>>>", "array<struct<a:varchar(3)>>"),
    ],
)
def test_types_there_and_back(name: str) -> None:
    assert hive_type(paimon_type(name), has_time_zones=True) == name


@pytest.mark.parametrize(
    "name",
    ["", "uniontype<int>", "array<int", "array<>", "map<int>", "struct<a>", "int>", "interval", "void", "array<" * 99],
)
def test_types_that_are_none(name: str) -> None:
    with pytest.raises(PaimonError):
        paimon_type(name)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (table("org.x.parquet.serde.ParquetHiveSerDe", "MapredParquetInputFormat"), "parquet"),
        (table("org.apache.hadoop.hive.ql.io.orc.OrcSerde", "OrcInputFormat"), "orc"),
        (table("org.apache.hive.hcatalog.data.JsonSerDe"), "json"),
        (table("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"), "csv"),
        (table("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", table_type="TEXT"), "text"),
        (table("org.apache.hadoop.hive.serde2.OpenCSVSerde"), None),
        (table("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", "SequenceFileInputFormat"), None),
        (table("org.apache.hadoop.hive.ql.io.orc.OrcSerde", "OrcInputFormat", transactional="true"), None),
        (table("org.x.ParquetHiveSerDe", table_type="ICEBERG"), None),
        (table("org.x.ParquetHiveSerDe", storage_handler="org.x.Handler"), None),
        (ttypes.Table(), None),
    ],
)
def test_formats(made: Any, expected: str | None) -> None:
    assert format_of(made) == expected
    assert is_readable(made) is (expected in ("parquet", "orc", "json"))  # no text has maps in it


def test_a_table_that_hive_made() -> None:
    made = table("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", given={"field.delim": "|"}, comment="c", own="x")
    made.sd.cols.pop()
    schema, location = format_schema(made, "csv")
    assert ([f.name for f in schema.fields], schema.partition_keys, location) == (["k", "p"], ("p",), "/wh/t")
    assert (schema.comment, schema.fields[0].description) == ("c", "a key")
    assert schema.options.items() >= {"csv.field-delimiter": "|", "csv.null-literal": "\\N", "own": "x"}.items()
    made.sd.serdeInfo.parameters = {}
    assert format_schema(made, "csv")[0].options["csv.field-delimiter"] == "\x01"


def test_a_table_that_we_make() -> None:
    given = {"type": "format-table", "file.format": "csv", "csv.field-delimiter": ";"}
    schema = new_table_schema(fields(k=INT, v=STRING), ("v",), given, "about")
    made = format_entry(T, schema, Place("/wh/t", is_external=True), SETTINGS, zones=False)
    assert made.parameters == {**given, "table_type": "CSV", "EXTERNAL": "TRUE", "comment": "about"}
    assert (made.sd.serdeInfo.parameters, made.sd.location) == ({"field.delim": ";"}, "/wh/t")
    assert ([c.name for c in made.sd.cols], [c.name for c in made.partitionKeys]) == (["k"], ["v"])
    again, _ = format_schema(made, str(format_of(made)))
    assert (again.fields, again.partition_keys) == (schema.fields, schema.partition_keys)
    assert "csv.null-literal" not in again.options
