"""Name, write and read the entries of tables in the metastore, in the fields that Paimon's Java uses. Names in a
metastore have no case.

Engines recognise a table of Paimon by its input and output format. The columns and options in an entry are copies for
readers of the metastore; the schema files decide. Pure functions of Thrift's values. Source: `HiveCatalog`,
`HiveTableUtils` of Paimon.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError, InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.io.load import check_location, normalize
from paimon_core.options.option import boolean
from paimon_core.secrets import without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_sql.catalog import schema_files
from paimon_sql.catalog.hive.settings import HiveSettings
from paimon_sql.catalog.hive.types import hive_type

_INPUT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE = "org.apache.paimon.hive.PaimonSerDe"
_HANDLER = "org.apache.paimon.hive.PaimonStorageHandler"
TABLE_TYPE, TABLE_TYPE_VALUE = "table_type", "PAIMON"
_STORAGE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/]*)?")
_STORAGE_HANDLER = "storage_handler"
LOCATION_KEY = "paimon_location"  # the location, with `location-in-properties`
MOVED_FROM = "paimon-sql.moved-from"  # the old folder during a rename, see `syncing`
_EXTERNAL = "EXTERNAL"
PATH = "path"
_TRANSLATED = "TRANSLATED_TO_EXTERNAL"
COMMENT = "comment"
_MANAGED_TABLE, _EXTERNAL_TABLE, _VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"
_KEPT_ALWAYS = ("partition.expiration-time", "data-file.path-directory")  # without `sync-all-properties`
_FOREVER = 2**31 - 1
_MOST_COMMENT = 255
LONGEST_KEY = 256
PARTITIONED = "metastore.partitioned-table"
TAG_PARTITION = "metastore.tag-to-partition"
_NAME = re.compile(r"[A-Za-z0-9_]+")  # every version of Hive accepts these as new names
_LONGEST_NAME = 128  # characters of a database, or of a locked table
TAKEN_KEYS = frozenset((TABLE_TYPE, _STORAGE_HANDLER, LOCATION_KEY, MOVED_FROM, _EXTERNAL))


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a table, and whether its files remain after a DROP.

    `is_own`: the table's definition names the folder.
    """

    location: str
    is_external: bool
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """The metastore's entry of a table."""

    identifier: Identifier
    location: str
    is_external: bool
    moved_from: str | None
    table: Any  # Thrift's, to be sent back with changes


def named(identifier: Identifier) -> Identifier:
    """Return the identifier with the metastore's spelling of its names. Raises `InvalidNameError`."""
    database, table = folded("database", identifier.database), folded("table", identifier.table)
    return replace(identifier, database=database, table=table)


def folded(kind: str, name: str) -> str:
    """Return the metastore's spelling of a name. Raises `InvalidNameError`."""
    return check_name(kind, name).lower()


def new_name(kind: str, name: str) -> str:
    """Return the spelling of a name that the metastore accepts for a new object. Raises `InvalidNameError`."""
    if _NAME.fullmatch(check_name(kind, name)) is None or len(name) > _LONGEST_NAME:
        raise InvalidNameError(
            f"{name!r} is not a valid {kind} name: names in a Hive metastore have at most {_LONGEST_NAME} ASCII "
            "letters, digits and underscores."
        )
    return name.lower()


def is_paimon(table: Any) -> bool:
    """Return whether a table of the metastore is a Paimon table."""
    sd = table.sd
    return sd is not None and (sd.inputFormat, sd.outputFormat) == (_INPUT, _OUTPUT)


def is_external(table: Any) -> bool:
    """Return whether the files of a table remain after a DROP.

    Hive 4 converts managed tables to external tables, unless they are Hive's transactional tables, and marks the
    converted tables."""
    translated = (table.parameters or {}).get(_TRANSLATED, "").upper() == "TRUE"
    return bool(table.tableType == _EXTERNAL_TABLE) and not translated


def kind_of(table: Any) -> str:
    """Return the kind of a table that is not a Paimon table, for errors."""
    if table.tableType == _VIEW:
        return "a view"
    declared = (table.parameters or {}).get(TABLE_TYPE) or getattr(table.sd, "inputFormat", None) or "another kind"
    return f"a table of {str(declared)[:100]}"


