"""BLOB columns in definitions of tables: binary columns that a comment or an option makes BLOB, and invalid
definitions.

A comment begins with `__BLOB_FIELD`, `__BLOB_DESCRIPTOR_FIELD` or `__BLOB_VIEW_FIELD`, alone or before
`; the real comment`. The option then names the column, too. Source: documentation, "Blob Storage".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.options import (
    BLOB_DESCRIPTOR_FIELD,
    BLOB_FIELD,
    BLOB_VIEW_FIELD,
    DATA_EVOLUTION,
    IGNORE_DELETE,
    MERGE_ENGINE,
    SEQUENCE_FIELD,
    Option,
    TableOptions,
    names,
)
from paimon_core.spec.kinds import BINARIES, INTEGERS, TEXTS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, holds_blobs
from paimon_core.store.features import check_packs, function_of

_DIRECTIVES = {
    "__BLOB_FIELD": BLOB_FIELD,
    "__BLOB_DESCRIPTOR_FIELD": BLOB_DESCRIPTOR_FIELD,
    "__BLOB_VIEW_FIELD": BLOB_VIEW_FIELD,
}
_SEQUENCE_GROUP = re.compile(r"fields\.(?P<columns>.+)\.sequence-group")
_KEYS = frozenset({*BINARIES, *TEXTS, *INTEGERS, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.TIME})  # of maps of BLOBs
_BINARIES = BINARIES | {Kind.BLOB}
_OPTIONS = tuple(_DIRECTIVES.values())


def with_blobs(
    columns: Sequence[DataField], options: Mapping[str, str]
) -> tuple[tuple[DataField, ...], dict[str, str]]:
    """Return the columns and options of a new table, with BLOB columns.

    Raises `InvalidSchemaError`, `UnsupportedFeatureError`.
    """
    kept = dict(options)
    fields = []
    for column in columns:
        field, kept = with_directive(column, kept)
        if any(field.name in names(kept.get(o.key, "")) for o in _OPTIONS):
            field = _as_blob(field)
        fields.append(field)
    return tuple(fields), kept


def with_directive(column: DataField, options: Mapping[str, str]) -> tuple[DataField, dict[str, str]]:
    """Apply the directive in a new column's comment.

    Return the column and the options, which then name the column. Raises the same errors as `with_blobs`."""
    comment = (column.description or "").strip()
    if not comment.startswith("__BLOB"):
        return column, dict(options)
    directive, _, text = comment.partition(";")
    option = _DIRECTIVES.get(directive)
    if option is None:
        raise InvalidSchemaError(
            f"Unsupported BLOB directive in column comment: {comment!r}. Supported directives are "
            f"{', '.join(_DIRECTIVES)}."
        )
    named = names(options.get(option.key, ""))
    listed = ",".join(named if column.name in named else (*named, column.name))
    return _as_blob(replace(column, description=text.strip() or None)), {**options, option.key: listed}


def without_blob(column: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options after a BLOB column was dropped."""
    changed = {o.key: ",".join(n for n in names(options.get(o.key, "")) if n != column) for o in _OPTIONS}
    return {k: changed.get(k, v) for k, v in options.items() if changed.get(k, v) or k not in changed}


