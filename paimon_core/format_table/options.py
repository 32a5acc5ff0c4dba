"""The options of format tables: their type, the spellings of other engines, their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.formats.registry import FORMATS
from paimon_core.formats.text import csv as csv_format
from paimon_core.formats.text import json as json_format
from paimon_core.formats.text import lines as text_format
from paimon_core.options import (
    FILE_COMPRESSION,
    FILE_FORMAT,
    FORMAT_TABLE_ONLY_VALUES,
    PRIMARY_KEY,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema

SUPPORTED = ("csv", "json", "orc", "parquet", "text")
# The first option that is set counts.
_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        FILE_COMPRESSION.key: ("format-table.file.compression", "compression"),
        csv_format.FIELD_DELIMITER.key: ("field-delimiter", "seq", "delimiter", "sep"),
        csv_format.LINE_DELIMITER.key: ("lineSep",),
        csv_format.QUOTE.key: ("quote",),
        csv_format.ESCAPE.key: ("escape",),
        csv_format.HEADER.key: ("header",),
        csv_format.NULL.key: ("nullvalue", "nullValue"),
        csv_format.MODE.key: ("mode",),
        text_format.DELIMITER.key: ("lineSep",),
        json_format.DELIMITER.key: ("lineSep",),
    }
)
_CODECS: Mapping[str, str] = MappingProxyType({"parquet": "snappy", "orc": "zstd"})


def format_options(given: Mapping[str, str]) -> TableOptions:
    """Return the options of a format table in Paimon's spelling, with the defaults of format tables."""
    found = {csv_format.MODE.key: "permissive", FILE_COMPRESSION.key: _CODECS.get(_format(given), "none")} | dict(given)
    for key, others in _ALIASES.items():
        spelled = next((given[o] for o in others if o in given), None)
        preferred = key == FILE_COMPRESSION.key and others[0] in given
        if spelled is not None and (key not in given or preferred):
            found[key] = spelled
    return TableOptions(found)


def check_format_schema(schema: TableSchema) -> None:
    """Raise `UnsupportedFeatureError`, `InvalidOptionError` or `InvalidSchemaError` for an unsupported schema."""
    name = _format(schema.options)
    if name not in SUPPORTED:
        raise UnsupportedFeatureError(
            f"A format table cannot have '{FILE_FORMAT.key}' = '{name}': use one of {', '.join(SUPPORTED)}."
        )
    if schema.primary_keys or PRIMARY_KEY.key in schema.options:
        raise InvalidSchemaError(
            "A format table cannot have a primary key, because it is a folder of files. Leave the key out."
        )
    if schema.options.get("metastore.partitioned-table", "false").strip().lower() == "true":
        raise UnsupportedFeatureError("'metastore.partitioned-table' needs a REST catalog: remove the option.")
    options = format_options(schema.options)
    _ = options[FORMAT_TABLE_ONLY_VALUES]
    stored = [f for f in schema.fields if f.name not in schema.partition_keys]
    FORMATS[name].check(stored, options)


def _format(options: Mapping[str, str]) -> str:
    return options.get(FILE_FORMAT.key, FILE_FORMAT.default).strip().lower()
