"""Hive's own tables in CSV, JSON, ORC, Parquet and text, which are format tables here: only the metastore defines them,
and they have no snapshots. Pure functions of Thrift's values. Source: `HiveTableUtils` of Paimon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.errors import InvalidSchemaError, PaimonError
from paimon_core.format_table.kind import FORMAT_TABLE, TYPE
from paimon_core.format_table.options import check_format_schema, format_options
from paimon_core.formats.text import csv
from paimon_core.options import FILE_FORMAT, PARTITION_DEFAULT_NAME
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, RowType, parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.hive.entries import PATH, TABLE_TYPE, Place, column_of, empty_entry, location_of
from paimon_sql.catalog.hive.settings import HiveSettings

_TEXT = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
# input format, output format and serde
_CLASSES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "csv": (*_TEXT, _LAZY),
        "text": (*_TEXT, _LAZY),
        "json": (*_TEXT, "org.apache.hive.hcatalog.data.JsonSerDe"),
        "orc": (
            "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
            "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
            "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        ),
        "parquet": (
            "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
            "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
            "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        ),
    }
)
_OURS = tuple(name.upper() for name in _CLASSES)
_DELIMITER, _HIVE_DELIMITER = "field.delim", "\x01"
_ESCAPE = "escape.delim"
_NO_QUOTE, _NO_ESCAPE = "\x02", "\x03"  # Hive has no quotes: characters that no value contains
_NULL, _HIVE_NULL = "serialization.null.format", "\\N"
_WORD = re.compile(r"\s*([^<>,:()]+(?:\([0-9, ]+\))?)\s*")
_RENAMED = {"integer": "INT", "timestamp with local time zone": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "binary": "BYTES"}
_MOST_NESTED = 64
_HIVE_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def format_of(table: Any) -> str | None:
    """Return the format of a table's files, or None if it is not supported."""
    sd = table.sd
    if table.tableType == "VIRTUAL_VIEW" or sd is None or sd.serdeInfo is None:
        return None
    serde, source = (sd.serdeInfo.serializationLib or "").lower(), sd.inputFormat or ""
    parameters = table.parameters or {}
    if parameters.get("storage_handler") or parameters.get(TABLE_TYPE, "").upper() not in ("", *_OURS):
        return None  # another engine's table, in files of such a format
    if parameters.get("transactional", "").lower() == "true" or parameters.get("skip.header.line.count", "0") != "0":
        return None  # the folders also contain files without rows
    if "parquet" in serde or "orc" in serde:
        return "parquet" if "parquet" in serde else "orc"
    if "Text" not in source:
        return None
    if "json" in serde:
        return "json"
    if "lazysimple" not in serde:
        return None  # OpenCSVSerde and other serdes have other quotes
    return "text" if parameters.get(TABLE_TYPE) == "TEXT" else "csv"


def format_schema(table: Any, file_format: str) -> tuple[TableSchema, str]:
    """Return the schema and the location of a Hive table.

    Raises `InvalidSchemaError`, `StorageError` and other errors if it cannot be a format table."""
    name = f"{table.dbName}.{table.tableName}"
    parameters = dict(table.parameters or {})
    location = location_of(parameters, table.sd.location, f"Table {name}")
    options = {k: v for k, v in parameters.items() if k not in ("comment", TABLE_TYPE)}
    options |= {TYPE: FORMAT_TABLE, FILE_FORMAT.key: file_format, PATH: location}
    if file_format == "csv":
        given = table.sd.serdeInfo.parameters or {}
        options[csv.FIELD_DELIMITER.key] = given.get(_DELIMITER) or given.get("serialization.format") or _HIVE_DELIMITER
        if parameters.get(TYPE) != FORMAT_TABLE:  # Hive made it
            options.setdefault(csv.NULL.key, given.get(_NULL, _HIVE_NULL))
            options.setdefault(csv.QUOTE.key, _NO_QUOTE)
            options.setdefault(csv.ESCAPE.key, given.get(_ESCAPE) or _NO_ESCAPE)
    if parameters.get(TYPE) != FORMAT_TABLE:
        options.setdefault(PARTITION_DEFAULT_NAME.key, _HIVE_PARTITION)
    partitions = [c.name for c in table.partitionKeys or ()]
    columns = [
        DataField(id=n, name=c.name, type=paimon_type(c.type), description=c.comment or None)
        for n, c in enumerate([*table.sd.cols, *(table.partitionKeys or ())])
    ]
    schema = new_table_schema(columns, partitions, options, parameters.get("comment"))
    check_format_schema(schema)
    return schema, location