def check_blobs(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidSchemaError`, `InvalidOptionError` or `UnsupportedFeatureError` for invalid BLOB columns."""
    blobs = [f.name for f in schema.fields if holds_blobs(f.type)]
    single = [f.name for f in schema.fields if f.type.kind is Kind.BLOB]
    for option in _OPTIONS:
        _check_named(option, names(options.values.get(option.key, "")), blobs if option is BLOB_FIELD else single)
    for field in schema.fields:
        if isinstance(field.type, MapType) and holds_blobs(field.type) and field.type.key.kind not in _KEYS:
            raise InvalidSchemaError(
                f"Column {field.name!r} of type {field.type.sql()} cannot have keys of this type: keys of maps of "
                "BLOBs are numbers without fraction, DECIMAL, BOOLEAN, DATE, TIME, texts or binaries."
            )
    both = [c for c in options[BLOB_VIEW_FIELD] if c in options[BLOB_DESCRIPTOR_FIELD]]
    if both:
        raise InvalidOptionError(
            f"Field {both[0]!r} in '{BLOB_VIEW_FIELD.key}' cannot also be in '{BLOB_DESCRIPTOR_FIELD.key}'. "
            "Remove it from one of them."
        )
    if not blobs:
        return
    if not schema.primary_keys and not options[DATA_EVOLUTION]:
        raise InvalidOptionError(
            f"Data evolution config must enabled for table with BLOB type column {blobs[0]!r}: set "
            f"'{DATA_EVOLUTION.key}' = 'true' and 'row-tracking.enabled' = 'true'."
        )
    if len(blobs) == len(schema.fields):
        raise InvalidSchemaError("Table with BLOB type column must have other normal columns: add one.")
    parts = [b for b in blobs if b in schema.partition_keys]
    if parts:
        raise InvalidSchemaError(
            f"The BLOB type column {parts[0]!r} can not be part of partition keys. Partition by another column."
        )
    if schema.primary_keys:
        _check_keyed(schema, options, blobs)


def _check_keyed(schema: TableSchema, options: TableOptions, blobs: Sequence[str]) -> None:
    """Check the BLOB columns of a table with a primary key. Deleted rows in its files have no BLOB values."""
    check_packs(schema, options)
    roles = {
        "primary key": schema.primary_keys,
        "bucket key": schema.bucket_keys,
        "sequence field": options[SEQUENCE_FIELD],
    }
    for role, columns in roles.items():
        for name in (b for b in blobs if b in columns):
            raise InvalidSchemaError(f"The BLOB column {name!r} cannot be in the {role} of a table.")
    if options[MERGE_ENGINE] != "partial-update":
        return
    values = options.values
    for key, ordered in values.items():
        group = _SEQUENCE_GROUP.fullmatch(key)
        for name in (b for b in blobs if group and b in names(group["columns"])):
            raise InvalidOptionError(f"The BLOB column {name!r} cannot order a sequence group, as in {key!r}.")
        for name in (b for b in blobs if group and b in names(ordered) and not options[IGNORE_DELETE]):
            function = function_of(name, options)
            ignores = values.get(f"fields.{name}.ignore-retract", "").strip().lower() == "true"
            if name not in options[BLOB_DESCRIPTOR_FIELD] and function not in (None, "last_value") and not ignores:
                raise InvalidOptionError(
                    f"The BLOB column {name!r} cannot have the aggregate function {function!r}: deleted rows do not "
                    f"keep their BLOB values. Set 'fields.{name}.ignore-retract' = 'true' to ignore deleted rows."
                )


def check_not_renamed(field: DataField) -> None:
    """Raise `InvalidSchemaError` for a BLOB column: it cannot be renamed, because options and files name it."""
    if holds_blobs(field.type):
        raise InvalidSchemaError(f"Cannot rename BLOB column: [{field.name}]. Add another one, and copy the values.")


def _check_named(option: Option[tuple[str, ...]], columns: Iterable[str], blobs: Sequence[str]) -> None:
    for column in columns:
        if column not in blobs:
            raise InvalidOptionError(f"Field {column!r} in '{option.key}' must be a BLOB field in table schema.")


def _as_blob(field: DataField) -> DataField:
    match field.type:
        case MapType(value=part) if part.kind in _BINARIES:
            return replace(field, type=replace(field.type, value=DataType(Kind.BLOB, part.nullable)))
        case CollectionType(kind=Kind.ARRAY, element=part) if part.kind in _BINARIES:
            return replace(field, type=replace(field.type, element=DataType(Kind.BLOB, part.nullable)))
    if field.type.kind not in _BINARIES:
        raise InvalidSchemaError(f"The type of blob field must be binary: column {field.name!r} is {field.type.sql()}.")
    return replace(field, type=DataType(Kind.BLOB, field.type.nullable))