def read_entry(table: Any) -> Entry:
    """Return the entry of a table. Raises `StorageError` for an entry with a missing or invalid location."""
    parameters = table.parameters or {}
    identifier = Identifier(table.dbName or "", table.tableName or "")
    return Entry(
        identifier,
        location_of(parameters, table.sd.location, f"Table {identifier}"),
        is_external(table),
        parameters.get(MOVED_FROM),
        table,
    )


def location_of(parameters: Mapping[str, str], location: str | None, what: str) -> str:
    """Return the location of a table or a database, from its parameters or else `location`. Raises `StorageError`."""
    given = parameters.get(LOCATION_KEY) or location
    try:
        return normalize(given or "")
    except InvalidOptionError as error:
        raise StorageError(
            f"{what} has an invalid location in the metastore, {without_secrets(given or '')!r}: {error}"
        ) from error


def storage_of(path: str) -> str:
    """Return the scheme and the host of a path, or "" for a path on a local disk."""
    match = _STORAGE.match(path)
    return (match[1] or "") if match else ""


def new_entry(identifier: Identifier, schema: TableSchema, place: Place, settings: HiveSettings, *, zones: bool) -> Any:
    """Return the metastore's table for a new table of a schema."""
    table = empty_entry(identifier, place, settings)
    table.sd.inputFormat, table.sd.outputFormat = _INPUT, _OUTPUT
    table.sd.serdeInfo = ttypes.SerDeInfo(serializationLib=_SERDE, parameters={})
    own = {TABLE_TYPE: TABLE_TYPE_VALUE, _STORAGE_HANDLER: _HANDLER}
    table.parameters = {**table.parameters, **own, **properties_of(schema, settings)}
    _describe(table, schema, zones=zones)
    _place(table, place.location, settings)
    return table


def empty_entry(identifier: Identifier, place: Place, settings: HiveSettings) -> Any:
    """Return a new table of the metastore, without columns, formats and location."""
    now = int(time.time())
    return ttypes.Table(
        tableName=identifier.table,
        dbName=identifier.database,
        owner=settings.user,
        createTime=now,
        lastAccessTime=now,
        retention=_FOREVER,
        partitionKeys=[],
        parameters={_EXTERNAL: "TRUE"} if place.is_external else {},
        tableType=_EXTERNAL_TABLE if place.is_external else _MANAGED_TABLE,
        sd=ttypes.StorageDescriptor(cols=[], parameters={}, bucketCols=[], sortCols=[], numBuckets=0),
    )


def described(
    entry: Entry, schema: TableSchema, removed: frozenset[str], settings: HiveSettings, *, zones: bool
) -> Any:
    """Return the table of an entry with a new schema, without the properties `removed`.

    Properties of other engines stay.
    """
    table = copy.deepcopy(entry.table)
    gone = removed - TAKEN_KEYS
    kept = {k: v for k, v in (table.parameters or {}).items() if k not in gone}
    table.parameters = kept | properties_of(schema, settings)
    if schema.comment is None:
        table.parameters.pop(COMMENT, None)
    _describe(table, schema, zones=zones)
    return table


def renamed(entry: Entry, target: Identifier, location: str, moved_from: str | None, settings: HiveSettings) -> Any:
    """Return the table of an entry with another name and location. The folder then moves there from `moved_from`."""
    table = copy.deepcopy(entry.table)
    table.dbName, table.tableName = target.database, target.table
    table.parameters = {k: v for k, v in (table.parameters or {}).items() if k != MOVED_FROM}
    if moved_from is not None:
        table.parameters[MOVED_FROM] = moved_from
    if location != entry.location:
        _place(table, location, settings)
    return table


def place_of(schema: TableSchema, default: str, settings: HiveSettings) -> Place:
    """Return the place of a new table. The option `path` makes the table external. Raises `InvalidOptionError`."""
    own = schema.options.get(PATH)
    if own is not None:
        check_location(own)
        return Place(normalize(own), is_external=True, is_own=True)
    declared = schema.options.get("external", schema.options.get(_EXTERNAL, "false"))
    return Place(default, is_external=settings.external or _flag(declared))