def is_readable(table: Any) -> bool:
    """Return whether a Hive table can be read as a format table."""
    found = format_of(table)
    try:
        return found is not None and bool(format_schema(table, found))
    except PaimonError:
        return False


def format_entry(
    identifier: Identifier, schema: TableSchema, place: Place, settings: HiveSettings, *, zones: bool
) -> Any:
    """Return the metastore's table for a new format table."""
    name = schema.options.get(FILE_FORMAT.key, FILE_FORMAT.default).strip().lower()
    table = empty_entry(identifier, place, settings)
    table.sd.inputFormat, table.sd.outputFormat, serde = _CLASSES[name]
    table.sd.serdeInfo = ttypes.SerDeInfo(serializationLib=serde, parameters={})
    if name == "csv":
        table.sd.serdeInfo.parameters[_DELIMITER] = format_options(schema.options)[csv.FIELD_DELIMITER]
    own = {TABLE_TYPE: name.upper(), FILE_FORMAT.key: name, TYPE: FORMAT_TABLE}
    table.parameters = {**(table.parameters or {}), **schema.options, **own}
    if schema.comment is not None:
        table.parameters["comment"] = schema.comment
    split = set(schema.partition_keys)
    table.sd.cols = [column_of(f, zones=zones) for f in schema.fields if f.name not in split]
    table.partitionKeys = [column_of(f, zones=zones, is_key=True) for f in schema.partition_fields]
    table.sd.location = place.location
    return table


def paimon_type(text: str) -> DataType:
    """Return the type with this name in Hive. Raises `InvalidSchemaError`."""
    tokens = _Tokens(text)
    found = tokens.type(0)
    tokens.end()
    return found


class _Tokens:
    """A reader of a type's name, such as `map<string,struct<a:int>>`."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def type(self, depth: int) -> DataType:
        word = self._word().lower()
        if depth > _MOST_NESTED:
            raise self._refused()
        if word == "array":
            (element,) = self._parts(depth, 1)
            return CollectionType(Kind.ARRAY, element=element)
        if word == "map":
            key, value = self._parts(depth, 2)
            return MapType(key=key, value=value)
        if word == "struct":
            return RowType(fields=tuple(self._fields(depth)))
        return parse_type(_RENAMED.get(word, word.upper()))

    def _parts(self, depth: int, count: int) -> list[DataType]:
        found = []
        for n in range(count):
            self._skip(",<"[n == 0])
            found.append(self.type(depth + 1))
        self._skip(">")
        return found

    def _fields(self, depth: int) -> Iterator[DataField]:
        self._skip("<")
        while True:
            name = self._word()
            self._skip(":")
            yield DataField(id=0, name=name, type=self.type(depth + 1))
            if not self._text.startswith(",", self._at):
                break
            self._skip(",")
        self._skip(">")

    def _word(self) -> str:
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._refused()
        self._at = match.end()
        return match[1].strip()

    def _skip(self, mark: str) -> None:
        if not self._text.startswith(mark, self._at):
            raise self._refused()
        self._at += 1

    def end(self) -> None:
        if self._at != len(self._text):
            raise self._refused()

    def _refused(self) -> InvalidSchemaError:
        return InvalidSchemaError(f"{self._text[:100]!r} is not a Hive type that a table can have here.")
