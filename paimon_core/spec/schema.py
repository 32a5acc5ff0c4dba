"""`schema/schema-N`: the JSON of one version of a table's schema, one object in UTF-8.

    {"version": 3, "id": N, "fields": [{"id": field id, "name", "type" (`spec.types`), "description", "defaultValue"}],
     "highestFieldId", "partitionKeys": [name], "primaryKeys": [name], "options": {text: text}, "comment",
     "timeMillis": epoch ms}

Paimon 0.4 to 0.7 write no version or version 1, in which the default of `bucket` is 1. Paimon 0.8 writes version 2. Up
to version 2, the default of `file.format` is ORC, and a table with buckets needs no `bucket-key`. A newer version than
3 is refused. Source: specification, "Schema".
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, replace
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError, UnfamiliarFormError, UnsupportedFeatureError, UnsupportedVersionError
from paimon_core.lazy import cached_property
from paimon_core.secrets import redacted
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member, node_integer, node_text
from paimon_core.spec.types import DataField, DataType, RowType, nested_fields, parse_field

CURRENT_VERSION = 3
_ONE_BUCKET_VERSION, _ORC_VERSION, _KEYLESS_BUCKETS_VERSION = 1, 2, 2  # the last versions with these defaults
# Ids of the columns that Paimon adds; field ids of users stay below KEY_FIELD_ID_START.
KEY_FIELD_ID_START = 2**30 - 1
SYSTEM_FIELD_ID_START = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """One version of a table's schema: columns with their ids, keys, options.

    `time_millis` is in epoch milliseconds, or 0 if a server writes the version and this client does not know the time.
    """

    id: int = 0
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    time_millis: int = 0
    version: int = CURRENT_VERSION

    def __repr__(self) -> str:
        """Return a text without secrets: other engines may have stored some in options."""
        shown = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        values = (f"{name}={redacted(value) if name == 'options' else value!r}" for name, value in shown)
        return f"{type(self).__name__}({', '.join(values)})"

    @cached_property
    def field_by_name(self) -> dict[str, DataField]:
        return {f.name: f for f in self.fields}

    @cached_property
    def partition_fields(self) -> tuple[DataField, ...]:
        return self.select(self.partition_keys)

    @cached_property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without partition columns, which is the sort order of files.

        If no column remains, it is the whole key.
        """
        rest = tuple(k for k in self.primary_keys if k not in self.partition_keys)
        return rest or self.primary_keys

    @cached_property
    def cross_partition_update(self) -> bool:
        """Whether a key can be in any partition, so that its row moves if its partition columns change.

        Only dynamic buckets track the partition of a key. In other tables, a key has a row in each partition to which
        it was written.
        """
        moves = bool(self.primary_keys) and not set(self.partition_keys) <= set(self.primary_keys)
        return moves and self.options.get("bucket", "-1").strip() == "-1"

    @cached_property
    def key_fields(self) -> tuple[DataField, ...]:
        return self.select(self.trimmed_primary_keys)

    @cached_property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns that decide the bucket: `bucket-key`, else the trimmed primary key, else none."""
        named = self.options.get("bucket-key")
        if named and named.strip():
            return tuple(k.strip() for k in named.split(","))
        return self.trimmed_primary_keys

    @property
    def allows_keyless_buckets(self) -> bool:
        """Whether buckets need no `bucket-key`, as in tables that Paimon 0.4 to 0.8 created."""
        return self.version <= _KEYLESS_BUCKETS_VERSION

    @property
    def numbers_rows_by_field(self) -> bool:
        """Whether sequence numbers may be values of `sequence.field`, as in tables that Paimon 0.4 to 0.7 created."""
        return self.version <= _ONE_BUCKET_VERSION and "sequence.field" in self.options

    @property
    def counts_equal_rows(self) -> bool:
        """Whether files may have the whole row as the key, and the count of equal rows as the only value.

        Paimon 0.4 and 0.5 wrote tables without a primary key in this way. The statistics of values are then the
        statistics of this count."""
        return not self.primary_keys and self.options.get("write-mode", "").strip().lower() == "change-log"

    @property
    def counts_new_rows(self) -> bool:
        """Whether the version of Paimon that created the table writes files with counts (`write-mode` = change-log).

        Later versions ignore that option.
        """
        return self.counts_equal_rows and self.version <= _ONE_BUCKET_VERSION

    @property
    def has_strict_readers(self) -> bool:
        """Whether the version that created the table, Paimon 0.4 to 0.7, refuses snapshots with unknown members."""
        return self.version <= _ONE_BUCKET_VERSION

    @property
    def row_type(self) -> RowType:
        return RowType(nullable=False, fields=self.fields)

    def is_version(self, written: TableSchema) -> bool:
        """Return whether this schema is the version that was written."""
        return self == (written if self.time_millis else replace(written, time_millis=0))

    def is_of_table(self, written: TableSchema) -> bool:
        """Return whether a written schema with the same number belongs to the same table. Compare the times, or columns
        and keys if the time is unknown; servers may add options, so options are not compared.
        """
        if self.time_millis:
            return self.time_millis == written.time_millis
        own, other = (
            ([(f.id, f.name, f.type) for f in s.fields], s.partition_keys, s.primary_keys) for s in (self, written)
        )
        return own == other

    def select(self, names: tuple[str, ...]) -> tuple[DataField, ...]:
        """Return the fields with these names, in that order. Raises `InvalidSchemaError` for an unknown name."""
        missing = [n for n in names if n not in self.field_by_name]
        if missing:
            known = ", ".join(self.field_by_name)
            raise InvalidSchemaError(f"There is no column {missing[0]!r}; the columns are {known}.")
        return tuple(self.field_by_name[n] for n in names)

    def types(self, names: tuple[str, ...]) -> tuple[DataType, ...]:
        return tuple(f.type for f in self.select(names))


def encode_schema(schema: TableSchema) -> bytes:
    """Return the file's bytes: indented JSON."""
    node: dict[str, Any] = {
        "version": schema.version,
        "id": schema.id,
        "fields": [f.json() for f in schema.fields],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": schema.options,
    }
    if schema.comment is not None:
        node["comment"] = schema.comment
    node["timeMillis"] = schema.time_millis
    return encode_json_object(node)