def is_partitioned(schema: TableSchema) -> bool:
    """Return whether the metastore lists the partitions of a table."""
    return bool(schema.partition_keys) and _flag(schema.options.get(PARTITIONED, "false"))


def tag_column(schema: TableSchema) -> str | None:
    """Return the column with the name of a tag, if each tag is a partition in the metastore."""
    return schema.options.get(TAG_PARTITION) or None


def check_kept(identifier: Identifier, schema: TableSchema, settings: HiveSettings) -> None:
    """Raise `InvalidOptionError` for a definition that the metastore cannot store."""
    for key in properties_of(schema, settings):
        if len(key) > LONGEST_KEY:
            raise InvalidOptionError(
                f"The key {key[:40]!r}… of table {identifier} is longer than the {LONGEST_KEY} characters that the "
                "metastore keeps: set 'sync-all-properties' = 'false' in the catalog."
            )
        if key in TAKEN_KEYS - {_EXTERNAL}:
            raise InvalidOptionError(
                f"Table {identifier} cannot have the option {key!r}: the metastore uses this name itself."
            )
    if tag_column(schema) and schema.partition_keys:
        raise InvalidOptionError(
            f"Table {identifier} is partitioned and cannot have '{TAG_PARTITION}', which makes each tag a partition. "
            "Leave one of the two out."
        )


def check_partitions_kept(identifier: Identifier, schema: TableSchema, table: Any) -> None:
    """Raise `UnsupportedFeatureError` if a change of the schema would change the partition columns of the metastore's
    table.
    """
    tag = tag_column(schema)
    wanted = schema.partition_keys if is_partitioned(schema) else ((tag,) if tag else ())
    known = tuple(column.name for column in table.partitionKeys or ())
    if known != tuple(wanted):
        raise UnsupportedFeatureError(
            f"Table {identifier} has the partition columns {', '.join(known) or 'none'} in the metastore, which cannot "
            f"change them to {', '.join(wanted) or 'none'}: create another table with the '{PARTITIONED}' or "
            f"'{TAG_PARTITION}' that you need."
        )


def properties_of(schema: TableSchema, settings: HiveSettings) -> dict[str, str]:
    """Return the copy of a table's properties for its entry."""
    options = schema.options
    if not settings.sync_properties:
        return {k: v for k, v in options.items() if k.startswith("hive.") or k in _KEPT_ALWAYS} | _comment(schema)
    return schema_files.properties_of(schema) | _comment(schema)


def _comment(schema: TableSchema) -> dict[str, str]:
    return {} if schema.comment is None else {COMMENT: schema.comment}


def column_of(field: DataField, *, zones: bool, is_key: bool = False) -> Any:
    """Return a column or partition key for the metastore, which stores longer comments for keys."""
    comment = field.description if is_key else _short(field.description)
    return ttypes.FieldSchema(field.name, hive_type(field.type, has_time_zones=zones), comment)


def _describe(table: Any, schema: TableSchema, *, zones: bool) -> None:
    """Set the columns and partition columns of a table."""
    split = set(schema.partition_keys) if is_partitioned(schema) else set()
    table.sd.cols = [column_of(f, zones=zones) for f in schema.fields if f.name not in split]
    tag = tag_column(schema)
    if split:
        table.partitionKeys = [column_of(f, zones=zones, is_key=True) for f in schema.partition_fields]
    else:
        table.partitionKeys = [ttypes.FieldSchema(tag, "string", None)] if tag else []


def _place(table: Any, location: str, settings: HiveSettings) -> None:
    if settings.location_in_properties:
        table.parameters[LOCATION_KEY] = location
    else:
        table.sd.location = location


def _short(comment: str | None) -> str | None:
    """Return a column's comment, cut to the length that the metastore's database stores."""
    if comment is None:
        return None
    line = comment.replace("\n", " ").replace("\r", " ")
    return line if len(line) <= _MOST_COMMENT else f"{line[: _MOST_COMMENT - 3]}..."


def _flag(text: str) -> bool:
    try:
        return boolean(text)
    except ValueError:
        return False
