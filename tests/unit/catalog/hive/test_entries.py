"""What a table is in the metastore."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING, parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields

ttypes = pytest.importorskip("pymetastore.hive_metastore.ttypes", reason='needs pip install "paimon-sql[hive]"')

from paimon_sql.catalog.hive import entries  # noqa: E402
from paimon_sql.catalog.hive.databases import altered_database, database_properties, new_database  # noqa: E402
from paimon_sql.catalog.hive.settings import read_settings  # noqa: E402
from paimon_sql.catalog.hive.types import hive_type  # noqa: E402

T = Identifier("db", "t")
SETTINGS = read_settings({"uri": "thrift://a"}, locks=False)
PLACE = entries.Place("/wh/db.db/t", is_external=False)


def schema(**options: str) -> TableSchema:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    return new_table_schema(fields(k=INT, v=STRING), options={"primary-key": "k", **given}, comment="about")


def entry(made: TableSchema, settings: Any = SETTINGS, place: entries.Place = PLACE) -> Any:
    return entries.new_entry(T, made, place, settings, zones=False)


@pytest.mark.parametrize(
    ("paimon", "hive"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT NOT NULL", "tinyint"),
        ("BIGINT", "bigint"),
        ("DECIMAL(38, 18)", "decimal(38,18)"),
        ("CHAR(255)", "char(255)"),
        ("CHAR(256)", "string"),
        ("VARCHAR(65535)", "varchar(65535)"),
        ("VARCHAR(65536)", "string"),
        ("STRING", "string"),
        ("BINARY(3)", "binary"),
        ("BYTES", "binary"),
        ("BLOB", "binary"),
        ("DATE", "date"),
        ("TIME(3)", "string"),
        ("TIMESTAMP(9)", "timestamp"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "timestamp with local time zone"),
        ("VARIANT", "struct<value:binary,metadata:binary>"),
        ({"type": "ARRAY", "element": "INT"}, "array<int>"),
        ({"type": "MULTISET", "element": "STRING"}, "map<string,int>"),
        ({"type": "MAP", "key": "STRING", "value": {"type": "ARRAY", "element": "DATE"}}, "map<string,array<date>>"),
        (
            {
                "type": "ROW",
                "fields": [{"id": 0, "name": "a", "type": "FLOAT"}, {"id": 1, "name": "b", "type": "DOUBLE"}],
            },
            "struct<a:float,b:double>",
        ),
    ],
)
def test_types(paimon: Any, hive: str) -> None:
    assert hive_type(parse_type(paimon), has_time_zones=True) == hive
    assert "zone" not in hive_type(parse_type(paimon), has_time_zones=False)


def test_a_table_as_java_stores_it() -> None:
    made = entry(schema(bucket="2"))
    assert made.parameters == {
        "table_type": "PAIMON",
        "storage_handler": "org.apache.paimon.hive.PaimonStorageHandler",
        "primary-key": "k",
        "bucket-key": "k",
        "bucket": "2",
        "comment": "about",
    }
    assert (made.tableType, made.retention, made.partitionKeys) == ("MANAGED_TABLE", 2**31 - 1, [])
    assert made.sd.inputFormat == "org.apache.paimon.hive.mapred.PaimonInputFormat"
    assert made.sd.outputFormat == "org.apache.paimon.hive.mapred.PaimonOutputFormat"
    assert made.sd.serdeInfo.serializationLib == "org.apache.paimon.hive.PaimonSerDe"
    assert [(c.name, c.type) for c in made.sd.cols] == [("k", "int"), ("v", "string")]
    assert entries.is_paimon(made) and entries.read_entry(made).location == "/wh/db.db/t"


def test_settings_of_the_catalog() -> None:
    settings = replace(SETTINGS, sync_properties=False, location_in_properties=True)
    made = entry(schema(hive__x="1", bucket="2"), settings)
    assert made.sd.location is None and made.parameters["paimon_location"] == "/wh/db.db/t"
    assert "bucket" not in made.parameters and made.parameters["hive.x"] == "1"
    assert entries.read_entry(made).location == "/wh/db.db/t"


def test_external_tables() -> None:
    at = entries.place_of(schema(path="file:/elsewhere/t"), "/wh/db.db/t", SETTINGS)
    assert at == entries.Place("/elsewhere/t", is_external=True, is_own=True)
    made = entry(schema(path="file:/elsewhere/t"), place=at)
    assert (made.tableType, made.parameters["EXTERNAL"]) == ("EXTERNAL_TABLE", "TRUE")
    assert entries.place_of(schema(external="true"), "/d", SETTINGS).is_external
    assert entries.place_of(schema(), "/d", replace(SETTINGS, external=True)).is_external
    assert not entries.place_of(schema(external="perhaps"), "/d", SETTINGS).is_external


def test_tables_that_hive_4_calls_external() -> None:
    made = entry(schema())
    made.tableType = "EXTERNAL_TABLE"
    made.parameters |= {"EXTERNAL": "TRUE", "TRANSLATED_TO_EXTERNAL": "TRUE", "external.table.purge": "TRUE"}
    assert not entries.read_entry(made).is_external
    del made.parameters["TRANSLATED_TO_EXTERNAL"]
    assert entries.read_entry(made).is_external


def test_long_comments_of_columns() -> None:
    made = schema()
    field = replace(made.fields[0], description="a\nb\r" + "x" * 300)
    column = entry(replace(made, fields=(field, *made.fields[1:]))).sd.cols[0]
    assert column.comment == "a b " + "x" * 248 + "..." and len(column.comment) == 255


def test_what_changes_with_a_schema_and_what_stays() -> None:
    before = schema(bucket="2", write_only="true")
    table = entry(before)
    table.parameters["transient_lastDdlTime"] = "1"
    found = entries.read_entry(table)
    gone = frozenset(("write-only", "table_type", "EXTERNAL"))
    changed = entries.described(found, replace(schema(bucket="2"), comment=None), gone, SETTINGS, zones=False)
    assert changed.parameters.keys() >= {"table_type", "transient_lastDdlTime", "bucket"}
    assert not changed.parameters.keys() & {"write-only", "comment"}
    assert table.parameters["comment"] == "about"


def test_what_the_metastore_cannot_keep() -> None:
    for options, said in (
        ({"k" * 257: "v"}, "longer than the 256"),
        ({"paimon_location": "/x"}, "uses this name itself"),
    ):
        made = new_table_schema(fields(k=INT), options=options)
        with pytest.raises(InvalidOptionError, match=said):
            entries.check_kept(T, made, SETTINGS)
    parted = new_table_schema(
        fields(k=INT, p=STRING), partition_keys=("p",), options={"metastore.partitioned-table": "true"}
    )
    with pytest.raises(UnsupportedFeatureError, match="cannot change them to p"):
        entries.check_partitions_kept(T, parted, entry(schema()))
    entries.check_partitions_kept(T, parted, entry(parted))


@pytest.mark.parametrize("location", [None, "", "   ", "s3://", "file://host/x", "a:/b"])
def test_places_that_are_none(location: str | None) -> None:
    made = entry(schema())
    made.sd.location = location
    with pytest.raises(StorageError, match=r"Table db\.t has an invalid location"):
        entries.read_entry(made)


def test_tables_of_others() -> None:
    assert not entries.is_paimon(ttypes.Table(sd=None))
    assert entries.kind_of(ttypes.Table(tableType="VIRTUAL_VIEW")) == "a view"
    iceberg = ttypes.Table(parameters={"table_type": "ICEBERG"}, sd=ttypes.StorageDescriptor(inputFormat="x"))
    assert entries.kind_of(iceberg) == "a table of ICEBERG" and not entries.is_paimon(iceberg)
    assert entries.kind_of(ttypes.Table()) == "a table of another kind"


def test_databases() -> None:
    given = {"comment": "c", "owner": "me", "location": "file:/x/", "a": "b"}
    made, location = new_database("db", given, "/wh/db.db", SETTINGS)
    assert (made.description, made.ownerName, made.locationUri, made.parameters) == ("c", "me", "/x", {"a": "b"})
    assert location == "/x" and database_properties(made) == {**given, "location": "/x"}
    hidden, _ = new_database("db", {}, "/wh/db.db", replace(SETTINGS, location_in_properties=True))
    assert hidden.locationUri is None and database_properties(hidden) == {"location": "/wh/db.db"}
    changed = altered_database(made, {"a": "c", "comment": "new"}, ["owner", "unknown", "location"])
    changed.description = "c"  # as Hive 2 leaves it
    assert database_properties(changed) == {"a": "c", "comment": "new", "owner": "me", "location": "/x"}
    assert "comment" not in database_properties(altered_database(changed, {}, ["comment"]))
    with pytest.raises(InvalidOptionError, match="cannot be given another location"):
        altered_database(made, {"location": "/y"}, [])