def decode_schema(path: str, data: bytes) -> TableSchema:
    """Return the schema in a file.

    Raises `CorruptFileError`, `UnsupportedVersionError`, `UnfamiliarFormError`, `UnsupportedFeatureError`, all naming
    `path`.
    """
    node = decode_json_object(path, data)
    try:
        version = _version(node)
        if version > CURRENT_VERSION:
            cause = f"it has schema version {version}, this library supports versions up to {CURRENT_VERSION}"
            raise UnsupportedVersionError(path, cause)
        schema = _build(node)
        if len(schema.field_by_name) != len(schema.fields):
            raise InvalidSchemaError("two columns have the same name")
        schema.select(schema.partition_keys + schema.primary_keys)
        return schema
    except UnsupportedFeatureError as e:
        raise UnsupportedFeatureError(f"The table of {path} cannot be used: {e}") from e
    except (InvalidSchemaError, TypeError) as e:
        raise UnfamiliarFormError(path, f"as a schema, {_begin_small(str(e))}") from e


def _build(node: dict[str, Any]) -> TableSchema:
    version = _version(node)
    options = _options(node)
    if version <= _ONE_BUCKET_VERSION:
        options.setdefault("bucket", "1")
    if version <= _ORC_VERSION:
        options.setdefault("file.format", "orc")
    return TableSchema(
        id=node_integer(node, "id"),
        fields=tuple(parse_field(f) for f in member(node, "fields", list)),
        highest_field_id=node_integer(node, "highestFieldId"),
        partition_keys=_names(node, "partitionKeys"),
        primary_keys=_names(node, "primaryKeys"),
        options=options,
        comment=None if node.get("comment") is None else node_text(node, "comment"),
        time_millis=node_integer(node, "timeMillis", bits=64) if "timeMillis" in node else 0,
        version=version,
    )


def _version(node: dict[str, Any]) -> int:
    """Return the version. As in Java, null is 0, which has the defaults of version 1."""
    return 1 if node.get("version") is None else node_integer(node, "version")


def _options(node: dict[str, Any]) -> dict[str, str]:
    """Return options by Java's rules: null is the text "null", an object or an array is an empty text."""
    values = member(node, "options", dict | None) or {}
    known = {k: "null" if v is None else "" if isinstance(v, dict | list) else v for k, v in values.items()}
    return {k: node_text(known, k) for k in known}


def _names(node: dict[str, Any], key: str) -> tuple[str, ...]:
    names = member(node, key, list | None) or []
    numbered = {f"{key}[{i}]": name for i, name in enumerate(names)}
    return tuple(node_text(numbered, k) for k in numbered)


def _begin_small(text: str) -> str:
    """Return a sentence that can follow a comma: with a small first letter."""
    return text[:1].lower() + text[1:].rstrip(".")


def highest_field_id(fields: tuple[DataField, ...]) -> int:
    """Return the largest id of all fields, including nested fields, or -1 without fields."""
    return max((f.id for f in nested_fields(RowType(fields=fields))), default=-1)
